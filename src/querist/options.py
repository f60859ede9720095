"""Options that are declared once: a frozen dataclass whose fields carry type, range, default and a sentence.

The class gives the keywords of a Python function and its `help`, the options of the command line, the
fields of an HTTP request and those of the form in the browser. A new option is one field and what reads it.

The keywords that type checkers know stand beside the class as a `TypedDict` with the same names and types.
"""

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, get_args, get_origin

from querist.errors import InputError, check_name
from querist.parameters import Parameter, check_values, parameters_of

F = TypeVar("F", bound=Callable[..., Any])
Surface = Literal["command line", "http", "cluster", "experiment"]
"""Where an option can be given, besides Python; what can be given over HTTP is in the browser's form too."""
EVERYWHERE: tuple[Surface, ...] = ("command line", "http", "cluster")


@dataclass(frozen=True, kw_only=True)
class Option(Parameter):
    """A field of a class of options: its name, type, range and default, and what `option` says of it."""

    help: str = ""
    """One sentence without its full stop, and without the default."""
    title: str = ""
    """What the form calls it."""
    default_words: str = ""
    """The default as it is shown."""
    metavar: str = ""
    on: tuple[Surface, ...] = ("command line", "http")
    advanced: bool = False
    """Whether a form folds it away."""
    fixed: bool = False
    """Whether a campaign that has begun keeps it."""
    names: Callable[[], Sequence[str]] | None = None
    """Names that it may be, if they are not known before the registries are."""
    only: tuple[str, tuple[Any, ...]] | None = None
    """Another option, and the values of it that this one goes with; any by default."""

    @property
    def base(self) -> Any:
        """Its type without None."""
        members = [kind for kind in get_args(self.kind) if kind is not type(None)]
        return self.kind if get_origin(self.kind) is Literal or not members else members[0]

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that it may be; none if it is no choice."""
        if self.names is not None:
            return tuple(self.names())
        return tuple(map(str, get_args(self.base))) if get_origin(self.base) is Literal else ()

    @property
    def is_list(self) -> bool:
        """Whether it is several values."""
        return get_origin(self.base) not in (None, Literal)

    @property
    def sentence(self) -> str:
        """What it is, and its default."""
        return f"{self.help} [default: {self.default_words}]."


def option(
    default: Any, help: str, *, choices: Callable[[], Sequence[str]] | None = None, **more: Any
) -> Any:
    """A field of a class of options; `choices` are the `names` of its `Option`, `more` is the rest of it.

    Unless given, the title is the name as words, and the words of the default are its value.
    """
    return field(default=default, metadata={"help": help, "names": choices, **more})


MISSING: Mapping[str, Any] = {
    "help": "Label that means unlabelled, besides an empty field, None and NaN; nan for no other, so that -1 "
    "is a class",
    "default_words": "-1 beside class numbers of 0 or more, with a warning",
}
DEVICE: Mapping[str, Any] = {
    "help": 'Device of torch that computes, such as "cuda"; "auto" takes a GPU if there is one, the graph '
    "has at least 100,000 nodes and edges, and the work fits into the GPU's memory",
    "default_words": "the processor",
    "metavar": "DEVICE",
}
"""What several classes of options say of `missing` and `device`, as arguments of `option`."""


class Options:
    """Base of frozen dataclasses whose fields are made by `option`; every value is checked.

    >>> from typing import Annotated
    >>> from querist.parameters import Range
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Brewing(Options):
    ...     minutes: Annotated[float, Range(gt=0)] = option(3.0, "Minutes that it takes")
    >>> Brewing.declared()["minutes"].sentence
    'Minutes that it takes [default: 3.0].'
    >>> Brewing(minutes=-1.0)
    Traceback (most recent call last):
    ...
    querist.errors.InputError: minutes = -1.0; it must be a finite number, above 0
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __post_init__(self) -> None:
        declared = self.declared()
        check_values(declared, vars(self))
        for name in self.changed():
            own = declared[name]
            if own.names is not None and isinstance(getattr(self, name), str):
                check_name(own.title.lower(), getattr(self, name), own.choices)
            other, values = own.only or ("", ())
            if other and getattr(self, other) not in values:
                raise InputError(
                    f"{name} = {getattr(self, name)!r} does nothing with {other} = {getattr(self, other)!r}; "
                    f"leave it out, or pass {other} = {' or '.join(map(repr, values))}"
                )

    def changed(self) -> list[str]:
        """The names of those that are not as by default."""
        return [name for name, own in self.declared().items() if getattr(self, name) != own.default]

    @classmethod
    def declared(cls) -> Mapping[str, Option]:
        """Its options by name."""
        own: Any = cls  # a class is hashable, which mypy doubts of dataclasses
        return _declared(own)

    @classmethod
    def on(cls, surface: Surface, defaults: Mapping[str, str] = MappingProxyType({})) -> dict[str, Option]:
        """Those that can be given there; `defaults` are the words of defaults that are others there."""
        return {
            name: replace(own, default_words=defaults.get(name, own.default_words))
            for name, own in cls.declared().items()
            if surface in own.on
        }

    @classmethod
    def given(cls, options: Self | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The values that somebody gave, as an object or by name; a name that is no option is refused."""
        for name in keywords:
            check_name("option", name, cls.declared())
        if options is None:
            return dict(keywords)
        if not isinstance(options, cls):
            raise InputError(f"options = {options!r}; pass {cls.__name__}(...), or its fields by name")
        if keywords:
            raise InputError(f"options= and {next(iter(keywords))}= are both given; give one of them")
        return {name: getattr(options, name) for name in cls.declared()}

    @classmethod
    def resolve(cls, options: Self | None, keywords: Mapping[str, Any]) -> Self:
        """The options that somebody gave, as an object or by name."""
        return cls(**cls.given(options, keywords))


@functools.cache
def _declared(cls: Any) -> Mapping[str, Option]:
    said = {own.name: own.metadata for own in fields(cls) if own.metadata}
    words: dict[Any, str] = {None: "none", True: "yes", False: "no"}
    found = {}
    for name, known in parameters_of(cls).items():
        if name in said:
            plain = known.default is None or isinstance(known.default, bool)
            shown = words[known.default] if plain else str(known.default)
            usual: dict[str, Any] = {"title": name.replace("_", " ").capitalize(), "default_words": shown}
            found[name] = Option(**vars(known), **usual | said[name])
    return found


def lists_options(*classes: type[Options]) -> Callable[[F], F]:
    """`help` of a function lists these options in place of `**options`, each with type and default."""

    def listed(function: F) -> F:
        own = inspect.signature(function)
        kinds = {name: (one.kind, one.default) for cls in classes for name, one in cls.declared().items()}
        kept = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        parameters = [*kept, *_keywords(kinds)]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        text = [inspect.getdoc(function) or ""]
        for cls in classes:
            title = f"Options, which are the fields of `{cls.__name__}` too"
            text += ["", title, "-" * len(title)]
            for name, each in cls.declared().items():
                text.append(textwrap.fill(f"{name} : {each.sentence}", 100, subsequent_indent="    "))
        function.__doc__ = "\n".join(text)
        return function

    return listed


def _keywords(declared: Mapping[str, tuple[Any, Any]]) -> list[inspect.Parameter]:
    """Parameters that are given by name, each of its type and default."""
    made = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    return [made(name, default=default, annotation=kind) for name, (kind, default) in declared.items()]


def with_options(place: str, declared: Mapping[str, tuple[Any, Any]]) -> Callable[[F], F]:
    """A function gets these parameters, type and default by name, in place of its parameter `place`.

    That receives the values that are not None, by name. Frameworks that read signatures, such as typer and
    FastAPI, see the parameters one by one.
    """

    def widened(verb: F) -> F:
        signature = inspect.signature(verb)
        own = list(signature.parameters.values())
        at = next(k for k, each in enumerate(own) if each.name == place)
        after = (each.replace(kind=each.KEYWORD_ONLY) for each in own[at + 1 :])
        parameters = [*own[:at], *_keywords(declared), *after]

        @functools.wraps(verb)
        def wider(*positional: Any, **given: Any) -> Any:
            values = {name: given.pop(name) for name in declared if name in given}
            given[place] = {name: value for name, value in values.items() if value is not None}
            return verb(*positional, **given)

        wider.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wider.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return cast(F, wider)

    return widened

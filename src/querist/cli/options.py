"""Options that mean the same in every verb that has them.

>>> def verb(out: Out = Path("results"), as_json: Json = False) -> None: ...
"""

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import Parameter
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer

from querist.embedding_options import EmbeddingOptions
from querist.errors import InputError
from querist.graph_options import FileOptions
from querist.labelling.options import LabelOptions
from querist.options import Option, Options, Surface, with_options

Verb = TypeVar("Verb", bound=Callable[..., Any])
DEFAULT_RANK = 100
FAR = 1e9


def completing(names: str | Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """The names that a shell offers for an option; `package.module:REGISTRY` is imported only then.

    >>> completing("querist.online:ALGORITHMS")("ms")
    ['msg']
    """

    def offered(incomplete: str) -> list[str]:
        known = pkgutil.resolve_name(names) if isinstance(names, str) else names
        return [name for name in (known() if callable(known) else known) if name.startswith(incomplete)]

    return offered


def named(names: str | Callable[[], Iterable[str]], help: str) -> Any:
    """An option whose value is one of these names."""
    return typer.Option(metavar="NAME", help=help, autocompletion=completing(names))


def _data_sets(*, vectors: bool) -> list[str]:
    from querist.datasets.resolve import catalogue

    return [row.name for row in catalogue() if (row.kind == "vectors") == vectors]


GRAPHS, VECTORS = (completing(partial(_data_sets, vectors=kind)) for kind in (False, True))

_DATA = (
    "Name of a data set (see querist datasets), or a file of edges: .csv, .tsv, .jsonl, .parquet, .npz or "
    ".graphml, text also as .gz; - is the standard input."
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=_DATA, autocompletion=GRAPHS)]
MaybeData = Annotated[
    str | None,
    typer.Argument(metavar="DATA", help=f"{_DATA} On a cluster a folder of edges.", autocompletion=GRAPHS),
]
Vectors = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Name of a data set of vectors; path of a .csv, .tsv, .parquet, .libsvm or .jsonl file; "
        "or - for lines of CSV, JSON or LIBSVM on standard input.",
        autocompletion=VECTORS,
    ),
]
Nodes = Annotated[
    Path | None,
    typer.Option(
        metavar="NODES", help="Table of the nodes of a file of edges, with their labels and attributes."
    ),
]
Known = Annotated[
    str | None,
    typer.Option(metavar="LABELS", help="Labels that are known: learned first, never asked, not counted."),
]
Extend = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EDGES2", help="More edges that arrived since, perhaps to new nodes; may be repeated."
    ),
]
ExtendNodes = Annotated[
    list[Path] | None,
    typer.Option(metavar="NODES2", help="More nodes, with the columns of NODES; may be repeated."),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="FOLDER",
        help="Folder for results, tables, figures and report; what it holds is not run again.",
    ),
]
Processes = Annotated[
    int, typer.Option(min=0, help="Processes on this machine; 0 means one a core, 1 runs in this one.")
]
Cluster = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Dask cluster with its scheduler at this address."),
]
Part = Annotated[Literal["all", "largest"], typer.Option(help="The whole graph, or its largest component.")]
Rank = Annotated[
    int | None,
    typer.Option(
        min=1, help=f"Columns of the embedding; {DEFAULT_RANK}, or fewer in a smaller graph, by default."
    ),
]


Rows = Annotated[
    str, named("querist.embedding.kinds:known", "Kind of embedding; `querist algorithms` lists them.")
]
Repeats = Annotated[int, typer.Option(min=1, help="Number of runs, each with another random draw.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Budget = Annotated[int | None, typer.Option(min=0, help="The most questions in a run; no limit by default.")]
Pace = Annotated[
    float | None,
    typer.Option(
        help="Spend the budget in turn: 1 evenly over the rounds still to come, more early. The rule as it "
        "is, until the budget is spent, by default."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PARAMETER=VALUE", help="A parameter; may be given several times."),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="In CSV, an apostrophe before a text that a spreadsheet would run; without it a file holds "
        "every id as it is, and reads back.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VectorLabel = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        metavar="COLUMN",
        help="Column of the labels in a file or on standard input; label or class by default.",
    ),
]


Values = Mapping[str, Any]
"""Values of several options by name (see `with_options`)."""


def declared(
    cls: type[Options], surface: Surface = "command line", defaults: Mapping[str, str] = MappingProxyType({})
) -> dict[str, tuple[Any, Any]]:
    """The options of a class as a verb has them, for `with_options`: None unless they are given.

    `defaults` are the words of defaults that are others there.
    """
    shown = cls.on(surface, defaults)
    return {name: (_typed(own, may_deny=name in defaults), None) for name, own in shown.items()}


def _typed(own: Option, *, may_deny: bool) -> Any:
    """What typer needs to know of an option."""
    flag, numbers = f"--{own.name.replace('_', '-')}", own.numbers
    if own.base is bool and (may_deny or own.default is True):
        flag += f"/--no-{flag[2:]}"
    kinds = get_args(own.kind) if get_origin(own.kind) in (Union, UnionType) else (own.kind,)
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    more: dict[str, Any] = {"metavar": own.metavar or None}
    if choices := own.names:
        more = {"metavar": "NAME", "autocompletion": completing(choices)}
    if Path in kinds:  # what Python takes as a value, the command line reads from a file
        kind: Any = Path
    elif len(kinds) == 1 and (kinds[0] in (bool, int, float, str) or get_origin(kinds[0]) is Literal):
        kind = kinds[0]
    else:
        kind, more = str, {"parser": _reader(own), "metavar": own.metavar or "VALUE"}
    if numbers is not None and kind in (int, float):
        more |= {"min": _end(numbers.ge, kind), "max": _end(numbers.le, kind)}
    listed = " `querist algorithms` lists the names." if own.names else ""
    return Annotated[kind | None, typer.Option(flag, help=own.sentence + listed, **more)]


def _end(number: float, kind: type) -> Any:
    """One end of a range as the help has it, None if it is open, or too far away to be of use."""
    return kind(number) if abs(number) < FAR else None


def _reader(own: Option) -> Callable[[str], Any]:
    """What reads the text of an option that is neither a number nor one text."""

    def read(text: str) -> Any:
        try:
            return own.read(text)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None

    return read


Device = declared(LabelOptions)["device"][0]
with_columns = with_options("columns", declared(FileOptions))
"""The options of `FileOptions` in place of a verb's parameter `columns`."""

with_embedding = with_options(
    "how",
    {
        "embedding": (Rows, "spectral"),
        **{name: own for cls in EmbeddingOptions.__subclasses__() for name, own in declared(cls).items()},
    },
)
"""The kind of an embedding and the options of all kinds in place of a verb's parameter `how`."""


def on_graph(repeats: int) -> Callable[[Verb], Verb]:
    """What runs on a graph have in common in place of the parameter `given` of a verb of `evaluate`."""
    own: dict[str, tuple[Any, Any]] = {
        "data": (Data, Parameter.empty),
        "repeats": (Repeats, repeats),
        "seed": (Seed, 0),
        "component": (Part, "all"),
        "nodes": (Nodes, None),
    }
    return with_options("given", own | declared(FileOptions) | {"as_json": (Json, False)})


SHARED = {
    "data": Data, "nodes": Nodes, "component": Part, "rank": Rank, "seed": Seed, "settings": Settings,
    "out": Out, "processes": Processes, "cluster": Cluster, "as_json": Json,
}  # fmt: skip


def shared_options(verb: Verb) -> Verb:
    """A verb of a plugin whose parameters have the options of the same names in Querist's own verbs.

    They are data, nodes, columns, component, rank, seed, settings, out, processes,
    cluster and as_json. `columns` is a mapping of what was given of the options that name columns.

    >>> @shared_options
    ... def count(data: str, seed: int = 0) -> None: ...
    >>> count.__annotations__["seed"].__metadata__[0].help
    'Random seed.'
    """
    verb.__annotations__ |= {name: SHARED[name] for name in verb.__annotations__ if name in SHARED}
    return with_columns(verb) if "columns" in verb.__annotations__ else verb


def refuse_beside(option: str, given: Mapping[str, object]) -> None:
    """Refuse options that do nothing beside another."""
    strange = [name for name, is_given in given.items() if is_given]
    if strange:
        raise InputError(f"{strange[0]} does not go with {option}; leave one of the two out")


def refuse_on_cluster(cls: type[Options], values: Values) -> None:
    """Refuse options of a class that do nothing on a cluster."""
    known = cls.on("cluster")
    refuse_beside("--cluster", {f"--{name.replace('_', '-')}": name not in known for name in values})

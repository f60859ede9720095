"""A user's own comparison: a TOML file of several specifications, and how its results are shown.

What stands above the first `[[experiment]]` holds for all of them; an experiment's own keys come before it.
`dataset`, `method` and, of `ask`, `strategy` may be lists: every combination is an experiment. A file without
`[[experiment]]` is one experiment. Beside every online learner stand its controls, asking as often at random
and by the margin; they cannot be left out. Classifiers and stream methods get their labels at random: nothing
chooses whom to ask, and a run is its own control.

    title = "Who asks least on karate?"
    task = "online"
    dataset = "karate"
    repeats = 5

    [[experiment]]
    method = "msg"
    [experiment.grid]
    h = [0.01, 0.1]

    [[experiment]]
    method = "bbq"
"""

import os
import tomllib
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from querist.errors import InputError
from querist.experiment import runner
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.tasks import OPEN

Where: TypeAlias = tuple[str | int, ...]
"""Keys, and numbers within arrays of tables: `("experiment", 0, "parameters", "gamma")`."""
EXPERIMENT = "experiment"
CURVE_POINTS = 50
_OWN = ("title", "measures", EXPERIMENT)
"""Keys of the file that are not of a specification; `name` is of an experiment."""


@dataclass(frozen=True)
class Comparison:
    """Named specifications, and which of their numbers to show (all, where none are named).

    >>> spec = Specification("online", "karate", "msg", {"rank": 4}, repeats=2)
    >>> Comparison("one method", ["msg"], [spec], measures=["error"]).names
    ['msg']
    """

    title: str
    names: Sequence[str]
    specifications: Sequence[Specification]
    measures: Sequence[str] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Comparison":
        """From a file; everything in it is checked, and what is wrong is told with its line."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
            content = tomllib.loads(text)
        except ValueError as problem:
            raise InputError(f"{file}: read as UTF-8, it is not TOML: {problem}") from problem
        try:
            return _comparison(content, file.stem)
        except SpecificationError as problem:
            line = _line(text, problem.where)
            place = f"{file}, line {line}" if line else str(file)
            raise InputError(f"{place}: {problem}") from problem


def _comparison(content: Mapping[str, Any], title: str) -> Comparison:
    """What a file says, refused if it cannot be run or shown, before anything is run."""
    shared = {name: value for name, value in content.items() if name not in _OWN}
    given = content.get(EXPERIMENT, [{}])
    if not isinstance(given, list) or not given:
        raise SpecificationError(f"{EXPERIMENT} must be [[{EXPERIMENT}]], a table each", (EXPERIMENT,))
    for name, kind in (("title", str), ("measures", list)):
        if not isinstance(content.get(name, kind()), kind):
            what = "a text" if kind is str else "a list of names"
            raise SpecificationError(f"{name} = {content[name]!r}; it must be {what}", (name,))
    names, specifications = list[str](), list[Specification]()
    measures = content.get("measures", ())
    for i, own in enumerate(given):
        with blame(EXPERIMENT, i):
            for name, spec in _expanded(_merged(shared, own)):
                runner.check(spec)
                names.append(name)
                specifications.append(spec)
    for spec in specifications:
        with blame("measures"):
            for measure in measures:
                runner.check_measure(spec, str(measure))
    return Comparison(content.get("title", title), _distinct(names, specifications), specifications, measures)


def _merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's own keys before the shared ones; tables are merged key by key."""
    found = dict(shared)
    for name, value in own.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = {**found[name], **value} if both else value
    # A parameter that is tuned here need not be the shared one.
    for name in (own.get("grid") or {}) if isinstance(own.get("grid"), dict) else ():
        if isinstance(found.get("parameters"), dict) and name not in (own.get("parameters") or {}):
            found["parameters"] = {n: v for n, v in found["parameters"].items() if n != name}
    return found


def _expanded(given: dict[str, Any]) -> list[tuple[str, Specification]]:
    """Every combination of data sets, methods and query strategies; a strategy is a parameter of `ask`."""
    name = given.pop("name", "")
    lists = [given.get("dataset", ""), given.get("method", ""), given.pop("strategy", None)]
    many = [each if isinstance(each, list) else [each] for each in lists]
    found = []
    for dataset, method, strategy in product(*many):
        spec = Specification.from_dict({**given, "dataset": dataset, "method": method})
        if strategy is not None:
            with blame("strategy"):
                if spec.task != "ask":
                    raise InputError(f'{spec.task} has no strategy; leave it out, or take task = "ask"')
            spec = replace(spec, parameters={**spec.parameters, "strategy": strategy})
        found.append((name or strategy or method, _with_control(spec)))
    return found


def _with_control(spec: Specification) -> Specification:
    """The same with its control and with curves to draw, where the task has them."""
    if "." in spec.task:
        with blame("task"):
            raise InputError(f"{spec.task!r} is not for comparisons; take one of {', '.join(OPEN)}")
    if spec.task not in ("online", "stream"):
        return spec
    control = spec.protocol.get("control", True)
    if control is not True:
        with blame("protocol", "control"):
            raise InputError(
                f"control = {control!r}; the controls always stand beside an online learner: leave it out"
            )
    return replace(spec, protocol={"curve": CURVE_POINTS, **spec.protocol})


def _distinct(names: Sequence[str], specifications: Sequence[Specification]) -> list[str]:
    """Names that tell rows of one data set apart: the parameters are added where they must be."""
    seen = Counter((spec.dataset, name) for name, spec in zip(names, specifications, strict=True))
    settings = [", ".join(f"{n} {v}" for n, v in spec.parameters.items()) for spec in specifications]
    return [
        f"{name} ({own})" if own and seen[spec.dataset, name] > 1 else name
        for name, spec, own in zip(names, specifications, settings, strict=True)
    ]


def _line(text: str, where: Where) -> int | None:
    """The line to blame: the key in its experiment, or shared by all, or what stands around it."""
    within = where[:1] == (EXPERIMENT,) and len(where) > 1
    header, key = (where[:2], where[2:]) if within else ((), where)
    tried = [key[:length] for length in range(len(key), -1, -1)]
    if key == ("parameters", "strategy"):  # it may stand by itself
        tried.insert(1, key[1:])
    for own in tried:
        for path in ((*header, *own), own):
            if path and (line := line_of(text, path)):
                return line
    return None


def line_of(text: str, path: Where) -> int | None:
    r"""The line of a TOML text on which a key or a header stands, counted from 1; None if it is not there.

    `tomllib` does not report lines. The key begins on the line that follows the longest beginning of the
    text that is TOML without it.

    >>> line_of('task = "online"\n[[experiment]]\nmethod = "msg"\n', ("experiment", 0, "method"))
    3
    """
    lines, ends = text.split("\n"), [0]
    for end in range(1, len(lines) + 1):
        with suppress(tomllib.TOMLDecodeError):  # a list or a text that goes on
            tomllib.loads("\n".join(lines[ends[-1] : end]))
            ends.append(end)
    at = bisect_left(ends, True, key=lambda end: _stands("\n".join(lines[:end]), path))
    return ends[at - 1] + 1 if at < len(ends) else None


def _stands(text: str, path: Where) -> bool:
    found: Any = tomllib.loads(text)
    with suppress(KeyError, IndexError, TypeError):
        for part in path:
            found = found[part]
        return True
    return False

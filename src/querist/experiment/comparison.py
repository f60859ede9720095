"""A user's own comparison: a TOML file of several specifications, and how its results are shown.

What stands above the first `[[experiment]]` holds for all of them; an experiment's own keys come before it.
`dataset` and `method` may be lists: every combination is an experiment. A file without `[[experiment]]` is
one experiment. Beside every online learner stand its controls, asking as often at random and by the margin;
they cannot be left out. Classifiers and stream methods get their labels at random: nothing chooses whom to
ask, and a run is its own control.

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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.experiment import runner, tuning
from querist.experiment.lines import Where, lines_of
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.tasks import OPEN

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
    origins: Sequence[int] = ()
    """Of each specification the number of the `[[experiment]]` that it comes from."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Comparison":
        """From a file; everything in it is checked, and what is wrong is told with its line."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as problem:
            raise InputError(f"{file}: not a text in UTF-8; save it as such") from problem
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise InputError(f"{file}: not TOML: {problem}") from problem
        try:
            found = _comparison(content, file.stem)
            found.check()
        except SpecificationError as problem:
            line = _line(text, problem.where)
            place = f"{file}, line {line}" if line else str(file)
            raise InputError(f"{place}: {problem}") from problem
        return found

    def check(self) -> None:
        """Refuse what cannot be run or shown, before anything is run."""
        for i, spec in enumerate(self.specifications):
            with blame(EXPERIMENT, self.origins[i] if self.origins else i):
                runner.check(spec)
        for j, measure in enumerate(self.measures):
            for spec in self.specifications:
                with blame("measures", j):
                    tuning.check_measure(spec, str(measure), runner.measures_of(spec))


def _comparison(content: Mapping[str, Any], title: str) -> Comparison:
    shared = {name: value for name, value in content.items() if name not in _OWN}
    given = content.get(EXPERIMENT, [{}])
    if not isinstance(given, list) or not given:
        raise SpecificationError(f"{EXPERIMENT} must be [[{EXPERIMENT}]], a table each", (EXPERIMENT,))
    for name, kind in (("title", str), ("measures", list)):
        if not isinstance(content.get(name, kind()), kind):
            what = "a text" if kind is str else "a list of names"
            raise SpecificationError(f"{name} = {content[name]!r}; it must be {what}", (name,))
    names, specifications, origins = [], [], []
    for i, own in enumerate(given):
        with blame(EXPERIMENT, i):
            for name, spec in _expanded(_merged(shared, own)):
                names.append(name)
                specifications.append(spec)
                origins.append(i)
    return Comparison(
        content.get("title", title), _distinct(names, specifications), specifications,
        content.get("measures", ()), origins,
    )  # fmt: skip


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
    """Every combination of data sets and methods."""
    name = given.pop("name", "")
    lists = [given.get(key, "") for key in ("dataset", "method")]
    many = [each if isinstance(each, list) else [each] for each in lists]
    return [
        (
            name or method,
            _with_control(Specification.from_dict({**given, "dataset": dataset, "method": method})),
        )
        for dataset, method in product(*many)
    ]


def _with_control(spec: Specification) -> Specification:
    """The same with its control and with curves to draw, where the task has them."""
    if "." in spec.task:
        with blame("task"):
            raise InputError(
                f"{spec.task!r} is a part of a paper; run it by querist reproduce, or take one of "
                f"{', '.join(OPEN)}"
            )
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
    known = lines_of(text)
    within = where[:1] == (EXPERIMENT,) and len(where) > 1
    header, key = (where[:2], where[2:]) if within else ((), where)
    for length in range(len(key), -1, -1):
        for path in ((*header, *key[:length]), key[:length]):
            if path in known:
                return known[path]
    return None

"""What other distributions add to Querist: verbs, algorithms, classifiers, stream learners, data sets, tasks.

A distribution lists what it adds in the entry points of the group `querist.plugins`, as `KIND.NAME`:

    [project.entry-points."querist.plugins"]
    "algorithm.mine" = "my_package.learners:mine"
    "verb.mine" = "my_package.verbs:mine"

Only names are read here. A module of a plugin is imported when something of it is first used.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from querist.errors import InputError

GROUP = "querist.plugins"
KINDS = ("algorithm", "classifier", "stream", "dataset", "task", "verb", "learner")


@cache
def found() -> Mapping[str, Mapping[str, list[EntryPoint]]]:
    """The entry points of all installed plugins, by kind and name."""
    by_kind: dict[str, dict[str, list[EntryPoint]]] = {kind: {} for kind in KINDS}
    for one in entry_points(group=GROUP):
        kind, _, name = one.name.partition(".")
        if kind not in by_kind:
            continue
        others = by_kind[kind].setdefault(name, [])
        if origin(one) not in map(origin, others):
            others.append(one)
    return by_kind


def names(kind: str) -> tuple[str, ...]:
    """The names that plugins give things of a kind; nothing is imported.

    >>> "karate" in names("dataset")
    False
    """
    return tuple(found()[kind])


def load(kind: str, name: str) -> Any:
    """The value behind a name; a plugin that cannot be imported is reported as what it is."""
    one, *others = found()[kind][name]
    if others:
        both = ", ".join(sorted({origin(each) for each in (one, *others)}))
        raise InputError(f"the {kind} {name!r} comes from {both}; uninstall all but one of them")
    try:
        return one.load()
    except (ImportError, AttributeError) as problem:
        raise InputError(
            f"the {kind} {name!r} of {origin(one)} cannot be loaded ({problem}); install a version that fits "
            "this version of querist, or uninstall it"
        ) from problem


def origin(one: EntryPoint) -> str:
    """The distribution that an entry point is from."""
    return one.dist.name if one.dist is not None else one.module

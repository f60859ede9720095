"""What a campaign of questions is about, with its options: written first into its journal.

A journal answers for one graph, one set of classes and one strategy. Resuming with anything else would replay
answers into a state they were not given in, so it is refused, with what differs. Options that are not fixed
may change; an event says so.
"""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from querist.asking.options import GREEDY, OF_PROCESS, CampaignOptions
from querist.asking.store.events import Event
from querist.asking.strategies import STRATEGIES
from querist.errors import InputError, check_name, refuse
from querist.graph import Graph
from querist.labelling.kernel_ridge import are_measurements
from querist.labels import checked_names, plain
from querist.memory import check_classes

RANDOM = "random"
POOL, DEFAULT_STRATEGY = "pool", "contrast"
"""The most valuable node anywhere, and the strategy that says so unless one is named."""
FOR_MEASUREMENTS = "coverage"
"""The same if the attributes are measurements."""


@dataclass(frozen=True, kw_only=True)
class CampaignSpec(CampaignOptions):
    """What a campaign is about, with its options as they are now.

    Parameters
    ----------
    graph : digest of nodes, edges and attributes; nodes, edges : how many, for messages
    classes : what an answer may be, in the order of their codes
    """

    graph: str
    nodes: int
    edges: int
    classes: tuple[Any, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_classes(self.nodes, len(self.classes))
        guessing = 1 - 1 / len(self.classes)
        classes = ", ".join(map(str, self.classes))
        refuse(
            {
                f"audit {self.audit}; it must lie between 0 and the {self.nodes:,} nodes": not (
                    self.audit <= self.nodes
                ),
                f"noise {self.noise}; it is the share of wrong answers, from 0 to below {guessing:.2g}, "
                "which is guessing": self.noise >= guessing,
                f"find {self.find!r} is none of the classes {classes}; name one of them": (
                    self.find is not None and self.find not in self.classes
                ),
                f"find {self.find!r} and several labels a node: what finds a class asks for that one alone; "
                "leave out one of the two": self.multilabel and self.find is not None,
            }
        )

    def body(self) -> dict[str, Any]:
        """As the first event of a campaign keeps it."""
        return {**{name: plain(getattr(self, name)) for name in KEPT}, "classes": list(self.classes)}

    @staticmethod
    def of(body: Mapping[str, Any], **of_process: Any) -> "CampaignSpec":
        """From the first event, with the options of this process."""
        given = {name: body[name] for name in KEPT if name in body}
        return CampaignSpec(**{**given, "classes": tuple(given["classes"]), **of_process})

    def check_same(self, kept: "CampaignSpec", where: str) -> None:
        """Refuse a journal that is about something else."""
        if kept.graph != self.graph:
            raise InputError(
                f"{where}: it was begun with another graph ({kept.nodes:,} nodes, {kept.edges:,} edges; now "
                f"{self.nodes:,} and {self.edges:,}, or other ids, weights or attributes). Give the files it "
                "was begun with, or another journal"
            )
        for name in FIXED:
            then, now = getattr(kept, name), getattr(self, name)
            if then != now:
                raise InputError(
                    f"{where}: it was begun with {name} {_words(then)}, now it is {_words(now)}; give the "
                    "same, or another journal"
                )


ABOUT = ("graph", "nodes", "edges", "classes")
KEPT = (*ABOUT, *(name for name in CampaignOptions.declared() if name not in OF_PROCESS))
"""What the first event of a campaign keeps."""
FIXED = (*ABOUT, *(name for name, own in CampaignOptions.declared().items() if own.fixed))
"""What no later event changes."""


def logged_options(events: Sequence[Event]) -> dict[str, Any]:
    """The options of a campaign by name, as its events leave them; nothing without an event."""
    if not events:
        return {}
    changes = (event.body for event in events if event.kind == "options")
    found = reduce(or_, changes, dict(events[0].body))
    return {name: found[name] for name in KEPT if name in found and name not in ABOUT}


def resolve_strategy(
    name: str, kept: str | None = None, graph: Graph | None = None, *, find: bool = False
) -> str:
    """The strategy behind a name; "pool" is the one that was `kept`, or the default for the graph.

    To `find` a class "pool" is "greedy", the node that is likeliest of it.

    >>> resolve_strategy("pool"), resolve_strategy("margin"), resolve_strategy("random")
    ('contrast', 'margin', 'random')
    >>> resolve_strategy("pool", "ambiguity"), resolve_strategy("pool", find=True)
    ('ambiguity', 'greedy')
    """
    if find:
        check_name("query strategy that finds a class", name, (POOL, GREEDY, RANDOM))
        return (kept or GREEDY) if name == POOL else name
    if name == GREEDY:
        raise InputError(f'strategy "{name}" finds nodes of one class; name the class with find')
    if name != POOL:
        return name
    if kept is not None and kept in STRATEGIES:
        return kept
    return FOR_MEASUREMENTS if graph is not None and are_measurements(graph.attributes) else DEFAULT_STRATEGY


def checked_classes(classes: Any) -> tuple[Hashable, ...]:
    """Two classes or more, each once, of a kind that a journal can keep."""
    names = checked_names(classes)
    odd = next((name for name in names if not isinstance(name, str | int | float)), None)
    refuse(
        {
            f"classes {names!r}; name at least 2": len(names) < 2,
            f"classes {names!r} name a class twice; name each once": len(set(names)) != len(names),
            f"class {odd!r} is {type(odd).__name__}; a journal keeps strings and numbers": odd is not None,
        }
    )
    return names


def digest(graph: Graph) -> str:
    """SHA-256 of all that a campaign depends on: ids, edges with their weights, attributes."""
    try:
        total = hashlib.sha256("\n".join(f"{type(v).__name__} {v}" for v in graph.nodes).encode())
    except UnicodeEncodeError as error:
        odd = error.object[max(0, error.start - 40) : error.end]
        raise InputError(f"a node id contains half of a character, {odd!r}; correct it") from None
    for matrix in (graph.adjacency, graph.attributes):
        if matrix is None:
            continue
        total.update(repr(matrix.shape).encode())
        for part, kind in ((matrix.indptr, np.int64), (matrix.indices, np.int64), (matrix.data, np.float64)):
            total.update(np.ascontiguousarray(part, dtype=kind).data)
    return total.hexdigest()


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else repr(value)

"""What a campaign of questions is about: fixed when it begins, written first into its journal.

A journal answers for one graph, one set of classes and one way of choosing. Resuming with anything else would
replay answers into a state they were not given in, so it is refused, with what differs.
"""

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from querist.asking.finding import DEFAULT as FIND, FINDERS
from querist.asking.rules import RULES
from querist.errors import InputError, check_name, refuse
from querist.graph import Graph
from querist.labelling.kernel_ridge import are_measurements
from querist.labels import checked_names
from querist.parameters import checked_count, is_finite
from querist.types import Sparse

RANDOM = "random"
DEFAULTS = {"pool": "contrast", "stream": "msg"}
"""What a way to choose means where its rule or algorithm is not named."""
FOR_MEASUREMENTS = "coverage"
"""The rule of the pool where the attributes are measurements."""


@dataclass(frozen=True)
class CampaignSpec:
    """The fixed part of a campaign.

    Parameters
    ----------
    graph : digest of nodes, edges and attributes; nodes, edges : how many, for messages
    classes : what an answer may be, in the order of their codes
    choose : a rule of the pool (`rules.RULES`), an algorithm of the stream (`querist.ALGORITHMS`) or
        "random"; with `find` a rule that finds (`finding.FINDERS`) or "random"
    seed : of everything random; audit : how many questions are a random sample
    noise : share of answers that are presumed wrong; repeats : how many questions are put a second time
    find : the class to find as many nodes of as can be; None labels them all
    overlap : people who answer about every node that is asked about; second_opinions : whether another
        person is asked where an answer is in doubt
    multilabel : whether a node may have several labels: then an answer is a set of classes (answers.py)
    """

    graph: str
    nodes: int
    edges: int
    classes: tuple[Any, ...]
    choose: str = DEFAULTS["pool"]
    seed: int = 0
    audit: int = 0
    noise: float = 0.0
    repeats: int = 0
    find: Any = None
    overlap: int = 1
    second_opinions: bool = False
    multilabel: bool = False

    def __post_init__(self) -> None:
        checked_count("seed", self.seed, 0, most=np.inf)
        for name, least in {"audit": 0, "repeats": 0, "overlap": 1}.items():
            checked_count(name, getattr(self, name), least)
        guessing = 1 - 1 / len(self.classes)
        classes = ", ".join(map(str, self.classes))
        refuse(
            {
                f"audit {self.audit}; it must lie between 0 and the {self.nodes:,} nodes": not (
                    self.audit <= self.nodes
                ),
                f"noise {self.noise}; it is the share of wrong answers, from 0 to below {guessing:.2g}, "
                "which is guessing": not 0 <= self.noise < guessing,
                f"find {self.find!r} is none of the classes {classes}; name one of them": (
                    self.find is not None and self.find not in self.classes
                ),
                f"find {self.find!r} and several labels a node: what finds a class asks for that one alone; "
                "leave out one of the two": self.multilabel and self.find is not None,
                f"choose {self.choose!r} decides by one class a node; with several labels a node choose "
                "pool, a rule of it, or random": self.multilabel and self.choose not in (*RULES, RANDOM),
            }
        )

    def body(self) -> dict[str, Any]:
        """As the journal keeps it."""
        return {**asdict(self), "classes": list(self.classes)}

    @staticmethod
    def of(body: Mapping[str, Any]) -> "CampaignSpec":
        """From the journal."""
        known = {field.name for field in fields(CampaignSpec)}
        given = {name: value for name, value in body.items() if name in known}
        # The first journals kept the rule and the algorithm beside the way.
        given["choose"] = {"pool": body.get("rule"), "stream": body.get("algorithm")}.get(
            given["choose"], given["choose"]
        )
        return CampaignSpec(**{**given, "classes": tuple(given["classes"])})

    def check_same(self, kept: "CampaignSpec", where: str) -> None:
        """Refuse a journal that is about something else."""
        if kept.graph != self.graph:
            raise InputError(
                f"{where}: it was begun with another graph ({kept.nodes:,} nodes, {kept.edges:,} edges; now "
                f"{self.nodes:,} and {self.edges:,}, or other ids, weights or attributes). Give the files it "
                "was begun with, or another journal"
            )
        for field in fields(self):
            then, now = getattr(kept, field.name), getattr(self, field.name)
            if then != now:
                raise InputError(
                    f"{where}: it was begun with {field.name} {_words(then)}, now it is {_words(now)}; give "
                    "the same, or another journal"
                )


def way_to_choose(
    name: str, kept: str | None = None, graph: Graph | None = None, *, find: bool = False
) -> str:
    """The rule, the algorithm or "random" behind a name; "pool" and "stream" are the one that was `kept`,
    or the default for the graph.

    To `find` a class there are other rules, and "pool" is `finding.DEFAULT`.

    >>> way_to_choose("pool"), way_to_choose("sigma"), way_to_choose("stream"), way_to_choose("random")
    ('contrast', 'sigma', 'msg', 'random')
    >>> way_to_choose("pool", "ambiguity"), way_to_choose("stream", "ambiguity")
    ('ambiguity', 'msg')
    >>> way_to_choose("pool", find=True)
    'greedy'
    """
    if find:
        check_name("way to find a class", name, ("pool", *FINDERS, RANDOM))
        return (kept or FIND) if name == "pool" else name
    if name in FINDERS:
        raise InputError(f'choose "{name}" finds a class; say which one, with find')
    ours = (*DEFAULTS, RANDOM, *RULES)
    if name not in ours:
        from querist.online.catalogue import ALGORITHMS

        check_name("way to choose", name, (*ours, *ALGORITHMS))
    if name in DEFAULTS and kept not in (None, RANDOM) and (kept in RULES) == (name == "pool"):
        return str(kept)
    if name == "pool" and graph is not None and are_measurements(graph.attributes):
        return FOR_MEASUREMENTS
    return DEFAULTS.get(name, name)


def check_limits(budget: Any, stop: Any, least: int = 0) -> None:
    """Refuse limits of a campaign that cannot be kept: they may change later, and are not part of it."""
    checked_count("budget", budget, least)
    if stop is not None and not is_finite(stop):
        raise InputError(f"stop = {stop!r}; it must be a finite number")


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
    total = hashlib.sha256("\n".join(f"{type(v).__name__} {v}" for v in graph.nodes).encode())
    for matrix in (graph.adjacency, graph.attributes):
        if matrix is not None:
            _feed(total, matrix)
    return total.hexdigest()


def _feed(total: Any, matrix: Sparse) -> None:
    total.update(repr(matrix.shape).encode())
    for part, kind in ((matrix.indptr, np.int64), (matrix.indices, np.int64), (matrix.data, np.float64)):
        total.update(np.ascontiguousarray(part, dtype=kind).data)


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else repr(value)

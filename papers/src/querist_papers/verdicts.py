"""Published numbers beside ours, and how near is near enough.

A paper's own systems are *reached*, *better* or *not reached*. Of its rivals we can only say that ours
*agrees* or *differs*: a rival that beats its published number was not reproduced. Two kinds stand outside all
totals: *no counterpart* (data that are not public, seconds of another machine and language) and *by
definition* (what could not have come out otherwise: the nodes of the same graph, the questions of a method
that always asks). Theorems are not numbers: each is one `Statement`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from querist.experiment import Result, Specification, direction
from querist_papers.types import Bools

REACHED, BETTER, NOT_REACHED = "reached", "better", "not reached"
AGREES, DIFFERS = "agrees", "differs"
NO_COUNTERPART, BY_DEFINITION = "no counterpart", "by definition"
OWN_VERDICTS, RIVAL_VERDICTS = (REACHED, BETTER, NOT_REACHED), (AGREES, DIFFERS)
OUTSIDE = (NO_COUNTERPART, BY_DEFINITION)
HOLDS, FALSE, NOT_TESTABLE = "holds", "false as printed", "not testable"
STATEMENT_VERDICTS = (HOLDS, FALSE, NOT_TESTABLE)
OWN, THEOREM, RIVAL = "own", "theorem", "rival"
"""What a row is of: a system that the paper proposes, a theorem, or a rival."""

RATES = {
    "error_rate", "mistaken share", "accuracy", "hamming_loss", "one_error", "average_precision", "macro_f1",
    "micro_f1",
}  # fmt: skip
POINTS = 0.005
"""Half a point: no rate has to be nearer than this."""

COUNTS = {"queries", "kept"}
SIDED = RATES | {"queries"}
"""Measures of which more, or less, is better. A budget used merely differs."""
PARTS = 0.05
"""No count has to be nearer than this, in parts of the published one."""

EARNERS = {"by a constant": "majority", "at random": "random", "without the idea": "without"}
"""Predictors that lack what the paper is about: a verdict that they earn as well says little."""

FIELDS = (
    "paper", "item", "dataset", "method", "system", "measure", "published", "published_std", "reached", "std",
    "difference", "tolerance", "verdict", "post_hoc", *EARNERS.values(), "reading", "others",
)  # fmt: skip
"""What a row of results.json holds of a number."""
STATED = ("paper", "item", "statement", "system", "says", "runs", "broken", "verdict", "instead")
"""What it holds of a statement."""


@dataclass(frozen=True)
class Paper:
    """A paper, and the systems that it proposes.

    name : the short one
    about : authors, title and year
    own : its systems; a method is called by its system's name, then by what sets it apart ("BLS, RBF 20 %")
    one_vs_rest : its error rates are averages over the binary problems
    prose : the template of its part of the report (see `querist_papers.account`)

    >>> paper = Paper("bls19", own=frozenset({"BLS"}))
    >>> paper.proposes("BLS, RBF 20 %"), paper.proposes("PA-I")
    (True, False)
    """

    name: str
    about: str = ""
    own: frozenset[str] = frozenset()
    one_vs_rest: bool = False
    prose: Path | None = None

    def proposes(self, method: str) -> bool:
        """Whether a method is the paper's own.

        >>> Paper("msg16", own=frozenset({"MSG", "CMOG"})).proposes("CMOG on selected")
        True
        """
        return method.replace(",", " ").partition(" ")[0] in self.own


@dataclass(frozen=True)
class Number:
    """A published number and ours.

    reached : None where there is nothing of ours to compare
    tolerance : of measures that have none of their own; `near` is what counts
    post_hoc : a setting or reading was chosen by looking at the published number
    by_definition : it could not have come out otherwise
    n, published_std, published_n : the runs behind ours, and those behind the published one
    specification : what was run
    majority, random : what a predictor would reach that always answers the commonest class; that guesses
    without : what the system reaches without the paper's idea
    reading : how the paper was read for it
    others : what other readings reach, by name

    >>> ours = Number(Paper("msg16", own=frozenset({"MSG"})), "table1", "cora", "MSG", "error", 0.2, 0.2)
    >>> ours.own, ours.verdict
    (True, 'reached')
    """

    paper: Paper
    item: str
    dataset: str
    method: str
    measure: str
    published: float
    reached: float | None = None
    std: float | None = None
    tolerance: float = 0.0
    post_hoc: bool = False
    by_definition: bool = False
    n: int = 1
    published_std: float | None = None
    published_n: int = 1
    specification: Specification | None = field(default=None, repr=False)
    majority: float | None = None
    random: float | None = None
    without: float | None = None
    reading: str = "as printed"
    others: Mapping[str, float] = field(default_factory=dict)

    def beside(self, ours: Result | None) -> "Number":
        """The same with the mean over the runs of ours; None where there is no counterpart."""
        if ours is None:
            return self
        mean, std = ours.mean(self.measure), ours.std(self.measure)
        return replace(self, reached=mean, std=std, n=len(ours.outcomes), specification=ours.specification)

    @property
    def own(self) -> bool:
        """Whether the method is the paper's own."""
        return self.paper.proposes(self.method)

    @property
    def difference(self) -> float | None:
        """Ours minus the published one."""
        return None if self.reached is None else self.reached - self.published

    @property
    def near(self) -> float:
        """How far from the published number still counts as near, in its own unit.

        A rate (accuracy, error): `max(.005, 2 sqrt(s_pub^2 / n_pub + s_own^2 / n_own))`. In place of a
        deviation that is not known stands the other: where none was published, ours counts twice. A count of
        questions or of kept items: the same with 5 % of the published one for .005. All others, such as the
        links of a graph or an average rank, say their tolerance where they are compared; 0 is "the same".

        >>> given = Paper("p"), "table1", "cora", "GPA", "accuracy", 0.8, 0.79
        >>> [round(Number(*given, std=s, n=4, published_n=4).near, 4) for s in (None, 0.0001, 0.01)]
        [0.005, 0.005, 0.0141]
        """
        if self.measure not in RATES | COUNTS:
            return self.tolerance
        least = POINTS if self.measure in RATES else PARTS * abs(self.published)
        known = [s for s in (self.published_std, self.std) if s is not None]
        theirs, ours = known if len(known) == 2 else (known or [0.0]) * 2
        return max(least, 2 * math.sqrt(theirs**2 / self.published_n + ours**2 / self.n))

    @property
    def verdict(self) -> str:
        """One of the seven."""
        if self.reached is None or self.measure.endswith("seconds"):
            return NO_COUNTERPART
        found = judged(self.measure, self.reached, self.published, self.near)
        if self.by_definition:
            found = BY_DEFINITION if found == REACHED else NOT_REACHED
        rival = {REACHED: AGREES, BETTER: DIFFERS, NOT_REACHED: DIFFERS}
        return found if self.own else rival.get(found, found)

    def as_dict(self) -> dict[str, Any]:
        """A row of results.json; `system` is empty where the number is outside the totals.

        So are the counts of data, which have no method, where they differ.
        """
        outside = not self.method or self.verdict in OUTSIDE
        found = {
            "paper": self.paper.name,
            "system": "" if outside else OWN if self.own else RIVAL,
            "tolerance": self.near,
        }
        return {name: found[name] if name in found else getattr(self, name) for name in FIELDS}


@dataclass(frozen=True)
class Statement:
    """A theorem, lemma or claim of a paper, tried on runs.

    name : as the paper calls it
    says : what it says, in a few words
    failed : of every run that meets its assumptions, whether it fails as printed
    instead : the form that holds if it is false, the reading under which it holds, or why it cannot be tested

    >>> Statement(Paper("p"), "theorem2", "Theorem 2", "mistakes are at most the bound", [False]).verdict
    'holds'
    """

    paper: Paper
    item: str
    name: str
    says: str
    failed: Sequence[bool] | Bools = ()
    instead: str = ""

    @property
    def verdict(self) -> str:
        """One of three."""
        return NOT_TESTABLE if not len(self.failed) else FALSE if any(self.failed) else HOLDS

    def as_dict(self) -> dict[str, Any]:
        """A row of results.json."""
        counts = (len(self.failed), sum(map(bool, self.failed)))
        found = (self.item, self.name, THEOREM, self.says, *counts, self.verdict, self.instead)
        return dict(zip(STATED, (self.paper.name, *found), strict=True))


def judged(measure: str, value: float, published: float, tolerance: float) -> str:
    """The verdict on an own system with this value; what has no better side cannot be better."""
    difference = value - published
    # 1.1 - 1.0 must not fail a tolerance of 0.1 by a rounding error.
    if abs(difference) <= tolerance + 1e-12 * max(1.0, abs(published)):
        return REACHED
    return BETTER if measure in SIDED and difference * direction(measure) > 0 else NOT_REACHED


def earned(row: Mapping[str, Any], predictor: str) -> bool | None:
    """Whether one of `EARNERS` would be called reached or better in this row; None if not known."""
    if row["system"] != OWN or row[predictor] is None:
        return None
    return judged(row["measure"], row[predictor], row["published"], row["tolerance"]) != NOT_REACHED

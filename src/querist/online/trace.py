"""What happened in every round: the decision a learner returns, the trace of a run."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.online.checks import Ids
from querist.types import Bools, Codes, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What a learner thinks of one node, before any answer.

    `probability` is the chance with which the rule asks here; `certain` means
    that it asks without a draw. `asks` and `variances` have one entry a problem.

    >>> from querist.online import MSG
    >>> decision = MSG(np.eye(3), 2).decide(0)
    >>> decision.ask, decision.certain, decision.margin
    (True, True, 0.0)
    """

    node: Any
    """In the terms of the user: the graph's own id, where it has ids."""
    row: int
    round: int
    prediction: int
    scores: Floats
    margin: float
    variance: float
    ask: bool
    probability: float
    certain: bool
    spent: bool
    """The budget is spent: the rule may want to ask, the learner does not."""
    asks: Bools
    variances: Floats
    value: float = 0.0
    """How much the rule wishes to ask, larger for sooner; a pace compares it between rounds."""

    @property
    def reason(self) -> str:
        """Why it asks, or does not, in plain words."""
        if self.spent:
            return "the budget is spent"
        if self.certain:
            return f"the rule asks for certain (margin {self.margin:.3g}, variance {self.variance:.3g})"
        if self.probability == 0:
            return f"the rule sees no need (margin {self.margin:.3g}, variance {self.variance:.3g})"
        outcome = "drawn" if self.ask else "not drawn"
        return f"{outcome} with probability {self.probability:.3g}"


@dataclass(frozen=True, slots=True, eq=False)
class Problems:
    """The one-vs-rest problems of a run, side by side: arrays (rounds, problems).

    >>> from querist import load_graph
    >>> from querist.embedding import embed
    >>> from querist.online import ALGORITHMS
    >>> club = load_graph("karate")
    >>> learner = ALGORITHMS["ollgc"](embed(club, 4, cache=False), 2)
    >>> learner.run(range(34), club.codes).problems.asked.shape
    (34, 1)
    """

    asked: Bools
    mistaken: Bools
    updated: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Every round of a run, in order.

    `node, row, predicted, asked, mistaken, updated, margin, variance` have one
    entry a round; `row` is the row number of the node. `judged` is False where
    the true label was never seen (an oracle that was not asked): `mistaken` is
    False there and means nothing.

    In the one-vs-rest scheme `problems` holds the binary problems, and
    `error_rate`, `queries` and `updates` are averages over them (sslgc13).

    >>> from querist import load_graph
    >>> from querist.embedding import embed
    >>> from querist.online import ALGORITHMS
    >>> club = load_graph("karate")
    >>> trace = ALGORITHMS["cmog"](embed(club, 4, cache=False), 2).run(range(34), club.codes)
    >>> trace.questions, round(trace.error_rate, 2)
    (34, 0.12)
    """

    row: Codes
    predicted: Codes
    asked: Bools
    mistaken: Bools
    updated: Bools
    margin: Floats
    variance: Floats
    judged: Bools
    problems: Problems | None = None
    ids: Ids | None = None

    def __len__(self) -> int:
        return self.row.size

    @property
    def node(self) -> Any:
        """In the terms of the user: the graph's own ids, where it has ids; otherwise the row numbers."""
        return self.row if self.ids is None else self.ids.of(self.row)

    @property
    def error_rate(self) -> float:
        """Share of mistaken rounds; NaN unless every round could be judged."""
        wrong = self.mistaken if self.problems is None else self.problems.mistaken
        return float(wrong.mean()) if wrong.size and self.judged.all() else float("nan")

    @property
    def questions(self) -> int:
        """Rounds in which the oracle was asked."""
        return int(self.asked.sum())

    @property
    def queries(self) -> float:
        """Questions; in the one-vs-rest scheme the average over the binary problems."""
        return _per_problem(self.asked if self.problems is None else self.problems.asked)

    @property
    def updates(self) -> float:
        """Learned answers, counted like `queries`."""
        return _per_problem(self.updated if self.problems is None else self.problems.updated)

    def error_curve(self) -> Floats:
        """Error rate up to every round."""
        return np.cumsum(self.mistaken) / np.arange(1, len(self) + 1)


def _per_problem(flags: Bools) -> float:
    return float(flags.sum()) if flags.ndim == 1 else float(flags.sum(axis=0).mean())

"""From probabilities to labels by a goal: what is called right, or costly, decides what a node is called.

With one label a node, the best answer to probabilities p is the class j of the largest

    gain_j p_j - price_j        or, with costs C[true, said],        -sum_k p_k C[k, j]:

- *accuracy*: gain 1, price 0: the likeliest class;
- *balanced*, the mean over the classes of the share that is found: gain `1 / s_j`, s the classes' shares of
  all nodes;
- *f1*, the mean over the classes of `F_j = 2 t_j / D_j` with t_j how many are rightly called j and D_j how
  many are called j and how many are of it, together: the derivative by the call of a node is
  `(2 p_j - F_j) / D_j`, so gain `2 / D_j` and price `F_j / D_j`, which hold at the answer that they give.
  With two classes the F1 of the rarer one is meant, as is usual: its gain is 1 and its price `F / 2`, the
  other's are 0.

With several labels a node, a class is given where `gain_j p_j >= price_j`: from a half on (accuracy), from
the class's share on (balanced), from half of the largest F1 on (f1; Lipton et al. 2014), or from
`c / (c + d)` on, c the cost of a false one and d that of a missed one. A node gets at least one, that
which comes nearest to its threshold.

Gains and prices are chosen on the calibrated probabilities of the unlabelled nodes. What held-out labels
know is in those already, by a prior that few of them cannot overrule (calibrate.py). A threshold that is the
best for the handful of held-out labels of a rare class is noise: on development sets it cost two to three
times as much F1.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from querist.codec import Field
from querist.errors import InputError, shortened
from querist.labelling.combine import TINY
from querist.labelling.options import Costs
from querist.labels import class_codes
from querist.parameters import is_finite
from querist.types import Bools, Codes, Floats

ENOUGH = 20_000
"""Nodes on whose probabilities a goal is settled; of more every second, third, ... is taken."""

STEPS = 100


@dataclass(frozen=True, eq=False)
class GoalDecision:
    """What a node is called, given its probabilities.

    Parameters
    ----------
    goal : a `Goal`, or "costs"
    multilabel : whether a node may have several labels
    gain, price : (K,) see the module
    costs : (K, K) of each true and said class; None but for costs with one label a node
    """

    goal: str
    multilabel: bool
    gain: Annotated[Floats, Field("K", finite=False)]
    price: Annotated[Floats, Field("K", finite=False)]
    costs: Annotated[Floats, Field("K K", finite=False)] | None = None

    def scores(self, P: Floats) -> Floats:
        """(n, K) with one label a node: the class of the largest is said, of equals the lower code."""
        if self.goal == "accuracy":
            return P
        if self.costs is not None:
            return np.asarray(-P @ self.costs)
        return np.asarray(P * self.gain - self.price)

    def said(self, P: Floats) -> Bools:
        """(n, K) the class, or the classes, of every row."""
        rows = np.arange(len(P))
        if not self.multilabel:
            found = np.zeros(P.shape, dtype=bool)
            found[rows, self.scores(P).argmax(axis=1)] = True
            return found
        found = P * self.gain >= self.price
        found[rows, (P * (self.gain / np.maximum(self.price, TINY))).argmax(axis=1)] = True
        return np.asarray(found)

    def threshold(self, k: int) -> float | None:
        """The probability from which a node has the class; None where that depends on other classes."""
        if self.multilabel:
            return float(self.price[k] / self.gain[k])
        if len(self.gain) != 2:
            return None
        # Scores are linear in p_k: where those of the two classes cross.
        ends = [float(np.diff(self.scores(row))[0, 0]) for row in (np.eye(2)[[1 - k]], np.eye(2)[[k]])]
        if ends[0] == ends[1]:
            return None
        return float(np.clip(ends[0] / (ends[0] - ends[1]), 0.0, 1.0))


def decide(goal: str, P: Floats, multilabel: bool, costs: Floats | None = None) -> GoalDecision:
    """The decision for a goal, from the probabilities (n, K) of the nodes that it is about.

    `costs` come from `cost_table`.
    """
    K = P.shape[1]
    ones = np.ones(K)
    if costs is not None:
        if not multilabel:
            return GoalDecision("costs", multilabel, ones, np.zeros(K), costs)
        missed, false = costs
        return GoalDecision("costs", multilabel, missed + false, false)
    P = P[:: max(1, len(P) // ENOUGH)]
    if goal == "accuracy" or not len(P):
        return GoalDecision("accuracy", multilabel, ones, np.full(K, 0.5 if multilabel else 0.0))
    shares = np.maximum(P.mean(axis=0), TINY)
    if goal == "balanced":
        gain, price = (ones, shares) if multilabel else (1 / shares, np.zeros(K))
    elif multilabel:
        gain, price = ones, largest_f1(P) / 2
    elif K == 2:
        gain = np.eye(2)[shares.argmin()]
        price = gain * largest_f1(P) / 2
    else:
        gain, price = macro_f1_prices(P)
    return GoalDecision(goal, multilabel, gain, price)


def cost_table(costs: Costs, classes: Sequence[Hashable], multilabel: bool) -> Floats:
    """(K, K) the cost of each true and said class; with several labels a node (2, K) of missed and false.

    >>> cost_table({("fraud", "fine"): 20}, ["fine", "fraud"], multilabel=False).tolist()
    [[0.0, 1.0], [20.0, 0.0]]
    """
    code = class_codes(classes)
    table = np.ones((2, len(classes))) if multilabel else 1 - np.eye(len(classes))
    for pair, cost in costs.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"costs have {pair!r}; give them by pairs of a true and a said class")
        true, said = (v if v in code or v is None else str(v) for v in pair)
        unknown = [v for v in (true, said) if v not in code and not (multilabel and v is None)]
        if unknown:
            raise InputError(f"costs name the class {unknown[0]!r}; the labels have {_listed(classes)}")
        if not is_finite(cost) or cost < 0:
            raise InputError(
                f"saying {said!r} for {true!r} costs {shortened(cost)}; give numbers of 0 or more"
            )
        if multilabel:
            if (true is None) == (said is None):
                raise InputError(
                    f"costs of {true!r} and {said!r}; where a node may have several labels, give those of a "
                    "missed class (said is empty) and of a false one (true is empty)"
                )
            table[(0, code[true]) if said is None else (1, code[said])] = float(cost)
        else:
            table[code[true], code[said]] = float(cost)
    if multilabel and not table.sum(axis=0).all():
        free = classes[int(np.argmin(table.sum(axis=0)))]
        raise InputError(
            f"missing {free!r} and giving it falsely both cost 0; let one of them cost something"
        )
    return table


def _listed(classes: Sequence[Hashable], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in classes[:most])
    return shown + (" and others" if len(classes) > most else "")


# -- expected F1 ---------------------------------------------------------------------------------------


def largest_f1(P: Floats) -> Floats:
    """(K,) the largest F1 to expect of each class when the likeliest rows are given it.

    Called of the first c rows: `2 sum of their p / (c + sum of all p)`.

    >>> largest_f1(np.array([[1.0], [1.0], [0.0]])).tolist()
    [1.0]
    """
    down = -np.sort(-P, axis=0)
    called = np.arange(1, len(P) + 1)[:, None]
    return np.asarray((2 * down.cumsum(axis=0) / (called + down.sum(axis=0))).max(axis=0))


def expected_f1(P: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """(K,) the F1 to expect of each class when rows are called `codes`, and its denominator D."""
    K = P.shape[1]
    right = np.bincount(codes, P[np.arange(len(P)), codes], K)
    D = np.bincount(codes, minlength=K) + P.sum(axis=0)
    return 2 * right / np.maximum(D, TINY), D


def macro_f1_prices(P: Floats) -> tuple[Floats, Floats]:
    """(K,) gain and price of the calls that have the largest mean F1 to expect, with one label a node.

    From the calls of the other two goals the prices are found, from these the calls, and so on; the best
    calls that are met give the prices.
    """
    shares = np.maximum(P.mean(axis=0), TINY)
    best = -1.0, np.ones_like(shares), np.zeros_like(shares)
    for start in (P, P / shares):
        codes, gain, price, met = start.argmax(axis=1), np.ones_like(shares), np.zeros_like(shares), set()
        if start is not P:
            gain = 1 / shares
        for _ in range(STEPS):
            F, D = expected_f1(P, codes)
            if F.mean() > best[0]:
                best = float(F.mean()), gain, price
            D = np.maximum(D, TINY)
            gain, price = 2 / D, F / D
            codes = (P * gain - price).argmax(axis=1)
            mark = codes.tobytes()
            if mark in met:
                break
            met.add(mark)
    return best[1], best[2]

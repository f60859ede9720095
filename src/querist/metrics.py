"""How good an answer is: measures for one label a node, and for several (mrgm15, section 4.2).

Single label: `accuracy`. Several labels, with a 0/1 `truth` (n, K), 0/1 `predicted` and real `scores`:

- `hamming_loss` the share of wrong node-class pairs;
- `one_error` how often the best-scored class is none of the node's;
- `coverage` how far down the ranking all of a node's classes are found, counted from 0;
- `average_precision` the mean over a node's classes of the share of true ones ranked no lower;
- `macro_f1` the mean of the classes' F1, `micro_f1` the F1 of all pairs together.

Ties. Ranks are *ordinal* by default: equal scores are ranked by class code, so that every rank is taken
once and the best-scored class is the one that `argmax` gives. `ties="max"` gives all of a group of equal
scores the worst rank among them, which is what scikit-learn does. One-error always goes by the first of the
best. A node without a class has no ranking measures and is left out of them; F1 is 0 where a class is
neither true nor predicted, as in scikit-learn with `zero_division=0`.

>>> from querist.metrics import measure
>>> measure([[1, 0], [0, 1]], [[1, 1], [0, 1]], [[0.9, 0.5], [0.1, 0.8]])["micro_f1"]
0.8
"""

from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from querist.errors import InputError
from querist.types import Floats

__all__ = ["measure"]

Ties: TypeAlias = Literal["ordinal", "max"]
"""Which rank equal scores get: in the order of the columns, or the largest of theirs."""

SMALLER_IS_BETTER = frozenset({"hamming_loss", "one_error", "coverage"})
"""The measures of which less is better."""

NAMES = (
    "accuracy",
    "hamming_loss",
    "one_error",
    "coverage",
    "average_precision",
    "macro_f1",
    "micro_f1",
)
"""Every measure; `accuracy` is for one label a node."""


def measure(truth: Any, predicted: Any, scores: Any, ties: Ties = "ordinal") -> dict[str, float]:
    """All measures of 0/1 matrices `truth` and `predicted` (n, K) and real `scores` (n, K).

    `accuracy` is there only when every node has one class.

    >>> found = measure([[1, 0], [0, 1]], [[1, 0], [1, 0]], [[0.9, 0.1], [0.6, 0.4]])
    >>> found["accuracy"], found["hamming_loss"], found["coverage"]
    (0.5, 0.5, 0.5)
    """
    T, H, s = _checked(truth, predicted, scores)
    if ties not in get_args(Ties):
        raise InputError(f"ties = {ties!r}; it must be 'ordinal' or 'max'")
    hit, wrong = (T * H).sum(axis=0), (T != H).sum(axis=0).astype(np.float64)
    found = {
        "hamming_loss": float(np.mean(T != H)),
        **_ranking(T, s, ties),
        "macro_f1": float(np.mean(2 * hit / np.where(hit + wrong > 0, 2 * hit + wrong, 1))),
        "micro_f1": float(2 * hit.sum() / max(2 * hit.sum() + wrong.sum(), 1.0)),
    }
    if (T.sum(axis=1) == 1).all() and (H.sum(axis=1) <= 1).all():
        return {"accuracy": float(np.mean((T * H).sum(axis=1))), **found}
    return found


def _ranking(T: Floats, s: Floats, ties: Ties) -> dict[str, float]:
    """The measures that look at ranks, 1 the best, of the nodes with a class."""
    from scipy.stats import rankdata

    some = T.any(axis=1)
    if not some.any():
        raise InputError("no node has a class, so nothing can be ranked; give at least one")
    T, s = T[some], s[some]
    rank = np.asarray(rankdata(-s, method=ties, axis=1), dtype=np.float64)
    above = np.zeros(rank.shape)  # true classes that are ranked no lower
    for k in range(T.shape[1]):
        above += (T[:, k : k + 1] > 0) & (rank[:, k : k + 1] <= rank)
    return {
        "one_error": float(np.mean(T[np.arange(len(T)), s.argmax(axis=1)] == 0)),
        "coverage": float(np.mean(np.where(T > 0, rank, 0).max(axis=1) - 1)),
        "average_precision": float(np.mean(np.where(T > 0, above / rank, 0.0).sum(axis=1) / T.sum(axis=1))),
    }


def _checked(truth: Any, predicted: Any, scores: Any) -> tuple[Floats, Floats, Floats]:
    T, H, s = (np.asarray(a, dtype=np.float64) for a in (truth, predicted, scores))
    if T.ndim != 2 or T.shape != H.shape or T.shape != s.shape or T.size == 0:
        raise InputError(f"truth {T.shape}, predicted {H.shape}, scores {s.shape}; all must be (n, K)")
    for name, values in (("truth", T), ("predicted", H)):
        if not np.isin(values, (0.0, 1.0)).all():
            raise InputError(f"{name} holds other values than 0 and 1; give a 0/1 matrix")
    if not np.isfinite(s).all():
        raise InputError("scores hold NaN or infinite values; remove or replace them")
    return T, H, s

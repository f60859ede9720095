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

>>> from querist.metrics import micro_f1
>>> micro_f1([[1, 0], [0, 1]], [[1, 1], [0, 1]])
0.8
"""

from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from querist.errors import InputError
from querist.types import Floats

Ties: TypeAlias = Literal["ordinal", "max"]
"""Which rank equal scores get: in the order of the columns, or the largest of theirs.

>>> average_precision([[0, 1]], [[0.5, 0.5]], ties="max")
0.5
"""

NAMES = (
    "accuracy",
    "hamming_loss",
    "one_error",
    "coverage",
    "average_precision",
    "macro_f1",
    "micro_f1",
)
"""Every measure; `accuracy` is for one label a node.

>>> NAMES[0]
'accuracy'
"""

SMALLER_IS_BETTER = frozenset({"hamming_loss", "one_error", "coverage"})
"""The measures of which less is better.

>>> "hamming_loss" in SMALLER_IS_BETTER, "accuracy" in SMALLER_IS_BETTER
(True, False)
"""


def accuracy(truth: Any, predicted: Any) -> float:
    """The share of nodes whose label is right; a label of None is wrong.

    >>> accuracy(["cat", "dog"], ["cat", None])
    0.5
    """
    one, other = np.asarray(truth, dtype=object), np.asarray(predicted, dtype=object)
    if one.shape != other.shape or one.ndim != 1 or one.size == 0:
        raise InputError(f"{one.shape} true labels for {other.shape} predicted; give one each, at least one")
    return float(np.mean([a == b for a, b in zip(one, other, strict=True)]))


def measure(truth: Any, predicted: Any, scores: Any, ties: Ties = "ordinal") -> dict[str, float]:
    """All measures of 0/1 matrices `truth` and `predicted` (n, K) and real `scores` (n, K).

    `accuracy` is there only when every node has one class.

    >>> found = measure([[1, 0], [0, 1]], [[1, 0], [1, 0]], [[0.9, 0.1], [0.6, 0.4]])
    >>> found["accuracy"], found["hamming_loss"], found["coverage"]
    (0.5, 0.5, 0.5)
    """
    T, H, s = _checked(truth, predicted, scores)
    found = {
        "hamming_loss": hamming_loss(T, H),
        "one_error": one_error(T, s),
        "coverage": coverage(T, s, ties),
        "average_precision": average_precision(T, s, ties),
        "macro_f1": macro_f1(T, H),
        "micro_f1": micro_f1(T, H),
    }
    if (T.sum(axis=1) == 1).all() and (H.sum(axis=1) <= 1).all():
        return {"accuracy": float(np.mean((T * H).sum(axis=1))), **found}
    return found


def hamming_loss(truth: Any, predicted: Any) -> float:
    """`mean of [truth != predicted]`.

    >>> hamming_loss([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.25
    """
    return float(np.mean(np.asarray(truth) != np.asarray(predicted)))


def one_error(truth: Any, scores: Any) -> float:
    """How often the first of the best-scored classes is none of the node's.

    >>> one_error([[1, 0], [0, 1]], [[0.9, 0.1], [0.8, 0.2]])
    0.5
    """
    T, s = _labelled(truth, scores)
    return float(np.mean(T[np.arange(len(T)), s.argmax(axis=1)] == 0))


def coverage(truth: Any, scores: Any, ties: Ties = "ordinal") -> float:
    """The mean over nodes of `max rank of a true class - 1`.

    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    2.0
    """
    T, s = _labelled(truth, scores)
    return float(np.mean(np.where(T > 0, ranks(s, ties), 0).max(axis=1) - 1))


def average_precision(truth: Any, scores: Any, ties: Ties = "ordinal") -> float:
    """The mean over nodes, and over a node's classes c, of `|true classes ranked <= rank(c)| / rank(c)`.

    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]]), 3)
    0.833
    """
    T, s = _labelled(truth, scores)
    rank = ranks(s, ties)
    above = np.zeros(rank.shape)
    for k in range(T.shape[1]):
        above += (T[:, k : k + 1] > 0) & (rank[:, k : k + 1] <= rank)
    return float(np.mean(np.where(T > 0, above / rank, 0.0).sum(axis=1) / T.sum(axis=1)))


def macro_f1(truth: Any, predicted: Any) -> float:
    """The mean over classes of `2 tp / (2 tp + fp + fn)`.

    >>> round(macro_f1([[1, 0], [0, 1]], [[1, 1], [0, 1]]), 3)
    0.833
    """
    hit, wrong = _hits(truth, predicted)
    return float(np.mean(2 * hit / np.where(hit + wrong > 0, 2 * hit + wrong, 1)))


def micro_f1(truth: Any, predicted: Any) -> float:
    """`2 tp / (2 tp + fp + fn)` over all node-class pairs.

    >>> micro_f1([[1, 0], [0, 1]], [[1, 1], [0, 1]])
    0.8
    """
    hit, wrong = (part.sum() for part in _hits(truth, predicted))
    return float(2 * hit / (2 * hit + wrong)) if hit + wrong else 0.0


def ranks(scores: Floats, ties: Ties = "ordinal") -> Floats:
    """(n, K) rank of each score in its row, 1 the best.

    >>> ranks(np.array([[0.5, 0.5, 0.1]])), ranks(np.array([[0.5, 0.5, 0.1]]), "max")
    (array([[1., 2., 3.]]), array([[2., 2., 3.]]))
    """
    from scipy.stats import rankdata

    if ties not in get_args(Ties):
        raise InputError(f"ties = {ties!r}; it must be 'ordinal' or 'max'")
    return np.asarray(rankdata(-scores, method=ties, axis=1), dtype=np.float64)


def _hits(truth: Any, predicted: Any) -> tuple[Floats, Floats]:
    """(K,) true positives, and false positives with false negatives."""
    T, H = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    return (T * H).sum(axis=0), (T != H).sum(axis=0).astype(np.float64)


def _labelled(truth: Any, scores: Any) -> tuple[Floats, Floats]:
    T, s = np.asarray(truth, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    some = T.any(axis=1)
    if not some.any():
        raise InputError("no node has a class, so nothing can be ranked; give at least one")
    return T[some], s[some]


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

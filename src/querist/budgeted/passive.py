"""Passive-aggressive learners on a stream: PA, PA-I and PA-II, the supervised baseline of bls19.

With `loss = max(0, 1 - margin)` the weights move just far enough: `w += tau y x` with

    PA: tau = loss/|x|^2,   PA-I: tau = min(C, loss/|x|^2),   PA-II: tau = loss/(|x|^2 + 1/(2C)).

For two classes the margin is `y w.x`. For more, it is the score of the true class minus that
of the best other; the one gains `tau x`, the other loses it, and `2|x|^2` stands for `|x|^2`.
There is no constant feature. Unlabelled items teach nothing.
"""

from typing import Any, ClassVar

import numpy as np

from querist.budgeted import checks
from querist.budgeted.learner import Stream
from querist.budgeted.similarity import squared_norm
from querist.budgeted.step import StreamRows, item
from querist.compiled import compiled
from querist.parameters import checked_count
from querist.types import Bools, Codes, Floats


@compiled
def step_size(variant: int, C: float, loss: float, norm: float) -> float:
    """tau; `norm` is |x|^2, twice that for several classes."""
    if variant == 2:
        return loss / (norm + 1.0 / (2.0 * C))
    if norm == 0:
        return 0.0
    return loss / norm if variant == 0 else min(C, loss / norm)


@compiled
def score_row(W: Floats, indices: Codes, values: Floats, dense: bool, f: Floats) -> int:
    """`f = W x`; the predicted class, -1 where all scores are 0."""
    any_score = False
    for p in range(f.size):
        total, w = 0.0, W[p]
        for n in range(values.size):
            total += w[n if dense else indices[n]] * values[n]
        f[p] = total
        any_score = any_score or total != 0
    if not any_score:
        return -1
    if f.size == 1:
        return 1 if f[0] > 0 else 0
    return int(np.argmax(f))


@compiled
def add_row(w: Floats, indices: Codes, values: Floats, dense: bool, tau: float) -> None:
    """`w += tau x`."""
    for n in range(values.size):
        w[n if dense else indices[n]] += tau * values[n]


@compiled
def learn_row(
    W: Floats, f: Floats, indices: Codes, values: Floats, dense: bool, label: int, variant: int, C: float
) -> bool:
    """Move the weights for a labelled item; whether they moved."""
    norm = squared_norm(values)
    if f.size == 1:
        y = 1.0 if label == 1 else -1.0
        loss = 1.0 - y * f[0]
        if loss <= 0:
            return False
        add_row(W[0], indices, values, dense, y * step_size(variant, C, loss, norm))
        return True
    rival = 1 if label == 0 else 0
    for p in range(f.size):
        if p != label and f[p] > f[rival]:
            rival = p
    loss = 1.0 - (f[label] - f[rival])
    if loss <= 0:
        return False
    tau = step_size(variant, C, loss, 2.0 * norm)
    add_row(W[label], indices, values, dense, tau)
    add_row(W[rival], indices, values, dense, -tau)
    return True


@compiled
def run(
    W: Floats,
    f: Floats,
    rows: StreamRows,
    labels: Codes,
    variant: int,
    C: float,
    predicted: Codes,
    actions: Codes,
) -> None:
    """Predict every row, then learn it."""
    dense = rows.indptr.size == 0
    for t in range(labels.size):
        indices, values = item(rows, t)
        predicted[t] = score_row(W, indices, values, dense, f)
        if labels[t] >= 0:
            actions[t] = 1 if learn_row(W, f, indices, values, dense, labels[t], variant, C) else 0


class PA:
    """Passive-aggressive: move just far enough for a margin of 1.

    >>> import numpy as np
    >>> stream = PA(2).run(np.array([[1.0], [-1.0], [2.0]]), np.array([0, 1, 0]))
    >>> stream.predicted
    array([-1,  1,  0])
    """

    _variant: ClassVar[int] = 0

    def __init__(self, n_classes: int, *, seed: int = 0) -> None:
        self.n_classes, self.C = checked_count("n_classes", n_classes, 2), 1.0
        self.W = np.empty((1 if n_classes == 2 else n_classes, 0))

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then learn it if it is labelled."""
        M, codes = checks.checked_stream(X, labels, labelled, self.n_classes, self.W.shape[1] or None)
        if self.W.shape[1] == 0:
            self.W = np.zeros((self.W.shape[0], M.shape[1]))
        done, f = Stream.blank(codes.size), np.zeros(self.W.shape[0])
        run(self.W, f, checks.as_rows(M), codes, self._variant, self.C, done.predicted, done.actions)
        return done


class PA1(PA):
    """Passive-aggressive I: the same, by at most C.

    >>> PA1(2, C=0.5).C
    0.5
    """

    _variant = 1

    def __init__(self, n_classes: int, *, C: float = 1.0, seed: int = 0) -> None:
        super().__init__(n_classes)
        self.C = checks.checked_number("C", C)


class PA2(PA1):
    """Passive-aggressive II: the same, damped by C.

    >>> PA2(2, C=0.5).C
    0.5
    """

    _variant = 2

"""The quick learner behind `ask`: rows of the graph, least squares on one-hot answers, second order.

Every node has a row of length one: attributes (tf-idf) smoothed over the graph where there are any, else the
Laplacian embedding. With answers `(m_t, y_t)` the scores are those of ridge regression,

    A = gamma I + sum_t m_t m_t',   P = A^-1,   W = P sum_t m_t e(y_t)',   f_i = W'm_i,   r_i = m_i'P m_i,

and an answer at i changes W and P by one rank: with `g = P m_i` and `q = 1 + r_i`,

    W += g (e(y) - f_i)'/q,   P -= g g'/q.

That costs nothing however large the graph is; scores and variances of all nodes are worked out when somebody
looks at them. W and P depend on the answers and their order alone, not on who looked, nor when.

Few columns serve few answers best, and many columns many: the scores are the mean of regressions on the
leading columns, for several numbers of them.

Query strategies (strategies.py) look at a P with a larger gamma than the scores: then an answer counts for
the nodes nearby only, and the questions spread less into corners. Some of them want the rows `centred`: dense
attributes have much in common, and rows of length one that differ little leave a ridge blind to what differs.

Probabilities are `softmax(f / temperature)`. Questions are chosen with a constant temperature; the expected
accuracy comes from a temperature fitted to the answers, each left out.

If nodes may have several labels (`multilabel`) every class is a question of its own, yes or no, with the same
rows: two columns `f_k` and `h - f_k`, where h is the score of a column that every answer has. So one column
more than classes is kept, the scores are `2 f_k - h`, yes less no, and what the two-class model says of each
class is what this one says. A node is as ambiguous as its classes are on average.

The constants below were chosen on Cora-ML, ACM and DBLP,
and without attributes on the political blogs and LastFM Asia.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from querist.asking.answers import indicator, likely, sureness
from querist.collective.logistic import softmax
from querist.embedding import Embedding
from querist.embedding.kinds import kind_of
from querist.labelling.combine import loss
from querist.labelling.heads import squared_distances, unit_rows
from querist.labelling.rows import CHOOSING_RANK
from querist.labelling.suggest import ambiguity, centred_rows, quadratic_forms
from querist.labels import Code
from querist.types import Bools, Codes, Floats

RANKS = (16, 32, 64, 100)
"""Columns of the regressions that are averaged."""
ROOM = 4e8
"""Most numbers in the rows of all regressions; a larger graph has fewer of them."""
GAMMAS = {True: (1.0, 2.0), False: (0.1, 0.1)}
"""The ridge of the scores, and that by which questions are chosen, by whether rows of the kind depend on
attributes."""
TEMPERATURE = 0.1
TEMPERATURES = TEMPERATURE * np.geomspace(0.1, 10.0, 41)
"""Temperatures that are tried, to be calibrated."""
DEVIATION = 0.5
"""Of the prior on the logarithm of the temperature."""
SURELY = 1e-9
"""Least share of a score that an answer at the node itself leaves to the others."""
FAR = 2.0
"""The squared distance of rows of length one that have nothing in common."""

FEW = 8
"""Open questions whose part in the variance is added one by one."""


def leading(embedding: Embedding, rank: int) -> Floats:
    """(n, k) the constant columns and the first of the others, as rows of length one.

    As for the embedding, `rank` counts the columns of a connected graph: further components bring constant
    columns of their own, and take none of the others away. Small components that had to share a column (see
    embedding/kinds/spectral.py) have rows of zeros: by the column they would tell of each other.
    """
    first, constant, _ = embedding.layout or (0, 0, 0)
    others = np.delete(np.arange(embedding.rows.shape[1]), slice(first, first + constant))
    kept = [*others[: max(1, rank - min(constant, 1))], *range(first, first + constant)]
    rows = unit_rows(embedding.rows[:, kept])
    if constant:
        last = embedding.rows[:, first + constant - 1] != 0
        if np.unique(embedding.components[last]).size > 1:
            rows[last] = 0.0
    return rows


def widths_of(n: int, columns: int, ranks: Sequence[int]) -> list[int]:
    """Columns of the regressions on n rows that have so many."""
    widths = sorted({min(rank, columns) for rank in ranks})
    while len(widths) > 1 and n * sum(widths) > ROOM:
        widths.pop()
    return widths


@dataclass(frozen=True, eq=False)
class Regression:
    """One regression: rows (n, d) of length one, the second-order state P (d, d), the weights W (d, K).

    That by which questions are chosen has no weights: K = 0, and its answers no target.
    """

    rows: Floats
    P: Floats
    W: Floats

    @staticmethod
    def start(rows: Floats, gamma: float, n_columns: int = 0) -> "Regression":
        """Before any answer: `P = I / gamma`."""
        d = rows.shape[1]
        return Regression(rows, np.eye(d) / gamma, np.zeros((d, n_columns)))

    @cached_property
    def r(self) -> Floats:
        """(n,) the variance of every node."""
        return np.asarray(np.maximum(quadratic_forms(self.rows, self.P), 0.0))

    def scores(self, which: Any) -> Floats:
        """(m, K) f of some nodes."""
        return np.asarray(self.rows[which] @ self.W)

    def learn(self, row: int, target: Floats | None = None) -> "Regression":
        """With one answer more: (K,) how likely it is each class; without, the weights stay."""
        m = self.rows[row]
        g = self.P @ m
        q, W = 1 + m @ g, self.W
        if target is not None:
            W = W + np.outer(g / q, target - m @ W)
        return Regression(self.rows, self.P - np.outer(g, g) / q, W)

    def learn_all(self, rows: Sequence[int], targets: Floats | None = None) -> "Regression":
        """With many answers more: with X their rows and Y their targets (m, K),

        A' = A + X'X,   P' = A'^-1,   W' = W + P' X'(Y - X W).
        """
        X, W = self.rows[rows], self.W
        P = np.linalg.inv(np.linalg.inv(self.P) + X.T @ X)
        P = (P + P.T) / 2
        if targets is not None:
            W = W + P @ (X.T @ (targets - X @ W))
        return Regression(self.rows, P, W)

    def opened(self, rows: Sequence[int]) -> "Regression":
        """With answers at `rows` to come: the variance has them, the scores have not."""
        if len(rows) > FEW:
            return self.learn_all(rows)
        found = self
        for row in rows:
            found = found.learn(row)
        return found

    def retarget(self, rows: Sequence[int], change: Floats) -> "Regression":
        """With the targets of answers at `rows` changed by (m, K): `W' = W + P X' change`."""
        return replace(self, W=self.W + self.P @ (self.rows[rows].T @ change))

    def left_out(self, rows: Sequence[int], targets: Floats) -> Floats:
        """(m, K) scores at `rows`, each without its own answer: `(f_i - r_i t_i) / (1 - r_i)`."""
        r = np.maximum(quadratic_forms(self.rows[rows], self.P), 0.0)[:, None]
        return np.asarray((self.scores(rows) - r * targets) / np.maximum(1 - r, SURELY))


@dataclass(frozen=True, eq=False)
class QuickModel:
    """The state after some answers; `learn` gives the next one, and leaves this one as it is.

    Parameters
    ----------
    answered : the regressions whose scores are averaged, as the answers leave them
    open_rows : rows of questions that wait for an answer
    choosing : the regression without weights by which questions are chosen
    gamma : its ridge
    asked : rows with an answer or an open question
    components : (n,) nodes with the same number can learn from each other
    answers : (c,) how many answers were learned in each component
    pending : (c,) how many questions are open in each
    multilabel : whether an answer is a set of classes
    """

    answered: tuple[Regression, ...]
    choosing: Regression
    gamma: float
    components: Any
    answers: Codes
    pending: Codes
    asked: tuple[int, ...] = ()
    open_rows: tuple[int, ...] = ()
    multilabel: bool = False

    @staticmethod
    def start(
        embedding: Embedding,
        n_classes: int,
        gammas: tuple[float, float] | None = None,
        ranks: Sequence[int] = RANKS,
        *,
        centred: bool = False,
        multilabel: bool = False,
    ) -> "QuickModel":
        """No answer yet; `centred`: without what all rows have in common (`suggest.centred_rows`).

        >>> from querist import as_graph
        >>> from querist.labelling.rows import quick_rows
        >>> path = QuickModel.start(quick_rows(as_graph([(0, 1), (1, 2)]), 3), 2)
        >>> path.learn(0, 1).probabilities.round(2)[0].tolist()
        [0.0, 1.0]
        """
        n, columns = embedding.rows.shape
        gamma, ridge = gammas or GAMMAS[kind_of(embedding.kind).attributes]
        if centred:
            embedding = centred_rows(embedding)
        none = np.zeros(int(embedding.components.max()) + 1, dtype=np.int64)
        return QuickModel(
            answered=tuple(
                Regression.start(leading(embedding, rank), gamma, n_classes + multilabel)
                for rank in widths_of(n, columns, ranks)
            ),
            choosing=Regression.start(leading(embedding, CHOOSING_RANK), ridge),
            gamma=ridge,
            components=embedding.components,
            answers=none,
            pending=none,
            multilabel=multilabel,
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.answered[0].W.shape[1]) - self.multilabel

    @property
    def rows(self) -> Floats:
        """(n, d) of length one, by which questions are chosen."""
        return self.choosing.rows

    def learn(self, row: int, target: Code | Floats) -> "QuickModel":
        """The state with one answer more: its code, or (K,) how likely it is, or has, each class."""
        soft = target[None] if isinstance(target, np.ndarray) else indicator([target], self.n_classes)
        own = self._columns(soft, 1.0)[0]
        return self._with([row], (m.learn(row, own) for m in self.regressions), self.choosing.learn(row))

    def retarget(self, rows: Sequence[int], change: Floats) -> "QuickModel":
        """The state with the targets of answers at `rows` changed by (m, K)."""
        own = self._columns(change, 0.0)
        return replace(self, answered=tuple(m.retarget(rows, own) for m in self.answered))

    def _columns(self, targets: Floats, last: float) -> Floats:
        """(m, K) targets as the regressions have them: of sets with a column more."""
        return np.pad(targets, ((0, 0), (0, 1)), constant_values=last) if self.multilabel else targets

    def opened(self, rows: Sequence[int]) -> "QuickModel":
        """The state with questions at `rows` open: whatever comes, the variance falls; the scores stay."""
        if not len(rows):
            return self
        found = replace(
            self,
            asked=(*self.asked, *rows),
            open_rows=(*self.open_rows, *rows),
            choosing=self.choosing.opened(rows),
            pending=self.pending + np.bincount(self.components[rows], minlength=self.pending.size),
        )
        # What an open question leaves as it is was perhaps worked out already.
        found.__dict__.update({k: v for k, v in self.__dict__.items() if k in ("scores", "ambiguity")})
        return found

    def learn_all(self, rows: Sequence[int], codes: Sequence[Code]) -> "QuickModel":
        """The state with many answers more."""
        targets = self._columns(indicator(codes, self.n_classes), 1.0)
        return self._with(
            rows,
            (m.learn_all(rows, targets) for m in self.regressions),
            self.choosing.learn_all(rows),
        )

    def _with(
        self, rows: Sequence[int], regressions: Iterable[Regression], choosing: Regression
    ) -> "QuickModel":
        came = np.bincount(self.components[rows], minlength=self.answers.size)
        return replace(
            self,
            asked=(*self.asked, *rows),
            answered=tuple(regressions),
            open_rows=(),
            choosing=choosing,
            answers=self.answers + came,
        )

    def nearest(self, rows: Any) -> Floats:
        """(m,) squared distance of each row to the nearest one with an answer, given or to come."""
        asked = self.rows[list(self.asked)]
        return np.asarray(squared_distances(self.rows[rows], asked).min(axis=1, initial=FAR))

    @cached_property
    def regressions(self) -> tuple[Regression, ...]:
        """Those that are averaged; the variance knows of the open questions."""
        return tuple(m.opened(self.open_rows) for m in self.answered) if self.open_rows else self.answered

    @cached_property
    def scores(self) -> Floats:
        """(n, K) f, the mean of the regressions'; of sets 2 f - h, yes less no."""
        return self._scores_at(slice(None))

    def _scores_at(self, rows: Any) -> Floats:
        """(m, K) f of some nodes, without working out that of all: the same bits whoever looked before."""
        return self._by_class(sum(m.scores(rows) for m in self.answered) / len(self.answered))

    def _by_class(self, columns: Any) -> Floats:
        return np.asarray(2 * columns[:, :-1] - columns[:, -1:] if self.multilabel else columns)

    @property
    def variance(self) -> Floats:
        """(n,) r: the mean of the regressions'."""
        return np.asarray(sum(m.r for m in self.regressions) / len(self.regressions))

    @property
    def reached(self) -> Bools:
        """(n,) whether a learned answer reaches the node."""
        return np.asarray((self.answers[self.components] > 0) & self.scores.any(axis=1))

    @property
    def probabilities(self) -> Floats:
        """(n, K); equal where all scores are. Of sets, that a node has each class."""
        return self._squashed(self.scores)

    def _squashed(self, scores: Floats, temperature: float = TEMPERATURE) -> Floats:
        return np.asarray(expit(scores / temperature)) if self.multilabel else softmax(scores / temperature)

    @property
    def beliefs(self) -> Floats:
        """(n, K) `(1 - l) p + l/K`, `l = K / (K + answers in the component)`: after few nothing is sure.

        Of sets K is 2 here, yes and no."""
        return self._believed(self.probabilities, self.components)

    def beliefs_at(self, rows: Sequence[int]) -> tuple[Floats, Bools]:
        """(m, K) the beliefs about some nodes, and (m,) whether an answer reaches them."""
        scores, components = self._scores_at(rows), self.components[rows]
        believed = self._believed(self._squashed(scores), components)
        return believed, np.asarray((self.answers[components] > 0) & scores.any(axis=1))

    def left_out(self, rows: Sequence[int], targets: Floats) -> Floats:
        """(m, K) beliefs about answered nodes, each without its own answer `targets` (m, K)."""
        return self._believed(self._squashed(self._left_out(rows, targets)), self.components[rows])

    def _left_out(self, rows: Sequence[int], targets: Floats) -> Floats:
        """(m, K) the scores behind them."""
        own = self._columns(targets, 1.0)
        return self._by_class(sum(m.left_out(rows, own) for m in self.regressions) / len(self.regressions))

    def calibrated(self, rows: Sequence[int], targets: Floats) -> Floats:
        """(n, K) probabilities, with a temperature T fitted to the answers `targets` (m, K) at `rows`.

        It minimises the log-loss of the answers, each left out, with a log-normal prior around TEMPERATURE.
        """
        L = self._left_out(rows, targets)

        def cost(T: float) -> float:
            away = float(np.log(T / TEMPERATURE)) / DEVIATION
            return len(L) * loss(L / T, targets, self.multilabel) + away**2 / 2

        return self._squashed(self.scores, min(TEMPERATURES, key=cost))

    def _believed(self, p: Floats, components: Any) -> Floats:
        K = 2 if self.multilabel else p.shape[1]
        share = (K / (K + self.answers))[components, None]
        return np.asarray((1 - share) * p + share / K)

    @cached_property
    def ambiguity(self) -> Floats:
        """(n,) `1 - (p_1 - p_2)` by the beliefs; of sets the mean of that over the classes, yes and no."""
        if not self.multilabel:
            return ambiguity(self.beliefs)
        return np.asarray((1 - np.abs(2 * self.beliefs - 1)).mean(axis=1))

    def weights(self, row: int, others: Sequence[int]) -> Floats:
        """(others,) how much an answer at each of them weighs in the scores of `row`: `m_i'P m_s`.

        A ridge without a mean is `f_i = sum_s m_i'P m_s y_s` over all its answers s.
        """
        return np.asarray(
            sum(m.rows[others] @ (m.P @ m.rows[row]) for m in self.regressions) / len(self.regressions)
        )

    def expected_gain(self, row: int, most: int = 4) -> float:
        """The accuracy that one answer at `row` is expected to gain, by the model's own probabilities.

        After the answer k with probabilities p', new predictions are better than the old ones `c_u` by
        `mean_u max_c p'_uc - p'_u,c_u`, which is never negative; the expectation is over the `most` likeliest
        answers, by the beliefs about the node. A set is right where all of it is.
        """
        answers = likely(self.beliefs[row], most, self.multilabel)
        old: Any = self.scores > 0 if self.multilabel else self.scores.argmax(axis=1)[:, None]
        gains = []
        for code, _ in answers:
            p = self.learn(row, code).probabilities
            if self.multilabel:
                before = np.where(old, p, 1 - p).prod(axis=1)
            else:
                before = np.take_along_axis(p, old, 1)[:, 0]
            gains.append(float((sureness(p, self.multilabel) - before).mean()))
        return float(np.average(gains, weights=[chance for _, chance in answers]))

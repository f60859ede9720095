"""The papers' query rules for scikit-activeml: a stream query strategy with `query` and `update`.

    strategy = SelectiveSampling("msg", classes=[0, 1, 2])
    for m in stream:                                    # rows of an embedding, (1, d)
        asked = strategy.query(m, X=X, y=y)             # X, y: what was answered so far
        strategy.update(m, asked)

With `embedding=`, candidates and X are nodes instead, by the ids that the graph has.

The state of a rule follows from the answers: with `A = gamma I + X'X` and one-hot targets Y a candidate m has
the variance `r = m'A^-1 m` and the scores `f = Y'X A^-1 m / (1 + r)`, as in msg16. Whether to ask is decided
by the very function that our learners use (`online.kernels.ask_probability`).
"""

from collections.abc import Hashable, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np
from skactiveml.base import SingleAnnotatorStreamQueryStrategy

from querist.errors import InputError, UnknownNameError
from querist.labels import encode
from querist.online import catalogue, kernels
from querist.online.checks import checked_nodes, checked_rows, ids_of
from querist.types import Codes, Floats

COMPOSITIONS = {
    compose.__name__: compose
    for compose in (catalogue.msg, catalogue.bbq, catalogue.bbq_eps, catalogue.dgs, catalogue.random_sampling)
}
"""Algorithms whose rule can be taken by itself."""


class SelectiveSampling(SingleAnnotatorStreamQueryStrategy):  # type: ignore[misc]
    """A query rule of the papers as scikit-activeml's stream query strategy.

    Parameters
    ----------
    algorithm : "msg", "bbq", "bbq_eps", "dgs" or "random_sampling"
    classes : what a label may be; those in y by default
    parameters : of the algorithm, such as {"kappa": 0.3}; `gamma` is the ridge of the state
    missing_label : that marks unlabelled rows of y
    budget : share of the candidates that may be queried, above 0 and up to 1
    random_state : of the draws
    embedding : an `Embedding`, or (n, d) rows. Candidates and X are then nodes, (m,) or (m, 1): ids of the
        graph that was embedded, row numbers where it has no ids

    >>> strategy = SelectiveSampling("bbq", classes=["a", "b"])
    >>> m = 3 * np.eye(2)
    >>> strategy.query(m).tolist(), strategy.query(m, X=m, y=["a", "b"]).tolist()
    ([1], [])
    """

    def __init__(
        self,
        algorithm: str = "msg",
        classes: Sequence[Hashable] | None = None,
        parameters: dict[str, Any] | None = None,
        missing_label: Any = np.nan,
        budget: float = 1.0,
        random_state: Any = None,
        embedding: Any = None,
    ) -> None:
        super().__init__(budget=budget, random_state=random_state)
        self.algorithm = algorithm
        self.classes = classes
        self.parameters = parameters
        self.missing_label = missing_label
        self.embedding = embedding

    def query(
        self,
        candidates: Any,
        X: Any = None,
        y: Any = None,
        return_utilities: bool = False,
    ) -> Any:
        """Indices of the candidates to ask about, and perhaps how likely it was to ask about each.

        X (n, d) and y are the rows answered so far and their labels. Changes nothing: `update` does.
        """
        rows, return_utilities = self._validate_data(self._placed(candidates), return_utilities)
        self._counts()
        f, r = self._scored(rows, X, y)
        draws = np.random.RandomState()
        draws.set_state(self.random_state_.get_state())
        u = draws.random_sample(len(rows))
        rules = self._rules(f.shape[1])
        utilities, asked = np.empty(len(rows)), list[int]()
        for i in range(len(rows)):
            t = self.observed_ + i + 1
            margin = kernels.margin_of(f[i], int(f[i].argmax()))
            p, certain = kernels.ask_probability(rules, t, margin, float(r[i]), self.variances_)
            utilities[i] = p
            room = self.queried_ + len(asked) < self.budget_ * t
            if room and (certain or u[i] < p):
                asked.append(i)
        self.last_ = rows, r
        indices = np.array(asked, dtype=int)
        return (indices, utilities) if return_utilities else indices

    def update(
        self, candidates: Any, queried_indices: Any, budget_manager_param_dict: Any = None
    ) -> "SelectiveSampling":
        """Close the rounds of these candidates; those at `queried_indices` were asked about."""
        rows, _ = self._validate_data(self._placed(candidates), False)
        self._counts()
        indices = np.asarray(queried_indices, dtype=int)
        last, r = getattr(self, "last_", (np.empty(0), np.empty(0)))
        if last.shape != rows.shape or not np.array_equal(last, rows):
            raise InputError("update() closes the rounds of the last query(); pass the same candidates")
        self.observed_ += len(rows)
        self.queried_ += indices.size
        self.variances_ += float(r[indices].sum())
        self.random_state_.random_sample(len(rows))
        return self

    def _placed(self, given: Any) -> Any:
        """The rows of nodes; rows stay as they are."""
        if self.embedding is None:
            return given
        rows, ids = checked_rows(self.embedding), ids_of(self.embedding)
        nodes = given if isinstance(given, list | tuple | range) else np.ravel(given)
        return rows[checked_nodes(nodes, len(rows)) if ids is None else ids.rows(np.ravel(nodes))]

    def _counts(self) -> None:
        for name, start in (("observed_", 0), ("queried_", 0), ("variances_", 0.0)):
            if not hasattr(self, name):
                setattr(self, name, start)

    def _composed(self) -> catalogue.Composition:
        if self.algorithm not in COMPOSITIONS:
            raise UnknownNameError.of("algorithm", self.algorithm, COMPOSITIONS)
        return COMPOSITIONS[self.algorithm](**(self.parameters or {}))

    def _rules(self, n_classes: int) -> kernels.OnlineRules:
        made = self._composed()
        return kernels.OnlineRules(
            query=made.query.code,
            numbers=np.array(astuple(made.query) or (0.0,), dtype=np.float64),
            update=0,
            target=0,
            second_order=True,
            shrink=made.shrink,
            binary=False,
            n_classes=n_classes,
        )

    def _scored(self, rows: Floats, X: Any, y: Any) -> tuple[Floats, Floats]:
        """Scores (n, K) and variances (n,) of the candidates, from the answers so far."""
        made = self._composed()
        known, codes, K = self._answers(X, y, rows.shape[1])
        A = made.gamma * np.eye(rows.shape[1]) + known.T @ known
        H = np.linalg.solve(A, rows.T).T
        r = np.maximum(np.einsum("ij,ij->i", H, rows), 0.0)
        f = H @ (known.T @ np.eye(K)[codes])
        return (f / (1 + r[:, None]) if made.shrink else f), r

    def _answers(self, X: Any, y: Any, d: int) -> tuple[Floats, Codes, int]:
        if (X is None) != (y is None):
            raise InputError("X and y go together: the rows answered so far and their labels")
        if X is None and self.classes is None:
            raise InputError("neither classes nor answers are given; name the classes")
        if X is None:
            return np.empty((0, d)), np.empty(0, dtype=np.int64), len(self.classes or ())
        codes, names = encode(y, self.classes, self.missing_label)
        labelled = codes >= 0
        return np.asarray(self._placed(X), dtype=np.float64)[labelled], codes[labelled], max(2, len(names))

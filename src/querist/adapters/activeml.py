"""The papers' query rules for scikit-activeml: a stream query strategy with `query` and `update`.

    strategy = SelectiveSampling("msg", classes=[0, 1, 2])
    for m in stream:                                    # rows of an embedding, (1, d)
        asked = strategy.query(m, X=X, y=y)             # X, y: what was answered so far
        strategy.update(m, asked)

With `embedding=`, candidates and X are nodes instead, by the ids that the graph has.

The state follows from the questions put and the answers in X and y: a learner of the catalogue replays them,
and its own rules say what is asked and which answers are learned. Answers to questions that were never put
are taken as given beforehand: as answers to a question of every problem.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from querist.errors import InputError, check_name
from querist.labels import encode
from querist.lazy import needing
from querist.online.catalogue import ALGORITHMS
from querist.online.checks import checked_nodes, checked_rows, ids_of
from querist.online.learner import Learner
from querist.online.trace import Decision
from querist.parameters import effective
from querist.types import Codes, Floats

with needing("peers", "an adapter to scikit-activeml"):
    from skactiveml.base import SingleAnnotatorStreamQueryStrategy

SELECTIVE = ("msg", "cmog_selected", "sslgc", "bbq", "bbq_eps", "dgs", "random_sampling", "margin_threshold")
"""Algorithms that choose what to ask about."""


class SelectiveSampling(SingleAnnotatorStreamQueryStrategy):  # type: ignore[misc]
    """A query rule of the papers as scikit-activeml's stream query strategy.

    Parameters
    ----------
    method : "msg", "cmog_selected", "sslgc", "bbq", "bbq_eps", "dgs", "random_sampling" or
        "margin_threshold"
    classes : what a label may be; those in y by default, but a one-vs-rest method must be told
    parameters : of the method, such as {"kappa": 0.3, "update": "always"}
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
        method: str = "msg",
        classes: Sequence[Hashable] | None = None,
        parameters: dict[str, Any] | None = None,
        missing_label: Any = np.nan,
        budget: float = 1.0,
        random_state: Any = None,
        embedding: Any = None,
    ) -> None:
        super().__init__(budget=budget, random_state=random_state)
        self.method = method
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
        rows, return_utilities = self._validated(candidates, return_utilities)
        learner, places = self._replayed(rows, X, y)
        draws = np.random.RandomState()
        draws.set_state(self.random_state_.get_state())
        decisions, asked = list[Decision](), list[int]()
        for i, u in enumerate(draws.random_sample(len(rows)).tolist()):
            learner.round = self.observed_ + i
            decisions.append(learner.decide(places[i], u))
            room = len(self.asked_) + len(asked) < self.budget_ * (self.observed_ + i + 1)
            if room and decisions[i].ask:
                asked.append(i)
        self.last_ = rows, decisions
        indices = np.array(asked, dtype=int)
        return (indices, np.array([each.probability for each in decisions])) if return_utilities else indices

    def update(
        self, candidates: Any, queried_indices: Any, budget_manager_param_dict: Any = None
    ) -> "SelectiveSampling":
        """Close the rounds of these candidates; those at `queried_indices` were asked about."""
        rows, _ = self._validated(candidates, False)
        last, decisions = getattr(self, "last_", (np.empty(0), []))
        if last.shape != rows.shape or not np.array_equal(last, rows):
            raise InputError("update() closes the rounds of the last query(); pass the same candidates")
        self.observed_ += len(rows)
        for i in np.asarray(queried_indices, dtype=int):
            self.asked_.append((rows[i], decisions[i] if decisions[i].ask else _put(decisions[i])))
        self.random_state_.random_sample(len(rows))
        return self

    def _validated(self, candidates: Any, return_utilities: bool) -> tuple[Floats, bool]:
        """Rows of the candidates. The first call begins the stream."""
        rows, return_utilities = self._validate_data(self._placed(candidates), return_utilities)
        if not hasattr(self, "asked_"):
            self.observed_ = 0
            self.asked_: list[tuple[Floats, Decision]] = []
        return np.ascontiguousarray(rows, dtype=np.float64), return_utilities

    def _placed(self, given: Any) -> Any:
        """The rows of nodes; rows stay as they are."""
        if self.embedding is None:
            return given
        rows, ids = checked_rows(self.embedding), ids_of(self.embedding)
        nodes = given if isinstance(given, list | tuple | range) else np.ravel(given)
        return rows[checked_nodes(nodes, len(rows)) if ids is None else ids.rows(np.ravel(nodes))]

    def _replayed(self, rows: Floats, X: Any, y: Any) -> tuple[Learner, list[int]]:
        """A learner after all questions and answers so far, and where the candidates are among its rows.

        Leaves in `learned_` which of the answers, in the order of y, it learned.
        """
        check_name("method", self.method, SELECTIVE)
        algorithm, parameters = ALGORITHMS[self.method], self.parameters or {}
        scheme = effective(algorithm, parameters).get("scheme")
        if scheme == "one-vs-rest" and self.classes is None:
            raise InputError(f"{self.method} has a problem for every class; name the classes")
        known, codes, n_classes = self._answers(X, y, rows.shape[1])
        number: dict[bytes, int] = {}
        asked, answered, places = (
            [number.setdefault(row.tobytes(), len(number)) for row in each]
            for each in ([row for row, _ in self.asked_], known, rows)
        )
        learner = algorithm(np.array([np.frombuffer(row) for row in number]), n_classes, **parameters)
        for place, (_, decision) in zip(asked, self.asked_, strict=True):
            learner.round = decision.round - 1
            learner.commit(replace(decision, row=place))
        unanswered, self.learned_ = Counter(asked), np.zeros(len(codes), dtype=np.bool_)
        for i, place in enumerate(answered):
            if unanswered[place]:
                unanswered[place] -= 1
            else:
                learner.commit(_put(learner.decide(place)))
            self.learned_[i] = learner.learn(place, int(codes[i]))
        return learner, places

    def _answers(self, X: Any, y: Any, d: int) -> tuple[Floats, Codes, int]:
        if (X is None) != (y is None):
            raise InputError("X and y go together: the rows answered so far and their labels")
        if X is None and self.classes is None:
            raise InputError("neither classes nor answers are given; name the classes")
        if X is None:
            return np.empty((0, d)), np.empty(0, dtype=np.int64), len(self.classes or ())
        given = encode(y, self.classes, self.missing_label)
        labelled = given.known
        known = np.ascontiguousarray(self._placed(X), dtype=np.float64)[labelled]
        return known, given.codes[labelled], max(2, len(given.classes))


def _put(decision: Decision) -> Decision:
    """A question that the rule did not wish, put to every problem."""
    return replace(decision, ask=True, asks=np.ones_like(decision.asks))

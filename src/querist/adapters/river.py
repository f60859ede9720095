"""river's contract around our learners: a stream of feature dicts, and the nodes of a graph.

`RiverBudgetedLeastSquares` takes classes and features as they come. A learner on a graph is an active
classifier, which gives `(prediction, ask)`:

    model = GraphAsker(GraphClassifier(embedding, classes=["cat", "dog"]))
    for x in stream:                       # {"node": id of a node}
        guess, ask = model.predict_one(x)
        if ask:
            model.learn_one(x, answer(x))

Every prediction that may ask is a round of the learner (`querist.online`): it is decided by the learner's own
rule, and closed. An answer goes to the question that is open about its node.
"""

from collections import ChainMap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.asking.model import TEMPERATURE
from querist.asking.specification import checked_classes
from querist.budgeted.learner import StreamParameters
from querist.collective.logistic import softmax
from querist.errors import InputError
from querist.labels import plain
from querist.lazy import needing
from querist.online import ALGORITHMS
from querist.online.trace import Decision

with needing("peers", "an adapter to river"):
    from river import base
    from river.active.base import ActiveLearningClassifier


@dataclass(eq=False, repr=False, kw_only=True)
class RiverBudgetedLeastSquares(base.Classifier, StreamParameters):
    """Budgeted least squares (bls19) for river: `learn_one`, `predict_one`, `predict_proba_one`.

    An unlabelled item is `learn_one(x)` or `learn_one(x, None)`. A feature that an item does not
    have is 0; a new feature was 0 in all earlier items; a new class was none of theirs: both
    enter exactly, without another pass. The parameters are those of
    `querist.budgeted.BLS`.

    >>> model = RiverBudgetedLeastSquares()
    >>> for x, y in [({"a": 0.0}, "low"), ({"a": 9.0}, "high"), ({"a": 0.2}, None), ({"a": 8.7}, None)]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 8.5}), model.predict_one({"a": 0.3})
    ('high', 'low')
    """

    def __post_init__(self) -> None:
        self._classes: list[Hashable] = []
        self._features: dict[Hashable, int] = {}
        # The second class stands for any that has not been seen yet.
        self._learner = self.stream_learner(2)

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable = None) -> None:
        """Learn from an item; without y it is unlabelled."""
        values = _numbers(x)
        self._learner.run(self._row(values, grow=True), np.array([self._code(y)]))

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:  # type: ignore[override]
        """`(1 + f)/2`, within 0 and 1, for every class seen; they sum to 1. Empty before the first."""
        values = _numbers(x)
        if not self._classes:
            return {}
        if len(self._classes) == 1:
            return {self._classes[0]: 1.0}
        f = self._learner.scores(self._row(values, grow=False))[0]
        both = np.array([-f[0], f[0]]) if f.size == 1 else f
        p = np.clip((1 + both) / 2, 0.0, 1.0)
        p = p / p.sum() if p.sum() > 0 else np.full(p.size, 1 / p.size)
        return dict(zip(self._classes, p.tolist(), strict=True))

    # -- names to numbers --------------------------------------------------------

    def _code(self, y: Hashable) -> int:
        if y is None:
            return -1
        label = plain(y)
        if label not in self._classes:
            if len(self._classes) == self._learner.n_classes:
                self._learner.add_class()
            self._classes.append(label)
        return self._classes.index(label)

    def _row(self, values: Mapping[Hashable, float], grow: bool) -> Any:
        """A sparse row; features that nobody knows are new, or, in a prediction, met by zeros everywhere."""
        known, room = self._features, self._learner.n_features or 0
        strange = sorted((name for name in values if name not in known), key=repr)
        new = {name: len(known) + i for i, name in enumerate(strange)}
        needed = max(1, len(known) + len(new))
        if grow:
            known |= new
        if needed > room:
            room = max(needed, 2 * room) if grow and room else needed
            # A prediction changes nothing that can be seen: the new rows are zeros.
            self._learner.widen(room)
        places = ChainMap(new, known)
        pairs = sorted((places[name], value) for name, value in values.items() if value != 0)
        indices, data = [i for i, _ in pairs], [v for _, v in pairs]
        return sp.csr_array((np.array(data, dtype=np.float64), indices, [0, len(data)]), shape=(1, room))


def _numbers(x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
    values: dict[Hashable, float] = {}
    for name, value in x.items():
        try:
            values[name] = float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"feature {name!r} is {value!r}; it must be a number. Encode it first, as with "
                "river's OneHotEncoder"
            ) from None
        if not np.isfinite(values[name]):
            raise InputError(f"feature {name!r} is {value!r}; leave it out, or replace it by a finite number")
    return values


# -- nodes of a graph ---------------------------------------------------------------


class GraphClassifier(base.Classifier):
    """An online learner on a graph behind river's `predict_one`, `predict_proba_one`, `learn_one`.

    Parameters
    ----------
    embedding : an `Embedding`, or (n, d) rows
    classes : what a label may be
    method : a name in `querist.ALGORITHMS`; parameters : of it
    node : the feature that holds the id of a node, as the graph has it; its row number where it has none

    >>> from querist import load_graph
    >>> from querist.embedding import embed
    >>> club = load_graph("karate")
    >>> model = GraphClassifier(embed(club, 4, cache=False), classes=club.classes, method="ollgc")
    >>> for node in (0, 33, 1, 32):
    ...     model.learn_one({"node": node}, club.labels[node])
    >>> model.predict_one({"node": 3}), model.predict_one({"node": 30})
    ('Mr. Hi', 'Officer')
    """

    def __init__(
        self,
        embedding: Any,
        classes: Sequence[Hashable],
        method: str = "msg",
        parameters: Mapping[str, Any] | None = None,
        node: Hashable = "node",
    ) -> None:
        self.embedding = embedding
        self.classes = classes
        self.method = method
        self.parameters = parameters
        self.node = node
        self._names = checked_classes(classes)
        self._learner = ALGORITHMS[method](embedding, len(self._names), **(parameters or {}))

    @property
    def _multiclass(self) -> bool:
        return True

    def decide(self, x: Mapping[Hashable, Any]) -> Decision:
        """What the learner thinks of a node, and whether it asks; changes nothing."""
        return self._learner.decide(self._node(x))

    def close(self, decision: Decision) -> None:
        """End the round of a decision; if it asks, its question is open."""
        self._learner.commit(decision)

    def predict_proba_one(self, x: Mapping[Hashable, Any]) -> dict[Any, float]:  # type: ignore[override]
        """Softmax of the scores; empty where no label has reached the node."""
        node = self._node(x)
        if not self._learner.reached([node])[0]:
            return {}
        f = self._learner.scores([node])
        both = np.hstack([-f, f]) if f.shape[1] == 1 else f
        return dict(zip(self._names, softmax(both / TEMPERATURE)[0].tolist(), strict=True))

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Answer the question that is open about the node; without one, one is put first."""
        node = self._node(x)
        if y not in self._names:
            raise InputError(f"label {y!r} is none of the classes {', '.join(map(str, self._names))}")
        if node not in self._learner.pending:
            decision = self._learner.decide(node)
            self._learner.commit(replace(decision, ask=True, asks=np.ones_like(decision.asks)))
        self._learner.learn(node, self._names.index(y))

    def _node(self, x: Mapping[Hashable, Any]) -> Any:
        """The node as the learner names it."""
        if self.node not in x:
            raise InputError(f"no feature {self.node!r}; give the id of the node under that name")
        ids, given = self._learner.ids, x[self.node]
        return int(given) if ids is None else ids.names[ids.row(given)]


class GraphAsker(ActiveLearningClassifier):
    """`GraphClassifier` that says whether it asks: `predict_one(x)` is `(label, ask)`.

    >>> from querist import datasets, embed
    >>> karate = datasets.load_graph("karate")
    >>> model = GraphAsker(GraphClassifier(embed(karate, rank=8, cache=False), classes=[0, 1]))
    >>> questions = 0
    >>> for node in range(34):
    ...     guess, ask = model.predict_one({"node": node})
    ...     if ask:
    ...         questions += 1
    ...         model.learn_one({"node": node}, int(karate.codes[node]))
    >>> questions < 34
    True
    """

    def __init__(self, classifier: GraphClassifier) -> None:
        super().__init__(classifier, seed=None)

    def predict_one(self, x: Any) -> Any:  # type: ignore[override]
        """The label of a node, None if it is unreachable, and whether to ask for it."""
        label = self.classifier.predict_one(x)
        return label, self._ask_for_label(x, label)

    def _ask_for_label(self, x: Mapping[Hashable, Any], y_pred: Any) -> bool:
        learner: Any = self.classifier
        decision = learner.decide(x)
        learner.close(decision)
        return bool(decision.ask)

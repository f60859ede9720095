"""A learner on a graph as river's active classifier: it gives `(prediction, ask)`.

    model = GraphAsker(GraphClassifier(embedding, classes=["cat", "dog"]))
    for x in stream:                       # {"node": row number}
        guess, ask = model.predict_one(x)
        if ask:
            model.learn_one(x, answer(x))

Every prediction that may ask is a round of the learner (`querist.online`): it is decided by the learner's own
rule, and closed. An answer goes to the question that is open about its node.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from river import base
from river.active.base import ActiveLearningClassifier

from querist.asking.model import softmax
from querist.asking.specification import checked_classes
from querist.errors import InputError
from querist.online.catalogue import ALGORITHMS
from querist.online.trace import Decision


class GraphClassifier(base.Classifier):
    """An online learner on a graph behind river's `predict_one`, `predict_proba_one`, `learn_one`.

    Parameters
    ----------
    embedding : an `Embedding`, or (n, d) rows
    classes : what a label may be
    algorithm : a name in `querist.ALGORITHMS`; parameters : of it
    node : the feature that holds the row number of a node
    """

    def __init__(
        self,
        embedding: Any,
        classes: Sequence[Hashable],
        algorithm: str = "msg",
        parameters: Mapping[str, Any] | None = None,
        node: Hashable = "node",
    ) -> None:
        self.embedding = embedding
        self.classes = classes
        self.algorithm = algorithm
        self.parameters = parameters
        self.node = node
        self._names = checked_classes(classes)
        self._learner = ALGORITHMS[algorithm](embedding, len(self._names), **(parameters or {}))

    @property
    def _multiclass(self) -> bool:
        return True

    def decide(self, x: Mapping[Hashable, Any]) -> Decision:
        """What the learner thinks of a node, and whether it asks; changes nothing."""
        return self._learner.decide(self._row(x))

    def close(self, decision: Decision) -> None:
        """End the round of a decision; if it asks, its question is open."""
        self._learner.commit(decision)

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Softmax of the scores; empty where no label has reached the node."""
        row = self._row(x)
        if not self._learner.reached([row])[0]:
            return {}
        f = self._learner.scores([row])
        both = np.hstack([-f, f]) if f.shape[1] == 1 else f
        return dict(zip(self._names, softmax(both)[0].tolist(), strict=True))

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Answer the question that is open about the node; without one, one is put first."""
        row = self._row(x)
        if y not in self._names:
            raise InputError(f"label {y!r} is none of the classes {', '.join(map(str, self._names))}")
        if row not in self._learner.pending:
            decision = self._learner.decide(row)
            self._learner.commit(replace(decision, ask=True, asks=np.ones_like(decision.asks)))
        self._learner.learn(row, self._names.index(y))

    def _row(self, x: Mapping[Hashable, Any]) -> int:
        if self.node not in x:
            raise InputError(f"no feature {self.node!r}; give the row number of the node under that name")
        return int(x[self.node])


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

    def _ask_for_label(self, x: Mapping[Hashable, Any], y_pred: Any) -> bool:
        learner: Any = self.classifier
        decision = learner.decide(x)
        learner.close(decision)
        return bool(decision.ask)

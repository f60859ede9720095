"""A classifier tied to its graph, so that scikit-learn can choose parameters with the whole graph in sight.

Cross-validation hands an estimator some samples to learn from and others to be judged by. On a graph the
samples are *labelled nodes*, and all nodes and edges stay visible throughout:

    search = GridSearchCV(OnGraph(GMNR(), graph), {"classifier__lam": [1, 5, 20]}, cv=3)
    search.fit(nodes, labels)                 # node ids (n,) or (n, 1), and their labels
    search.best_estimator_.classifier_.labels_    # of every node
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from querist.collective.classifier import Classifier
from querist.errors import InputError
from querist.graph import as_graph
from querist.labels import plain


class OnGraph(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from nodes and their labels, and predicts the labels of other nodes of the same graph.

    Parameters
    ----------
    classifier : which one; it is cloned
    graph : whatever `as_graph` takes

    After `fit`: `classifier_`, fitted to the whole graph, and `classes_`.

    >>> from querist.collective.relational import WVRN
    >>> from querist.datasets import load
    >>> karate = load("karate")
    >>> model = OnGraph(WVRN(), karate).fit([0, 33], [karate.labels[0], karate.labels[33]])
    >>> print(f"{model.score(range(34), karate.labels):.3f}")
    0.971
    """

    def __init__(self, classifier: Classifier, graph: Any) -> None:
        self.classifier = classifier
        self.graph = graph

    def fit(self, X: Any, y: Any) -> Self:
        """`X` node ids, `y` the label of each."""
        graph = as_graph(self.graph)
        ids, values = _ids(X), list(y)
        if len(ids) != len(values):
            raise InputError(f"{len(values)} labels for {len(ids)} nodes; give one each")
        self.classifier_ = clone(self.classifier).fit(graph, dict(zip(ids, values, strict=True)))
        self.classes_ = self.classifier_.classes_
        self.row_of_ = graph.row_of
        return self

    def predict(self, X: Any) -> Any:
        """The label of each of these nodes; a node that is not reached gets the likeliest class of all."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """(m, K)."""
        ids = _ids(X)
        unknown = [node for node in ids if node not in self.row_of_]
        if unknown:
            raise InputError(
                f"{len(unknown)} unknown nodes, e.g. {unknown[0]!r}; ask about nodes of the graph"
            )
        return self.classifier_.probabilities_[[self.row_of_[node] for node in ids]]


def _ids(X: Any) -> list[Any]:
    array = X if isinstance(X, list | tuple | range) else np.ravel(X)
    return [plain(node) for node in array]

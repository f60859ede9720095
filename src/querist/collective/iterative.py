"""Iterative classification: a local classifier that looks at its neighbours' present labels.

A logistic regression on `[x, a]`, where `x` are a node's attributes and `a` the labels of its neighbours
(Neville and Jensen 2000; mrgm15, section 4.3). The first labels come from the attributes alone; then all
nodes are classified again, together, from the neighbours' labels of the round before, until nothing changes.
The neighbours' labels of all nodes are one sparse product, `a = S H` with `H` (n, K) the labels as 0/1 rows.

mrgm15 trains on what the labelled nodes see of *labelled* neighbours, which is next to nothing when labels
are few: `bootstrap=False`. Seeing the first labels of the others as well is far better, and the default.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp

from querist.collective.classifier import Classifier
from querist.collective.logistic import Logistic, fit_logistic, softmax
from querist.collective.problem import LARGEST, Features, Inference, Problem, reach, smoothness
from querist.parameters import Range
from querist.progress import count
from querist.types import Codes, Floats, Sparse


def hard(P: Floats, problem: Problem) -> Floats:
    """(n, K) 0/1 rows of the likeliest classes, equal ones by code; labelled nodes have their label."""
    H = np.zeros_like(P)
    H[np.arange(len(P)), P.argmax(axis=1)] = 1.0
    H[problem.seeds] = problem.known.indicator[problem.seeds]
    return H


def beside(X: Sparse, columns: Floats) -> Any:
    """The features with more columns."""
    return sp.csr_array(sp.hstack([X, sp.csr_array(columns)]))


def counts(S: Sparse, H: Floats, among: Any = None) -> Floats:
    """(n, K) the weighted count of each class among the neighbours."""
    return np.asarray(S @ (H if among is None else H * among[:, None]))


def means(S: Sparse, H: Floats, among: Any = None) -> Floats:
    """(n, K) the neighbours' mean labels; of those neighbours among which there are any, or zero."""
    some = np.ones(len(H)) if among is None else among.astype(np.float64)
    weight = np.asarray(S @ some)[:, None]
    return np.asarray(S @ (H * some[:, None])) / np.where(weight > 0, weight, 1.0)


@dataclass(eq=False, repr=False, kw_only=True)
class Iterative(Classifier):
    """What the iterative methods share: a local classifier, and rounds until the labels stand still.

    A method of your own starts from `start` and `train`, and gives `repeat` what a round does (see `ICA`).

    Parameters
    ----------
    features : a node's "attributes", or its "links" (the neighbours themselves)
    max_iter : rounds; 10 in the paper
    C : inverse weight of the penalty of the logistic regression

    >>> Iterative(features="links", max_iter=3).max_iter
    3
    """

    hard = staticmethod(hard)
    means = staticmethod(means)
    beside = staticmethod(beside)

    features: Features = "attributes"
    max_iter: Annotated[int, Range(1)] = 10
    C: Annotated[float, Range(1 / LARGEST, LARGEST)] = 1.0

    def compares_weights(self) -> bool:
        """Neighbours' labels are counted by weight, beside the attributes."""
        return False

    def start(self, problem: Problem) -> tuple[Sparse, Sparse]:
        """The features of the nodes, and the weights of their edges."""
        return problem.moderate(self.features), problem.graph.adjacency

    def train(self, problem: Problem, X: Any) -> Logistic:
        """The regression of the labels on these rows of the labelled nodes."""
        codes = problem.known.indicator[problem.seeds].argmax(axis=1)
        return self.regression(X[problem.seeds], codes, problem.n_classes)

    def regression(self, X: Any, codes: Codes, n_classes: int) -> Logistic:
        """A logistic regression with the penalty of this method: `W`, `b`, `logits` and `probabilities`."""
        return fit_logistic(X, codes, n_classes, self.C)

    def repeat(
        self,
        problem: Problem,
        X: Sparse,
        P: Floats,
        settle: Callable[[Floats], Floats],
        again: Callable[[Floats], Floats],
    ) -> Inference:
        """Classify `again` from the labels that the round before `settle`d on, until they stand still."""
        H = settle(P)
        change: list[float] = []
        objective: list[float] = []
        for done in range(1, self.max_iter + 1):
            latest = again(H)
            moved = float(abs(latest - P)[~problem.seeds].max(initial=0.0))
            P, before, H = latest, H, settle(latest)
            change.append(moved)
            objective.append(smoothness(problem.graph, P))
            count(self.progress, done, self.max_iter, "iterations")
            if np.array_equal(H, before):
                break
        return Inference(
            P, reach(X, problem.seeds, problem.graph.components, chains=False), objective, change
        )


@dataclass(eq=False, repr=False, kw_only=True)
class ICA(Iterative):
    """Iterative classification algorithm.

    Parameters
    ----------
    bootstrap : train on neighbours' predicted labels too; False is the paper's way
    neighbours : their labels as a (weighted) "count" a class, or as the "mean"

    and those of `Iterative`.

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> model = ICA(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.68
    """

    bootstrap: bool = True
    neighbours: Literal["count", "mean"] = "count"

    def infer(self, problem: Problem) -> Inference:
        """Train once, then classify until the labels stand still."""
        X, S = self.start(problem)
        look = means if self.neighbours == "mean" else counts
        P = self.train(problem, X).probabilities(X)
        H = hard(P, problem)
        local = self.train(problem, beside(X, look(S, H, None if self.bootstrap else problem.seeds)))
        own = X @ local.W[:, : X.shape[1]].T + local.b

        def again(H: Floats) -> Floats:
            return softmax(own + look(S, H) @ local.W[:, X.shape[1] :].T)

        return self.repeat(problem, X, P, lambda latest: hard(latest, problem), again)

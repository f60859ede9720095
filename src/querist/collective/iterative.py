"""Iterative classification: a local classifier that looks at its neighbours' present labels.

A logistic regression on `[x, a]`, where `x` are a node's attributes and `a` the labels of its neighbours
(Neville and Jensen 2000; mrgm15, section 4.3). The first labels come from the attributes alone; then all
nodes are classified again, together, from the neighbours' labels of the round before, until nothing changes.
The neighbours' labels of all nodes are one sparse product, `a = S H` with `H` (n, K) the labels as 0/1 rows.

mrgm15 trains on what the labelled nodes see of *labelled* neighbours, which is next to nothing when labels
are few: `bootstrap=False`. Seeing the first labels of the others as well is far better, and the default.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from querist.collective.classifier import Classifier
from querist.collective.logistic import Logistic, fit_logistic, regularise_labels, softmax
from querist.collective.problem import Features, Inference, Problem, smoothness
from querist.collective.reach import reach
from querist.errors import InputError
from querist.parameters import checked_count, is_finite
from querist.progress import count
from querist.types import Floats, Sparse

Look: TypeAlias = Callable[..., Floats]
"""`_counts` or `_means`: what a node sees of its neighbours' labels."""
Beside: TypeAlias = Callable[[Floats, int], Floats]
"""From all labels (n, K) and a class to what its regression sees of the node's own labels."""


@dataclass(eq=False, repr=False, kw_only=True)
class Iterative(Classifier):
    """What the iterative methods share.

    Parameters
    ----------
    features : a node's "attributes", or its "links" (the neighbours themselves)
    max_iter : rounds; 10 in the paper
    C : inverse weight of the penalty of the logistic regression
    """

    features: Features = "attributes"
    max_iter: int = 10
    C: float = 1.0

    def compares_weights(self) -> bool:
        """Neighbours' labels are counted by weight, beside the attributes."""
        return False

    def _start(self, problem: Problem) -> tuple[Sparse, Sparse]:
        checked_count("max_iter", self.max_iter, 1)
        if not (is_finite(self.C) and self.C > 0):
            raise InputError(f"C = {self.C!r}; it must be above 0 and finite")
        return problem.moderate(self.features), problem.graph.adjacency

    def _jointly(self, problem: Problem, look: Look, bootstrap: bool, beside: Beside) -> Inference:
        """A yes/no regression a class on `[x, look: neighbours' labels, beside: more of the node's own]`.

        All classes are classified together until the labels stand still; a label is on from one half.
        """
        X, S = self._start(problem)
        seeds, T, m = problem.seeds, problem.known.indicator, X.shape[1]
        classes = range(problem.n_classes)
        P = np.column_stack([_train_one(X, T[:, k], seeds, self.C).probabilities(X)[:, 1] for k in classes])

        def settle(latest: Floats) -> Floats:
            return np.where(seeds[:, None], T, latest >= 0.5)

        seen = look(S, settle(P)) if bootstrap else look(S, T, seeds)
        both = [_beside(X, np.column_stack([seen, beside(T, k)])) for k in classes]
        local = [_train_one(both[k], T[:, k], seeds, self.C) for k in classes]
        own = [X @ one.W[:, :m].T + one.b for one in local]

        def again(H: Floats) -> Floats:
            seen = look(S, H)
            columns = [
                softmax(own[k] + np.column_stack([seen, beside(H, k)]) @ one.W[:, m:].T)[:, 1]
                for k, one in enumerate(local)
            ]
            return np.column_stack(columns)

        return replace(self._repeat(problem, X, P, settle, again), separate=True)

    def _repeat(
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
    together : with several labels a node, let the regression of each class see the neighbours' labels of all
        classes, and classify all together; False is binary relevance, where it sees those of its own class

    and those of `Iterative`.

    >>> from querist.datasets import karate
    >>> club = karate()
    >>> model = ICA(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.68
    """

    bootstrap: bool = True
    neighbours: Literal["count", "mean"] = "count"
    together: bool = False

    def knows_several(self) -> bool:
        """When classes are classified together."""
        return self.together

    def infer(self, problem: Problem) -> Inference:
        """Train once, then classify until the labels stand still."""
        X, S = self._start(problem)
        if self.neighbours not in LOOKS:
            raise InputError(f"neighbours = {self.neighbours!r}; it must be 'count' or 'mean'")
        look = LOOKS[self.neighbours]
        if problem.multilabel:
            return self._jointly(problem, look, self.bootstrap, lambda H, k: H[:, :0])
        P = _train(problem, X, self.C).probabilities(X)
        H = hard(P, problem)
        local = _train(problem, _beside(X, look(S, H, None if self.bootstrap else problem.seeds)), self.C)
        own = X @ local.W[:, : X.shape[1]].T + local.b

        def again(H: Floats) -> Floats:
            return softmax(own + look(S, H) @ local.W[:, X.shape[1] :].T)

        return self._repeat(problem, X, P, lambda latest: hard(latest, problem), again)


@dataclass(eq=False, repr=False, kw_only=True)
class SemiICA(Iterative):
    """Iterative classification with a hybrid local classifier that also learns from the unlabelled nodes.

    McDowell and Aha (Semi-supervised collective classification via hybrid label regularization, ICML 2012)
    say in their abstract that attributes and neighbours' labels get a classifier each, of the kind that suits
    it, and that *label regularisation* lets the unlabelled nodes bias the learning. A review of the paper
    names logistic regression and naive Bayes; beyond its first page the paper was not to be had. So

        P(c | x, neighbours)  ~  P(c|x) prod_j P(c_j|c)^S_ij,

    with `P(c|x)` of `logistic.regularise_labels`, and `P(c_j|c)` counted, one added, over the neighbours of
    labelled nodes, as they are labelled in the round. Guesses: the naive Bayes over single neighbours; the
    regulariser acts on the attributes' part alone, once; its weight; hard labels between rounds.

    Parameters
    ----------
    label_weight : of the regulariser, for each labelled node; from 1 to 10, accuracy moves by at most .02

    and those of `Iterative`.

    >>> from querist.datasets import karate
    >>> club = karate()
    >>> model = SemiICA(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.94
    """

    label_weight: float = 10.0

    def infer(self, problem: Problem) -> Inference:
        """Train on the attributes; then count neighbours' labels, and classify again."""
        X, S = self._start(problem)
        if not self.label_weight >= 0:
            raise InputError(f"label_weight = {self.label_weight!r}; give 0 or more")
        T, weight = problem.known.indicator, self.label_weight * float(problem.seeds.sum())
        own = regularise_labels(_train(problem, X, self.C), X, T, self.C, weight).logits(X)

        def again(H: Floats) -> Floats:
            seen = _counts(S, H)
            among = T.T @ seen + 1.0
            return softmax(own + seen @ np.log(among / among.sum(axis=1, keepdims=True)).T)

        return self._repeat(problem, X, softmax(own), lambda latest: hard(latest, problem), again)


@dataclass(eq=False, repr=False, kw_only=True)
class ICML(Iterative):
    """Iterative classification of multiple labels: a node's other labels are features too.

    Kong, Shi and Yu (Multi-label collective classification, SDM 2011) let the labels of a node depend on each
    other and on those of its neighbours, across classes, in rounds of which mrgm15 takes their default, 10;
    mrgm15 adds that the features are attributes, the frequencies of the neighbours' labels and the node's
    other labels. So: a yes/no regression a class on `[x, mean labels of the neighbours, own other labels]`.
    Guesses: logistic regression, as ICA has; training sees labelled neighbours only; the attributes alone
    give the first labels; a label is on from one half.

    Parameters
    ----------
    bootstrap : train on neighbours' predicted labels too

    and those of `Iterative`.

    >>> from querist.datasets import karate
    >>> club = karate()
    >>> known = {0: {"Mr. Hi"}, 33: {"Officer"}, 2: {"Mr. Hi", "Officer"}}
    >>> [sorted(found) for found in ICML(features="links", top_k=1).fit(club, known).labels_[:2]]
    [['Mr. Hi'], ['Mr. Hi']]
    """

    bootstrap: bool = False

    def compares_weights(self) -> bool:
        """Neighbours' labels are averaged."""
        return self.features != "links"

    def knows_several(self) -> bool:
        """It is made for them."""
        return True

    def infer(self, problem: Problem) -> Inference:
        """Train each class once, then classify all together until the labels stand still."""
        found = self._jointly(problem, _means, self.bootstrap, _others)
        if problem.multilabel:
            return found
        P = np.maximum(found.P, np.finfo(float).tiny)
        return replace(found, P=P / P.sum(axis=1, keepdims=True), separate=False)


def hard(P: Floats, problem: Problem) -> Floats:
    """(n, K) 0/1 rows of the likeliest classes, equal ones by code; labelled nodes have their label."""
    H = np.zeros_like(P)
    H[np.arange(len(P)), P.argmax(axis=1)] = 1.0
    H[problem.seeds] = problem.known.indicator[problem.seeds]
    return H


def _train(problem: Problem, X: Any, C: float) -> Logistic:
    codes = problem.known.indicator[problem.seeds].argmax(axis=1)
    return fit_logistic(X[problem.seeds], codes, problem.n_classes, C)


def _train_one(X: Any, has: Floats, seeds: Any, C: float) -> Logistic:
    return fit_logistic(X[seeds], has[seeds].astype(np.int64), 2, C)


def _beside(X: Sparse, columns: Floats) -> Any:
    return sp.csr_array(sp.hstack([X, sp.csr_array(columns)]))


def _counts(S: Sparse, H: Floats, among: Any = None) -> Floats:
    """(n, K) the weighted count of each class among the neighbours."""
    return np.asarray(S @ (H if among is None else H * among[:, None]))


def _means(S: Sparse, H: Floats, among: Any = None) -> Floats:
    """(n, K) the neighbours' mean labels; of those neighbours among which there are any, or zero."""
    some = np.ones(len(H)) if among is None else among.astype(np.float64)
    weight = np.asarray(S @ some)[:, None]
    return np.asarray(S @ (H * some[:, None])) / np.where(weight > 0, weight, 1.0)


LOOKS: dict[str, Look] = {"count": _counts, "mean": _means}


def _others(H: Floats, k: int) -> Floats:
    return np.delete(H, k, axis=1)

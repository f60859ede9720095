"""Iterative classification beyond ICA: semiICA, which learns from unlabelled nodes too, and ICML.

*Label regularisation* (Mann and McCallum 2007) lets a logistic regression learn from unlabelled nodes: their
mean prediction is to be the classes' shares among the labels.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax

from querist.collective import Inference, Iterative, Problem
from querist.extend import Range
from querist_papers.types import Floats


@dataclass(eq=False, repr=False, kw_only=True)
class SemiICA(Iterative):
    """Iterative classification with a hybrid local classifier that also learns from the unlabelled nodes.

    McDowell and Aha (Semi-supervised collective classification via hybrid label regularization, ICML 2012)
    say in their abstract that attributes and neighbours' labels get a classifier each, of the kind that suits
    it, and that *label regularisation* lets the unlabelled nodes bias the learning. A review of the paper
    names logistic regression and naive Bayes; beyond its first page the paper was not to be had. So

        P(c | x, neighbours)  ~  P(c|x) prod_j P(c_j|c)^S_ij,

    with `P(c|x)` of `regularise_labels`, and `P(c_j|c)` counted, one added, over the neighbours of
    labelled nodes, as they are labelled in the round. Guesses: the naive Bayes over single neighbours; the
    regulariser acts on the attributes' part alone, once; its weight; hard labels between rounds.

    Parameters
    ----------
    label_weight : of the regulariser, for each labelled node; from 1 to 10, accuracy moves by at most .02

    and those of `Iterative`.

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> model = SemiICA(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.94
    """

    label_weight: Annotated[float, Range(0, 1e15)] = 10.0

    def infer(self, problem: Problem) -> Inference:
        """Train on the attributes; then count neighbours' labels, and classify again."""
        X, S = self.start(problem)
        T, weight = problem.known.indicator, self.label_weight * float(problem.seeds.sum())
        own = regularise_labels(self.train(problem, X), X, T, self.C, weight).logits(X)

        def again(H: Floats) -> Floats:
            seen = np.asarray(S @ H)
            among = T.T @ seen + 1.0
            return np.asarray(
                softmax(own + seen @ np.log(among / among.sum(axis=1, keepdims=True)).T, axis=1)
            )

        return self.repeat(problem, X, softmax(own, axis=1), lambda latest: self.hard(latest, problem), again)


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

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> known = {0: {"Mr. Hi"}, 33: {"Officer"}, 2: {"Mr. Hi", "Officer"}}
    >>> ICML(features="links", top_k=1).fit(club, known).labels_[:2].tolist()  # columns: Mr. Hi, Officer
    [[1, 0], [1, 0]]
    """

    bootstrap: bool = False

    knows_multilabel = True  # it is made for them

    def compares_weights(self) -> bool:
        """Neighbours' labels are averaged."""
        return self.features != "links"

    def infer(self, problem: Problem) -> Inference:
        """Train each class once, then classify all together until the labels stand still."""
        found = self._jointly(problem)
        if problem.multilabel:
            return found
        P = np.maximum(found.P, np.finfo(float).tiny)
        return replace(found, P=P / P.sum(axis=1, keepdims=True), separate=False)

    def _jointly(self, problem: Problem) -> Inference:
        """A yes/no regression a class on `[x, mean labels of the neighbours, the node's own other labels]`.

        All classes are classified together until the labels stand still; a label is on from one half.
        """
        X, S = self.start(problem)
        seeds, T, m = problem.seeds, problem.known.indicator, X.shape[1]
        classes = range(problem.n_classes)

        def trained(X: Any, k: int) -> Any:
            return self.regression(X[seeds], T[seeds, k].astype(np.int64), 2)

        def settle(latest: Floats) -> Floats:
            return np.where(seeds[:, None], T, latest >= 0.5)

        P = np.column_stack([trained(X, k).probabilities(X)[:, 1] for k in classes])
        seen = self.means(S, settle(P)) if self.bootstrap else self.means(S, T, seeds)
        both = [self.beside(X, np.column_stack([seen, np.delete(T, k, axis=1)])) for k in classes]
        local = [trained(both[k], k) for k in classes]
        own = [X @ one.W[:, :m].T + one.b for one in local]

        def again(H: Floats) -> Floats:
            seen = self.means(S, H)
            columns = [
                softmax(own[k] + np.column_stack([seen, np.delete(H, k, axis=1)]) @ one.W[:, m:].T, axis=1)[
                    :, 1
                ]
                for k, one in enumerate(local)
            ]
            return np.column_stack(columns)

        return replace(self.repeat(problem, X, P, settle, again), separate=True)


def regularise_labels(start: Any, X: Any, indicator: Floats, C: float, weight: float) -> Any:
    """A regression, trained on from `start` for its own objective `+ weight KL(p || q)`.

    `p` are the shares of the classes among the labelled nodes, whose rows of `indicator` are not zero, `q` is
    the mean prediction of the others. Classes without a labelled node keep probability 0.
    """
    seeds, present = indicator.any(axis=1), indicator.any(axis=0)
    if seeds.all() or present.sum() == 1:
        return start
    whole: Any = sp.csr_array(sp.hstack([X, sp.csr_array(np.ones((X.shape[0], 1)))]))
    own, others = whole[seeds], whole[~seeds]
    T = indicator[np.ix_(seeds, present)]
    p = T.mean(axis=0)

    def objective(flat: Floats) -> tuple[float, Floats]:
        V = flat.reshape(-1, p.size)
        P, Q = softmax(own @ V, axis=1), softmax(others @ V, axis=1)
        q = np.maximum(Q.mean(axis=0), np.finfo(float).tiny)
        slope = (weight / len(Q)) * Q * ((Q @ (p / q))[:, None] - p / q)
        gradient = own.T @ (P - T) + others.T @ slope
        gradient[:-1] += V[:-1] / C
        losses = -np.log(np.maximum(P[T > 0], np.finfo(float).tiny)).sum()
        return losses + (V[:-1] ** 2).sum() / (2 * C) + weight * (p @ np.log(p / q)), gradient.ravel()

    first = np.vstack([start.W[present].T, start.b[present]])
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", tol=1e-6)
    V = found.x.reshape(-1, p.size)
    W, b = start.W.copy(), start.b.copy()
    W[present], b[present] = V[:-1].T, V[-1]
    return replace(start, W=W, b=b)

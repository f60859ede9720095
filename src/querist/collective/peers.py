"""What people would reach for instead, behind the same contract: thin adapters to real libraries.

Each hands the graph and the labels of the seeds to the library's own estimator and reads off its
probabilities. None of them uses attributes. They see only what a label can reach, without isolated nodes:
the libraries divide by degrees, and answer an unreached node with a class.

- scikit-learn: `LabelPropagation` and `LabelSpreading`, with the weights of the graph as their kernel;
- scikit-network: `DiffusionClassifier` and `PageRankClassifier`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from querist.collective.classifier import Classifier
from querist.collective.problem import Inference, Problem
from querist.errors import InputError
from querist.graph.scaling import far_apart
from querist.lazy import needing
from querist.operator.harmonic import reached
from querist.parameters import Range
from querist.types import Codes, Floats, Sparse

DENSE = 20_000
"""Most nodes for scikit-learn's methods, whose kernel is a dense matrix."""


@dataclass(eq=False, repr=False, kw_only=True)
class LabelPropagation(Classifier):
    """scikit-learn's `LabelPropagation` on the weights of the graph.

    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> LabelPropagation().fit(path, {"a": "left", "d": "right"}).labels_
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    max_iter: Annotated[int, Range(1)] = 1000
    tol: Annotated[float, Range(0)] = 1e-3

    def infer(self, problem: Problem) -> Inference:
        """Hand over, read off."""
        from sklearn.semi_supervised import LabelPropagation as Peer

        return _scikit_learn(problem, lambda S: Peer(kernel=_kernel(S), max_iter=self.max_iter, tol=self.tol))


@dataclass(eq=False, repr=False, kw_only=True)
class LabelSpreading(Classifier):
    """scikit-learn's `LabelSpreading` on the weights of the graph.

    Parameters
    ----------
    alpha : how much a node follows its neighbours, between 0 and 1

    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> LabelSpreading().fit(path, {"a": "left", "d": "right"}).labels_
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    alpha: Annotated[float, Range(gt=0, lt=1)] = 0.2
    max_iter: Annotated[int, Range(1)] = 100
    tol: Annotated[float, Range(0)] = 1e-3

    def infer(self, problem: Problem) -> Inference:
        """Hand over, read off."""
        from sklearn.semi_supervised import LabelSpreading as Peer

        return _scikit_learn(
            problem,
            lambda S: Peer(kernel=_kernel(S), alpha=self.alpha, max_iter=self.max_iter, tol=self.tol),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class Diffusion(Classifier):
    """scikit-network's `DiffusionClassifier`: heat that spreads from the labelled nodes.

    Parameters
    ----------
    steps : of the diffusion
    centring : whether temperatures are taken relative to their mean

    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> Diffusion().fit(path, {"a": "left", "d": "right"}).labels_
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    steps: Annotated[int, Range(1)] = 10
    centring: bool = True

    def infer(self, problem: Problem) -> Inference:
        """Hand over, read off."""
        return _scikit_network(
            problem, lambda library: library.DiffusionClassifier(n_iter=self.steps, centering=self.centring)
        )


@dataclass(eq=False, repr=False, kw_only=True)
class PageRank(Classifier):
    """scikit-network's `PageRankClassifier`: a random walk a class that restarts at its labelled nodes.

    Parameters
    ----------
    damping : the chance to go on walking

    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> PageRank().fit(path, {"a": "left", "d": "right"}).labels_
    array(['left', 'left', 'right', 'right'], dtype='<U5')
    """

    damping: Annotated[float, Range(0, lt=1)] = 0.85

    def infer(self, problem: Problem) -> Inference:
        """Hand over, read off."""
        how: dict[str, Any] = {"solver": "lanczos"}
        if far_apart(problem.graph.adjacency):  # steps keep the digits of scores far smaller than others
            steps = np.log(1e-15) / np.log(self.damping) if self.damping else 1
            how = {"solver": "piteration", "n_iter": 1 + int(min(steps, 10_000))}
        return _scikit_network(
            problem, lambda library: library.PageRankClassifier(damping_factor=self.damping, **how)
        )


Call: TypeAlias = Callable[[Sparse, Codes], Floats]
"""From weights and codes, all of 0..k-1 among them and -1 where unlabelled, to (n, k) probabilities."""


def _handed_over(problem: Problem, call: Call) -> Inference:
    """Call the library on the nodes that labels reach; rows sum to one, elsewhere are the labels' shares."""
    is_reached = reached(problem.graph.adjacency, np.flatnonzero(problem.seeds))
    rows = np.flatnonzero(is_reached & (problem.graph.degrees > 0))
    seeds, known = problem.seeds[rows], problem.known.indicator[rows].argmax(axis=1)
    present, compact = np.unique(known[seeds], return_inverse=True)
    P = np.tile(problem.prior, (problem.graph.n_nodes, 1))
    if present.size == 1:
        P[rows] = np.eye(problem.n_classes)[present[0]]
    elif seeds.all():  # nobody to ask about; some libraries cannot be asked about two nodes
        P[rows] = problem.rows[rows]
    else:
        codes = np.full(rows.size, -1, dtype=np.int64)
        codes[seeds] = compact
        part = np.zeros((rows.size, problem.n_classes))
        part[:, present] = np.maximum(call(problem.graph.adjacency[rows][:, rows], codes), 0.0)
        total = part.sum(axis=1, keepdims=True)
        P[rows] = np.where(total > 0, part / np.where(total > 0, total, 1.0), problem.prior)
    return Inference(P, is_reached)


def _scikit_learn(problem: Problem, make: Callable[[Sparse], Any]) -> Inference:
    if problem.graph.n_nodes > DENSE:
        raise InputError(
            f"{problem.graph.n_nodes:,} nodes; scikit-learn's kernel would be a dense matrix, and more than "
            f"{DENSE:,} are refused. Take harmonic or diffusion instead"
        )

    def call(S: Sparse, codes: Codes) -> Floats:
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # they stop where they are told
            model = make(S).fit(np.arange(codes.size)[:, None], codes)
        return np.asarray(model.label_distributions_)

    return _handed_over(problem, call)


def _kernel(S: Sparse) -> Callable[[Any, Any], Any]:
    """A kernel over row numbers: the weights between nodes."""

    def weights(first: Any, second: Any) -> Any:
        return S[first[:, 0].astype(np.int64)][:, second[:, 0].astype(np.int64)].toarray()

    return weights


def _scikit_network(problem: Problem, make: Callable[[Any], Any]) -> Inference:
    with needing("peers", "a classifier of scikit-network"):
        from sknetwork import classification

    def call(S: Sparse, codes: Codes) -> Floats:
        known = {int(i): int(codes[i]) for i in np.flatnonzero(codes >= 0)}
        return np.asarray(make(classification).fit(sp.csr_matrix(S), known).predict_proba())

    return _handed_over(problem, call)

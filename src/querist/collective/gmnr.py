"""GMNR and MRGM: a generative model of the words, smoothed over the network (mrgm15).

Expectation-maximisation over `Y = P(c|x)` and `F = P(w|c)`, where classes are the topics:

    E:  P(c|x,w) ~ P(w|c) P(c|x)                                   (eq. 8)
    M:  P(w|c) ~ sum_x n(x,w) P(c|x,w)                             (eq. 9)
        (Lambda + lam L) Y + lam_labels Y L_F = Z                  (eq. 10, 11)

for the objective `loglik - lam R - lam_labels H`, where `R = sum_k y_k' L log y_k` is the symmetric
Kullback-Leibler divergence along the edges and `H` the same along related classes. PLSA is the case
`lam = 0`; GMNR has no `H`; MRGM relates two classes by the cosine of their columns over the labelled
nodes, so that with one label a node it is GMNR.

Readings. Eq. 10 prints a log that its derivation does not have. Labelled rows are reset to eq. 3 after every
solve. The number of iterations is part of the method: accuracy peaks near 10 and then decays. Theorem 1
says that the objective never falls; eq. 18 is an approximation and it can fall
(tests/golden/test_collective.py has the counterexample): it is reported, not promised. The label
regulariser has a weight of its own, since the network's is far too strong for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from scipy.linalg import block_diag

from querist.collective.classifier import Classifier
from querist.collective.mixture import CountMatrix, initial_words, share
from querist.collective.problem import LARGEST, Features, Inference, Problem, reach
from querist.collective.smoothing import Smoother, Solver
from querist.errors import InputError
from querist.graph import Graph
from querist.graph.scaling import common_factor, divided
from querist.operator.backend import Backend, backend_of
from querist.operator.device.choice import device_for
from querist.parameters import Range
from querist.progress import count
from querist.types import Floats

Clamp: TypeAlias = Literal["reset", "none"]
Dtype: TypeAlias = Literal["float64", "float32"]


A_NUMBER, AN_ENTRY = 48.0, 100.0
"""Bytes on a device for a number in the blocks, and for an entry of the counts or of the graph."""

STRONGEST = 1e12
"""Times the counts of a node that the network may weigh: beyond, results depend on the order of the nodes."""

TIMES, LEAST, MOST, TOGETHER = 2.0, 1.0, 10.0, 60.0
"""If `lam` is "auto", a node's neighbours weigh so many times its counts; each at least and at most so many
counts, all of them at most so many. Beyond, links between classes drown what nodes say themselves."""


@dataclass(eq=False, repr=False, kw_only=True)
class Generative(Classifier):
    """What PLSA, GMNR and MRGM share: expectation-maximisation over the counts.

    Parameters
    ----------
    features : counts from the "attributes", or the "links": a node's words are its neighbours
    max_iter : iterations of expectation-maximisation; 10 is the paper's, and more are usually worse
    tol : stop when no probability, of a class or of a word, changes by more
    clamp : labelled rows are "reset" after every solve, or only given at the start ("none")
    smooth : added to every word count of a class before the first iteration
    dtype : of the passes and solves
    objective : whether to compute it; costs one more pass over the counts
    device : where to compute: the threads of this process (None), or a device of torch, as "cuda"; "auto"
        takes a GPU if the graph is large and fits on it (docs/device.md)

    After `fit` also: `words_` (M, K) `P(w|c)`, `distribution_` (n, K) `P(c|x)` as the model left it,
    `solver_` how the systems were solved.
    """

    features: Features = "attributes"
    max_iter: Annotated[int, Range(1)] = 10
    tol: Annotated[float, Range(0)] = 0.0
    clamp: Clamp = "reset"
    smooth: Annotated[float, Range(0)] = 1.0
    dtype: Dtype = "float64"
    objective: bool = True
    device: str | None = None

    knows_multilabel = True  # a node is divided among its classes

    def regularisers(self, problem: Problem) -> dict[str, Any]:
        """What the M-step for `P(c|x)` is smoothed by, in the terms of `Smoother`: nothing here."""
        return {"F": np.eye(problem.n_classes), "lam": 0.0, "lam_labels": 0.0}

    def infer(self, problem: Problem) -> Inference:
        """Expectation-maximisation from the word counts of the labelled nodes."""
        return self.infer_all([problem])[0]

    def infer_all(self, problems: Sequence[Problem]) -> list[Inference]:
        """The same for several labellings of one graph, whose classes are columns side by side.

        `objective` and `change` are those of all together.
        """
        problem = problems[0]
        counted = problem.counts(self.features)
        widths = [each.n_classes for each in problems]
        parts = [slice(*ends) for ends in pairwise([0, *np.cumsum(widths).tolist()])]
        backend = self._backend(counted, problem, sum(widths))
        counts = counts_on(backend, counted, self.dtype)
        regularisers = [self.regularisers(each) for each in problems]
        together = {**regularisers[0], "F": block_diag(*[own["F"] for own in regularisers])}
        check_strength(together["lam"], problem.graph, counted.rho)
        smoother = Smoother(
            problem.graph.adjacency,
            counted.rho,
            problem.graph.components,
            **together,
            dtype=np.dtype(self.dtype).type,
            backend=backend,
            parts=parts,
        )
        seeds = [backend.given(each.seeds) for each in problems]
        given = backend.beside([backend.given(each.rows, self.dtype) for each in problems])
        Y = given + 0
        words_of = (initial_words(counted, each.known.indicator, self.smooth) for each in problems)
        F = backend.beside([backend.given(own, self.dtype) for own in words_of])
        change: list[float] = []
        loglik: list[float] = []
        penalties: list[float] = []
        how = ""
        for done in range(1, self.max_iter + 1):
            passed = [
                counts.expect(Y[:, part], F[:, part], loglik=self.objective and done > 1) for part in parts
            ]
            Z, G = (backend.beside([each[which] for each in passed]) for which in (0, 1))
            before = sum(each[2] for each in passed)
            latest, how = smoother.solve(Z, Y)
            for own, part in zip(seeds if self.clamp == "reset" else (), parts, strict=False):
                latest[own, part] = given[own, part]
            Y -= latest  # a block of a large graph is not made twice
            change.append(float(max(Y.max(), -Y.min())))
            words = backend.given(share(G), self.dtype)
            # Where all classes start with the same words, P(c|x) stands still while P(w|c) sets out.
            still = not len(F) or float(abs(words - F).max()) <= self.tol
            settled = change[-1] <= self.tol and still
            Y, F = latest, words
            if self.objective:
                # A pass measures the parameters that came in: those of the iteration before.
                loglik += [before] if done > 1 else []
                penalties.append(smoother.penalty(Y))
            count(self.progress, done, self.max_iter, "iterations")
            if settled:
                break
        if self.objective:
            loglik.append(sum(counts.expect(Y[:, part], F[:, part])[2] for part in parts))
        Y, F = backend.array(Y), backend.array(F)
        components = problem.graph.components if smoother.lam > 0 else None
        objective = np.subtract(loglik, penalties).tolist()
        found = []
        for each, part in zip(problems, parts, strict=True):
            details = {"distribution": Y[:, part], "words": F[:, part], "solver": how, "lam": together["lam"]}
            reached = reach(counted.X, each.seeds, components)
            found.append(Inference(Y[:, part], reached, objective, change, details=details))
        return found

    def _backend(self, counts: CountMatrix, problem: Problem, columns: int) -> Backend:
        """Where the blocks are to live."""
        graph, entries = problem.graph, counts.X.nnz + problem.graph.adjacency.nnz
        need = AN_ENTRY * entries + A_NUMBER * columns * sum(counts.X.shape)
        what = f"modelling {counts.X.nnz:,} counts of {graph.n_nodes:,} nodes"
        return backend_of(device_for(self.device, what, graph.n_nodes + graph.n_edges, need).name)


def counts_on(backend: Backend, counts: CountMatrix, dtype: Any) -> Any:
    """The passes over the counts (`CountMatrix.expect`) where the blocks live."""
    if backend.has_factors:
        return counts
    from querist.collective.device import DeviceCounts

    return DeviceCounts(backend.matrix(counts.X, dtype), counts.floor(np.dtype(dtype)))


@dataclass(eq=False, repr=False, kw_only=True)
class PLSA(Generative):
    """Probabilistic latent semantic analysis with classes as topics: GMNR with lam = 0, no network.

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> model = PLSA(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.97
    """


@dataclass(eq=False, repr=False, kw_only=True)
class GMNR(Generative):
    """Generative model with network regularisation: words, and neighbours that agree.

    Parameters
    ----------
    lam : weight of the network; "auto" takes it from the mean numbers of links and counts
        (`automatic_lam`), and `lam_` says what it was
    solver : "auto", "factor", "cg" or "jacobi"; `solver_` says what was done
    solver_tol : relative residual that conjugate gradients stop at
    sweeps : Jacobi sweeps an iteration

    and those of `Generative`.

    >>> from querist.datasets import sbm
    >>> graph = sbm((40, 40), 0.2, 0.02, seed=0)
    >>> seeds = {node: int(graph.codes[node]) for node in (0, 1, 78, 79)}
    >>> model = GMNR(features="links").fit(graph, seeds)
    >>> print(f"{(model.labels_ == graph.codes).mean():.3f}")
    0.975
    """

    lam: Annotated[Literal["auto"] | float, Range(0)] = 5.0
    solver: Solver = "auto"
    solver_tol: Annotated[float, Range(0)] = 1e-3
    sweeps: Annotated[int, Range(1)] = 10

    def compares_weights(self) -> bool:
        """They are weighed against counts."""
        return False

    def answers(self, problems: Sequence[Problem]) -> list[Inference]:
        """If `lam` is "auto", weights far from 1 times a number change nothing but `lam_`."""
        if self.lam != "auto":
            return super().answers(problems)
        factor = common_factor(problems[0].graph)
        graph = divided(problems[0].graph, factor)
        answers = super().answers([replace(problem, graph=graph) for problem in problems])
        for found in answers if self.features == "attributes" else []:  # links as counts are divided alike
            found.details["lam"] /= factor
        return answers

    def regularisers(self, problem: Problem) -> dict[str, Any]:
        """`(Lambda + lam L) Y = Z`."""
        solving = {"solver": self.solver, "tol": self.solver_tol, "sweeps": self.sweeps}
        lam = automatic_lam(problem, self.features) if self.lam == "auto" else self.lam
        return {**super().regularisers(problem), "lam": float(lam), **solving}


@dataclass(eq=False, repr=False, kw_only=True)
class MRGM(GMNR):
    """GMNR for several labels a node: related classes agree too.

    Parameters
    ----------
    lam_labels : weight of the classes' relations; `lam` in the paper, which is far too strong

    and those of `GMNR`.

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> known = {0: {"Mr. Hi"}, 33: {"Officer"}, 2: {"Mr. Hi", "Officer"}}
    >>> MRGM(features="links", top_k=1).fit(club, known).labels_[:2].tolist()  # columns: Mr. Hi, Officer
    [[1, 0], [1, 0]]
    """

    lam_labels: Annotated[float, Range(0, LARGEST)] = 0.1

    def regularisers(self, problem: Problem) -> dict[str, Any]:
        """`(Lambda + lam L) Y + lam_labels Y L_F = Z`."""
        F = label_similarity(problem.known.indicator)
        return {**super().regularisers(problem), "F": F, "lam_labels": float(self.lam_labels)}


def automatic_lam(problem: Problem, features: Features) -> float:
    """`lam` by which the neighbours of a mean node weigh `TIMES` its counts, within the bounds beside it.

    If links are the features, the bounds alone decide.

    >>> from querist.collective.problem import pose
    >>> automatic_lam(pose([(0, 1), (1, 2)], {0: "a"}, attributes=[[1, 1], [0, 2], [1, 1]]), "attributes")
    3.0
    """
    graph, rho = problem.graph, problem.counts(features).rho
    links, weight = graph.adjacency.nnz / graph.n_nodes, float(graph.degrees.mean())
    if features == "links" or weight == 0:
        return min(MOST, TOGETHER / max(links, 1.0))
    wanted = float(np.clip(TIMES * rho.mean(), LEAST * links, MOST * links))
    return min(min(wanted, TOGETHER) / weight, strongest(graph, rho)[0])


def strongest(graph: Graph, rho: Floats) -> tuple[float, float, float]:
    """The largest `lam`, the weights of a node and the counts (n,) of a component that say so."""
    counts = np.bincount(graph.components, rho) / np.bincount(graph.components)
    fewest = float(np.where(counts > 0, counts, 1.0).min())  # without any, each node counts once
    heaviest = float(graph.degrees.max())
    return STRONGEST * fewest / heaviest if heaviest > 0 else np.inf, heaviest, fewest


def check_strength(lam: float, graph: Graph, rho: Floats) -> None:
    """Refuse a network so heavy that the counts (n,) of a component are lost beside it in rounding."""
    most, heaviest, fewest = strongest(graph, rho)
    if lam > most:
        raise InputError(
            f"lam = {lam:g} times weights of {heaviest:.3g} at a node leaves no digits of the counts, "
            f"{fewest:.3g} per node; pass at most lam={most:.0e}, or smaller weights"
        )


def label_similarity(indicator: Floats) -> Floats:
    """(K, K) cosine of the classes' columns over the labelled nodes; each class is like itself."""
    lengths = np.linalg.norm(indicator, axis=0)
    unit = indicator / np.where(lengths > 0, lengths, 1.0)
    F = unit.T @ unit
    np.fill_diagonal(F, 1.0)
    return np.asarray(F)

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

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from querist.collective.classifier import Classifier
from querist.collective.mixture import CountMatrix, Zero, initial_words
from querist.collective.problem import Features, Inference, Problem
from querist.collective.reach import reach
from querist.collective.smoothing import Smoother, Solver
from querist.errors import InputError
from querist.parameters import checked_count, is_finite
from querist.progress import count
from querist.types import Floats

Clamp: TypeAlias = Literal["reset", "dirichlet", "none"]
Dtype: TypeAlias = Literal["float64", "float32"]


@dataclass(eq=False, repr=False, kw_only=True)
class Generative(Classifier):
    """What PLSA, GMNR and MRGM share: expectation-maximisation over the counts.

    Parameters
    ----------
    features : counts from the "attributes", or the "links": a node's words are its neighbours
    max_iter : iterations of expectation-maximisation; 10 is the paper's, and more are usually worse
    tol : stop when no probability, of a class or of a word, changes by more
    clamp : labelled rows are "reset" after every solve, held fixed inside it ("dirichlet"), or only
        given at the start ("none")
    smooth : added to every word count of a class before the first iteration
    zero : what a word without likelihood does: "post" takes `P(c|x)` as its posterior, "skip" drops it
    dtype : of the passes and solves
    objective : whether to compute it; costs one more pass over the counts
    device : where to compute: the threads of this process (None), or a device of torch, as "cuda"

    After `fit` also: `words_` (M, K) `P(w|c)`, `distribution_` (n, K) `P(c|x)` as the model left it,
    `solver_` how the systems were solved.
    """

    features: Features = "attributes"
    max_iter: int = 10
    tol: float = 0.0
    clamp: Clamp = "reset"
    smooth: float = 1.0
    zero: Zero = "post"
    dtype: Dtype = "float64"
    objective: bool = True
    device: str | None = None

    def knows_several(self) -> bool:
        """A node is divided among its classes."""
        return True

    def regularisers(self, problem: Problem) -> dict[str, Any]:
        """What the M-step for `P(c|x)` is smoothed by, in the terms of `Smoother`: nothing here."""
        return {"F": np.eye(problem.n_classes), "lam": 0.0, "lam_labels": 0.0}

    def infer(self, problem: Problem) -> Inference:
        """Expectation-maximisation from the word counts of the labelled nodes."""
        self.check()
        counted = problem.counts(self.features)
        counts, smoothing = self._placed(counted)
        smoother = smoothing(
            problem.graph.adjacency,
            counted.rho,
            problem.graph.components,
            **self.regularisers(problem),
            fixed=problem.seeds if self.clamp == "dirichlet" else None,
            dtype=np.dtype(self.dtype).type,
        )
        seeds, given = counts.rows(problem.seeds), counts.block(problem.rows, self.dtype)
        Y = given + 0
        F = counts.block(initial_words(counted, problem.known.indicator, self.smooth), self.dtype)
        change: list[float] = []
        loglik: list[float] = []
        penalties: list[float] = []
        how = ""
        for done in range(1, self.max_iter + 1):
            Z, G, before = counts.expect(Y, F, self.zero, loglik=self.objective and done > 1)
            latest, how = smoother.solve(Z, Y)
            if self.clamp == "reset":
                latest[seeds] = given[seeds]
            Y -= latest  # a block of a large graph is not made twice
            change.append(float(max(Y.max(), -Y.min())))
            words = counts.block(counts.share(G), self.dtype)
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
            loglik.append(counts.loglik(Y, F))
        reached = reach(counted.X, problem.seeds, problem.graph.components if smoother.lam > 0 else None)
        Y, F = counts.array(Y), counts.array(F)
        details: dict[str, Any] = {"distribution": Y, "words": F, "solver": how}
        return Inference(Y, reached, np.subtract(loglik, penalties).tolist(), change, details=details)

    def _placed(self, counts: CountMatrix) -> tuple[Any, Callable[..., Smoother]]:
        """The counts, and what smooths, where the blocks are to live."""
        if self.device is None:
            return counts, Smoother
        from querist.collective.device import DeviceCounts, DeviceSmoother

        return DeviceCounts.brought(counts, self.device, self.dtype), partial(
            DeviceSmoother, device=self.device
        )

    def check(self) -> None:
        """Refuse parameters that no fit can use."""
        for name in ("lam", "lam_labels", "smooth", "tol"):
            value = getattr(self, name, 0.0)
            if not (is_finite(value) and value >= 0):
                raise InputError(f"{name} = {value!r}; it must be a finite number, 0 or more")
        checked_count("max_iter", self.max_iter, 1)
        choices = {
            "features": ("attributes", "links"),
            "clamp": ("reset", "dirichlet", "none"),
            "zero": ("post", "skip"),
            "dtype": ("float64", "float32"),
            "solver": ("auto", "factor", "cg", "jacobi"),
        }
        for name, known in choices.items():
            if getattr(self, name, known[0]) not in known:
                raise InputError(f"{name} = {getattr(self, name)!r}; it must be one of {', '.join(known)}")


@dataclass(eq=False, repr=False, kw_only=True)
class PLSA(Generative):
    """Probabilistic latent semantic analysis with classes as topics: GMNR with lam = 0, no network.

    >>> from querist.datasets import karate
    >>> club = karate()
    >>> model = PLSA(features="links").fit(club, {0: "Mr. Hi", 33: "Officer"})
    >>> round(model.score(club, club.labels), 2)
    0.97
    """


@dataclass(eq=False, repr=False, kw_only=True)
class GMNR(Generative):
    """Generative model with network regularisation: words, and neighbours that agree.

    Parameters
    ----------
    lam : weight of the network
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

    lam: float = 5.0
    solver: Solver = "auto"
    solver_tol: float = 1e-3
    sweeps: int = 10

    def compares_weights(self) -> bool:
        """They are weighed against counts."""
        return False

    def regularisers(self, problem: Problem) -> dict[str, Any]:
        """`(Lambda + lam L) Y = Z`."""
        solving = {"solver": self.solver, "tol": self.solver_tol, "sweeps": self.sweeps}
        return {**super().regularisers(problem), "lam": float(self.lam), **solving}


@dataclass(eq=False, repr=False, kw_only=True)
class MRGM(GMNR):
    """GMNR for several labels a node: related classes agree too.

    Parameters
    ----------
    lam_labels : weight of the classes' relations; `lam` in the paper, which is far too strong

    and those of `GMNR`.

    >>> from querist.datasets import karate
    >>> known = {0: {"Mr. Hi"}, 33: {"Officer"}, 2: {"Mr. Hi", "Officer"}}
    >>> [sorted(found) for found in MRGM(features="links", top_k=1).fit(karate(), known).labels_[:2]]
    [['Mr. Hi'], ['Mr. Hi']]
    """

    lam_labels: float = 0.1

    def regularisers(self, problem: Problem) -> dict[str, Any]:
        """`(Lambda + lam L) Y + lam_labels Y L_F = Z`."""
        F = label_similarity(problem.known.indicator)
        return {**super().regularisers(problem), "F": F, "lam_labels": float(self.lam_labels)}


def label_similarity(indicator: Floats) -> Floats:
    """(K, K) cosine of the classes' columns over the labelled nodes; each class is like itself."""
    lengths = np.linalg.norm(indicator, axis=0)
    unit = indicator / np.where(lengths > 0, lengths, 1.0)
    F = unit.T @ unit
    np.fill_diagonal(F, 1.0)
    return np.asarray(F)

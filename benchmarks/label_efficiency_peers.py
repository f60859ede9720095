"""The peers of `label_efficiency.py` that run on a processor, tuned by cross-validation.

- scikit-network: diffusion (steps, centring) and PageRank (damping); GraphLearning: Laplace learning
  (reweighting) and Poisson learning (nothing to choose);
- scikit-learn's logistic regression on X, on S^2 X and on [X, SX, S^2 X]: C, and the scaling of X (raw, rows
  that sum to one, tf-idf). S is the symmetrically normalised adjacency with self-loops; a graph without
  attributes has the rows of its adjacency for X;
- Correct & Smooth (Huang et al. 2020) on top of the first of these regressions: both alphas.

Settings are judged by the accuracy of 5-fold cross-validation, then by log-loss, on at most MOST seeds. To
keep the work bounded they are chosen once for a set, a protocol and a share, on draws of their own.

Querist and the peers' libraries are imported where they are used: the networks' machine has neither.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

MOST = 600
STEPS = 30
"""Of Correct & Smooth, in each of its two propagations."""
ALPHAS = (0.9, 0.5, 0.0)
STRENGTHS = (100.0, 10.0, 1000.0)
"""C, over the mean squared distance of a row from the mean of all."""
TOLERANCE = 1e-3
"""Of scikit-learn's solver, for rows of size one."""
SCALINGS = ("row", "raw", "tfidf")
KEPT = 5e7
"""Numbers of a matrix `S^p X` up to which all of its rows are kept."""

Fit: TypeAlias = Callable[[Any, Any], Any]
"""From the seeds that are kept (m,) to the probabilities (rows, K) of some nodes."""
Fits: TypeAlias = dict[Any, Fit]
Settings: TypeAlias = dict[str, Any]
"""Of each peer that which was chosen."""


@dataclass(frozen=True, eq=False)
class Split:
    """A graph, the seeds (m,) of a draw, and the fold of each."""

    features: "Features"
    seeds: Any
    folds: Any

    @property
    def graph(self) -> Any:
        return self.features.graph

    @cached_property
    def codes(self) -> Any:
        """(m,) the classes of the seeds."""
        return self.graph.codes[self.seeds]

    def sampled(self) -> "Split":
        """The same with at most MOST seeds, every fold of which keeps its classes."""
        order = np.lexsort((self.codes, self.folds))
        kept = np.sort(order[:: -(-self.seeds.size // MOST)])
        return Split(self.features, self.seeds[kept], self.folds[kept])

    def held_out(self, fit: Fit) -> tuple[int, float]:
        """How many held-out seeds a fit has right, and minus the sum of their log-losses."""
        right, logs = 0, 0.0
        for fold in np.unique(self.folds):
            out = self.folds == fold
            P = fit(~out, self.seeds[out])
            right += int((P.argmax(axis=1) == self.codes[out]).sum())
            logs += float(np.log(np.maximum(P[np.arange(len(P)), self.codes[out]], 1e-12)).sum())
        return right, logs


# -- peers that know only the graph --------------------------------------------------------------


def scikit_network(split: Split, kind: str, **options: Any) -> Fit:
    def fit(kept: Any, rows: Any) -> Any:
        from querist.collective.catalogue import CLASSIFIERS

        graph = split.graph
        given = np.full(graph.n_nodes, -1)
        given[split.seeds[kept]] = split.codes[kept]
        model = CLASSIFIERS[kind](classes=range(graph.n_classes), missing=-1, **options)
        return model.fit(graph, given).probabilities_[rows]

    return fit


def graph_learning(split: Split, kind: str, **options: Any) -> Fit:
    def fit(kept: Any, rows: Any) -> Any:
        import graphlearning as gl

        graph, seeds = split.graph, split.seeds[kept]
        part = np.flatnonzero(np.isin(graph.components, graph.components[seeds]) & (graph.degrees > 0))
        share = np.bincount(graph.codes[seeds], minlength=graph.n_classes) / seeds.size
        P = np.tile(share, (graph.n_nodes, 1))
        place = np.full(graph.n_nodes, -1)
        place[part] = np.arange(part.size)
        inside = seeds[place[seeds] >= 0]
        present, codes = np.unique(graph.codes[inside], return_inverse=True)
        model = getattr(gl.ssl, kind)(sp.csr_matrix(graph.adjacency[part][:, part]), **options)
        told = model.fit(place[inside], codes)
        answer = np.zeros((part.size, graph.n_classes))
        answer[:, present[: told.shape[1]]] = told - told.min()
        P[part] = answer + 1e-9
        return (P / P.sum(axis=1, keepdims=True))[rows]

    return fit


def diffusion(split: Split, settings: Settings) -> Fits:
    return {
        (steps, centring): scikit_network(split, "diffusion", steps=steps, centring=centring)
        for centring in (True, False)
        for steps in (10, 3, 30)
    }


def pagerank(split: Split, settings: Settings) -> Fits:
    return {d: scikit_network(split, "pagerank", damping=d) for d in (0.85, 0.5, 0.7, 0.95)}


def laplace(split: Split, settings: Settings) -> Fits:
    return {way: graph_learning(split, "laplace", reweighting=way) for way in ("none", "wnll")}


def poisson(split: Split, settings: Settings) -> Fits:
    """Its default conjugate gradients do not converge on graphs of several components; descent does."""
    return {"descent": graph_learning(split, "poisson", solver="gradient_descent")}


# -- logistic regression ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Features:
    """What the regressions see of a graph: powers of S times X, at some rows or times a few columns."""

    graph: Any

    @cached_property
    def S(self) -> Any:
        """The symmetrically normalised adjacency with self-loops."""
        return symmetric(sp.csr_array(abs(self.graph.adjacency) + sp.eye_array(self.graph.n_nodes)))

    @lru_cache  # noqa: B019
    def X(self, scaling: str) -> Any:
        """The attributes, or the rows of the adjacency where there are none."""
        X = self.graph.attributes
        return scaled(sp.csr_array(self.graph.adjacency if X is None else X), scaling)

    @lru_cache  # noqa: B019
    def block(self, power: int, scaling: str) -> Any:
        """(n, f) `S^power X` as a dense matrix."""
        if power == 0:
            return self.X(scaling).astype(np.float32).toarray()
        return self.S.astype(np.float32) @ self.block(power - 1, scaling)

    def rows(self, powers: Iterable[int], scaling: str, nodes: Any) -> Any:
        """(m, f) the rows `nodes` of `[S^p X]` for p in `powers`; dense where they are full, or kept so."""
        X = self.X(scaling)
        if X.shape[0] * X.shape[1] <= KEPT and any(powers):
            return np.hstack([self.block(power, scaling)[nodes] for power in powers]).astype(np.float64)
        blocks = []
        for power in powers:
            R = sp.csr_array(sp.eye_array(X.shape[0]))[nodes]
            for _ in range(power):
                R = R @ self.S
            blocks.append(R @ X)
        Z = sp.csr_array(sp.hstack(blocks))
        return Z.toarray() if Z.nnz > 0.1 * np.prod(Z.shape) else Z

    def times(self, powers: tuple[int, ...], scaling: str, W: Any) -> Any:
        """(n, K) `[S^p X] W`."""
        total = 0.0
        for power, part in zip(powers, np.split(W, len(powers)), strict=True):
            Z = self.X(scaling) @ part
            for _ in range(power):
                Z = self.S @ Z
            total = total + Z
        return total


def scaled(X: sp.csr_array, how: str) -> sp.csr_array:
    """Attributes raw, with rows that sum to one, or as tf-idf rows of length one; or the identity."""
    X = X.astype(np.float64)
    if how == "raw":
        return X
    if how == "identity":
        return sp.csr_array(sp.eye_array(X.shape[0]))
    if how == "row":
        total = np.asarray(abs(X).sum(axis=1)).ravel()
    else:
        seen = np.bincount(X.indices, minlength=X.shape[1])
        X = X @ sp.diags_array(1 + np.log((1 + X.shape[0]) / (1 + seen)))
        total = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(total > 0, total, 1)) @ X)


def symmetric(A: Any) -> Any:
    """`D^-1/2 A D^-1/2`; a node without links has none."""
    degrees = np.asarray(A.sum(axis=1)).ravel()
    r = sp.diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    return sp.csr_array(r @ A @ r)


class Regression:
    """Logistic regression of a split's seeds on `[S^p X]` for p in `powers`, with one scaling of X.

    It is scikit-learn's, in coordinates that are less work and have the same optimum. A ridge penalty knows
    only inner products, so where rows have more numbers than there are seeds, those of a Cholesky factor of
    their products stand for them. The intercept is free, so rows may be taken from their mean.
    """

    def __init__(self, split: Split, powers: tuple[int, ...], scaling: str) -> None:
        self.split, self.powers, self.scaling = split, powers, scaling

    @cached_property
    def Z(self) -> Any:
        """(m, f) the rows of the seeds."""
        return self.split.features.rows(self.powers, self.scaling, self.split.seeds)

    @cached_property
    def mean(self) -> Any:
        """(f,) of the rows."""
        return np.asarray(self.Z.mean(axis=0)).ravel()

    @cached_property
    def size(self) -> float:
        """The root of the mean squared distance of the rows from their mean."""
        values = self.Z.data if sp.issparse(self.Z) else self.Z
        spread = float((values**2).sum() / self.Z.shape[0] - self.mean @ self.mean)
        return float(np.sqrt(max(spread, 0))) or 1.0

    @cached_property
    def factor(self) -> Any:
        """(m, m) the factor of the rows' products, or None where the rows themselves are less work."""
        m, f = self.Z.shape
        filled = min(4 * self.Z.nnz, m * f) if sp.issparse(self.Z) else m * f
        if filled + 10 * f <= m * m + 10 * m:
            return None
        G = self.Z @ self.Z.T
        G = G.toarray() if sp.issparse(G) else G
        G = G - G.mean(axis=0) - G.mean(axis=1, keepdims=True) + G.mean()
        return np.linalg.cholesky(G + 1e-9 * self.size**2 * np.eye(m))

    @cached_property
    def coordinates(self) -> Any:
        """What stands for the rows, of size one; sparse ones are not taken from their mean."""
        if self.factor is not None:
            return self.factor / self.size
        return (self.Z if sp.issparse(self.Z) else self.Z - self.mean) / self.size

    def fit(self, strength: float) -> Fit:
        def probabilities(kept: Any, rows: Any) -> Any:
            from scipy.special import softmax

            W, b = self.weights(strength, kept)
            if not isinstance(rows, slice):
                return softmax(self.coordinates[np.searchsorted(self.split.seeds, rows)] @ W + b, axis=1)
            W, b = self.full(W, b)
            return softmax(self.split.features.times(self.powers, self.scaling, W) + b, axis=1)

        return probabilities

    def weights(self, strength: float, kept: Any) -> tuple[Any, Any]:
        """(d, K) and (K,): what the coordinates are multiplied by, and what is added; unseen classes -30."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        codes = self.split.codes[kept]
        W = np.zeros((self.coordinates.shape[1], self.split.graph.n_classes))
        b = np.full(self.split.graph.n_classes, -30.0)
        present = np.unique(codes)
        b[present] = 0
        if present.size > 1:
            model = LogisticRegression(C=strength, tol=TOLERANCE, max_iter=200)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(self.coordinates[np.flatnonzero(kept)], codes)
            two = present.size == 2  # of two classes scikit-learn keeps the logit of the second
            W[:, present[1:] if two else present] = model.coef_.T
            b[present[1:] if two else present] = model.intercept_
        return W, b

    def full(self, W: Any, b: Any) -> tuple[Any, Any]:
        """(f, K) and (K,) the same for `[S^p X]`."""
        from scipy.linalg import solve_triangular

        W = W / self.size
        if self.factor is not None:
            a = solve_triangular(self.factor, W, lower=True, trans="T")
            W = self.Z.T @ (a - a.mean(axis=0))
        elif sp.issparse(self.Z):
            return W, b
        return W, b - self.mean @ W


def regression(*powers: int) -> Callable[[Split, Settings], Fits]:
    def fits(split: Split, settings: Settings) -> Fits:
        regressions = {scaling: Regression(split, powers, scaling) for scaling in SCALINGS}
        return {
            (scaling, strength): one.fit(strength)
            for scaling, one in regressions.items()
            for strength in STRENGTHS
        }

    return fits


# -- Correct & Smooth ------------------------------------------------------------------------------


def smoothed(S: Any, start: Any, alpha: float, least: float) -> Any:
    """`E <- alpha S E + (1 - alpha) start`, kept between `least` and 1, STEPS times."""
    E = start
    for _ in range(STEPS if alpha else 0):
        E = np.clip(alpha * (S @ E) + (1 - alpha) * start, least, 1)
    return E


def corrected(S: Any, P: Any, seeds: Any, Y: Any, alpha: float) -> Any:
    """(n, K) P and its errors on the seeds, spread; each row as large as an error is on average."""
    error = np.zeros_like(P)
    error[seeds] = Y - P[seeds]
    spread = smoothed(S, error, alpha, -1)
    size = np.abs(spread).sum(axis=1, keepdims=True)
    scale = np.abs(error).sum() / len(seeds) / np.where(size > 0, size, 1)
    return P + np.where((size > 0) & (scale <= 1000), scale, 1.0) * spread


def correct_and_smooth(S: Any, P: Any, seeds: Any, Y: Any, alphas: tuple[float, float]) -> Any:
    """(n, K) scores from base probabilities P: errors are spread and taken away, then labels spread."""
    base = corrected(S, P, seeds, Y, alphas[0]) if alphas[0] else P.copy()
    base[seeds] = Y
    return smoothed(S, base, alphas[1], 0)


def smoothing(split: Split, settings: Settings) -> Fits:
    """Correct & Smooth on top of the chosen logistic regression on X."""
    S = symmetric(sp.csr_array(abs(split.graph.adjacency)))
    base = PEERS["lr_x"](split, settings)[settings["lr_x"]]
    bases: dict[bytes, Any] = {}

    def fit_with(alphas: tuple[float, float]) -> Fit:
        def fit(kept: Any, rows: Any) -> Any:
            if kept.tobytes() not in bases:
                bases[kept.tobytes()] = base(kept, slice(None))
            Y = np.eye(split.graph.n_classes)[split.codes[kept]]
            scores = correct_and_smooth(S, bases[kept.tobytes()], split.seeds[kept], Y, alphas)
            scores = np.maximum(scores, 1e-9)
            return (scores / scores.sum(axis=1, keepdims=True))[rows]

        return fit

    return {(first, then): fit_with((first, then)) for first in ALPHAS for then in ALPHAS}


# -- all of them -----------------------------------------------------------------------------------

PEERS: dict[str, Callable[[Split, Settings], Fits]] = {
    "diffusion": diffusion,
    "pagerank": pagerank,
    "laplace": laplace,
    "poisson": poisson,
    "lr_x": regression(0),
    "lr_s2x": regression(2),
    "lr_xs": regression(0, 1, 2),
    "c_and_s": smoothing,
}
"""The fits of a split by setting, the first of which is taken where none can be judged."""


def chosen(splits: Sequence[Split]) -> Settings:
    """For each peer the setting of the best cross-validated accuracy over some splits, then log-loss."""
    settings: Settings = {}
    splits = [split.sampled() for split in splits]
    for peer, fits_of in PEERS.items():
        fits = [fits_of(split, settings) for split in splits]
        merits = {}
        for setting in fits[0] if len(fits[0]) > 1 else ():
            try:
                told = [split.held_out(own[setting]) for split, own in zip(splits, fits, strict=True)]
                merits[setting] = tuple(np.sum(told, axis=0))
            except Exception as problem:  # a peer that fails has no answer, and that is said
                warnings.warn(f"{peer} {setting}, {splits[0].graph.name}: {problem!r}", stacklevel=2)
        settings[peer] = max(merits, key=merits.__getitem__) if merits else next(iter(fits[0]))
    return settings


def answers(split: Split, settings: Settings) -> dict[str, Any]:
    """(n, K) probabilities of every peer with its setting; of those that fail none."""
    everything, found = np.ones(split.seeds.size, dtype=bool), {}
    for peer, fits in PEERS.items():
        try:
            found[peer] = fits(split, settings)[settings[peer]](everything, slice(None))
        except Exception as problem:
            warnings.warn(f"{peer}, {split.graph.name}: {problem!r}", stacklevel=2)
    return found

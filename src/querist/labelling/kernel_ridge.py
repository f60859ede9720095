"""Ridge regression with a kernel: every direction of the features counts, not the leading ones alone.

A kernel is a symmetric similarity of two nodes. Two kinds:

- `ChannelKernel`: the inner product of *channels*, each of length one: a node's own features, the mean of its
  neighbours' features, the mean of those means. Kept apart, they serve where linked nodes differ as well as
  where they are alike: a regression may want the neighbours of a node to be unlike the node.
- `GaussianKernel`: `exp(-|x - y|^2 / width)` of points: standardised attributes, if they are measurements.
  With many labels it finds boundaries that are not straight.

With landmarks B, all labelled nodes or `LANDMARKS` of them, and the triangular factor `C C' = k(B, B)`, the
rows `k(., B) C^-T` have the kernel of the landmarks as their inner products, and `heads.ridge` does the rest.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from querist.labelling import combine
from querist.labelling.combine import Scale
from querist.labelling.heads import RidgeFit, judgeable, ridge, squared_distances
from querist.labelling.rows import Source
from querist.labelling.workspace import Model, Seen, Workspace
from querist.operator.value import LocalMatrix
from querist.types import Codes, Floats, Sparse

LANDMARKS = 1000
"""Labelled nodes that span a regression."""

JITTER = 1e-8
"""On the diagonal of a kernel whose entries are of order one, so that twins can be factorised."""

SMALL, SKETCH = 5e6, 64
"""Most entries of channels whose lengths are measured exactly; in so many random directions where there are
more, which is off by some 9 %."""

SPACE = 2e8
"""Most numbers in the channels of the labelled nodes; graphs with more of them have no such model."""

DENSE, COLUMNS = 0.3, 2000
"""Attributes are measurements where at least this share of them is not zero, in at most so many columns."""

FULL = 0.1
"""Channels of which so many entries are not zero multiply faster as full matrices."""

WIDTH = 0.3
"""Of a Gaussian, in medians of the squared distances."""

BLOCK = 4096


@dataclass(eq=False)
class ChannelKernel:
    """Inner products of the features 0, 1, ... `hops` steps away."""

    workspace: Workspace
    source: Source
    hops: int
    _kept: tuple[Codes, Sparse] | None = None

    def between(self, nodes: Codes, others: Codes) -> Floats:
        """(nodes, others) products of their channels."""
        Z, other = self._channels(nodes), self._channels(others)
        if Z.nnz > FULL * Z.shape[0] * Z.shape[1]:
            return np.asarray(Z.toarray() @ other.toarray().T)
        return np.asarray((Z @ other.T).toarray())

    def times(self, nodes: Codes | slice, others: Codes, B: Floats) -> Floats:
        """`between(nodes, others) @ B`, through coefficients: all nodes cost as much as few."""
        X, backend, total = self.workspace.matrix(self.source), self.workspace.backend, 0.0
        inverse = self.workspace.placed(
            self, lambda: backend.given(np.stack(self.inverse_lengths)[:, :, None])
        )
        for hop, W in enumerate(np.split(np.asarray(self._channels(others).T @ B), self.hops + 1)):
            block = X @ backend.given(W)
            for _ in range(hop):
                block = self.workspace.neighbours(block)
            total = total + inverse[hop] * block
        return np.asarray(backend.array(self.workspace.taken(total, nodes)))

    def _channels(self, nodes: Codes) -> Sparse:
        """(nodes, features of all hops). Rows last computed are kept: folds ask for some of them again."""
        kept = self._kept  # another thread may replace it
        if kept is None or not _holds(kept[0], nodes):
            self._kept = kept = np.sort(nodes), self._computed(np.sort(nodes))
        return kept[1][np.searchsorted(kept[0], nodes)]

    def _computed(self, nodes: Codes) -> Sparse:
        reach: Any = sp.eye_array(self.workspace.graph.n_nodes, format="csr")[nodes]
        found = []
        for inverse in self.inverse_lengths:
            found.append(sp.diags_array(inverse[nodes]) @ (reach @ self.workspace.features(self.source)))
            reach = reach @ self._step
        return sp.csr_array(sp.hstack(found))

    @cached_property
    def _step(self) -> Sparse:
        """`D^-1 S`: to a mean neighbour."""
        graph = self.workspace.graph
        step: Sparse = abs(graph.adjacency)
        step.data *= np.repeat(1 / np.where(graph.degrees > 0, graph.degrees, 1.0), np.diff(step.indptr))
        return step

    @cached_property
    def inverse_lengths(self) -> list[Floats]:
        """(n,) a hop: exact where the channels of all nodes are small, else by a few random directions."""
        block: Any = self.workspace.features(self.source)
        step: Any = self._step
        if self.workspace.graph.n_nodes * channel_entries(self.workspace, self.source, self.hops) > SMALL:
            sign = np.array([-1.0, 1.0], dtype=np.float32) / np.float32(np.sqrt(SKETCH))
            signs = np.random.default_rng(0).choice(sign, size=(block.shape[1], SKETCH))
            block = LocalMatrix.of(block, np.float32) @ signs
            step = LocalMatrix.of(step, np.float32)
        found = []
        for hop in range(self.hops + 1):
            block = step @ block if hop else block
            length = np.sqrt(np.asarray((block * block).sum(axis=1), dtype=np.float64).ravel())
            found.append(np.divide(1.0, length, out=np.zeros_like(length), where=length > 0))
        return found


def _holds(kept: Codes, nodes: Codes) -> bool:
    """Whether all of the nodes are among the sorted ones."""
    place = np.minimum(np.searchsorted(kept, nodes), kept.size - 1)
    return bool((kept[place] == nodes).all())


def channel_entries(workspace: Workspace, source: Source, hops: int) -> float:
    """About how many features a node has within these steps."""
    graph, X = workspace.graph, workspace.features(source)
    around = (1 + 2 * graph.n_edges / graph.n_nodes) ** hops
    return float(min(X.nnz / graph.n_nodes * around, X.shape[1]))


@dataclass(frozen=True)
class GaussianKernel:
    """`exp(-|x - y|^2 / width)` of the rows of `points` (n, d)."""

    points: Floats
    width: float

    def between(self, nodes: Codes | slice, others: Codes) -> Floats:
        """(nodes, others), by the distances."""
        return np.asarray(np.exp(-squared_distances(self.points[nodes], self.points[others]) / self.width))

    def times(self, nodes: Codes | slice, others: Codes, B: Floats) -> Floats:
        """`between(nodes, others) @ B`, block by block."""
        rows = np.arange(len(self.points))[nodes]
        parts = [rows[i : i + BLOCK] for i in range(0, rows.size, BLOCK)]
        return np.concatenate(
            [self.between(part, others) @ B for part in parts] or [np.empty((0, B.shape[1]))]
        )


def are_measurements(X: Sparse | None) -> bool:
    """Whether attributes (n, d) are points of a space, not words: few columns, and most entries not zero."""
    return X is not None and bool(X.shape[1] <= COLUMNS and X.nnz > DENSE * X.shape[0] * X.shape[1])


def typical_distance(some: Floats) -> float:
    """The median squared distance of points (m, d) in random order; 1 where all are the same.

    >>> typical_distance(np.array([[0.0], [5.0], [2.0]]))
    4.0
    """
    distances = np.sum((some - some[::-1]) ** 2, axis=1)
    return float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0


@dataclass(frozen=True)
class KernelRidge(Model):
    """Ridge regression with a kernel."""

    is_regression: ClassVar[bool] = True

    def kernel(self, workspace: Workspace) -> Any:
        """The similarity of nodes on a graph: `between(nodes, others)`, `times(nodes, others, B)`."""
        raise NotImplementedError

    def fit(self, workspace: Workspace, seen: Seen) -> "FittedKernelRidge":
        """The regression on the landmarks, which are drawn among the labelled nodes."""
        labelled, Y, multilabel = seen
        kernel = self.kernel(workspace)
        chosen = np.sort(workspace.shuffled[labelled].argsort()[:LANDMARKS])
        K = kernel.between(labelled, labelled[chosen])
        C = _factor(K[chosen])
        fitted = ridge(solve_triangular(C, K.T, lower=True).T, Y)
        scale = combine.scaled_ridge(fitted.left_out, fitted.mean, Y, multilabel, judgeable(Y))
        return FittedKernelRidge(kernel, labelled[chosen], C, fitted, scale)


def _decomposition(labels: int) -> float:
    """Multiplications of a fit, beside those of the kernel."""
    return 0.6 * min(labels, LANDMARKS) ** 3


@dataclass(frozen=True)
class ChannelRidge(KernelRidge):
    """By features `hops` steps around."""

    source: Source
    hops: int

    @property
    def uses_attributes(self) -> bool:
        """Links have channels too."""
        return self.source == "attributes"

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Needs its features, and edges to tell the channels apart."""
        return workspace.graph.n_edges > 0 and (self.source == "links" or workspace.has_attributes)

    def kernel(self, workspace: Workspace) -> ChannelKernel:
        """Inner products of channels."""
        kernel = ChannelKernel(workspace, self.source, self.hops)
        return cast(ChannelKernel, workspace.made((self.source, self.hops), lambda: kernel))

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """Lengths and channels; inner products."""
        walked = workspace.graph.adjacency.nnz * self.hops + workspace.features(self.source).nnz
        held = self._held(workspace, labels)
        if held > SPACE:
            return np.inf
        each = held * min(labels, LANDMARKS) / 4 + classes * walked * (self.hops + 1)
        return float(SKETCH * walked + 10 * held + fits * (each + _decomposition(labels)))

    def memory(self, workspace: Workspace, labels: int) -> float:
        """The channels of the labelled nodes."""
        return 12 * self._held(workspace, labels)

    def _held(self, workspace: Workspace, labels: int) -> float:
        return labels * channel_entries(workspace, self.source, self.hops) * (self.hops + 1)


@dataclass(frozen=True)
class GaussianRidge(KernelRidge):
    """By the distances of attributes that are points; it works in this process."""

    @property
    def uses_attributes(self) -> bool:
        """As points."""
        return True

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Attributes are points if most of them are not zero."""
        return workspace.has_attributes and are_measurements(workspace.graph.attributes)

    def kernel(self, workspace: Workspace) -> GaussianKernel:
        """As wide as the points lie apart."""

        def make() -> GaussianKernel:
            points = workspace.standardised
            some = points[np.random.default_rng(0).permutation(len(points))[:LANDMARKS]]
            return GaussianKernel(points, WIDTH * typical_distance(some))

        return cast(GaussianKernel, workspace.made("gaussian", make))

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """Distances to the landmarks."""
        X = workspace.graph.attributes
        n, columns = (0, 0) if X is None else X.shape
        distances = (n / 2 + labels) * min(labels, LANDMARKS) * (columns / 8 + 10)
        return fits * (distances + _decomposition(labels))

    def memory(self, workspace: Workspace, labels: int) -> float:
        """The points, and a copy while they are made."""
        X = workspace.graph.attributes
        return 0.0 if X is None else 16.0 * X.shape[0] * X.shape[1]


def _factor(K: Floats) -> Floats:
    """The lower triangle C with `C C' = K`, and the least jitter on its diagonal that allows one.

    Distances between points that differ little are differences of large numbers: their kernel is off by more
    than the jitter of twins.
    """
    jitter = JITTER * max(float(np.trace(K)) / len(K), JITTER)
    while True:
        try:
            return np.asarray(cholesky((K + K.T) / 2 + jitter * np.eye(len(K)), lower=True))
        except np.linalg.LinAlgError:
            jitter *= 100


@dataclass(frozen=True)
class FittedKernelRidge:
    """The regression on the rows `k(., landmarks) C^-T`."""

    kernel: Any
    landmarks: Codes
    C: Floats
    fitted: RidgeFit
    scale: Scale

    def logits(self, nodes: Codes | slice) -> Floats:
        """(nodes, K)."""
        B = solve_triangular(self.C, self.fitted.coefficients, lower=True, trans="T")
        return self.scale.of(self.kernel.times(nodes, self.landmarks, B) + self.fitted.mean)

    def smoother(self, nodes: Any) -> Floats:
        """Its answers are `mean + weights @ (labels - mean)`."""
        B = solve_triangular(self.C, self.fitted.smoother, lower=True, trans="T")
        found = self.kernel.times(np.atleast_1d(nodes), self.landmarks, B)
        return np.asarray(found if np.ndim(nodes) else found[0])

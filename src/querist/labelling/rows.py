"""Rows of numbers for the nodes: what a node says of itself, smoothed over the graph, in few columns.

With features X (tf-idf of the attributes, or of the links: a node's words are its neighbours and itself)
and the smoothing matrix T of `querist.embedding.kinds.diffusion`,

    Z_0 = X,    Z <- a T Z + (1 - a) X,    `steps` times,

and the rows are `U Sigma` of its leading singular vectors, each scaled to length one. The decomposition
sees all nodes, labelled or not: with few labels, leaving out the small directions is worth more than any
choice of the classifier on top.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from querist.embedding import Embedding, embed
from querist.embedding.kinds import EmbeddingKeywords, kind_of, usual_kind
from querist.embedding.kinds.diffusion import (
    Triples,
    device_bytes,
    singular_triples,
    smoothed_bytes,
    smoothed_products,
    smoothing,
    weighted,
)
from querist.graph import Graph
from querist.graph.scaling import scaled
from querist.labelling.heads import row_lengths
from querist.progress import Progress, silent
from querist.types import Floats, Sparse

Source: TypeAlias = Literal["attributes", "links"]

CHOOSING_RANK = 64
"""Columns of the quick learner's rows by which questions are chosen."""

SWEEPS, FEW_SWEEPS, LARGE = 4, 3, 20_000
"""Of subspace iteration: the rows are features, not eigenvectors to publish. Above `LARGE` nodes fewer do."""


@dataclass(frozen=True)
class RowSettings:
    """How rows are made: of which features, and how far they are smoothed."""

    source: Source
    steps: int
    damping: float


@dataclass(frozen=True)
class SingularRows:
    """`left` (n, r) orthonormal columns and `values` (r,) falling."""

    left: Floats
    values: Floats

    def take(self, rank: int) -> Floats:
        """(n, rank) `U Sigma`, rows of length one."""
        rows: Floats = self.left[:, :rank] * self.values[:rank]
        rows /= row_lengths(rows)
        return rows


def quick_rows(graph: Graph, rank: int, *, device: str | None = None, progress: Any = None) -> Embedding:
    """The embedding behind the quick learner: of the attributes where there are any, else of the graph."""
    X = graph.attributes
    kind = usual_kind(attributes=X is not None and bool(X.count_nonzero()))
    columns = min(rank, graph.n_nodes)
    return embed(graph, columns, kind=kind.name, device=device, progress=progress, **quick_options(kind.name))


def quick_options(kind: str) -> EmbeddingKeywords:
    """The options of these rows, by their kind."""
    return {"weighting": "tfidf"} if "weighting" in kind_of(kind).options else {}


class RowBytes(NamedTuple):
    """Of rows: what is `held` when they are there, in `blocks` while they are made, `on_device` if there."""

    held: float
    blocks: float
    on_device: float


def rows_bytes(graph: Graph, kinds: Collection[RowSettings], rank: int, at_once: int = 1) -> RowBytes:
    """What these kinds of rows take, made so many at a time: features, blocks, and the rows that are kept."""
    n, entries = graph.n_nodes, graph.adjacency.nnz
    linked = replace(graph, attributes=graph.adjacency)
    graphs = {kind.source: linked if kind.source == "links" else graph for kind in kinds}.values()
    sources = [own.attributes for own in graphs if own.attributes is not None]
    made = [smoothed_bytes(*X.shape, entries, X.nnz, rank, item=4) for X in sources]
    # Self-training takes the rows it needs twice: of length one, and without the means of the classes.
    rows = 8.0 * n * min(rank, n) * (len(kinds) + 2 * bool(kinds))
    return RowBytes(
        held=sum(12.0 * (X.nnz + n) for X in sources) + rows,
        blocks=min(at_once, len(kinds)) * max(made, default=0.0),
        on_device=max((device_bytes(own, rank) for own in graphs), default=0.0),
    )


def features(graph: Graph, source: Source) -> Sparse:
    """(n, m) tf-idf rows of length one. Counts count by their logarithm; negative attributes as they are."""
    if source == "links":
        own = sp.diags_array((graph.degrees > 0).astype(np.float64))
        X: Any = sp.csr_array(abs(graph.adjacency) + own)
        X.data = np.ones_like(X.data)
        return weighted(X, "tfidf")
    assert graph.attributes is not None
    if graph.attributes.nnz and graph.attributes.data.min() < 0:
        return weighted(graph.attributes, "unit")
    X = graph.attributes.copy()
    X.data = np.log1p(X.data)
    return weighted(X, "tfidf")


def sweeps_for(graph: Graph) -> int:
    """Sweeps of subspace iteration that the rows of a graph get."""
    return SWEEPS if graph.n_nodes <= LARGE else FEW_SWEEPS


def smoothed_rows(
    graph: Graph,
    X: Sparse,
    settings: RowSettings,
    rank: int,
    *,
    seed: int = 0,
    progress: Progress = silent,
    device: str | None = None,
) -> SingularRows:
    """The leading `rank` directions of the smoothed features.

    >>> from querist import load_graph
    >>> club = load_graph("karate")
    >>> settings = RowSettings("links", 10, 0.9)
    >>> smoothed_rows(club, features(club, "links"), settings, 5).take(2).shape
    (34, 2)
    """
    columns = min(rank, *X.shape)
    T = smoothing(scaled(graph))
    found = singular_triples(
        smoothed_products(T, X, settings.steps, settings.damping, device, dtype=np.float32),
        columns,
        tol=None,
        sweeps=sweeps_for(graph),
        seed=seed,
        progress=progress,
    )
    return decisive(found, columns)


def decisive(found: Triples, columns: int) -> SingularRows:
    """Up to so many columns, without directions that are rounding, in double precision."""
    values = found.values[:columns]
    kept = max(1, int((values > 1e-12 * max(values[0], 1e-300)).sum()))
    left = np.ascontiguousarray(found.left[:, :kept], dtype=np.float64)
    return SingularRows(left, values[:kept].astype(np.float64))

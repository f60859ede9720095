"""What a graph is: a frozen, validated value that all other code trusts.

Inside, nodes are row numbers 0..n-1 and classes are codes 0..K-1. The user's
own node ids and labels live here; input and output are translated.
"""

import copy
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist.errors import InputError, refuse
from querist.labels import UNLABELLED, Labels, RowOf, plain
from querist.matrices import as_floats, checked_sparse
from querist.tables.columns import Recipe
from querist.tables.formats import some
from querist.types import Codes, Floats, Sparse

MANY_COLUMNS, COLUMNS_PER_VALUE = 1_000_000, 100
"""A matrix of more columns than both of these allow is mostly a claim, and work needs room for each."""

LABELS_READ = "y read in"
"""Begins the note on which labels of a source are known."""


def not_on_labels(notes: Sequence[str]) -> tuple[str, ...]:
    """The notes that hold whatever labels are taken."""
    return tuple(note for note in notes if not note.startswith(LABELS_READ))


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with optional weights, attributes and labels.

    Parameters
    ----------
    adjacency : (n, n) symmetric CSR, finite, no self-loops; weights may be negative
    nodes : the user's ids, distinct and hashable; row numbers by default
    attributes : (n, m) sparse matrix of node attributes, or None
    known : the labels of the nodes, or None
    name : shown in tables and messages
    notes : what was found and done when the graph was read
    recipes : how columns of a table of nodes became the attributes, for nodes that come later

    `as_graph` is lenient: it symmetrises, drops self-loops and says so.
    This constructor is strict.

    >>> path = Graph(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), nodes=("ann", "bob"))
    >>> path.n_edges, path.row_of["bob"], path.n_components
    (1, 1, 1)
    """

    adjacency: Sparse
    nodes: Sequence[Hashable] = ()
    attributes: Sparse | None = None
    known: Labels | None = None
    name: str = "graph"
    notes: tuple[str, ...] = field(default=(), repr=False)
    recipes: tuple[Recipe, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        _set = object.__setattr__
        _set(self, "adjacency", _checked_adjacency(self.adjacency))
        n = self.n_nodes
        _set(self, "nodes", _checked_nodes(self.nodes, n))
        _check_sum(self)
        if self.attributes is not None:
            _set(self, "attributes", attribute_matrix(self.attributes))
            if self.attributes.shape[0] != n:
                raise InputError(
                    f"attributes has {self.attributes.shape[0]} rows for {n} nodes; give one row a node"
                )
        if self.known is not None and len(self.known) != n:
            raise InputError(f"{len(self.known)} labels for {n} nodes; give one per node")
        _set(self, "notes", tuple(self.notes))

    # -- counts ---------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Rows of the adjacency."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Undirected edges, each counted once."""
        return int(self.adjacency.nnz) // 2

    @property
    def n_classes(self) -> int:
        """Classes that a label may name."""
        return len(self.classes)

    @cached_property
    def components(self) -> Codes:
        """(n,) component number of every node; 0 is the largest, ties by first node."""
        _, found = csgraph.connected_components(self.adjacency, directed=False)
        by_size = np.argsort(-np.bincount(found), kind="stable")
        return np.argsort(by_size)[found]  # the inverse of the order: which place each has in it

    @property
    def n_components(self) -> int:
        """Connected components, isolated nodes among them."""
        return int(self.components.max()) + 1

    @cached_property
    def signed(self) -> bool:
        """Whether any weight is negative."""
        return bool((self.adjacency.data < 0).any())

    @cached_property
    def degrees(self) -> Floats:
        """(n,) sum of absolute weights at every node."""
        return np.asarray(abs(self.adjacency).sum(axis=1), dtype=np.float64).ravel()

    # -- labels and ids -------------------------------------------------------

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """What the codes of the labels stand for."""
        return () if self.known is None else self.known.classes

    @property
    def codes(self) -> Codes:
        """(n,) class code of every node, -1 for a node without a label. `known` holds sets of labels."""
        if self.known is None:
            return np.full(self.n_nodes, UNLABELLED, dtype=np.int64)
        if self.known.multilabel:
            raise InputError("nodes of this graph have sets of labels, which have no codes; use graph.labels")
        codes: Codes = self.known.codes
        return codes

    @property
    def labels(self) -> list[Any]:
        """The user's label of every node, a tuple if it may have several; None for a node without one."""
        return [None] * self.n_nodes if self.known is None else self.known.names()

    @cached_property
    def row_of(self) -> dict[Hashable, int]:
        """Row number of every node id."""
        return RowOf({node: row for row, node in enumerate(self.nodes)})

    @cached_property
    def own_ids(self) -> tuple[Hashable, ...] | None:
        """The ids of the nodes; None where they are the row numbers."""
        return None if self.nodes == tuple(range(self.n_nodes)) else tuple(self.nodes)

    @property
    def labelled(self) -> Codes:
        """Row numbers of the labelled nodes."""
        return np.flatnonzero(() if self.known is None else self.known.known)

    # -- parts ----------------------------------------------------------------

    def subgraph(self, rows: Iterable[int]) -> "Graph":
        """The graph on these rows, in this order; classes keep their codes."""
        keep = rows if isinstance(rows, np.ndarray) else np.fromiter(rows, np.int64)
        if keep.dtype == np.bool_:
            keep = np.flatnonzero(keep)
        return replace(
            self,
            adjacency=self.adjacency[keep][:, keep],
            nodes=tuple(self.nodes[i] for i in keep),
            attributes=None if self.attributes is None else self.attributes[keep],
            known=None if self.known is None else self.known.select(keep),
            notes=(),
        )

    def largest_component(self) -> "Graph":
        """The largest connected component (the first of several equal ones)."""
        if self.n_components == 1:
            return self
        return self.subgraph(np.flatnonzero(self.components == 0))

    def without_labels(self, *, taken: bool = False) -> "Graph":
        """The same graph as a learner may see it: true labels reach it as answers and seeds only.

        A note on which labels were read goes with them, unless those are `taken`.
        """
        if self.known is None:
            return self
        bare = copy.copy(self)  # nothing else changes, so nothing is checked and copied again
        object.__setattr__(bare, "known", None)
        if not taken:
            object.__setattr__(bare, "notes", not_on_labels(self.notes))
        return bare

    def describe(self, *, notes: bool = True) -> str:
        """One line: what it is, and what was found and done at load; without `notes` what it is."""
        parts = [f"{self.name}: {some(self.n_nodes, 'node')}", some(self.n_edges, "edge")]
        if self.attributes is not None:
            parts.append(some(self.attributes.shape[1], "attribute"))
        if self.classes:
            parts.append(some(self.n_classes, "class", "es"))
        count = self.n_components
        parts.append("connected" if count == 1 else f"{count:,} components")
        return "; ".join([", ".join(parts), *(self.notes if notes else ())])

    def __repr__(self) -> str:
        return f"<Graph {self.describe()}>"


def _checked_adjacency(adjacency: Any) -> Sparse:
    if not sp.issparse(adjacency):
        raise InputError("adjacency must be a scipy sparse matrix; as_graph() takes anything else")
    checked_sparse(adjacency, "adjacency")
    # A copy: what follows works in place, and the graph is frozen.
    S: Sparse = sp.csr_array(cast(Any, adjacency), dtype=np.float64, copy=True)
    refuse(
        {
            f"adjacency is {S.shape[0]} x {S.shape[1]}; it must be square": S.shape[0] != S.shape[1],
            "the graph has no nodes; give at least one": S.shape[0] == 0,
            "adjacency holds NaN or infinite weights; remove or replace them": not np.isfinite(S.data).all(),
        }
    )
    S.sum_duplicates()
    S.eliminate_zeros()
    if S.diagonal().any():
        raise InputError("adjacency has self-loops; as_graph() drops them")
    difference = S - S.T
    if difference.nnz and abs(difference).max() > 0:
        raise InputError("adjacency is not symmetric; as_graph() merges directions by max")
    return S


def _check_sum(graph: Graph) -> None:
    """Refuse weights whose sum, or four times it (eigenvalues and shifts are below), is no finite number."""
    S = graph.adjacency
    with np.errstate(over="ignore"):
        if np.isfinite(4 * np.abs(S.data).sum()):
            return
    heaviest = int(np.argmax(np.abs(S.data)))
    raise InputError(
        f"the weights add up to more than a double holds, the largest {S.data[heaviest]:g} "
        f"{ends_of(graph, heaviest)}; divide all weights by it"
    )


def ends_of(graph: Graph, entry: int) -> str:
    """Between which nodes an entry of the adjacency is, in words."""
    S = graph.adjacency
    row = int(np.searchsorted(S.indptr, entry, side="right")) - 1
    return f"between {graph.nodes[row]!r} and {graph.nodes[int(S.indices[entry])]!r}"


def _checked_nodes(nodes: Sequence[Hashable] | None, n: int) -> tuple[Hashable, ...]:
    ids = tuple(plain(v) for v in (() if nodes is None else nodes)) or tuple(range(n))
    if len(ids) != n:
        raise InputError(f"{len(ids)} node ids for {n} nodes; give one id a node")
    if len(set(ids)) != n:
        raise InputError("node ids are not distinct; every node needs an id of its own")
    return ids


def attribute_matrix(values: Any) -> Sparse:
    """(n, m) attributes of nodes from any matrix, sparse or dense."""
    if not sp.issparse(values):
        values = as_floats(values, "attributes", "encode or leave out the others")
    if values.ndim != 2:
        raise InputError(f"attributes of shape {values.shape}; give an (n, k) matrix, one row a node")
    # Floats, so that products of 0/1 bytes do not overflow.
    X: Sparse = sp.csr_array(
        checked_sparse(values, "attributes") if sp.issparse(values) else values, dtype=np.float64
    )
    if not np.isfinite(X.data).all():
        raise InputError("attributes holds NaN or infinite values; remove or replace them")
    if X.shape[1] > max(MANY_COLUMNS, COLUMNS_PER_VALUE * X.nnz):
        raise InputError(
            f"attributes has {X.shape[1]:,} columns and {X.nnz:,} values; leave the empty columns out"
        )
    return X

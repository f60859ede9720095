"""An embedding as a value: a row for every node, and how far to trust it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from querist.codec import Field
from querist.errors import InputError
from querist.matrices import as_floats, checked_sparse
from querist.types import Codes, Floats, Sparse

if TYPE_CHECKING:
    from typing import Unpack

    from querist.embedding.extend import Edges
    from querist.embedding.kinds import FollowKeywords
    from querist.graph.graph import Graph


STALE = 0.03
"""Share of the weight that may be new before `follow` makes rows anew: chosen on splits of Cora beside those
of the tests."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """Rows for nodes. Learners need `rows` and, to say "not reached", `components`.

    Parameters
    ----------
    rows : (n, d) float64, C-contiguous; row i is node i
    components : (n,) nodes with the same number can learn from each other. Spectral: the graph's
        components. Diffusion: the components of the graph in which attributes are nodes too,
        since a shared attribute carries a label as an edge does; a node whose row is zero stands alone.
    eigenvalues : Laplacian eigenvalues of the non-constant columns, growing; for diffusion the squared
        singular values, falling
    residuals : one an eigenvalue. `|Lv - lambda v|` over the component's mean degree (which is 1 for the
        normalised Laplacian); for diffusion `|Zv - sigma u|` over the largest singular value
    eigengap : relative gap at the cut, `1 - lambda_k / lambda_k+1`; 0 inside a multiple eigenvalue, 1 when
        nothing was cut off
    solver : which solver found them
    seconds : how long this call took
    settings : of `embed`, as it used them; empty when unknown
    rank, kind : as asked for
    notes : what a reader of the result should know
    place : where it was made and why, if `device="auto"` was asked for and it was not read from the disk
    doubts : (message, residual) for whatever is not right to the tolerance; `embed` gives each as a
        `ResidualWarning`
    cached : whether the rows came from the disk
    layout : how many columns are eigenvectors, constants and diffused attributes, in this order; empty
        when unknown
    normalised : which Laplacian the eigenvectors are of
    degrees : (n,) of the graph that was embedded; empty when unknown
    known_edges : edges of the nodes that `extend` has added, by row number
    nodes : the user's ids of the rows, which learners then take; None where they are the row numbers
    local : (n, n) symmetric and sparse, what `rows @ rows.T` lacks of the kernel that the rows are of; None
        where they are taken for all of it

    >>> rows = Embedding(np.eye(2), components=np.array([0, 0]))
    >>> rows.n_nodes, rows.n_columns
    (2, 2)
    """

    rows: Annotated[Floats, Field("n d")]
    components: Annotated[Codes, Field("n", least=0)]
    eigenvalues: Annotated[Floats, Field("values")] = field(default_factory=lambda: np.empty(0))
    residuals: Annotated[Floats, Field("measured", finite=False)] = field(default_factory=lambda: np.empty(0))
    eigengap: float = 1.0
    solver: str = "given"
    seconds: float = 0.0
    rank: int = 0
    kind: str = "given"
    notes: tuple[str, ...] = ()
    place: str = ""
    doubts: tuple[tuple[str, float], ...] = ()
    cached: bool = False
    layout: tuple[int, ...] = ()
    normalised: bool = True
    degrees: Annotated[Floats, Field("known")] = field(default_factory=lambda: np.empty(0))
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    known_edges: Mapping[int, Mapping[int, float]] = field(default_factory=dict, repr=False)
    nodes: tuple[Hashable, ...] | None = field(default=None, repr=False)
    local: Annotated[Sparse, Field("n n")] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        rows = np.ascontiguousarray(as_floats(self.rows, "rows"))
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise InputError(f"rows must be finite and (n, d); got shape {rows.shape}")
        components = np.asarray(self.components, dtype=np.int64)
        if components.shape != rows.shape[:1]:
            raise InputError(f"{components.size} component numbers for {rows.shape[0]} rows; give one a row")
        if self.nodes is not None and len(self.nodes) != len(rows):
            raise InputError(f"{len(self.nodes)} node ids for {len(rows)} rows; give one a row")
        if self.local is not None and self.local.shape != (len(rows), len(rows)):
            raise InputError(f"local is of shape {self.local.shape}; give ({len(rows)}, {len(rows)}) or None")
        if self.local is not None:
            checked_sparse(self.local, "local")
        kept = {
            "rows": rows,
            "components": components,
            "notes": tuple(self.notes),
            "layout": tuple(int(columns) for columns in self.layout),
            "doubts": tuple((str(message), float(residual)) for message, residual in self.doubts),
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    @property
    def n_nodes(self) -> int:
        """Rows: one a node."""
        return int(self.rows.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns: eigenvectors and constants."""
        return int(self.rows.shape[1])

    @property
    def parts(self) -> tuple[int, int, int]:
        """How many columns are eigenvectors, constants and diffused attributes (`layout`), where known."""
        if len(self.layout) != 3:
            raise InputError("this embedding does not know its columns; make it with querist.embed()")
        return self.layout[0], self.layout[1], self.layout[2]

    @property
    def residual(self) -> float:
        """The largest residual, 0 when there is no eigenpair."""
        return float(self.residuals.max(initial=0.0))

    def extend(self, nodes: "Sequence[Edges]") -> "Embedding":
        """This embedding with a row more for every new node, from its edges (see extend.py).

        `nodes` has, for every new node, the row numbers of its neighbours, or a dict from row number to
        weight. New nodes are numbered on from `n_nodes`, and later ones may name earlier ones; ids that
        the rows had are not known for them, so that all go by row number (`follow` knows them).

        >>> from querist import as_graph, embed
        >>> square = embed(as_graph([(0, 1), (1, 2), (2, 3), (3, 0)]), rank=2)
        >>> square.extend([[0, 1], {4: 2.0}]).rows.shape
        (6, 2)
        """
        from querist.embedding.extend import extend

        return extend(self, nodes)

    def follow(
        self, graph: "Graph", *, stale: float = STALE, **options: "Unpack[FollowKeywords]"
    ) -> "Embedding":
        """Rows for a graph that has grown since: extended while little is new, then made anew with the same
        settings but for `options` (those of `embed`).

        Call it at every step of the growth. New nodes come last; `stale` (.03) is the share of the weight
        that may be new. As long as it only extends, the rows that were there do not move.

        >>> from querist import as_graph, embed
        >>> rows = embed(as_graph([(0, 1), (1, 2), (2, 3), (3, 0)]), rank=2)
        >>> rows.follow(as_graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])).n_nodes
        5
        """
        from querist.embedding.extend import follow

        return follow(self, graph, stale=stale, **options)

    def report(self) -> str:
        """One line: size, solver, residual, gap at the cut, time, notes.

        >>> Embedding(np.eye(2), np.zeros(2), rank=2, kind="spectral", solver="dense").report()
        'spectral embedding, 2 rows x 2 columns (rank 2); dense, residual 0.0e+00, eigengap 1.0e+00; 0.00 s'
        """
        where = " from the cache" if self.cached else ""
        parts = [
            f"{self.kind} embedding, {self.n_nodes:,} rows x {self.n_columns:,} columns (rank {self.rank})",
            f"{self.solver}, residual {self.residual:.1e}, eigengap {self.eigengap:.1e}",
            f"{self.seconds:.2f} s{where}",
        ]
        return "; ".join([*parts, *self.notes, *(message for message, _ in self.doubts)])

    def __repr__(self) -> str:
        return f"<Embedding {self.report()}>"

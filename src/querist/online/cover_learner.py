"""Learners that remember nodes and look for the nearest: POUNCE, and the nearest neighbour it must beat.

POUNCE (pounce08, Fig. 3) predicts a node by the nearest node it was wrong about, corrected by a
perceptron-like vector w; `cover.py` has the maths. A cover of the graph by few sets of small effective
resistance bounds its mistakes, whatever their number of nodes (`querist_papers.theory`).

Given a `Graph`, distances are its effective resistances, exactly. Given an embedding, the squared distances
of its rows stand in for them: full-rank rows of the combinatorial Laplacian have these very distances, fewer
columns give an approximation.

Readings: `w_t(eta_t)` means `w_t(i_eta)`; section 3 forgets the square root in the norm, and squared norms
are meant wherever resistances are; the left side of (14) is over U_y. More than two classes are one binary
problem a class, each with its own cover; the class of the largest score is predicted.

Nearest neighbour, online, is the control (pounce08, section 5): predict a node by the label of the nearest
node whose label is known. No ball of a separating cover can be mistaken twice, so the separating-cover number
bounds the mistakes. It is POUNCE's cover with w left at 0, and with three notions of near:

- *resistance*: the effective resistance, as POUNCE has it;
- *geodesic*: the shortest path, an edge being as long as its resistance 1/|w|;
- *points*: the points' own Euclidean distance.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist.errors import InputError
from querist.graph import Graph, laplacian
from querist.graph.laplacian import resistances
from querist.online import checks, cover, kernels, loop, nearby
from querist.online.learner import Learner, LearnerOptions
from querist.online.pace import ring, spending
from querist.online.rules import SchemeName
from querist.operator.resistance import Resistances, check_irreducible, check_room
from querist.types import Bools, Codes, Floats

COINCIDE = 1e-12
"""Nodes nearer than this part of the largest squared distance (or length) cannot be told apart."""

Distance: TypeAlias = Literal["resistance", "geodesic", "points"]

APPROXIMATE = "distances are those of the embedding's rows: an approximation of effective resistances"


class CoverParts(NamedTuple):
    """All that a learner with a cover computes with."""

    rules: cover.CoverRules
    place: cover.CoverNodes
    state: cover.CoverState

    def saved_sizes(self) -> dict[str, int]:
        """Numbers for the names in the shapes of a saved learner; C is the number of problems."""
        K, (n, d) = self.rules.n_classes, self.place.rows.shape
        measured = self.place.distance.size > 0
        return {
            "K": K,
            "C": 1 if self.rules.binary and K == 2 else K,
            "d": 0 if measured else d,
            "measured": n if measured else 0,
            "wide": n if measured else d,
            "ring": ring(self.rules).size,
        }

    def saved_faults(self) -> dict[str, Any]:
        """A node that is remembered twice, or not found again, would be written beyond the last."""
        place, state = self.place, self.state
        covers = [own[:size].tolist() for own, size in zip(state.known, state.sizes, strict=True)]
        met, members = state.met[: state.counts[3]].tolist(), np.flatnonzero(state.in_cover).tolist()
        return {
            "more nodes remembered than there are": max(*state.sizes, state.counts[3]) > state.known.shape[1],
            "a node remembered twice": any(len(set(own)) != len(own) for own in covers),
            "covers of one problem that differ": (
                not self.rules.binary and any(own != covers[0] for own in covers)
            ),
            "met is not what the covers hold": (
                sorted(met) != members or set(members) != {node for own in covers for node in own}
            ),
            "distances that are none": bool(
                np.isnan(place.distance).any()
                or np.isnan(place.prior).any()
                or np.diagonal(place.distance).any()
            ),
        }

    def work(self) -> kernels.Scratch:
        """Working room of a round."""
        problems, n = self.state.known.shape
        near = np.empty(problems, dtype=np.int64)
        room = cover.CoverRoom(np.zeros(n), near, np.empty(problems), nearby.unscreened())
        return kernels.scratch(self.rules.n_classes, problems, problems, more=room)


class CoverLearner(Learner):
    """A learner that remembers nodes and looks for the nearest: POUNCE and its nearest-neighbour controls.

    It has the protocol of every `Learner`. The variance of a decision is the squared distance to the nearest
    remembered node. `notes` say where the distances come from.
    """

    _steps = loop.Steps.of(cover)
    _parts = CoverParts

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        placed: Callable[[Any, Codes], tuple[cover.CoverNodes, tuple[str, ...]]],
        project: bool,
        remember_all: bool,
        scheme: SchemeName,
        **given: Unpack[LearnerOptions],
    ) -> None:
        options, tie_order = self._begin(embedding, n_classes, given, scheme=scheme)
        place, self.notes = placed(embedding, tie_order)
        n, d = place.rows.shape
        rules = cover.CoverRules(
            project=project,
            remember_all=remember_all,
            binary=scheme == "one-vs-rest",
            n_classes=self.n_classes,
            **spending(options, n),
        )
        problems = 1 if rules.binary and n_classes == 2 else self.n_classes
        state = cover.CoverState(
            known=np.zeros((problems, n), dtype=np.int64),
            sizes=np.zeros(problems, dtype=np.int64),
            sign=np.zeros((problems, n)),
            w=np.zeros((problems, n if place.distance.size else d)),
            met=np.zeros(n, dtype=np.int64),
            in_cover=np.zeros(n, dtype=np.bool_),
            counts=np.zeros(4, dtype=np.int64),
            recent=ring(rules),
        )
        self._hold(CoverParts(rules, place, state))

    def remembered(self, problem: int = 0) -> Any:
        """The nodes in the cover of a problem, earliest first."""
        rows = np.asarray(self._state.known[problem, : self._state.sizes[problem]].copy())
        return rows if self.ids is None else self.ids.of(rows)

    def _scores(self, rows: Codes | slice) -> Floats:
        rows = np.arange(self.n_nodes)[rows]
        out = np.empty((rows.size, self._work.f.size))
        for part, work in self._blocks(rows):
            self._steps.score_all(self._rules, self._state, self._place, rows[part], work, out[part])
        return out

    def _reached(self, rows: Codes | slice) -> Bools:
        # The graph is connected: one label reaches all.
        return np.full(np.arange(self.n_nodes)[rows].size, bool(self._state.sizes.any()))

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: loop.RunRecord) -> None:
        parts = self._rules, self._state, self._place
        for part, work in self._blocks(nodes):
            here = loop.RunRecord._make(column[part] for column in record)
            self._steps.play_all(*parts, nodes[part], codes, u[part], budget, work, here)

    def _blocks(self, nodes: Codes) -> Iterator[tuple[slice, kernels.Scratch]]:
        """Nodes in blocks, each with room that has a view of what is remembered when its turn comes."""
        place, begin, screening = self._place, 0, None
        rows_fit = not place.distance.size and nearby.fits(place.rows, place.prior)
        while begin < nodes.size:
            met = self._state.met[: self._state.counts[3]]
            # Preparing costs about as much as scanning every node once.
            worth = met.size > nearby.FEW and (nodes.size - begin) * met.size > self.n_nodes
            if screening is None and rows_fit and worth:
                screening = nearby.Screening(place.rows)
            end = begin + (nearby.block_length(met.size) if rows_fit else nodes.size)
            part = slice(begin, min(end, nodes.size))
            room: cover.CoverRoom = self._work.more
            if screening is not None:
                room = room._replace(block=screening.block(nodes[part], met))
            yield part, self._work._replace(more=room)
            begin = end


class POUNCE(CoverLearner):
    """Nearest mistaken node and projection (pounce08, Fig. 3): ask always, learn on mistakes.

    Parameters
    ----------
    embedding : a connected `Graph`, or one with a positive definite signed Laplacian (exact); an `Embedding`
        or an (n, d) array of rows (approximate); or the `Resistances` of a graph
    update, scheme : learning on mistakes, one binary problem per class, is the only form it has

    and `n_classes` and the options of every `Learner`; only a pace draws.

    >>> from querist import datasets
    >>> karate = datasets.load_graph("karate")
    >>> trace = POUNCE(karate, 2).run(range(34), karate.codes)
    >>> int(trace.mistaken.sum())
    4
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        update: Literal["mistake"] = "mistake",
        scheme: Literal["one-vs-rest"] = "one-vs-rest",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            embedding,
            n_classes,
            placed=resistance_place,
            project=True,
            remember_all=False,
            scheme=scheme,
            **protocol,
        )


class Nearest(CoverLearner):
    """Nearest neighbour, the control of pounce08: ask always, predict the label of the nearest known node.

    Parameters
    ----------
    embedding : a connected `Graph`; or an `Embedding` or (n, d) rows, where distances are those of the rows
    distance : "resistance", "geodesic" (of a graph) or "points" (rows, or the attributes of a graph)
    update : remember every answer ("always"), or the mistaken ones only, as POUNCE does ("mistake")

    and `n_classes` and the options of every `Learner`; only a pace draws.

    >>> from querist import datasets
    >>> karate = datasets.load_graph("karate")
    >>> trace = Nearest(karate, 2).run(range(34), karate.codes)
    >>> int(trace.mistaken.sum())
    13
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        distance: Distance = "resistance",
        update: Literal["always", "mistake"] = "always",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            embedding,
            n_classes,
            placed=PLACES[distance],
            project=False,
            remember_all=update == "always",
            scheme="multiclass",
            **protocol,
        )


# -- where the nodes are ---------------------------------------------------------


def resistance_place(given: Any, tie_order: Codes) -> tuple[cover.CoverNodes, tuple[str, ...]]:
    """Nodes by effective resistance, exact from a graph, approximate from rows; and what to say about it."""
    found = resistances(given) if isinstance(given, Graph) else given
    if isinstance(found, Resistances):
        if found.matrix.size:
            return matrix_place(found.matrix, tie_order), found.notes
        # These rows are exact at every scale: only equal ones coincide.
        return row_place(found.rows, tie_order, least=0.0), found.notes
    rows = checks.checked_rows(given)
    pieces = np.unique(checks.checked_components(given, len(rows))).size
    if pieces > 1:
        raise InputError(
            f"the embedding is of a graph with {pieces:,} components: its Laplacian is reducible, and rows "
            "of different components have no meaningful distance (pounce08, Theorem 2 needs an irreducible "
            "Laplacian). Embed graph.largest_component() (--component largest), or add edges"
        )
    return row_place(rows, tie_order), (APPROXIMATE,)


def geodesic_place(given: Any, tie_order: Codes) -> tuple[cover.CoverNodes, tuple[str, ...]]:
    """Nodes of a graph by the lengths of its shortest paths, an edge of weight w being 1/|w| long."""
    if not isinstance(given, Graph):
        raise InputError(
            f"distance='geodesic' needs a graph, not {type(given).__name__}; pass the Graph, or choose "
            "distance='points' for rows"
        )
    check_distances(given, "geodesic")
    S = given.adjacency
    with np.errstate(over="ignore"):  # an edge too weak to have a length is not on a shortest path
        lengths = sp.csr_array((1 / np.abs(S.data), S.indices, S.indptr), shape=S.shape)
    found = np.asarray(csgraph.dijkstra(lengths, directed=False))
    # Sums of lengths keep their digits at every scale: only a node itself is at no distance.
    return matrix_place(found, tie_order, least=0.0), ()


def point_place(given: Any, tie_order: Codes) -> tuple[cover.CoverNodes, tuple[str, ...]]:
    """The rows of an embedding, or the attributes of a graph."""
    if isinstance(given, Graph):
        check_distances(given, "points")
        assert given.attributes is not None
        given = given.attributes.toarray()
    return row_place(checks.checked_rows(given), tie_order), ()


def matrix_place(distance: Floats, tie_order: Codes, least: float | None = None) -> cover.CoverNodes:
    """Nodes by an (n, n) matrix of squared distances; those nearer than `least` cannot be told apart."""
    n = len(distance)
    return cover.CoverNodes(
        distance=np.ascontiguousarray(distance),
        rows=np.empty((n, 0)),
        prior=distance.max(axis=1),
        least=np.array([COINCIDE * float(distance.max()) if least is None else least]),
        tie=np.full(n, nearby.TIE),
        tie_order=tie_order,
    )


def row_place(rows: Floats, tie_order: Codes, least: float | None = None) -> cover.CoverNodes:
    """Nodes by (n, d) rows, squared distances between them."""
    with np.errstate(over="ignore"):
        prior = np.einsum("ij,ij->i", rows, rows)
        longest = 4 * float(prior.max(initial=0.0))
    if not np.isfinite(longest):
        raise InputError(
            "distances between these rows are beyond what doubles hold; scale the weights or the rows, or "
            "embed with normalised=True"
        )
    return cover.CoverNodes(
        distance=np.empty((0, 0)),
        rows=rows,
        prior=prior,
        least=np.array([COINCIDE * float(prior.max()) if least is None else least]),
        tie=np.full(len(rows), nearby.TIE),
        tie_order=tie_order,
    )


def check_distances(graph: Graph, distance: str) -> None:
    """Refuse a graph whose nodes have no such distances, before any is computed."""
    if distance == "points":
        if graph.attributes is None:
            raise InputError(
                f"{graph.name} has no attributes, so its nodes are no points; use another distance"
            )
        return
    if distance == "resistance":
        check_irreducible(laplacian(graph), graph.name)
        check_room(graph.n_nodes)
    elif graph.n_components > 1:
        raise InputError(
            f"{graph.name} has {graph.n_components:,} components, with no path between them; use "
            "graph.largest_component()"
        )
    else:
        check_room(graph.n_nodes, matrices=2)


PLACES: Mapping[Distance, Callable[[Any, Codes], tuple[cover.CoverNodes, tuple[str, ...]]]] = {
    "resistance": resistance_place,
    "geodesic": geodesic_place,
    "points": point_place,
}

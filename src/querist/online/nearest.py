"""Nearest neighbour, online: the control that POUNCE must beat (pounce08, section 5).

Predict a node by the label of the nearest node whose label is known. No ball of a separating cover can be
mistaken twice, so the separating-cover number bounds the mistakes. It is POUNCE's cover with w left at 0, and
with three notions of near:

- *resistance*: the effective resistance, as POUNCE has it;
- *geodesic*: the shortest path, an edge being as long as its resistance 1/|w|;
- *points*: the points' own Euclidean distance.
"""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

from querist.errors import InputError, UnknownNameError
from querist.graph import Graph, laplacian
from querist.online import checks, cover
from querist.online.pounce import CoverLearner, matrix_place, resistance_place, row_place
from querist.online.rules import Scheme
from querist.operator.resistance import check_irreducible, check_room
from querist.types import Floats

DISTANCES = ("resistance", "geodesic", "points")


def nearest(
    embedding: Any,
    n_classes: int,
    *,
    distance: Literal["resistance", "geodesic", "points"] = "resistance",
    update: Literal["always", "mistake"] = "always",
    seed: int = 0,
    budget: int | None = None,
    tie_order: Iterable[int] | None = None,
) -> CoverLearner:
    """Nearest neighbour, the control of pounce08: ask always, predict the label of the nearest known node.

    Parameters
    ----------
    embedding : a connected `Graph`; or an `Embedding` or (n, d) rows, where distances are those of the rows
    distance : "resistance", "geodesic" (of a graph) or "points" (rows, or the attributes of a graph)
    update : remember every answer ("always"), or the mistaken ones only, as POUNCE does ("mistake")
    n_classes, seed, budget, tie_order : as for every algorithm; it draws nothing

    >>> from querist import datasets
    >>> karate = datasets.load_graph("karate")
    >>> trace = nearest(karate, 2).run(range(34), karate.codes)
    >>> int(trace.mistaken.sum())
    13
    """
    if distance not in DISTANCES:
        raise UnknownNameError.of("distance", distance, DISTANCES)
    if update not in ("always", "mistake"):
        raise InputError(f"update = {update!r}; it must be 'always' or 'mistake'")
    notes: tuple[str, ...] = ()
    if distance == "geodesic":
        # Sums of lengths keep their digits at every scale: only a node itself is at no distance.
        place = matrix_place(geodesics(embedding), n_classes, tie_order, least=0.0)
    elif distance == "points":
        place = row_place(own_points(embedding), n_classes, tie_order)
    else:
        place, notes = resistance_place(embedding, n_classes, tie_order)
    return CoverLearner(
        place,
        n_classes,
        rules=cover.CoverRules(
            project=False, remember_all=update == "always", binary=False, n_classes=int(n_classes)
        ),
        scheme=Scheme.MULTICLASS,
        seed=seed,
        budget=budget,
        notes=notes,
        ids=checks.ids_of(embedding),
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
    elif graph.n_components > 1:
        raise InputError(
            f"{graph.name} has {graph.n_components:,} components, with no path between them; use "
            "graph.largest_component()"
        )
    check_room(graph.n_nodes)


def geodesics(graph: Any) -> Floats:
    """(n, n) lengths of the shortest paths, an edge of weight w being 1/|w| long."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"distance='geodesic' needs a graph, not {type(graph).__name__}; pass the Graph, or choose "
            "distance='points' for rows"
        )
    check_distances(graph, "geodesic")
    S = graph.adjacency
    with np.errstate(over="ignore"):  # an edge too weak to have a length is not on a shortest path
        lengths = sp.csr_array((1 / np.abs(S.data), S.indices, S.indptr), shape=S.shape)
    return np.asarray(csgraph.dijkstra(lengths, directed=False))


def own_points(given: Any) -> Floats:
    """(n, d) the rows of an embedding, or the attributes of a graph."""
    if not isinstance(given, Graph):
        return checks.checked_rows(given)
    check_distances(given, "points")
    assert given.attributes is not None
    return checks.checked_rows(given.attributes.toarray())

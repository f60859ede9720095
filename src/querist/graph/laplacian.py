"""Laplacians of a graph: combinatorial, normalised, signed.

With weights `S` and degrees `D = diag(sum_j |S_ij|)`:

- combinatorial `L = D - S`,
- normalised `L = I - D^-1/2 S D^-1/2`, with a zero row for an isolated node.

Negative weights need nothing special: with absolute degrees both are the
*signed* Laplacians (pounce08, section 2), positive semi-definite for any signs,
and the usual ones when no weight is negative. Effective resistances are what
operator/resistance.py makes of them.
"""

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.graph import Graph
from querist.graph.scaling import common_factor, divided, widest_ratio
from querist.operator import resistance
from querist.types import Floats, Sparse

_known: "WeakKeyDictionary[Graph, resistance.Resistances]" = WeakKeyDictionary()


def laplacian(graph: Graph, normalised: bool = False) -> Sparse:
    """The (n, n) Laplacian; signed when the graph is.

    >>> from querist import as_graph
    >>> laplacian(as_graph([(0, 1), (1, 2)])).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    if not normalised:
        return sp.csr_array(sp.diags_array(graph.degrees) - graph.adjacency)
    S = normalised_adjacency(graph)
    return sp.csr_array(sp.diags_array((graph.degrees > 0).astype(np.float64)) - S)


def normalised_adjacency(graph: Graph) -> Sparse:
    """`D^-1/2 S D^-1/2`; an isolated node has an empty row.

    >>> from querist.graph import as_graph
    >>> normalised_adjacency(as_graph([("a", "b"), ("b", "c")])).toarray().round(3)
    array([[0.   , 0.707, 0.   ],
           [0.707, 0.   , 0.707],
           [0.   , 0.707, 0.   ]])
    """
    degrees = graph.degrees
    scale = sp.diags_array(np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0.0))
    return sp.csr_array(scale @ graph.adjacency @ scale)


def quadratic_form(graph: Graph, values: Floats) -> float:
    """`f'Lf = sum over edges of |S_ij| (f_i - sign(S_ij) f_j)^2`.

    On labels +-1 of an unsigned graph this is four times the cut
    (sslgc13, Lemma 3, prints two times).

    >>> import numpy as np
    >>> from querist.graph import as_graph
    >>> quadratic_form(as_graph([("a", "b"), ("b", "c")]), np.array([1.0, 1.0, -1.0]))
    4.0
    """
    return float(values @ (laplacian(graph) @ values))


def null_signs(graph: Graph) -> Floats:
    """(n,) the null vector of every component in one: +-1, or 0 where there is none.

    >>> from querist.graph import as_graph
    >>> null_signs(as_graph([("a", "b", -1.0), ("b", "c", 1.0)]))
    array([ 1., -1., -1.])
    """
    return resistance.null_signs(graph.adjacency, graph.components)


def resistances(graph: Graph, room: float | None = None) -> resistance.Resistances:
    """All effective resistances of a graph, computed once as long as the graph lives.

    `room` is how many GiB may be used; what the machine has free unless given.

    >>> from querist import as_graph
    >>> resistances(as_graph([(0, 1), (1, 2), (0, 2)])).all().round(3)
    array([[0.   , 0.667, 0.667],
           [0.667, 0.   , 0.667],
           [0.667, 0.667, 0.   ]])
    """
    if graph not in _known:
        unit = common_factor(graph)
        try:
            near = divided(graph, unit)
        except InputError:  # as they are: each resistance has its digits, however far apart weights lie
            near, unit = graph, 1.0
        found = resistance.resistances(laplacian(near), name=graph.name, room=room)
        if unit != 1:
            found = replace(found, matrix=found.matrix / unit, rows=found.rows / np.sqrt(unit))
        if not (np.isfinite(found.matrix).all() and np.isfinite(found.rows).all()):
            raise InputError(
                f"{widest_ratio(graph)}: resistances are beyond what doubles hold; scale the weights"
            )
        _known[graph] = found
    return _known[graph]

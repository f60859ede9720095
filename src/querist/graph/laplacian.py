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
    S, degrees = graph.adjacency, graph.degrees
    if normalised:
        scale = sp.diags_array(np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0.0))
        S, degrees = sp.csr_array(scale @ S @ scale), (degrees > 0).astype(np.float64)
    return sp.csr_array(sp.diags_array(degrees) - S)


def resistances(graph: Graph) -> resistance.Resistances:
    """All effective resistances of a graph, computed once as long as the graph lives.

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
        found = resistance.resistances(laplacian(near), name=graph.name)
        if unit != 1:
            found = replace(found, matrix=found.matrix / unit, rows=found.rows / np.sqrt(unit))
        if not (np.isfinite(found.matrix).all() and np.isfinite(found.rows).all()):
            raise InputError(
                f"{widest_ratio(graph)}: resistances are beyond what doubles hold; scale the weights"
            )
        _known[graph] = found
    return _known[graph]


def effective_resistance(graph: Graph) -> Floats:
    """(n, n) effective resistances of all pairs of nodes.

    An edge of weight w has resistance 1/w. The graph must be connected, or have a positive definite signed
    Laplacian, and memory is needed for (n, n).

    >>> from querist import as_graph
    >>> effective_resistance(as_graph([(0, 1), (1, 2), (2, 3), (3, 0)]))[0].round(12)
    array([0.  , 0.75, 1.  , 0.75])
    """
    return resistances(graph).all()

"""What a graph is, and every door into it.

>>> from querist.graph import as_graph
>>> as_graph([("ann", "bob"), ("bob", "cy")]).n_edges
2
"""

from querist.graph.build import as_graph
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian, normalised_adjacency, null_signs, quadratic_form
from querist.graph.neighbours import from_points

__all__ = [
    "Graph",
    "as_graph",
    "from_points",
    "laplacian",
    "normalised_adjacency",
    "null_signs",
    "quadratic_form",
]

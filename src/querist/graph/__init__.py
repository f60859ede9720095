"""What a graph is, and every way to make one.

>>> from querist.graph import as_graph
>>> as_graph([("ann", "bob"), ("bob", "cy")]).n_edges
2
"""

from querist.graph.build import as_graph
from querist.graph.graph import Graph
from querist.graph.laplacian import effective_resistance, laplacian
from querist.graph.neighbours import from_points

__all__ = ["Graph", "as_graph", "effective_resistance", "from_points", "laplacian"]

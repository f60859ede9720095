"""What a graph is, and every door into it."""

from querist.graph.build import as_graph
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian, normalised_adjacency, null_signs, quadratic_form

__all__ = ["Graph", "as_graph", "laplacian", "normalised_adjacency", "null_signs", "quadratic_form"]

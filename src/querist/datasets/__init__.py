"""Data sets by name: `load_graph` and `load_vectors`.

Bundled builders, the directory QUERIST_DATA, the user's cache (QUERIST_CACHE) and
checksummed downloads, in this order; `catalogue()` says what there is and where it
would come from.

>>> import querist
>>> querist.datasets.load_graph("karate").n_nodes
34
"""

from querist.datasets.bundled import sbm, table_of, three_clusters, two_moons
from querist.datasets.resolve import folders, load_graph, load_vectors

__all__ = [
    "folders",
    "load_graph",
    "load_vectors",
    "sbm",
    "table_of",
    "three_clusters",
    "two_moons",
]

"""Data sets behind one door: `load(name)`.

Bundled builders, the directory QUERIST_DATA, the user's cache (QUERIST_CACHE) and
checksummed downloads, in this order; `catalogue()` says what there is and where it
would come from.

>>> import querist
>>> querist.datasets.load("karate").n_nodes
34
"""

from querist.datasets.bundled import (
    digits,
    karate,
    messages,
    stochastic_block_model,
    table_of,
    three_clusters,
    two_moons,
)
from querist.datasets.fetch import fetch
from querist.datasets.local import Row, Vectors, cache_dir, data_dir
from querist.datasets.registry import ENTRIES, DownloadSource, Entry, File, register
from querist.datasets.resolve import catalogue, is_path, load, load_graph, load_vectors

sbm = stochastic_block_model

__all__ = [
    "ENTRIES",
    "DownloadSource",
    "Entry",
    "File",
    "Row",
    "Vectors",
    "cache_dir",
    "catalogue",
    "data_dir",
    "digits",
    "fetch",
    "is_path",
    "karate",
    "load",
    "load_graph",
    "load_vectors",
    "messages",
    "register",
    "sbm",
    "stochastic_block_model",
    "table_of",
    "three_clusters",
    "two_moons",
]

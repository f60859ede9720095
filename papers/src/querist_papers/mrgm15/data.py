"""DBLP-A as near to the paper's as public data come: its six areas, on the authors of `dblp_multilabel`.

That file holds the authors of 20 venues, the 17 of DBLP-A among them, and where each has published. An author
has an area who has published at one of its venues; those who have only published elsewhere are left out. What
differs from the paper: fewer years of fewer authors (Table 2 says how many), and words from the titles of all
of an author's papers.
"""

from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from querist import Graph, InputError, Labels
from querist.datasets import folders
from querist.experiment import Specification
from querist.extend import graph_of

SOURCE = "dblp_multilabel"
AREAS = {
    "databases": ("ICDE", "VLDB", "SIGMOD", "PODS", "EDBT"),
    "data mining": ("KDD", "ICDM", "SDM", "PKDD", "PAKDD"),
    "artificial intelligence": ("IJCAI", "AAAI"),
    "information retrieval": ("SIGIR", "ECIR"),
    "computer vision": ("CVPR",),
    "machine learning": ("ICML", "ECML"),
}


def graph_for(spec: Specification) -> Graph:
    """The graph of a run of mrgm15: DBLP-A where its source is named, else the data set itself."""
    return dblp_a() if spec.dataset == SOURCE else graph_of(spec.dataset)


@lru_cache(maxsize=1)
def dblp_a() -> Graph:
    """Authors with at least one of the six areas, and the links among them."""
    whole = graph_of(SOURCE)
    homes = (folder / f"{SOURCE}.npz" for folder in folders())
    with np.load(next(path for path in homes if path.is_file()), allow_pickle=False) as arrays:
        if "venue_names" not in arrays:
            raise InputError(f"{SOURCE} holds no venues, of which areas are made; get the file again")
        venues = arrays["venue_names"].tolist()
        indptr, indices = arrays["venue_indptr"], arrays["venue_indices"]
    published = sp.csr_array((np.ones(indices.size), indices, indptr), shape=(whole.n_nodes, len(venues)))
    of_area = np.array([[float(venue in own) for own in AREAS.values()] for venue in venues])
    has = np.asarray(published @ of_area) > 0
    areas = Labels(sp.csr_array(has), tuple(AREAS))
    authors = Graph(whole.adjacency, whole.nodes, whole.attributes, areas, "DBLP-A")
    return authors.subgraph(np.flatnonzero(has.any(axis=1)))

"""Runs that only mrgm15 makes: counts and samples of its data, the course of the objective, one update."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import softmax

from querist import Graph, InputError, Labels
from querist.datasets import folders
from querist.experiment import CollectiveTask, Outcome, Specification
from querist.extend import graph_of
from querist_papers.tasks import Counts, PaperTask
from querist_papers.types import Floats

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
    """Authors with at least one of the six areas, and the links among them, as near as public data come.

    `dblp_multilabel` holds the authors of 20 venues, the 17 of DBLP-A among them, and where each has
    published. An author has an area who has published at one of its venues; those who have only published
    elsewhere are left out. What differs from the paper: fewer years of fewer authors (Table 2 says how
    many), and words from the titles of all of an author's papers.
    """
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


class GraphCounts(Counts):
    """The data of the paper, DBLP-A among them."""

    name = "mrgm15.data"
    prepare = staticmethod(graph_for)


class OwnData(CollectiveTask):
    """A classifier on the data of the paper, DBLP-A among them."""

    name = "mrgm15.collective"

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        return graph_for(spec)


class Sample(OwnData):
    """A classifier on a sample of 70 % of the nodes and the links among them (section 4.4).

    The paper says that its samples are bootstraps and smaller than the data. n nodes drawn with replacement
    are about 63 % of them; 70 % comes nearer to its accuracies. Sample r of a seed is the same whatever the
    method.
    """

    name = "mrgm15.sample"
    share = 0.7

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One sample, one draw of its labels."""
        generator = np.random.default_rng((seed, repeat, 4))
        count = round(self.share * prepared.n_nodes)
        drawn = np.sort(generator.choice(prepared.n_nodes, size=count, replace=False))
        return super().run(spec, prepared.subgraph(drawn), parameters, seed, repeat)


class Update(PaperTask):
    """One update (eq. 8 to 10) from a maximum of the objective of GMNR (eq. 5), on a path of six nodes.

    With one label per node MRGM is the same, so the run is about eq. 11 as well. `rise` is what the update
    adds to the objective, in parts of it.
    """

    name = "mrgm15.update"
    measures = ("rise",)

    def run(
        self, spec: Specification, prepared: None, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Draw counts, climb to a maximum, update once."""
        rng, (n, words, K) = np.random.default_rng((seed, repeat)), (6, 5, 2)
        counts, lam = rng.integers(1, 10, size=(n, words)).astype(float), float(parameters["lam"])
        L = np.diag([1.0, *[2.0] * (n - 2), 1.0]) - np.eye(n, k=1) - np.eye(n, k=-1)

        def objective(Y: Floats, W: Floats) -> float:
            return float((counts * np.log(Y @ W)).sum() - lam * np.sum(Y * (L @ np.log(Y))))

        def parts(x: Floats) -> tuple[Floats, Floats]:
            return softmax(x[: n * K].reshape(n, K), axis=1), softmax(x[n * K :].reshape(K, words), axis=1)

        def depth(x: Floats) -> float:
            return -objective(*parts(x))

        found = minimize(depth, rng.normal(size=(n + words) * K), tol=1e-10)
        Y, W = parts(found.x)
        shared = counts / (Y @ W)  # a count spread over the classes by eq. 8: Y_ik W_kj shared_ij
        after = np.linalg.solve(np.diag(counts.sum(axis=1)) + lam * L, Y * (shared @ W.T))
        words_after = W * (Y.T @ shared)
        words_after /= words_after.sum(axis=1, keepdims=True)
        start, end = objective(Y, W), objective(np.asarray(after), words_after)
        return Outcome({"rise": (end - start) / abs(start)})


class Course(OwnData):
    """A classifier with its objective after every iteration, as the curve `objective`."""

    name = "mrgm15.course"

    def curves(self, objective: Floats) -> dict[str, list[float]]:
        """All of it."""
        return {"objective": objective.tolist()}

"""Rare-class problems made from real sets: one class of a graph against the rest.

Of graphs with many classes the smallest class with at least `LEAST` nodes and at most `MOST` of all; of those
with two the rarer one. Of vectors `ROWS` are drawn at random; they become graphs of their ten nearest
neighbours and stay the attributes. The class is chosen before they are drawn.
"""

from dataclasses import dataclass, replace

import numpy as np

import querist
from querist.datasets.resolve import read_set
from querist.graph import Graph
from querist.labels import class_order
from querist.tables.formats import Vectors
from querist.types import Codes

LEAST, MOST = 200, 0.12
ROWS = 20_000
"""Rows of vectors that become a graph."""
PROBLEMS = (
    "coauthor_cs",
    "amazon_computers",
    "debian_sections",
    "dblp_citation",
    "uai2010",
    "tolokers",
    "w8a",
    "ijcnn1",
)
REST = "rest"


@dataclass(frozen=True)
class RareProblem:
    """A graph with two classes: `codes` are 1 at nodes of the class `target`, 0 at the rest."""

    name: str
    graph: Graph
    codes: Codes
    target: str

    @property
    def classes(self) -> tuple[str, str]:
        """By their codes."""
        return (REST, self.target)

    @property
    def labels(self) -> list[str]:
        """(n,) the class of every node."""
        return [self.classes[code] for code in self.codes.tolist()]

    @property
    def share(self) -> float:
        """Of the class among all nodes."""
        return float(self.codes.mean())


def rare_problem(name: str) -> RareProblem:
    """One of `PROBLEMS`, or another set with labels at every node; the graph comes without its labels."""
    found = read_set(name)
    rows: slice | Codes = slice(None)
    if isinstance(found, Vectors):
        classes = class_order(found.y.tolist())
        codes = np.array([classes.index(label) for label in found.y.tolist()])
        rows = np.sort(np.random.default_rng(0).permutation(len(codes))[:ROWS])
        bare = querist.from_points(found.X[rows], name=name)
    else:
        codes, classes = np.asarray(found.codes), found.classes
        bare = replace(found.without_labels(), name=name)
    if (codes < 0).any():
        raise ValueError(f"{name}: {int((codes < 0).sum())} nodes have no label")
    code = rare_class(np.bincount(codes))
    return RareProblem(name, bare, (codes[rows] == code).astype(np.int64), str(classes[code]))


def rare_class(sizes: Codes) -> int:
    """The code of the smallest class that is neither too small nor too large; the smaller of two classes.

    >>> rare_class(np.array([9000, 150, 300, 250])), rare_class(np.array([700, 300]))
    (3, 1)
    """
    if len(sizes) == 2:
        return int(sizes.argmin())
    fits = (sizes >= LEAST) & (sizes <= MOST * sizes.sum())
    if not fits.any():
        raise ValueError(f"no class has {LEAST} nodes and at most {MOST:.0%} of all: {sizes.tolist()}")
    return int(np.where(fits, sizes, sizes.max() + 1).argmin())

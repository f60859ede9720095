"""Rare-class problems made from real sets: one class of a graph against the rest.

Of graphs with many classes the smallest class with at least `LEAST` nodes and at most `MOST` of all; of those
with two the rarer one. Vectors become graphs of their ten nearest neighbours and stay the attributes.
"""

from dataclasses import dataclass, replace

import numpy as np

from querist.graph import Graph
from querist.types import Codes
from questions import load

LEAST, MOST = 200, 0.12
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
    graph = load(name)
    codes = np.asarray(graph.codes)
    if (codes < 0).any():
        raise ValueError(f"{name}: {int((codes < 0).sum())} nodes have no label")
    code = rare_class(np.bincount(codes))
    bare = replace(graph.without_labels(), name=name)
    return RareProblem(name, bare, (codes == code).astype(np.int64), str(graph.classes[code]))


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

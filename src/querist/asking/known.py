"""Labels that are known without asking, beside what a campaign has already."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from querist.asking.oracles import codes_of
from querist.errors import InputError
from querist.graph import Graph


def fresh_labels(
    labels: Any,
    graph: Graph,
    classes: Sequence[Hashable],
    before: Mapping[int, int],
    missing: Hashable = None,
) -> dict[int, int]:
    """Class codes by row of the labels that are new; one that contradicts those before is refused.

    Labels by position count from the first node: a graph that grew since has others after them.

    >>> from querist import as_graph
    >>> fresh_labels({"ann": "cat", "bob": "dog"}, as_graph([("ann", "bob")]), ("cat", "dog"), {0: 0})
    {1: 1}
    """
    assert graph.nodes is not None
    by_position = isinstance(labels, list | tuple | np.ndarray)
    nodes = graph.nodes[: len(labels)] if by_position else graph.nodes
    told, _ = codes_of(labels, nodes, classes, missing)
    for row, code in told.items():
        if before.get(row, code) != code:
            raise InputError(
                f"node {nodes[row]!r} is known to be {classes[code]!r}, and the journal has it as "
                f"{classes[before[row]]!r}; mend the label, or begin another journal"
            )
    return {row: code for row, code in told.items() if row not in before}

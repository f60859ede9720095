"""A labelling on disk: a table of one row per node (`write`), and all of it (`as_saved`, `SavedLabelling`).

The table has `node, label, probability, runner_up, reached, influences`, as CSV or parquet; where asked for
also `probability_CLASS` of one or all classes. Several labels,
and the influences, are lists in parquet; in text they stand in one field with `;` between them, or `|` where
a name holds a `;`. A node that no label reaches has no label and no probability.

In what is saved (`querist.codec`) everything survives: the graph, the labels, the probabilities, the choice,
the estimate, and what labels the nodes that come later. Node ids and classes may be text, numbers, truth
values, bytes, dates, times, decimals and tuples or frozen sets of these. Of the model the weights of the
labelled nodes are kept (`model.weights`) while nodes times labels are at most `WEIGHTS`; beyond that `model`
is None.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np

from querist.codec import Field, SavedKind
from querist.graph import Graph
from querist.labelling.choose import Choice
from querist.labelling.decisions.estimate import Estimate
from querist.labelling.decisions.goals import GoalDecision
from querist.labelling.influence import Influences, influences
from querist.labelling.labelling import Labelling
from querist.labelling.new_nodes import NewNodeModel
from querist.labels import Labels
from querist.progress import Progress, silent
from querist.tables.arrow import pa, pc
from querist.tables.columns import Recipe
from querist.tables.frames import arrow_array
from querist.tables.output import check_place, joined_sets, label_array, mark_between, save as write_table
from querist.types import Bools, Codes, Floats, Sparse

WEIGHTS = 5_000_000
"""Most weights of labelled nodes that are kept."""


@dataclass(frozen=True)
class KeptWeights:
    """How much each of the rows `labelled` weighed for every node; what is left of a model."""

    labelled: Annotated[Codes, Field("labelled", least=0, below="n")]
    W: Annotated[Floats, Field("n labelled")]

    def weights(self, nodes: Any) -> tuple[Codes, Floats]:
        """As of the model that was saved."""
        return self.labelled, self.W[nodes]


@dataclass(frozen=True)
class SavedGraph:
    """The graph of a labelling, whose labels are kept there; `nodes` is None if ids are row numbers."""

    adjacency: Annotated[Sparse, Field("n n")]
    attributes: Annotated[Sparse, Field("n attributes")] | None
    nodes: tuple[Hashable, ...] | None
    name: str
    notes: tuple[str, ...]
    recipes: tuple[Recipe, ...]


@dataclass(frozen=True)
class SavedLabelling:
    """A labelling without what follows from the rest.

    `n_first` nodes were there when models were fitted, and `weight` was then the sum of their degrees.
    """

    graph: SavedGraph
    classes: tuple[Hashable, ...]
    probabilities: Annotated[Floats, Field("n K")]
    codes: Annotated[Codes, Field("n", least=-1, below="K")] | Annotated[Sparse, Field("n K")]
    reached: Annotated[Bools, Field("n")]
    choice: Choice
    decision: GoalDecision
    estimate: Estimate
    model: KeptWeights | None
    options: Mapping[str, Any]
    n_old: int
    n_first: int
    weight: float

    def saved_sizes(self) -> dict[str, int]:
        """Numbers for the names in the shapes."""
        return {"n": self.graph.adjacency.shape[0], "K": len(self.classes)}

    def saved_faults(self) -> dict[str, Any]:
        """What no annotation says."""
        n, first = len(self.reached), self.n_first
        return {f"{first} of its {n} nodes were there first": not 1 <= first <= n}

    def labelling(self) -> Labelling:
        """The labelling again."""
        own, first = self.graph, self.n_first
        known = Labels(self.codes, self.classes)
        graph = Graph(**{**vars(own), "nodes": own.nodes or ()})
        model = NewNodeModel(
            graph if first == graph.n_nodes else graph.subgraph(np.arange(first)),
            self.probabilities[:first],
            self.reached[:first],
            known.known[:first],
            known.multilabel,
            self.weight,
        )
        left_out = ("classes", "codes", "n_first", "weight")
        values = {name: value for name, value in vars(self).items() if name not in left_out}
        return Labelling(**{**values, "graph": graph, "known": known, "new_nodes": model})


KIND = SavedKind("labelling", 2, SavedLabelling)


def as_saved(labelling: Labelling) -> SavedLabelling:
    """What is saved of a labelling."""
    graph, first = labelling.graph, labelling.new_nodes
    shared = [name for name in SavedLabelling.__dataclass_fields__ if name in vars(labelling)]
    names = [name for name in SavedGraph.__dataclass_fields__ if name != "nodes"]
    values = {
        **{name: getattr(labelling, name) for name in shared},
        "graph": SavedGraph(nodes=graph.own_ids, **{name: getattr(graph, name) for name in names}),
        "model": _weights(labelling),
        "classes": labelling.classes,
        "codes": labelling.known.codes,
        "n_first": first.graph.n_nodes,
        "weight": first.weight,
    }
    return SavedLabelling(**values)


def _weights(labelling: Labelling) -> KeptWeights | None:
    """The weights of the labelled nodes, if there are any and not too many."""
    n, m = labelling.graph.n_nodes, int(labelling.is_labelled.sum())
    weights_of = getattr(labelling.model, "weights", None)
    found = weights_of(np.arange(n)) if weights_of is not None and n * m <= WEIGHTS else None
    return None if found is None else KeptWeights(*found)


# -- one row a node ------------------------------------------------------------------------------------------


class RowKeywords(TypedDict, total=False):
    """Which rows and columns are written: from row `first` on; with a column of probabilities a class; in the
    order of the class `rank`, whose probability is then a column too."""

    first: int
    probabilities: bool
    rank: Hashable


def write(
    labelling: Labelling,
    path: str | PathLike[str],
    progress: Progress = silent,
    *,
    found: Influences | None = None,
    safe_csv: bool = False,
    **rows: Unpack[RowKeywords],
) -> None:
    """Write a `Labelling`, all of its rows or nothing; its influences are found, unless they are given.

    `safe_csv` puts an apostrophe before a text that a spreadsheet would run, in a file of text.
    """
    place = check_place(path)
    if rows.get("rank") is not None:
        labelling.code_of(rows["rank"])  # a class that there is not is refused before the work
    who = influences(labelling, progress) if found is None else found
    table = columns_of(labelling, who, text=not place.name.lower().endswith(".parquet"), **rows)
    write_table(table, place, safe=safe_csv)


def columns_of(
    labelling: Labelling,
    found: Influences,
    *,
    text: bool,
    first: int = 0,
    probabilities: bool = False,
    rank: Hashable = None,
) -> Any:
    """The Arrow table that is written; in text, lists become one field."""
    table = labelling.table()
    nodes = arrow_array(table["node"], nested=False)
    reached = pa.array(np.asarray(table["reached"], dtype=bool))
    names = nodes.cast(pa.string()) if text else nodes
    who = _lists(names, found.rows)
    labels = label_array(table["label"], labelling.multilabel)
    if text:
        who = pc.binary_join(who, mark_between(names))
        if labelling.multilabel:
            labels = joined_sets(labels)

    # Six decimals: calibration is not better than that, and files stay small.
    def rounded(values: Any) -> Any:
        return pc.if_else(reached, pa.array(np.round(np.asarray(values, dtype=np.float64), 6)), None)

    columns = {
        "node": nodes,
        "label": labels,
        "probability": rounded(table["probability"]),
        "runner_up": arrow_array(table["runner_up"], nested=False),
        "reached": reached,
        "influences": who,
    }
    shown = labelling.classes if probabilities else () if rank is None else (rank,)
    for k in map(labelling.code_of, shown):
        columns[f"probability_{labelling.classes[k]}"] = rounded(labelling.probabilities[:, k])
    made = pa.table(columns)
    if rank is None:
        return made.slice(first)
    order = labelling.ranked(rank)
    return made.take(pa.array(order[order >= first]))


def _lists(names: Any, rows: Codes) -> Any:
    """(n, 3) row numbers, -1 for none, as lists of names."""
    there = rows >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), names.take(pa.array(rows[there])))

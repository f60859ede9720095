"""A labelling on disk: a table of one row a node (`write`), and all of it (`save`), rebuilt by `load`.

The table has `node, label, probability, runner_up, reached, influences`, as CSV or parquet; where asked for
also `probability_CLASS` of one or all classes. Several labels,
and the influences, are lists in parquet; in text they stand in one field with `;` between them, or `|` where
a name holds a `;`. A node that no label reaches has no label and no probability.

In what is saved (`querist.saved`) everything survives: the graph, the labels, the probabilities, the choice,
the estimate, and what labels the nodes that come later. Node ids and classes may be text, numbers, truth
values, bytes, dates, times, decimals and tuples or frozen sets of these. Of the model the weights of the
labelled nodes are kept (`model.weights`) while nodes times labels are at most `WEIGHTS`; beyond that `model`
is None.
"""

import datetime
import decimal
import json
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist import saved
from querist.errors import InputError
from querist.fields import checked, floats, truths, whole
from querist.graph import Graph
from querist.labelling.choose import Choice, Score
from querist.labelling.combine import Link
from querist.labelling.decisions.estimate import ClassEstimate, Estimate, Share
from querist.labelling.decisions.goals import Costs, GoalDecision, decide
from querist.labelling.influence import Influences, influences
from querist.labelling.labelling import Labelling
from querist.labelling.new_nodes import Basis, NewNodeModel
from querist.matrices import checked_sparse
from querist.progress import Progress, silent
from querist.tables.arrow import pa, pc
from querist.tables.columns import Recipe
from querist.tables.frames import arrow_array
from querist.tables.output import check_place, joined_sets, mark_between, save as write_table, set_array
from querist.types import Codes, Floats, Sparse

FORMAT = 1
WHAT = "labelling"

WEIGHTS = 5_000_000
"""Most weights of labelled nodes that are kept."""

HELD_OUT = ("confidence", "correct", "probabilities", "truth")
ARRAYS = ("probabilities", "given_codes", "reached")
MATRICES = ("adjacency", "attributes")

FIELDS = {"probabilities": floats("n K"), "reached": truths("n")}
WEIGHED = {"weights.labelled": whole("labelled", below="n"), "weights": floats("n labelled")}
"""What the arrays must be, for n nodes and K classes."""


@dataclass(frozen=True)
class KeptWeights:
    """(n, m) how much each of the m rows `labelled` weighed for every node; what is left of a model."""

    labelled: Codes
    W: Floats

    def weights(self, nodes: Any) -> tuple[Codes, Floats]:
        """As of the model that was saved."""
        return self.labelled, self.W[nodes]


def save(labelling: Labelling, path: str | PathLike[str]) -> None:
    """Write the labelling to `path`, replacing it in one step."""
    graph, estimate, basis = labelling.graph, labelling.estimate, labelling.new_nodes.basis
    about = {
        "format": FORMAT,
        "what": WHAT,
        "classes": _plain(labelling.classes, "class"),
        "options": {**labelling.options, "costs": _listed(labelling.options.get("costs"))},
        "decision": {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(labelling.decision).items()
        },
        "choice": asdict(labelling.choice),
        "estimate": {name: value for name, value in vars(estimate).items() if name not in HELD_OUT},
        "basis": {"n_nodes": basis.graph.n_nodes, "weight": basis.weight},
        "n_old": labelling.n_old,
        "graph": {
            "name": graph.name,
            "notes": list(graph.notes),
            "recipes": [asdict(recipe) for recipe in graph.recipes],
            "columns": {name: getattr(graph, name).shape[1] for name in _there(graph)},
        },
    }
    arrays = {name: getattr(labelling, name) for name in ARRAYS}
    arrays |= {f"held_out.{name}": getattr(estimate, name) for name in HELD_OUT}
    for name in _there(graph):
        matrix = getattr(graph, name)
        arrays |= {f"{name}.{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    if graph.own_ids is not None:  # as bytes: NumPy's texts take four times the room
        arrays["nodes"] = np.frombuffer(json.dumps(_plain(graph.own_ids, "node id")).encode(), np.uint8)
    saved.write(path, about, {**arrays, **_weights(labelling)})


def load(path: str | PathLike[str]) -> Labelling:
    """Read a labelling back."""
    about, arrays = saved.read(path, FORMAT, WHAT)
    with saved.rebuilding(path, WHAT):
        return _rebuilt(about, arrays)


def _rebuilt(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Labelling:
    own, classes = about["graph"], _restored(about["classes"])
    matrices = {name: _matrix(arrays, name, columns) for name, columns in own["columns"].items()}
    graph = Graph(
        matrices["adjacency"],
        attributes=matrices.get("attributes"),
        nodes=_restored(json.loads(arrays["nodes"].tobytes())) if "nodes" in arrays else (),
        name=own["name"],
        notes=own["notes"],
        recipes=tuple(Recipe(**{**recipe, "values": tuple(recipe["values"])}) for recipe in own["recipes"]),
    )
    parts = {name: arrays[name] for name in ARRAYS}
    given = parts["given_codes"]
    several = given.ndim == 2
    n, first = graph.n_nodes, about["basis"]["n_nodes"]
    sizes = {"n": n, "K": len(classes)}
    codes = whole("n K", below=2) if several else whole("n", least=-1, below="K")
    weights = WEIGHED if "weights" in arrays else {}
    checked(arrays, {**FIELDS, "given_codes": codes, **weights}, sizes)
    if not 1 <= first <= n:
        raise InputError(f"{first!r} of its {n} nodes were there first")
    basis = Basis(
        graph if first == n else graph.subgraph(np.arange(first)),
        parts["probabilities"][:first],
        parts["reached"][:first],
        (given.any(axis=1) if several else given >= 0)[:first],
        "sigmoid" if several else "softmax",
        about["basis"]["weight"],
    )
    choice = about["choice"]
    scores = tuple(Score(**score) for score in choice["scores"])
    model = KeptWeights(arrays["weights.labelled"], arrays["weights"]) if "weights" in arrays else None
    return Labelling(
        graph=graph,
        classes=classes,
        **parts,
        choice=Choice(**{**choice, "why": tuple(choice["why"]), "scores": scores}),
        decision=_decision(about.get("decision"), len(classes), several),
        estimate=_estimate(about["estimate"], arrays),
        model=model,
        options={**about["options"], "costs": _as_costs(about["options"].get("costs"))},
        new_nodes=NewNodeModel(basis),
        n_old=about["n_old"],
    )


def _decision(kept: Mapping[str, Any] | None, K: int, several: bool) -> GoalDecision:
    """What was kept; before there were goals, accuracy was the one."""
    link: Link = "sigmoid" if several else "softmax"
    if kept is None:
        return decide("accuracy", np.empty((0, K)), link)
    arrays = {name: np.array(kept[name], dtype=np.float64) for name in ("gain", "price")}
    costs = None if kept["costs"] is None else np.array(kept["costs"], dtype=np.float64)
    return GoalDecision(kept["goal"], link, **arrays, costs=costs)


def _estimate(kept: Mapping[str, Any], arrays: Mapping[str, Any]) -> Estimate:
    """Files of before there were estimates by class hold the first two arrays alone."""
    old = "held_out.truth" not in arrays
    held = {name: arrays[name if old else f"held_out.{name}"] for name in (HELD_OUT[:2] if old else HELD_OUT)}
    classes = (
        ClassEstimate(labels, Share(*precision), Share(*recall), Share(*ranking), error, needed)
        for labels, precision, recall, ranking, error, needed in kept.get("classes", ())
    )
    return Estimate(**{**kept, **held, "classes": tuple(classes)})


def _listed(costs: Costs | None) -> list[Any] | None:
    return None if costs is None else [_plain((*pair, float(cost)), "class") for pair, cost in costs.items()]


def _as_costs(kept: Any) -> Costs | None:
    if kept is None:
        return None
    return {(true, said): cost for true, said, cost in map(_restored, kept)}


def _there(graph: Graph) -> list[str]:
    return [name for name in MATRICES if getattr(graph, name) is not None]


def _matrix(arrays: Mapping[str, Any], name: str, columns: int) -> Sparse:
    """A matrix whose indices are sure to lie within it, whoever wrote the file."""
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(
        checked_sparse(sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns)), name)
    )


def _weights(labelling: Labelling) -> dict[str, Any]:
    """The weights of the labelled nodes, where there are any and not too many."""
    n, m = labelling.graph.n_nodes, int(labelling.is_labelled.sum())
    weights_of = getattr(labelling.model, "weights", None)
    found = weights_of(np.arange(n)) if weights_of is not None and n * m <= WEIGHTS else None
    return {} if found is None else {"weights.labelled": found[0], "weights": found[1]}


# -- ids and classes of any kind, as JSON ---------------------------------------------------------------

KINDS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "uuid": (uuid.UUID, str, uuid.UUID),
    "tuple": (tuple, lambda value: [_as_json(v) for v in value], lambda kept: tuple(map(_from_json, kept))),
    "set": (
        frozenset,
        lambda value: [_as_json(v) for v in value],
        lambda kept: frozenset(map(_from_json, kept)),
    ),
}
"""What JSON does not know: the type, how it is written, how it is read."""


def _plain(values: Iterable[Hashable], what: str) -> list[Any]:
    try:
        return [_as_json(value) for value in values]
    except TypeError as problem:
        raise InputError(
            f"{what} {problem} cannot be saved; text, numbers, bytes, dates, times, decimals and tuples of "
            "these can: rename the others"
        ) from None


def _as_json(value: Any) -> Any:
    if value is None or type(value) in (str, int, float, bool):
        return value
    for name, (kind, write, _) in KINDS.items():
        if type(value) is kind:
            return {name: write(value)}
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def _from_json(kept: Any) -> Any:
    if not isinstance(kept, dict):
        return kept
    ((name, value),) = kept.items()
    return KINDS[name][2](value)


def _restored(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(_from_json, values))


# -- one row a node ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Which rows and columns are written: from row `first` on; with a column of probabilities a class; in the
    order of the class `rank`, whose probability is then a column too."""

    first: int = 0
    probabilities: bool = False
    rank: Hashable = None

    def columns(self, labelling: Labelling) -> list[int]:
        """The classes that have a column of their own."""
        if self.probabilities:
            return list(range(len(labelling.classes)))
        return [] if self.rank is None else [labelling.code_of(self.rank)]

    def of(self, labelling: Labelling, table: Any) -> Any:
        """The rows of a table of all nodes."""
        if self.rank is None:
            return table.slice(self.first)
        order = labelling.ranked(self.rank)
        return table.take(pa.array(order[order >= self.first]))


ALL = Rows()


def write(
    labelling: Labelling,
    path: str | PathLike[str],
    progress: Progress = silent,
    *,
    rows: Rows = ALL,
    safe_csv: bool = False,
) -> Influences:
    """Write a `Labelling`, all of its rows or nothing; returns the influences that were found on the way.

    `safe_csv` puts an apostrophe before a text that a spreadsheet would run, in a file of text.
    """
    place = check_place(path)
    rows.columns(labelling)  # a class that there is not is refused before the work
    found = influences(labelling, progress)
    table = columns_of(labelling, found, rows, text=not place.name.lower().endswith(".parquet"))
    write_table(table, place, safe=safe_csv)
    return found


def columns_of(labelling: Labelling, found: Influences, rows: Rows = ALL, *, text: bool) -> Any:
    """The Arrow table that is written; in text, lists become one field."""
    table = labelling.table()
    nodes = arrow_array(table["node"], nested=False)
    reached = pa.array(np.asarray(table["reached"], dtype=bool))
    names = nodes.cast(pa.string()) if text else nodes
    who = _lists(names, found.rows)
    several = labelling.multilabel
    labels = set_array(table["label"]) if several else arrow_array(table["label"], nested=False)
    if text:
        who = pc.binary_join(who, mark_between(names))
        if several:
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
    for k in rows.columns(labelling):
        columns[f"probability_{labelling.classes[k]}"] = rounded(labelling.probabilities[:, k])
    return rows.of(labelling, pa.table(columns))


def _lists(names: Any, rows: Codes) -> Any:
    """(n, 3) row numbers, -1 for none, as lists of names."""
    there = rows >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), names.take(pa.array(rows[there])))

"""A labelling on disk: a table of one row a node (`write`), and all of it (`save`), rebuilt by `load`.

The table has `node, label, probability, runner_up, reached, influences`, as CSV or parquet. Several labels,
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
from querist.graph import Graph
from querist.labelling.calibrate import Estimate
from querist.labelling.choose import Choice, Score
from querist.labelling.influence import Influences, influences
from querist.labelling.labelling import Labelling
from querist.labelling.new_nodes import Basis, NewNodeModel
from querist.progress import Progress, silent
from querist.tables.arrow import pa, pc
from querist.tables.columns import Recipe
from querist.tables.frames import arrow_array
from querist.tables.output import check_place, mark_between, save as write_table
from querist.types import Codes, Floats, Sparse

FORMAT = 1
WHAT = "labelling"

WEIGHTS = 5_000_000
"""Most weights of labelled nodes that are kept."""

HELD_OUT = ("confidence", "correct")
ARRAYS = ("probabilities", "given_codes", "reached")
MATRICES = ("adjacency", "attributes")


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
        "options": dict(labelling.options),
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
    arrays |= {name: getattr(estimate, name) for name in HELD_OUT}
    for name in _there(graph):
        matrix = getattr(graph, name)
        arrays |= {f"{name}.{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    if graph.own_ids is not None:  # as bytes: NumPy's texts take four times the room
        arrays["nodes"] = np.frombuffer(json.dumps(_plain(graph.own_ids, "node id")).encode(), np.uint8)
    saved.write(path, about, {**arrays, **_weights(labelling)})


def load(path: str | PathLike[str]) -> Labelling:
    """Read a labelling back."""
    about, arrays = saved.read(path, FORMAT, WHAT)
    try:
        return _rebuilt(about, arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not what save() writes ({error}); save the labelling again") from error


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
    if parts["probabilities"].shape != (n, len(classes)) or any(len(array) != n for array in parts.values()):
        raise InputError(f"its arrays are not of {n} nodes and {len(classes)} classes")
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
        estimate=Estimate(**about["estimate"], **{name: arrays[name] for name in HELD_OUT}),
        model=model,
        options=about["options"],
        new_nodes=NewNodeModel(basis),
        n_old=about["n_old"],
    )


def _there(graph: Graph) -> list[str]:
    return [name for name in MATRICES if getattr(graph, name) is not None]


def _matrix(arrays: Mapping[str, Any], name: str, columns: int) -> Sparse:
    """A matrix whose indices are sure to lie within it, whoever wrote the file."""
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    found: Any = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))
    found.check_format(full_check=True)
    return sp.csr_array(found)


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


def write(
    labelling: Labelling, path: str | PathLike[str], progress: Progress = silent, *, first: int = 0
) -> Influences:
    """Write a `Labelling` from its row `first` on, all of that or nothing; returns the influences that were
    found on the way."""
    place = check_place(path)
    found = influences(labelling, progress)
    text = not place.name.lower().endswith(".parquet")
    write_table(columns_of(labelling, found, text=text).slice(first), place)
    return found


def columns_of(labelling: Labelling, found: Influences, *, text: bool) -> Any:
    """The Arrow table of a labelling; in text, lists become one field."""
    table = labelling.table()
    nodes = arrow_array(table["node"], nested=False)
    reached = pa.array(np.asarray(table["reached"], dtype=bool))
    names = nodes.cast(pa.string()) if text else nodes
    who = _lists(names, found.rows)
    several = labelling.multilabel
    labels = _sets(table["label"]) if several else arrow_array(table["label"], nested=False)
    if text:
        who = pc.binary_join(who, mark_between(names))
        if several:
            sets = labels.cast(pa.list_(pa.string()))
            labels = pc.binary_join(sets, mark_between(sets.flatten()))
    # Six decimals: calibration is not better than that, and files stay small.
    probability = pa.array(np.round(np.asarray(table["probability"], dtype=np.float64), 6))
    columns = {
        "node": nodes,
        "label": labels,
        "probability": pc.if_else(reached, probability, None),
        "runner_up": arrow_array(table["runner_up"], nested=False),
        "reached": reached,
        "influences": who,
    }
    return pa.table(columns)


def _sets(values: Any) -> Any:
    """Tuples of classes as lists; None where there are none."""
    members = [v for own in values if own is not None for v in own]
    flat = arrow_array(members, nested=False)
    ends = np.cumsum([0, *(0 if members is None else len(members) for members in values)])
    missing = pa.array([members is None for members in values])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, mask=missing)


def _lists(names: Any, rows: Codes) -> Any:
    """(n, 3) row numbers, -1 for none, as lists of names."""
    there = rows >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), names.take(pa.array(rows[there])))

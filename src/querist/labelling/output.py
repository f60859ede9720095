"""One row a node: `node, label, probability, runner_up, reached, influences`, as CSV or parquet.

Several labels, and the influences, are lists in parquet; in text they stand in one field with `;` between
them, or `|` where a name holds a `;`. A node that no label reaches has no label and no probability.
"""

import os
from typing import Any

import numpy as np

from querist.labelling.influence import Influences, influences
from querist.progress import Progress, silent
from querist.tables.arrow import pa, pc
from querist.tables.frames import arrow_array
from querist.tables.output import check_place, mark_between, save
from querist.types import Codes


def write(
    labelling: Any, path: str | os.PathLike[str], progress: Progress = silent, *, first: int = 0
) -> Influences:
    """Write a `Labelling` from its row `first` on, all of that or nothing; returns the influences that were
    found on the way."""
    place = check_place(path)
    found = influences(labelling, progress)
    save(columns_of(labelling, found, text=not place.name.lower().endswith(".parquet")).slice(first), place)
    return found


def columns_of(labelling: Any, found: Influences, *, text: bool) -> Any:
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

"""One row a node: `node, label, probability, runner_up, reached, influences`, as CSV or parquet.

Several labels, and the influences, are lists in parquet; in text they stand in one field with `;` between
them, or `|` where a name holds a `;`. A node that no label reaches has no label and no probability.
"""

import gzip
import os
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from querist.atomic import replacing
from querist.errors import InputError
from querist.labelling.influence import Influences, Progress, influences
from querist.types import Codes

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
BETWEEN = (";", "|", " ; ", " | ", "\x1f")


def check_place(path: str | os.PathLike[str], inputs: Iterable[Any] = ()) -> Path:
    """The path of an output file, refused before the work if nothing could be written there.

    `inputs` are files that are read, or None: a result must not take the place of one.
    """
    place = Path(path).expanduser()
    if not place.name.lower().endswith(ENDINGS):
        raise InputError(f"{path}: cannot tell the format; the name must end in {', '.join(ENDINGS)}")
    for given in inputs:
        if given is not None and Path(given).expanduser().resolve() == place.resolve():
            raise InputError(f"{path} is read, and would be lost; write to another file")
    return check_folder(place)


def check_folder(place: Path) -> Path:
    """The same path, if its folder is there and it is no folder itself."""
    if not place.parent.is_dir():
        raise InputError(f"{place}: there is no folder {place.parent}; make it first")
    if place.is_dir():
        raise InputError(f"{place} is a folder; name a file")
    return place


def write(labelling: Any, path: str | os.PathLike[str], progress: Progress | None = None) -> Influences:
    """Write a `Labelling`, all of it or nothing; returns the influences that were found on the way."""
    place = check_place(path)
    found = influences(labelling, progress)
    save(columns_of(labelling, found, text=not place.name.lower().endswith(".parquet")), place)
    return found


def columns_of(labelling: Any, found: Influences, *, text: bool) -> Any:
    """The Arrow table of a labelling; in text, lists become one field."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = labelling.table()
    nodes = _array(table["node"])
    reached = pa.array(np.asarray(table["reached"], dtype=bool))
    names = nodes.cast(pa.string()) if text else nodes
    who = _lists(names, found.rows)
    several = labelling.multilabel
    labels = (_sets if several else _array)(table["label"])
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
        "runner_up": _array(table["runner_up"]),
        "reached": reached,
        "influences": who,
    }
    return pa.table(columns)


def mark_between(names: Any) -> str:
    """What stands between several names in one field: `;`, or the first other mark that no name holds.

    >>> import pyarrow as pa
    >>> mark_between(pa.array(["ann", "bob"])), mark_between(pa.array(["a;b", "c"]))
    (';', '|')
    """
    import pyarrow.compute as pc

    return next(
        (mark for mark in BETWEEN if not pc.any(pc.match_substring(names, mark)).as_py()), BETWEEN[-1]
    )


def save(table: Any, place: Path) -> None:
    """Write a table in the format that the path names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = place.name.lower()
    with replacing(place) as file:
        if name.endswith(".parquet"):
            pq.write_table(table, file)
            return
        try:
            _save_text(table, file, name, "none")
        except pa.ArrowInvalid:  # a field holds the delimiter, a quotation mark or a line break
            file.seek(0)
            file.truncate()
            _save_text(table, file, name, "needed")


def _save_text(table: Any, file: IO[bytes], name: str, quoting: str) -> None:
    import pyarrow.csv as arrow_csv

    delimiter = "\t" if ".tsv" in name else ","
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    head = (delimiter.join(table.column_names) + "\n").encode()
    with gzip.GzipFile(fileobj=file, mode="wb") if name.endswith(".gz") else nullcontext(file) as text:
        text.write(head)
        arrow_csv.write_csv(table, text, options)


def _array(values: Any) -> Any:
    """An Arrow array; values of mixed types, and of types that no column has, as text."""
    import pyarrow as pa

    try:
        found = pa.array(values)
        if not pa.types.is_nested(found.type):
            return found
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _sets(values: Any) -> Any:
    """Tuples of classes as lists; None where there are none."""
    import pyarrow as pa

    flat = _array([v for members in values if members is not None for v in members])
    ends = np.cumsum([0, *(0 if members is None else len(members) for members in values)])
    missing = pa.array([members is None for members in values])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat, mask=missing)


def _lists(names: Any, rows: Codes) -> Any:
    """(n, 3) row numbers, -1 for none, as lists of names."""
    import pyarrow as pa

    there = rows >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), names.take(pa.array(rows[there])))

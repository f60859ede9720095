"""Tables go out again, as CSV or parquet, whole or not at all."""

import csv
import gzip
import io
import os
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from querist.atomic import check_writable, replacing
from querist.errors import InputError
from querist.tables.arrow import arrow_csv, kinds, pa, pc, pq, replaced
from querist.tables.frames import arrow_array

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
FORMULA = "^([=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])"
"""How a field begins that a spreadsheet takes for a formula."""
BETWEEN = (";", "|", " ; ", " | ", "\x1f")


def check_place(path: str | os.PathLike[str], inputs: Iterable[Any] = (), *, safe_csv: bool = False) -> Path:
    """The path of an output file, refused before the work if nothing could be written there.

    `inputs` are files that are read, or None: a result must not take the place of one.

    >>> check_place("found.csv").name
    'found.csv'
    """
    place = Path(path).expanduser()
    if not place.name.lower().endswith(ENDINGS):
        raise InputError(f"{path}: cannot tell the format; the name must end in {', '.join(ENDINGS)}")
    if safe_csv and place.suffix.lower() == ".parquet":
        raise InputError(f"{path}: safe_csv is for text such as .csv; leave it out, or name another format")
    for given in inputs:
        if given is not None and Path(given).expanduser().resolve() == place.resolve():
            raise InputError(f"{path} is read, and would be lost; write to another file")
    return check_writable(place)


def mark_between(names: Any) -> str:
    """What stands between several names in one field: `;`, or the first other mark that no name holds.

    >>> import pyarrow as pa
    >>> mark_between(pa.array(["ann", "bob"])), mark_between(pa.array(["a;b", "c"]))
    (';', '|')
    """
    return next(
        (mark for mark in BETWEEN if not pc.any(pc.match_substring(names, mark)).as_py()), BETWEEN[-1]
    )


def label_array(labels: Any, multilabel: bool) -> Any:
    """The label of each node in an Arrow array: a class, or a list of classes; None where there is none."""
    if not multilabel:
        return arrow_array(labels, nested=False)
    ends = np.cumsum([0, *(0 if own is None else len(own) for own in labels)])
    members = arrow_array([name for own in labels if own is not None for name in own], nested=False)
    missing = pa.array([own is None for own in labels], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), members, mask=missing)


def joined_sets(lists: Any) -> Any:
    """Each list of names as one field.

    >>> joined_sets(label_array([("ann", "bob"), None, ()], multilabel=True)).to_pylist()
    ['ann;bob', None, '']
    """
    sets = lists.cast(pa.list_(pa.string()))
    return pc.binary_join(sets, mark_between(sets.flatten()))


def neutralised(table: Any) -> Any:
    """The table with an apostrophe before every text that a spreadsheet would run as a formula.

    >>> import pyarrow as pa
    >>> neutralised(pa.table({"node": ["=1+1", "ann"], "x": [1, -2]}))["node"].to_pylist()
    ["'=1+1", 'ann']
    """
    texts = [own.name for own in table.schema if kinds.is_string(own.type) or kinds.is_large_string(own.type)]
    return replaced(table, {name: pc.replace_substring_regex(table[name], FORMULA, r"'\1") for name in texts})


def save(table: Any, place: Path, *, safe: bool = False) -> None:
    """Write a table in the format that the path names; `safe` neutralises what is no parquet.

    >>> from querist.tables.arrow import pa
    >>> save(pa.table({"node": ["ann"], "label": ["cat"]}), Path("found.csv"))
    >>> Path("found.csv").read_text()
    'node,label\\nann,cat\\n'
    """
    name = place.name.lower()
    if safe and not name.endswith(".parquet"):
        table = neutralised(table)
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
    delimiter = "\t" if ".tsv" in name else ","
    options = arrow_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quoting)
    head = _line(table.column_names, delimiter).encode()
    with gzip.GzipFile(fileobj=file, mode="wb") if name.endswith(".gz") else nullcontext(file) as text:
        text.write(head)
        arrow_csv.write_csv(table, text, options)


def _line(cells: Iterable[str], delimiter: str) -> str:
    """Cells as one line of text, in quotation marks where they need them."""
    target = io.StringIO()
    csv.writer(target, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return target.getvalue()

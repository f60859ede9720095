"""Tables in folders of parquet or text files: which files and columns there are, and their rows by pieces."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.tables.arrow import pa, pq
from querist.tables.files import read_table
from querist.tables.formats import Wanted

PIECE = 1 << 21
"""Rows of a table that are read at a time."""

ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")


def table_files(place: str | Path) -> tuple[str, ...]:
    """The files of a table: all in a folder, by name, or the one that is named.

    A folder of parquet or of text; hidden files, and those that begin with _ as other programs' marks do, are
    left out.
    """
    path = Path(place).expanduser()
    if path.is_file():
        return (str(path.resolve()),)
    if not path.is_dir():
        raise InputError(f"{place}: no such file or folder; give a folder of {', '.join(ENDINGS)}")
    found = sorted(
        str(file.resolve())
        for file in path.rglob("*")
        if file.name.lower().endswith(ENDINGS) and not file.name.startswith((".", "_"))
    )
    if not found:
        raise InputError(f"{place}: no file in it ends in {', '.join(ENDINGS)}")
    return tuple(found)


def column_names(path: str) -> list[str]:
    """Of a table."""
    if path.lower().endswith(".parquet"):
        return list(pq.read_schema(path).names)
    return list(read_table(Path(path), Wanted(lambda columns: columns)).table.column_names)


def pieces(path: str, columns: Sequence[str]) -> Iterator[Any]:
    """The columns of a file as Arrow tables of at most `PIECE` rows."""
    if path.lower().endswith(".parquet"):
        for batch in pq.ParquetFile(path).iter_batches(PIECE, columns=list(columns)):
            yield pa.table(batch)
        return
    # Whole numbers in text become such where all of a file are: see `keys_of` for files that differ.
    table = read_table(Path(path), Wanted(lambda found: columns)).table.select(list(columns))
    for first in range(0, max(1, table.num_rows), PIECE):
        yield table.slice(first, PIECE)

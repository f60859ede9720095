"""Tables in folders of parquet or text files: which files and columns there are, and their rows by pieces."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from querist.atomic import checked_path
from querist.errors import InputError
from querist.tables.arrow import pq
from querist.tables.files import read_table
from querist.tables.formats import Wanted
from querist.tables.readers.parquet import tables_in

PIECE = 1 << 21
"""Rows of a table that are read at a time."""

ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")


def table_files(place: str | Path) -> tuple[str, ...]:
    """The files of a table: all in a folder, by name, or the one that is named.

    A folder of parquet or of text; hidden files, and those that begin with _ as other programs' marks do, are
    left out.
    """
    path = checked_path(place).expanduser()
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


def pieces(path: str, columns: Sequence[str], numbers: Sequence[str] = ()) -> Iterator[Any]:
    """The columns of a file as Arrow tables of at most `PIECE` rows; those in `numbers` hold no ids."""
    if path.lower().endswith(".parquet"):
        yield from tables_in(Path(path), columns, PIECE)
        return
    # Whole numbers in text become such where all of a file are: see `keys_of` for files that differ.
    ids = [name for name in columns if name not in numbers]
    table = read_table(Path(path), Wanted(lambda found: ids, numbers=lambda found: numbers)).table
    table = table.select(list(columns))
    for first in range(0, max(1, table.num_rows), PIECE):
        yield table.slice(first, PIECE)

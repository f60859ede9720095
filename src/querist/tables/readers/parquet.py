"""Parquet: columns with types of their own. A label is what the file says it is."""

from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.tables.arrow import pa, pq
from querist.tables.formats import BROKEN, Columns, Format, Origin, VectorTable, Wanted, damaged, stem
from querist.tables.frames import frame_of, numbers_in
from querist.tables.names import vector_label


def _read(path: Path) -> Any:
    try:
        return pq.read_table(path)
    except (*BROKEN, pa.ArrowException) as error:
        raise damaged(path.name, error) from error


def _table(path: Path, wanted: Wanted) -> Columns:
    return Columns(_read(path), Origin(path.name))


def _vectors(path: Path, label: str | None) -> VectorTable:
    return vectors_in(Columns(_read(path), Origin(path.name)), label, path)


def vectors_in(columns: Columns, label: str | None, path: Path) -> VectorTable:
    """The vectors in a table: every column but that of the labels holds numbers."""
    table = columns.table
    if table.num_rows == 0 or table.num_columns < 2:
        raise InputError(
            f"{path}: {table.num_rows} rows, {table.num_columns} columns; give features and a label"
        )
    chosen = vector_label(table.column_names, label, path.name) or table.column_names[-1]
    frame = frame_of(table, path.name)
    X = [numbers_in(frame, name, columns.origin) for name in table.column_names if name != chosen]
    return VectorTable(np.column_stack(X), table.column(chosen).to_pylist(), stem(path))


FORMAT = Format(endings=(".parquet",), begins=(b"PAR1",), table=_table, vectors=_vectors)

"""Vectors with labels from files: CSV, TSV, parquet and LIBSVM text, plain or gzipped.

A table has a column a feature and one for labels: the one named, else `label`, `class`, `target`
or `y` in any case, else the last. An empty label is unlabelled. In LIBSVM text a line is
`label index:value ...`, with indices from 1.
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from querist.budgeted.lines import Lines, label_in
from querist.errors import InputError
from querist.types import Floats

TEXT = (".csv", ".tsv", ".libsvm", ".svm", ".svmlight", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class Table:
    """X : (n, d) dense or CSR; labels : n values, None where unlabelled."""

    X: Any
    labels: list[Any]
    name: str


def is_file(data: str) -> bool:
    """Whether a name is that of a file this module reads."""
    return data.lower().removesuffix(".gz").endswith((*TEXT, ".parquet"))


def read_table(path: Path, label: str | None = None) -> Table:
    """Everything in a file, by its extension."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the name, or give the name of a data set")
    if path.name.lower().endswith(".parquet"):
        return _parquet(path, label)
    lines = Lines(label=label, where=path.name)
    with opened(path) as file:
        blocks = list(lines.blocks(file))
    if not blocks:
        raise InputError(f"{path}: holds no rows; give a file with at least one")
    labels = [value for block in blocks for value in block.labels]
    return Table(lines.stacked([block.X for block in blocks]), labels, _stem(path))


def opened(path: Path) -> TextIO:
    """A text file, unzipped where its name ends in .gz."""
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _parquet(path: Path, label: str | None) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as problem:
        raise InputError(
            f"{path}: cannot be read ({str(problem).splitlines()[0]}); get the file again"
        ) from problem
    if table.num_rows == 0 or table.num_columns < 2:
        raise InputError(
            f"{path}: {table.num_rows} rows, {table.num_columns} columns; give features and a label"
        )
    chosen = label_in(table.column_names, label, path.name) or table.column_names[-1]
    columns = list(_numeric(table, chosen, path))
    return Table(np.column_stack(columns), table.column(chosen).to_pylist(), _stem(path))


def _numeric(table: Any, label: str, path: Path) -> Iterator[Floats]:
    for name in table.column_names:
        if name == label:
            continue
        try:
            values = table.column(name).to_numpy().astype(np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(
                f"{path}: column {name!r} is not numeric ({problem}); encode or drop it"
            ) from None
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise InputError(f"{path}: column {name!r} has no finite number in row {row}; fill it in")
        yield values


def _stem(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name

"""Graphs and tables in files, by the ending of their names; `-` is the standard input.

`.npz` (archives.py), `.graphml` (graphml.py), and tables `.csv`, `.tsv` (text.py), `.parquet`. Text may be
packed: `.csv.gz`, `.tsv.gz`, `.graphml.gz`.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.graph.archives import from_npz
from querist.graph.entries import Found
from querist.graph.graphml import from_graphml, graphml_nodes
from querist.graph.tables import (
    ENDS,
    Ends,
    NodeTable,
    Place,
    TableFile,
    edge_columns,
    from_edge_table,
    from_node_table,
    node_column,
)
from querist.graph.text import BROKEN, Headless, TextColumns, damaged, names_occur, read_text, text_file

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
GRAPHML = (".graphml", ".graphml.gz")
STANDARD_INPUT = "-"

_MAGIC = {
    b"\x1f\x8b": ".csv.gz",
    b"PK": ".npz",
    b"PAR1": ".parquet",
    b"<": ".graphml",
    b"\xef\xbb\xbf<": ".graphml",
}
"""How files begin; anything else is a text table."""


def from_path(
    path: Path,
    weights: str | None = None,
    labels: str | None = None,
    ends: Ends = (None, None),
) -> Found:
    """The edges in a file, by its extension."""
    if str(path) == STANDARD_INPUT:
        with standard_input() as copy:
            return replace(from_path(copy, weights, labels, ends), name="standard input")
    _check_there(path, (".npz", *GRAPHML, *TABLES))
    lower = path.name.lower()
    if ends != (None, None) and not lower.endswith(TABLES):
        raise InputError(f"{path.name}: source= and target= name columns of a table; leave them out")
    if lower.endswith(".npz"):
        return from_npz(path, weights, labels)
    if lower.endswith(GRAPHML):
        try:
            return from_graphml(path, weights, labels)
        except InputError:
            raise
        except BROKEN as error:
            raise damaged(path.name, error) from error
    file = read_table(path, lambda columns: edge_columns(columns, *ends, where=path.name), _first_is_an_edge)
    name = next(path.name[: -len(end)] for end in TABLES if lower.endswith(end))
    return replace(from_edge_table(file.table, weights, ends, file.place, file.text), name=name)


def nodes_from_path(
    path: Path, label: str | None, attributes: Sequence[str] | bool, id: str | None = None
) -> NodeTable:
    """The node table in a file, by its extension."""
    file = node_file(path, id)
    return from_node_table(file.table, label, attributes, file.place, file.text, id)


def node_file(path: Path, id: str | None = None) -> TableFile:
    """A table whose ids are in `node` | `id` | the first column; the nodes of a GraphML file also are one."""
    if path.name.lower().endswith(GRAPHML):
        _check_there(path, GRAPHML)
        return graphml_nodes(path)
    return read_table(path, lambda columns: (node_column(columns, path.name, id),))


def read_table(
    path: Path, text_columns: TextColumns, headless: Headless = lambda table, names: False
) -> TableFile:
    """A table of any format; `read_text` says what the two functions mean for text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _check_there(path, TABLES)
    try:
        if path.name.lower().endswith(".parquet"):
            return TableFile(pq.read_table(path), Place(path.name), False)
        file = text_file(path, path.name, "\t" if ".tsv" in path.name.lower() else ",")
    except InputError:
        raise
    except (*BROKEN, pa.ArrowException) as error:
        raise damaged(path.name, error) from error
    return read_text(file, text_columns, headless)


def _first_is_an_edge(table: Any, ends: Sequence[str]) -> bool:
    """Whether the header is an edge: neither end has a usual name, and both are nodes of other edges."""
    return tuple(end.lower() for end in ends) not in ENDS and names_occur(table, ends)


@contextmanager
def standard_input() -> Iterator[Path]:
    """The standard input as a file, its format known by how it begins."""
    source: Any = getattr(sys.stdin, "buffer", None)
    if source is None:
        raise InputError("there is no standard input to read edges from; give a file")
    start = source.read(4)
    if not start:
        raise InputError("the standard input is empty; give edges, as CSV with the columns source and target")
    ending = next((end for magic, end in _MAGIC.items() if start.startswith(magic)), ".csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"standard input{ending}"
        with path.open("wb") as file:
            file.write(start)
            while block := source.read(1 << 20):
                file.write(block)
        yield path


def _check_there(path: Path, extensions: Sequence[str]) -> None:
    if not path.is_file():
        raise InputError(
            f"{path}: no such file in {path.resolve().parent}; check the name, "
            "or use querist.load() for a data set by its name"
        )
    if not path.name.lower().endswith(tuple(extensions)):
        raise InputError(f"{path}: cannot tell its format; the name must end in {', '.join(extensions)}")

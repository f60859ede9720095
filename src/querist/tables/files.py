"""Files by the ending of their names; `-` is the standard input, known by how it begins.

A format is one module in `readers/`. Whoever needs a table, a whole graph or vectors asks here, and is told
by file and line what is wrong.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

from querist.atomic import checked_path
from querist.errors import InputError, QueristError, TooLargeError
from querist.tables.arrow import pa, pc
from querist.tables.formats import (
    BROKEN,
    Columns,
    Format,
    Vectors,
    Wanted,
    count_lines,
    damaged,
)
from querist.tables.names import ENDS, LABEL, WEIGHT, edge_columns, named, node_column
from querist.tables.readers import formats

STANDARD_INPUT = "-"
"""The name that stands for what comes in through a pipe.

>>> STANDARD_INPUT
'-'
"""
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
Role = Literal["table", "nodes", "elements", "vectors"]


def endings(*roles: Role) -> tuple[str, ...]:
    """How the names of files end that hold one of these; all files, where nothing is said."""
    wanted = roles or ("table", "nodes", "elements", "vectors")
    known = [format for role in wanted for format in formats() if getattr(format, role) is not None]
    return tuple(dict.fromkeys(ending for format in known for ending in format.endings))


def is_file_name(name: str, *roles: Role) -> bool:
    """Whether a name ends as the name of such a file does.

    >>> is_file_name("edges.csv", "table"), is_file_name("cora", "table")
    (True, False)
    """
    return name.lower().endswith(endings(*roles))


def format_of(path: Path, *roles: Role) -> Format:
    """The format of a file that is there, if it can hold one of these; else what the name must end in."""
    if not checked_path(path).is_file():
        raise InputError(
            f"{path}: no such file in {path.resolve().parent}; check the name. "
            "For data sets see querist datasets; Python has querist.load_graph() and load_vectors()"
        )
    if path.name.lower().endswith(SPREADSHEETS):
        raise InputError(
            f"{path.name}: a spreadsheet is not read; open it, save it as CSV, and give that file"
        )
    for format in formats():
        if path.name.lower().endswith(format.endings) and any(getattr(format, role) for role in roles):
            return format
    raise InputError(f"{path}: cannot tell its format; the name must end in {', '.join(endings(*roles))}")


def read_table(path: Path, wanted: Wanted) -> Columns:
    """A table of any format.

    >>> from querist.tables.formats import Wanted
    >>> _ = Path("edges.csv").write_text("source,target\\nann,bob\\n")
    >>> read_table(Path("edges.csv"), Wanted(ids=lambda columns: columns)).table.num_rows
    1
    """
    with _reading(path, "table") as format:
        return cast(Columns, format.table(path, wanted))


def read_edges(
    path: Path, source: str | None, target: str | None, weights: str | None, labels: str | None
) -> Any:
    """The edges in a file: `Columns`, or `Entries` or a matrix where the format holds a whole graph."""

    def ends(columns: Sequence[str]) -> Sequence[str]:
        return edge_columns(columns, source, target, path.name)

    def weight(columns: Sequence[str]) -> Sequence[str]:
        own = named(columns, WEIGHT, but=ends(columns)) if weights is None else weights
        return [name for name in columns if name == own]

    with _reading(path, "elements", "table") as format:
        if format.elements is None:
            return format.table(path, Wanted(ends, headless=_first_is_an_edge, numbers=weight))
        if source is not None or target is not None:
            raise InputError(f"{path.name}: source= and target= name columns of a table; leave them out")
        return format.elements(path, weights, labels)


def node_file(path: Path, id: str | None = None, label: str | None = None) -> Columns:
    """A table with ids in `node` | `id` | the first column; the nodes of a whole graph also are one.

    >>> _ = Path("nodes.csv").write_text("node,age\\nann,30\\n")
    >>> node_file(Path("nodes.csv")).table.num_rows
    1
    """

    def labels(columns: Sequence[str]) -> Sequence[str]:
        own = named(columns, LABEL, but=(node_column(columns, path.name, id),))
        return [name for name in dict.fromkeys((own, label)) if name in columns and name is not None]

    with _reading(path, "table", "nodes") as format:
        if format.nodes is not None:
            return cast(Columns, format.nodes(path))
        wanted = Wanted(lambda columns: (node_column(columns, path.name, id),), labels)
        return cast(Columns, format.table(path, wanted))


def read_vectors(path: Path, label: str | None = None) -> Vectors:
    """Rows of numbers with a label each. `label` names the column of the labels.

    >>> _ = Path("flowers.csv").write_text("length,label\\n1.0,rose\\n2.0,\\n")
    >>> read_vectors(Path("flowers.csv"), label="label").y.tolist()
    ['rose', None]
    """
    with _reading(path, "vectors") as format:
        return cast(Vectors, format.vectors(path, label))


@contextmanager
def _reading(path: Path, *roles: Role) -> Iterator[Format]:
    """The format of a file that is read; errors about a damaged or too large file name the file."""
    format = format_of(path, *roles)
    try:
        if format.cost:
            count_lines(path, format.cost)
        yield format
    except QueristError:
        raise
    except MemoryError as error:
        raise TooLargeError(f"{path.name} does not fit into memory; give a part of it") from error
    except (*BROKEN, pa.ArrowException) as error:
        raise damaged(path.name, error) from error


def _first_is_an_edge(table: Any, ends: Sequence[str]) -> bool:
    """Whether the header is an edge: neither end has a usual name, and both are nodes of other edges."""
    if tuple(end.lower() for end in ends) in ENDS:
        return False
    return all(any(pc.any(pc.equal(table[c], name)).as_py() for c in ends) for name in ends)


@contextmanager
def standard_input() -> Iterator[Path]:
    """The standard input as a file, its format known by how it begins; anything unknown is a text table."""
    source: Any = getattr(sys.stdin, "buffer", None)
    if source is None:
        raise InputError("there is no standard input to read edges from; give a file")
    start = source.read(64)
    if not start:
        raise InputError("the standard input is empty; give edges, as CSV with the columns source and target")
    begins = {magic: format.endings[0] for format in formats() for magic in format.begins}
    begins[b"\x1f\x8b"] = ".csv.gz"
    if b"[Content_Types].xml" in start or b"opendocument" in start:
        begins = {b"PK": ".xlsx"}
    ending = next((end for magic, end in begins.items() if start.startswith(magic)), ".csv")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"standard input{ending}"
        with path.open("wb") as file:
            file.write(start)
            # As it comes: one that waits for all of a block would not hear of a signal in between.
            while block := source.read1(1 << 20):
                file.write(block)
        yield path

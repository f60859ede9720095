"""Graphs in files: `.npz` archives, and edge and node tables as csv, tsv or parquet.

An archive has the arrays `edges` (m, 2) and, where known, `weights`,
`features_*` (CSR parts), `labels` (-1: unlabelled) or `labels_*` (CSR pattern),
`class_names` and `node_names`; or it is what `scipy.sparse.save_npz` writes.
Nothing is ever unpickled.

In text, 7 and 007 are different names and 7 is also a number: id columns are
read as text, and become integers only where every id is the plain form of one.
"""

import csv
import gzip
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.arrays import check_range, from_array, from_matrix
from querist.graph.entries import Found, as_weights
from querist.graph.tables import NodeTable, edge_columns, from_edge_table, from_node_table, node_column
from querist.labels import decode
from querist.types import Sparse

_TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
_BROKEN = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error)


def from_path(
    path: Path,
    weights: str | None = None,
    labels: str | None = None,
    endpoints: tuple[str, str] | None = None,
) -> Found:
    """The edges in a file, by its extension."""
    _check_there(path, (".npz", *_TABLES))
    if path.name.lower().endswith(".npz"):
        return _from_npz(path, weights, labels)
    where = path.name
    table, text = _read_table(path, lambda columns: edge_columns(columns, endpoints, where))
    name = next(where[: -len(end)] for end in _TABLES if where.lower().endswith(end))
    return replace(from_edge_table(table, weights, endpoints, where, text), name=name)


def nodes_from_path(path: Path, label: str | None, attributes: Sequence[str] | bool) -> NodeTable:
    """The node table in a file, by its extension."""
    _check_there(path, _TABLES)
    where = path.name
    table, text = _read_table(path, lambda columns: (node_column(columns, where),))
    return from_node_table(table, label, attributes, where, text)


def _check_there(path: Path, extensions: Sequence[str]) -> None:
    if not path.is_file():
        raise InputError(
            f"{path}: no such file in {path.resolve().parent}; check the name, "
            "or use querist.load() for a data set by its name"
        )
    if not path.name.lower().endswith(tuple(extensions)):
        raise InputError(f"{path}: cannot tell its format; the name must end in {', '.join(extensions)}")


def _broken(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(f"{path}: cannot be read ({reason}); the file is damaged or cut short, get it again")


# -- tables -------------------------------------------------------------------


def _read_table(path: Path, id_columns: Callable[[Sequence[str]], Sequence[str]]) -> tuple[Any, bool]:
    """An Arrow table, and whether its ids were read from text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.name.lower().endswith(".parquet"):
            return pq.read_table(path), False
        names, skip, delimiter = _header(path)
    except (*_BROKEN, pa.ArrowException) as error:
        raise _broken(path, error) from error
    if len(set(names)) != len(names):
        raise InputError(f"{path.name}: columns {', '.join(names)} are not distinct; name each once")
    ids = id_columns(names)
    try:
        return _plain_integers(_read_text(path, names, skip, delimiter, ids), ids), True
    except (*_BROKEN, pa.ArrowException) as error:
        raise _broken(path, error) from error


def _header(path: Path) -> tuple[list[str], int, str]:
    """Column names, the number of header lines, and the delimiter of a text table.

    A first line of numbers only is no header but the first edge.
    """
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    open_text = gzip.open if path.suffix.lower() == ".gz" else open
    with open_text(path, "rt", encoding="utf-8-sig", newline="") as file:
        first = [field.strip() for field in next(csv.reader(file, delimiter=delimiter), [])]
    if not any(first):
        raise ValueError("the first line is empty")
    try:
        [float(field) for field in first]
    except ValueError:
        return first, 1, delimiter
    return [f"column {k + 1}" for k in range(len(first))], 0, delimiter


def _read_text(path: Path, names: list[str], skip: int, delimiter: str, ids: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        path,
        read_options=arrow_csv.ReadOptions(column_names=names, skip_rows=skip),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
        # Only an empty field is null: NA is a country and None a surname.
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in ids}, null_values=[""], strings_can_be_null=True
        ),
    )


def _plain_integers(table: Any, ids: Sequence[str]) -> Any:
    """The table with its id columns trimmed, and as integers if all of them can be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = [pc.utf8_trim_whitespace(table[name]) for name in ids]
    try:
        whole = [column.cast(pa.int64()) for column in trimmed]
        if not all(
            number.cast(pa.string()).equals(column) for number, column in zip(whole, trimmed, strict=True)
        ):
            whole = trimmed
    except pa.ArrowInvalid:
        whole = trimmed
    for name, column in zip(ids, whole, strict=True):
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


# -- archives -----------------------------------------------------------------


def _from_npz(path: Path, weights: str | None, labels: str | None) -> Found:
    arrays = _load(path)
    where = path.name
    if "edges" not in arrays:
        if {"format", "shape", "data"} <= arrays.keys():
            return _from_scipy(path)
        if "X" in arrays or "X_data" in arrays:
            raise InputError(
                f"{where}: a set of vectors (X, y) without edges; join near ones first, e.g. "
                "as_graph(sklearn.neighbors.kneighbors_graph(X, 10))"
            )
        raise InputError(f"{where}: no array 'edges'; there are {', '.join(arrays) or 'none'}")
    for name, also in ((weights, ""), (labels, "_indptr")):
        if name is not None and name not in arrays and f"{name}{also}" not in arrays:
            raise InputError(f"{where}: no array {name!r}; there are {', '.join(arrays)}")
    found = from_array(arrays["edges"], "edges", where)
    weight = arrays.get(weights or "weights")
    count = _node_count(path, arrays)
    n, notes = (found.n, ("number of nodes taken from the largest row",)) if count is None else (count, ())
    check_range(found, n, where)
    ids = arrays["node_names"].tolist() if "node_names" in arrays else None
    if ids is not None and len(set(ids)) != len(ids):
        ids, notes = None, (*notes, "node names are not distinct, so ids are row numbers")
    values, classes = _labels(arrays, labels or "labels", n, path)
    return Found(
        found.heads,
        found.tails,
        n,
        None if weight is None else as_weights(weight, found.heads.size, where),
        None if ids is None else tuple(ids),
        fixed=count is not None,
        attributes=_csr(arrays, "features", n, path),
        labels=values,
        classes=classes,
        name=path.stem,
        notes=notes,
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (*_BROKEN, AttributeError, TypeError) as error:
        raise _broken(path, error) from error


def _from_scipy(path: Path) -> Found:
    try:
        matrix: Any = sp.load_npz(path)
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
    except _BROKEN as error:
        raise _broken(path, error) from error
    return from_matrix(matrix, path.name)


def _node_count(path: Path, arrays: dict[str, Any]) -> int | None:
    """The number of nodes, as an array or the manifest beside the file gives it."""
    for name in ("labels", "node_names"):
        if name in arrays:
            return len(arrays[name])
    for name in ("labels_shape", "features_shape"):
        if name in arrays:
            return int(arrays[name][0])
    try:
        manifest = json.loads((path.parent / "MANIFEST.json").read_text(encoding="utf-8"))
        return int(manifest["files"][path.name]["counts"]["nodes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _csr(arrays: dict[str, Any], prefix: str, n: int, path: Path, columns: int = 0) -> Sparse | None:
    """The CSR matrix whose parts carry this prefix; a pattern without data is 0/1."""
    if f"{prefix}_indptr" not in arrays:
        return None
    try:
        indices, indptr = arrays[f"{prefix}_indices"], arrays[f"{prefix}_indptr"]
        data = arrays.get(f"{prefix}_data", np.ones(indices.size, dtype=np.int8))
        shape = arrays.get(f"{prefix}_shape", (n, columns))
        matrix = sp.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
        matrix.check_format(full_check=True)
        if matrix.shape[0] != n:
            raise ValueError(f"{matrix.shape[0]} rows for {n} nodes")
    except _BROKEN as error:
        raise InputError(
            f"{path.name}: the parts {prefix}_* are no CSR matrix ({error}); write it again"
        ) from None
    return matrix


def _labels(arrays: dict[str, Any], key: str, n: int, path: Path) -> tuple[Any, tuple[Any, ...] | None]:
    """Label values and classes in their order; codes outside the classes are refused."""
    names = arrays.get("class_names" if key == "labels" else f"{key}_names")
    classes = None if names is None else tuple(names.tolist())
    if key not in arrays:
        return _csr(arrays, key, n, path, len(classes or ())), classes
    codes = arrays[key]
    if codes.dtype.kind not in "iu":
        return codes.tolist(), classes
    classes = classes if classes is not None else tuple(range(int(codes.max(initial=-1)) + 1))
    if codes.size and (codes.min() < -1 or codes.max() >= len(classes)):
        raise InputError(
            f"{path.name}: {key} holds {codes.min()}..{codes.max()} for {len(classes)} classes; "
            f"codes go from 0 to {len(classes) - 1}, with -1 for unlabelled"
        )
    return decode(codes, classes), classes

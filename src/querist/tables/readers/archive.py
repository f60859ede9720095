"""Graphs and vectors in NumPy archives: `.npz`.

An archive of a graph has the arrays `edges` (m, 2) and, where known, `weights`,
`features_*` (CSR parts), `labels` (-1: unlabelled) or `labels_*` (CSR pattern),
`class_names` and `node_names`; or it is what `scipy.sparse.save_npz` writes. One of
vectors has `X` (or its CSR parts `X_*`) and `y`.
Nothing is ever unpickled.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist import npz
from querist.errors import InputError
from querist.labels import Labels, encode, tabulate
from querist.matrices import as_floats, checked_sparse
from querist.tables.formats import Entries, Format, Vectors, as_rows, as_weights, check_range, stem

MANY_CODES = 10_000
"""A class number beyond it, and beyond a hundred a node, is taken for a damaged one."""


BESIDE = 16.0
"""Bytes of each value once it is a number in double precision, or an entry of a list."""


def _elements(path: Path, weights: str | None, labels: str | None) -> Any:
    """The graph in an archive; `weights` and `labels` name arrays in it."""
    arrays = npz.read(path, beside=BESIDE)
    where = path.name
    if "edges" not in arrays:
        if {"format", "shape", "data"} <= arrays.keys():
            return _matrix(arrays, path)
        raise InputError(
            f"{where}: no array 'edges'; there are {', '.join(arrays) or 'none'}. Vectors become a graph by "
            "querist.from_points"
        )
    for name, also in ((weights, ""), (labels, "_indptr")):
        if name is not None and name not in arrays and f"{name}{also}" not in arrays:
            raise InputError(f"{where}: no array {name!r}; there are {', '.join(arrays)}")
    key = labels or "labels"
    _check_shapes(arrays, key, where)
    ends = as_rows(arrays["edges"], where)
    count, notes = _node_count(arrays), tuple[str, ...]()
    n = count
    if n is None:
        notes = ("number of nodes taken from the largest row",)
        n = int(ends.max(initial=-1)) + 1
    ids = arrays["node_names"].tolist() if "node_names" in arrays else None
    if ids is not None and len(set(ids)) != len(ids):
        ids, notes = None, (*notes, "node names are not distinct, so ids are row numbers")
    given = arrays.get(weights or "weights")
    found = Entries(
        ends[:, 0],
        ends[:, 1],
        n,
        None if given is None else as_weights(given, len(ends), where),
        None if ids is None else tuple(ids),
        fixed=count is not None,
        attributes=_csr(arrays, "features", n, path),
        labels=_labels(arrays, key, n, path),
        name=stem(path),
        notes=notes,
    )
    check_range(found, n, where)
    return found


def _check_shapes(arrays: dict[str, Any], labels: str, where: str) -> None:
    """Refuse edges that are no numbers, and labels and names that are not one a node."""
    edges = arrays["edges"]
    if edges.shape[1:] != (2,) or edges.dtype.kind not in "iuf":
        raise InputError(
            f"{where}: edges are {edges.dtype} of shape {edges.shape}; give whole numbers of shape "
            "(m, 2), or transpose them"
        )
    for name in (labels, "node_names", "class_names", f"{labels}_names"):
        if name in arrays and arrays[name].ndim != 1:
            raise InputError(f"{where}: {name} is of shape {arrays[name].shape}; give one value each: (n,)")


def _vectors(path: Path, label: str | None) -> Vectors:
    """The vectors in an archive; `label` names the array of their labels."""
    arrays, key = npz.read(path, beside=BESIDE), label or "y"
    if "edges" in arrays or key not in arrays or not {"X", "X_data"} & arrays.keys():
        needed = f"there are {', '.join(arrays) or 'none'}; vectors are X (or X_data, ...) and {key}"
        raise InputError(f"{path.name}: no vectors; {needed}")
    y = arrays[key]
    if y.ndim != 1:
        raise InputError(f"{path.name}: {key} is of shape {y.shape}; give one value a row: (n,)")
    n, y = len(y), y.astype(np.int64) if np.can_cast(y.dtype, np.int64) else y.tolist()
    X = as_floats(arrays["X"], f"{path.name}, X") if "X" in arrays else _csr(arrays, "X", n, path)
    return Vectors(X, y, path.stem)


_MATRICES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("indices", "indptr")),
    "dia": ("offsets",),
    "coo": ("row", "col"),
}
"""What `scipy.sparse.save_npz` writes of each format, beside data, shape and format."""


def _matrix(arrays: dict[str, Any], path: Path) -> Any:
    form = arrays["format"].item()
    form = form.decode() if isinstance(form, bytes) else form
    rows, columns = map(int, arrays["shape"])
    parts = tuple(arrays[name] for name in _MATRICES[form])
    data = (arrays["data"], parts) if form == "coo" else (arrays["data"], *parts)
    return checked_sparse(getattr(sp, f"{form}_array")(data, shape=(rows, columns)), path.name)


def _node_count(arrays: dict[str, Any]) -> int | None:
    """The number of nodes, as an array gives it."""
    for name in ("labels", "node_names"):
        if name in arrays:
            return len(arrays[name])
    for name in ("labels_indptr", "features_indptr"):  # the shape beside it claims what it likes
        if name in arrays:
            return max(0, int(arrays[name].size) - 1)
    return None


def _csr(arrays: dict[str, Any], prefix: str, n: int, path: Path, columns: int = 0) -> Any:
    """The CSR matrix whose parts carry this prefix; a pattern without data is 0/1."""
    if f"{prefix}_indptr" not in arrays:
        return None
    indices, indptr = arrays[f"{prefix}_indices"], arrays[f"{prefix}_indptr"]
    data = arrays.get(f"{prefix}_data", np.ones(indices.size, dtype=np.int8))
    rows, width = map(int, arrays.get(f"{prefix}_shape", (n, columns)))
    matrix = sp.csr_array((data, indices, indptr), shape=(rows, width), dtype=np.float64)
    checked_sparse(matrix, f"{path.name}, {prefix}_*")
    if rows != n:
        raise InputError(f"{path.name}: {prefix}_* has {rows} rows for {n} nodes; write it again")
    return matrix


def _labels(arrays: dict[str, Any], key: str, n: int, path: Path) -> Any:
    """Labels, or values if the classes have no order; codes outside the classes are refused."""
    names = arrays.get("class_names" if key == "labels" else f"{key}_names")
    classes = None if names is None else tuple(names.tolist())
    if key not in arrays:
        matrix = _csr(arrays, key, n, path, len(classes or ()))
        return None if matrix is None else tabulate(matrix, range(n), classes)
    codes = arrays[key]
    if codes.dtype.kind not in "iu":
        return codes.tolist() if classes is None else encode(codes.tolist(), classes)
    most = int(codes.max()) if codes.size else -1
    if classes is None and most >= max(MANY_CODES, 100 * codes.size):
        raise InputError(
            f"{path.name}: {key} holds the class number {most:,}; number classes from 0, or name them in "
            f"{'class_names' if key == 'labels' else f'{key}_names'}"
        )
    classes = classes if classes is not None else tuple(range(most + 1))
    if codes.size and (codes.min() < -1 or most >= len(classes)):
        raise InputError(
            f"{path.name}: {key} holds {codes.min()}..{codes.max()} for {len(classes)} classes; "
            f"codes go from 0 to {len(classes) - 1}, with -1 for unlabelled"
        )
    return Labels(codes, classes)


FORMAT = Format(endings=(".npz",), begins=(b"PK",), elements=_elements, vectors=_vectors)

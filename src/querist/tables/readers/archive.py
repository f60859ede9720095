"""Graphs and vectors in NumPy archives: `.npz`.

An archive of a graph has the arrays `edges` (m, 2) and, where known, `weights`,
`features_*` (CSR parts), `labels` (-1: unlabelled) or `labels_*` (CSR pattern),
`class_names` and `node_names`; or it is what `scipy.sparse.save_npz` writes. One of
vectors has `X` (or its CSR parts `X_*`) and `y`.
Nothing is ever unpickled.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist import npz
from querist.errors import InputError
from querist.labels import decode
from querist.matrices import as_floats, checked_sparse
from querist.tables.formats import Elements, Format, VectorTable, damaged
from querist.types import Sparse

MANY_CODES = 10_000
"""A class number beyond it, and beyond a hundred a node, is taken for a damaged one."""


def _elements(path: Path, weights: str | None, labels: str | None) -> Elements:
    """The graph in an archive; `weights` and `labels` name arrays in it."""
    arrays = _load(path)
    where = path.name
    if "edges" not in arrays:
        if {"format", "shape", "data"} <= arrays.keys():
            return Elements(_matrix(arrays, path))
        if "X" in arrays or "X_data" in arrays:
            raise InputError(
                f"{where}: a set of vectors (X, y) without edges; join near ones first, e.g. "
                "as_graph(sklearn.neighbors.kneighbors_graph(X, 10))"
            )
        raise InputError(f"{where}: no array 'edges'; there are {', '.join(arrays) or 'none'}")
    for name, also in ((weights, ""), (labels, "_indptr")):
        if name is not None and name not in arrays and f"{name}{also}" not in arrays:
            raise InputError(f"{where}: no array {name!r}; there are {', '.join(arrays)}")
    edges = arrays["edges"]
    _check_rows(arrays, labels or "labels", where)
    count, notes = _node_count(path, arrays), tuple[str, ...]()
    n = count
    if n is None:
        notes = ("number of nodes taken from the largest row",)
        n = int(edges.max()) + 1 if edges.size and np.isfinite(edges).all() else 0
    ids = arrays["node_names"].tolist() if "node_names" in arrays else None
    if ids is not None and len(set(ids)) != len(ids):
        ids, notes = None, (*notes, "node names are not distinct, so ids are row numbers")
    return Elements(
        edges,
        count,
        arrays.get(weights or "weights"),
        None if ids is None else tuple(ids),
        attributes=_csr(arrays, "features", n, path),
        **_labels(arrays, labels or "labels", n, path),
        notes=notes,
    )


def _check_rows(arrays: dict[str, Any], labels: str, where: str) -> None:
    """Refuse edges that are no numbers, and labels and names that are not one a node."""
    edges = arrays["edges"]
    if edges.ndim != 2 or edges.dtype.kind not in "iuf":
        raise InputError(
            f"{where}: edges are {edges.dtype} of shape {edges.shape}; give whole numbers of shape (m, 2)"
        )
    for name in (labels, "node_names", "class_names", f"{labels}_names"):
        if name in arrays and arrays[name].ndim != 1:
            raise InputError(f"{where}: {name} is of shape {arrays[name].shape}; give one value each: (n,)")


def _vectors(path: Path, label: str | None) -> VectorTable:
    """The vectors in an archive; `label` names the array of their labels."""
    arrays, key = _load(path), label or "y"
    if "edges" in arrays or key not in arrays or not {"X", "X_data"} & arrays.keys():
        needed = f"there are {', '.join(arrays) or 'none'}; vectors are X (or X_data, ...) and {key}"
        raise InputError(f"{path.name}: no vectors; {needed}")
    labels = arrays[key]
    if labels.ndim != 1:
        raise InputError(f"{path.name}: {key} is of shape {labels.shape}; give one value a row: (n,)")
    if "X" not in arrays:
        return VectorTable(_csr(arrays, "X", len(labels), path), labels.tolist(), path.stem)
    X = as_floats(arrays["X"], f"{path.name}, X")
    if X.ndim != 2 or len(X) != len(labels):
        raise InputError(
            f"{path.name}: X is of shape {X.shape} and {key} of {labels.shape}; give one row a label"
        )
    return VectorTable(X, labels.tolist(), path.stem)


def _load(path: Path) -> dict[str, Any]:
    try:
        return npz.read(path)
    except (OSError, ValueError) as error:
        raise damaged(path.name, error) from error


_MATRICES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("csr", "csc", "bsr"), ("indices", "indptr")),
    "dia": ("offsets",),
    "coo": ("row", "col"),
}
"""What `scipy.sparse.save_npz` writes of each format, beside data, shape and format."""


def _matrix(arrays: dict[str, Any], path: Path) -> Any:
    try:
        form = arrays["format"].item()
        form = form.decode() if isinstance(form, bytes) else form
        rows, columns = map(int, arrays["shape"])
        parts = tuple(arrays[name] for name in _MATRICES[form])
        given = (parts,) if form == "coo" else parts
        return checked_sparse(
            getattr(sp, f"{form}_array")((arrays["data"], *given), shape=(rows, columns)), path.name
        )
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise damaged(path.name, error) from error


def _node_count(path: Path, arrays: dict[str, Any]) -> int | None:
    """The number of nodes, as an array or the manifest beside the file gives it."""
    for name in ("labels", "node_names"):
        if name in arrays:
            return len(arrays[name])
    for name in ("labels_indptr", "features_indptr"):  # the shape beside it claims what it likes
        if name in arrays:
            return max(0, int(arrays[name].size) - 1)
    try:
        manifest = json.loads((path.parent / "MANIFEST.json").read_text(encoding="utf-8"))
        stated = int(manifest["files"][path.name]["counts"]["nodes"])
    except (OSError, LookupError, TypeError, ValueError, AttributeError):
        return None
    return stated


def _csr(arrays: dict[str, Any], prefix: str, n: int, path: Path, columns: int = 0) -> Sparse | None:
    """The CSR matrix whose parts carry this prefix; a pattern without data is 0/1."""
    if f"{prefix}_indptr" not in arrays:
        return None
    try:
        indices, indptr = arrays[f"{prefix}_indices"], arrays[f"{prefix}_indptr"]
        data = arrays.get(f"{prefix}_data", np.ones(indices.size, dtype=np.int8))
        shape = arrays.get(f"{prefix}_shape", (n, columns))
        rows, width = map(int, shape)
        matrix = sp.csr_array((data, indices, indptr), shape=(rows, width), dtype=np.float64)
        checked_sparse(matrix, f"{prefix}_*")
        if matrix.shape[0] != n:
            raise ValueError(f"{matrix.shape[0]} rows for {n} nodes")
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise InputError(
            f"{path.name}: the parts {prefix}_* are no CSR matrix ({error}); write it again"
        ) from None
    return matrix


def _labels(arrays: dict[str, Any], key: str, n: int, path: Path) -> dict[str, Any]:
    """Label values and classes in their order; codes outside the classes are refused."""
    names = arrays.get("class_names" if key == "labels" else f"{key}_names")
    classes = None if names is None else tuple(names.tolist())
    if key not in arrays:
        return {"labels": _csr(arrays, key, n, path, len(classes or ())), "classes": classes}
    codes = arrays[key]
    if codes.dtype.kind not in "iu":
        return {"labels": codes.tolist(), "classes": classes}
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
    return {"labels": decode(codes, classes), "classes": classes}


FORMAT = Format(endings=(".npz",), begins=(b"PK",), elements=_elements, vectors=_vectors)

"""Graphs and vectors in NumPy archives: `.npz`.

An archive of a graph has the arrays `edges` (m, 2) and, where known, `weights`,
`features_*` (CSR parts), `labels` (-1: unlabelled) or `labels_*` (CSR pattern),
`class_names` and `node_names`; or it is what `scipy.sparse.save_npz` writes. One of
vectors has `X` (or its CSR parts `X_*`) and `y`.
Nothing is ever unpickled.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.labels import decode
from querist.tables.formats import BROKEN, Elements, Format, VectorTable, damaged
from querist.types import Sparse

_DAMAGED = (*BROKEN, zipfile.BadZipFile)


def _elements(path: Path, weights: str | None, labels: str | None) -> Elements:
    """The graph in an archive; `weights` and `labels` name arrays in it."""
    arrays = _load(path)
    where = path.name
    if "edges" not in arrays:
        if {"format", "shape", "data"} <= arrays.keys():
            return Elements(_matrix(path))
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
    count, notes = _node_count(path, arrays), tuple[str, ...]()
    n = count
    if n is None:
        notes = ("number of nodes taken from the largest row",)
        n = int(edges.max()) + 1 if edges.size else 0
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


def _vectors(path: Path, label: str | None) -> VectorTable:
    """The vectors in an archive; `label` names the array of their labels."""
    arrays, key = _load(path), label or "y"
    if "edges" in arrays or key not in arrays or not {"X", "X_data"} & arrays.keys():
        needed = f"there are {', '.join(arrays) or 'none'}; vectors are X (or X_data, ...) and {key}"
        raise InputError(f"{path.name}: no vectors; {needed}")
    labels = arrays[key]
    X: Any = arrays["X"] if "X" in arrays else _csr(arrays, "X", len(labels), path)
    return VectorTable(X.astype(np.float64), labels.tolist(), path.stem)


def _load(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (*_DAMAGED, AttributeError, TypeError) as error:
        raise damaged(path.name, error) from error


def _matrix(path: Path) -> Any:
    try:
        matrix: Any = sp.load_npz(path)
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
    except _DAMAGED as error:
        raise damaged(path.name, error) from error
    return matrix


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
    except _DAMAGED as error:
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
    classes = classes if classes is not None else tuple(range(int(codes.max(initial=-1)) + 1))
    if codes.size and (codes.min() < -1 or codes.max() >= len(classes)):
        raise InputError(
            f"{path.name}: {key} holds {codes.min()}..{codes.max()} for {len(classes)} classes; "
            f"codes go from 0 to {len(classes) - 1}, with -1 for unlabelled"
        )
    return {"labels": decode(codes, classes), "classes": classes}


FORMAT = Format(endings=(".npz",), begins=(b"PK",), elements=_elements, vectors=_vectors)

"""Graphs in NumPy archives: `.npz`.

An archive has the arrays `edges` (m, 2) and, where known, `weights`,
`features_*` (CSR parts), `labels` (-1: unlabelled) or `labels_*` (CSR pattern),
`class_names` and `node_names`; or it is what `scipy.sparse.save_npz` writes.
Nothing is ever unpickled.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.graph.arrays import check_range, from_array, from_matrix
from querist.graph.entries import Found, as_weights
from querist.graph.text import BROKEN, damaged
from querist.labels import decode
from querist.types import Sparse

_DAMAGED = (*BROKEN, zipfile.BadZipFile)


def from_npz(path: Path, weights: str | None, labels: str | None) -> Found:
    """The graph in an archive; `weights` and `labels` name arrays in it."""
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
    except (*_DAMAGED, AttributeError, TypeError) as error:
        raise damaged(path.name, error) from error


def _from_scipy(path: Path) -> Found:
    try:
        matrix: Any = sp.load_npz(path)
        if matrix.format in ("csr", "csc"):
            matrix.check_format(full_check=True)
    except _DAMAGED as error:
        raise damaged(path.name, error) from error
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
    except _DAMAGED as error:
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

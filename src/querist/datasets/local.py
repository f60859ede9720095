"""Sets on this machine: `NAME.npz` in the directory QUERIST_DATA, or in the user's cache.

A file holds a graph (`edges`, ...) or vectors (`X`, `y`). Its counts come from the
`MANIFEST.json` beside it, or from the headers of its arrays: nothing big is read.
"""

import json
import os
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist import npz
from querist.errors import InputError, QueristError
from querist.graph import Graph, as_graph
from querist.labels import class_order, is_missing
from querist.tables.files import read_vectors
from querist.tables.formats import BROKEN
from querist.types import Floats, Sparse

SUBSETS = {"a1a": "a9a", "a6a": "a9a", "a7a": "a9a", "a8a": "a9a", "w1a": "w8a", "w7a": "w8a"}
"""Sets that are rows of another: `rows_NAME` in its file."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """Feature vectors with a label each.

    X : (n, d) array, or CSR where the source is sparse
    y : (n,) labels, -1 and +1 in binary sets; those of a file are objects, None where unlabelled

    >>> flowers = Vectors(np.array([[1.0], [2.0]]), np.array(["rose", "tulip"]))
    >>> flowers.classes
    ('rose', 'tulip')
    """

    X: Floats | Sparse
    y: Any
    name: str = "vectors"

    def __post_init__(self) -> None:
        values = self.X.data if sp.issparse(self.X) else np.asarray(self.X)
        if self.X.ndim != 2 or self.y.shape != (self.X.shape[0],):
            raise InputError(f"{self.name}: X is {self.X.shape} and y {self.y.shape}; give one label a row")
        if not np.isfinite(values).all():
            raise InputError(f"{self.name}: X holds NaN or infinite values; remove or replace them")
        odd = next((v for v in self.y.tolist() if not isinstance(v, Hashable)), None)
        if odd is not None:
            raise InputError(f"{self.name}: label {odd!r} is not hashable; use strings, numbers or tuples")

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The labels that occur, sorted."""
        return class_order(label for label in self.y.tolist() if not is_missing(label))

    def describe(self) -> str:
        """One line: what it is."""
        n, d = self.X.shape
        storage = ", sparse" if sp.issparse(self.X) else ""
        return f"{self.name}: {n:,} vectors of {d:,} features{storage}, {len(self.classes)} classes"

    def __repr__(self) -> str:
        return f"<Vectors {self.describe()}>"


@dataclass(frozen=True)
class Row:
    """A line of the catalogue, None where a file does not say; `source` says where it would come from now.

    >>> Row("mine", "graph", nodes=34).edges is None
    True
    """

    name: str
    kind: str
    nodes: int | None = None
    edges: int | None = None
    classes: int | None = None
    attributes: int | None = None
    source: str = ""
    about: str = ""
    licence: str = ""


def data_dir() -> Path | None:
    """The directory that QUERIST_DATA names, or None where it is not set.

    >>> found = data_dir()
    >>> found is None or found.is_dir()
    True
    """
    given = os.environ.get("QUERIST_DATA")
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise InputError(f"QUERIST_DATA is {given!r}, which is not a directory; correct it or unset it")
    return folder


def cache_dir() -> Path:
    """Where downloads are kept: QUERIST_CACHE, or the user's cache directory.

    >>> cache_dir().is_absolute()
    True
    """
    import platformdirs

    given = os.environ.get("QUERIST_CACHE") or platformdirs.user_cache_dir("querist", appauthor=False)
    return Path(given).expanduser()


def names_in(folder: Path | None) -> list[str]:
    """The sets in a directory; none where it does not exist."""
    found = () if folder is None else folder.glob("[!.]*.npz")
    return sorted(path.stem for path in found if path.is_file())


def subset_home(folder: Path | None, name: str) -> Path | None:
    """The file that holds the rows of a subset, where it is there."""
    if folder is None or name not in SUBSETS:
        return None
    path = folder / f"{SUBSETS[name]}.npz"
    return path if path.is_file() and f"rows_{name}" in _shapes(path) else None


def read_subset(path: Path, name: str) -> Vectors:
    """The rows that the file of a larger set calls `name`."""
    whole = read(path)
    if not isinstance(whole, Vectors):
        raise InputError(f"{path}: holds a graph, not vectors, so {name} cannot be rows of it")
    rows = npz.read(path, [f"rows_{name}"])[f"rows_{name}"]
    return Vectors(whole.X[rows], whole.y[rows], name)


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        return npz.shapes(path)
    except BROKEN:
        return {}


def subset_counts(path: Path, name: str) -> Row:
    """The counts of a subset: those of the larger set, but for the rows."""
    return replace(counts(path), name=name, nodes=_shapes(path)[f"rows_{name}"][0])


def read(path: Path, name: str | None = None) -> Graph | Vectors:
    """The graph or the vectors in a file, or an error that names the file."""
    try:
        if path.suffix == ".npz" and path.is_file() and _vectors(npz.shapes(path)):
            found = read_vectors(path)
            return Vectors(found.X, np.array(found.labels, dtype=np.int64), name or found.name)
        return as_graph(path, name=name)
    except QueristError as problem:
        if str(path) in str(problem):
            raise
        raise InputError(f"{path}: {problem}") from problem
    except BROKEN as problem:
        raise InputError(f"{path}: cannot be read ({problem}); get the file again") from problem


def counts(path: Path) -> Row:
    """The counts of a file, without reading its data."""
    try:
        stated = _manifest(path.parent / "MANIFEST.json").get(path.name)
        return Row(path.stem, *(_from_headers(path) if stated is None else _from_manifest(stated["counts"])))
    except BROKEN:
        return Row(path.stem, "damaged")


Counts = tuple[str, int | None, int | None, int, int]
"""Kind, nodes, edges, classes and attributes."""


def _from_manifest(stated: dict[str, Any]) -> Counts:
    if stated["kind"] == "vector":
        return "vectors", stated["rows"], None, len(stated["class_counts"]), stated["features"]
    classes = stated.get("classes", stated.get("multilabel_classes", 0))
    return "graph", stated["nodes"], stated["edges"], classes, stated.get("features", 0)


def _from_headers(path: Path) -> Counts:
    shape = npz.shapes(path)
    arrays = npz.read(path, ["X_shape", "y", "features_shape", "labels_shape", "labels"])
    if _vectors(shape):
        n, d = arrays["X_shape"] if "X_shape" in shape else shape["X"]
        return "vectors", int(n), None, len(np.unique(arrays["y"])), int(d)
    small = {key: arrays[key].tolist() for key in ("features_shape", "labels_shape") if key in shape}
    coded = int(arrays["labels"].max(initial=-1)) + 1 if "labels" in shape else 0
    by_node = (shape.get("labels"), shape.get("node_names"), *small.values())
    nodes = next((dimensions[0] for dimensions in by_node if dimensions), None)
    classes = shape.get("class_names", small.get("labels_shape", [coded]))[-1]
    return "graph", nodes, shape["edges"][0], classes, small.get("features_shape", [0])[-1]


def _vectors(members: dict[str, tuple[int, ...]]) -> bool:
    return "edges" not in members and ("X" in members or "X_data" in members) and "y" in members


def _manifest(path: Path) -> dict[str, Any]:
    return _parsed(path, path.stat().st_mtime_ns) if path.is_file() else {}


@lru_cache(maxsize=8)
def _parsed(path: Path, changed: int) -> dict[str, Any]:
    """The files that a manifest speaks of; read once for a directory, not once for a set."""
    try:
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}

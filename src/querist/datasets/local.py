"""Sets on this machine: `NAME.npz` in the directory QUERIST_DATA, or in the user's cache.

A file holds a graph (`edges`, ...) or vectors (`X`, `y`). Its counts come from the headers of its arrays:
nothing big is read.
"""

import os
from collections.abc import Hashable
from dataclasses import dataclass
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


def folders() -> tuple[Path, ...]:
    """The directories that data sets are read from: QUERIST_DATA if it is set, then the user's cache.

    >>> all(folder.is_absolute() for folder in folders())
    True
    """
    return tuple(folder.absolute() for folder in (data_dir(), cache_dir()) if folder is not None)


def data_dir() -> Path | None:
    """The directory that QUERIST_DATA names; None if it is not set."""
    given = os.environ.get("QUERIST_DATA")
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise InputError(f"QUERIST_DATA is {given!r}, which is not a directory; correct it or unset it")
    return folder


def cache_dir() -> Path:
    """The directory of downloads: QUERIST_CACHE, or the user's cache directory."""
    import platformdirs

    given = os.environ.get("QUERIST_CACHE") or platformdirs.user_cache_dir("querist", appauthor=False)
    return Path(given).expanduser()


def names_in(folder: Path | None) -> list[str]:
    """The sets in a directory; none where it does not exist."""
    found = () if folder is None else folder.glob("[!.]*.npz")
    return sorted(path.stem for path in found if path.is_file())


def file_of(folder: Path | None, name: str) -> Path | None:
    """The file in a directory that holds a set: its own, or that of a larger set whose rows it is."""
    for stem in (name, SUBSETS.get(name)) if folder is not None else ():
        path = Path(folder or "", f"{stem}.npz")
        if path.is_file() and (stem == name or f"rows_{name}" in _shapes(path)):
            return path
    return None


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    try:
        return npz.shapes(path)
    except BROKEN:
        return {}


def read(path: Path, name: str | None = None) -> Graph | Vectors:
    """The graph or the vectors in a file, or an error that names the file."""
    try:
        shapes = npz.shapes(path) if path.suffix == ".npz" and path.is_file() else {}
        if not _vectors(shapes):
            return as_graph(path, name=name)
        found, rows = read_vectors(path), f"rows_{name}"
        own = npz.read(path, [rows])[rows] if rows in shapes else slice(None)
        return Vectors(found.X[own], np.array(found.labels, dtype=np.int64)[own], name or found.name)
    except QueristError as problem:
        if str(path) in str(problem):
            raise
        raise InputError(f"{path}: {problem}") from problem
    except BROKEN as problem:
        raise InputError(f"{path}: cannot be read ({problem}); get the file again") from problem


def counts(path: Path, name: str) -> Row:
    """The counts of a set in a file, without reading its data."""
    try:
        return _from_headers(path, name)
    except BROKEN:
        return Row(name, "damaged")


def _from_headers(path: Path, name: str) -> Row:
    shape = npz.shapes(path)
    arrays = npz.read(path, ["X_shape", "y", "features_shape", "labels_shape", "labels"])
    if _vectors(shape):
        n, d = arrays["X_shape"] if "X_shape" in shape else shape["X"]
        (n,) = shape.get(f"rows_{name}", (n,))
        return Row(name, "vectors", int(n), None, len(np.unique(arrays["y"])), int(d))
    small = {key: arrays[key].tolist() for key in ("features_shape", "labels_shape") if key in shape}
    coded = int(arrays["labels"].max(initial=-1)) + 1 if "labels" in shape else 0
    by_node = (shape.get("labels"), shape.get("node_names"), *small.values())
    nodes = next((dimensions[0] for dimensions in by_node if dimensions), None)
    classes = shape.get("class_names", small.get("labels_shape", [coded]))[-1]
    attributes = small.get("features_shape", [0])[-1]
    return Row(name, "graph", nodes, shape["edges"][0], classes, attributes)


def _vectors(members: dict[str, tuple[int, ...]]) -> bool:
    return "edges" not in members and ("X" in members or "X_data" in members) and "y" in members

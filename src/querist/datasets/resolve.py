"""One name, one place: bundled, then QUERIST_DATA, then the user's cache, then a download.

A file `NAME.npz` holds a graph (`edges`, ...) or vectors (`X`, `y`). The catalogue takes its counts from the
headers of its arrays: nothing big is read.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from querist import npz
from querist.atomic import checked_path
from querist.datasets.bundled import BUILDERS, BUNDLED
from querist.datasets.fetch import by_hand, fetch
from querist.datasets.registry import ENTRIES, Row
from querist.errors import DownloadError, InputError, QueristError, UnknownNameError
from querist.graph import Graph, as_graph
from querist.graph_options import GraphKeywords
from querist.labels import encode
from querist.progress import Progress, silent
from querist.tables.files import STANDARD_INPUT, is_file_name, read_vectors
from querist.tables.formats import BROKEN, Vectors
from querist.types import Codes

SUBSETS = {"a1a": "a9a", "a6a": "a9a", "a7a": "a9a", "a8a": "a9a", "w1a": "w8a", "w7a": "w8a"}
"""Sets that are rows of another: `rows_NAME` in its file."""


def read_set(name: str | os.PathLike[str], *, progress: Progress = silent) -> Graph | Vectors:
    """The graph or the vectors of a data set, by its name or the path of its file."""
    if is_path(name):
        return _read(checked_path(name).expanduser())
    assert isinstance(name, str)
    if name in BUILDERS:
        return BUILDERS[name]()
    if (path := _file_of(name)) is not None:
        return _read(path, name)
    cached, entry = cache_dir() / f"{name}.npz", ENTRIES.get(name)
    if cached.is_file():
        try:
            return _read(cached, name)
        except InputError:
            # The user did not put this file there: a fresh download mends it.
            if entry is None or not entry.sources:
                raise
    if entry is None:
        raise UnknownNameError.of("data set", name, names())
    places = f"QUERIST_DATA ({data_dir() or 'not set'}) nor in the cache ({cached.parent})"
    looked = f"{name!r} is neither in {places}"
    if not entry.sources:
        raise DownloadError(f"{looked}, and it has no public download. {by_hand(entry)}")
    try:
        return _read(fetch(entry, cached.parent, progress=progress), name)
    except DownloadError as problem:
        raise DownloadError(f"{looked}, and {problem}") from problem


class LoadKeywords(GraphKeywords, total=False):
    """The keywords of `as_graph`."""

    nodes: Any
    weights: Any
    labels: Any
    attributes: Any


def load_graph(
    name: str | os.PathLike[str], /, *, progress: Progress = silent, **options: Unpack[LoadKeywords]
) -> Graph:
    """The graph of a data set by its name, or the graph in a file by its path.

    A name is looked for in this order: the bundled sets, the directory QUERIST_DATA, the user's
    cache, a checksummed download from the public source (`progress` is called as it comes).
    `options` are those of `as_graph` and say how to read a file.

    >>> load_graph("karate").describe()
    'karate: 34 nodes, 78 edges, 2 classes, connected'
    """
    if options and not is_path(name):
        given = " and ".join(f"{option}=" for option in options)
        raise InputError(f"{name} is a data set, which needs no {given}: that is for files; leave it out")
    if options:
        return as_graph(name, **options)
    found = read_set(name, progress=progress)
    if isinstance(found, Vectors):
        raise InputError(f"{found.name} holds vectors, not a graph; join near rows to a graph first")
    return found


def load_vectors(
    name: str | os.PathLike[str], *, label: str | None = None, progress: Progress = silent
) -> Vectors:
    """The vectors of a data set by its name, or the table in a file by its path.

    A name is looked for where `load_graph` looks. `label` names the column of a file that holds the labels;
    None in `y` is unlabelled.

    >>> from pathlib import Path
    >>> _ = Path("flowers.csv").write_text("length,label\\n1.0,rose\\n2.0,\\n")
    >>> load_vectors("flowers.csv", label="label").y.tolist()
    ['rose', None]
    """
    if is_file_name(os.fspath(name), "vectors"):
        return read_vectors(Path(name).expanduser(), label)
    found = read_set(name, progress=progress)
    if not isinstance(found, Vectors):
        raise InputError(
            f"{found.name} holds a graph, not vectors; see querist evaluate online and collective"
        )
    return found


def labelled_vectors(name: str, label: str | None = None) -> tuple[Any, Codes, tuple[Any, ...], str]:
    """X, class codes (-1 where unlabelled), the classes and the name of a set or file of vectors."""
    found = load_vectors(name, label=label)
    known = encode(found.y.tolist())
    if len(known.classes) < 2:
        raise InputError(
            f"{found.name} has {len(known.classes)} classes, {list(known.classes)!r}; at least 2 are needed"
        )
    return found.X, known.codes, known.classes, found.name


def is_path(name: str | os.PathLike[str]) -> bool:
    """Whether this is a file ("-" is the standard input), and not the name of a data set.

    >>> is_path("edges.csv"), is_path("-"), is_path("cora")
    (True, True, False)
    """
    if not isinstance(name, str) or name == STANDARD_INPUT:
        return True
    if "/" in name or os.sep in name or is_file_name(name):
        return True
    return Path(name).is_file() and name not in names()


# -- the catalogue ------------------------------------------------------------


def names() -> set[str]:
    """Every name that `load_graph` and `load_vectors` know."""
    files = [path for folder in folders() for path in folder.glob("[!.]*.npz") if path.is_file()]
    subsets = [name for name in SUBSETS if _file_of(name) is not None]
    return {*BUILDERS, *ENTRIES, *subsets, *(path.stem for path in files)}


def catalogue() -> list[Row]:
    """All data sets with a name, and where each would come from right now.

    >>> [row.source for row in catalogue() if row.name == "karate"]
    ['bundled']
    """
    return [_row(name) for name in sorted(names())]


def _row(name: str) -> Row:
    row, cached = BUNDLED.get(name) or ENTRIES.get(name) or Row(name), cache_dir() / f"{name}.npz"
    if name in BUILDERS:
        return replace(row, source="bundled" if name in BUNDLED else "plugin")
    if (path := _file_of(name)) is not None:
        return _counted(row, path, "QUERIST_DATA")
    if name not in ENTRIES or cached.is_file():
        return _counted(row, cached, "cache")
    return replace(row, source="download" if ENTRIES[name].sources else "absent")


def _counted(row: Row, path: Path, source: str) -> Row:
    """The line of a set with the counts of its file, whose data are not read."""
    try:
        kind, n, m, k, d = _counts(path, row.name)
    except BROKEN:
        kind, n, m, k, d = "damaged", None, None, None, None
    return replace(row, source=source, kind=kind, nodes=n, edges=m, classes=k, attributes=d)


def _counts(path: Path, name: str) -> tuple[str, int | None, int | None, int | None, int | None]:
    """What a file holds, its nodes, edges, classes and attributes; None for what its headers do not say."""
    shape = npz.shapes(path)
    arrays = npz.read(path, ["X_shape", "y", "features_shape", "labels_shape", "labels"])
    if _are_vectors(shape):
        n, d = arrays["X_shape"] if "X_shape" in shape else shape["X"]
        (n,) = shape.get(f"rows_{name}", (n,))
        return "vectors", int(n), None, len(np.unique(arrays["y"])), int(d)
    small = {key: arrays[key].tolist() for key in ("features_shape", "labels_shape") if key in shape}
    coded = int(arrays["labels"].max(initial=-1)) + 1 if "labels" in shape else 0
    by_node = (shape.get("labels"), shape.get("node_names"), *small.values())
    nodes = next((dimensions[0] for dimensions in by_node if dimensions), None)
    classes = shape.get("class_names", small.get("labels_shape", [coded]))[-1]
    return "graph", nodes, shape["edges"][0], classes, small.get("features_shape", [0])[-1]


# -- files on this machine ----------------------------------------------------


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


def _file_of(name: str) -> Path | None:
    """The file in QUERIST_DATA that holds a set: its own, or that of a larger set whose rows it is."""
    for stem in (name, SUBSETS.get(name)) if (folder := data_dir()) is not None else ():
        path = Path(folder or "", f"{stem}.npz")
        if path.is_file() and (stem == name or f"rows_{name}" in _shapes(path)):
            return path
    return None


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays in an archive; none where it cannot be read."""
    try:
        return npz.shapes(path)
    except BROKEN:
        return {}


def _read(path: Path, name: str | None = None) -> Graph | Vectors:
    """The graph or the vectors in a file, or an error that names the file."""
    try:
        shapes, rows = _shapes(path) if path.suffix == ".npz" else {}, f"rows_{name}"
        if not _are_vectors(shapes):
            return as_graph(path, name=name)
        found = read_vectors(path)
        own = npz.read(path, [rows])[rows] if rows in shapes else slice(None)
        return Vectors(found.X[own], found.y[own], name or found.name)
    except (QueristError, *BROKEN) as problem:
        if str(path) in str(problem):
            raise
        raise InputError(f"{path}: {problem}") from problem


def _are_vectors(arrays: dict[str, tuple[int, ...]]) -> bool:
    return "edges" not in arrays and ("X" in arrays or "X_data" in arrays) and "y" in arrays

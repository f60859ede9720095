"""One name, one place: bundled, then QUERIST_DATA, then the user's cache, then a download."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from querist.datasets import local
from querist.datasets.bundled import BUILDERS, BUNDLED
from querist.datasets.fetch import by_hand, fetch, read_source
from querist.datasets.local import Row, Vectors
from querist.datasets.registry import ENTRIES, DownloadSource, Entry
from querist.errors import DownloadError, InputError, UnknownNameError
from querist.graph import Graph, as_graph
from querist.labels import encode
from querist.progress import Progress, silent
from querist.tables.files import STANDARD_INPUT, is_file_name, read_vectors
from querist.types import Codes


def load(name: str | os.PathLike[str], *, progress: Progress = silent) -> Graph | Vectors:
    """A data set by its name, or the graph in a file by its path.

    Looked for in this order: the bundled sets, the directory QUERIST_DATA, the user's
    cache, a checksummed download from the public source (`progress` is called as it comes).

    >>> load("karate").describe()
    'karate: 34 nodes, 78 edges, 2 classes, connected'
    """
    if is_path(name):
        return local.read(Path(name).expanduser())
    assert isinstance(name, str)
    if name in BUNDLED:
        return BUILDERS[name]()
    folder, entry = local.data_dir(), ENTRIES.get(name)
    if (found := _in_folder(folder, name, entry)) is not None:
        return found.read()
    cached = local.cache_dir() / f"{name}.npz"
    if cached.is_file():
        try:
            return local.read(cached, name)
        except InputError:
            # The user did not put this file there: a fresh download mends it.
            if entry is None or not entry.sources:
                raise
    if entry is None:
        raise UnknownNameError.of("data set", name, (row.name for row in catalogue()))
    looked = f"{name!r} is neither in QUERIST_DATA ({folder or 'not set'}) nor in the cache ({cached.parent})"
    if not entry.sources:
        raise DownloadError(f"{looked}, and it has no public download. {by_hand(entry)}")
    try:
        return local.read(fetch(entry, cached.parent, progress=progress), name)
    except DownloadError as problem:
        raise DownloadError(f"{looked}, and {problem}") from problem


def load_graph(name: str | os.PathLike[str], *, progress: Progress = silent, **options: Any) -> Graph:
    """`load`, where only a graph will do; `options` of `as_graph` say how to read a file.

    >>> load_graph("karate").n_edges
    78
    """
    if options and not is_path(name):
        given = " and ".join(f"{option}=" for option in options)
        raise InputError(f"{name} is a data set, which needs no {given}: that is for files; leave it out")
    if options:
        return as_graph(name, **options)
    found = load(name, progress=progress)
    if isinstance(found, Vectors):
        raise InputError(f"{found.name} holds vectors, not a graph; join near rows to a graph first")
    return found


def load_vectors(
    name: str | os.PathLike[str], *, label: str | None = None, progress: Progress = silent
) -> Vectors:
    """`load`, where only vectors will do: a data set by its name, or the table in a file by its path.

    `label` names the column of a file that holds the labels; None in `y` is unlabelled.

    >>> from pathlib import Path
    >>> _ = Path("flowers.csv").write_text("length,label\\n1.0,rose\\n2.0,\\n")
    >>> load_vectors("flowers.csv", label="label").y.tolist()
    ['rose', None]
    """
    if is_file_name(os.fspath(name), "vectors"):
        table = read_vectors(Path(name).expanduser(), label)
        y = np.empty(len(table.labels), dtype=object)
        y[:] = table.labels
        return Vectors(table.X, y, table.name)
    found = load(name, progress=progress)
    if not isinstance(found, Vectors):
        raise InputError(
            f"{found.name} holds a graph, not vectors; see online and classify (collective in TOML)"
        )
    return found


def labelled_vectors(name: str, label: str | None = None) -> tuple[Any, Codes, tuple[Any, ...], str]:
    """X, class codes (-1 where unlabelled), the classes and the name of a set or file of vectors."""
    found = load_vectors(name, label=label)
    codes, classes = encode(found.y.tolist())
    if len(classes) < 2:
        raise InputError(f"{found.name} has {len(classes)} classes, {list(classes)!r}; at least 2 are needed")
    return found.X, codes, classes, found.name


def is_path(name: str | os.PathLike[str]) -> bool:
    """Whether this is a file ("-" is the standard input) for `load`, and not the name of a data set.

    >>> is_path("edges.csv"), is_path("-"), is_path("cora")
    (True, True, False)
    """
    if not isinstance(name, str) or name == STANDARD_INPUT:
        return True
    if "/" in name or os.sep in name or is_file_name(name):
        return True
    return name not in BUNDLED and name not in ENTRIES and Path(name).is_file()


def catalogue() -> list[Row]:
    """All sets that `load` knows by name, and where each would come from right now.

    >>> [row.source for row in catalogue() if row.name == "karate"]
    ['bundled']
    """
    folder, cache = local.data_dir(), local.cache_dir()
    subsets = [name for name in local.SUBSETS if local.subset_home(folder, name) is not None]
    names = {*BUNDLED, *ENTRIES, *local.names_in(folder), *subsets, *local.names_in(cache)}
    return [_row(name, folder, cache) for name in sorted(names)]


class _Place(NamedTuple):
    """How to read a set, and how to count it without reading it."""

    read: Callable[[], Graph | Vectors]
    counts: Callable[[], Row]


def _in_folder(folder: Path | None, name: str, entry: Entry | None) -> _Place | None:
    """The set in its own file, in the file of a larger set, or in source files fetched by hand."""
    if folder is None:
        return None
    if (path := folder / f"{name}.npz").is_file():
        return _Place(partial(local.read, path, name), partial(local.counts, path))
    if (home := local.subset_home(folder, name)) is not None:
        return _Place(partial(local.read_subset, home, name), partial(local.subset_counts, home, name))
    if entry is not None and (source := _source_in(folder, entry)) is not None:
        return _Place(partial(_from_files, folder, entry, source), partial(_stated, entry))
    return None


def _row(name: str, folder: Path | None, cache: Path) -> Row:
    entry = BUNDLED.get(name) or ENTRIES.get(name)
    row = _counted(name, entry, folder, cache)
    return row if entry is None else replace(row, about=entry.about, licence=entry.licence)


def _counted(name: str, entry: Entry | None, folder: Path | None, cache: Path) -> Row:
    if name in BUNDLED:
        return _stated(BUNDLED[name], "bundled")
    if (found := _in_folder(folder, name, entry)) is not None:
        return replace(found.counts(), source="QUERIST_DATA")
    if entry is None or (cache / f"{name}.npz").is_file():
        return replace(local.counts(cache / f"{name}.npz"), source="cache")
    return _stated(entry, "download" if entry.sources else "absent")


def _stated(entry: Entry, source: str = "") -> Row:
    return Row(entry.name, "graph", entry.nodes, entry.edges, entry.classes, entry.attributes, source)


def _source_in(folder: Path, entry: Entry) -> DownloadSource | None:
    """The source all of whose files lie in the folder."""
    complete = (s for s in entry.sources if all((folder / file.name).is_file() for file in s.files))
    return next(complete, None)


def _from_files(folder: Path, entry: Entry, source: DownloadSource) -> Graph | Vectors:
    """The graph in source files that were fetched by hand."""
    try:
        arrays = read_source(entry, source, [folder / file.name for file in source.files])
    except InputError as problem:
        raise InputError(f"{folder}: {problem}; get the files again or remove them") from problem
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{entry.name}.npz"
        np.savez(path, **arrays)
        return local.read(path, entry.name)

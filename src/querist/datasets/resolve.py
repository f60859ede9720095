"""One name, one place: bundled, then QUERIST_DATA, then the user's cache, then a download."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from querist.atomic import checked_path
from querist.datasets import local
from querist.datasets.bundled import BUILDERS, BUNDLED
from querist.datasets.fetch import by_hand, fetch
from querist.datasets.local import Row, Vectors
from querist.datasets.registry import ENTRIES
from querist.errors import DownloadError, InputError, UnknownNameError
from querist.graph import Graph, as_graph
from querist.graph_options import GraphKeywords
from querist.labels import encode
from querist.progress import Progress, silent
from querist.tables.files import STANDARD_INPUT, is_file_name, read_vectors
from querist.types import Codes


def read_set(name: str | os.PathLike[str], *, progress: Progress = silent) -> Graph | Vectors:
    """The graph or the vectors of a data set, by its name or the path of its file."""
    if is_path(name):
        return local.read(checked_path(name).expanduser())
    assert isinstance(name, str)
    if name in BUILDERS:
        return BUILDERS[name]()
    folder, entry = local.data_dir(), ENTRIES.get(name)
    if (path := local.file_of(folder, name)) is not None:
        return local.read(path, name)
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
        table = read_vectors(Path(name).expanduser(), label)
        y = np.empty(len(table.labels), dtype=object)
        y[:] = table.labels
        return Vectors(table.X, y, table.name)
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


def names() -> set[str]:
    """Every name that `load` knows."""
    folder, cache = local.data_dir(), local.cache_dir()
    subsets = [name for name in local.SUBSETS if local.file_of(folder, name) is not None]
    return {*BUILDERS, *ENTRIES, *local.names_in(folder), *subsets, *local.names_in(cache)}


def catalogue() -> list[Row]:
    """All data sets with a name, and where each would come from right now.

    >>> [row.source for row in catalogue() if row.name == "karate"]
    ['bundled']
    """
    folder, cache = local.data_dir(), local.cache_dir()
    return [_row(name, folder, cache) for name in sorted(names())]


def _row(name: str, folder: Path | None, cache: Path) -> Row:
    entry, cached = BUNDLED.get(name) or ENTRIES.get(name), cache / f"{name}.npz"
    row = Row(name, "graph")
    if entry is not None:
        row = Row(name, "graph", entry.nodes, entry.edges, entry.classes, entry.attributes)
    if name in BUILDERS:
        source = "bundled" if name in BUNDLED else "plugin"
    elif (path := local.file_of(folder, name)) is not None:
        row, source = local.counts(path, name), "QUERIST_DATA"
    elif entry is None or cached.is_file():
        row, source = local.counts(cached, name), "cache"
    else:
        source = "download" if entry.sources else "absent"
    about, licence = ("", "") if entry is None else (entry.about, entry.licence)
    return replace(row, source=source, about=about, licence=licence)

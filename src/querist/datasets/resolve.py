"""One name, one place: bundled, then QUERIST_DATA, then the user's cache, then a download."""

import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from querist.datasets import local
from querist.datasets.bundled import BUNDLED
from querist.datasets.fetch import Report, by_hand, fetch, read_source
from querist.datasets.local import FileContents, Vectors
from querist.datasets.registry import ENTRIES, DownloadSource, Entry
from querist.errors import DownloadError, InputError, UnknownNameError
from querist.graph import Graph, as_graph
from querist.tables.files import STANDARD_INPUT, is_file_name, read_vectors


@dataclass(frozen=True)
class Row:
    """A line of the catalogue; `source` says where the set would come from right now."""

    name: str
    kind: str
    nodes: int | None
    edges: int | None
    classes: int | None
    attributes: int | None
    source: str
    about: str = ""
    licence: str = ""


def load(name: str | os.PathLike[str], *, report: Report | None = None) -> Graph | Vectors:
    """A data set by its name, or the graph in a file by its path.

    Looked for in this order: the bundled sets, the directory QUERIST_DATA, the user's
    cache, a checksummed download from the public source (`report` is called as it comes).

    >>> load("karate").describe()
    'karate: 34 nodes, 78 edges, 2 classes, connected'
    """
    if is_path(name):
        return local.read(Path(name).expanduser())
    assert isinstance(name, str)
    if name in BUNDLED:
        return BUNDLED[name].build()
    folder, entry = local.data_dir(), ENTRIES.get(name)
    if folder is not None and (found := _in_folder(folder, name, entry)) is not None:
        return found
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
        return local.read(fetch(entry, cached.parent, report=report), name)
    except DownloadError as problem:
        raise DownloadError(f"{looked}, and {problem}") from problem


def load_graph(name: str | os.PathLike[str], *, report: Report | None = None, **options: Any) -> Graph:
    """`load`, where only a graph will do; `options` of `as_graph` say how to read a file."""
    if options and not is_path(name):
        given = " and ".join(f"{option}=" for option in options)
        raise InputError(f"{name} is a data set, which needs no {given}: that is for files; leave it out")
    if options:
        return as_graph(Path(name).expanduser(), **options)
    found = load(name, report=report)
    if isinstance(found, Vectors):
        raise InputError(f"{found.name} holds vectors, not a graph; join near rows to a graph first")
    return found


def load_vectors(
    name: str | os.PathLike[str], *, label: str | None = None, report: Report | None = None
) -> Vectors:
    """`load`, where only vectors will do: a data set by its name, or the table in a file by its path.

    `label` names the column of a file that holds the labels; None in `y` is unlabelled.
    """
    if is_file_name(os.fspath(name), "vectors"):
        table = read_vectors(Path(name).expanduser(), label)
        y = np.empty(len(table.labels), dtype=object)
        y[:] = table.labels
        return Vectors(table.X, y, table.name)
    found = load(name, report=report)
    if not isinstance(found, Vectors):
        raise InputError(
            f"{found.name} holds a graph, not vectors; see online and classify (collective in TOML)"
        )
    return found


def is_path(name: str | os.PathLike[str]) -> bool:
    """Whether this is a file ("-" is the standard input) for `load`, and not the name of a data set."""
    if not isinstance(name, str) or name == STANDARD_INPUT:
        return True
    if "/" in name or os.sep in name or is_file_name(name):
        return True
    return name not in BUNDLED and name not in ENTRIES and Path(name).is_file()


def catalogue() -> list[Row]:
    """All sets that `load` knows by name, and where each would come from right now."""
    folder, cache = local.data_dir(), local.cache_dir()
    names = {*BUNDLED, *ENTRIES, *local.names_in(folder), *local.subsets_in(folder), *local.names_in(cache)}
    return [_row(name, folder, cache) for name in sorted(names)]


def _in_folder(folder: Path, name: str, entry: Entry | None) -> Graph | Vectors | None:
    """The set in its own file, in the file of a larger set, or in source files fetched by hand."""
    if (path := folder / f"{name}.npz").is_file():
        return local.read(path, name)
    if (home := local.subset_home(folder, name)) is not None:
        return local.read_subset(home, name)
    if entry is not None and (source := _source_in(folder, entry)) is not None:
        return _from_files(folder, entry, source)
    return None


def _row(name: str, folder: Path | None, cache: Path) -> Row:
    if name in BUNDLED:
        b = BUNDLED[name]
        return Row(name, "graph", b.nodes, b.edges, b.classes, b.attributes, "bundled", b.about)
    entry = ENTRIES.get(name)
    counts, source = _whereabouts(name, entry, folder, cache)
    about, licence = (entry.about, entry.licence) if entry is not None else ("", "")
    return Row(name, source=source, about=about, licence=licence, **asdict(counts))


def _whereabouts(
    name: str, entry: Entry | None, folder: Path | None, cache: Path
) -> tuple[FileContents, str]:
    if folder is not None and (path := folder / f"{name}.npz").is_file():
        return local.counts(path), "QUERIST_DATA"
    if (home := local.subset_home(folder, name)) is not None:
        return local.subset_counts(home, name), "QUERIST_DATA"
    if folder is not None and entry is not None and _source_in(folder, entry) is not None:
        return _stated(entry), "QUERIST_DATA"
    if entry is None or (cache / f"{name}.npz").is_file():
        return local.counts(cache / f"{name}.npz"), "cache"
    return _stated(entry), "download" if entry.sources else "absent"


def _stated(entry: Entry) -> FileContents:
    return FileContents("graph", entry.nodes, entry.edges, entry.classes, entry.attributes)


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

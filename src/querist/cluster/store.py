"""Rows on disk, a file for every segment, so that any number of ranks can go on with them; results beside.

The folder must be one that all workers see. A file is there whole or not at all. Checkpoints are kept in two
generations: when one is being written, all ranks have the one before.
"""

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from querist.atomic import replacing
from querist.cluster.partition import RankRows, rank_bounds
from querist.cluster.shard import Shard
from querist.cluster.transport import Group
from querist.errors import InputError, QueristError
from querist.tables.arrow import pa, pq
from querist.types import Codes

Array = NDArray[Any]

WHOLE = "graph.npz"
"""What is known of all rows: bounds of the segments and the work of each."""


WORK, RUN = "_work", "run.txt"
"""Where in the folder of the results the graph and the checkpoints lie until they are no longer needed, and
what they are of."""


def begun(out: str | Path, tables: Any, settings: Sequence[Any]) -> Path:
    """The folder of results, made: empty, or with what a stopped run of the same work left.

    Refused where something else is in it.
    """
    place = Path(out).expanduser().resolve()
    if place.exists() and not place.is_dir():
        raise InputError(f"{out} is a file; name a folder, which will hold a parquet file for each part")
    (place / WORK).parent.mkdir(parents=True, exist_ok=True)
    there = sorted(path.name for path in place.iterdir())
    if there and WORK not in there:
        raise InputError(f"{out} holds {there[0]}; name a new folder, or an empty one")
    files = [(path, os.stat(path).st_size, os.stat(path).st_mtime_ns) for path in tables.files]
    work = f"{tables!r} {settings!r} {files!r}"
    (place / WORK).mkdir(exist_ok=True)
    mark = place / WORK / RUN
    if mark.exists() and mark.read_text(encoding="utf-8") != work:
        raise InputError(
            f"{out} holds what a stopped run left, and it was of other files or settings; name another "
            "folder, or remove that one"
        )
    with replacing(mark) as file:
        file.write(work.encode())
    return place


def _segments(bounds: Codes, rank: int, segments: Codes) -> list[tuple[int, slice]]:
    """The numbers of a rank's segments, and their rows there."""
    first, last = int(bounds[rank]), int(bounds[rank + 1])
    found = enumerate(zip(segments.tolist(), segments[1:].tolist(), strict=False))
    return [(number, slice(a - first, b - first)) for number, (a, b) in found if first <= a and b <= last]


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """An archive of arrays, whole or not at all."""
    with replacing(path) as file:
        np.savez(file, **arrays)


def write_rows(
    group: Group,
    folder: Path,
    rows: RankRows,
    ids: Any,
    beside: Mapping[str, Array],
    about: Mapping[str, Any],
) -> None:
    """Own segments: entries, ids (an Arrow array) and what is `beside` them by row; `about` is of all."""
    folder.mkdir(parents=True, exist_ok=True)
    work = []
    for number, part in _segments(rows.bounds, group.rank, rows.segments):
        first, last = int(rows.indptr[part.start]), int(rows.indptr[part.stop])
        save_arrays(
            folder / f"segment-{number:03d}.npz",
            {
                "indptr": rows.indptr[part.start : part.stop + 1] - first,
                "columns": rows.columns[first:last],
                "weights": rows.weights[first:last],
                **{name: values[part] for name, values in beside.items()},
            },
        )
        own = ids[part.start : part.stop]
        with replacing(folder / f"ids-{number:03d}.parquet") as file:
            pq.write_table(pa.table({"node": own}), file)
        work.append([number, last - first + part.stop - part.start])
    every = np.concatenate(group.everyone(np.array(work, dtype=np.int64).reshape(-1, 2)))
    if group.rank == 0:
        save_arrays(folder / WHOLE, {"segments": rows.segments, "work": every[:, 1], **about})
    group.everyone(np.zeros(1))  # it is there for all


def write_matrix(group: Group, folder: Path, rows: RankRows, matrix: Any) -> None:
    """Own segments of a sparse matrix whose columns all ranks share, as of attributes."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in _segments(rows.bounds, group.rank, rows.segments):
        own = matrix[part.start : part.stop]
        arrays = {"indptr": own.indptr, "indices": own.indices, "data": own.data, "columns": matrix.shape[1]}
        save_arrays(folder / f"attributes-{number:03d}.npz", arrays)


def load_matrix(shard: Shard, folder: Path) -> Any:
    """(own, columns) own rows of the matrix of attributes."""
    parts = []
    for number, rows in shard.own_segments:
        with np.load(folder / f"attributes-{number:03d}.npz", allow_pickle=False) as found:
            arrays = found["data"], found["indices"], found["indptr"]
            parts.append(sp.csr_array(arrays, shape=(rows.stop - rows.start, int(found["columns"]))))
    return sp.csr_array(sp.vstack(parts, format="csr")) if parts else sp.csr_array((0, 1))


def read_about(folder: Path) -> dict[str, Array]:
    """What is known of all rows."""
    with np.load(folder / WHOLE, allow_pickle=False) as found:
        return dict(found)


def load_rows(group: Group, folder: Path, *beside: str) -> tuple[RankRows, dict[str, Array]]:
    """The rows of this rank, of as many as there are now, and those arrays beside them."""
    about = read_about(folder)
    segments, work = about["segments"], about["work"]
    if group.size > work.size:
        raise QueristError(f"{group.size} ranks for a graph of {work.size} segments; use at most {work.size}")
    bounds = rank_bounds(segments, group.size, work)
    own = [number for number, _ in _segments(bounds, group.rank, segments)]
    parts = []
    for number in own:
        with np.load(folder / f"segment-{number:03d}.npz", allow_pickle=False) as found:
            parts.append({name: found[name] for name in ("indptr", "columns", "weights", *beside)})
    starts = np.cumsum([0, *(int(part["indptr"][-1]) for part in parts)])
    indptr = [part["indptr"][:-1] + start for part, start in zip(parts, starts, strict=False)]
    first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
    rows = RankRows(
        bounds,
        segments,
        np.concatenate([*indptr, starts[-1:]]),
        _together(parts, "columns"),
        _together(parts, "weights"),
        np.arange(first, last),
    )
    return rows, {name: _together(parts, name) for name in beside}


def _together(parts: list[dict[str, Array]], name: str) -> Array:
    """One array of all segments, which are given up on the way."""
    return np.concatenate([part.pop(name) for part in parts])


# -- checkpoints --------------------------------------------------------------------------------------


class Checkpoints:
    """Blocks of own rows by generation; `shard` says which segments are here."""

    def __init__(self, shard: Shard, folder: Path) -> None:
        self.shard, self.folder, self.generation = shard, folder, 0
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, number: int, generation: int) -> Path:
        return self.folder / f"block-{number:03d}-{generation}.npy"

    def save(self, X: Array) -> None:
        """The next generation; the one before the last is given up."""
        for number, rows in self.shard.own_segments:
            with replacing(self._path(number, self.generation)) as file:
                np.save(file, X[rows])
            with suppress(FileNotFoundError):
                self._path(number, self.generation - 2).unlink()
        self.generation += 1

    def newest(self) -> Array | None:
        """Own rows of the newest generation that is there for all segments; None where there is none."""
        own = [self._generations(number) for number, _ in self.shard.own_segments]
        common = set.intersection(*own) if own else set()
        found = self.shard.group.everyone(np.array(sorted(common), dtype=np.int64))
        holding = [set(each.tolist()) for each, (a, b) in zip(found, self._ranges(), strict=True) if a < b]
        shared = set.intersection(*holding) if holding else set()
        if not shared:
            return None
        self.generation = max(shared) + 1
        paths = [self._path(number, max(shared)) for number, _ in self.shard.own_segments]
        parts = [np.load(path, allow_pickle=False) for path in paths]
        return np.concatenate(parts) if parts else None

    def once(self, name: str, make: Callable[[], Array]) -> Array:
        """A small array that all ranks make alike, as the first rank has kept it; made where it has not."""
        path = self.folder / f"{name}.npy"
        own = (
            np.load(path, allow_pickle=False) if not self.shard.group.rank and path.exists() else np.zeros(0)
        )
        kept = self.shard.group.everyone(own)[0]
        if not kept.size:
            kept = make()
            if not self.shard.group.rank:
                with replacing(path) as file:
                    np.save(file, kept)
        return kept

    def _ranges(self) -> list[tuple[int, int]]:
        bounds = self.shard.bounds.tolist()
        return list(itertools.pairwise(bounds))

    def _generations(self, number: int) -> set[int]:
        names = (path.name for path in self.folder.glob(f"block-{number:03d}-*.npy"))
        return {int(found[1]) for name in names if (found := re.fullmatch(r"block-\d+-(\d+)\.npy", name))}


# -- results ------------------------------------------------------------------------------------------


def write_table(shard: Shard, work: Path, out: Path, columns: Mapping[str, Any]) -> int:
    """Own segments of a table of results, a parquet file each; bytes. Ids come first, as `node`.

    `columns` are arrays of own rows, NumPy's or Arrow's.
    """
    size = 0
    for number, rows in shard.own_segments:
        ids = pq.read_table(work / f"ids-{number:03d}.parquet")["node"]
        made = {name: pa.array(values[rows.start : rows.stop]) for name, values in columns.items()}
        place = out / f"part-{number:03d}.parquet"
        with replacing(place) as file:
            pq.write_table(pa.table({"node": ids, **made}), file)
        size += place.stat().st_size
    return size


def names_of(prefix: str, count: int) -> Sequence[str]:
    """Names of columns that are numbered from 1.

    >>> names_of("x", 2)
    ['x1', 'x2']
    """
    return [f"{prefix}{k}" for k in range(1, count + 1)]

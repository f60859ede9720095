"""Rows on disk, a file for every segment, so that any number of ranks can go on with them; results beside.

The folder must be one that all workers see. A file is there whole or not at all. Checkpoints are kept in two
generations: when one is being written, all ranks have the one before.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from querist import codec
from querist.atomic import replacing
from querist.cluster.partition import RankRows, rank_bounds
from querist.cluster.shard import Shard, segments_within
from querist.cluster.transport import Group
from querist.codec import Field, SavedKind
from querist.errors import InputError, QueristError
from querist.tables.arrow import pa, pq
from querist.types import Codes, Sparse

Array = NDArray[Any]


@dataclass(frozen=True)
class Whole:
    """What is known of all rows: bounds of the segments, the work of each, and numbers and names."""

    segments: Annotated[Codes, Field("ends", least=0)]
    work: Annotated[Codes, Field("segments", least=0)]
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Segment:
    """Rows of a segment, a column for each of all nodes; `beside` has a value for each row, and
    `attributes`, if there are any, a row."""

    rows: Annotated[Sparse, Field("rows nodes")]
    beside: Mapping[str, Annotated[Array, Field("rows")]]
    attributes: Annotated[Sparse, Field("rows columns")] | None = None


@dataclass(frozen=True)
class Checkpoint:
    """Rows of a block of vectors."""

    X: Annotated[Array, Field("rows columns", finite=False)]


WHOLE_KIND = SavedKind("cluster graph", 1, Whole)
SEGMENT = SavedKind("cluster segment", 1, Segment)
BLOCK = SavedKind("cluster checkpoint", 1, Checkpoint)

WHOLE = "graph.npz"
"""What is known of all rows."""

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


def write_rows(
    group: Group,
    folder: Path,
    rows: RankRows,
    ids: Any,
    beside: Mapping[str, Array],
    about: Mapping[str, Any],
    attributes: Any = None,
) -> None:
    """Own segments: entries, ids (an Arrow array), what is `beside` them by row and a sparse matrix whose
    columns all ranks share; `about` is of all."""
    folder.mkdir(parents=True, exist_ok=True)
    work = []
    for number, part in segments_within(rows.segments, *rows.bounds[group.rank : group.rank + 2]):
        first, last = int(rows.indptr[part.start]), int(rows.indptr[part.stop])
        own = (
            rows.weights[first:last],
            rows.columns[first:last],
            rows.indptr[part.start : part.stop + 1] - first,
        )
        matrix = sp.csr_array(own, shape=(part.stop - part.start, int(rows.bounds[-1])))
        counts = None if attributes is None else sp.csr_array(attributes[part])
        segment = Segment(matrix, {name: values[part] for name, values in beside.items()}, counts)
        codec.write(folder / f"segment-{number:03d}.npz", SEGMENT, segment)
        own = ids[part.start : part.stop]
        with replacing(folder / f"ids-{number:03d}.parquet") as file:
            pq.write_table(pa.table({"node": own}), file)
        work.append([number, last - first + part.stop - part.start])
    every = np.concatenate(group.everyone(np.array(work, dtype=np.int64).reshape(-1, 2)))
    if group.rank == 0:
        codec.write(folder / WHOLE, WHOLE_KIND, Whole(rows.segments, every[:, 1], about))
    group.everyone(np.zeros(1))  # it is there for all


def read_about(folder: Path) -> dict[str, Any]:
    """What is known of all rows."""
    return codec.read(folder / WHOLE, WHOLE_KIND, lambda whole: {**vars(whole), **whole.about})


def load_rows(group: Group, folder: Path) -> tuple[RankRows, dict[str, Array], Any]:
    """The rows of this rank, of as many as there are now, the arrays beside them, and their attributes."""
    about = read_about(folder)
    segments, work = about["segments"], about["work"]
    if group.size > work.size:
        raise QueristError(f"{group.size} ranks for a graph of {work.size} segments; use at most {work.size}")
    bounds = rank_bounds(segments, group.size, work)
    first, last = bounds[group.rank : group.rank + 2].tolist()
    own = [number for number, _ in segments_within(segments, first, last)]
    parts = [codec.read(folder / f"segment-{number:03d}.npz", SEGMENT, _parts) for number in own]
    starts = np.cumsum([0, *(int(part["indptr"][-1]) for part in parts)])
    indptr = [part.pop("indptr")[:-1] + start for part, start in zip(parts, starts, strict=False)]
    counts = [part.pop("attributes") for part in parts]
    # One array of all segments, which are given up on the way.
    whole = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
    entries = np.concatenate([*indptr, starts[-1:]]), whole.pop("columns"), whole.pop("weights")
    rows = RankRows(bounds, segments, *entries, np.arange(first, last))
    return rows, whole, None if counts[0] is None else sp.csr_array(sp.vstack(counts, format="csr"))


def _parts(segment: Segment) -> dict[str, Any]:
    rows = {"indptr": segment.rows.indptr, "columns": segment.rows.indices, "weights": segment.rows.data}
    return {**rows, "attributes": segment.attributes, **segment.beside}


# -- checkpoints --------------------------------------------------------------------------------------


class Checkpoints:
    """Blocks of own rows by generation; `shard` says which segments are here."""

    def __init__(self, shard: Shard, folder: Path) -> None:
        self.shard, self.folder, self.generation = shard, folder, 0
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, number: int, generation: int) -> Path:
        return self.folder / f"block-{number:03d}-{generation}.npz"

    def save(self, X: Array) -> None:
        """The next generation; the one before the last is given up."""
        for number, rows in self.shard.own_segments:
            codec.write(self._path(number, self.generation), BLOCK, Checkpoint(X[rows]))
            self._path(number, self.generation - 2).unlink(missing_ok=True)
        self.generation += 1

    def newest(self) -> Array | None:
        """Own rows of the newest generation that is there for all segments; None where there is none."""
        files = Counter(int(path.stem.rpartition("-")[2]) for path in self.folder.glob("block-*.npz"))
        whole = [each for each, count in files.items() if count == self.shard.segments.size - 1]
        newest = int(self.shard.group.everyone(np.array(max(whole, default=-1)))[0])
        if newest < 0:
            return None
        self.generation = newest + 1
        paths = [self._path(number, newest) for number, _ in self.shard.own_segments]
        parts = [codec.read(path, BLOCK, lambda block: block.X) for path in paths]
        return np.concatenate(parts) if parts else None


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

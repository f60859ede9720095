"""Edges in many files become rows at their owners: split on the ranks that read, assembled on those that own.

Every rank reads its share of the files a piece at a time, turns each edge both ways and hands the entries to
the owner of their row. An entry is two *keys*, whole numbers that stand for the ids of nodes:

- *dense*: ids that are whole numbers from 0 on with few gaps are keys as they are;
- *hashed*: others are hashed to 63 bits as texts. The owner of a key keeps its text: two texts with one key
  are noticed, and all are hashed another way.

A rank owns a run of the `SEGMENTS` ranges of the key space: what is assembled does not depend on the ranks.
Labels and attributes come by the same way. Nothing of the size of the graph comes to the driver.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from querist.atomic import checked_path
from querist.cluster.partition import SEGMENTS, RankRows, sorted_rows
from querist.cluster.transport import Group, delivered
from querist.compiled import compiled
from querist.errors import InputError
from querist.tables.arrow import pa, pc, pq
from querist.tables.files import read_table
from querist.tables.formats import Wanted
from querist.tables.names import WEIGHT, edge_columns, named
from querist.tables.readers.parquet import tables_in
from querist.types import Codes

GAPS = 4
"""Whole numbers below this many for each edge are keys as they are."""

TRIES = 3
"""Ways to hash texts, before two that have one key are taken for a fault."""

PIECE = 1 << 21
"""Rows of a table that are read at a time."""

ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")

Array = NDArray[Any]


# -- files ------------------------------------------------------------------------------------------


def table_files(place: str | Path) -> tuple[str, ...]:
    """The files of a table: all in a folder, by name, or the one that is named.

    A folder of parquet or of text; hidden files, and those that begin with _ as other programs' marks do, are
    left out.
    """
    path = checked_path(place).expanduser()
    if path.is_file():
        return (str(path.resolve()),)
    if not path.is_dir():
        raise InputError(f"{place}: no such file or folder; give a folder of {', '.join(ENDINGS)}")
    found = sorted(
        str(file.resolve())
        for file in path.rglob("*")
        if file.name.lower().endswith(ENDINGS) and not file.name.startswith((".", "_"))
    )
    if not found:
        raise InputError(f"{place}: no file in it ends in {', '.join(ENDINGS)}")
    return tuple(found)


def column_names(path: str) -> list[str]:
    """Of a table."""
    if path.lower().endswith(".parquet"):
        return list(pq.read_schema(path).names)
    return list(read_table(Path(path), Wanted(lambda columns: columns)).table.column_names)


def pieces(path: str, columns: Sequence[str], numbers: Sequence[str] = ()) -> Iterator[Any]:
    """The columns of a file as Arrow tables of at most `PIECE` rows; those in `numbers` hold no ids."""
    if path.lower().endswith(".parquet"):
        yield from tables_in(Path(path), columns, PIECE)
        return
    # Whole numbers in text become such where all of a file are: see `Keys.of` for files that differ.
    ids = [name for name in columns if name not in numbers]
    table = read_table(Path(path), Wanted(lambda found: ids, numbers=lambda found: numbers)).table
    table = table.select(list(columns))
    for first in range(0, max(1, table.num_rows), PIECE):
        yield table.slice(first, PIECE)


# -- keys -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Keys:
    """How ids become keys. Dense ones are below `limit`; where it is 0 they are hashed, as texts.

    `whole` says that the ids are whole numbers.
    """

    limit: int
    whole: bool
    salt: int = 0

    @property
    def dtype(self) -> Any:
        """Of keys."""
        return np.int32 if 0 < self.limit < 2**31 else np.int64

    @property
    def cuts(self) -> NDArray[np.int64]:
        """(SEGMENTS,) where ranges of the key space begin, whatever the ranks; the last one is open."""
        return np.array([(self.limit or 2**63) * s // SEGMENTS for s in range(SEGMENTS)], dtype=np.int64)

    def texts(self, column: Any) -> Any:
        """The ids as texts."""
        return pc.cast(column, pa.large_string())

    def of(self, column: Any) -> Array:
        """Keys of an Arrow column of ids; -1 for what cannot be one of the graph's."""
        if not self.limit:
            return hashed_texts(self.texts(column), self.salt)
        if not pa.types.is_integer(column.type):
            numbers = pc.if_else(pc.match_substring_regex(self.texts(column), "^[0-9]{1,18}$"), column, "-1")
            column = pc.cast(numbers, pa.int64())
        found = np.asarray(pc.cast(column, pa.int64()))
        if found.size and (found.max() >= self.limit or found.min() < 0):
            found = np.where((found >= 0) & (found < self.limit), found, -1)
        return found.astype(self.dtype, copy=False)


def hashed_texts(column: Any, salt: int) -> Array:
    """(n,) 63-bit keys of texts."""
    out = [np.empty(0, dtype=np.int64)]
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        _, offsets, data = chunk.buffers()
        ends = np.frombuffer(offsets, np.int64)[chunk.offset : chunk.offset + len(chunk) + 1]
        text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
        found = np.empty(len(chunk), dtype=np.uint64)
        hash_texts(ends, text, np.uint64(salt), found)
        out.append((found >> np.uint64(1)).astype(np.int64))
    return np.concatenate(out)


@compiled
def hash_texts(ends: Any, text: Any, salt: Any, out: Any) -> None:
    """`out_i`: the bytes of text i, from ends_i to ends_i+1, as one number (FNV-1a, then splitmix64)."""
    for i in range(out.size):
        x = np.uint64(0xCBF29CE484222325) ^ salt
        for p in range(ends[i], ends[i + 1]):
            x = (x ^ np.uint64(text[p])) * np.uint64(0x100000001B3)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out[i] = x ^ (x >> np.uint64(31))


# -- edges ------------------------------------------------------------------------------------------


class EdgeColumns(NamedTuple):
    """The columns of a table of edges; `weight` may be None."""

    source: str
    target: str
    weight: str | None

    @property
    def names(self) -> list[str]:
        """Those that are read."""
        return [name for name in self if name is not None]


def edge_table(path: str, source: str | None, target: str | None, weight: str | None) -> EdgeColumns:
    """Which columns hold the edges, by the names of the first file."""
    columns = column_names(path)
    ends = edge_columns(columns, source, target, Path(path).name)
    found = weight or named(columns, WEIGHT, but=ends)
    if found is not None and found not in columns:
        raise InputError(f"{path}: no column {found!r} for weights; there are {', '.join(columns)}")
    return EdgeColumns(*ends, found)


def survey(group: Group, files: Sequence[str], columns: EdgeColumns) -> Keys:
    """How the ids of all files become keys: by what they are, their range, and the number of edges."""
    texts, least, most, edges = 0, 0, 0, 0
    for path in files[group.rank :: group.size]:
        for number, low, high in _ranges(path, columns):
            edges += number
            if low is None or high is None:
                texts = 1
            else:
                least, most = min(least, low), max(most, high)
    found = np.array(group.everyone(np.array([texts, least, most, edges], dtype=np.int64)))
    total, top = int(found[:, 3].sum()), int(found[:, 2].max())
    if not total:
        raise InputError("the files hold no edge; give a table with the columns source and target")
    whole = not found[:, 0].any()
    dense = whole and found[:, 1].min() >= 0 and top < GAPS * total + SEGMENTS
    return Keys(max(SEGMENTS, top + 1) if dense else 0, whole)


def _ranges(path: str, columns: EdgeColumns) -> Iterator[tuple[int, int | None, int | None]]:
    """(edges, least id, largest id) of pieces of a file; None for ids that are no whole numbers."""
    if path.lower().endswith(".parquet"):
        file = pq.ParquetFile(path)
        places = {file.metadata.schema.column(k).name: k for k in range(file.metadata.num_columns)}
        known = [
            file.metadata.row_group(group).column(places[name]).statistics
            for group in range(file.num_row_groups)
            for name in columns[:2]
        ]
        whole = all(pa.types.is_integer(file.schema_arrow.field(name).type) for name in columns[:2])
        if not whole:
            yield file.metadata.num_rows, None, None
            return
        if all(each is not None and each.has_min_max for each in known):
            low, high = (min(e.min for e in known), max(e.max for e in known)) if known else (0, 0)
            yield file.metadata.num_rows, int(low), int(high)
            return
    for piece in pieces(path, columns[:2]):
        if not all(pa.types.is_integer(piece[name].type) for name in columns[:2]):
            yield piece.num_rows, None, None
        elif piece.num_rows:
            ends = [pc.min_max(piece[name]).as_py() for name in columns[:2]]
            yield piece.num_rows, min(e["min"] for e in ends), max(e["max"] for e in ends)


@dataclass(frozen=True, eq=False)
class Directory:
    """Where nodes are found: rank p owns the keys from `owners[p]` on and knows the ids of its own.

    `keys` (own,) growing, the i-th node has the number `first + i`; `ids` is an Arrow array beside them.
    Dense keys are numbers themselves, and `keys` is None.
    """

    made: Keys
    owners: NDArray[np.int64]
    first: int
    keys: Array | None
    ids: Any

    def owner(self, keys: Array) -> Codes:
        """The rank of each key."""
        return np.searchsorted(self.owners[1:], keys, side="right")

    def local(self, keys: Array) -> Codes:
        """Own rows of keys that this rank owns; -1 where there is no such node."""
        if self.keys is None:
            return keys.astype(np.int64) - self.first
        at = np.minimum(np.searchsorted(self.keys, keys), max(0, self.keys.size - 1))
        return np.where(self.keys[at] == keys, at, -1) if self.keys.size else np.full(keys.size, -1)


class Assembled(NamedTuple):
    """Rows at the owners of their keys, and where nodes are found."""

    rows: RankRows
    directory: Directory


def read_rows(group: Group, files: Sequence[str], columns: EdgeColumns) -> Assembled:
    """The graph in these files, every edge in both its rows, once; own rows alone."""
    keys, names = survey(group, files, columns), None
    for salt in range(TRIES):
        keys = Keys(keys.limit, keys.whole, salt)
        owners = keys.cuts[[SEGMENTS * p // group.size for p in range(group.size)]]
        entries = _collected(group, files, columns, keys, owners)
        names = merged_names(entries.texts)
        if not any(int(clash) for clash in group.everyone(np.array(int(names is None)))):
            break
    if names is None:
        raise InputError(f"two ids have one key in {TRIES} ways to hash them; give the nodes whole numbers")
    own_keys, ids = names
    segments = np.r_[keys.cuts, keys.limit]
    if keys.limit:
        first, last = [*owners.tolist(), keys.limit][group.rank : group.rank + 2]
        found = entries.rows, entries.columns
        directory = Directory(keys, owners, first, None, None)
        bounds = np.r_[owners, keys.limit]
    else:
        counts = np.zeros(SEGMENTS, dtype=np.int64)
        np.add.at(counts, np.searchsorted(keys.cuts, own_keys, side="right") - 1, 1)
        segments = np.r_[0, np.cumsum(sum(group.everyone(counts)))]
        bounds = segments[np.r_[np.searchsorted(keys.cuts, owners), SEGMENTS]]
        first, last = int(bounds[group.rank]), int(bounds[group.rank + 1])
        directory = Directory(keys, owners, first, own_keys, ids)
        found = _numbers(group, directory, entries)
    indptr, into, weights = assembled(*found, entries.weights, first, last)
    segments = np.unique(segments)
    return Assembled(RankRows(bounds, segments, indptr, into, weights, np.arange(first, last)), directory)


class _Entries(NamedTuple):
    """What came to an owner: keys of rows and of columns, weights, and (key, text) tables."""

    rows: list[Array]
    columns: list[Array]
    weights: list[Array]
    texts: list[Any]


def _collected(group: Group, files: Sequence[str], columns: EdgeColumns, keys: Keys, owners: Any) -> _Entries:
    """Every rank reads its share of the files and hands out what is not its own, a piece at a time."""
    found = _Entries([], [], [], [])
    share, weight = files[group.rank :: group.size], columns.names[2:]
    own = (piece for path in share for piece in pieces(path, columns.names, weight))
    while True:
        piece = next(own, None)
        if not any(int(more) for more in group.everyone(np.array(int(piece is not None)))):
            return found
        if piece is None:
            piece = pa.table({name: pa.array([], pa.int64()) for name in columns.names})
        for name in columns[:2]:
            if piece[name].null_count:
                raise InputError(f"an edge without {name}; fill it in, or leave the edge out")
        ends = [keys.of(piece[name]) for name in columns[:2]]
        rows, cols = np.concatenate(ends), np.concatenate(ends[::-1])
        weights = [np.tile(checked_weights(piece[name]), 2) for name in weight]
        owner = np.where(rows != cols, np.searchsorted(owners[1:], rows, side="right"), -1)
        for kept, part in zip(found, delivered(group, owner, rows, cols, *weights), strict=False):
            kept.append(part)
        if not keys.limit:
            texts = pa.concat_arrays([keys.texts(piece[name]).combine_chunks() for name in columns[:2]])
            once, first = np.unique(rows, return_index=True)
            table = pa.table({"key": once, "text": texts.take(pa.array(first))})
            found.texts.append(
                _delivered_table(group, np.searchsorted(owners[1:], once, side="right"), table)
            )


def checked_weights(column: Any) -> Array:
    """Weights of edges: finite, and above 0."""
    try:
        found = np.asarray(pc.cast(column, pa.float64()))
    except pa.ArrowInvalid:  # text
        found = np.array([np.nan])
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError("weights of edges on a cluster must be finite numbers above 0; leave the others out")
    return found


def _delivered_table(group: Group, owner: Codes, table: Any) -> Any:
    """Like `delivered`, for an Arrow table."""
    chosen = (pa.array(np.flatnonzero(owner == p)) for p in range(group.size))
    found = group.exchange([packed(table.take(mine)) for mine in chosen])
    return pa.concat_tables([unpacked(part) for part in found])


def packed(table: Any) -> Array:
    """An Arrow table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def unpacked(data: Array) -> Any:
    """The table in these bytes."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def merged_names(tables: Sequence[Any]) -> tuple[Array, Any] | None:
    """Keys, growing, and their texts; None where a key has two."""
    if not tables:
        return np.empty(0, dtype=np.int64), None
    whole = pa.concat_tables(tables).group_by("key").aggregate([("text", "min"), ("text", "max")])
    if pc.any(pc.not_equal(whole["text_min"], whole["text_max"])).as_py():
        return None
    whole = whole.sort_by("key")
    return np.asarray(whole["key"]), whole["text_min"].combine_chunks()


def _numbers(group: Group, directory: Directory, entries: _Entries) -> tuple[list[Array], list[Array]]:
    """Keys of rows and of columns as numbers: those of columns are asked for, each once."""
    wanted = np.unique(np.concatenate([np.unique(part) for part in entries.columns]))
    owner = directory.owner(wanted)
    asked = group.exchange([wanted[owner == p] for p in range(group.size)])
    answers = group.exchange([directory.first + directory.local(keys) for keys in asked])
    number = np.empty(wanted.size, dtype=np.int64)
    for p, answer in enumerate(answers):
        number[owner == p] = answer
    rows = [directory.first + directory.local(part) for part in entries.rows]
    return rows, [number[np.searchsorted(wanted, part)] for part in entries.columns]


def assembled(
    rows: list[Array], columns: list[Array], weights: list[Array], first: int, last: int
) -> tuple[Array, Array, Array]:
    """CSR of the rows first to last - 1, entries by column, each once with its largest weight.

    The lists are emptied on the way. Without weights all are 1, in a byte each.
    """
    counts = np.zeros(last - first + 1, dtype=np.int64)
    for part in rows:
        counts[1:] += np.bincount(part - first, minlength=last - first)
    indptr = np.cumsum(counts)
    kind = columns[0].dtype if columns else np.dtype(np.int32)
    into, fill = np.empty(int(indptr[-1]), dtype=kind), indptr[:-1].copy()
    given = bool(weights)
    own = np.ones(into.size, dtype=np.float64 if given else np.int8)
    while rows:
        place_entries(rows.pop(), columns.pop(), weights.pop() if given else own[:0], first, fill, into, own)
    into, own = sorted_rows(indptr, into, own)
    kept = merge_entries(indptr, into, own)
    return indptr, into[:kept].copy(), own[:kept].copy()


@compiled
def place_entries(rows: Any, columns: Any, weights: Any, first: int, fill: Any, into: Any, own: Any) -> None:
    """Entries behind those that their rows have; `fill` says how far each row is."""
    for e in range(rows.size):
        i = rows[e] - first
        into[fill[i]] = columns[e]
        if weights.size:
            own[fill[i]] = weights[e]
        fill[i] += 1


@compiled
def merge_entries(indptr: Any, columns: Any, weights: Any) -> int:
    """Keep each column of a row once, with its largest weight; rows move to the front. How many are left."""
    kept, begin = 0, indptr[0]
    for i in range(indptr.size - 1):
        end = indptr[i + 1]
        first = kept
        for p in range(begin, end):
            if kept > first and columns[kept - 1] == columns[p]:
                weights[kept - 1] = max(weights[kept - 1], weights[p])
            else:
                columns[kept], weights[kept] = columns[p], weights[p]
                kept += 1
        begin = end
        indptr[i + 1] = kept
    return kept


# -- labels and attributes ------------------------------------------------------------------------------


class Destination(NamedTuple):
    """Where rows have gone: the new number of every row of the directory's owner, and the new bounds."""

    fresh: Codes
    bounds: Codes


def routed(
    group: Group, directory: Directory, to: Destination, keys: Array, values: Array
) -> tuple[Codes, Array, int]:
    """Values (k, ...) of nodes at the owners of their rows: (own row, value), and how many found no node."""
    found, carried = delivered(group, directory.owner(keys), keys, values)
    local = np.where(found >= 0, directory.local(found), -1)
    fresh = np.where(local >= 0, to.fresh[np.maximum(local, 0)] if to.fresh.size else -1, -1)
    lost = int(sum(group.everyone(np.array(int((fresh < 0).sum())))))
    rows, carried = delivered(group, np.searchsorted(to.bounds, fresh, side="right") - 1, fresh, carried)
    return rows - int(to.bounds[group.rank]), carried, lost


def ids_of(group: Group, directory: Directory, to: Destination, rows: RankRows) -> Any:
    """The ids of own rows, as an Arrow array: whole numbers, or texts."""
    if directory.keys is None:
        return pa.array(rows.names.astype(np.int64))
    owner = np.searchsorted(to.bounds, to.fresh, side="right") - 1
    whole = _delivered_table(group, owner, pa.table({"row": to.fresh, "id": directory.ids})).sort_by("row")
    ids = whole["id"].combine_chunks()
    return pc.cast(ids, pa.int64()) if directory.made.whole else ids


def read_columns(group: Group, files: Sequence[str], columns: Sequence[str]) -> Any:
    """This rank's share of a table, whole: tables of labels are far smaller than tables of edges."""
    found = [piece for path in files[group.rank :: group.size] for piece in pieces(path, columns)]
    return pa.concat_tables(found or [pa.table({name: pa.array([], pa.string()) for name in columns})])


def codes_of(group: Group, column: Any) -> tuple[Codes, list[Any]]:
    """Codes of an Arrow column of names, by the sorted names of all ranks, and these names."""
    own = pc.unique(column).drop_null().cast(pa.string())
    found = group.everyone(packed(pa.table({"name": own})))
    every = pa.concat_tables([unpacked(part) for part in found])["name"]
    names = pc.unique(every).sort()
    codes = pc.index_in(pc.cast(column, pa.string()), names)
    return np.asarray(pc.fill_null(codes, -1), dtype=np.int64), names.to_pylist()

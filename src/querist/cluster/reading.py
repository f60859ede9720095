"""Edges in many files become rows at their owners: split on the ranks that read, assembled on those that own.

Every rank reads its share of the files a piece at a time, turns each edge both ways and hands the entries to
the owner of their row. An entry is two keys (keys.py). Where they are hashed, the owner of a key keeps its
text: two texts with one key are noticed, and all are hashed another way.

A rank owns a run of the ranges of the key space: what is assembled does not depend on the ranks. Labels and
attributes come by the same way. Nothing of the size of the graph comes to the driver.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from querist.cluster.files import column_names, pieces
from querist.cluster.keys import Keys
from querist.cluster.partition import SEGMENTS, RankRows, sorted_rows
from querist.cluster.transport import Group
from querist.compiled import compiled
from querist.errors import InputError
from querist.tables.arrow import pa, pc, pq
from querist.tables.names import WEIGHT, edge_columns, named
from querist.types import Codes

GAPS = 4
"""Whole numbers below this many for each edge are keys as they are."""

TRIES = 3
"""Ways to hash texts, before two that have one key are taken for a fault."""

Array = NDArray[Any]


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
        a, b = keys.of(piece[columns.source]), keys.of(piece[columns.target])
        weights = checked_weights(piece[columns.weight]) if columns.weight else None
        rows, cols = np.concatenate([a, b]), np.concatenate([b, a])
        owner = np.searchsorted(owners[1:], rows, side="right")
        chosen = [np.flatnonzero((owner == p) & (rows != cols)) for p in range(group.size)]
        for part in group.exchange([np.stack([rows[mine], cols[mine]]) for mine in chosen]):
            found.rows.append(part[0].copy())
            found.columns.append(part[1].copy())
        if weights is not None:
            both = np.concatenate([weights, weights])
            found.weights.extend(group.exchange([both[mine] for mine in chosen]))
        if not keys.limit:
            texts = [keys.texts(piece[name]).combine_chunks() for name in columns[:2]]
            found.texts.extend(_shared_texts(group, a, b, pa.concat_arrays(texts), owners))


def checked_weights(column: Any) -> Array:
    """Weights of edges: finite, and above 0."""
    try:
        found = np.asarray(pc.cast(column, pa.float64()))
    except pa.ArrowInvalid:  # text
        found = np.array([np.nan])
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError("weights of edges on a cluster must be finite numbers above 0; leave the others out")
    return found


def _shared_texts(group: Group, a: Array, b: Array, texts: Any, owners: Any) -> list[Any]:
    """(key, text) tables of the ids in a piece, at their owners, each once."""
    keys, first = np.unique(np.concatenate([a, b]), return_index=True)
    owner = np.searchsorted(owners[1:], keys, side="right")
    sent = []
    for p in range(group.size):
        mine = owner == p
        sent.append(packed(pa.table({"key": keys[mine], "text": texts.take(pa.array(first[mine]))})))
    return [unpacked(part) for part in group.exchange(sent)]


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
    owner = directory.owner(keys)
    chosen = [np.flatnonzero(owner == p) for p in range(group.size)]
    keyed = group.exchange([keys[mine] for mine in chosen])
    carried = group.exchange([values[mine] for mine in chosen])
    found, carried_here = np.concatenate(keyed), np.concatenate(carried)
    local = np.where(found >= 0, directory.local(found), -1)
    fresh = np.where(local >= 0, to.fresh[np.maximum(local, 0)] if to.fresh.size else -1, -1)
    lost = int(sum(group.everyone(np.array(int((fresh < 0).sum())))))
    target = np.searchsorted(to.bounds, fresh, side="right") - 1
    chosen = [np.flatnonzero((target == p) & (fresh >= 0)) for p in range(group.size)]
    rows = np.concatenate(group.exchange([fresh[mine] for mine in chosen])) - int(to.bounds[group.rank])
    return rows, np.concatenate(group.exchange([carried_here[mine] for mine in chosen])), lost


def ids_of(group: Group, directory: Directory, to: Destination, rows: RankRows) -> Any:
    """The ids of own rows, as an Arrow array: whole numbers, or texts."""
    if directory.keys is None:
        return pa.array(rows.names.astype(np.int64))
    owner = np.searchsorted(to.bounds, to.fresh, side="right") - 1
    sent = []
    for p in range(group.size):
        mine = np.flatnonzero((owner == p) & (to.fresh >= 0))
        sent.append(packed(pa.table({"row": to.fresh[mine], "id": directory.ids.take(pa.array(mine))})))
    whole = pa.concat_tables([unpacked(part) for part in group.exchange(sent)]).sort_by("row")
    ids = whole["id"].combine_chunks()
    return pc.cast(ids, pa.int64()) if directory.made.whole else ids


def read_columns(group: Group, files: Sequence[str], columns: Sequence[str]) -> Any:
    """This rank's share of a table, whole: tables of labels are far smaller than tables of edges."""
    found = [piece for path in files[group.rank :: group.size] for piece in pieces(path, columns)]
    return pa.concat_tables(found) if found else None


def codes_of(group: Group, column: Any) -> tuple[Codes, list[Any]]:
    """Codes of an Arrow column of names, by the sorted names of all ranks, and these names."""
    own = pa.array([], pa.string()) if column is None else pc.unique(column).drop_null()
    found = group.everyone(packed(pa.table({"name": own.cast(pa.string())})))
    every = pa.concat_tables([unpacked(part) for part in found])["name"]
    names = pc.unique(every).sort()
    if column is None:
        return np.empty(0, dtype=np.int64), names.to_pylist()
    codes = pc.index_in(pc.cast(column, pa.string()), names)
    return np.asarray(pc.fill_null(codes, -1), dtype=np.int64), names.to_pylist()

"""Public source files -> the arrays of a graph file, and the checksum of what they say.

Two formats. LINQS text: `<id> <0|1>... <class>` a line in `.content`, `<cited> <citing>`
a line in `.cites`. Planetoid: the pickled parts `ind.NAME.*`,
opened only if their SHA-256 is known, by an unpickler that knows numpy arrays, scipy
matrices and nothing else.

Either way the result is the same plain `.npz` format that a data directory holds:
`edges` (m, 2) with i < j, sorted; `labels`; `class_names`; `node_names`; CSR `features_*`.
"""

import collections
import hashlib
import io
import pickle
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.matrices import checked_sparse
from querist.tables.formats import count_lines
from querist.types import Codes

Arrays: TypeAlias = dict[str, Any]

TEXT_COST = 10.0
"""Bytes of memory for each byte of text."""


def linqs(paths: Sequence[Path]) -> Arrays:
    """The graph in a LINQS `.content` and `.cites` pair.

    Nodes are sorted by id. Citations of papers without content and of a paper by itself
    are dropped, directions merged.
    """
    for path in paths:
        count_lines(path, TEXT_COST)
    texts = {path.suffix: path.read_bytes() for path in paths}
    rows = sorted(_row(line) for line in texts[".content"].splitlines() if line.strip())
    if not rows:
        raise InputError("the .content file has no lines")
    ids = [row[0] for row in rows]
    number = {node: i for i, node in enumerate(ids)}
    links = (line.split() for line in texts[".cites"].splitlines() if line.strip())
    known = [(number[a], number[b]) for a, b in links if a in number and b in number]
    classes = sorted({row[2] for row in rows})
    code = {name: k for k, name in enumerate(classes)}
    return {
        "edges": _undirected(known),
        "labels": np.array([code[row[2]] for row in rows], dtype=np.int16),
        "class_names": np.array([name.decode() for name in classes]),
        "node_names": np.array([node.decode() for node in ids]),
        **_features(sp.csr_array(np.stack([row[1] for row in rows]))),
    }


def planetoid(paths: Sequence[Path], digests: Sequence[str]) -> Arrays:
    """The graph in the Planetoid parts `allx, ally, tx, ty, graph, test.index`, in that order.

    Rows of `tx` and `ty` belong to the nodes that `test.index` lists; the classes have
    no names in the source. `digests` are the SHA-256 of the parts.
    """
    parts = [path.read_bytes() for path in paths]
    for path, part, digest in zip(paths, parts, digests, strict=True):
        if (found := hashlib.sha256(part).hexdigest()) != digest:
            raise InputError(
                f"{path.name} has the SHA-256 {found[:12]}..., and only {digest[:12]}... is unpickled; "
                "download it again, or write the graph as .npz with the arrays edges, labels and features_*"
            )
    # latin1 keeps the bytes of arrays pickled by Python 2 as they are.
    loaded = (_Unpickler(io.BytesIO(part), encoding="latin1").load() for part in parts[:5])
    allx, ally, tx, ty, neighbours = loaded
    allx, tx = checked_sparse(allx, paths[0].name), checked_sparse(tx, paths[2].name)
    test = np.loadtxt(io.BytesIO(parts[5]), dtype=np.int64, ndmin=1)
    n = allx.shape[0] + tx.shape[0]
    if sorted(test) != list(range(allx.shape[0], n)):
        raise InputError(f"{paths[5].name} does not number the {tx.shape[0]} nodes after allx")
    order = np.arange(n)
    order[test] = np.arange(allx.shape[0], n)
    onehot = np.concatenate([ally, ty])[order]
    if not (onehot.sum(axis=1) == 1).all():
        raise InputError("a row of ally or ty does not name one class")
    stem = paths[0].name.removeprefix("ind.").removesuffix(".allx")
    return {
        "edges": _undirected((i, j) for i, others in neighbours.items() for j in others),
        "labels": onehot.argmax(axis=1).astype(np.int16),
        "class_names": np.array([f"{stem} class {k}" for k in range(onehot.shape[1])]),
        **_features(sp.csr_array(sp.vstack([allx, tx]), dtype=np.float32)[order]),
    }


def content_sha256(arrays: Mapping[str, Any]) -> str:
    """SHA-256 of what the arrays say, whatever their integer types and file format.

    >>> import numpy as np
    >>> content_sha256({"edges": np.array([[0, 1]]), "labels": np.array([0, 1])})[:12]
    'b7fb85f4a52e'
    """
    digest = hashlib.sha256()
    whole = ("edges", "labels", "features_shape", "features_indptr", "features_indices")
    for key, kind in (dict.fromkeys(whole, "<i8") | {"features_data": "<f4"}).items():
        if key in arrays:
            array = np.ascontiguousarray(arrays[key], dtype=kind)
            digest.update(f"{key} {array.shape}\n".encode() + array.tobytes())
    for key in ("class_names", "node_names"):
        if key in arrays:
            digest.update("\n".join([key, *map(str, arrays[key])]).encode())
    return digest.hexdigest()


def _row(line: bytes) -> tuple[bytes, Any, bytes]:
    """Id, (m,) 0/1 words and class of one line of `.content`."""
    node, _, rest = line.strip().partition(b"\t")
    words, _, label = rest.rpartition(b"\t")
    # "0<tab>1<tab>0": digits at even places; three million of them need no Python loop.
    raw = np.frombuffer(words, dtype=np.uint8)
    bits = raw[::2] - ord("0")
    if not (node and label and raw.size % 2) or bits.max() > 1 or (raw[1::2] != ord("\t")).any():
        raise InputError(f"line of {node.decode(errors='replace')!r} is not '<id> <0|1>... <class>'")
    return node, bits, label


def _undirected(pairs: Iterable[tuple[int, int]]) -> Codes:
    ends = np.array([(min(p), max(p)) for p in pairs if p[0] != p[1]], dtype=np.int32)
    return np.unique(ends.reshape(-1, 2), axis=0)


def _features(matrix: Any) -> Arrays:
    matrix.sort_indices()
    return {
        "features_data": matrix.data,
        "features_indices": matrix.indices.astype(np.int32),
        "features_indptr": matrix.indptr.astype(np.int32),
        "features_shape": np.array(matrix.shape, dtype=np.int64),
    }


# What a Planetoid pickle may name (Python 2 spelling) and what it gets.
_ALLOWED: dict[tuple[str, str], Any] = {
    ("scipy.sparse.csr", "csr_matrix"): sp.csr_matrix,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a data file") from None

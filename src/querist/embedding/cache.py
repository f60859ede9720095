"""Embeddings kept on disk, found again by what they were made of.

The name of an entry is a hash of the graph's bytes, the parameters and `ALGORITHM`, so an entry is never
stale: anything that could change the rows changes the name. `querist.codec` saves entries, so a reader or a
second process sees all of an entry or nothing. Nothing that goes wrong here stops a computation: an entry
that is damaged or of another name inside is computed again, a disk that cannot be written is a warning.

They live in `$QUERIST_CACHE/embeddings`, or in the user's cache directory.
"""

import contextlib
import hashlib
import json
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from querist import codec
from querist.codec import SavedKind
from querist.embedding.value import Embedding
from querist.graph.graph import Graph
from querist.types import Sparse

ALGORITHM = 5
"""Raise it whenever the same input gives other rows."""

LIMIT = 2 * 1024**3
"""Bytes kept; beyond it the entries that were not used for longest go."""

WORTH = 500
"""Smaller graphs are embedded faster than they are read."""

ABANDONED = 24 * 3600
"""Seconds after which a half-written file belongs to nobody."""


@dataclass(frozen=True)
class CachedEmbedding:
    """An embedding under the name that it is kept by."""

    name: str
    embedding: Embedding

    def saved_faults(self) -> dict[str, Any]:
        """What no annotation says."""
        n, known = self.embedding.n_nodes, self.embedding.degrees.size
        return {f"{known} degrees of {n} nodes": known not in (0, n)}


KIND = SavedKind("cached embedding", 1, CachedEmbedding)


def directory() -> Path:
    """Where entries are kept; it need not exist."""
    root = os.environ.get("QUERIST_CACHE")
    if not root:
        import platformdirs

        root = platformdirs.user_cache_dir("querist")
    return Path(root) / "embeddings"


def key(graph: Graph, parameters: Mapping[str, Any], attributes: bool) -> str:
    """The name of an entry: what the rows depend on (`attributes` or not), hashed."""
    digest = hashlib.sha256(json.dumps([ALGORITHM, dict(parameters)], sort_keys=True).encode())
    _feed(digest, graph.adjacency)
    if attributes and graph.attributes is not None:
        _feed(digest, graph.attributes)
    return digest.hexdigest()


def _feed(digest: Any, matrix: Sparse) -> None:
    digest.update(repr(matrix.shape).encode())
    for part, dtype in ((matrix.indptr, np.int64), (matrix.indices, np.int64), (matrix.data, np.float64)):
        digest.update(np.ascontiguousarray(part, dtype=dtype).data)


def fetch(name: str) -> Embedding | None:
    """The entry of this name, or None when there is none that can be read."""
    path = directory() / f"{name}.npz"
    try:
        entry = codec.read(path, KIND, lambda entry: entry)
    except Exception:  # not there, damaged or too large: it is computed and written again
        return None
    if entry.name != name:
        return None
    # A read-only cache cannot be marked as used, nor an entry that another process has just removed.
    with contextlib.suppress(OSError):
        os.utime(path)
    return replace(entry.embedding, cached=True)


def store(name: str, embedding: Embedding) -> None:
    """Keep an embedding; a full or read-only disk is a warning."""
    if embedding.rows.nbytes > LIMIT:
        return
    try:
        place = directory()
        place.mkdir(parents=True, exist_ok=True)
        codec.write(place / f"{name}.npz", KIND, CachedEmbedding(name, embedding))
        _trim(place)
    except OSError as error:
        warnings.warn(f"the embedding was not cached: {error}; set QUERIST_CACHE", stacklevel=3)


def _trim(place: Path) -> None:
    """Remove what was not used for longest until `LIMIT` is kept, and what a killed process left behind."""
    kept = []
    for entry in os.scandir(place):
        try:
            status = entry.stat()
        except OSError:
            continue  # another process was quicker
        abandoned = status.st_mtime < time.time() - ABANDONED
        if not entry.name.endswith(".part"):
            kept.append((status.st_mtime, status.st_size, entry.path))
        elif abandoned:  # a fresh one is being written by another process
            Path(entry.path).unlink(missing_ok=True)
    total = 0
    for _, size, path in sorted(kept, reverse=True):
        total += size
        if total > LIMIT:
            Path(path).unlink(missing_ok=True)

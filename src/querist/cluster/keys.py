"""Keys: whole numbers that stand for the ids of nodes while a graph is read.

- *dense*: ids that are whole numbers from 0 on with few gaps are keys as they are;
- *hashed*: others are hashed to 63 bits as texts.

The key space is cut into `SEGMENTS` ranges, whatever the ranks.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from querist.cluster.partition import SEGMENTS
from querist.compiled import compiled
from querist.tables.arrow import pa, pc

Array = NDArray[Any]


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

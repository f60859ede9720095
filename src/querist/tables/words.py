"""Texts to counts of words, by Arrow's compiled kernels: a million texts are no Python loop."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.tables.arrow import pa, pc
from querist.types import Codes, Sparse

MOST_WORDS = 20_000
_BLOCK = 100_000
"""Texts that are split at a time: what lies between them is lists of strings, which are large."""


def words_of(texts: Any) -> Iterator[tuple[Any, Codes]]:
    """A block of texts at a time: its words of two characters or more, lower case, and the row of each.

    >>> import pyarrow as pa
    >>> for words, rows in words_of(pa.array(["The cat, a CAT", None, "x!"])):
    ...     print(words.to_pylist(), rows.tolist())
    ['the', 'cat', 'cat'] [0, 0, 0]
    """
    for first in range(0, len(texts), _BLOCK):
        block = pc.utf8_lower(texts.slice(first, _BLOCK))
        yield from items_of(pc.split_pattern_regex(block, r"[^\p{L}\p{N}]+"), first, least=2)


def items_of(lists: Any, first: int = 0, least: int = 1) -> Iterator[tuple[Any, Codes]]:
    """The strings in a column of lists that have `least` characters or more, and the row of each."""
    items, rows = pc.list_flatten(lists), pc.list_parent_indices(lists)
    long = pc.greater_equal(pc.utf8_length(items), least)
    yield items.filter(long), np.asarray(rows.filter(long), dtype=np.int64) + first


def counted(blocks: Any, n: int, most: float) -> tuple[Sparse, list[str]]:
    """(n, w) how often each word occurs in each row, and the words in order.

    Words in one row or in more than `most` are dropped; of the others the `MOST_WORDS` in most rows are kept.

    >>> import pyarrow as pa
    >>> blocks = words_of(pa.array(["tea for two", "two for tea tea", "me for you"]))
    >>> matrix, words = counted(blocks, 3, most=2)
    >>> words, matrix.toarray().tolist()
    (['tea', 'two'], [[1.0, 1.0], [2.0, 1.0], [0.0, 0.0]])
    """
    matrix, names = _table(blocks, n)
    occurs = np.bincount(matrix.indices, minlength=len(names))
    kept = np.flatnonzero((occurs >= 2) & (occurs <= most))
    kept = kept[np.argsort(-occurs[kept], kind="stable")[:MOST_WORDS]]
    kept = np.array(sorted(kept.tolist(), key=names.__getitem__), dtype=np.int64)
    return sp.csr_array(matrix[:, kept]), [names[k] for k in kept]


def count_of(blocks: Any, n: int, words: Sequence[str]) -> Sparse:
    """(n, w) how often each of these words occurs in each row; others are not counted.

    >>> import pyarrow as pa
    >>> count_of(words_of(pa.array(["more tea", "two by two"])), 2, ["tea", "two"]).toarray().tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    matrix, names = _table(blocks, n)
    place = {word: k for k, word in enumerate(words)}
    here = [k for k, word in enumerate(names) if word in place]
    there = [place[names[k]] for k in here]
    move = sp.csr_array((np.ones(len(here)), (here, there)), shape=(len(names), len(words)))
    return sp.csr_array(matrix @ move)


def _table(blocks: Any, n: int) -> tuple[Sparse, list[str]]:
    """(n, w) how often each word occurs in each row, and the words as they come."""
    pairs = [(items.cast(pa.string()).dictionary_encode(), rows) for items, rows in blocks]
    if not pairs:
        return sp.csr_array((n, 0)), []
    words = pa.chunked_array([items for items, _ in pairs]).unify_dictionaries()
    names = words.chunk(0).dictionary.to_pylist()
    codes = np.concatenate([np.asarray(chunk.indices, dtype=np.int64) for chunk in words.chunks])
    rows = np.concatenate([rows for _, rows in pairs])
    return sp.csr_array((np.ones(codes.size), (rows, codes)), shape=(n, len(names))), names

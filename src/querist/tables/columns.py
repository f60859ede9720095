"""What a column of a table of nodes becomes: counts of words, categories, ranges or standardised numbers.

A `Recipe` says how, in plain values that a file can hold: nodes that come later get the words, categories,
ranges and scales of the first table, so that their columns mean the same. Words are counted by Arrow's
compiled kernels: a million texts are no Python loop.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.tables.arrow import pa, pc
from querist.types import Codes, Floats, Sparse

RANGES = 8
LARGEST_SHARE = 0.5
"""A word that a larger share of the nodes has tells nothing."""
FEW = 20
"""So many different values, if they are short, are categories."""
MOST_WORDS = 20_000
_BLOCK = 100_000
"""Texts that are split at a time: what lies between them is lists of strings, which are large."""


@dataclass(frozen=True)
class Recipe:
    """How the table's column `source` becomes attributes: read by `read` with its `settings`, made by `make`
    with its `values`: the words that are counted, the ends of ranges, a scale."""

    source: str
    read: str
    make: str = ""
    values: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many attributes it makes."""
        return len(self.values) if self.make in ("count", "ranges") else 1


@dataclass(frozen=True)
class Part:
    """What a column gives: (n, m) attributes, what was done in words, and how to do it again.

    `found` holds (n,) numbers, NaN where empty, as long as the recipe does not say what becomes of them; then
    `note` says what is odd.
    """

    column: str
    found: Any
    note: str
    recipe: Recipe


def category_blocks(texts: Any) -> Any:
    """Texts that are there, with the row of each, as `counted` takes them."""
    return [(texts.drop_null(), np.flatnonzero(np.asarray(texts.is_valid())))]


def categories(column: str, texts: Any, filled: int) -> Sequence[Part] | str:
    """A 0/1 column for each value that occurs twice or more; or why there are none."""
    blocks = category_blocks(texts)
    matrix, values = counted(blocks, len(texts), most=len(texts))
    if matrix.sum() < 0.1 * filled:
        return "nearly every value is different"
    recipe = Recipe(column, "categories", "count", tuple(values))
    return [Part(column, matrix, f"{len(values):,} categories, 0 or 1 each", recipe)]


def counted_words(column: str, n: int, blocks: Any, read: str) -> Part:
    """Counts of the words that the reader `read` found, in `blocks`, in a column of n values."""
    matrix, words = counted(blocks, n, most=LARGEST_SHARE * n if n >= FEW else n)
    note = f"text, as counts of {len(words):,} words that 2 nodes or more have and not most"
    return Part(column, matrix, note, Recipe(column, read, "count", tuple(words)))


def are_counts(numbers: Floats) -> bool:
    """Whether numbers, NaN where empty, are whole, not negative, and mostly 0 or nothing but 0 and 1."""
    filled = numbers[~np.isnan(numbers)]
    whole = (filled >= 0).all() and (filled == np.trunc(filled)).all()
    return bool(whole and ((filled == 0).mean() >= 0.5 or filled.max() <= 1))


def as_counts(part: Part) -> Part:
    """A column of numbers beside counts: as it is where it holds counts, else in ranges."""
    if are_counts(part.found):
        return _made(part, "kept", (), "counts, as they are")
    note = f"numbers, in {RANGES} overlapping ranges, to stand beside counts"
    return _made(part, "ranges", tuple(quantiles(part.found).tolist()), note)


def standardised(part: Part) -> Part:
    """Mean 0 and spread 1; the mean where there is no number."""
    filled = part.found[~np.isnan(part.found)]
    # By the largest first: squares of huge numbers are no numbers, and those of tiny ones are 0.
    largest = float(np.abs(filled).max())
    scale = largest, float((filled / largest).mean()), float((filled / largest).std())
    return _made(part, "scaled", scale, "numbers, standardised (mean 0, spread 1)")


def _made(part: Part, make: str, values: tuple[float, ...], note: str) -> Part:
    recipe = replace(part.recipe, make=make, values=values)
    return Part(part.column, MAKERS[make](part.found, values), note, recipe)


def quantiles(values: Floats, ranges: int = RANGES) -> Floats:
    """Different quantiles of the values, `ranges` or fewer, growing; NaNs do not count."""
    known = values[~np.isnan(values)]
    return np.unique(np.quantile(known, np.linspace(0, 1, ranges), method="nearest"))


def in_ranges(values: Floats, knots: Floats) -> Sparse:
    """(n, knots) weights of a linear interpolation between the knots; a NaN has none, and what lies beyond
    the last knot is on it.

    >>> values = np.array([0.0, 1.0, 2.0, 4.0, np.nan, 9.0])
    >>> in_ranges(values, quantiles(values[:5], 3)).toarray().round(2).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    known = np.flatnonzero(~np.isnan(values))
    inside = np.clip(values[known], knots[0], knots[-1])
    below = np.clip(np.searchsorted(knots, inside, side="right") - 1, 0, knots.size - 2)
    # In halves: the distance between two huge numbers of either sign is no number.
    share = (inside / 2 - knots[below] / 2) / (knots[below + 1] / 2 - knots[below] / 2)
    entries = np.concatenate([1 - share, share]), (np.tile(known, 2), np.concatenate([below, below + 1]))
    matrix = sp.csr_array(entries, shape=(values.size, knots.size))
    matrix.eliminate_zeros()
    return matrix


MAKERS: dict[str, Callable[[Floats, Any], Sparse]] = {
    "kept": lambda values, _: sp.csr_array(np.nan_to_num(values)[:, None]),
    "ranges": lambda values, knots: in_ranges(values, np.asarray(knots)),
    "scaled": lambda values, scale: sp.csr_array(
        np.nan_to_num((values / scale[0] - scale[1]) / scale[2])[:, None]
    ),
}
"""(n, m) attributes of n numbers, NaN where there is none, by the values of a recipe."""


def said(columns: Sequence[tuple[str, str]], shown: int = 6) -> list[str]:
    """A sentence for every (column, what was done with it); columns that were treated alike share one."""
    alike: dict[str, list[str]] = {}
    for column, note in columns:
        alike.setdefault(note, []).append(column)
    sentences = []
    for note, names in alike.items():
        more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
        sentences.append(f"{', '.join(names[:shown])}{more}: {note}")
    return sentences


# -- words ---------------------------------------------------------------------------------------------------


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

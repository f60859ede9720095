"""What a column of a table of nodes becomes: counts of words, categories, ranges or standardised numbers.

A `Recipe` says how, in plain values that a file can hold: nodes that come later get the words, categories,
ranges and scales of the first table, so that their columns mean the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.tables.words import counted
from querist.types import Floats, Sparse

RANGES = 8
LARGEST_SHARE = 0.5
"""A word that a larger share of the nodes has tells nothing."""
FEW = 20
"""So many different values, if they are short, are categories."""


@dataclass(frozen=True)
class Numbers:
    """Numbers, NaN where empty, that the reader `read` found in the table's column `source`.

    `settings` are those of the reader (`attributes.READERS`); `note` says what is odd.
    """

    column: str
    values: Floats
    source: str
    read: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def filled(self) -> Floats:
        """Those that are there."""
        return self.values[~np.isnan(self.values)]

    @property
    def counts(self) -> bool:
        """Whether they are whole, not negative, and mostly 0 or nothing but 0 and 1."""
        whole = (self.filled >= 0).all() and (self.filled == np.trunc(self.filled)).all()
        return bool(whole and ((self.filled == 0).mean() >= 0.5 or self.filled.max() <= 1))


@dataclass(frozen=True)
class Recipe:
    """How the table's column `source` becomes attributes: read by `read` with its `settings`, made by `make`
    with its `values`: the words that are counted, the ends of ranges, a scale."""

    source: str
    read: str
    make: str
    values: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many attributes it makes."""
        return len(self.values) if self.make in ("count", "ranges") else 1


@dataclass(frozen=True)
class Made:
    """Attributes made of a column, and how."""

    column: str
    matrix: Sparse
    note: str
    recipe: Recipe


def category_blocks(texts: Any) -> Any:
    """Texts that are there, with the row of each, as `words.counted` takes them."""
    return [(texts.drop_null(), np.flatnonzero(np.asarray(texts.is_valid())))]


def categories(column: str, texts: Any, filled: int) -> Sequence[Made] | str:
    """A 0/1 column for each value that occurs twice or more; or why there are none."""
    blocks = category_blocks(texts)
    matrix, values = counted(blocks, len(texts), most=len(texts))
    if matrix.sum() < 0.1 * filled:
        return "nearly every value is different"
    recipe = Recipe(column, "categories", "count", tuple(values))
    return [Made(column, matrix, f"{len(values):,} categories, 0 or 1 each", recipe)]


def counted_words(column: str, n: int, blocks: Any, read: str) -> Made:
    """Counts of the words that the reader `read` found, in `blocks`, in a column of n values."""
    matrix, words = counted(blocks, n, most=LARGEST_SHARE * n if n >= FEW else n)
    note = f"text, as counts of {len(words):,} words that 2 nodes or more have and not most"
    return Made(column, matrix, note, Recipe(column, read, "count", tuple(words)))


def as_counts(part: Numbers) -> Made:
    """A column of numbers beside counts: as it is where it holds counts, else in ranges."""
    if part.counts:
        return _made(part, "kept", (), "counts, as they are")
    note = f"numbers, in {RANGES} overlapping ranges, to stand beside counts"
    return _made(part, "ranges", tuple(quantiles(part.values).tolist()), note)


def standardised(part: Numbers) -> Made:
    """Mean 0 and spread 1; the mean where there is no number."""
    filled = part.filled
    # By the largest first: squares of huge numbers are no numbers, and those of tiny ones are 0.
    largest = float(np.abs(filled).max())
    scale = largest, float((filled / largest).mean()), float((filled / largest).std())
    return _made(part, "scaled", scale, "numbers, standardised (mean 0, spread 1)")


def _made(part: Numbers, make: str, values: tuple[float, ...], note: str) -> Made:
    recipe = Recipe(part.source, part.read, make, values, part.settings)
    return Made(part.column, MAKERS[make](part.values, values), note, recipe)


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

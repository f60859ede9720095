"""What a column of a table of nodes becomes: counts of words, categories, ranges or standardised numbers.

`Made.again` makes the same of further values: nodes that come later get the words, categories, ranges and
scales of the first table, so that their columns mean the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.tables.words import count_of, counted
from querist.types import Floats, Sparse

RANGES = 8
LARGEST_SHARE = 0.5
"""A word that a larger share of the nodes has tells nothing."""
MOST_WORDS = 20_000
FEW = 20
"""So many different values, if they are short, are categories."""


@dataclass(frozen=True)
class Numbers:
    """Numbers, NaN where empty, that `read` found in the table's column `source`; `note` says what is odd."""

    column: str
    values: Floats
    source: str
    read: Callable[[Any], Floats]
    note: str = ""

    @property
    def counts(self) -> bool:
        """Whether they are whole, not negative, and mostly 0 or nothing but 0 and 1."""
        filled = self.values[~np.isnan(self.values)]
        whole = bool((filled >= 0).all() and (filled == np.trunc(filled)).all())
        return whole and bool((filled == 0).mean() >= 0.5 or filled.max() <= 1)


@dataclass(frozen=True)
class Made:
    """Attributes made of the table's column `source`, and of further values of it by `again`."""

    column: str
    matrix: Sparse
    names: Sequence[str]
    note: str
    source: str
    again: Callable[[Any], Sparse]


def categories(column: str, texts: Any, filled: int, read: Callable[[Any], Any]) -> Sequence[Made] | str:
    """A 0/1 column for each value that occurs twice or more; or why there are none. `read` makes texts."""

    def blocks(texts: Any) -> Any:
        return [(texts.drop_null(), np.flatnonzero(np.asarray(texts.is_valid())))]

    matrix, values = counted(blocks(texts), len(texts), least=2, most=len(texts), largest=MOST_WORDS)
    if matrix.sum() < 0.1 * filled:
        return "nearly every value is different"
    names, note = [f"{column}={v}" for v in values], f"{len(values):,} categories, 0 or 1 each"
    return [
        Made(column, matrix, names, note, column, lambda new: count_of(blocks(read(new)), len(new), values))
    ]


def counted_words(column: str, values: Any, blocks: Callable[[Any], Any]) -> Made:
    """Counts of the words that `blocks` finds in a column."""
    n = len(values)
    most = LARGEST_SHARE * n if n >= FEW else n
    matrix, words = counted(blocks(values), n, least=2, most=most, largest=MOST_WORDS)
    note = f"text, as counts of {len(words):,} words that 2 nodes or more have and not most"
    names = [f"{column}:{word}" for word in words]
    return Made(column, matrix, names, note, column, lambda new: count_of(blocks(new), len(new), words))


def as_counts(part: Numbers) -> Made:
    """A column of numbers beside counts: as it is where it holds counts, else in ranges."""

    def kept(values: Floats) -> Sparse:
        return sp.csr_array(np.nan_to_num(values)[:, None])

    if part.counts:
        return _made(part, kept, [part.column], "counts, as they are")
    knots = quantiles(part.values)
    names = [f"{part.column}~{k}" for k in range(knots.size)]
    note = f"numbers, in {RANGES} overlapping ranges, to stand beside counts"
    return _made(part, lambda values: in_ranges(values, knots), names, note)


def _made(part: Numbers, of: Callable[[Floats], Sparse], names: Sequence[str], note: str) -> Made:
    return Made(part.column, of(part.values), names, note, part.source, lambda new: of(part.read(new)))


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


def standardised(part: Numbers) -> Made:
    """Mean 0 and spread 1; the mean where there is no number."""
    filled = part.values[~np.isnan(part.values)]
    # By the largest first: squares of huge numbers are no numbers, and those of tiny ones are 0.
    largest = np.abs(filled).max()
    mean, spread = (filled / largest).mean(), (filled / largest).std()

    def scaled(values: Floats) -> Sparse:
        return sp.csr_array(np.nan_to_num((values / largest - mean) / spread)[:, None])

    return _made(part, scaled, [part.column], "numbers, standardised (mean 0, spread 1)")


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

"""What a column of a table of nodes becomes: counts of words, categories, ranges or standardised numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.assist.words import counted
from querist.types import Floats, Sparse

RANGES = 8
LARGEST_SHARE = 0.5
"""A word that a larger share of the nodes has tells nothing."""
MOST_WORDS = 20_000
FEW = 20
"""So many different values, if they are short, are categories."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, NaN where empty; `note` says what was odd about it."""

    column: str
    values: Floats
    note: str = ""

    @property
    def counts(self) -> bool:
        """Whether they are whole, not negative, and mostly 0 or nothing but 0 and 1."""
        filled = self.values[~np.isnan(self.values)]
        whole = bool((filled >= 0).all() and (filled == np.trunc(filled)).all())
        return whole and bool((filled == 0).mean() >= 0.5 or filled.max() <= 1)


@dataclass(frozen=True)
class Made:
    """Attributes made of one column."""

    column: str
    matrix: Sparse
    names: Sequence[str]
    note: str


def categories(column: str, texts: Any, filled: int) -> Sequence[Made] | str:
    """A 0/1 column for each value that occurs twice or more; or why there are none."""
    blocks = [(texts.drop_null(), np.flatnonzero(np.asarray(texts.is_valid())))]
    matrix, values = counted(blocks, len(texts), least=2, most=len(texts), largest=MOST_WORDS)
    if matrix.sum() < 0.1 * filled:
        return "nearly every value is different"
    return [
        Made(column, matrix, [f"{column}={v}" for v in values], f"{len(values):,} categories, 0 or 1 each")
    ]


def counted_words(column: str, blocks: Any, n: int) -> Made:
    """Counts of the words in (words, rows) blocks."""
    most = LARGEST_SHARE * n if n >= FEW else n
    matrix, words = counted(blocks, n, least=2, most=most, largest=MOST_WORDS)
    note = f"text, as counts of {len(words):,} words that 2 nodes or more have and not most"
    return Made(column, matrix, [f"{column}:{word}" for word in words], note)


def as_counts(part: Numbers) -> Made:
    """A column of numbers beside counts: as it is where it holds counts, else in ranges."""
    if part.counts:
        kept = sp.csr_array(np.nan_to_num(part.values)[:, None])
        return Made(part.column, kept, [part.column], "counts, as they are")
    matrix = in_ranges(part.values)
    names = [f"{part.column}~{k}" for k in range(matrix.shape[1])]
    return Made(
        part.column, matrix, names, f"numbers, in {RANGES} overlapping ranges, to stand beside counts"
    )


def in_ranges(values: Floats, ranges: int = RANGES) -> Sparse:
    """(n, ranges) weights of a linear interpolation between the quantiles of the values; a NaN has none.

    >>> in_ranges(np.array([0.0, 1.0, 2.0, 4.0, np.nan]), 3).toarray().round(2).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    known = np.flatnonzero(~np.isnan(values))
    knots = np.unique(np.quantile(values[known], np.linspace(0, 1, ranges), method="nearest"))
    below = np.clip(np.searchsorted(knots, values[known], side="right") - 1, 0, knots.size - 2)
    share = (values[known] - knots[below]) / (knots[below + 1] - knots[below])
    entries = np.concatenate([1 - share, share]), (np.tile(known, 2), np.concatenate([below, below + 1]))
    matrix = sp.csr_array(entries, shape=(values.size, knots.size))
    matrix.eliminate_zeros()
    return matrix


def standardised(part: Numbers) -> Made:
    """Mean 0 and spread 1; the mean where there is no number."""
    known = ~np.isnan(part.values)
    filled = part.values[known]
    values = np.zeros(part.values.size)
    values[known] = (filled - filled.mean()) / filled.std()
    note = "numbers, standardised (mean 0, spread 1)"
    return Made(part.column, sp.csr_array(values[:, None]), [part.column], note)


def said(made: Sequence[Made], shown: int = 6) -> list[str]:
    """A sentence a column; columns that were treated alike share one."""
    alike: dict[str, list[str]] = {}
    for part in made:
        alike.setdefault(part.note, []).append(part.column)
    sentences = []
    for note, names in alike.items():
        more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
        sentences.append(f"{', '.join(names[:shown])}{more}: {note}")
    return sentences

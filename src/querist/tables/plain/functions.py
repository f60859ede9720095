"""The calls of `pyarrow.compute` that this house makes; what is empty stays so."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from querist.tables.plain.column import PlainColumn, PlainScalar, array, is_column, truth
from querist.tables.plain.kinds import BOOL, FLOAT64, INT64, STRING, PlainKind, list_

Column = PlainColumn


def _each(column: Column, make: Callable[[Any], Any], kind: PlainKind) -> Column:
    """`make` of every value that there is."""
    data = np.full(len(column), None if kind.dtype == object else 0, dtype=kind.dtype)
    for row in np.flatnonzero(~column.nulls).tolist():
        data[row] = make(column.data[row])
    return PlainColumn(data, kind, column.nulls)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    r"""A pattern of RE2 as one of Python's: `$` is the very end, `\d` a digit from 0 to 9."""
    ours = text.replace(r"[^\p{L}\p{N}]", r"[\W_]").replace(r"[\p{L}\p{N}]", r"[^\W_]")
    return re.compile(ours.replace(r"\d", "[0-9]").replace("$", r"\Z"))


# -- truth values


def equal(column: Column, value: Any) -> Column:
    """Where it is this value."""
    return _each(column, lambda own: bool(own == value), BOOL)


def greater_equal(column: Column, least: Any) -> Column:
    """Where it is that much or more."""
    return PlainColumn(np.asarray(column.data >= least), BOOL, column.nulls)


def and_(one: Column, other: Column) -> Column:
    """Where both are true."""
    return PlainColumn(one.data & other.data, BOOL, one.nulls | other.nulls)


def or_(one: Column, other: Column) -> Column:
    """Where either is true."""
    return PlainColumn(one.data | other.data, BOOL, one.nulls | other.nulls)


def invert(column: Column) -> Column:
    """Where it is not true."""
    return PlainColumn(~column.data, BOOL, column.nulls)


def is_valid(column: Column) -> Column:
    """Where there is a value."""
    return column.is_valid()


def if_else(condition: Column, one: Any, other: Any) -> Column:
    """The one where the condition is true, the other where it is false; empty where it is."""
    kind = one.type if is_column(one) else other.type
    parts = [part if is_column(part) else array([part] * len(condition), kind) for part in (one, other)]
    wanted = truth(condition)
    data = np.where(wanted, parts[0].data, parts[1].data)
    nulls = np.where(wanted, parts[0].nulls, parts[1].nulls) | condition.nulls
    return PlainColumn(data, kind, nulls)


# -- one value of many


def any(column: Column) -> PlainScalar:
    """Whether one is true."""
    return PlainScalar(bool(truth(column).any()), BOOL)


def sum(column: Column) -> PlainScalar:
    """Of those that there are; None of none."""
    there = column.drop_null().data
    return PlainScalar(there.sum() if there.size else None, INT64)


def mean(column: Column) -> PlainScalar:
    """Of those that there are; None of none."""
    there = column.drop_null().data
    return PlainScalar(float(there.mean()) if there.size else None, FLOAT64)


def count_distinct(column: Column) -> PlainScalar:
    """How many different ones there are."""
    return PlainScalar(len(set(column.drop_null().data.tolist())), INT64)


def index(column: Column, value: Any) -> PlainScalar:
    """The first row that has it, or -1."""
    found = np.flatnonzero((column.data == value) & ~column.nulls)
    return PlainScalar(int(found[0]) if found.size else -1, INT64)


# -- texts


def utf8_trim_whitespace(column: Column) -> Column:
    """Without spaces around them."""
    return _each(column, str.strip, column.type)


def utf8_lower(column: Column) -> Column:
    """In small letters, each of its own: neither its neighbours nor more letters than one come in."""
    return _each(column, lambda text: text.lower() if text.isascii() else _lower(text), column.type)


def _lower(text: str) -> str:
    return "".join(one if len(one := own.lower()) == 1 else one[0] for own in text)


def utf8_length(column: Column) -> Column:
    """How many characters they have."""
    return _each(column, len, INT64)


def match_substring(column: Column, text: str) -> Column:
    """Which hold this text; of lists of texts, the texts are looked at."""
    return _each(column, lambda own: text in own, BOOL)


def match_substring_regex(column: Column, pattern: str) -> Column:
    """Which hold what the pattern says."""
    search = _pattern(pattern).search
    return _each(column, lambda own: search(own) is not None, BOOL)


def count_substring_regex(column: Column, pattern: str) -> Column:
    """How often they hold it."""
    found = _pattern(pattern).findall
    return _each(column, lambda own: len(found(own)), INT64)


def replace_substring_regex(column: Column, pattern: str, replacement: str) -> Column:
    """With the replacement in its place."""
    replace = _pattern(pattern).sub
    return _each(column, lambda own: replace(replacement, own), column.type)


def split_pattern_regex(column: Column, pattern: str) -> Column:
    """Each text as the list of what stands between."""
    return _each(column, _pattern(pattern).split, list_(column.type))


def binary_join(lists: Column, mark: str) -> Column:
    """Each list of texts as one text; empty where one of its texts is."""
    texts = [None if null or None in own else mark.join(own)
             for own, null in zip(lists.data, lists.nulls, strict=True)]  # fmt: skip
    return array(texts, STRING)


# -- lists


def list_value_length(lists: Column) -> Column:
    """How many values each has."""
    return _each(lists, len, INT64)


def list_flatten(lists: Column) -> Column:
    """What is in the lists, one after the other."""
    return lists.flatten()


def list_parent_indices(lists: Column) -> Column:
    """The row that each value of the flattened lists comes from."""
    lengths = list_value_length(lists)
    return array(np.repeat(np.arange(len(lists)), np.where(lists.nulls, 0, lengths.data)))


def list_element(lists: Column, k: int) -> Column:
    """The k-th value of each."""
    return array([None if null else own[k] for own, null in zip(lists.data, lists.nulls, strict=True)],
                 lists.type.value_type)  # fmt: skip

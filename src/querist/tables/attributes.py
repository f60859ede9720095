"""A table of nodes becomes attributes: every column as counts, or every column as standardised numbers.

What a column holds is read off its values:

- *words*: texts are lower-cased and split; each word that occurs in 2 nodes or more, and not in more than
  half of them, is a column of counts. A list of strings is taken as words that are split already;
- *categories*: few different values; each that occurs twice or more is a 0/1 column;
- *numbers*: whole numbers that are mostly 0 stay, as counts. Others are standardised to mean 0 and spread 1
  when the table has nothing but numbers; beside words and categories each becomes `RANGES` columns, the
  weights of a linear interpolation between its quantiles, which are not negative and add up to 1;
- a column that is the same everywhere, or different nearly everywhere without being text, says nothing and is
  left out.

An empty field is no word, no category, and the mean of its numbers. `Attributes.notes` says in words what was
done with every column; `by_recipes` makes the same of nodes that come later.
"""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.tables.arrow import arrow_csv, kinds, pa, pc
from querist.tables.columns import (
    FEW,
    MAKERS,
    Part,
    Recipe,
    are_counts,
    as_counts,
    categories,
    category_blocks,
    count_of,
    counted_words,
    items_of,
    said,
    standardised,
    words_of,
)
from querist.tables.decimals import MOSTLY
from querist.tables.formats import Columns
from querist.types import Floats, Sparse

MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?)?|\d\d:\d\d(:\d\d)?", re.ASCII)
"""A date, a moment without a zone, or a time of day, as Arrow's reader of text knows it."""
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class Attributes:
    """(n, m) attributes of the rows of a table, what was done in sentences, and how to do it again.

    `matrix` is None if no column gives any.
    """

    matrix: Sparse | None
    notes: tuple[str, ...]
    recipes: tuple[Recipe, ...] = ()


def by_recipes(recipes: Sequence[Recipe], table: Any) -> Sparse:
    """(rows, m) the same attributes of another table; a column that it lacks is empty."""
    n, there = table.num_rows, table.column_names
    parts: list[Any] = []
    for recipe in recipes:
        if recipe.source not in there:
            parts.append(sp.csr_array((n, recipe.width)))
            continue
        found = READERS[recipe.read](_whole(table[recipe.source]), **recipe.settings)
        count = recipe.make == "count"
        parts.append(
            count_of(found, n, recipe.values) if count else MAKERS[recipe.make](found, recipe.values)
        )
    return sp.csr_array(sp.hstack(parts, format="csr"))


def attributes_of(file: Columns, aside: Sequence[str] = ()) -> Attributes:
    """The attributes in a table's columns, but for those set aside."""
    parts, left = list[Part](), list[tuple[str, str]]()
    for column in file.table.column_names:
        if column not in aside:
            found = _read(column, _whole(file.table[column]), file)
            if isinstance(found, str):
                left.append((column, f"left out, {found}"))
            else:
                parts += found
    numbers = [part for part in parts if not part.recipe.make]
    scaled = len(numbers) == len(parts) and not all(are_counts(part.found) for part in numbers)
    become = standardised if scaled else as_counts
    made = [part if part.recipe.make else become(part) for part in parts]
    notes = [*said([(part.column, part.note) for part in made]), *said(left)]
    notes += [f"{part.column}: {part.note}" for part in numbers if part.note]
    matrix = sp.csr_array(sp.hstack([part.found for part in made], format="csr")) if made else None
    return Attributes(matrix, tuple(notes), tuple(part.recipe for part in made))


# -- what a column holds ----------------------------------------------------------------------------------


def _whole(column: Any) -> Any:
    """A column in one piece, dictionaries undone."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type):  # more than 2 GB of text needs the larger kind
        column = column.cast(pa.large_string())
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _read(column: str, values: Any, file: Columns) -> Sequence[Part] | str:
    """The parts that a column gives, or why it gives none."""
    kind = values.type
    if len(values) == values.null_count:
        return "it is empty"
    if kinds.is_large_string(kind):
        return _text(column, values, file)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        inner = kind.value_type
        if kinds.is_string(inner) or kinds.is_large_string(inner):
            return [counted_words(column, len(values), items_of(values), "items")]
        if kinds.is_integer(inner) or kinds.is_floating(inner):
            return _vectors(column, values, file)
    if _per_day(kind) is not None:
        return _numbers(column, _days(values), "times")
    numbers = _as_numbers(values)
    return f"{kind} is neither numbers nor text" if numbers is None else _numbers(column, numbers)


def _as_numbers(values: Any) -> Floats | None:
    """Numbers, truth values and durations as floats."""
    kind = values.type
    if kinds.is_boolean(kind) or kinds.is_duration(kind):
        values = values.cast(pa.int64())
    elif not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind)):
        return None
    return np.asarray(values.cast(pa.float64(), safe=False).fill_null(np.nan), dtype=np.float64)


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _per_day(kind: Any) -> int | None:
    """How many units of a type of dates or times of day make a day; None for other types."""
    if kinds.is_date32(kind):
        return 1
    if kinds.is_date(kind) or kinds.is_time(kind) or kinds.is_timestamp(kind):
        return 86_400 * PER_SECOND["ms" if kinds.is_date64(kind) else kind.unit]
    return None


def _days(values: Any) -> Floats:
    """Dates, moments and times of day as days, the same whatever their unit; NaN for what is none."""
    if kinds.is_large_string(values.type):
        values = pa.array([_moment(text) for text in _trimmed(values).to_pylist()], pa.timestamp("us"))
    per_day = _per_day(values.type)
    if per_day is None:
        return np.full(len(values), np.nan)
    counts = values.cast(pa.int32() if values.type.bit_width == 32 else pa.int64()).fill_null(0)
    whole, rest = np.divmod(np.asarray(counts).astype(np.int64), per_day)
    return np.where(np.asarray(values.is_null()), np.nan, whole + rest / per_day)


def _moment(text: str | None) -> Any:
    """A moment without a zone, or a time of day on the first of 1970; None for any other text."""
    if text is None or not MOMENT.fullmatch(text):
        return None
    try:
        return np.datetime64(text if "-" in text else f"1970-01-01T{text}", "us")
    except ValueError:
        return None


def _read_numbers(values: Any) -> Floats:
    """The numbers in a column of any kind, NaN where there is none."""
    found = _as_numbers(values)
    if found is None:
        texts = _trimmed(values)
        truth = pc.replace_substring_regex(texts, r"(?i)^true$", "1")
        texts = pc.replace_substring_regex(truth, r"(?i)^false$", "0")
        plain = pc.match_substring_regex(texts, NUMBER).fill_null(False)
        found = np.asarray(pc.if_else(plain, texts, None).cast(pa.float64()).fill_null(np.nan))
    return np.where(np.isfinite(found), found, np.nan)


def _trimmed(values: Any) -> Any:
    """Texts without spaces around them, null where nothing is left."""
    texts = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _numbers(
    column: str, values: Floats, read: str = "numbers", note: str = "", element: int | None = None
) -> Sequence[Part] | str:
    values = np.where(np.isfinite(values), values, np.nan)
    filled = values[~np.isnan(values)]
    if not filled.size or (filled == filled[0]).all():
        return "it is the same everywhere"
    empty = values.size - filled.size
    gaps = f"no number in {empty:,} of {values.size:,} rows, there taken as the mean" if empty else ""
    name = column if element is None else f"{column}[{element}]"
    settings = {} if element is None else {"k": element}
    recipe = Recipe(column, read, settings=settings)
    return [Part(name, values, "; ".join(filter(None, [note, gaps])), recipe)]


def _vectors(column: str, lists: Any, file: Columns) -> Sequence[Part]:
    """Lists of numbers, all of one length: a column each."""
    lengths = np.asarray(pc.list_value_length(lists).fill_null(-1))
    width = int(np.bincount(lengths[lengths >= 0]).argmax())
    odd = np.flatnonzero((lengths != width) & (lengths >= 0))
    if odd.size:
        raise InputError(
            f"{file.origin.at(int(odd[0]))}: {column} holds {lengths[odd[0]]} numbers where most rows hold "
            f"{width}; give every node as many"
        )
    values = np.full((len(lists), width), np.nan)
    values[lengths == width] = np.asarray(pc.list_flatten(lists), dtype=np.float64).reshape(-1, width)
    parts = [_numbers(column, values[:, k], "element", element=k) for k in range(width)]
    return [part for found in parts if not isinstance(found, str) for part in found]


def _element(lists: Any, k: int) -> Floats:
    """The k-th numbers of lists, NaN where there is none."""
    long = np.asarray(pc.list_value_length(lists).fill_null(-1)) > k
    found = np.full(len(lists), np.nan)
    found[long] = _read_numbers(pc.list_element(lists.filter(pa.array(long)), k))
    return found


def _text(column: str, values: Any, file: Columns) -> Sequence[Part] | str:
    """Numbers in disguise, words or categories."""
    texts = _trimmed(values)
    filled = len(texts) - texts.null_count
    if not filled:
        return "it is empty"
    distinct = pc.count_distinct(texts).as_py()
    if distinct == 1 and filled == len(texts):
        return "it is the same everywhere"
    if (typed := _typed(texts)) is not None:
        return _read(column, typed, file)
    if distinct > FEW and (numbers := _disguised(texts, filled, file)) is not None:
        return _numbers(column, *numbers)
    # Commas and bars part words too, so words are counted, not spaces.
    words = pc.mean(pc.count_substring_regex(texts.drop_null().slice(0, 10_000), r"[\p{L}\p{N}]{2,}")).as_py()
    few = distinct <= max(FEW, 0.1 * filled)
    if words >= 6 or (words >= 1.5 and not few):
        return [counted_words(column, len(texts), words_of(texts), "words")]
    return categories(column, texts, filled)


def _disguised(texts: Any, filled: int, file: Columns) -> tuple[Floats, str, str] | None:
    """The numbers in a column of text that holds hardly anything else, and where it does."""
    plain = pc.match_substring_regex(texts, NUMBER).fill_null(False)
    odd = filled - pc.sum(plain).as_py()
    if odd > (1 - MOSTLY) * filled:
        return None
    values = pc.if_else(plain, texts, None).cast(pa.float64()).fill_null(np.nan)
    note = ""
    if odd:
        first = pc.index(pc.and_(pc.invert(plain), pc.is_valid(texts)), True).as_py()
        note = f"{odd:,} of {filled:,} values are no numbers, the first in {file.origin.rows(first)}"
    return np.asarray(values, dtype=np.float64), "numbers", note


def _typed(texts: Any) -> Any:
    """Dates, times and truth values in a column of text, as the reader of text tables knows them; else None.

    So a frame whose dates were left as text gives what its file gives.
    """
    parse = arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    options = arrow_csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    found = None
    for some in (texts.drop_null().slice(0, 100), texts):
        file = io.BytesIO()
        arrow_csv.write_csv(pa.table({"x": some}), file)
        file.seek(0)
        found = _whole(arrow_csv.read_csv(file, parse_options=parse, convert_options=options)["x"])
        if _per_day(found.type) is None and not kinds.is_boolean(found.type):
            return None
    return found


READERS: dict[str, Callable[..., Any]] = {
    "words": lambda column: words_of(_trimmed(column)),
    "items": items_of,
    "categories": lambda column: category_blocks(_trimmed(column)),
    "numbers": _read_numbers,
    "times": _days,
    "element": _element,
}
"""What a recipe reads in a column: words to count, or numbers."""

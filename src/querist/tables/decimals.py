"""Numbers with a decimal comma in tables of text, found column by column and written with a point.

A spreadsheet in much of the world saves 2.5 as `2,5`, mostly with `;` between the fields. Arrow reads that
as text, so each column of text is looked at again: if nearly all of it is numbers once the comma is taken for
the decimal mark, it is a column of numbers. A column with both `2,5` and `2.5` is refused: nobody can tell
what is meant. Spaces and apostrophes between thousands, and a typographic minus sign, count as in plain
numbers. `1,234` alone may be either; it is 1234 if the comma also parts the fields of the table (the
value then stands in quotation marks), 1.234 if another mark does, and refused in a data frame. Beside a
column with decimal commas, `1.234` is 1234 if every point of its column stands before three digits.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from querist.errors import InputError
from querist.tables.arrow import pa, pc, replaced
from querist.tables.formats import Columns, Origin

MOSTLY = 0.9
"""With this share of numbers a column of text is a column of numbers, with gaps."""
WITH_COMMA = r"^[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?$"
WITH_POINT = r"^[+-]?(\d*\.\d+|\d+\.)([eE][+-]?\d+)?$"
DECIMAL = re.compile(r"-?\d*[.,]\d+")
"""A fraction, as one stands in place of an id where nodes are given as edges."""
WHOLE = r"^[+-]?\d+([eE][+-]?\d+)?$"
COMMA_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$"
POINT_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"
SPACED_THOUSANDS = r"^-?[1-9]\d{0,2}([ \x{A0}\x{2009}\x{202F}'\x{2019}]\d{3})+([.,]\d+)?$"
SURELY_COMMA_THOUSANDS, SURELY_POINT_THOUSANDS = r",\d{3}[,.]", r"\.\d{3}[,.]"
COMMA, GROUPS = "a decimal comma", "points between thousands"
TYPOGRAPHY = "spaces or apostrophes between thousands, or a typographic minus sign"


def with_points(columns: Columns, names: Sequence[str], delimiter: str = "") -> Columns:
    """The table with the numbers of these columns written with a decimal point, and notes on what was done.

    >>> table = pa.table({"size": ["1,5", "2", "1.000,25"], "city": ["Bonn, Rhein", "Ulm", "Kiel"]})
    >>> found = with_points(Columns(table, Origin("cities.csv")), ["size", "city"], ";")
    >>> found.table["size"].to_pylist(), found.notes
    ([1.5, 2.0, 1000.25], ('size: numbers with a decimal comma',))
    """
    pointed = {
        name: _pointed(pc.utf8_trim_whitespace(columns.table[name]), delimiter, name, columns.origin)
        for name in names
        if pa.types.is_string(kind := columns.table[name].type) or pa.types.is_large_string(kind)
    }
    return _replaced(columns, {name: own for name, own in pointed.items() if own[1]})


def with_thousands(columns: Columns, texts: Any) -> Columns:
    """The table with points between thousands taken out of these columns, given as text.

    For a table in which another column has a decimal comma.
    """
    found = {}
    for name in texts.column_names:
        grouped = _count(_matches(texts[name], POINT_THOUSANDS))
        if grouped and grouped == _count(_matches(texts[name], r"\.")):
            found[name] = pc.replace_substring(texts[name], ".", "").cast(pa.float64()), GROUPS
    return _replaced(columns, found)


def _replaced(columns: Columns, found: dict[str, tuple[Any, str]]) -> Columns:
    marks = dict[str, list[str]]()
    for name, (_, mark) in found.items():
        marks.setdefault(mark, []).append(name)
    notes = (f"{', '.join(names)}: numbers with {mark}" for mark, names in marks.items())
    table = replaced(columns.table, {name: values for name, (values, _) in found.items()})
    return replace(columns, table=table, notes=(*columns.notes, *notes))


def _pointed(given: Any, delimiter: str, name: str, origin: Origin) -> tuple[Any, str]:
    """A column with points, and which mark its numbers had; an empty mark if it holds no such numbers."""
    texts = pc.replace_substring_regex(given, "^\u2212", "-")
    texts = pc.if_else(
        _matches(texts, SPACED_THOUSANDS), pc.replace_substring_regex(texts, r"[^\d.,-]", ""), texts
    )
    comma, thousands = _matches(texts, WITH_COMMA), _matches(texts, COMMA_THOUSANDS)
    with_comma, surely = pc.or_(comma, thousands), _count(_matches(texts, SURELY_POINT_THOUSANDS))
    marked = surely or _count(with_comma)
    if not marked and texts.equals(given):
        return given, ""
    point, grouped = _matches(texts, WITH_POINT), _matches(texts, POINT_THOUSANDS)
    numbers = pc.or_(pc.or_(with_comma, point), pc.or_(grouped, _matches(texts, WHOLE)))
    filled, whole = _count(pc.is_valid(texts)), _count(numbers)
    if whole < MOSTLY * filled:
        return given, ""
    either = not surely and _count(thousands) == _count(with_comma)
    if not marked:
        plain, mark = texts, TYPOGRAPHY
    elif either and (delimiter == "," or _count(_matches(texts, SURELY_COMMA_THOUSANDS))):
        plain = pc.if_else(thousands, pc.replace_substring(texts, ",", ""), texts)
        mark = "commas between thousands"
    else:
        mark = COMMA if _count(comma) else GROUPS
        if surely:
            comma, point = pc.or_(comma, grouped), pc.and_(point, pc.invert(grouped))
        odd = pc.or_(point, pc.and_(thousands, pc.invert(comma)))
        if _count(odd):
            one, other = (pc.index(own, True).as_py() for own in (comma, odd))
            raise InputError(
                f"{origin}, column {name!r}: {texts[one].as_py()!r} in {origin.rows(one)} has "
                f"{COMMA if ',' in texts[one].as_py() else GROUPS}, and {texts[other].as_py()!r} in "
                f"{origin.rows(other)} has not; write all numbers of the column with the same decimal mark"
            )
        if either and not delimiter:
            shown = texts[pc.index(comma, True).as_py()].as_py()
            raise InputError(
                f"{origin}, column {name!r}: {shown!r} may be {shown.replace(',', '.')} or "
                f"{shown.replace(',', '')}; give numbers"
            )
        points = pc.replace_substring(pc.replace_substring(texts, ".", ""), ",", ".")
        plain = pc.if_else(comma, points, texts)
    return plain.cast(pa.float64()) if whole == filled else plain, mark


def _matches(texts: Any, pattern: str) -> Any:
    return pc.match_substring_regex(texts, pattern).fill_null(False)


def _count(flags: Any) -> int:
    return pc.sum(flags).as_py() or 0

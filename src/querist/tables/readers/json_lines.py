"""JSON lines: one object per row, whose keys name the columns. A value is what JSON says it is."""

import io
import json
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.tables.arrow import pa
from querist.tables.formats import Columns, Format, Origin, Wanted, opened, some
from querist.tables.frames import arrow_array

EMPTY_CELLS = 10_000_000
"""Cells without a value, beyond which objects have too little in common to be rows of one table."""


def _table(path: Path, wanted: Wanted) -> Columns:
    rows, lines = list[dict[str, Any]](), list[int]()
    with opened(path) as raw:
        for number, line in enumerate(io.TextIOWrapper(raw, encoding="utf-8-sig"), 1):
            if line.strip():
                rows.append(_object(line, f"{path.name}, line {number}"))
                lines.append(number)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) * len(rows) - sum(map(len, rows)) > EMPTY_CELLS:
        raise InputError(
            f"{path.name}: {some(len(rows), 'object')} with {some(len(names), 'key')} in all, few of which "
            "they share; give every object the same keys"
        )
    columns = {name: arrow_array([row.get(name) for row in rows]) for name in names}
    return Columns(pa.table(columns), Origin(path.name, lambda row: f"line {lines[row]}"))


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}); correct or remove the line") from None
    if not isinstance(found, dict):
        raise InputError(f'{where}: {type(found).__name__}, not an object like {{"node": "ann"}}; correct it')
    return found


_ENDINGS = (".jsonl", ".ndjson")
FORMAT = Format(
    endings=(*_ENDINGS, *(f"{ending}.gz" for ending in _ENDINGS)), begins=(b"{",), table=_table, cost=30.0
)

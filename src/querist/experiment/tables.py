"""What is shown of results: tables, figures and remarks; a table as Markdown, CSV, HTML and plain cells.

>>> from querist.experiment import Table
>>> comma_separated(Table("Errors", ["method", "error"], [["msg", 0.2]]))
'method,error\\nmsg,0.2\\n'
"""

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from querist.experiment.results import Result
from querist.lazy import needing
from querist.report.figures import Figure
from querist.report.page import part
from querist.tables.output import FORMULA

with needing("report", "a table on a page"):
    from markupsafe import Markup


@dataclass(frozen=True)
class Cell:
    """A number of a table with the deviation of its runs.

    >>> Cell(0.81, std=0.02).digits
    4
    """

    value: float | None
    std: float | None = None
    digits: int = 4

    @classmethod
    def of(cls, result: Result, measure: str, digits: int = 4, *, unit: float = 1.0) -> "Cell":
        """Mean and deviation of a measure over the runs; a unit of 100 makes per cent."""
        std = result.std(measure)
        return cls(unit * result.mean(measure), None if std is None else unit * std, digits)


Entry: TypeAlias = str | int | float | Cell | None
"""What stands in a cell of a table.

>>> row: list[Entry] = ["msg", 12, Cell(0.2), None]
"""


@dataclass(frozen=True)
class Table:
    """Rows of texts and numbers; plain floats are shown with `digits` decimals, None as nothing.

    >>> Table("errors", ["method", "error"], [["msg", Cell(0.2)]]).columns
    ['method', 'error']
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    note: str = ""
    digits: int = 4

    def markdown(self) -> str:
        """With its title as a line in bold, and its note under it."""
        head = [escaped(name) for name in self.columns]
        texts = [f"**{escaped(self.title)}**", "", f"| {' | '.join(head)} |"]
        texts.append("|" + "|".join("---:" if _numeric(self, i) else "---" for i in range(len(head))) + "|")
        texts += [f"| {' | '.join(map(escaped, row))} |" for row in cells(self)]
        return "\n".join([*texts, "", *([escaped(self.note), ""] if self.note else [])])


@dataclass(frozen=True)
class Shown:
    """All that is shown of some results.

    >>> Shown(remarks=["20 shuffles"]).tables
    ()
    """

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()


def shown(entry: Entry, digits: int = 4) -> str:
    """As people read it.

    >>> shown(Cell(0.08321, 0.0028)), shown(1517), shown(None), shown("MSG")
    ('0.0832 ± 0.0028', '1,517', '', 'MSG')
    """
    if isinstance(entry, Cell):
        deviation = "" if entry.std is None or entry.value is None else f" ± {entry.std:,.{entry.digits}f}"
        return shown(None if entry.value is None else float(entry.value), entry.digits) + deviation
    if entry is None or (isinstance(entry, float) and math.isnan(entry)):
        return ""
    if isinstance(entry, bool):
        return "yes" if entry else "no"
    if isinstance(entry, str):
        return entry
    return f"{entry:,}" if isinstance(entry, int) else f"{entry:,.{digits}f}"


def cells(table: Table) -> list[list[str]]:
    """Every cell as text."""
    return [[shown(entry, table.digits) for entry in row] for row in table.rows]


def comma_separated(table: Table) -> str:
    """All digits; deviations in a column of their own. Nothing in it is run by a spreadsheet."""
    columns: list[list[object]] = []
    for i, name in enumerate(table.columns):
        entries = [row[i] for row in table.rows]
        columns.append([name, *(e.value if isinstance(e, Cell) else e for e in entries)])
        spread = [e.std if isinstance(e, Cell) else None for e in entries]
        if any(std is not None for std in spread):
            columns.append([f"{name} std", *spread])
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerows(map(_harmless, row) for row in zip(*columns, strict=True))
    return target.getvalue()


def html(table: Table) -> Markup:
    """As a part of a page."""
    caption = f"{table.title}. {table.note}".strip()
    return part("table", table.columns, cells(table), caption, words=text_columns(table)[1:])


def escaped(text: str) -> str:
    """Text on one line, in which Markdown has no HTML, no link and no end of a cell.

    >>> escaped("a|b <img src=x> & [c](d)")
    'a\\\\|b &lt;img src=x&gt; &amp; \\\\[c](d)'
    """
    plain = " ".join(text.split())
    for letter, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", r"\|"), ("[", r"\[")):
        plain = plain.replace(letter, shown)
    return plain


def text_columns(table: Table) -> list[int]:
    """Columns that hold words."""
    return [i for i in range(len(table.columns)) if i == 0 or not _numeric(table, i)]


def _numeric(table: Table, i: int) -> bool:
    return any(isinstance(row[i], int | float | Cell) for row in table.rows)


def _harmless(entry: object) -> object:
    """The same, with an apostrophe before a text that a spreadsheet would run."""
    return re.sub(FORMULA, r"'\1", entry) if isinstance(entry, str) else entry

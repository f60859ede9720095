"""A table as Markdown, LaTeX, CSV, HTML and plain cells for a terminal."""

import csv
import io
import math
import re
from collections.abc import Sequence

from querist.experiment.item import Cell, Entry, Table
from querist.lazy import needing
from querist.report import part
from querist.tables.output import FORMULA

with needing("report", "a table on a page"):
    from markupsafe import Markup

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": r"$<$",
    ">": r"$>$",
}


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


def markdown(table: Table) -> str:
    """With its title as a line in bold, and its note under it."""
    head = [escaped(name) for name in table.columns]
    texts = [f"**{escaped(table.title)}**", "", f"| {' | '.join(head)} |"]
    texts.append("|" + "|".join("---:" if _numeric(table, i) else "---" for i in range(len(head))) + "|")
    for row, plain in zip(table.rows, cells(table), strict=True):
        words = [f"**{escaped(t)}**" if _strong(e) else escaped(t) for e, t in zip(row, plain, strict=True)]
        texts.append(f"| {' | '.join(words)} |")
    return "\n".join([*texts, "", *([escaped(table.note), ""] if table.note else [])])


def latex(table: Table) -> str:
    """A `tabular` with rules of booktabs, in a `table` with its title as caption."""
    columns = "".join("r" if _numeric(table, i) else "l" for i in range(len(table.columns)))
    lines = [_row(table.columns)]
    for row, plain in zip(table.rows, cells(table), strict=True):
        words = (rf"\textbf{{{tex(t)}}}" if _strong(e) else tex(t) for e, t in zip(row, plain, strict=True))
        lines.append(" & ".join(words) + r" \\")
    body = [lines[0], r"\midrule", *lines[1:]]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{tex(table.title)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *([rf"\par {tex(table.note)}"] if table.note else []),
            r"\end{table}",
            "",
        ]
    )


def comma_separated(table: Table) -> str:
    """All digits; deviations in a column of their own. Nothing in it is run by a spreadsheet."""
    spread = [any(isinstance(r[i], Cell) and r[i].std is not None for r in table.rows)  # type: ignore[union-attr]
              for i in range(len(table.columns))]  # fmt: skip
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(
        [part for name, wide in zip(table.columns, spread, strict=True)
         for part in map(_harmless, [name, f"{name} std"] if wide else [name])]
    )  # fmt: skip
    for row in table.rows:
        writer.writerow(
            [part for entry, wide in zip(row, spread, strict=True)
             for part in (_raw(entry) if wide else _raw(entry)[:1])]
        )  # fmt: skip
    return target.getvalue()


def html(table: Table) -> Markup:
    """As a part of a page."""
    rows = [
        [
            Markup("<strong>{}</strong>").format(text) if _strong(entry) else text
            for entry, text in zip(r, c, strict=True)
        ]
        for r, c in zip(table.rows, cells(table), strict=True)
    ]
    caption = f"{table.title}. {table.note}".strip()
    return part("table", table.columns, rows, caption, words=text_columns(table)[1:])


def escaped(text: str) -> str:
    """Text on one line, in which Markdown has no HTML, no link and no end of a cell.

    >>> escaped("a|b <img src=x> & [c](d)")
    'a\\\\|b &lt;img src=x&gt; &amp; \\\\[c](d)'
    """
    plain = " ".join(text.split())
    for letter, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", r"\|"), ("[", r"\[")):
        plain = plain.replace(letter, shown)
    return plain


def tex(text: str) -> str:
    """Text with nothing in it that LaTeX would obey.

    >>> tex("5 % of a_b")
    '5 \\\\% of a\\\\_b'
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def text_columns(table: Table) -> list[int]:
    """Columns that hold words."""
    return [i for i in range(len(table.columns)) if i == 0 or not _numeric(table, i)]


def _row(names: Sequence[str]) -> str:
    return " & ".join(tex(name) for name in names) + r" \\"


def _raw(entry: Entry) -> tuple[object, object]:
    if isinstance(entry, Cell):
        return entry.value, entry.std
    return _harmless(entry), None


def _numeric(table: Table, i: int) -> bool:
    return any(isinstance(row[i], int | float | Cell) for row in table.rows)


def _strong(entry: Entry) -> bool:
    return isinstance(entry, Cell) and entry.strong


def _harmless(entry: object) -> object:
    """The same, with an apostrophe before a text that a spreadsheet would run."""
    return re.sub(FORMULA, r"'\1", entry) if isinstance(entry, str) else entry

"""A report on all papers, put together from prose and from the numbers of a folder.

The prose stands beside the items of each paper, as a template; no number is written into it. A template looks
its numbers up in `results.json` and in the tables of the folder, and what is not there reads "not run".
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from querist_papers import index
from querist_papers.item import Item
from querist_papers.verdicts import NOT_REACHED, OWN, RATES

NAME = "REPORT.md"
NOT_RUN = "not run"
TITLE = "# Five papers on learning from few labels, run again"
LEDE = (
    "Querist recomputes every table and figure of five papers and holds each published number against its "
    "own. This report says for each paper what held, what did not, and why. [README.md](README.md) links "
    "every table and theorem and explains the verdicts."
)


class Lookup:
    """What a template may ask of a folder: numbers of one paper, as text."""

    def __init__(self, folder: Path, paper: str, rows: Sequence[Mapping[str, Any]]) -> None:
        self.folder, self.paper = folder, paper
        self.rows = [row for row in rows if row["paper"] == paper]

    def names(self) -> dict[str, Any]:
        """The functions by the name that templates have for them: of a number, three of its fields."""
        fields = {"ours": "reached", "published": "published", "constant": "majority"}
        others = (self.count, self.broken, self.cell, self.said, self.figure, self.missed)
        found: dict[str, Any] = {name: partial(self.number, field) for name, field in fields.items()}
        return found | {each.__name__: each for each in others}

    def number(self, field: str, item: str, dataset: str, method: str, measure: str) -> str:
        """A field of the number that is called so, rates in per cent."""
        wanted = (item, dataset, method, measure)
        for row in self.rows:
            if tuple(map(row.get, ("item", "dataset", "method", "measure"))) == wanted:
                return NOT_RUN if row[field] is None else _shown(measure, row[field])
        return NOT_RUN

    def count(self, verdict: str = "", item: str = "", system: str = OWN, method: str = "") -> str:
        """How many numbers have this verdict (or any), this item, a method that begins so."""
        found = [
            row
            for row in self.rows
            if row["system"] == system
            and item in ("", row["item"])
            and verdict in ("", row["verdict"])
            and row.get("method", "").startswith(method)
        ]
        ran = any(item in ("", row["item"]) for row in self.rows)
        return f"{len(found):,}" if ran else NOT_RUN

    def broken(self, item: str, statement: str) -> str:
        """In how many runs a theorem fails as printed, and how many there were."""
        for row in self.rows:
            if (row["item"], row.get("statement")) == (item, statement):
                return f"{row['broken']:,} of {row['runs']:,}"
        return NOT_RUN

    def cell(self, item: str, column: str, where: Mapping[str, Any], digits: int = 0, unit: float = 1) -> str:
        """A cell of a table of an item: the column of the first row that has these values."""
        for path in sorted((self.folder / "tables").glob(f"{self.paper}_{item}*.csv")):
            for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
                if column in row and all(row.get(name) == str(value) for name, value in where.items()):
                    try:
                        return f"{unit * float(row[column]):,.{digits}f}"
                    except ValueError:
                        return row[column]
        return NOT_RUN

    def said(self, item: str, start: str) -> str:
        """The remark of an item that begins so."""
        path = self.folder / "tables" / f"{self.paper}_{item}.md"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return next((line for line in lines if line.startswith(start)), f"({start} {NOT_RUN})")

    def figure(self, name: str, words: str) -> str:
        """A figure of the folder, described in words."""
        path = f"figures/{self.paper}_{name}.svg"
        return f"![{words}]({path})" if (self.folder / path).is_file() else f"({path}: {NOT_RUN})"

    def missed(self) -> str:
        """Every number of the paper's own systems that is not reached, with both values."""
        if self.count() in ("0", NOT_RUN):
            return "" if self.rows else f"Own systems: {NOT_RUN}."
        lines = [
            f"{row['item']}, {row['dataset']}, {row['method']}, {row['measure'].replace('_', ' ')} "
            f"{_shown(row['measure'], row['reached'])} ({_shown(row['measure'], row['published'])})"
            for row in self.rows
            if row["system"] == OWN and row["verdict"] == NOT_REACHED
        ]
        return f"Not reached, ours (published): {'; '.join(lines)}." if lines else "Every number is reached."


def _shown(measure: str, value: float) -> str:
    """A rate in per cent, a count without decimals, anything else with two.

    >>> _shown("accuracy", 0.8321), _shown("queries", 1517.2), _shown("exponent", 0.5)
    ('83.2 %', '1,517', '0.50')
    """
    if measure in RATES:
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if abs(value) >= 10 or float(value).is_integer() else f"{value:.2f}"


def account(folder: Path, items: Sequence[Item]) -> str:
    """The report, of the papers that have prose."""
    rows = index.rows_of(folder, lambda label: True)
    sums = [replace(table, note="").markdown().strip() for table in index.totals(rows)]
    parts = [TITLE, LEDE, "## In short", *index.shares(rows), *sums, index.outside(rows)]
    for paper in dict.fromkeys(item.paper for item in items):
        if paper.prose is not None:
            lookup = Lookup(folder, paper.name, rows)
            parts += [f"## {paper.name}", paper.about, rendered(paper.prose, lookup)]
    return "\n\n".join(parts) + "\n"


def rendered(prose: Path, lookup: Lookup) -> str:
    """A template with its numbers; a name that it uses and nobody gives is an error."""
    engine = Environment(undefined=StrictUndefined, autoescape=False)
    made = engine.from_string(prose.read_text(encoding="utf-8")).render(lookup.names())
    paragraphs = (" ".join(paragraph.split()) for paragraph in made.split("\n\n"))
    return "\n\n".join(filter(None, paragraphs))

"""The first page of a folder of results: what it holds of the papers, how it came out, and what is not there.

It is read off the folder: the pages of the items and `results.json`. So it is right whatever was run last.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from querist import InputError
from querist.extend import conditions
from querist_papers.item import Entry, Item, Table
from querist_papers.verdicts import (
    BETTER,
    EARNERS,
    NOT_REACHED,
    OUTSIDE,
    OWN,
    OWN_VERDICTS,
    REACHED,
    RIVAL,
    RIVAL_VERDICTS,
    STATEMENT_VERDICTS,
    THEOREM,
    Number,
    Paper,
    Statement,
    earned,
)

NAME = "README.md"
ROWS = "results.json"
TITLE = "# The tables and figures of the five papers"
NOTES = "NOTES.md"
"""What its owner has to say about the folder; it becomes part of the page."""

VERDICTS = (*OWN_VERDICTS, *RIVAL_VERDICTS)
LEGEND = (
    "Each page says its protocol, its readings of the paper and the command that made it, and shows ours "
    "beside the published numbers. A paper's own systems are *reached* within the tolerance, *better* beyond "
    "it on the good side (of rates and questions), or *not reached*; its rivals *agree* or *differ*, because "
    "one that beats its published number was not reproduced. The tolerance of an accuracy or error is half a "
    "point, that of a count of questions or of kept items 5 %, or two standard errors of the difference "
    "if that is more. *Declared beforehand* are numbers whose settings are the paper's or were chosen on "
    "held-out data; `post_hoc` is a number for which a setting or a reading was chosen by looking at it. "
    "Outside the totals stand numbers with *no counterpart* (data that are not public, seconds of another "
    "machine) and those that hold *by definition* (the questions of a method that always asks, the "
    "classes of the same data). [results.json](results.json) has a row for each number and each theorem."
)
Row: TypeAlias = dict[str, Any]
_NUMBER = Number(Paper(""), "", "", "", "", 0.0, None).as_dict().keys()
_STATEMENT = Statement(Paper(""), "", "", "").as_dict().keys()
"""What a row of either kind holds."""


def writable(folder: Path) -> bool:
    """Whether the page may be written: a README of other people is left alone."""
    path = folder / NAME
    return not path.exists() or path.read_text(encoding="utf-8", errors="replace").startswith(TITLE)


def index(folder: Path, items: Sequence[Item], left_out: Mapping[str, str]) -> str:
    """The page, of all items there are; `left_out` says why some are not in the folder."""
    there = {item.label: page for item in items if (page := _page(folder, item)).is_file()}
    rows = rows_of(folder, lambda label: label in there)
    made = ", ".join(f"{name} {value}" for name, value in conditions().items())
    parts = [TITLE, "Written by `querist reproduce PAPER ITEM --out` this folder.", *shares(rows)]
    parts += [table.markdown().strip() for table in totals(rows)]
    parts += [outside(rows), LEGEND, f"This page was last written with {made}."]
    notes = folder / NOTES
    parts += [notes.read_text(encoding="utf-8").strip()] if notes.is_file() else []
    for paper in dict.fromkeys(item.paper for item in items if item.label in there):
        mine = [item for item in items if item.paper == paper and item.label in there]
        head = f"| item | what it is | {' | '.join(VERDICTS)} |\n|---|---|{'---:|' * len(VERDICTS)}"
        lines = [_line(item, there[item.label], rows) for item in mine]
        parts += [f"## {paper.name}", *filter(None, [paper.about]), "\n".join([head, *lines])]
        parts += [
            table.markdown().strip().replace(r"| \[", "| [")
            for table in (*statements(rows, paper.name, linked=True), *columns(rows, paper.name))
        ]
    parts += _absent([item.label for item in items if item.label not in there], left_out)
    return "\n\n".join(parts) + "\n"


def shares(rows: Sequence[Row]) -> list[str]:
    """How many numbers of own systems are reached, those declared beforehand first."""
    groups = {
        "settings declared beforehand": [row for row in rows if row["system"] == OWN and not row["post_hoc"]],
        "settings or readings chosen after seeing the table": [
            row for row in rows if row["system"] == OWN and row["post_hoc"]
        ],
    }
    said = [
        f"{_reached(mine)} of {len(mine)} with {name} ({_reached(mine) / len(mine):.0%})"
        for name, mine in groups.items()
        if mine
    ]
    return [f"Numbers of the papers' own systems that are reached: {'; '.join(said)}."] if said else []


def _reached(rows: Sequence[Row]) -> int:
    return sum(row["verdict"] == REACHED for row in rows)


def totals(rows: Sequence[Row]) -> list[Table]:
    """Own systems first, then theorems and rivals, with their sums over the papers."""
    kinds = (
        (OWN, "Own systems", OWN_HEAD, _own_cells, CHECK),
        (THEOREM, "Theorems", STATEMENT_VERDICTS, partial(_counts, STATEMENT_VERDICTS), ""),
        (RIVAL, "Rivals", RIVAL_HEAD, _rival_cells, ""),
    )
    found = []
    for system, title, head, cells, note in kinds:
        mine = [row for row in rows if row["system"] == system]
        papers = list(dict.fromkeys(row["paper"] for row in mine))
        lines = [[paper, *cells([row for row in mine if row["paper"] == paper])] for paper in papers]
        lines += [["all", *cells(mine)]] if len(papers) > 1 else []
        found += [Table(title, ["paper", *head], lines, note)] if lines else []
    return found


def statements(rows: Sequence[Row], paper: str, linked: bool = False) -> list[Table]:
    """The theorems of a paper, a row for each, on the index with a link to the page of its item."""
    lines: list[list[Entry]] = [
        [
            f"[{row['statement']}](tables/{paper}_{row['item']}.md)" if linked else row["statement"],
            row["says"],
            f"{row['broken']:,} of {row['runs']:,}",
            row["verdict"],
            row["instead"],
        ]
        for row in rows
        if row["system"] == THEOREM and row["paper"] == paper
    ]
    return [Table("Theorems", STATEMENT_HEAD, lines)] if lines else []


def columns(rows: Sequence[Row], paper: str) -> list[Table]:
    """The numbers of a paper's own systems by column of its tables; shares of labels are rows there."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row["system"] == OWN and row["paper"] == paper:
            method = re.sub(r" \d+%$", "", row["method"])
            found.setdefault((row["item"], method, row["measure"].replace("_", " ")), []).append(row)
    lines: list[list[Entry]] = [[*label, len(mine), *_sides(mine)] for label, mine in found.items()]
    return [Table("Own systems by column", COLUMN_HEAD, lines)] if lines else []


def _sides(rows: Sequence[Row]) -> list[Entry]:
    """How many are smaller and larger than published."""
    return [sum(row["difference"] < 0 for row in rows), sum(row["difference"] > 0 for row in rows)]


COLUMN_HEAD = ("item", "method", "measure", "numbers", "below", "above")
STATEMENT_HEAD = ("statement", "says", "runs that break it", "verdict", "form that holds")
CHECKED = ("by a constant", "at random", "without the idea")
OWN_HEAD = ("declared beforehand", "post hoc", BETTER, NOT_REACHED, "below", "above", *CHECKED)
RIVAL_HEAD = (*RIVAL_VERDICTS, "post hoc")
CHECK = (
    "The first two columns count the numbers that are reached. Below and above count all that are smaller "
    "and larger than published. The last three columns check the verdicts: how many would be reached by a "
    "predictor that always answers the commonest class, by one that guesses, and by the system without the "
    "paper's idea, of those where that was measured."
)


def _own_cells(rows: Sequence[Row]) -> list[Entry]:
    both = [[row for row in rows if row["post_hoc"] == chosen] for chosen in (False, True)]
    return [
        *(f"{_reached(mine)} of {len(mine)}" for mine in both),
        *_counts((BETTER, NOT_REACHED), rows),
        *_sides(rows),
        *chance_cells(rows),
    ]


def _counts(verdicts: Sequence[str], rows: Sequence[Row]) -> list[Entry]:
    count = Counter(row["verdict"] for row in rows)
    return [count[verdict] for verdict in verdicts]


def _rival_cells(rows: Sequence[Row]) -> list[Entry]:
    return [*_counts(RIVAL_VERDICTS, rows), sum(row["post_hoc"] for row in rows)]


def chance_cells(rows: Sequence[Row]) -> list[str]:
    """How many cells each of `EARNERS` would earn, of those where that is known."""
    found = [[earned(row, predictor) for row in rows] for predictor in EARNERS]
    return [f"{would.count(True)} of {len(would) - would.count(None)}" for would in found]


def outside(rows: Sequence[Row]) -> str:
    """What is not in the totals, in words."""
    count = Counter(row["verdict"] for row in rows if not row["system"])
    said = [f"{count.pop(verdict, 0):,} {verdict}" for verdict in OUTSIDE]
    said += [f"{count.total():,} counts of the data that differ"] if count else []
    return f"Outside these totals: {', '.join(said)}."


def rows_of(folder: Path, wanted: Callable[[str], bool]) -> list[Row]:
    """Rows of `results.json`, where there is one, whose item has a label that is wanted."""
    path = folder / ROWS
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        if any((_STATEMENT if row["system"] == THEOREM else _NUMBER) - row.keys() for row in found):
            raise KeyError("a field of this version")
        return [row for row in found if wanted(f"{row['paper']} {row['item']}")]
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise InputError(
            f"{path}: not the rows of published numbers that this version of reproduce writes; remove it, or "
            "take another folder. Runs that are finished are kept apart, in results/"
        ) from problem


def ordered(rows: Sequence[Row], items: Sequence[Item]) -> list[Row]:
    """Rows by paper and item, so that running one item again moves nothing."""
    place = {(item.paper.name, item.name): i for i, item in enumerate(items)}
    return sorted(rows, key=lambda row: place.get((row["paper"], row["item"]), len(place)))


def page_name(item: Item) -> str:
    """What the files of an item are called."""
    return item.label.replace(" ", "_")


def command_of(item: Item, quick: bool) -> str:
    """What makes an item."""
    return f"querist reproduce {item.label}{' --quick' if quick else ''}"


def _page(folder: Path, item: Item) -> Path:
    return folder / "tables" / f"{page_name(item)}.md"


def _line(item: Item, page: Path, rows: Sequence[Row]) -> str:
    mine = [row for row in rows if (row["paper"], row["item"]) == (item.paper.name, item.name)]
    count = Counter(row["verdict"] for row in mine if row["system"])
    cells = [f"{count[verdict]:,}" if count[verdict] else "" for verdict in VERDICTS]
    quick = f"`{command_of(item, True)}`" in page.read_text(encoding="utf-8")
    title = item.title.replace("|", r"\|") + (" (quick: fewer repeats)" if quick else "")
    return f"| [{item.name}](tables/{page.name}) | {title} | {' | '.join(cells)} |"


def _absent(labels: Sequence[str], why: Mapping[str, str]) -> list[str]:
    """What is not there: left out for a reason, or not run."""
    parts = [f"Left out, {label}: {why[label]}." for label in labels if label in why]
    rest = [label for label in labels if label not in why]
    return parts + ([f"Not in this folder: {', '.join(rest)}."] if rest else [])

"""The first page of a folder of results: what it holds of the papers, how it came out, and what is not there.

It is read off the folder: the pages of the items and `results.json`. So it is right whatever was run last.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from querist.errors import InputError
from querist.experiment import tables
from querist.experiment.item import Entry, Item, Table
from querist.experiment.store import machine, versions
from querist.experiment.verdicts import (
    BETTER,
    NOT_REACHED,
    OUTSIDE,
    OWN,
    OWN_VERDICTS,
    REACHED,
    RIVAL,
    RIVAL_VERDICTS,
    THEOREM,
    earned,
)

NAME = "README.md"
ROWS = "results.json"
TITLE = "# The tables and figures of the five papers"
NOTES = "NOTES.md"
"""What its owner has to say about the folder; it becomes part of the page."""

VERDICTS = (*OWN_VERDICTS, *RIVAL_VERDICTS)
LEGEND = (
    "Each page says its protocol and the command that made it, and shows ours beside the published "
    "numbers. A paper's own systems are *reached* within the tolerance, *better* beyond it on the good "
    "side, or *not reached*; its rivals *agree* or *differ*, because one that beats its published number "
    "was not reproduced. The tolerance of an accuracy or error is half a point, or two standard errors "
    "of the difference where that is more; of a count of questions, 5 %. Outside the totals stand "
    "numbers with *no counterpart* (data that are not public, seconds of another machine) and those that "
    "hold *by definition* (the questions of a method that always asks, the classes of the same data). "
    "`post_hoc` is a number for which a setting was chosen by looking at it. "
    "[results.json](results.json) has a row for each."
)
Row: TypeAlias = dict[str, Any]


def writable(folder: Path) -> bool:
    """Whether the page may be written: a README of other people is left alone."""
    path = folder / NAME
    return not path.exists() or path.read_text(encoding="utf-8", errors="replace").startswith(TITLE)


def index(folder: Path, items: Sequence[Item], left_out: Mapping[str, str]) -> str:
    """The page, of all items there are; `left_out` says why some are not in the folder."""
    there = {item.label: page for item in items if (page := _page(folder, item)).is_file()}
    rows = rows_of(folder, lambda label: label in there)
    made = ", ".join(f"{name} {value}" for name, value in {**machine(), **versions()}.items())
    parts = [TITLE, "Written by `querist reproduce PAPER ITEM --out` this folder."]
    parts += [tables.markdown(table).strip() for table in totals(rows)]
    parts += [outside(rows), LEGEND, f"This page was last written with {made}."]
    notes = folder / NOTES
    parts += [notes.read_text(encoding="utf-8").strip()] if notes.is_file() else []
    for paper in dict.fromkeys(item.paper for item in items if item.label in there):
        mine = [item for item in items if item.paper == paper and item.label in there]
        head = f"| item | what it is | {' | '.join(VERDICTS)} |\n|---|---|{'---:|' * len(VERDICTS)}"
        lines = [_line(item, there[item.label], rows) for item in mine]
        parts += [f"## {paper.name}", *filter(None, [paper.about]), "\n".join([head, *lines])]
    parts += _absent([item.label for item in items if item.label not in there], left_out)
    return "\n\n".join(parts) + "\n"


def totals(rows: Sequence[Row]) -> list[Table]:
    """Own systems first, then theorems and rivals, with their sums over the papers."""
    kinds = (
        (OWN, "Own systems", OWN_HEAD, _own_cells, CHECK),
        (THEOREM, "Theorems, as printed", THEOREM_HEAD, _theorem_cells, TESTED),
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


OWN_HEAD = (*OWN_VERDICTS, "reached or better", "post hoc", "by a constant", "at random")
THEOREM_HEAD = ("not broken", "broken")
TESTED = "Bounds and mistakes, tried on many runs; the page of a broken one has a form that holds."
RIVAL_HEAD = (*RIVAL_VERDICTS, "post hoc")
CHECK = (
    "The last two columns check the verdicts: how many accuracies and errors a predictor would reach "
    "that always answers the commonest class, and one that guesses."
)


def _own_cells(rows: Sequence[Row]) -> list[Entry]:
    count = Counter(row["verdict"] for row in rows)
    share = (count[REACHED] + count[BETTER]) / len(rows)
    return [*(count[v] for v in OWN_VERDICTS), f"{share:.0%}", _post_hoc(rows), *chance_cells(rows)]


def chance_cells(rows: Sequence[Row]) -> list[str]:
    """How many cells a constant and a random predictor would earn, of those where that is known."""
    found = [[earned(row, predictor) for row in rows] for predictor in ("majority", "random")]
    return [f"{would.count(True)} of {len(would) - would.count(None)}" for would in found]


def _theorem_cells(rows: Sequence[Row]) -> list[Entry]:
    count = Counter(row["verdict"] for row in rows)
    return [count[REACHED], count[NOT_REACHED]]


def _rival_cells(rows: Sequence[Row]) -> list[Entry]:
    count = Counter(row["verdict"] for row in rows)
    return [*(count[v] for v in RIVAL_VERDICTS), _post_hoc(rows)]


def _post_hoc(rows: Sequence[Row]) -> int:
    return sum(row["post_hoc"] for row in rows)


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
        return [row for row in found if wanted(f"{row['paper']} {row['item']}") and row["system"] is not None]
    except (ValueError, TypeError, KeyError) as problem:
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

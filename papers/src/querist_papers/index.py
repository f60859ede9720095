"""The first page of a folder of results: what it holds of the papers, how it came out, and what is not there.

It is read off the folder: the pages of the items and `results.json`. So it is right whatever was run last.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from querist import InputError
from querist.extend import conditions
from querist_papers import verdicts
from querist_papers.item import Entry, Item, Table
from querist_papers.verdicts import BETTER, NOT_REACHED, OWN, OWN_VERDICTS, REACHED, RIVAL_VERDICTS, THEOREM

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
    """How many numbers of own systems are reached: declared beforehand, post hoc, and by an honest choice."""
    own = [row for row in rows if row["system"] == OWN]
    names = {
        False: "settings declared beforehand",
        True: "settings or readings chosen after seeing the table",
    }
    said = []
    for chosen, name in names.items():
        mine = [row for row in own if row["post_hoc"] == chosen]
        if mine:
            said.append(f"{_reached(mine)} of {len(mine)} with {name} ({_reached(mine) / len(mine):.0%})")
    fair = [
        verdicts.judged(row["measure"], row["others"]["held out"], row["published"], row["tolerance"])
        for row in own
        if "held out" in row["others"]
    ]
    honest = (
        f"{fair.count(REACHED)} of {len(fair)} are reached if the best of a grid is chosen on held-out data"
    )
    return [
        *([f"Numbers of the papers' own systems that are reached: {'; '.join(said)}."] if said else []),
        *([f"Of the latter, {honest}."] if fair else []),
    ]


def _reached(rows: Sequence[Row]) -> int:
    return sum(row["verdict"] == REACHED for row in rows)


def totals(rows: Sequence[Row]) -> list[Table]:
    """Own systems first, then theorems and rivals, with their sums over the papers."""
    found = []
    for system, title, note in (
        (OWN, "Own systems", CHECK),
        (THEOREM, "Theorems", ""),
        (verdicts.RIVAL, "Rivals", ""),
    ):
        mine = [row for row in rows if row["system"] == system]
        papers = list(dict.fromkeys(row["paper"] for row in mine))
        lines = {paper: _sums(system, [row for row in mine if row["paper"] == paper]) for paper in papers}
        lines |= {"all": _sums(system, mine)} if len(papers) > 1 else {}
        if lines:
            table = [[name, *line.values()] for name, line in lines.items()]
            found.append(Table(title, ["paper", *lines[papers[0]]], table, note))
    return found


def _sums(system: str, rows: Sequence[Row]) -> Mapping[str, Entry]:
    """What a line of the totals says of rows of one kind, by column."""
    count: Counter[str] = Counter(row["verdict"] for row in rows)
    if system == THEOREM:
        return {verdict: count[verdict] for verdict in verdicts.STATEMENT_VERDICTS}
    chosen, declared = ([row for row in rows if row["post_hoc"] == which] for which in (True, False))
    if system == verdicts.RIVAL:
        return {verdict: count[verdict] for verdict in RIVAL_VERDICTS} | {"post hoc": len(chosen)}
    return {
        "declared beforehand": f"{_reached(declared)} of {len(declared)}",
        "post hoc": f"{_reached(chosen)} of {len(chosen)}",
        **{verdict: count[verdict] for verdict in (BETTER, NOT_REACHED)},
        **_sides(rows),
        **{title: _earned(rows, predictor) for title, predictor in verdicts.EARNERS.items()},
    }


def _earned(rows: Sequence[Row], predictor: str) -> str:
    """How many numbers a predictor would earn, of those where that is known."""
    would = [verdicts.earned(row, predictor) for row in rows]
    return f"{would.count(True)} of {len(would) - would.count(None)}"


def _sides(rows: Sequence[Row]) -> dict[str, Entry]:
    """How many are smaller and larger than published."""
    differences = [row["difference"] for row in rows]
    return {"below": sum(d < 0 for d in differences), "above": sum(d > 0 for d in differences)}


CHECK = (
    "The first two columns count the numbers that are reached. Below and above count all that are smaller "
    "and larger than published. The last three columns check the verdicts: how many would be reached by a "
    "predictor that always answers the commonest class, by one that guesses, and by the system without the "
    "paper's idea, of those where that was measured."
)


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
    lines = [[*label, len(mine), *_sides(mine).values()] for label, mine in found.items()]
    head = ["item", "method", "measure", "numbers", *_sides([])]
    return [Table("Own systems by column", head, lines)] if lines else []


STATEMENT_HEAD = ("statement", "says", "runs that break it", "verdict", "form that holds")


def outside(rows: Sequence[Row]) -> str:
    """What is not in the totals, in words."""
    count = Counter(row["verdict"] for row in rows if not row["system"])
    said = [f"{count.pop(verdict, 0):,} {verdict}" for verdict in verdicts.OUTSIDE]
    said += [f"{count.total():,} counts of the data that differ"] if count else []
    return f"Outside these totals: {', '.join(said)}."


def rows_of(folder: Path, wanted: Callable[[str], bool]) -> list[Row]:
    """Rows of `results.json`, where there is one, whose item has a label that is wanted."""
    path = folder / ROWS
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        if any(
            {*(verdicts.STATED if row["system"] == THEOREM else verdicts.FIELDS)} - row.keys()
            for row in found
        ):
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

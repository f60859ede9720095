"""The first page of a folder of results: what it holds of the papers, how it came out, and what is not there.

It is read off the folder: the pages of the items and `results.json`. So it is right whatever was run last.
"""

import importlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.experiment.item import BETTER, NOT_REACHED, REACHED, Item
from querist.experiment.store import machine, versions

NAME = "README.md"
ROWS = "results.json"
TITLE = "# The tables and figures of the five papers"
NOTES = "NOTES.md"
"""What its owner has to say about the folder; it becomes part of the page."""

VERDICTS = (REACHED, BETTER, NOT_REACHED)


def _papers() -> Any:
    """The room of the papers, which stands on this one: found when a page of theirs is written."""
    return importlib.import_module("querist.papers")


def writable(folder: Path) -> bool:
    """Whether the page may be written: a README of other people is left alone."""
    path = folder / NAME
    return not path.exists() or path.read_text(encoding="utf-8", errors="replace").startswith(TITLE)


def index(folder: Path, left_out: Mapping[str, str]) -> str:
    """The page; `left_out` says why some items are not there."""
    papers = _papers()
    known = {item.label: item for paper in papers.PAPERS for item in papers.items_of(paper)}
    there = {label: page for label, item in known.items() if (page := _page(folder, item)).is_file()}
    rows = rows_of(folder, lambda label: label in there)
    parts = [TITLE, _lede(rows)]
    notes = folder / NOTES
    parts += [notes.read_text(encoding="utf-8").strip()] if notes.is_file() else []
    for paper in dict.fromkeys(known[label].paper for label in there):
        mine = [known[label] for label in there if known[label].paper == paper]
        lines = [_line(item, there[item.label], rows) for item in mine]
        head = "| item | what it is | reached | better | not reached |\n|---|---|---:|---:|---:|"
        parts += [f"## {paper}", *filter(None, [papers.about(paper)]), "\n".join([head, *lines])]
    parts += _absent([label for label in known if label not in there], left_out)
    return "\n\n".join(parts) + "\n"


def rows_of(folder: Path, wanted: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Rows of `results.json`, where there is one, whose item has a label that is wanted."""
    path = folder / ROWS
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        return [row for row in found if wanted(f"{row['paper']} {row['item']}")]
    except (ValueError, TypeError, KeyError) as problem:
        raise InputError(
            f"{path}: not the rows of published numbers that reproduce writes; remove it, or take another "
            "folder. Runs that are finished are kept apart, in results/"
        ) from problem


def ordered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by paper and item, so that running one item again moves nothing."""
    papers = _papers()
    known = [(paper, item.name) for paper in papers.PAPERS for item in papers.items_of(paper)]
    place = {each: i for i, each in enumerate(known)}
    return sorted(rows, key=lambda row: place.get((row["paper"], row["item"]), len(known)))


def page_name(item: Item) -> str:
    """What the files of an item are called."""
    return item.label.replace(" ", "_")


def command_of(item: Item, quick: bool) -> str:
    """What makes an item."""
    return f"querist reproduce {item.label}{' --quick' if quick else ''}"


def _page(folder: Path, item: Item) -> Path:
    return folder / "tables" / f"{page_name(item)}.md"


def _lede(rows: Sequence[Mapping[str, Any]]) -> str:
    count = Counter(row["verdict"] for row in rows)
    counted = ", ".join(f"{count[verdict]:,} {verdict}" for verdict in VERDICTS)
    post_hoc = sum(bool(row["post_hoc"]) for row in rows)
    made = ", ".join(f"{name} {value}" for name, value in {**machine(), **versions()}.items())
    return (
        "Written by `querist reproduce PAPER ITEM --out` this folder. Each page says its protocol and the "
        "command that made it, and shows ours beside the published numbers: *reached* within the tolerance, "
        "*better* beyond it on the good side, *not reached* otherwise. [results.json](results.json) has a "
        f"row for each published number: {counted}; {post_hoc:,} of them with a setting that was chosen by "
        f"looking at the published number (`post_hoc`).\n\nThis page was last written with {made}."
    )


def _line(item: Item, page: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    count = Counter(row["verdict"] for row in rows if (row["paper"], row["item"]) == (item.paper, item.name))
    cells = [f"{count[verdict]:,}" if count else "" for verdict in VERDICTS]
    quick = f"`{command_of(item, True)}`" in page.read_text(encoding="utf-8")
    title = item.title.replace("|", r"\|") + (" (quick: fewer repeats)" if quick else "")
    return f"| [{item.name}](tables/{page.name}) | {title} | {' | '.join(cells)} |"


def _absent(labels: Sequence[str], why: Mapping[str, str]) -> list[str]:
    """What is not there: left out for a reason, or not run."""
    parts = [f"Left out, {label}: {why[label]}." for label in labels if label in why]
    rest = [label for label in labels if label not in why]
    return parts + ([f"Not in this folder: {', '.join(rest)}."] if rest else [])

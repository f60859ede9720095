"""Two folders of results, cell by cell: whether a fresh run gives what a finished one has.

Seconds depend on the machine and are left out: columns and rows that are named so.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from querist import InputError
from querist_papers import index
from querist_papers.item import Item

NEAR = 1e-6
"""Parts of a number by which another machine may round it otherwise."""


def refuse_without_results(folder: Path) -> None:
    """A folder that holds nothing to compare with is a mistake."""
    if not index.rows_of(folder, lambda label: True):
        raise InputError(f"{folder} has no {index.ROWS}; give the folder of a finished run to compare with")


def differences(fresh: Path, finished: Path, items: Sequence[Item]) -> list[str]:
    """A line for each cell of these items that differs between two folders."""
    said = []
    for item in items:
        ours, theirs = _cells(fresh, item), _cells(finished, item)
        said += [
            f"{place}: {ours.get(place)} in {fresh}, {theirs.get(place)} in {finished}"
            for place in dict.fromkeys([*ours, *theirs])
            if not _same(ours.get(place), theirs.get(place))
        ]
    return said


def _cells(folder: Path, item: Item) -> dict[str, Any]:
    """The numbers and tables of an item, by where they stand."""
    found: dict[str, Any] = {}
    for row in index.rows_of(folder, lambda label: label == item.label):
        names = (row.get(name) for name in ("statement", "dataset", "method", "measure"))
        place = ", ".join([index.ROWS, item.label, *filter(None, names)])
        if row.get("measure") != "seconds":
            found |= {f"{place}, {name}": value for name, value in row.items()}
    for path in sorted((folder / "tables").glob(f"{index.page_name(item)}*.csv")):
        head, *lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
        kept = [(i, name) for i, name in enumerate(head) if "seconds" not in name]
        for number, line in enumerate(lines, 2):
            if "seconds" not in line:
                found |= {f"{path.name}, line {number}, column {i + 1} ({name})": line[i] for i, name in kept}
    return found


def _same(a: Any, b: Any) -> bool:
    """
    >>> _same("0.2", 0.2000000001), _same("", ""), _same({"held out": 1.0}, {"held out": 1.1})
    (True, True, False)
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    try:
        return math.isclose(float(a), float(b), rel_tol=NEAR, abs_tol=1e-9)
    except (TypeError, ValueError):
        return bool(a == b)

"""One self-contained HTML report: the items of a paper with tables, figures, protocol, seeds and verdicts."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from querist.experiment import tables
from querist.experiment.index import chance_cells
from querist.experiment.item import Cell, Number
from querist.experiment.store import machine, versions
from querist.experiment.tables import shown
from querist.experiment.verdicts import AGREES, BETTER, DIFFERS, NOT_REACHED, OWN, REACHED
from querist.report import Figure, page

if TYPE_CHECKING:
    from querist.experiment.reproduce import Done

FEW = 15
"""Published numbers beyond which their list is folded."""

WIDE = 6.5
"""Inches beyond which a figure stands alone."""


def report(title: str, done: Sequence["Done"], command: str, left_out: Sequence[str] = ()) -> str:
    """The whole page; `command` made it, `left_out` says what is missing and why."""
    numbers = [number for each in done for number in each.shown.numbers]
    lede = f"{len(numbers):,} published numbers in {len(done)} items. " if numbers else ""
    return page(
        "paper",
        title=title,
        lede=f"{lede}Every number of ours was computed by the commands below.",
        numbers=_counted(numbers) if numbers else None,
        command=command,
        left_out=left_out,
        items=[_item(each) for each in done],
        few=FEW,
        conditions=", ".join(f"{name} {value}" for name, value in {**machine(), **versions()}.items()),
        n_specifications=len({result.specification.key for each in done for result in each.results}),
    )


def _counted(numbers: Sequence[Number]) -> list[tuple[str, str, str]]:
    rows = [number.as_dict() for number in numbers]
    count = Counter(row["verdict"] for row in rows if row["system"])
    constant, _ = chance_cells([row for row in rows if row["system"] == OWN])
    return [
        (f"{count[REACHED]}", "reached", "own systems, within the tolerance of the published number"),
        (f"{count[BETTER]}", "better", "beyond it, on the good side"),
        (f"{count[NOT_REACHED]}", "not reached", "said plainly"),
        (constant, "by a constant", "accuracies and errors that the commonest class alone would reach"),
        (f"{count[AGREES]}", "agree", "rivals, within the tolerance"),
        (f"{count[DIFFERS]}", "differ", "rivals, above or below"),
        (
            f"{sum(number.post_hoc for number in numbers)}",
            "post hoc",
            "a setting chosen by the published number",
        ),
    ]


def _item(done: "Done") -> dict[str, Any]:
    item, seen = done.item, done.shown
    return {
        "heading": f"{item.name}: {item.title}" if item.name else item.title,
        "protocol": done.protocol,
        "tables": [tables.html(each) for each in seen.tables],
        "figures": _arranged(seen.figures),
        "prefix": f"{item.paper.name}-{item.name}-",
        "verdicts": [_verdict(number) for number in seen.numbers],
        "remarks": seen.remarks,
    }


def _arranged(figures: Sequence[Figure]) -> list[list[Figure]]:
    """Wide figures alone, the others side by side."""
    narrow = [figure for figure in figures if figure.size[0] <= WIDE]
    return [[figure] for figure in figures if figure.size[0] > WIDE] + ([narrow] if narrow else [])


def _verdict(n: Number) -> tuple[str, ...]:
    return (
        ", ".join(filter(None, (n.dataset, n.method))),
        n.measure.replace("_", " "),
        shown(Cell(n.published, None, _digits(n))),
        shown(Cell(n.reached, n.std, _digits(n))),
        "" if n.difference is None else f"{n.difference:+,.{_digits(n)}f}",
        n.verdict + (", post hoc" if n.post_hoc else ""),
    )


def _digits(number: Number) -> int:
    """Decimals that suit the size of what was published."""
    size = abs(number.published)
    return 0 if size >= 100 or float(size).is_integer() else 2 if size >= 1 else 4

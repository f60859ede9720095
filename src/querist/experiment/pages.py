"""One self-contained HTML report: the items of a paper with tables, figures, protocol, seeds and verdicts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from querist.experiment import plots, tables
from querist.experiment.item import BETTER, NOT_REACHED, REACHED, Cell, Figure, Number
from querist.experiment.store import machine, versions
from querist.experiment.tables import shown
from querist.report import Figure as Drawing
from querist.report import Html, code, columns, headline, page, prose, section, table
from querist.report.figures import inline

if TYPE_CHECKING:
    from querist.experiment.reproduce import Done

FEW = 15
"""Published numbers beyond which their list is folded."""

WIDE = 6.5
"""Inches beyond which a figure stands alone."""


def report(title: str, done: Sequence["Done"], command: str, left_out: Sequence[str] = ()) -> str:
    """The whole page; `command` made it, `left_out` says what is missing and why."""
    numbers = [number for each in done for number in each.shown.numbers]
    sections = [_summary(numbers, command, left_out)]
    sections += [_item(each) for each in done]
    sections.append(_conditions(done))
    lede = f"{len(numbers):,} published numbers in {len(done)} items. " if numbers else ""
    return page(title, f"{lede}Every number of ours was computed by the commands below.", sections)


def _summary(numbers: Sequence[Number], command: str, left_out: Sequence[str]) -> Html:
    parts = []
    if numbers:
        count = {v: sum(n.verdict == v for n in numbers) for v in (REACHED, BETTER, NOT_REACHED)}
        post_hoc = sum(n.post_hoc for n in numbers)
        parts.append(
            headline(
                [
                    (f"{count[REACHED]}", "reached", "within the tolerance of the published number"),
                    (f"{count[BETTER]}", "better", "beyond it, on the good side"),
                    (f"{count[NOT_REACHED]}", "not reached", "said plainly"),
                    (f"{post_hoc}", "post hoc", "a setting was chosen by the published number"),
                ]
            )
        )
    return section("In short", *parts, code(command), *(prose(f"Left out: {text}") for text in left_out))


def _item(done: "Done") -> Html:
    item, seen = done.item, done.shown
    parts = [prose(*done.protocol)]
    parts += [_apart(tables.html(each)) for each in seen.tables]
    parts += [_apart(figures) for figures in _arranged(done)]
    if seen.numbers:
        parts.append(_apart(_verdicts(seen.numbers)))
    parts += [prose(remark) for remark in seen.remarks]
    return section(f"{item.name}: {item.title}" if item.name else item.title, *parts)


def _arranged(done: "Done") -> list[Html]:
    """Wide figures alone, the others side by side."""
    wide = [figure for figure in done.shown.figures if figure.size[0] > WIDE]
    rest = [figure for figure in done.shown.figures if figure.size[0] <= WIDE]
    groups = [[figure] for figure in wide] + ([rest] if rest else [])
    return [columns(*(_drawn(done, figure) for figure in group)) for group in groups]


def _apart(part: Html) -> Html:
    """With room below it."""
    return Html(f'<div style="margin-bottom: 2rem">{part}</div>')


def _drawn(done: "Done", figure: Figure) -> Drawing:
    name = f"{done.item.paper}-{done.item.name}-{figure.name}"
    svg = plots.rendered(figure)["svg"].decode()
    heading = figure.name.replace("_", " ")
    return Drawing(Html(inline(svg, name, figure.caption or heading)), heading, figure.caption)


def _verdicts(numbers: Sequence[Number]) -> Html:
    rows = [
        (
            ", ".join(filter(None, (n.dataset, n.method))),
            n.measure.replace("_", " "),
            shown(Cell(n.published, None, _digits(n))),
            shown(Cell(n.reached, n.std, _digits(n))),
            "" if n.difference is None else f"{n.difference:+,.{_digits(n)}f}",
            n.verdict + (", post hoc" if n.post_hoc else ""),
        )
        for n in numbers
    ]
    head = ("", "measure", "published", "ours", "difference", "verdict")
    what = f"{len(numbers)} published numbers and ours"
    opened = " open" if len(numbers) <= FEW else ""
    return Html(f"<details{opened}><summary>{what}</summary>{table(head, rows, '')}</details>")


def _digits(number: Number) -> int:
    """Decimals that suit the size of what was published."""
    size = abs(number.published)
    return 0 if size >= 100 or float(size).is_integer() else 2 if size >= 1 else 4


def _conditions(done: Sequence["Done"]) -> Html:
    keys = sorted({result.specification.key for each in done for result in each.results})
    where = ", ".join(f"{name} {value}" for name, value in {**machine(), **versions()}.items())
    return section(
        "Conditions",
        prose(
            f"This page was made with {where}. Versions, machine and seconds of every single run stand in "
            f"results/*.jsonl, a file a specification ({len(keys)} of them)."
        ),
    )

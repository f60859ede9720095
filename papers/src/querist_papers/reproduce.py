"""Items of the papers, run and shown: tables, figures, `results.json` and an index in a folder."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from querist import DownloadError, InputError
from querist.experiment import Result, Specification, Store, run
from querist.extend import Section, check_all, make_folder, put, taking_turns, write_section
from querist_papers import account, index
from querist_papers.chance import with_chance
from querist_papers.item import Cell, Entry, Item, Number, Shown, Table
from querist_papers.verdicts import OUTSIDE, OWN_VERDICTS, RIVAL_VERDICTS

HURRIED = "Made in a hurry (--quick): fewer repeats, fewer cases and smaller grids than the protocol has."


@dataclass(frozen=True)
class Done:
    """An item, what came of it, and what it shows."""

    item: Item
    results: Sequence[Result]
    shown: Shown
    quick: bool = False


@dataclass(frozen=True)
class Outputs:
    """What was done, and what was left out: item and reason."""

    done: Sequence[Done]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every published number and every theorem."""
        shown = [each.shown for each in self.done]
        numbers = [number.as_dict() for each in shown for number in each.numbers]
        return numbers + [statement.as_dict() for each in shown for statement in each.statements]


def reproduce(
    items: Sequence[Item],
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    processes: int = 1,
    cluster: str | None = None,
    progress: Callable[[float, str], None] | None = None,
    known: Sequence[Item] = (),
) -> Outputs:
    """Run items and write what they show into a folder; runs that it holds already are not made again.

    An item whose data are not to be had is left out, unless none would remain. `known` are all items there
    are, in their order, for the index.
    """
    folder = Path(out)
    known = known or items
    index.rows_of(folder, lambda label: True)  # what cannot be added to is refused before anything runs
    store = Store(folder / "results")
    plans, left_out = _available(items, quick, store)
    make_folder(folder, index.ROWS)
    found = iter(
        run(
            [spec for _, plan in plans for spec in plan],
            store,
            processes=processes,
            cluster=cluster,
            progress=progress,
            checked=True,
        )
    )
    done = []
    for item, plan in plans:
        results = [next(found) for _ in plan]
        shown = item.show(results)
        stated = index.statements([each.as_dict() for each in shown.statements], item.paper.name)
        numbers = with_chance([item.read(number) for number in shown.numbers], store)
        done.append(
            Done(item, results, replace(shown, tables=[*stated, *shown.tables], numbers=numbers), quick)
        )
    outputs = Outputs(done, left_out)
    write(outputs, folder, known)
    if any(item.paper.prose for item in known) and {i.label for i in known} == {i.label for i in items}:
        put(folder / account.NAME, account.account(folder, known))
    return outputs


def _available(
    items: Sequence[Item], quick: bool, store: Store
) -> tuple[list[tuple[Item, list[Specification]]], dict[str, str]]:
    """Items with their plans, all checked, and those left out for want of data."""
    plans, left_out, absent = [], {}, None
    for item in items:
        plan = list(item.plan(quick))
        try:
            check_all(plan, store)
        except InputError as problem:
            absent = _absent(problem)
            if absent is None:
                raise InputError(f"{item.label}: {problem}") from problem
            left_out[item.label] = str(absent)
        else:
            plans.append((item, plan))
    if absent is not None and not plans:
        raise absent
    return plans, left_out


def _absent(problem: BaseException | None) -> DownloadError | None:
    """The download that failed, where that is what is wrong."""
    while problem is not None and not isinstance(problem, DownloadError):
        problem = problem.__cause__
    return problem


def write(outputs: Outputs, folder: Path, known: Sequence[Item]) -> None:
    """Tables, figures, `results.json` and the index. What is there of other items stays as it is."""
    for each in outputs.done:
        tables = [*each.shown.tables, *_verdicts(each.shown.numbers, each.item.readings)]
        how = [HURRIED, each.item.protocol] if each.quick else [each.item.protocol]
        section = Section(how, each.results, replace(each.shown, tables=tables))
        title = f"{each.item.label}: {each.item.title}"
        write_section(section, folder, index.page_name(each.item), title, _counted_in_words(each))
    mine = {each.item.label for each in outputs.done}
    if not mine:
        return
    with taking_turns(folder):  # other processes may have rows for the same file
        others = index.rows_of(folder, lambda label: label not in mine)
        put(folder / index.ROWS, index.ordered([*others, *outputs.rows()], known))
        if index.writable(folder):
            put(folder / index.NAME, index.index(folder, known, outputs.left_out))


def _counted_in_words(done: Done) -> list[str]:
    """What made an item, and how its numbers came out."""
    count = Counter(number.verdict for number in done.shown.numbers)
    every = (*OWN_VERDICTS, *RIVAL_VERDICTS, *OUTSIDE)
    said = ", ".join(f"{count[verdict]} {verdict}" for verdict in every if count[verdict])
    made = f"`{index.command_of(done.item, done.quick)}`"
    return [made, f"Published numbers: {said}."] if count else [made]


def _verdicts(numbers: Sequence[Number], readings: Mapping[str, str]) -> list[Table]:
    """Every published number beside ours, and how the paper was read."""
    rows: list[list[Entry]] = [
        [
            number.dataset,
            number.method,
            number.measure.replace("_", " "),
            f"{number.published:,.{_digits(number)}f}",
            Cell(number.reached, number.std, _digits(number)),
            "" if number.difference is None else f"{number.difference:+,.{_digits(number)}f}",
            "" if number.without is None else f"{number.without:,.{_digits(number)}f}",
            number.verdict + (", post hoc" if number.post_hoc else ""),
        ]
        for number in numbers
    ]
    note = " ".join(f"{name or 'Reading'}: {reading}." for name, reading in readings.items())
    return [Table("Published numbers", HEAD, rows, note)] if rows else []


HEAD = ("data", "method", "measure", "published", "ours", "difference", "without the idea", "verdict")


def _digits(number: Number) -> int:
    """Decimals that suit the size of what was published."""
    size = abs(number.published)
    return 0 if size >= 100 or float(size).is_integer() else 2 if size >= 1 else 4

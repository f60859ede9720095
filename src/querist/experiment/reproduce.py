"""Items of the papers, run and shown: tables, figures, `results.json` and an index in a folder."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from querist.atomic import check_writable, replacing
from querist.errors import DownloadError, InputError
from querist.experiment import account, index, tables
from querist.experiment.chance import with_chance
from querist.experiment.item import Item, Shown
from querist.experiment.pages import report
from querist.experiment.results import Result
from querist.experiment.runner import check_all, left_to_run, run
from querist.experiment.specification import Specification, SpecificationError, plain
from querist.experiment.store import Store, taking_turns
from querist.experiment.verdicts import OUTSIDE, OWN_VERDICTS, RIVAL_VERDICTS
from querist.progress import Progress

HURRIED = "Made in a hurry (--quick): fewer repeats, fewer cases and smaller grids than the protocol has."


@dataclass(frozen=True)
class Done:
    """An item, what came of it, and what it shows."""

    item: Item
    results: Sequence[Result]
    shown: Shown
    quick: bool = False

    @property
    def protocol(self) -> list[str]:
        """How it was run: what the item says, and the seeds and repeats that these results have."""
        said = [HURRIED] if self.quick else []
        return [*said, self.item.protocol, *([seeds(self.results)] if self.results else [])]


@dataclass(frozen=True)
class Outputs:
    """What was done, and what was left out: item and reason."""

    done: Sequence[Done]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Done]:
        return iter(self.done)

    def rows(self) -> list[dict[str, Any]]:
        """A row for every published number."""
        return [number.as_dict() for each in self.done for number in each.shown.numbers]


def seeds(results: Sequence[Result]) -> str:
    """Seeds and repeats, in words."""
    specs = [result.specification for result in results]
    repeats = sorted({spec.repeats for spec in specs})
    text = (
        f"Seed {_joined({spec.seed for spec in specs})}; {_joined(repeats)} "
        f"repeat{'' if repeats == [1] else 's'}; {len(specs)} specification{'s' if len(specs) > 1 else ''}."
    )
    held = {spec.held_out for spec in specs if spec.grid}
    return text + (f" Tuned on held-out draws from seed {_joined(held)}." if held else "")


def _joined(values: Iterable[int]) -> str:
    return ", ".join(f"{value:,}" for value in sorted(values))


def reproduce(
    items: Sequence[Item],
    out: str | os.PathLike[str],
    *,
    quick: bool = False,
    processes: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    command: str = "",
    known: Sequence[Item] = (),
) -> Outputs:
    """Run items and write what they show into a folder; runs that it holds already are not made again.

    An item whose data are not to be had is left out, unless none would remain. `known` are all items there
    are, in their order, for the index; they are also on the page of their paper where the folder holds all
    of their runs. `command` is told on the page; by default it is the one that reproduces each item.
    """
    folder = Path(out)
    known = known or items
    if any(item.name for item in items):
        index.rows_of(folder, lambda label: True)  # what cannot be added to is refused before anything runs
    store = Store(folder / "results")
    plans, left_out = _available(items, quick, store)
    _make(folder)
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
        done.append(_shown(item, results, quick, store))
    outputs = Outputs(done, left_out)
    write(outputs, folder, known)
    finished = [*done, *_finished(known, outputs, quick, store)]
    if any(item.paper.prose for item in known) and {i.label for i in known} == {i.label for i in items}:
        put(folder / account.NAME, account.account(folder, known))
    for paper in dict.fromkeys(item.paper for item, _ in plans):
        order = [item.label for item in [*known, *items]]  # an item may be in both: its first place counts
        mine = sorted((d for d in finished if d.item.paper == paper), key=lambda d: order.index(d.item.label))
        commands = [command] if command else [index.command_of(d.item, quick) for d in mine]
        write_page(mine, left_out, folder, "\n".join(commands))
    return outputs


def _make(folder: Path) -> None:
    """The folder, before anything runs whose results could not be written there."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the results")
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / index.ROWS)


def _finished(items: Sequence[Item], outputs: Outputs, quick: bool, store: Store) -> list[Done]:
    """Items of which every run is there, but for those that are shown already."""
    papers = {each.item.paper for each in outputs.done}
    seen = {*(each.item.label for each in outputs.done), *outputs.left_out}
    found = []
    for item in items:
        if item.paper in papers and item.label not in seen:
            plan = list(item.plan(quick))
            if left_to_run(plan, store) == 0:
                results = run(plan, store)
                found.append(_shown(item, results, quick, store))
    return found


def _shown(item: Item, results: Sequence[Result], quick: bool, store: Store) -> Done:
    shown = item.show(results)
    return Done(item, results, replace(shown, numbers=with_chance(shown.numbers, store)), quick)


def _available(
    items: Sequence[Item], quick: bool, store: Store
) -> tuple[list[tuple[Item, list[Specification]]], dict[str, str]]:
    """Items with their plans, all checked, and those left out for want of data."""
    plans, left_out, absent = [], {}, None
    for item in items:
        plan = list(item.plan(quick))
        try:
            check_all(plan, store)
        except SpecificationError as problem:
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
    """Tables and figures; of items of papers also `results.json` and the index.

    What is there of other items stays as it is.
    """
    for each in outputs.done:
        name = index.page_name(each.item)
        put(folder / "tables" / f"{name}.md", as_markdown(each))
        _write_tables(each.shown, folder / "tables", name)
        _write_figures(each.shown, folder / "figures", name)
    mine = {each.item.label for each in outputs.done if each.item.name}
    if not mine:  # a comparison has no published numbers
        return
    with taking_turns(folder):  # other processes may have rows for the same file
        others = index.rows_of(folder, lambda label: label not in mine)
        put_json(folder / index.ROWS, index.ordered([*others, *outputs.rows()], known))
        if index.writable(folder):
            put(folder / index.NAME, index.index(folder, known, outputs.left_out))


def write_page(done: Sequence[Done], left_out: Mapping[str, str], folder: Path, command: str) -> None:
    """The report of a paper, from its items."""
    item = done[0].item
    missing = [f"{name}: {why}" for name, why in left_out.items() if name.split()[0] == item.paper.name]
    title = f"{item.paper.name}: published and reached" if item.name else item.title
    put(folder / f"{item.paper.name}.html", report(title, done, command, missing))


def as_markdown(done: Done) -> str:
    """An item as a page of its own; its figures are found in the folder beside."""
    item, shown = done.item, done.shown
    parts = [f"# {tables.escaped(f'{item.label}: {item.title}')}\n"]
    parts += [f"{tables.escaped(said)}\n" for said in done.protocol]
    if item.name:
        count = Counter(number.verdict for number in shown.numbers)
        every = (*OWN_VERDICTS, *RIVAL_VERDICTS, *OUTSIDE)
        said = ", ".join(f"{count[verdict]} {verdict}" for verdict in every if count[verdict])
        parts.append(f"`{index.command_of(item, done.quick)}`\n")
        parts += [f"Published numbers: {said}.\n"] if shown.numbers else []
    parts += [tables.markdown(table) for table in shown.tables]
    for figure in shown.figures:
        path = f"../figures/{index.page_name(item)}_{figure.name}.svg"
        caption = tables.escaped(figure.caption)
        parts.append(f"![{caption}]({path})\n\n{caption}\n")
    return "\n".join(parts + [f"{tables.escaped(remark)}\n" for remark in shown.remarks])


def _write_tables(shown: Shown, folder: Path, name: str) -> None:
    if not shown.tables:
        return
    put(folder / f"{name}.tex", "\n".join(tables.latex(table) for table in shown.tables))
    for i, table in enumerate(shown.tables):
        suffix = "" if len(shown.tables) == 1 else f"_{i + 1}"
        put(folder / f"{name}{suffix}.csv", tables.comma_separated(table))


def _write_figures(shown: Shown, folder: Path, name: str) -> None:
    for figure in shown.figures:
        put(folder / f"{name}_{figure.name}.svg", figure.svg)
        put(folder / f"{name}_{figure.name}.png", figure.png)


def put(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def put_json(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """A file of rows, a NaN as null."""
    put(path, json.dumps(plain(rows), indent=1))

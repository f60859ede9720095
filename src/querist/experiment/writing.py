"""Results as files: tables and figures in a folder, and a page of Markdown that shows them.

>>> put(Path("rows.json"), [{"accuracy": 0.8}])
>>> json.loads(Path("rows.json").read_text())
[{'accuracy': 0.8}]
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querist.atomic import check_writable, replacing
from querist.errors import InputError
from querist.experiment import tables
from querist.experiment.results import Result
from querist.experiment.specification import plain
from querist.experiment.tables import Shown


@dataclass(frozen=True)
class Section:
    """What was run, how, and what it shows.

    >>> Section(["Run once."], (), Shown()).results
    ()
    """

    protocol: Sequence[str]
    results: Sequence[Result]
    shown: Shown

    @property
    def said(self) -> list[str]:
        """The protocol, with the seeds and repeats of the results."""
        return [*self.protocol, *([seeds(self.results)] if self.results else [])]


def seeds(results: Sequence[Result]) -> str:
    """Seeds and repeats, in words.

    >>> from querist.experiment import Outcome, Specification
    >>> seeds([Result(Specification("online", "karate", "msg", repeats=2), {}, (Outcome({}),))])
    'Seed 0; 2 repeats; 1 specification.'
    """
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


def make_folder(folder: Path, file: str) -> None:
    """Make a folder for results; refused before anything runs if `file` could not be written there.

    >>> make_folder(Path("new"), "comparison.json")
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the results")
    folder.mkdir(parents=True, exist_ok=True)
    check_writable(folder / file)


def put(path: Path, content: str | bytes | Sequence[Mapping[str, Any]]) -> None:
    """Write a file whole or not at all; rows become JSON, in which a NaN is null.

    >>> put(Path("rows.json"), [{"error": float("nan")}])
    >>> print(Path("rows.json").read_text())
    [
     {
      "error": null
     }
    ]
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(plain(content), indent=1)
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def write_section(section: Section, folder: Path, name: str, title: str, more: Sequence[str] = ()) -> None:
    """Tables and figures as `tables/NAME.*` and `figures/NAME_*`, and a page of Markdown with all of them.

    `more` are paragraphs below those that say how it was run, as Markdown.

    >>> write_section(Section(["Run once."], (), Shown()), Path("."), "mine", "My runs")
    >>> Path("tables/mine.md").read_text()
    '# My runs\\n\\nRun once.\\n'
    """
    shown = section.shown
    said = [*map(tables.escaped, section.said), *more]
    put(folder / "tables" / f"{name}.md", _markdown(shown, name, title, said))
    for i, table in enumerate(shown.tables):
        suffix = "" if len(shown.tables) == 1 else f"_{i + 1}"
        put(folder / "tables" / f"{name}{suffix}.csv", tables.comma_separated(table))
    for figure in shown.figures:
        put(folder / "figures" / f"{name}_{figure.name}.svg", figure.svg)
        put(folder / "figures" / f"{name}_{figure.name}.png", figure.png)


def _markdown(shown: Shown, name: str, title: str, said: Sequence[str]) -> str:
    parts = [f"# {tables.escaped(title)}\n", *(f"{line}\n" for line in said)]
    parts += [table.markdown() for table in shown.tables]
    for figure in shown.figures:
        caption = tables.escaped(figure.caption)
        parts.append(f"![{caption}](../figures/{name}_{figure.name}.svg)\n\n{caption}\n")
    return "\n".join(parts + [f"{tables.escaped(remark)}\n" for remark in shown.remarks])

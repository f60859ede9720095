"""How the help of the command line looks: verbs in panels, plain words for values, examples as typed."""

import re
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

LABEL, COMPARE, LOOK = "Label your data", "Compare methods", "Look around"
"""The panels of `querist --help`, in their order."""

FIRST = ("label", "ask", "serve", "campaign", "embed", "evaluate")
"""The verbs at the top of a list."""

EXAMPLES = re.compile(r"(?<=Examples:\n\n)(?:.+\n?)+")
"""A paragraph of commands."""

PLAIN = {
    r"^([^-\s]+) <.*>$": r"\1",
    r"<(int|float)[ a-z]*>": "NUMBER",
    r"<str>": "TEXT",
    r"<(file|path)>": "FILE",
    r"<directory>": "FOLDER",
    r"<([^<>]*\|[^<>]*)>": r"[\1]",
    r"\b([\d.]+)<=x<=([\d.]+)": r"\1 to \2",
    r"\bx>=([\d.]+)": r"\1 or more",
    r"\bx<=([\d.]+)": r"at most \1",
    r" \[default: ([^][]*)\]\.$": r".  [default: \1]",
    r" \[default: ([^][]*)\]\.  \[": r".  [default: \1; ",
}
"""What typer says of values and ranges, and plain words for it."""


def plain(text: str) -> str:
    """Help without types of Python.

    >>> plain("--seed <int range>"), plain("--goal <accuracy|f1>"), plain("Random seed [default: 0].  [x>=0]")
    ('--seed NUMBER', '--goal [accuracy|f1]', 'Random seed.  [default: 0; 0 or more]')
    """
    for pattern, words in PLAIN.items():
        text = re.sub(pattern, words, text)
    return text


def _as_typed(commands: re.Match[str]) -> str:
    """Commands line by line, which help would otherwise wrap."""
    return "\b\n" + "\n".join(f"  {line}" for line in commands[0].splitlines())


class Verb(TyperCommand):
    """A verb, whose help has plain words for values, and its examples as typed."""

    def __init__(self, *given: Any, help: str | None = None, **more: Any) -> None:
        super().__init__(*given, help=EXAMPLES.sub(_as_typed, help or ""), **more)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the name of the verb."""
        return [re.sub(r"[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options."""
        write = formatter.write_dl
        formatter.write_dl = lambda rows: write([(plain(name), plain(text)) for name, text in rows])
        super().format_options(ctx, formatter)


class Verbs(TyperGroup):
    """Verbs by their panels; without a word after it, a group shows its help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words that are left to the verb."""
        return super().parse_args(ctx, args or ["--help"])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each with the first line of its help."""
        panels = {panel: list[tuple[str, str]]() for panel in (LABEL, COMPARE, LOOK, "Commands")}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            if command.hidden:
                continue
            panel = command.rich_help_panel
            about = command.get_short_help_str(65)
            panels[panel if isinstance(panel, str) else "Commands"].append((name, about))
        for panel, rows in panels.items():
            if rows:
                with formatter.section(panel):
                    formatter.write_dl(rows)

    def list_commands(self, ctx: Any) -> list[str]:
        """The most used ones first."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


def group(name: str, help: str) -> typer.Typer:
    """A verb that has verbs."""
    return typer.Typer(
        name=name,
        help=EXAMPLES.sub(_as_typed, help),
        cls=Verbs,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

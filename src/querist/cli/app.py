"""All verbs, and what is said before any of them."""

from collections.abc import Callable, Collection
from typing import Annotated

import typer

from querist import plugins
from querist.cli.appearance import COMPARE, LABEL, LOOK, Verb, group
from querist.cli.ask import ask
from querist.cli.compare import evaluate, experiment
from querist.cli.embed import embed
from querist.cli.label import label
from querist.cli.look import algorithms, datasets, demo
from querist.cli.serve import campaign, serve
from querist.errors import InputError

app = group(
    "querist",
    """Label the nodes of a graph by asking for as few labels as possible.

Examples:

querist demo
querist label edges.csv --labels labels.csv --out labelled.csv
""",
)
PANELS = {
    LABEL: (label, ask, serve, campaign, embed),
    COMPARE: (evaluate, experiment),
    LOOK: (demo, datasets, algorithms),
}
for panel, verbs in PANELS.items():
    for verb in verbs:
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, rich_help_panel=panel)
        else:
            app.command(cls=Verb, rich_help_panel=panel)(verb)

KNOWN_PLUGINS = {"reproduce": "querist-papers", "bound": "querist-papers"}
"""Verbs of plugins that people may try before they have them, and what to install."""
ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def _unavailable(problem: Exception) -> Callable[..., None]:
    """A verb that says why it is not there, whatever follows it."""

    def refused(context: typer.Context) -> None:
        raise problem

    return refused


def add_verbs(names: Collection[str]) -> None:
    """The verbs of plugins; one that cannot be loaded, or is not installed, says so when it is called."""
    for name in names:
        try:
            app.command(name, cls=Verb, rich_help_panel=COMPARE)(plugins.load("verb", name))
        except InputError as problem:
            app.command(name, hidden=True, context_settings=ANYTHING)(_unavailable(problem))
    for name in KNOWN_PLUGINS.keys() - {*names}:
        missing = InputError(
            f"{name} is a verb of {KNOWN_PLUGINS[name]}, which is not installed; in a checkout of Querist: "
            "pip install ./papers"
        )
        app.command(name, hidden=True, context_settings=ANYTHING)(_unavailable(missing))


add_verbs(plugins.names("verb"))


def _version(wanted: bool) -> None:
    if wanted:
        from querist.version import VERSION

        typer.echo(f"querist {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def querist(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            envvar="QUERIST_TRACEBACK",
            help="Show where in the code an unexpected error arose.",
        ),
    ] = False,
) -> None:
    """Show the help unless there is a verb."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

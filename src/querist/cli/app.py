"""All verbs, and what is said before any of them."""

from typing import Annotated

import typer

from querist.cli.ask import ask
from querist.cli.bound import bound
from querist.cli.classify import classify
from querist.cli.demo import demo
from querist.cli.embed import embed
from querist.cli.experiment import experiment
from querist.cli.label import label
from querist.cli.lists import algorithms, datasets
from querist.cli.online import online
from querist.cli.reproduce import reproduce
from querist.cli.serve import campaign, serve
from querist.cli.stream import stream
from querist.cli.transduce import transduce

app = typer.Typer(rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
VERBS = (
    demo,
    datasets,
    algorithms,
    embed,
    online,
    classify,
    label,
    bound,
    stream,
    transduce,
    reproduce,
    experiment,
    ask,
    serve,
)
for verb in VERBS:
    app.command()(verb)
app.add_typer(campaign, name="campaign")


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
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version and leave."
        ),
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
    """Label the nodes of a graph by asking for as few labels as possible.

    Start with `querist demo`.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

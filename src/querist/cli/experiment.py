"""`querist experiment`: a comparison that a TOML file describes."""

from pathlib import Path
from typing import Annotated

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, print_tables, running


def experiment(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to run; see docs/experiments.md.")],
    out: options.Out = Path("querist-experiment"),
    processes: options.Processes = 0,
    cluster: options.Cluster = None,
    as_json: options.Json = False,
) -> None:
    """Run a comparison of your own.

    The file names data sets, learners, classifiers or stream methods, their parameters or a grid to tune, and
    how often to repeat. Everything in it is checked before anything runs. Beside every online learner stand
    its controls: asking as often at random, and where the margin is smallest.

    Every run is kept in the folder as it finishes: stop it, and start it again to go on. Tables (Markdown,
    CSV), figures (SVG, PNG) and a page to read (comparison.html) are written there.

    Examples:

    querist experiment comparison.toml
    querist experiment comparison.toml --out results --processes 1
    """
    from querist.experiment import compared
    from querist.experiment.comparison import Comparison

    with running(out) as (show, progress):
        show("checking", 0.0, file.name)
        comparison = Comparison.read(file)
        show("checking", 1.0, f"{len(comparison.specifications)} experiments")
        section = compared.compare(
            comparison,
            out,
            processes=processes,
            cluster=cluster,
            progress=progress,
            command=f"querist experiment {file.name}",
        )
    if as_json:
        print_json(compared.rows(comparison, section.results))
        return
    print_line("\n".join([comparison.title, *section.said, ""]))
    for table in section.shown.tables:
        print_tables([table])
        print_line("")
    read = f"Everything is in {out}; read {out / 'comparison.html'}."
    print_line("\n".join([*section.shown.remarks, read]))

"""`querist experiment`: a comparison that a TOML file describes."""

from pathlib import Path
from typing import Annotated

import typer

from querist.cli import options
from querist.cli.screen import meter, print_json, print_line, print_table, progress, resumable


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
    LaTeX, CSV), figures (SVG, PNG) and a page to read (comparison.html) are written there.
    """
    from querist.experiment import compared, index, tables
    from querist.experiment.comparison import Comparison
    from querist.experiment.reproduce import put_json, reproduce

    with resumable(out), progress() as show:
        show("checking", 0.0, file.name)
        comparison = Comparison.read(file)
        compared.check_folder(out)
        show("checking", 1.0, f"{len(comparison.specifications)} experiments")
        outputs = reproduce(
            [compared.as_item(comparison)],
            out,
            processes=processes,
            cluster=cluster,
            progress=meter(show),
            command=f"querist experiment {file.name}",
        )
    (done,) = outputs.done
    rows = compared.rows(comparison, done.results)
    put_json(out / index.ROWS, rows)
    if as_json:
        print_json(rows)
        return
    print_line("\n".join([comparison.title, *done.protocol, ""]))
    for table in done.shown.tables:
        print_line(table.title)
        print_table(table.columns, tables.cells(table), text_columns=tables.text_columns(table))
        print_line(f"{table.note}\n")
    for remark in done.shown.remarks:
        print_line(remark)
    print_line(f"Everything is in {out}; read {out / 'comparison.html'}.")

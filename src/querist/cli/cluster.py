"""`--cluster` and `--estimate`: verbs on the workers of a Dask cluster, and what they would take."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from querist.cli.options import Values
from querist.cli.screen import print_found, print_line, print_table, progress
from querist.errors import InputError

COLUMNS = ("source", "target", "weight", "id", "label_column")
"""Options of columns that mean the same on a cluster."""


def refuse_beside(option: str, given: Mapping[str, bool]) -> None:
    """Refuse options that do nothing beside another."""
    strange = [name for name, is_given in given.items() if is_given]
    if strange:
        raise InputError(f"{strange[0]} does not go with {option}; leave one of the two out")


def columns_there(columns: Values) -> dict[str, Any]:
    """Columns as `querist.cluster` calls them; refused where it has no such option."""
    refuse_beside("--cluster", {f"--{name}": name not in COLUMNS for name in columns})
    called = {"weight": "weights", "label_column": "label"}
    return {called.get(name, name): value for name, value in columns.items()}


def embed_there(
    cluster: str, data: str, out: Path, rank: int | None, columns: Values, as_json: bool, **options: Any
) -> None:
    """`querist embed --cluster`."""
    from querist.cluster import embed

    named = columns_there(columns)
    refuse_beside("--cluster", {f"--{name}": name in named for name in ("id", "label")})
    with progress() as show:
        show("embedding", 0.0, f"on {cluster}")
        done = embed(data, out, rank, cluster=cluster, **named, **options)
    print_found(
        done.as_dict(),
        as_json,
        lambda found: print_line(
            f"{done.report()}\n{found['out']}: {found['bytes'] / 1e6:.1f} MB of parquet"
        ),
    )


def label_there(
    cluster: str, data: str, labels: str | None, nodes: Path | None, out: Path, columns: Values,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """`querist label --cluster`; NODES are attributes."""
    from querist.cluster import label

    if labels is None:
        raise InputError("--cluster needs --labels, a folder of tables with the columns node and label")
    named = columns_there(columns)
    with progress() as show:
        show("label", 0.0, f"on {cluster}")
        done = label(data, labels, out, cluster=cluster, attributes=nodes, **named, **options)
    print_found(
        done.as_dict(),
        as_json,
        lambda found: print_line(
            f"{done.report()}\n{found['out']}: {found['bytes'] / 1e6:.1f} MB of parquet"
        ),
    )


def classify_there(
    cluster: str, data: str, labels: str | None, nodes: Path | None, scratch: Path | None, columns: Values,
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """`querist classify --method gmnr --cluster`; NODES are attributes."""
    from querist.cluster import measure

    if labels is None or nodes is None or scratch is None:
        raise InputError(
            "--cluster needs --labels (tables of node, label), --nodes (tables of node, attribute, count) "
            "and --scratch, a folder that all workers see"
        )
    named = columns_there(columns)
    with progress() as show:
        show("classify", 0.0, f"on {cluster}")
        done = measure(data, labels, nodes, scratch, cluster=cluster, columns=named, **options)
    print_found(done.as_dict(), as_json, lambda _: print_line(done.report()))


def print_estimate(
    nodes: Path | None, edges: float | None, machines: int, rank: int | None, as_json: bool
) -> None:
    """`querist embed --estimate`."""
    from querist.operator.estimate import compared

    try:
        count = float(str(nodes))
    except ValueError:
        count = 0.0
    if edges is None or count < 1 or edges < 1:
        raise InputError(
            "--estimate needs --nodes and --edges, how many of them there are: --nodes 1e8 --edges 1e9"
        )
    found = compared(count, edges, machines, rank=32 if rank is None else rank)
    print_found([each.as_dict() for each in found], as_json, lambda _: _print_estimates(found))


def _print_estimates(found: list[Any]) -> None:
    rows = [
        (
            each.name,
            f"{100 * each.halo:.0f} %",
            f"{each.product_bytes / 1e9:.1f}",
            f"{each.product_seconds:.2f}",
            f"{each.seconds / 60:.1f}",
            f"{each.memory / 1e9:.0f}",
        )
        for each in found
    ]
    head = ("where", "rows received", "GB a product", "s a product", "min in all", "GB a machine")
    print_table(head, rows)
    print_line("A cluster buys memory, not speed. docs/scale.md says where the numbers come from.")

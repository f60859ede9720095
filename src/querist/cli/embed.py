"""`querist embed`: a row of numbers for every node, in a file."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.data import read_graph
from querist.cli.screen import print_found, print_json, print_line, print_table, progress
from querist.errors import InputError

if TYPE_CHECKING:
    from querist.embedding import Embedding
    from querist.graph import Graph


@options.with_columns
def embed(
    data: options.MaybeData = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where the rows go: a .npy file; on a cluster a folder of parquet."
        ),
    ] = None,
    rank: options.Rank = None,
    embedding: options.Rows = "spectral",
    laplacian: options.Matrix = "normalised",
    constant: options.Constant = 1.0,
    component: options.Part = "all",
    tol: Annotated[
        float | None,
        typer.Option(
            help="Largest residual of an eigenpair; 2e-3 by default, 1e-6 for rows that other solvers agree "
            "with."
        ),
    ] = None,
    seed: options.Seed = 0,
    nodes: Annotated[
        Path | None,
        typer.Option(
            metavar="NODES",
            help="Table of the nodes of a file of edges, with their labels and attributes; for --estimate "
            "how many there are.",
        ),
    ] = None,
    columns: options.Values = MappingProxyType({}),
    cluster: options.Cluster = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print what an embedding would take, and embed nothing.")
    ] = False,
    edges: Annotated[float | None, typer.Option(help="For --estimate, how many edges there are.")] = None,
    machines: Annotated[
        int, typer.Option(min=1, help="For --estimate, how many machines share the graph.")
    ] = 1,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep and find results on disk.")] = True,
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Embed a graph and save the rows.

    Row i of the file is node i of the graph, as float64; load it with numpy.load. Printed are the solver that
    was chosen, its seconds and residuals, and the memory that was taken. What would not fit into memory is
    refused before it starts.

    With --cluster DATA is a folder of edges in parquet or CSV that all workers see. The largest component is
    embedded; the rows go to a folder, as parquet with the ids of the nodes.
    """
    if estimate:
        options.refuse_beside(
            "--estimate", {"DATA": data is not None, "--out": out is not None, "--cluster": bool(cluster)}
        )
        print_estimate(nodes, edges, machines, rank, as_json)
        return
    if data is None or out is None:
        raise InputError(
            f"no {'DATA' if data is None else '--out'}; give a graph and --out, a file for the rows"
        )
    if cluster is not None:
        strange = {
            "--embedding": embedding != "spectral",
            "--laplacian": laplacian != "normalised",
            "--component": component != "all",
            "--nodes": nodes is not None,
        }
        options.refuse_beside("--cluster", strange)
        embed_there(cluster, data, out, rank, columns, as_json, tol=tol, constant=constant, seed=seed)
        return
    import numpy as np

    from querist.atomic import check_writable, replacing
    from querist.embedding import embed as embed_graph

    place = out.expanduser()
    if place.suffix != ".npy":
        raise InputError(f"--out {out}: rows are saved as .npy; name a file such as rows.npy")
    check_writable(place)
    with progress() as show:
        graph = read_graph(data, nodes, component == "largest", columns, show)
        rows = embed_graph(
            graph,
            rank,
            kind=embedding,
            normalised=laplacian == "normalised",
            constant=constant,
            tol=tol,
            seed=seed,
            cache=cache,
            device=device,
            progress=lambda done, text: show("embedding", done, text),
        )
    with replacing(place) as file:
        np.save(file, rows.rows)
    found = _found(graph, rows, place)
    if as_json:
        print_json(found)
        return
    print_line(graph.describe())
    print_line(rows.report())
    print_line(
        f"{found['out']}: {found['bytes'] / 1e6:.1f} MB; peak memory {found['peak_memory'] / 1e6:.0f} MB"
    )


def _found(graph: "Graph", rows: "Embedding", place: Path) -> dict[str, Any]:
    return {
        "dataset": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "components": graph.n_components,
        "rank": rows.rank,
        "columns": rows.n_columns,
        "embedding": rows.kind,
        "laplacian": "normalised" if rows.normalised else "combinatorial",
        "solver": rows.solver,
        "seconds": rows.seconds,
        "cached": rows.cached,
        "residual": rows.residual,
        "residuals": rows.residuals.tolist(),
        "eigengap": rows.eigengap,
        "notes": [*rows.notes, *(message for message, _ in rows.doubts)],
        "out": str(place),
        "bytes": place.stat().st_size,
        "peak_memory": _peak(),
    }


def _peak() -> int:
    """Bytes this process held at most; 0 where the system does not say."""
    try:
        import resource
        import sys
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def embed_there(
    cluster: str,
    data: str,
    out: Path,
    rank: int | None,
    columns: options.Values,
    as_json: bool,
    **settings: Any,
) -> None:
    """`querist embed --cluster`."""
    from querist.cluster import embed

    named = options.columns_there(columns)
    options.refuse_beside("--cluster", {f"--{name}": name in named for name in ("id", "label")})
    with progress() as show:
        show("embedding", 0.0, f"on {cluster}")
        done = embed(data, out, rank, cluster=cluster, **named, **settings)
    print_found(
        done.as_dict(),
        as_json,
        lambda found: print_line(
            f"{done.report()}\n{found['out']}: {found['bytes'] / 1e6:.1f} MB of parquet"
        ),
    )


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
    head = ("where", "received", "GB/product", "s/product", "minutes", "GB/machine")
    print_table(head, rows)
    print_line("A cluster buys memory, not speed. docs/scale.md says where the numbers come from.")

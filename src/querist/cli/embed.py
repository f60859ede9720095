"""`querist embed`: a row of numbers for every node, in a file."""

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.data import read_graph
from querist.cli.screen import print_json, print_line, progress
from querist.errors import InputError

if TYPE_CHECKING:
    from querist.embedding import Embedding
    from querist.graph import Graph


@options.with_columns
def embed(
    data: options.Data,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the rows go: a .npy file.")],
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
    nodes: options.Nodes = None,
    columns: options.Values = MappingProxyType({}),
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep and find results on disk.")] = True,
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Embed a graph and save the rows.

    Row i of the file is node i of the graph, as float64; load it with numpy.load. Printed are the solver that
    was chosen, its seconds and residuals, and the memory that was taken. What would not fit into memory is
    refused before it starts.
    """
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

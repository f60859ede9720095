"""`querist embed`: a row of numbers for every node, in a file."""

from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from querist.cli import options
from querist.cli.runs import read_graph
from querist.cli.screen import print_found, print_parquet, progress
from querist.errors import InputError
from querist.graph_options import FileOptions


@options.with_columns
@options.with_embedding
def embed(
    data: options.Data,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Where the rows go: a .npy file; on a cluster a folder of parquet."
        ),
    ],
    rank: options.Rank = None,
    how: options.Values = MappingProxyType({}),
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
    cluster: options.Cluster = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep and find results on disk.")] = True,
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Embed a graph and save the rows.

    Row i of the file is node i of the graph, as float64; load it with numpy.load. Printed are the solver that
    was chosen, its seconds and residuals. What would not fit into memory is refused before it starts.

    With --cluster DATA is a folder of edges in parquet or CSV that all workers see. The largest component is
    embedded; the rows go to a folder, as parquet with the ids of the nodes.

    Examples:

    querist embed edges.csv --out rows.npy
    querist embed cora --rank 32 --out rows.npy --json
    """
    own = dict(how)
    kind = own.pop("embedding")
    if cluster is not None:
        strange = {
            "--embedding": kind != "spectral",
            **{f"--{name.replace('_', '-')}": name != "constant" for name in own},
            "--component": component != "all",
            "--nodes": nodes is not None,
            "--no-cache": not cache,
            "--device": device is not None,
        }
        options.refuse_beside("--cluster", strange)
        options.refuse_on_cluster(FileOptions, columns)
        from querist.cluster import embed as embed_there

        with progress() as show:
            show("embedding", 0.0, f"on {cluster}")
            done = embed_there(data, out, rank, tol=tol, **own, seed=seed, cluster=cluster, **columns)
        print_parquet(done, as_json)
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
            kind=kind,
            tol=tol,
            seed=seed,
            cache=cache,
            device=device,
            progress=partial(show, "embedding"),
            **own,
        )
    with replacing(place) as file:
        np.save(file, rows.rows)
    found = {
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
    }
    lines = f"{rows.report()}\n{place}: {place.stat().st_size / 1e6:.1f} MB"
    print_found(found, as_json, lines, graph.describe())

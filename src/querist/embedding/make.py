"""`embed`: checks the request, looks on the disk, computes, says what is wrong."""

import time
import warnings
from bisect import bisect_right
from dataclasses import replace
from typing import Annotated, Any, Unpack

import numpy as np

from querist import memory
from querist.embedding import cache as disk
from querist.embedding.kinds import EmbeddingKeywords, Kind, Settings, kind_of, known
from querist.embedding.value import Embedding
from querist.embedding_options import DiffusionOptions, PageRankOptions, SpectralOptions
from querist.errors import InputError, ResidualWarning
from querist.graph import Graph, as_graph
from querist.operator.device.choice import device_for
from querist.options import lists_options
from querist.parameters import Range, check_values, checked_count, parameters_of
from querist.progress import Progress, shown, with_time_left

RANK = 100
"""Columns unless asked for otherwise."""


@lists_options(SpectralOptions, DiffusionOptions, PageRankOptions)
def embed(
    graph: Any,
    rank: int | None = None,
    *,
    kind: str = "spectral",
    tol: Annotated[float | None, Range(gt=0)] = None,
    seed: int = 0,
    cache: bool = True,
    device: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[EmbeddingKeywords],
) -> Embedding:
    """A row for every node.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes; connected or not, weighted, signed
    rank : columns for a connected graph, 1 to n; a disconnected one has a few more constants. 100 by
        default, or what a smaller graph can have, which `notes` then say
    kind : "spectral" (the graph alone: eigenvectors of its Laplacian and a constant), "diffusion"
        (attributes smoothed over the graph, no constant), "pagerank" (the graph alone: the kernel of
        personalised PageRank, eigenvectors and in `local` what they lack), or any other that is registered
        (`querist.embedding.kinds`)
    tol : residual above which a `ResidualWarning` is given, and to which solvers work; 2e-3 for
        spectral, 1e-2 for diffusion (see `Embedding.residuals` for the units). Dense and shift-invert
        solutions are far more exact than they need to be; ask for 1e-6 to have the same of a filter
    seed : of the solver's start; the same seed gives the same rows
    cache : keep and find results on disk, in `$QUERIST_CACHE` or the user's cache directory
    device : where it is computed: the threads of this process (None), or a device of torch by its name, as
        "cuda" (the extra [torch]; "cpu" is torch on the CPU); "auto" takes a GPU if there is one, the graph
        has at least 100,000 nodes and edges and the work fits into the GPU's free memory; `notes` say what
        was taken and why. The rows are the same but for rounding
    progress : called with (fraction done, what is being done and how long it will still take). An
        exception it raises, or Ctrl-C, stops the work and leaves nothing behind

    options : those of the kind, which are listed below

    Work that does not fit into the free memory is refused before it starts; the error names a rank that fits.

    >>> from querist import as_graph
    >>> two_pairs = as_graph([(0, 1), (2, 3)])
    >>> embed(two_pairs, rank=3).rows.round(3).tolist()
    [[0.5, 0.0, 1.0, 0.0], [-0.5, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 1.0], [0.0, -0.5, 0.0, 1.0]]
    """
    check_values(parameters_of(embed), locals())
    graph = as_graph(graph)
    chosen, seed = kind_of(kind), checked_count("seed", seed, 0, most=np.inf)
    notes: tuple[str, ...] = ()
    if rank is None:
        rank = min(RANK, graph.n_nodes)
        if rank < RANK:
            notes = (f"rank {rank} by default: the graph has {graph.n_nodes:,} nodes",)
    rank = checked_count("rank", rank, 0)
    if not 1 <= rank <= graph.n_nodes:
        n = graph.n_nodes
        raise InputError(f"rank {rank} for a graph of {n:,} nodes; pass a rank from 1 to {n}")
    chosen.check_own(options)
    settings = chosen.settled(tol=tol, seed=seed, **options)
    if chosen.on_device is None and device not in (None, "auto"):
        able = ", ".join(name for name, other in known().items() if other.on_device)
        raise InputError(f"rows of kind {kind!r} are not made on a device; take {able}, or no device")
    need = chosen.on_device and chosen.on_device(graph, rank, **settings)
    place = device_for(device, _what(graph, rank), graph.n_nodes + graph.n_edges, need)
    device = place.name
    started = time.perf_counter()
    use_disk = cache and graph.n_nodes >= disk.WORTH
    where = {} if device is None else {"device": device}
    identity = {"kind": kind, "rank": rank, **settings, **where}
    name = disk.key(graph, identity, attributes=chosen.attributes) if use_disk else ""
    found = disk.fetch(name) if use_disk else None
    why = "" if found is not None else place.why
    if found is None:
        check_room(graph, rank, chosen, settings, device)
        notes += (why,) if why else ()
        with shown(progress) as show:
            found = chosen.make(graph, rank, **settings, progress=with_time_left(show), **where)
        if use_disk:
            disk.store(name, found)
    for message, residual in found.doubts:
        warnings.warn(ResidualWarning(message, residual), stacklevel=2)
    if progress is not None:
        progress(1.0, "embedded")
    return replace(
        found,
        seconds=time.perf_counter() - started,
        notes=(*notes, *found.notes),
        place=why,
        settings=settings,
        nodes=graph.own_ids,
    )


def _what(graph: Graph, rank: int) -> str:
    return f"rank {rank} for {graph.n_nodes:,} nodes and {graph.n_edges:,} edges"


def check_room(graph: Graph, rank: int, kind: Kind, settings: Settings, device: str | None = None) -> None:
    """Refuse rows that do not fit into the memory of this process, with a rank that does.

    While a device makes them, this process holds the matrix, vectors that come back, and the rows made of
    them.
    """
    if device is not None:
        memory.check(24.0 * graph.adjacency.nnz + 24.0 * graph.n_nodes * rank, _what(graph, rank))
        return
    room, need = memory.free(), kind.memory(graph, rank, **settings)
    if need > room:
        smaller = bisect_right(range(1, rank), room, key=lambda r: kind.memory(graph, r, **settings))
        largest = "no rank fits: embed a part of the graph, or use a larger machine"
        advice = f"rank={smaller} fits" if smaller else largest
        memory.check(need, _what(graph, rank), advice, room=room)

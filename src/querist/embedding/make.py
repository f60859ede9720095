"""`embed`: checks the request, looks on the disk, computes, says what is wrong."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from querist.embedding import cache as disk
from querist.embedding.kinds import Kind, Settings, kind_of, known, options as all_options
from querist.embedding.value import Embedding
from querist.errors import InputError, ResidualWarning, check_name, refuse
from querist.graph import Graph, as_graph
from querist.operator import memory
from querist.operator.device import choice
from querist.operator.estimate import machines_for
from querist.operator.place import CountedWork, Place, check_fits
from querist.parameters import checked_count
from querist.progress import Progress, shown, with_time_left

RANK = 100
"""Columns unless asked for otherwise."""

LOOSE = 2e-3
"""A tolerance that a filter in single precision meets."""


def embed(
    graph: Any,
    rank: int | None = None,
    *,
    kind: str = "spectral",
    tol: float | None = None,
    seed: int = 0,
    cache: bool = True,
    device: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Embedding:
    """A row for every node.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes; connected or not, weighted, signed
    rank : columns for a connected graph, 1 to n; a disconnected one has a few more constants. 100 by
        default, or what a smaller graph can have, which `notes` then say
    kind : "spectral" (the graph alone: eigenvectors of its Laplacian and a constant), "diffusion"
        (attributes smoothed over the graph, no constant), "both" side by side, "pagerank" (the graph alone:
        the kernel of personalised PageRank, eigenvectors and in `local` what they lack), or any other that
        is registered (`querist.embedding.kinds`)
    tol : residual above which a `ResidualWarning` is given, and to which solvers work; 2e-3 for
        spectral, 1e-2 for diffusion (see `Embedding.residuals` for the units). Dense and shift-invert
        solutions are far more exact than they need to be; ask for 1e-6 to have the same of a filter
    seed : of the solver's start; the same seed gives the same rows
    cache : keep and find results on disk, in `$QUERIST_CACHE` or the user's cache directory
    device : where it is computed: the threads of this process (None), or a device of torch by its name, as
        "cuda" (the extra [torch]; "cpu" is torch on the CPU); "auto" takes a GPU where there is one, all fits
        and it is done sooner. The rows are the same but for rounding. `notes` say what was taken and why, and
        about how long and how much memory it takes, where it takes more than a moment or "auto" was asked for
    progress : called with (fraction done, what is being done and how long it will still take). An
        exception it raises, or Ctrl-C, stops the work and leaves nothing behind

    options : those of the kind. One that only another kind has changes nothing.

        - spectral, both: `normalised` (True), which Laplacian: `I - D^-1/2 S D^-1/2`, or `D - S` as in the
          papers; `constant` (1), value of the constant columns, 0 for none: sslgc13 and msg16 are
          reproduced with 3; `max_constants` (`rank`), components with a constant column of their own, the
          largest: all others share one
        - diffusion, both: `weighting`, attribute rows of length one ("unit"), "tfidf" of length one, or
          "raw"; `steps` (10, 0 or more) of smoothing and `damping` (0.9, 0 to 1), the neighbours' part in
          each
        - both: `spectral_share` (0.25, between 0 and 1), the part of the rank that is spectral
        - pagerank: `walk` (0.98, between 0 and 1), the chance that a walk goes on; `neighbours` (40), entries
          of a row of `local`

    What would not fit into the free memory is refused before it starts, with what would.

    >>> from querist import as_graph
    >>> two_pairs = as_graph([(0, 1), (2, 3)])
    >>> embed(two_pairs, rank=3).rows.round(3).tolist()
    [[0.5, 0.0, 1.0, 0.0], [-0.5, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 1.0], [0.0, -0.5, 0.0, 1.0]]
    """
    graph = as_graph(graph)
    chosen, seed = kind_of(kind), checked_count("seed", seed, 0, most=np.inf)
    notes: tuple[str, ...] = ()
    if rank is None:
        rank = min(RANK, graph.n_nodes)
        if rank < RANK:
            notes = (f"rank {rank} by default: the graph has {graph.n_nodes:,} nodes",)
    rank = checked_count("rank", rank, 0)
    _check(graph, rank, chosen, tol)
    settings = _settled(chosen, rank, {**options, "tol": tol, "seed": seed})
    place = _place(graph, rank, chosen, settings, device)
    device = place.device
    started = time.perf_counter()
    use_disk = cache and graph.n_nodes >= disk.WORTH
    identity = chosen.identity(rank, settings) | ({} if device is None else {"device": device})
    name = disk.key(graph, identity, attributes=chosen.attributes) if use_disk else ""
    found = disk.fetch(name) if use_disk else None
    said = "" if found is not None else place.said
    if found is None:
        where = {} if device is None else {"device": device}
        if device is None:
            check_room(
                graph, rank, chosen, settings, lambda: _settled(chosen, rank, {**options, "tol": LOOSE})
            )
        else:
            check_device_room(graph, rank, chosen, settings, device)
        notes += (said,) if said else ()
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
        place=said,
        nodes=graph.own_ids,
    )


def counted(graph: Graph, rank: int, kind: Kind, settings: Settings) -> CountedWork:
    """What the rows take, counted."""
    assert kind.effort is not None
    moving, staying = kind.effort(graph, rank, **settings)
    return CountedWork(
        moving,
        kind.memory(graph, rank, **settings),
        staying,
        kind.on_device(graph, rank, **settings) if kind.on_device else None,
        beside_bytes(graph, rank),
    )


def beside_bytes(graph: Graph, rank: int) -> float:
    """What this process holds while a device makes rows: the matrix while it is brought there, vectors that
    come back, and the rows made of them."""
    return 24.0 * graph.adjacency.nnz + 3 * 8.0 * graph.n_nodes * rank


def _place(graph: Graph, rank: int, kind: Kind, settings: Settings, device: str | None) -> Place:
    """Where the rows are made. A device is refused at once that is not there, or that the kind knows not."""
    if device not in (None, "auto") and kind.on_device is None:
        able = ", ".join(name for name, other in known().items() if other.on_device)
        raise InputError(f"rows of kind {kind.name!r} are not made on a device; take {able}, or no device")
    if kind.effort is not None:
        return choice.place_for(counted(graph, rank, kind, settings), device)
    choice.check_device(device)
    if device != "auto":
        return Place(device, None, 0.0)
    return Place(None, None, 0.0, f"on the threads: what rows of kind {kind.name!r} take is not counted")


def check_device_room(graph: Graph, rank: int, kind: Kind, settings: Settings, device: str) -> None:
    """Refuse what would not fit on the device, or beside it, with what would."""
    assert kind.on_device is not None
    on_device, room = kind.on_device, choice.free_on(choice.chosen_device(device))
    need = on_device(graph, rank, **settings)
    smaller = _largest(lambda r: on_device(graph, r, **settings) <= room, rank) if need > room else 0
    fits = f"rank={smaller} fits there, or leave the device out"
    check_fits(
        _what(graph, rank), need, room, {fits: smaller > 0}, "no rank fits there: leave the device out",
        where=f" on {device}",
    )  # fmt: skip
    beside = beside_bytes(graph, rank)
    check_fits(_what(graph, rank), beside, memory.free(), {}, "lower the rank", where=f" beside {device}")


def _what(graph: Graph, rank: int) -> str:
    return f"rank {rank} for {graph.n_nodes:,} nodes and {graph.n_edges:,} edges"


def _check(graph: Graph, rank: int, kind: Kind, tol: float | None) -> None:
    if not kind.least <= rank <= graph.n_nodes:
        raise InputError(
            f"rank {rank} for a graph of {graph.n_nodes:,} nodes; pass a rank from {kind.least} to "
            f"{graph.n_nodes}"
        )
    refuse({f"tol {tol} must be positive and finite": tol is not None and not 0 < tol < np.inf})


def _settled(kind: Kind, rank: int, given: Settings) -> Settings:
    """The settings of a kind. Options of other kinds are checked and left out."""
    common = {name: given[name] for name in ("tol", "seed") if name in given}
    options = {name: value for name, value in given.items() if name not in common}
    for name in sorted(options):
        check_name("option of an embedding", name, all_options())
    for other in known().values():
        theirs = {name: options[name] for name in options if name in other.options}
        if other is kind:
            settings = kind.settled(rank, **common, **theirs)
        elif theirs.keys() - kind.options.keys():
            other.settled(rank, **theirs)
    return settings


def check_room(
    graph: Graph, rank: int, kind: Kind, settings: Settings, loosened: Callable[[], Settings]
) -> float:
    """Bytes needed, or an error that names what would fit.

    Better a refusal with a rank that fits than a machine that swaps. `loosened` gives the settings with a
    tolerance of `LOOSE`.
    """
    room, need = memory.free(), kind.memory(graph, rank, **settings)
    if need <= room:
        return need
    smaller = _largest(lambda r: kind.memory(graph, r, **settings) <= room, rank)
    there = choice.resources("auto")
    work = counted(graph, rank, kind, settings) if kind.effort else None
    on_device = work is not None and there.holds(work)
    # A cluster embeds by the normalised Laplacian alone.
    plain = kind.name == "spectral" and settings.get("normalised", False)
    machines = machines_for(graph.n_nodes, graph.n_edges, room, rank=rank) if plain else 0
    ways = {
        "tol=2e-3 (a float32 filter) fits": kind.memory(graph, rank, **loosened()) <= room,
        f"rank={smaller} fits": smaller > 0,
        f'device="{there.device}" has the room': on_device,
        f"{machines} machines like this one share it (--cluster, docs/scale.md)": machines > 1,
    }
    largest = "no rank fits: embed a part of the graph, or use a larger machine"
    check_fits(_what(graph, rank), need, room, ways, largest)
    return need


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number from 1 to most - 1 that fits, or 0."""
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

"""`embed`: the one way in. Checks the request, looks on the disk, computes, says what is wrong."""

import operator
import time
import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from querist.embedding import cache as disk
from querist.embedding import diffusion as attribute_part
from querist.embedding import spectral as graph_part
from querist.embedding.diffusion import Weighting, diffusion
from querist.embedding.memory import check_room
from querist.embedding.progress import Progress, with_time_left
from querist.embedding.spectral import spectral
from querist.embedding.value import Embedding
from querist.errors import InputError, ResidualWarning, UnknownNameError
from querist.graph.build import as_graph
from querist.graph.graph import Graph
from querist.types import Floats

KINDS = ("spectral", "diffusion", "both")

Kind = Literal["spectral", "diffusion", "both"]


def embed(
    graph: Any,
    rank: int = 100,
    *,
    kind: Kind = "spectral",
    normalised: bool = True,
    constant: float = 1.0,
    max_constants: int | None = None,
    weighting: Weighting = "unit",
    steps: int = 10,
    damping: float = 0.9,
    spectral_share: float = 0.25,
    tol: float | None = None,
    seed: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> Embedding:
    """A row for every node.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes; connected or not, weighted, signed
    rank : columns for a connected graph, 1 to n; a disconnected one has a few more constants
    kind : "spectral" (the graph alone: eigenvectors of its Laplacian and a constant), "diffusion"
        (attributes smoothed over the graph, no constant) or "both" side by side
    normalised : which Laplacian: `I - D^-1/2 S D^-1/2`, or `D - S` as in the papers
    constant : value of the constant columns; 0 for none. sslgc13 and msg16 are reproduced with 3
    max_constants : components with a constant column of their own, the largest; `rank` by default.
        All others share one
    weighting : attribute rows of length one ("unit"), "tfidf" of length one, or "raw"
    steps, damping : smoothing steps (0 or more) and the neighbours' part in each (0 to 1)
    spectral_share : of "both", the part of the rank that is spectral (between 0 and 1)
    tol : residual above which a `ResidualWarning` is given, and to which solvers work; 2e-3 for
        spectral, 1e-2 for diffusion (see `Embedding.residuals` for the units). Dense and shift-invert
        solutions are far more exact than they need to be; ask for 1e-6 to have the same of a filter
    seed : of the solver's start; the same seed gives the same rows
    cache : keep and find results on disk, in `$QUERIST_CACHE` or the user's cache directory
    progress : called with (fraction done, what is being done and how long it will still take). An
        exception it raises, or Ctrl-C, stops the work and leaves nothing behind

    What would not fit into the free memory is refused before it starts, with a rank that would.

    "both" scales the diffusion block to the mean squared row length of the spectral one, so that neither
    drowns the other, and gives a quarter of the rank to the spectral one. Of the scalings and shares tried
    on Cora, Citeseer, PubMed and Cora-ML these gave MSG (one-hot targets, gamma 1) its lowest error, or
    one level with the lowest. There it was far better than spectral alone and about level with diffusion
    alone, for more questions: choose it when some nodes lack attributes.

    >>> from querist import as_graph
    >>> two_pairs = as_graph([(0, 1), (2, 3)])
    >>> embed(two_pairs, rank=3).rows.round(3).tolist()
    [[0.5, 0.0, 1.0, 0.0], [-0.5, 0.0, 1.0, 0.0], [0.0, 0.5, 0.0, 1.0], [0.0, -0.5, 0.0, 1.0]]
    """
    graph = as_graph(graph)
    rank, seed = _whole("rank", rank), _whole("seed", seed)
    _check(graph, rank, kind, constant, max_constants, steps, damping, spectral_share, tol)
    started = time.perf_counter()
    show = with_time_left(progress or (lambda fraction, text: None))
    parts: dict[str, dict[str, Any]] = {}
    if kind != "diffusion":
        parts["spectral"] = {
            "normalised": bool(normalised),
            "constant": float(constant),
            "max_constants": int(rank if max_constants is None else max_constants),
            "tol": float(graph_part.TOL if tol is None else tol),
            "seed": int(seed),
        }
    if kind != "spectral":
        parts["diffusion"] = {
            "weighting": weighting,
            "steps": int(steps),
            "damping": float(damping),
            "tol": float(attribute_part.TOL if tol is None else tol),
            "seed": int(seed),
        }
    ranks = _ranks(kind, int(rank), spectral_share)
    use_disk = cache and graph.n_nodes >= disk.WORTH
    name = disk.key(graph, {"ranks": ranks, **parts}, attributes="diffusion" in parts) if use_disk else ""
    found = disk.fetch(name) if use_disk else None
    if found is None:
        check_room(graph, ranks, parts)
        found = _computed(graph, ranks, parts, show)
        if use_disk:
            disk.store(name, found)
    for message, residual in found.doubts:
        warnings.warn(ResidualWarning(message, residual), stacklevel=2)
    show(1.0, "embedded")
    return replace(found, seconds=time.perf_counter() - started, nodes=graph.own_ids)


def _whole(name: str, value: Any) -> int:
    """A number without a fraction, 0 or more."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} {value!r} must be a whole number; pass an int") from None
    if number < 0:
        raise InputError(f"{name} {value!r} must be 0 or more")
    return number


def _check(
    graph: Graph,
    rank: int,
    kind: str,
    constant: float,
    max_constants: int | None,
    steps: int,
    damping: float,
    share: float,
    tol: float | None,
) -> None:
    if kind not in KINDS:
        raise UnknownNameError.of("embedding", kind, KINDS)
    least = 2 if kind == "both" else 1
    if not least <= rank <= graph.n_nodes:
        raise InputError(
            f"rank {rank} for a graph of {graph.n_nodes:,} nodes; pass a rank from {least} to {graph.n_nodes}"
        )
    with np.errstate(over="ignore"):
        overflow = not np.isfinite(graph.degrees).all()
    bad = {
        "the weights at a node add up to infinity; divide all weights by their largest": overflow,
        f"constant {constant} must be a finite number": not np.isfinite(constant),
        f"max_constants {max_constants} must be 1 or more": max_constants is not None and max_constants < 1,
        f"steps {steps} must be 0 or more": steps < 0,
        f"damping {damping} must lie in 0..1": not 0 <= damping <= 1,
        f"spectral_share {share} must lie strictly between 0 and 1": not 0 < share < 1,
        f"tol {tol} must be positive and finite": tol is not None and not 0 < tol < np.inf,
    }
    for message, wrong in bad.items():
        if wrong:
            raise InputError(message)


def _ranks(kind: str, rank: int, share: float) -> dict[str, int]:
    """How many columns each part gets."""
    if kind != "both":
        return {kind: rank}
    by_graph = min(rank - 1, max(1, round(share * rank)))
    return {"spectral": by_graph, "diffusion": rank - by_graph}


def _computed(
    graph: Graph, ranks: dict[str, int], parts: dict[str, dict[str, Any]], show: Progress
) -> Embedding:
    made = []
    # Attributes first: when there are none, the error comes at once.
    for number, part in enumerate(sorted(ranks)):

        def portion(fraction: float, text: str, number: int = number) -> None:
            show((number + fraction) / len(ranks), text)

        make = spectral if part == "spectral" else diffusion
        made.append(make(graph, ranks[part], **parts[part], progress=portion))
    return made[0] if len(made) == 1 else side_by_side(made[1], made[0])


def side_by_side(by_graph: Embedding, by_attributes: Embedding) -> Embedding:
    """The spectral block, then the diffusion block brought to its mean squared row length."""
    ours, theirs = _mean_square(by_graph.rows), _mean_square(by_attributes.rows)
    ratio = float(np.sqrt(ours / theirs)) if ours > 0 and theirs > 0 else 1.0
    return Embedding(
        rows=np.hstack([by_graph.rows, ratio * by_attributes.rows]),
        components=by_attributes.components,
        eigenvalues=np.concatenate([by_graph.eigenvalues, by_attributes.eigenvalues]),
        residuals=np.concatenate([by_graph.residuals, by_attributes.residuals]),
        eigengap=min(by_graph.eigengap, by_attributes.eigengap),
        solver=f"{by_graph.solver}; {by_attributes.solver}",
        rank=by_graph.rank + by_attributes.rank,
        kind="both",
        layout=(*by_graph.layout[:2], by_attributes.layout[2]),
        normalised=by_graph.normalised,
        degrees=by_graph.degrees,
        notes=by_graph.notes + by_attributes.notes,
        doubts=by_graph.doubts + by_attributes.doubts,
    )


def _mean_square(rows: Floats) -> float:
    return float((rows**2).sum(axis=1).mean())

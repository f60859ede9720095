"""Spectral and diffused rows side by side.

The diffusion block is scaled to the mean squared row length of the spectral one, so that neither drowns the
other, and the spectral one has a quarter of the rank. Of the scalings and shares tried on Cora, Citeseer,
PubMed and Cora-ML these gave MSG (one-hot targets, gamma 1) its lowest error, or one level with the lowest.
There it was far better than spectral alone and about level with diffusion alone, for more questions: choose
it when some nodes lack attributes.
"""

from math import ceil
from typing import Any

import numpy as np

from querist.embedding.kinds import Kind, Settings, register
from querist.embedding.kinds.diffusion import DIFFUSION
from querist.embedding.kinds.spectral import SPECTRAL
from querist.embedding.value import Embedding
from querist.errors import refuse
from querist.graph.graph import Graph
from querist.operator.place import Effort
from querist.parameters import parameters_of
from querist.progress import Progress, part, silent
from querist.types import Floats

PARTS = {kind.name: kind for kind in (DIFFUSION, SPECTRAL)}
"""In the order in which they are made: where there are no attributes, the error comes at once."""


def settled(
    rank: int, *, spectral_share: float = 0.25, tol: float | None = None, seed: int = 0, **options: Any
) -> Settings:
    """The ranks and the settings of the parts; `spectral_share` is the part of the rank that is spectral."""
    refuse({f"spectral_share {spectral_share} must lie strictly between 0 and 1": not 0 < spectral_share < 1})
    by_graph = min(rank - 1, max(1, round(spectral_share * rank)))
    parts = {
        # The constants of the spectral part are counted by the whole rank.
        name: kind.settled(
            rank, tol=tol, seed=seed, **{k: v for k, v in options.items() if k in kind.options}
        )
        for name, kind in PARTS.items()
    }
    return {"ranks": {"spectral": by_graph, "diffusion": rank - by_graph}, **parts}


def make(
    graph: Graph,
    rank: int,
    *,
    ranks: dict[str, int],
    progress: Progress = silent,
    device: str | None = None,
    **parts: Settings,
) -> Embedding:
    """The spectral block, then the diffusion block brought to its mean squared row length."""
    made = {
        name: kind.make(
            graph, ranks[name], **parts[name], progress=part(progress, number / 2, 1 / 2), device=device
        )
        for number, (name, kind) in enumerate(PARTS.items())
    }
    by_graph, by_attributes = made["spectral"], made["diffusion"]
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


def memory(graph: Graph, rank: int, *, ranks: dict[str, int], **parts: Settings) -> float:
    """The bytes of the parts, each with its share of the rank."""
    share = rank / sum(ranks.values())
    return sum(
        kind.memory(graph, max(1, ceil(ranks[name] * share)), **parts[name]) for name, kind in PARTS.items()
    )


def on_device(graph: Graph, rank: int, *, ranks: dict[str, int], **parts: Settings) -> float:
    """The bytes of the larger part: they are made one after the other."""
    share = rank / sum(ranks.values())
    return max(
        kind.on_device(graph, max(1, ceil(ranks[name] * share)), **parts[name])
        for name, kind in PARTS.items()
        if kind.on_device
    )


def effort(graph: Graph, rank: int, *, ranks: dict[str, int], **parts: Settings) -> tuple[Effort, Effort]:
    """Of both parts, each with its share of the rank."""
    moving, staying = Effort(), Effort()
    for name, kind in PARTS.items():
        assert kind.effort is not None
        own, rest = kind.effort(graph, ranks[name], **parts[name])
        moving, staying = moving + own, staying + rest
    return moving, staying


def row(embedding: Embedding, M: Floats, degrees: Floats, weights: Floats) -> Floats:
    """The row of a new node: each part's."""
    k, c, _ = embedding.parts
    return np.concatenate(
        [
            SPECTRAL.row(embedding, M[:, : k + c], degrees, weights),
            DIFFUSION.row(embedding, M[:, k + c :], degrees, weights),
        ]
    )


BOTH = register(
    Kind(
        name="both",
        about="spectral and diffusion side by side",
        settled=settled,
        make=make,
        memory=memory,
        row=row,
        least=2,
        attributes=True,
        on_device=on_device,
        effort=effort,
        options={**SPECTRAL.options, **DIFFUSION.options, **parameters_of(settled, ("tol", "seed"))},
        key=lambda rank, settings: settings,
    )
)

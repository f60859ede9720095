"""GMNR on a device for all folds at once: gmnr.py, the classes of all fits side by side in one block.

A class without a label in a fold keeps a share of 0 everywhere, which is as if it were not there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from querist.collective.device import DeviceCounts, DeviceSmoother
from querist.collective.gmnr import GMNR
from querist.collective.problem import LARGEST
from querist.labelling.device.place import DeviceGraph
from querist.labelling.device.regress import SeenLabels
from querist.types import Floats

Tensor = Any

ENTRIES = 1 << 26
"""Shares that are gathered at the counts at a time."""

KNOWN = {"lam", "objective", "max_iter", "smooth", "solver_tol", "sweeps"}
"""Parameters of GMNR that may differ from its own."""

FLOOR = 1e-6
"""No probability is nearer to 0 when logits are made of it, as in `combine.logits`."""


@dataclass(frozen=True)
class FoldSmoother(DeviceSmoother):
    """`DeviceSmoother` for blocks that hold the classes of several fits side by side."""

    fits: int = 1

    def _on_simplex(self, X: Any, B: Any, rho: Floats) -> Any:
        """For every fit by itself."""
        found = X.clamp(min=0)
        own = found.unflatten(1, (self.fits, -1))
        given = B.unflatten(1, (self.fits, -1)).sum(dim=2)
        if torch.allclose(given, self._column(rho, B).expand_as(given), rtol=1e-4):
            own = own / own.sum(dim=2, keepdim=True).clamp(min=torch.finfo(X.dtype).tiny)
        return own.flatten(1)


def gmnr_logits(
    place: DeviceGraph, labels: SeenLabels, labelled: Tensor, settings: Sequence[Mapping[str, Any]]
) -> Tensor | None:
    """(F, n, K) the mean logits of the settings; None where they, or the counts, are left to `GMNR`."""
    counts = place.counts
    rho = (counts.X @ torch.ones((counts.X.shape[1], 1), dtype=torch.float64, device=place.device))[:, 0]
    most, least = float(rho.max()), float(torch.where(rho > 0, rho, 1.0).min())
    if any(set(own) - KNOWN for own in settings) or most > LARGEST or least < 1 / LARGEST:
        return None
    total: Any = 0.0
    F, (_, K) = len(labels.W), labels.Y.shape
    for own in settings:
        model = GMNR(**own)
        smoother = FoldSmoother(
            place.network, rho.cpu().numpy(), place.workspace.graph.components, np.eye(K),
            lam=float(model.lam), lam_labels=0.0, tol=model.solver_tol, sweeps=model.sweeps,
            device=str(place.device), fits=F,
        )  # fmt: skip
        Y = _iterated(model, counts, smoother, labels, labelled)
        if not bool(torch.isfinite(Y).all()):
            return None
        total = total + torch.log(Y.clamp(FLOOR, 1.0))
    return (total / len(settings)).unflatten(1, (F, K)).transpose(0, 1)


def _iterated(
    model: GMNR, counts: DeviceCounts, smoother: FoldSmoother, labels: SeenLabels, labelled: Tensor
) -> Tensor:
    """(n, F K) `P(c|x)` after the iterations of expectation-maximisation."""
    n, F = counts.X.shape[0], len(labels.W)
    given = (labels.W[..., None] * labels.Y).transpose(0, 1)  # (m, F, K)
    indicator = torch.zeros((n, given[0].numel()), dtype=torch.float64, device=given.device)
    indicator[labelled] = given.flatten(1)
    Y = labels.mean.flatten().expand(n, -1).clone()
    seen = (labels.W.T > 0).repeat_interleave(given.shape[2], dim=1)  # (m, F K)
    share = given / given.sum(dim=2, keepdim=True).clamp(min=1)

    def put_back(rows: Tensor) -> Tensor:
        rows[labelled] = torch.where(seen, share.flatten(1), rows[labelled])
        return rows

    Y = put_back(Y)
    words = counts.share(counts.turned @ indicator + model.smooth)
    for _ in range(model.max_iter):
        Z, G = expected(counts, Y, words, F)
        Y = put_back(smoother.solve(Z, Y)[0])
        words = counts.share(G)
    return Y


def expected(counts: DeviceCounts, Y: Tensor, words: Tensor, fits: int) -> tuple[Tensor, Tensor]:
    """`DeviceCounts.expect` of every fit: Z (n, F K) and G (M, F K)."""
    values, K = counts.X.values, Y.shape[1] // fits
    q = torch.empty((fits, len(values)), dtype=Y.dtype, device=Y.device)
    step = max(1, ENTRIES // Y.shape[1])
    for first in range(0, len(values), step):
        part = slice(first, first + step)
        product = Y[counts.row[part]] * words[counts.X.indices[part]]
        q[:, part] = product.unflatten(1, (fits, K)).sum(dim=2).T
    likely = (q > counts.floor) & (values != 0)
    ratio = torch.where(likely, values / torch.where(likely, q, 1.0), 0.0)
    Z, G = torch.empty_like(Y), torch.empty_like(words)
    for own, mine in zip(_blocks(fits, K), ratio, strict=True):
        Z[:, own] = (counts.X.with_values(mine) @ words[:, own]).mul_(Y[:, own])
        G[:, own] = (counts.turned.with_values(mine[counts.order]) @ Y[:, own]).mul_(words[:, own])
    if not bool(likely.all()):
        # A word without likelihood takes P(c|x) for its posterior.
        one = torch.ones((counts.X.shape[1], 1), dtype=Y.dtype, device=Y.device)
        for own, mine in zip(_blocks(fits, K), torch.where(likely, 0.0, values), strict=True):
            Z[:, own] += Y[:, own] * (counts.X.with_values(mine) @ one)
            G[:, own] += counts.turned.with_values(mine[counts.order]) @ Y[:, own]
    return Z, G


def _blocks(fits: int, K: int) -> list[slice]:
    """The columns of every fit."""
    return [slice(f * K, f * K + K) for f in range(fits)]

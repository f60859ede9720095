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

ENTRIES = 1 << 25
"""Most posteriors, of a class at a count, that are held at a time."""

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
        network: Any = place.network
        smoother = FoldSmoother(
            network, rho.cpu().numpy(), place.workspace.graph.components, np.eye(K),
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
    """`DeviceCounts.expect` of every fit: Z (n, F K) and G (M, F K).

    The posterior of all classes at every count is formed for as many fits at a time as there is room for, and
    added up along rows and along columns.
    """
    K, own = Y.shape[1] // fits, len(counts.X.values)
    Z, G = torch.empty_like(Y), torch.empty_like(words)
    together = ENTRIES // max(1, own * K)
    for first in range(0, fits, max(1, together)):
        part = slice(first * K, (first + max(1, together)) * K)
        if together:
            Z[:, part], G[:, part] = _added(counts, Y[:, part], words[:, part], K)
        else:
            Z[:, part], G[:, part], _ = counts.expect(Y[:, part], words[:, part], loglik=False)
    return Z, G


def _added(counts: DeviceCounts, Y: Tensor, words: Tensor, K: int) -> tuple[Tensor, Tensor]:
    x = counts.X.values[:, None, None]
    y = Y[counts.row].unflatten(1, (-1, K))
    shares = y * words[counts.X.indices].unflatten(1, (-1, K))
    q = shares.sum(dim=2, keepdim=True)
    likely = (q > counts.floor) & (x != 0)
    # A word without likelihood takes P(c|x) for its posterior.
    posterior = torch.where(likely, shares * (x / torch.where(likely, q, 1.0)), x * y).flatten(1)
    by_row, by_column = counts.sums
    return by_row @ posterior, by_column @ posterior

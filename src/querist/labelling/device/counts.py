"""GMNR on a device for all folds at once: gmnr.py, the classes of all fits side by side in one block.

A class without a label in a fold keeps a share of 0 everywhere, which is as if it were not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch

from querist.collective.device import DeviceCounts, DeviceSmoother
from querist.collective.gmnr import GMNR
from querist.collective.problem import LARGEST
from querist.labelling.device.place import DeviceGraph
from querist.labelling.device.regress import SeenLabels
from querist.types import Floats

Tensor = Any

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
    place: DeviceGraph, labels: SeenLabels, labelled: Tensor, parameters: Mapping[str, Any]
) -> Tensor | None:
    """(F, n, K) logits; None if the parameters, or the counts, are left to `GMNR`."""
    counts, network = place.counts, cast(Any, place.network)
    rho = (counts.X @ torch.ones((counts.X.shape[1], 1), dtype=torch.float64, device=place.device))[:, 0]
    most, least = float(rho.max()), float(torch.where(rho > 0, rho, 1.0).min())
    if set(parameters) - KNOWN or most > LARGEST or least < 1 / LARGEST:
        return None
    F, (_, K) = len(labels.W), labels.Y.shape
    model = GMNR(**parameters)
    smoother = FoldSmoother(
        network, rho.cpu().numpy(), place.workspace.graph.components, np.eye(K),
        lam=float(model.lam), lam_labels=0.0, tol=model.solver_tol, sweeps=model.sweeps,
        device=str(place.device), fits=F,
    )  # fmt: skip
    Y = _iterated(model, counts, smoother, labels, labelled)
    if not bool(torch.isfinite(Y).all()):
        return None
    L: Any = torch.log(Y.clamp(FLOOR, 1.0))
    return L.unflatten(1, (F, K)).transpose(0, 1)


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
        parts = zip(Y.tensor_split(F, dim=1), words.tensor_split(F, dim=1), strict=True)
        Zs, Gs, _ = zip(*(counts.expect(*part, loglik=False) for part in parts), strict=True)
        Z: Any = torch.cat(Zs, dim=1)
        Y = put_back(smoother.solve(Z, Y)[0])
        words = counts.share(torch.cat(Gs, dim=1))
    return Y

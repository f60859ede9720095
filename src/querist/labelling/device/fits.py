"""Members of `auto` fitted to all labels, and to those outside each fold, at once on a device.

`DeviceFolds.fits` gives what `choose.fit_members` needs of a member: what was fitted to all labels, and the
logits at `folds.sample` without each fold. It is for one label a node and few labels; elsewhere, and where a
device finds a matrix that it cannot factorise, members are fitted one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from querist.embedding.kinds.diffusion import OVERSAMPLING
from querist.graph.scaling import ORDINARY, far_apart
from querist.labelling.device.counts import gmnr_logits
from querist.labelling.device.kernels import DeviceChannels
from querist.labelling.device.place import DeviceGraph
from querist.labelling.device.regress import SeenLabels, losses, ridges, steepness
from querist.labelling.device.ridge_rows import RowCuts
from querist.labelling.folds import LabelFolds
from querist.labelling.kernel_ridge import JITTER, SPACE, Channels, KernelRidge
from querist.labelling.members import (
    ETA,
    ClassifierMethod,
    FixedLogits,
    RandomWalk,
    SmoothedRidge,
    row_kinds,
)
from querist.labelling.workspace import RANKS, Fitted, LabellingMethod
from querist.operator.device.choice import chosen_device, free_on
from querist.types import Codes, Floats

Tensor = Any

LABELS = 300
"""Most labels: up to here all of them span every regression."""

A_NUMBER, AN_ENTRY, AT_A_TIME = 48.0, 100.0, 3e9
"""Bytes on the device for a number in the blocks of the rows, for an entry of a matrix, and beside them."""


MemberFits = tuple[Fitted, list[Floats]]
"""What was fitted to all labels, and a table of logits at `folds.sample` a fold."""


@dataclass(frozen=True, eq=False)
class FittedTogether:
    """Logits of all nodes; how much each label weighed is found by a fit in this process when asked for."""

    L: Floats
    method: LabellingMethod
    folds: LabelFolds

    def logits(self, nodes: Codes | slice) -> Floats:
        """Rows of the table."""
        return np.asarray(self.L[nodes])

    def smoother(self, nodes: Any) -> Floats | None:
        """Of the same method, fitted here."""
        return self._here.smoother(nodes)

    @cached_property
    def _here(self) -> Fitted:
        folds = self.folds
        return self.method.fit(folds.workspace, folds.labelled, folds.Y, folds.multilabel)


def can_be_together(folds: LabelFolds, methods: Sequence[LabellingMethod]) -> bool:
    """Whether members can be fitted at once: on a device with room, one label a node, few labels."""
    workspace = folds.workspace
    if workspace.device is None or folds.multilabel or len(folds.Y) > LABELS:
        return False
    graph = workspace.graph
    words = 0 if graph.attributes is None else graph.attributes.nnz
    blocks = graph.n_nodes * (workspace.rank + OVERSAMPLING) * len(row_kinds(methods))
    needed = A_NUMBER * blocks + AN_ENTRY * (words + 2 * graph.adjacency.nnz) + AT_A_TIME
    return needed <= free_on(chosen_device(workspace.device))


class DeviceFolds:
    """The folds of a problem as tensors, and the fits of its members."""

    def __init__(self, folds: LabelFolds, place: DeviceGraph) -> None:
        self.folds, self.place = folds, place
        kept = [np.ones(len(folds.Y), dtype=bool), *(folds.kept(fold) for fold in range(folds.n_folds))]
        self.labels = SeenLabels(place.tensor(np.stack(kept)), place.tensor(folds.Y))
        self.labelled, self.sample = place.places(folds.labelled), place.places(folds.sample)

    @classmethod
    def brought(cls, folds: LabelFolds) -> "DeviceFolds":
        """The folds, and the graph, which the workspace holds as its `place`."""
        place = folds.workspace.place = DeviceGraph(folds.workspace)
        return cls(folds, place)

    def fits(self, method: LabellingMethod) -> MemberFits | None:
        """All fits of a method; None where it is to be fitted one by one."""
        if isinstance(method, SmoothedRidge):
            return self._fits(method, *self._ridges(method))
        if isinstance(method, KernelRidge) and isinstance(method.family, Channels):
            found = self._kernel_ridges(method.family)
            return None if found is None else self._fits(method, *found)
        if isinstance(method, RandomWalk):
            return self._fixed(self._walks(method))
        if isinstance(method, ClassifierMethod) and self._are_counts(method):
            found = gmnr_logits(self.place, self.labels, self.labelled, method.parameters)
            return None if found is None else self._fixed(found)
        return None

    def _fits(self, method: LabellingMethod, whole: Tensor, tables: Tensor) -> MemberFits:
        return FittedTogether(_array(whole), method, self.folds), list(_array(tables))

    def _fixed(self, L: Tensor) -> MemberFits:
        """From logits (F, n, K) of all nodes."""
        return FixedLogits(_array(L[0])), list(_array(L[1:, self.sample]))

    # -- ridge regression on rows --------------------------------------------------------------------

    def _ridges(self, method: SmoothedRidge) -> tuple[Tensor, Tensor]:
        rows = self.place.rows(method.settings)
        most = min(len(rows.values), self.place.workspace.rank)
        cuts = RowCuts(rows, sorted({min(rank, most) for rank in RANKS}))
        z = cuts.at(self.labelled)  # (B, m, r)
        W = self.labels.W
        seen = W[:, None, :, None] * W[:, None, None, :]
        found = ridges(seen * (z @ z.transpose(1, 2)), self.labels)
        judged = self.labels.judged[:, None]
        L = W[:, None, :, None] * (found.left_out - self.labels.mean[:, None, None])
        a = steepness(L, W[:, None], judged, self.labels.Y)
        behind = losses(a[..., None, None] * L, judged, self.labels.Y)
        behind = behind - behind.amin(dim=1, keepdim=True)
        shares = torch.softmax(-ETA * judged.sum(dim=-1) * behind, dim=1)
        w = torch.where(shares > 1e-4, shares, 0.0) * a
        coefficients = w[..., None, None] * (z.transpose(1, 2) @ found.alpha)  # (F, B, r, K)
        return cuts.answers(slice(None), coefficients[:1])[0], cuts.answers(self.sample, coefficients[1:])

    # -- with a kernel -------------------------------------------------------------------------------

    def _kernel_ridges(self, family: Channels) -> tuple[Tensor, Tensor] | None:
        features = self.place.features(family.source).X.shape[1]
        if len(self.labelled) * (features * (family.hops + 1) + self.place.workspace.graph.n_nodes) > SPACE:
            return None
        kernel = DeviceChannels(self.place, family, self.labelled)
        W, Y = self.labels.W, self.labels.Y
        K = W[:, :, None] * W[:, None, :] * kernel.among()  # (F, m, m)
        typical = (K.diagonal(dim1=1, dim2=2).sum(dim=1) / self.labels.count).clamp(min=JITTER)
        # Labels that are not seen have a diagonal of one, so that the rest can be factorised.
        factor, failed = torch.linalg.cholesky_ex(K + torch.diag_embed(JITTER * typical[:, None] + (1 - W)))
        if bool(failed.any()):
            return None
        back = torch.cholesky_solve(K, factor)
        found = ridges((K @ back)[:, None], self.labels)
        L = W[..., None] * (found.left_out[:, 0] - self.labels.mean[:, None])
        a = steepness(L, W, self.labels.judged, Y)
        B = a[:, None, None] * (back @ found.alpha[:, 0])
        return kernel.times(slice(None), B[:1])[0], kernel.times(self.sample, B[1:])

    # -- walks and counts ----------------------------------------------------------------------------

    def _walks(self, method: RandomWalk) -> Tensor:
        """(F, n, K)."""
        place, (W, Y) = self.place, self.labels
        root = torch.where(place.degrees > 0, place.degrees, 1.0).rsqrt()[:, None]
        given = W[..., None] * Y  # (F, m, K)
        each = given.sum(dim=1)
        if method.by_share:
            shares = each.sum(dim=1, keepdim=True).expand_as(each)
        else:
            shares = each * (each > 0).sum(dim=1, keepdim=True)
        F, _, K = given.shape
        start = torch.zeros((len(root), F * K), dtype=torch.float64, device=W.device)
        own = given / shares.clamp(min=1.0)[:, None]
        start[self.labelled] = root[self.labelled] * own.transpose(0, 1).flatten(1)
        G = start
        for _ in range(method.steps):
            out = start.clone()
            a = method.damping
            G = place.walks.combine(G, out, scale=-a, shift=a, previous=1 - a)
        found = (root * G).reshape(-1, F, K).transpose(0, 1)  # (F, n, K)
        visits = (found > 0).sum(dim=(1, 2))
        typical = torch.where(visits > 0, found.clamp(min=0).sum(dim=(1, 2)) / visits.clamp(min=1), 1.0)
        mean = each / self.labels.count[:, None]
        rest = mean if method.by_share else (each > 0) * mean.mean(dim=1, keepdim=True)
        return torch.log((found + (1e-2 * typical[:, None] * rest)[:, None]).clamp(min=1e-300))

    def _are_counts(self, method: ClassifierMethod) -> bool:
        """Whether it is GMNR, on weights and counts that need no second look."""
        if not (method.counts and method.name == "gmnr"):
            return False
        S = self.place.workspace.graph.adjacency
        size = np.abs(S.data)
        ordinary = not size.size or (size.max() <= ORDINARY and size.min() >= 1 / ORDINARY)
        return bool(ordinary and not far_apart(S))


def _array(block: Tensor) -> Floats:
    return np.asarray(block.cpu().numpy(), dtype=np.float64)

"""The models of refine.py on a device: those of all folds, and of all nodes, in a few products."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from querist.labelling import combine
from querist.labelling.device.place import DeviceGraph
from querist.labelling.device.ridge_rows import unit_lengths
from querist.labelling.heads import SHRINKAGE
from querist.labelling.refine import PRIOR, RANKS
from querist.labelling.rows import RowSettings
from querist.types import Floats

Tensor = Any


def by_rows(place: DeviceGraph, settings: RowSettings, nodes: Any, P: Sequence[Floats]) -> list[Floats]:
    """`refine.by_rows` for tables of the same nodes."""
    rows, given = place.rows[settings], place.tensor(np.stack(P))
    part = rows.of(_places(place, nodes))
    total: Any = 0.0
    ranks = sorted({min(rank, len(rows.values)) for rank in RANKS})
    for rank in ranks:
        Z = part[:, :rank] * rows.values[:rank] ** 0.5
        total = total + torch.log_softmax(discriminants(Z / unit_lengths(Z), given), dim=2)
    return list(np.asarray((total / len(ranks)).cpu().numpy()))


def discriminants(Z: Tensor, P: Tensor) -> Tensor:
    """(F, n, K) `heads.discriminant` of rows Z (n, d) for each of the probabilities P (F, n, K)."""
    n, d = Z.shape
    total = P.sum(dim=1).clamp(min=1e-9)
    sums = P.transpose(1, 2) @ Z  # (F, K, d)
    means = sums / total[..., None]
    # (Z - P M)'(Z - P M), without the differences
    across = sums.transpose(1, 2) @ means
    C = Z.T @ Z - across - across.transpose(1, 2) + means.transpose(1, 2) @ (P.transpose(1, 2) @ P) @ means
    C = C / n
    spread = SHRINKAGE * C.diagonal(dim1=1, dim2=2).sum(dim=1) / d + 1e-12
    C = C + spread[:, None, None] * torch.eye(d, dtype=Z.dtype, device=Z.device)
    pulled = torch.linalg.solve(C, means.transpose(1, 2))  # (F, d, K)
    centre = (means.transpose(1, 2) * pulled).sum(dim=1)
    shares = torch.log(total / total.sum(dim=1, keepdim=True))
    return (Z @ pulled + (shares - 0.5 * centre)[:, None]) / np.sqrt(d)


def by_counts(place: DeviceGraph, nodes: Any, P: Sequence[Floats]) -> list[Floats]:
    """`refine.by_counts` for tables of the same nodes."""
    given, counts, which = place.tensor(np.stack(P)), place.counts, _places(place, nodes)
    F, _, K = given.shape
    presumed = torch.zeros((counts.X.shape[0], F * K), dtype=torch.float64, device=place.device)
    presumed[which] = given.transpose(0, 1).flatten(1)
    words = counts.turned @ (presumed + place.neighbours(presumed, mean=False))
    words = words.unflatten(1, (F, K))
    common = words.sum(dim=2, keepdim=True)
    words = words + PRIOR * len(words) * common / common.sum(dim=0).clamp(min=combine.TINY)
    logs = torch.log(counts.share(words).clamp(min=combine.TINY)).flatten(1)
    own = counts.X @ torch.cat([logs, torch.ones_like(logs[:, :1])], dim=1)
    scores = (own + place.neighbours(own))[which]
    size = scores[:, -1:].clamp(min=1.0).sqrt()
    found = torch.log_softmax((scores[:, :-1] / size).unflatten(1, (F, K)), dim=2)
    return list(np.asarray(found.transpose(0, 1).cpu().numpy()))


def _places(place: DeviceGraph, nodes: Any) -> Any:
    return nodes if isinstance(nodes, slice) else place.places(nodes)

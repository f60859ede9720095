"""The models of refine.py on a device."""

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


def by_rows(place: DeviceGraph, settings: RowSettings, nodes: Any, P: Floats) -> Floats:
    """`refine.by_rows`."""
    rows, given = place.rows(settings), place.tensor(P)
    part = rows.of(_places(place, nodes))
    total: Any = 0.0
    ranks = sorted({min(rank, len(rows.values)) for rank in RANKS})
    for rank in ranks:
        Z = part[:, :rank] * rows.values[:rank] ** 0.5
        total = total + torch.log_softmax(discriminant(Z / unit_lengths(Z), given), dim=1)
    return np.asarray((total / len(ranks)).cpu().numpy())


def discriminant(Z: Tensor, P: Tensor) -> Tensor:
    """(n, K) `heads.discriminant` of rows Z (n, d) for the probabilities P (n, K)."""
    n, d = Z.shape
    total = P.sum(dim=0).clamp(min=1e-9)
    sums = P.T @ Z  # (K, d)
    means = sums / total[:, None]
    # (Z - P M)'(Z - P M), without the differences
    across = sums.T @ means
    C = (Z.T @ Z - across - across.T + means.T @ (P.T @ P) @ means) / n
    C = C + (SHRINKAGE * C.trace() / d + 1e-12) * torch.eye(d, dtype=Z.dtype, device=Z.device)
    pulled = torch.linalg.solve(C, means.T)  # (d, K)
    centre = (means.T * pulled).sum(dim=0)
    return (Z @ pulled + (torch.log(total / total.sum()) - 0.5 * centre)) / np.sqrt(d)


def by_counts(place: DeviceGraph, nodes: Any, P: Floats) -> Floats:
    """`refine.by_counts`."""
    counts, which = place.counts, _places(place, nodes)
    presumed = torch.zeros((counts.X.shape[0], P.shape[1]), dtype=torch.float64, device=place.device)
    presumed[which] = place.tensor(P)
    words = counts.turned @ (presumed + place.neighbours(presumed, mean=False))
    common = words.sum(dim=1, keepdim=True)
    words = words + PRIOR * len(words) * common / common.sum().clamp(min=combine.TINY)
    logs = torch.log(counts.share(words).clamp(min=combine.TINY))
    own = counts.X @ torch.cat([logs, torch.ones_like(logs[:, :1])], dim=1)
    scores = (own + place.neighbours(own))[which]
    found = torch.log_softmax(scores[:, :-1] / scores[:, -1:].clamp(min=1.0).sqrt(), dim=1)
    return np.asarray(found.cpu().numpy())


def _places(place: DeviceGraph, nodes: Any) -> Any:
    return nodes if isinstance(nodes, slice) else place.places(nodes)

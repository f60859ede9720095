"""Ridge regressions by the dozen: `heads.ridge` and `combine.scaled_with_prior` for all folds at once.

With few labels a regression is found from the inner products of its labelled rows. Let `G = z z'` be those of
the labels that are seen, 0 elsewhere, `A = G + lam c I` and y the classes less their mean; then

    answers are z' A^-1 y,   and at a labelled node that is left out   y_i - f_i = (A^-1 y)_i / (A^-1)_ii,

which is the closed form of heads.py in other words. Letters: F fits (all labels; without each fold), B
regressions a fit, m labels, K classes.
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from querist.labelling import combine
from querist.labelling.heads import STRENGTHS

Tensor = Any

ENTRIES = 5e7
"""Numbers in the inverses that are made at a time."""

POINTS, LEVELS = 17, 7
"""Steepnesses tried at a time, and how often the best and its neighbours bound the next ones: to 4e-6."""


class SeenLabels(NamedTuple):
    """`W` (F, m) 1 where a fit sees a label, 0 where not; `Y` (m, K) 0/1."""

    W: Tensor
    Y: Tensor

    @property
    def count(self) -> Tensor:
        """(F,)."""
        return self.W.sum(dim=1)

    @property
    def mean(self) -> Tensor:
        """(F, K) of the labels that are seen."""
        return self.W @ self.Y / self.count[:, None]

    @property
    def judged(self) -> Tensor:
        """(F, m) 1 where a seen label can be judged: another that is seen has one of its classes."""
        several = ((self.W @ self.Y) > 1).double()
        return self.W * ((self.Y[None] * several[:, None]).sum(dim=2) > 0)


class Ridges(NamedTuple):
    """`alpha` (F, B, m, K): the answer at a row is its inner products with the labelled rows times that,
    and the mean; `left_out` (F, B, m, K), 0 where a label is not seen."""

    alpha: Tensor
    left_out: Tensor


def ridges(G: Tensor, labels: SeenLabels) -> Ridges:
    """The regressions with inner products G (F, B, m, m), 0 where a label is not seen, each with the strength
    that does best where labels are left out.

    >>> rows = torch.tensor([[1.0, 0.1], [0.9, 0.0], [0.0, 1.0], [0.1, 0.8]], dtype=torch.float64)
    >>> seen = SeenLabels(torch.ones((1, 4)).double(), torch.eye(2).double().repeat_interleave(2, dim=0))
    >>> ridges((rows @ rows.T)[None, None], seen).left_out[0, 0].argmax(dim=1).tolist()
    [0, 0, 1, 1]
    """
    F, _, m, _ = G.shape
    most = max(1, int(ENTRIES / (F * m * m * len(STRENGTHS))))
    parts = [_ridges(part, labels) for part in G.split(most, dim=1)]
    return Ridges(*(torch.cat(list(each), dim=1) for each in zip(*parts, strict=True)))


def _ridges(G: Tensor, labels: SeenLabels) -> Ridges:
    W, Y = labels.W[:, None, None, :, None], labels.Y
    y = (labels.W[:, :, None] * (Y[None] - labels.mean[:, None]))[:, None, None]  # (F, 1, 1, m, K)
    c = G.diagonal(dim1=2, dim2=3).sum(dim=2) / labels.count[:, None]
    c = torch.where(c > 0, c, 1.0)
    strengths = torch.tensor(STRENGTHS, dtype=G.dtype, device=G.device)
    one = torch.eye(G.shape[-1], dtype=G.dtype, device=G.device)
    A = G[:, :, None] + (c[:, :, None] * strengths)[..., None, None] * one
    inverse = torch.linalg.inv_ex(A)[0]  # (F, B, S, m, m)
    solved = inverse @ y
    missed = W * solved / inverse.diagonal(dim1=3, dim2=4)[..., None]
    # The mean last: where nothing else is known the answer is the mean itself, and ties are ties.
    out = (y - missed) + labels.mean[:, None, None, None]
    own = torch.gather(Y.expand(out.shape), 4, out.argmax(dim=4, keepdim=True)) > 0
    seen = labels.count[:, None, None]
    right = (W * own).sum(dim=(3, 4)) / seen
    merit = (missed**2).sum(dim=(3, 4)) / seen - 0.5 * right
    best = merit.argmin(dim=2)[:, :, None, None, None].expand(*G.shape[:2], 1, *out.shape[3:])
    alpha, left_out = (torch.gather(each, 2, best)[:, :, 0] for each in (solved, W * out))
    return Ridges(alpha, left_out)


def steepness(L: Tensor, weight: Tensor, judged: Tensor, Y: Tensor) -> Tensor:
    """(...,) `combine.scaled_with_prior` of logits L (..., m, K), for one label per node.

    `weight` (..., m) is 1 where a row counts in the deviation, `judged` (..., m) where it is judged.

    >>> L = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 0.5]], dtype=torch.float64)
    >>> Y, ones = torch.tensor([[1.0, 0], [0, 1], [1, 0]]).double(), torch.ones(3).double()
    >>> here = combine.scaled_with_prior(L.numpy(), Y.numpy(), multilabel=False).steepness
    >>> abs(float(steepness(L, ones, ones, Y)) - here) < 1e-4
    True
    """
    L = L - L.mean(dim=-1, keepdim=True)  # what all classes have in common says nothing
    total = weight.sum(dim=-1) * L.shape[-1]
    mean = (weight[..., None] * L).sum(dim=(-2, -1)) / total
    spread = ((weight[..., None] * (L - mean[..., None, None]) ** 2).sum(dim=(-2, -1)) / total).sqrt()
    spread = torch.where(spread > 0, spread, 1.0)
    L = L / spread[..., None, None]
    share = judged[..., None] * Y / Y.sum(dim=-1, keepdim=True).clamp(min=1)
    low, high = np.log(combine.FLATTEST), np.log(combine.STEEPEST)
    middle, reach = torch.full_like(spread, (low + high) / 2), (high - low) / 2
    grid = torch.linspace(-1, 1, POINTS, dtype=L.dtype, device=L.device)
    for _ in range(LEVELS):
        log_a = (middle[..., None] + reach * grid).clamp(low, high)
        scaled = log_a.exp()[..., None, None] * L[..., None, :, :]
        total = judged[..., None, :] * torch.logsumexp(scaled, dim=-1)
        cost = total.sum(dim=-1) - (share[..., None, :, :] * scaled).sum(dim=(-2, -1))
        cost = cost + (log_a - np.log(combine.TYPICAL)) ** 2 / (2 * combine.FIRMNESS**2)
        middle = torch.gather(log_a, -1, cost.argmin(dim=-1, keepdim=True))[..., 0]
        reach *= 2 / (POINTS - 1)
    return middle.exp() / spread


def losses(L: Tensor, judged: Tensor, Y: Tensor) -> Tensor:
    """(...,) the mean log-loss of logits (..., m, K) over the judged rows; 0 where there is none."""
    share = Y / Y.sum(dim=-1, keepdim=True).clamp(min=1)
    each = -(share * torch.log_softmax(L, dim=-1)).sum(dim=-1)
    return (judged * each).sum(dim=-1) / judged.sum(dim=-1).clamp(min=1)

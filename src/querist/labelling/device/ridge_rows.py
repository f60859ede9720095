"""Smoothed rows cut at several ranks, for all of which a product costs one."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch

from querist.labelling.device.place import SingularTensors

Tensor = Any

NUMBERS = 1 << 26
"""Numbers in the answers that are made at a time."""


def unit_lengths(Z: Tensor) -> Tensor:
    """(n, 1) the lengths of rows, 1 for rows of zeros."""
    length = torch.linalg.vector_norm(Z, dim=-1, keepdim=True)
    return torch.where(length > 0, length, 1.0)


class RowCuts:
    """`SingularRows.take(rank)` for B ranks.

    >>> rows = SingularTensors(torch.eye(2), torch.tensor([2.0, 1.0], dtype=torch.float64))
    >>> RowCuts(rows, [1, 2]).at(torch.tensor([0, 1])).tolist()
    [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
    """

    def __init__(self, rows: SingularTensors, ranks: Sequence[int]) -> None:
        self.rows, self.ranks = rows, ranks

    @cached_property
    def _factors(self) -> Tensor:
        """(B, r) the singular values, 0 beyond the rank."""
        values = self.rows.values
        place = torch.arange(len(values), device=values.device)
        return torch.stack([torch.where(place < rank, values, 0.0) for rank in self.ranks])

    def at(self, nodes: Tensor) -> Tensor:
        """(B, m, r) the rows of some nodes, each of length one."""
        Z = self.rows.of(nodes) * self._factors[:, None]
        return Z / unit_lengths(Z)

    def answers(self, nodes: Any, coefficients: Tensor) -> Tensor:
        """(F, m, K) the sum over the ranks of their rows times (F, B, r, K) coefficients."""
        F, B, r, K = coefficients.shape
        turned = (self._factors[None, :, :, None] * coefficients).permute(2, 1, 0, 3).reshape(r, B * F * K)
        squares = (self._factors**2).T
        left, parts = self.rows.left[nodes], []
        for some in left.split(max(1, NUMBERS // max(1, r, B * F * K))):
            part = some.double()
            length = (part**2 @ squares).sqrt()
            inverse = 1 / torch.where(length > 0, length, 1.0)
            parts.append(torch.einsum("nbc,nb->nc", (part @ turned).reshape(len(part), B, F * K), inverse))
        return torch.cat(parts).reshape(len(left), F, K).transpose(0, 1)

"""GMNR on shards: every rank passes over the counts of its own nodes and sweeps its own rows.

The model, its passes and its sweeps are those of `querist.collective` (gmnr.py, mixture.py, sweeps.py). What
crosses between ranks: halos of `P(c|x)`, the sums `G` (words, classes) and the lengths of residuals, all over
segments in their order, so that the answer does not depend on the ranks.

The system `(Lambda + lam L) Y = Z` is solved by Jacobi sweeps, as many as are asked for or until the residual
is small; no factor is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.cluster.components import spread
from querist.cluster.shard import Shard
from querist.collective.gmnr import GMNR
from querist.collective.mixture import CountMatrix, share
from querist.collective.sweeps import sweep_rows
from querist.types import Bools, Codes, Floats, Sparse

MOST_SWEEPS = 500
"""Where the residual decides how many there are."""


@dataclass(frozen=True, eq=False)
class GenerativeShard:
    """Own rows of the problem.

    Parameters
    ----------
    shard : the graph, its weights those of the edges
    counts : (own, M) words of own nodes; codes : (own,) classes, -1 where unlabelled
    classes : how many
    """

    shard: Shard
    counts: Sparse
    codes: Codes
    classes: int

    @cached_property
    def parts(self) -> list[CountMatrix]:
        """The counts of each own segment."""
        return [CountMatrix(sp.csr_array(self.counts[rows])) for _, rows in self.shard.own_segments]

    @cached_property
    def rho(self) -> Floats:
        """(own,) counts of every node."""
        return np.concatenate([np.zeros(0), *(part.rho for part in self.parts)])

    def summed(self, values: Sequence[Floats], nothing: Floats) -> Floats:
        """Values of each own segment, added up over all segments in their order."""
        return np.asarray(self.shard.in_turn(values, nothing))


def inferred(problem: GenerativeShard, model: GMNR) -> tuple[Floats, Floats, Bools]:
    """`P(c|x)` of own rows, `P(w|c)`, and which own nodes a label reaches; `model` has the parameters."""
    shard, K = problem.shard, problem.classes
    seeds = problem.codes >= 0
    indicator = np.zeros((shard.own, K))
    indicator[seeds, problem.codes[seeds]] = 1.0
    given = problem.summed([indicator[rows].sum(axis=0) for _, rows in shard.own_segments], np.zeros(K))
    Y = np.tile(given / given.sum(), (shard.own, 1))
    Y[seeds] = indicator[seeds]
    clamped = Y[seeds].copy()
    words = (problem.counts.shape[1], K)
    seen = [
        part.X.T @ indicator[rows] for part, (_, rows) in zip(problem.parts, shard.own_segments, strict=True)
    ]
    F = share(problem.summed([np.asarray(one) for one in seen], np.zeros(words)) + model.smooth)
    idle = ~spread(shard, problem.rho > 0) if model.lam > 0 else problem.rho == 0
    solver = _JacobiSweeps(shard, np.where(idle, 1.0, problem.rho), model)
    for _ in range(model.max_iter):
        Z, G = np.empty_like(Y), []
        for part, (_, rows) in zip(problem.parts, shard.own_segments, strict=True):
            Z[rows], own, _ = part.expect(np.ascontiguousarray(Y[rows]), F, model.zero, loglik=False)
            G.append(own)
        Z[idle] = Y[idle]
        latest = solver.solve(Z, Y)
        if model.clamp == "reset":
            latest[seeds] = clamped
        fresh = share(problem.summed(G, np.zeros(words)))
        change = max(np.abs(latest - Y).max(initial=0.0), np.abs(fresh - F).max(initial=0.0))
        Y, F = latest, fresh
        if max(map(float, shard.group.everyone(np.array(change)))) <= model.tol:
            break
    return Y, F, reached(problem, seeds, model.lam > 0)


class _JacobiSweeps:
    """Jacobi sweeps over all ranks' rows: see collective/sweeps.py."""

    def __init__(self, shard: Shard, rho: Floats, model: GMNR) -> None:
        self.shard, self.model = shard, model
        self.weights = shard.weights.astype(np.float64)
        self.diagonal = rho + model.lam * shard.degrees()
        self.factors = tuple(np.float64(factor) for factor in (-1, -model.lam, 0, 1))
        self.step = 1 / self.diagonal

    def solve(self, B: Floats, Y: Floats) -> Floats:
        """Sweeps from Y, a fixed number or until the residual is below the model's tolerance."""
        shard, fixed = self.shard, self.model.solver == "jacobi"
        squares = [(B[rows] ** 2).sum(axis=0) for _, rows in shard.own_segments]
        goal = self.model.solver_tol * np.sqrt(self._total(squares, B.shape[1]))
        whole, other = (np.empty((shard.own + shard.halo.size, B.shape[1])) for _ in "ab")
        whole[: shard.own] = Y
        for _ in range(self.model.sweeps if fixed else MOST_SWEEPS):
            shard.fill(whole)
            norms = np.sqrt(self._total(self._sweep(B, whole, other), B.shape[1]))
            whole, other = other, whole
            if not fixed and (norms <= goal).all():
                break
        return whole[: shard.own].copy()

    def _sweep(self, B: Floats, whole: Floats, out: Floats) -> list[Floats]:
        """One sweep of own rows; the squared residuals of each own segment."""
        shard, found = self.shard, []
        for _, rows in shard.own_segments:
            squares = np.empty(B.shape[1])
            sweep_rows(
                shard.indptr, shard.indices, self.weights, self.diagonal, self.step, self.factors,
                B, whole, out, squares, rows.start, rows.stop,
            )  # fmt: skip
            found.append(squares)
        return found

    def _total(self, values: list[Floats], columns: int) -> Floats:
        own = np.stack(values) if values else np.zeros((0, columns))
        return np.asarray(sum(np.concatenate(self.shard.group.everyone(own)), np.zeros(columns)))


def reached(problem: GenerativeShard, seeds: Bools, edges: bool) -> Bools:
    """(own,) whether a label comes to a node through a shared word or, where edges count, along them."""
    shard, X = problem.shard, problem.counts
    pattern: Any = sp.csr_array((X.data != 0, X.indices, X.indptr), shape=X.shape)
    found: Bools = spread(shard, seeds) if edges else seeds
    while True:
        has = np.zeros(X.shape[1], dtype=bool)
        own = pattern[np.flatnonzero(found)]
        has[own.indices[own.data]] = True
        has = np.any(shard.group.everyone(has), axis=0)
        fresh: Bools = found | np.asarray(pattern @ has, dtype=bool)
        fresh = spread(shard, fresh) if edges else fresh
        changed = int((fresh != found).any())
        found = fresh
        if not any(int(each) for each in shard.group.everyone(np.array(changed))):
            return found

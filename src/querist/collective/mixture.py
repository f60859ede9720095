"""The generative core of PLSA, GMNR and MRGM: one pass over the counts (mrgm15, section 3).

A node is a bag of words drawn from a mixture of class distributions. Letters:

- `X` (n, M) counts `n(x, w)`, sparse; `rho` their row sums;
- `Y` (n, K) `P(c|x)`; `F` (M, K) `P(w|c)`, columns sum to one;
- `q = sum_k Y_ik F_jk` the likelihood of word j at node i.

The posterior `P(c|x,w) = Y_ik F_jk / q` (eq. 8) has N M K entries and is never
stored. One pass over the non-zeros forms what the two M-steps need of it:

    Z_ik = sum_j X_ij Y_ik F_jk / q,     G_jk = sum_i X_ij Y_ik F_jk / q,

then `F ~ G` (eq. 9), and `Z` is the right side of the system for `Y` (eq. 10, read
without its log: the derivation at eq. 19 has none).

A non-zero whose likelihood vanishes has no posterior. The present `P(c|x)` stands in for it; it is no part
of the likelihood.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from querist.collective.sweeps import blocks_of
from querist.compiled import compiled
from querist.operator.threads import each
from querist.types import Floats, Sparse


@compiled
def em_pass(
    indptr: Any,
    indices: Any,
    data: Any,
    first: int,
    last: int,
    Y: Any,
    F: Any,
    floor: float,
    with_loglik: bool,
    scratch: Any,
    Z: Any,
    G: Any,
) -> float:
    """Rows first..last-1: fill `Z`, add to `G`, return the log-likelihood of `Y` and `F`.

    `floor` is the likelihood below which `X/q` would overflow; `scratch` is (K + 1,).
    """
    K = Y.shape[1]
    loglik = 0.0
    for i in range(first, last):
        y, z = Y[i], Z[i]
        for k in range(K):
            z[k] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            x = data[p]
            if x == 0:
                continue
            f, g = F[indices[p]], G[indices[p]]
            # Sums and shares pass through scratch, so that single precision stays single.
            q = y[0] * f[0]
            scratch[0] = q
            for k in range(1, K):
                scratch[k] = y[k] * f[k]
                q += scratch[k]
            if q > floor:
                scratch[K] = x / q
                for k in range(K):
                    v = scratch[K] * scratch[k]
                    z[k] += v
                    g[k] += v
                if with_loglik:
                    loglik += x * np.log(q)
            else:
                scratch[K] = x
                for k in range(K):
                    v = scratch[K] * y[k]
                    z[k] += v
                    g[k] += v
    return loglik


@dataclass(frozen=True)
class CountMatrix:
    """A count matrix as the passes want it: CSR, cut into blocks of rows for as many threads."""

    X: Sparse

    @cached_property
    def rho(self) -> Floats:
        """(n,) counts a node."""
        return np.asarray(self.X.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def cuts(self) -> list[tuple[int, int]]:
        """Blocks of rows with about equally many non-zeros; each has a `G` of its own."""
        return blocks_of(self.X.indptr)

    def floor(self, dtype: Any) -> float:
        """Likelihoods are above this, so that `count/q` stays finite."""
        return float(np.finfo(dtype).tiny) * 10 * max(1e6, float(self.X.data.max(initial=0.0)))

    def expect(self, Y: Floats, F: Floats, loglik: bool = True) -> tuple[Floats, Floats, float]:
        """`Z` (n, K), `G` (M, K) and the log-likelihood of the parameters that came in."""
        X, K, floor = self.X, Y.shape[1], self.floor(Y.dtype)
        Z = np.empty_like(Y)
        # Sums over a million rows lose digits in single precision; G is small.
        parts = [np.zeros((X.shape[1], K)) for _ in self.cuts]

        def work(block: int) -> float:
            scratch = np.empty(K + 1, dtype=Y.dtype)
            where = (X.indptr, X.indices, X.data, *self.cuts[block])
            return em_pass(*where, Y, F, floor, loglik, scratch, Z, parts[block])

        total = sum(each(work, range(len(self.cuts))))
        return Z, sum(parts[1:], parts[0]), total

    def loglik(self, Y: Floats, F: Floats) -> float:
        """The log-likelihood of the counts (eq. 2)."""
        return self.expect(Y, F)[2]


def initial_words(counts: CountMatrix, indicator: Floats, smooth: float) -> Floats:
    """(M, K) `P(w|c)` from the labelled rows, `smooth` added to every count of a word and a class."""
    own = np.flatnonzero(indicator.any(axis=1))
    return np.asarray(share(counts.X[own].T @ indicator[own] + smooth))


def share(G: Any) -> Any:
    """Columns scaled to sum to one (eq. 9); a class without a single word stays at zero."""
    total = G.sum(axis=0)
    return G / (total + (total == 0))

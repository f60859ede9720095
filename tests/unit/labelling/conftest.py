"""Graphs that several tests of `label` share."""

import numpy as np
import pytest

from querist import as_graph


def make_accounts(n: int = 800, rare: int = 50, seed: int = 0):
    """A graph of accounts, few of them fraud, joined to each other more than to others; 0/1 truth."""
    generator = np.random.default_rng(seed)
    truth = np.zeros(n, dtype=int)
    truth[generator.choice(n, rare, replace=False)] = 1
    bad = np.flatnonzero(truth)
    pairs = np.vstack([generator.integers(n, size=(3 * n, 2)), generator.choice(bad, size=(2 * rare, 2))])
    X = generator.normal(size=(n, 4))
    X[:, 0] += 2 * truth
    edges = {tuple(sorted(pair)) for pair in pairs.tolist() if pair[0] != pair[1]}
    return as_graph([*edges, *((i, i + 1) for i in range(n - 1))], nodes=range(n), attributes=X), truth


@pytest.fixture(scope="session")
def accounts():
    return make_accounts

"""Folds of the labelled nodes: every class is spread evenly over them."""

import numpy as np

from querist.types import Codes


def stratified(codes: Codes, folds: int, seed: int) -> Codes:
    """(m,) the fold of each labelled node; classes take turns in starting, so that folds are of one size.

    >>> stratified(np.array([0, 0, 1, 1, 1, 0]), 2, seed=0).tolist()
    [1, 0, 0, 1, 1, 0]
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(codes.size)
    order = order[np.argsort(codes[order], kind="stable")]
    found = np.empty(codes.size, dtype=np.int64)
    found[order] = np.arange(codes.size) % folds
    return found

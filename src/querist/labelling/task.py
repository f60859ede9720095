"""The labels of a problem, and how they are held out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from querist.labelling.combine import Link
from querist.labelling.folds import stratified
from querist.labelling.ground import Ground
from querist.labelling.heads import judgeable
from querist.types import Bools, Codes, Floats

SAMPLE = 4000
"""Unlabelled nodes that stand for all while a fold is held out."""


@dataclass(frozen=True)
class Task:
    """The labels of a problem, and how they are cut.

    `seeds` (m,) labelled rows, `Y` (m, K), `folds` (m,), `judged` (m,) whether a label can be held out;
    `sample` rows that include the labelled ones, which stand in it at `places` (m,).
    """

    ground: Ground
    seeds: Codes
    Y: Floats
    link: Link
    folds: Codes
    judged: Bools
    sample: Codes
    places: Codes

    @property
    def count(self) -> int:
        """Folds."""
        return int(self.folds.max(initial=-1)) + 1 if self.judged.any() else 0

    def kept(self, fold: int) -> Bools:
        """(m,) the labels that are seen while a fold is held out."""
        return np.asarray(self.folds != fold)

    def held_out(self, tables: Sequence[Floats]) -> Floats:
        """(m, K) from each fold's table the rows of the labels that it did not see."""
        found = np.zeros(self.Y.shape)
        for fold, table in enumerate(tables):
            out = self.folds == fold
            found[out] = table[self.places[out]]
        return found


def posed(ground: Ground, seeds: Codes, Y: Floats, link: Link, folds: int, seed: int) -> Task:
    """The labels cut into folds, and the nodes that stand for all while one is held out."""
    n = ground.graph.n_nodes
    others = np.random.default_rng(seed).choice(n, size=min(n, SAMPLE), replace=False)
    sample = np.union1d(seeds, others)
    cut = stratified(Y.argmax(axis=1), folds, seed)
    return Task(ground, seeds, Y, link, cut, judgeable(Y), sample, np.searchsorted(sample, seeds))

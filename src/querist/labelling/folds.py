"""The labels of a problem, and how they are held out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from querist.labelling.heads import judgeable
from querist.labelling.workspace import Seen, Workspace
from querist.types import Bools, Codes, Floats

SAMPLE = 4000
"""Unlabelled nodes that stand for all while a fold is held out."""


@dataclass(frozen=True)
class LabelFolds:
    """The labels of a problem, cut into folds.

    `labelled` (m,) labelled rows, `Y` (m, K), `fold_of` (m,), `judged` (m,) whether a label can be held out;
    `sample` rows that include the labelled ones, which stand in it at `places` (m,).
    """

    workspace: Workspace
    labelled: Codes
    Y: Floats
    multilabel: bool
    fold_of: Codes
    judged: Bools
    sample: Codes
    places: Codes

    @property
    def n_folds(self) -> int:
        """0 where no label can be judged."""
        return int(self.fold_of.max(initial=-1)) + 1 if self.judged.any() else 0

    def kept(self, fold: int) -> Bools:
        """(m,) the labels that are seen while a fold is held out."""
        return np.asarray(self.fold_of != fold)

    def seen(self, fold: int | None = None) -> Seen:
        """The labels while a fold is held out; all of them without one."""
        kept = slice(None) if fold is None else self.kept(fold)
        return Seen(self.labelled[kept], self.Y[kept], self.multilabel)

    def held_out(self, tables: Sequence[Floats]) -> Floats:
        """(m, K) from each fold's table the rows of the labels that it did not see."""
        found = np.zeros(self.Y.shape)
        for fold, table in enumerate(tables):
            out = self.fold_of == fold
            found[out] = table[self.places[out]]
        return found


def cut_folds(
    workspace: Workspace, labelled: Codes, Y: Floats, multilabel: bool, n_folds: int, seed: int
) -> LabelFolds:
    """The labels cut into folds, and the nodes that stand for all while one is held out."""
    n = workspace.graph.n_nodes
    others = np.random.default_rng(seed).choice(n, size=min(n, SAMPLE), replace=False)
    sample = np.union1d(labelled, others)
    fold_of = stratified(Y.argmax(axis=1), n_folds, seed)
    places = np.searchsorted(sample, labelled)
    return LabelFolds(workspace, labelled, Y, multilabel, fold_of, judgeable(Y), sample, places)


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

"""One step of self-training: what generative models say, learned from all nodes as they stand.

The nodes are divided among the classes by the probabilities found so far. From that two models are fitted,
each by its moments, and asked about the same nodes:

- a *linear discriminant* on smoothed rows, its log-probabilities averaged over several ranks;
- where the attributes are counts, a *multinomial* of those of a node and, on average, of its neighbours.

Both count what is not independent many times over, so their scores are divided by the root of how much they
count: columns, or counts. Then a model weighs as far as held-out labels bear it out
(`self_training_weight`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from querist.collective.mixture import share
from querist.labelling import combine
from querist.labelling.folds import LabelFolds
from querist.labelling.heads import discriminant, row_lengths
from querist.labelling.rows import RowSettings
from querist.labelling.workspace import Model, Refiner, Workspace
from querist.types import Codes, Floats

RANKS = (25, 50, 100)
"""Columns of the discriminants."""

PRIOR = 0.1
"""How many counts a class has of an average word before any is seen, divided as in all nodes together."""


def refiners(workspace: Workspace, members: Mapping[str, Model]) -> dict[str, Refiner]:
    """The steps that go with these members, one of a name: of the first rows there are, and of the counts."""
    steps = dict[str, Refiner]()
    for member in members.values():
        for name, step in member.refiners(workspace).items():
            steps.setdefault(name, step)
    return steps


def refined(
    folds: LabelFolds, models: Mapping[str, Refiner], L: Floats, tables: Sequence[Floats]
) -> tuple[Floats, Sequence[Floats], Mapping[str, float]]:
    """Logits of all nodes, and of `folds.sample` with each fold held out, with those of the models added; and
    the weight of each model."""
    weights: dict[str, float] = {}
    if not models:
        return L, tables, weights
    L, tables = _logs(L), [_logs(table) for table in tables]
    whole = _presumed(L, folds.labelled, folds.Y)
    parts = [
        _presumed(table, folds.places[folds.kept(fold)], folds.Y[folds.kept(fold)])
        for fold, table in enumerate(tables)
    ]
    for name, model in models.items():
        added = [model(folds.sample, P) for P in parts]
        together = [table + more for table, more in zip(tables, added, strict=True)]
        w = self_training_weight(folds, tables, together)
        tables = [table + w * more for table, more in zip(tables, added, strict=True)]
        L, weights[name] = L + w * model(slice(None), whole), w
    return L, tables, weights


def self_training_weight(folds: LabelFolds, without: Sequence[Floats], together: Sequence[Floats]) -> float:
    """1 where held-out labels do not tell whether a model helps, up to 2 where it does, down to 0 where not.

    Twice the posterior probability, by Bayes' rule from even odds, that it does: the likelihoods are those of
    the held-out labels, with the temperature that suits each best.
    """
    judged = folds.judged
    if not folds.n_folds:
        return 1.0
    losses = []
    for tables in (without, together):
        held = folds.held_out(tables)
        scale = combine.scaled(held, folds.Y, folds.multilabel, judged)
        losses.append(combine.loss(scale.of(held)[judged], folds.Y[judged], folds.multilabel))
    return 2 * float(combine.weights(losses, int(judged.sum()), eta=1.0)[1])


def by_rows(workspace: Workspace, settings: RowSettings, nodes: Any, P: Floats) -> Floats:
    """Log-probabilities by the discriminants."""
    backend, values = workspace.backend, workspace.rows(settings).values
    left = backend.given(workspace.taken(workspace.left(settings), nodes), np.float64)
    given, total = backend.given(P), 0.0
    ranks = sorted({min(rank, values.size) for rank in RANKS})
    for rank in ranks:
        Z = left[:, :rank] * backend.given(values[:rank] ** 0.5)
        Z /= row_lengths(Z)
        total = total + combine.log_softmax(discriminant(Z, given, backend), backend.xp)
    return np.asarray(backend.array(total) / len(ranks))


def by_counts(workspace: Workspace, nodes: Any, P: Floats) -> Floats:
    """Log-probabilities by the multinomials."""
    backend, X, K = workspace.backend, workspace.matrix("counts"), P.shape[1]
    rows = np.arange(workspace.graph.n_nodes)[nodes]
    presumed = backend.spread(rows, P, workspace.graph.n_nodes)
    words = X.T @ (presumed + workspace.neighbours(presumed, mean=False))
    common = words.sum(axis=1, keepdims=True)
    words = words + PRIOR * len(words) * common / max(float(common.sum()), combine.TINY)
    logs = backend.xp.log(share(words).clip(combine.TINY))
    own = X @ backend.beside([logs, logs[:, :1] * 0 + 1])
    scores = workspace.taken(own + workspace.neighbours(own), nodes)
    likely = scores[:, :K] / scores[:, K:].clip(1.0) ** 0.5
    return np.asarray(backend.array(combine.log_softmax(likely, backend.xp)))


def _presumed(L: Floats, own: Codes, Y: Floats) -> Floats:
    """Probabilities, with those of the labelled rows `own` as they are known."""
    P = np.exp(L)
    P[own] = Y
    return P


def _logs(L: Floats) -> Floats:
    return combine.log_probabilities(L, multilabel=False)

"""One step of self-training: what generative models say, learned from all nodes as they stand.

The nodes are divided among the classes by the probabilities found so far. From that two models are fitted,
each by its moments, and asked about the same nodes:

- a *linear discriminant* on smoothed rows, its log-probabilities averaged over several ranks;
- where the attributes are counts, a *multinomial* of those of a node and, on average, of its neighbours.

Both count what is not independent many times over, so their scores are divided by the root of how much they
count: columns, or counts. Then a model weighs as far as held-out labels bear it out
(`self_training_weight`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from querist.collective.mixture import share
from querist.labelling import combine
from querist.labelling.folds import LabelFolds
from querist.labelling.heads import discriminant
from querist.labelling.members import ClassifierMethod, SmoothedRidge
from querist.labelling.rows import RowSettings
from querist.labelling.workspace import Member, Workspace
from querist.types import Codes, Floats

RANKS = (25, 50, 100)
"""Columns of the discriminants."""

PRIOR = 0.1
"""How many counts a class has of an average word before any is seen, divided as in all nodes together."""

Refiner: TypeAlias = Callable[[Any, Floats], Floats]
"""(m, K) log-probabilities of m nodes from their rows, and from the classes (m, K) that they seem to have."""


def refiners(workspace: Workspace, members: Mapping[str, Member]) -> dict[str, Refiner]:
    """The models for a graph with these members: of the first rows there are, and of the counts."""
    models: dict[str, Refiner] = {}
    methods = [member.method for member in members.values()]
    settings = next((method.settings for method in methods if isinstance(method, SmoothedRidge)), None)
    place = workspace.place
    if place is not None:
        from querist.labelling.device import refining
    if settings is not None:
        here: Refiner = partial(by_rows, workspace, settings)
        models["rows"] = here if place is None else partial(refining.by_rows, place, settings)
    if any(isinstance(method, ClassifierMethod) and method.counts for method in methods):
        here = partial(by_counts, workspace)
        models["counts"] = here if place is None else partial(refining.by_counts, place)
    return models


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
    rows = workspace.rows(settings)
    part = type(rows)(rows.left[nodes], rows.values)
    ranks = sorted({min(rank, rows.values.size) for rank in RANKS})
    return np.asarray(sum(_logs(discriminant(part.take(rank, 0.5), P)) for rank in ranks) / len(ranks))


def by_counts(workspace: Workspace, nodes: Any, P: Floats) -> Floats:
    """Log-probabilities by the multinomials."""
    X = workspace.counted.attributes
    assert X is not None
    presumed = np.zeros((workspace.graph.n_nodes, P.shape[1]))
    presumed[nodes] = P
    words = np.asarray(X.T @ (presumed + workspace.neighbours(presumed, mean=False)))
    common = words.sum(axis=1, keepdims=True)
    words += PRIOR * len(words) * common / max(float(common.sum()), combine.TINY)
    logs = np.log(np.maximum(share(words), combine.TINY))
    own = np.asarray(X @ np.column_stack([logs, np.ones(len(logs))]))
    scores = (own + workspace.neighbours(own))[nodes]
    return _logs(scores[:, :-1] / np.sqrt(np.maximum(scores[:, -1:], 1.0)))


def _presumed(L: Floats, own: Codes, Y: Floats) -> Floats:
    """Probabilities, with those of the labelled rows `own` as they are known."""
    P = np.exp(L)
    P[own] = Y
    return P


def _logs(L: Floats) -> Floats:
    return combine.log_probabilities(L, multilabel=False)

"""One step of self-training: what generative models say, learned from all nodes as they stand.

The nodes are divided among the classes by the probabilities found so far. From that two models are fitted,
each by its moments, and asked about the same nodes:

- a *linear discriminant* on smoothed rows, its log-probabilities averaged over several ranks;
- where the attributes are counts, a *multinomial* of those of a node and, on average, of its neighbours.

Both count what is not independent many times over, so their scores are divided by the root of how much they
count: columns, or counts. Then a model is heard as far as held-out labels bear it out (`loudness`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from querist.collective.mixture import share
from querist.labelling import combine
from querist.labelling.ground import Candidate, Ground
from querist.labelling.heads import discriminant
from querist.labelling.rows import View
from querist.labelling.smoothed import Smoothed
from querist.labelling.task import Task
from querist.types import Codes, Floats

RANKS = (25, 50, 100)
"""Columns of the discriminants."""

PRIOR = 0.1
"""How many counts a class has of an average word before any is seen, divided as in all nodes together."""

Refiner: TypeAlias = Callable[[Any, Floats], Floats]
"""(m, K) log-probabilities of m nodes from their rows, and from the classes (m, K) that they seem to have."""


class Refined(NamedTuple):
    """Logits of all nodes, and of `task.sample` with each fold held out; how far each model was heard."""

    L: Floats
    tables: Sequence[Floats]
    heard: Mapping[str, float]


def refiners(ground: Ground, names: Mapping[str, Candidate]) -> dict[str, Refiner]:
    """The models for a graph with these candidates: of the first rows there are, and of the counts."""
    ways: dict[str, Refiner] = {}
    view = next((way.view for way in names.values() if isinstance(way, Smoothed)), None)
    if view is not None:
        ways["rows"] = partial(by_rows, ground, view)
    if "counts" in names:
        ways["counts"] = partial(by_counts, ground)
    return ways


def refined(task: Task, ways: Mapping[str, Refiner], L: Floats, tables: Sequence[Floats]) -> Refined:
    """Logits, and those with each fold held out, with what the models say added."""
    heard: dict[str, float] = {}
    if not ways:
        return Refined(L, tables, heard)
    L, tables = _logs(L), [_logs(table) for table in tables]
    whole = _presumed(L, task.seeds, task.Y)
    parts = [
        _presumed(table, task.places[task.kept(fold)], task.Y[task.kept(fold)])
        for fold, table in enumerate(tables)
    ]
    for name, way in ways.items():
        said = [way(task.sample, P) for P in parts]
        w = loudness(task, tables, [table + more for table, more in zip(tables, said, strict=True)])
        tables = [table + w * more for table, more in zip(tables, said, strict=True)]
        L, heard[name] = L + w * way(slice(None), whole), w
    return Refined(L, tables, heard)


def loudness(task: Task, without: Sequence[Floats], together: Sequence[Floats]) -> float:
    """1 where held-out labels do not tell whether a model helps, up to 2 where it does, down to 0 where not.

    Twice the posterior probability, by Bayes' rule from even odds, that it does: the likelihoods are those of
    the held-out labels, with the temperature that suits each best.
    """
    judged = task.judged
    if not task.count:
        return 1.0
    losses = []
    for tables in (without, together):
        held = task.held_out(tables)
        scale = combine.scaled(held, task.Y, task.link, judged)
        losses.append(combine.loss(scale.of(held)[judged], task.Y[judged], task.link))
    return 2 * float(combine.weights(losses, int(judged.sum()), eta=1.0)[1])


def by_rows(ground: Ground, view: View, nodes: Any, P: Floats) -> Floats:
    """What the discriminants say."""
    rows = ground.rows(view)
    part = type(rows)(rows.left[nodes], rows.values)
    ranks = sorted({min(rank, rows.values.size) for rank in RANKS})
    return np.asarray(sum(_logs(discriminant(part.take(rank, 0.5), P)) for rank in ranks) / len(ranks))


def by_counts(ground: Ground, nodes: Any, P: Floats) -> Floats:
    """What the multinomials say."""
    X = ground.counted.attributes
    assert X is not None
    presumed = np.zeros((ground.graph.n_nodes, P.shape[1]))
    presumed[nodes] = P
    words = np.asarray(X.T @ (presumed + ground.neighbours(presumed, mean=False)))
    common = words.sum(axis=1, keepdims=True)
    words += PRIOR * len(words) * common / max(float(common.sum()), combine.TINY)
    logs = np.log(np.maximum(share(words), combine.TINY))
    own = np.asarray(X @ np.column_stack([logs, np.ones(len(logs))]))
    scores = (own + ground.neighbours(own))[nodes]
    return _logs(scores[:, :-1] / np.sqrt(np.maximum(scores[:, -1:], 1.0)))


def _presumed(L: Floats, own: Codes, Y: Floats) -> Floats:
    """Probabilities, with those of the labelled rows `own` as they are known."""
    P = np.exp(L)
    P[own] = Y
    return P


def _logs(L: Floats) -> Floats:
    return combine.log_probabilities(L, "softmax")

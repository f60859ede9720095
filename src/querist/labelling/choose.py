"""Choose among the candidates, and combine them, by cross-validation on the labels.

1. *Plan.* Candidates that suit the graph, as many as their estimated time allows, in the order of
   `CANDIDATES`; the largest graphs get fewer columns and fewer folds.
2. *Consult.* Each candidate learns from all labels, and from those outside each fold. Its answers to the
   held-out labels are scaled to probabilities and judged by log-loss.
3. *Pool.* A weighted product of the candidates (`combine.py`); the weights stay near even until the
   labels clearly prefer one.
4. *Match* the mean probability of each class to its share of the labels, unless every class has equally
   many: then labels were chosen class by class and their shares say nothing. The shares of labels that were
   picked are trusted only where nothing else tells: where the product does worse on held-out labels than
   the shares alone.
5. *Refine.* One step of self-training (`refine.py`): generative models of the main rows, and of the counts,
   learned from all nodes as step 4 divides them among the classes, are multiplied in.
6. *Calibrate.* Steps 3 to 5 are repeated with each fold held out (weights as chosen from all folds), and a
   temperature is fitted to the held-out answers, which also give the accuracy to expect.

The constants were fixed on other data than the reported ones (docs/assist.md).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from querist.collective.problem import Problem
from querist.labelling import combine
from querist.labelling.calibrate import Estimate, estimated, presumed
from querist.labelling.choice import Choice, Score, told
from querist.labelling.combine import Link, Scale
from querist.labelling.ground import Candidate, Fitted, Ground
from querist.labelling.heads import accuracy
from querist.labelling.plan import plan
from querist.labelling.refine import refined, refiners
from querist.labelling.smoothed import Smoothed
from querist.labelling.task import Task, posed
from querist.types import Bools, Codes, Floats

Progress: TypeAlias = Callable[[float, str], None]

ETA = 0.03
"""How fast a candidate's weight falls with its held-out loss."""

VOICE = {"counts": 4.0}
"""Weights before any label is held out: the one generative model counts as much as the kindred views of the
attributes together. Everyone else has 1."""


@dataclass(frozen=True)
class Outcome:
    """What `label` needs of a choice. `opinions` are the calibrated (n, K) logits of each candidate."""

    probabilities: Floats
    reached: Bools
    choice: Choice
    estimate: Estimate
    model: "Model"
    opinions: Mapping[str, Floats]


@dataclass(frozen=True)
class Model:
    """The fitted candidates and their weights."""

    seeds: Codes
    parts: Mapping[str, Fitted]
    shares: Mapping[str, float]

    def weights(self, nodes: Any) -> tuple[Codes, Floats] | None:
        """The labelled rows, and how much each weighed: (m,) for one node, (nodes, m) for several.

        By the heaviest part that can say (a row of its smoothing matrix); None where none can.
        """
        for name in sorted(self.parts, key=lambda part: -self.shares[part]):
            found = self.parts[name].smoother(nodes)
            if found is not None:
                return self.seeds, found
        return None


def choose(
    problem: Problem,
    *,
    method: str = "auto",
    picked: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    ground: Ground | None = None,
) -> Outcome:
    """The labels of all nodes by the method, or by the best combination of all (`auto`).

    `picked` says that the labelled nodes were not drawn at random; `ground` carries what earlier calls
    computed of the same graph.
    """
    show = progress or (lambda fraction, text: None)
    ground = Ground(problem.graph) if ground is None else ground
    link: Link = "sigmoid" if problem.multilabel else "softmax"
    seeds = np.flatnonzero(problem.seeds)
    Y = problem.known.indicator[seeds]
    names, folds, skipped = plan(ground, method, Y, link)
    task = posed(ground, seeds, Y, link, folds, seed)
    parts, tables = consult(task, names, show)
    show(0.9, "combining")
    scales = {name: _voice(task, parts[name], tables[name]) for name in names}
    held = {name: [scales[name].of(table) for table in tables[name]] for name in names}
    scores = _scored(task, names, {name: task.held_out(held[name]) for name in names})
    auto = method == "auto"
    blend = Blend(link, {score.name: score.weight for score in scores}, match=False)
    if _shares_mean_something(Y) and any(isinstance(way, Smoothed) for way in names.values()):
        blend = replace(blend, match=not picked or _worse_than_shares(task, blend.held_out(task, held)))
    opinions = {name: scales[name].of(parts[name].logits(slice(None))) for name in names}
    L = blend.of(opinions, Y)
    blended = blend.held_out(task, held)
    ways = refiners(ground, names) if auto and link == "softmax" else {}
    L, held_out, heard = refined(task, ways, L, blended)
    free = np.setdiff1d(task.sample, seeds)
    scale, estimate = _calibrated(task, held_out, L[free if free.size else task.sample])
    P = combine.probabilities(scale.of(L), link)
    choice = told(
        names,
        scores,
        skipped,
        asked=not auto,
        folds=task.count,
        labels=len(seeds),
        matched=blend.match,
        heard=heard,
    )
    show(1.0, "labelled")
    return Outcome(P, reached(problem), choice, estimate, Model(seeds, parts, blend.shares), opinions)


# -- 2. and 3. consult and weigh -------------------------------------------------------------------


def consult(
    task: Task, names: Mapping[str, Candidate], show: Progress
) -> tuple[dict[str, Fitted], dict[str, list[Floats]]]:
    """Each candidate fitted to all labels; and to those outside each fold, as its logits at `task.sample`."""
    parts: dict[str, Fitted] = {}
    tables: dict[str, list[Floats]] = {}
    show(0.0, "looking at the graph")
    task.ground.look([way.view for way in names.values() if isinstance(way, Smoothed)])
    costs = [candidate.cost(task.ground, task.Y.shape[1]) for candidate in names.values()]
    total, begun = sum(once + fit * (task.count + 1) for once, fit in costs) or 1.0, 0.0
    for (name, candidate), (once, fit) in zip(names.items(), costs, strict=True):
        text = f"trying {candidate.what}"
        show(0.85 * begun / total, text)
        # The rows are computed in the first fit, which takes long on a large graph: it tells how far it is.
        task.ground.progress = partial(_within, show, text, 0.85 * begun / total, 0.85 * once / total)
        parts[name] = candidate.fit(task.ground, task.seeds, task.Y, task.link)
        begun += once + fit
        tables[name] = []
        for fold in range(task.count):
            show(0.85 * begun / total, text)
            kept = task.kept(fold)
            fitted = candidate.fit(task.ground, task.seeds[kept], task.Y[kept], task.link)
            tables[name].append(fitted.logits(task.sample))
            begun += fit
    return parts, tables


def _within(show: Progress, text: str, start: float, span: float, fraction: float, _: str) -> None:
    """Progress of a part as progress of the whole."""
    show(start + span * fraction, text)


def _voice(task: Task, part: Fitted, tables: Sequence[Floats]) -> Scale:
    """How loud an opinion is: by its answers to held-out labels; by its spread where none can be held out."""
    L = task.held_out(tables) if task.count else part.logits(task.seeds)
    return combine.voiced(L, task.Y, task.link, task.judged)


def _scored(task: Task, names: Mapping[str, Candidate], held: Mapping[str, Floats]) -> list[Score]:
    """Every candidate with its held-out accuracy, loss and weight, the heaviest first."""
    own, judged = task.Y[task.judged], int(task.judged.sum())
    losses = [combine.loss(held[name][task.judged], own, task.link) if judged else 0.0 for name in names]
    shares = combine.weights(losses, judged, ETA) * [VOICE.get(name, 1.0) for name in names]
    shares /= shares.sum()
    right = [accuracy(held[name], task.Y, task.judged) if judged else float("nan") for name in names]
    rows = zip(names.items(), right, losses, shares, strict=True)
    scores = [
        Score(name, way.what, a, b if judged else float("nan"), float(w)) for (name, way), a, b, w in rows
    ]
    return sorted(scores, key=lambda score: -score.weight)


# -- 3. to 6. combine and calibrate ------------------------------------------------------------------


@dataclass(frozen=True)
class Blend:
    """How opinions become one: fixed by the labels as a whole, applied to all nodes and to each fold."""

    link: Link
    shares: Mapping[str, float]
    match: bool

    def of(self, opinions: Mapping[str, Floats], Y: Floats) -> Floats:
        """Logits, the shares of the classes matched to those of the labels `Y`."""
        L = combine.pooled(list(opinions.values()), np.array([self.shares[name] for name in opinions]))
        return L + combine.matched(L, _class_shares(Y, self.link), self.link) if self.match else L

    def held_out(self, task: Task, held: Mapping[str, Sequence[Floats]]) -> list[Floats]:
        """Logits at `task.sample` while each fold is held out, from those of each candidate."""
        return [
            self.of({name: tables[fold] for name, tables in held.items()}, task.Y[task.kept(fold)])
            for fold in range(task.count)
        ]


def _worse_than_shares(task: Task, tables: Sequence[Floats]) -> bool:
    """Whether logits, made without the held-out labels, tell less of them than the shares of the classes."""
    own = task.Y[task.judged]
    if not len(own):
        return False
    constant = combine.logits(_class_shares(task.Y, task.link), task.link)
    alone = combine.loss(np.broadcast_to(constant, own.shape), own, task.link)
    return combine.loss(task.held_out(tables)[task.judged], own, task.link) > alone


def _calibrated(task: Task, tables: Sequence[Floats], final: Floats) -> tuple[Scale, Estimate]:
    """The temperature and the estimate from the tables of each fold held out.

    `final` are the logits of some unlabelled nodes, which shall not sound surer than the estimate allows.
    """
    held, judged = task.held_out(tables), task.judged
    best = held[judged].argmax(axis=1)
    rows = np.arange(len(best))
    correct = task.Y[judged][rows, best] > 0
    scale = combine.scaled(held, task.Y, task.link, judged)
    if task.link == "softmax":
        most = combine.steepness_of(final, presumed(correct, final.shape[1]))
        scale = Scale(min(scale.steepness, most) if task.count else most)
    P = combine.probabilities(scale.of(held), task.link)[judged]
    alone = int((~judged).sum())
    return scale, estimated(P[rows, best], correct, task.count, 1 / scale.steepness, alone)


def _class_shares(Y: Floats, link: Link) -> Floats:
    total = Y.sum(axis=0)
    return np.asarray(total / total.sum() if link == "softmax" else total / len(Y))


def _shares_mean_something(Y: Floats) -> bool:
    """Equally many labels of every class were hardly drawn at random."""
    total = Y.sum(axis=0)
    return bool(total.max() - total.min() > 1)


def reached(problem: Problem) -> Bools:
    """(n,) whether a label comes to a node along edges or shared attributes."""
    from querist.collective.reach import reach

    graph = problem.graph
    if graph.attributes is not None and graph.attributes.nnz:
        return reach(graph.attributes, problem.seeds, graph.components)
    return np.asarray(np.isin(graph.components, graph.components[problem.seeds]))

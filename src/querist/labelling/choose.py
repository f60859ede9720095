"""Choose among the members of `auto`, and combine them, by cross-validation on the labels.

1. *Plan.* Members that suit the graph, as many as their estimated time allows, in the order of
   `MEMBERS`; the largest graphs get fewer columns and fewer folds.
2. *Fit.* Each member learns from all labels, and from those outside each fold. Its answers to the
   held-out labels are scaled to probabilities and judged by log-loss.
3. *Pool.* A weighted product of the members (`combine.py`); the weights stay near their prior ones until
   the labels clearly prefer one.
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from querist.collective.problem import Problem
from querist.labelling import combine
from querist.labelling.calibrate import Estimate, estimated, presumed
from querist.labelling.combine import Link, Scale
from querist.labelling.folds import LabelFolds, cut_folds
from querist.labelling.heads import accuracy
from querist.labelling.members import SmoothedRidge, plan
from querist.labelling.refine import refined, refiners
from querist.labelling.workspace import Fitted, Member, Workspace
from querist.progress import Progress, part, silent
from querist.types import Bools, Codes, Floats

ETA = 0.03
"""How fast a member's weight falls with its held-out loss."""


@dataclass(frozen=True)
class Score:
    """How a member did on held-out labels, and its weight in what was taken."""

    name: str
    what: str
    accuracy: float
    log_loss: float
    weight: float


@dataclass(frozen=True)
class Choice:
    """What was taken and why; `scores` holds every member that was tried, the heaviest first."""

    method: str
    representation: str
    why: tuple[str, ...]
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Prediction:
    """What `label` needs of a choice. `logits_by_member` are the calibrated (n, K) logits of each member."""

    probabilities: Floats
    reached: Bools
    choice: Choice
    estimate: Estimate
    model: "FittedMembers"
    logits_by_member: Mapping[str, Floats]


@dataclass(frozen=True)
class FittedMembers:
    """The fitted members and their weights."""

    labelled: Codes
    fitted: Mapping[str, Fitted]
    shares: Mapping[str, float]

    def weights(self, nodes: Any) -> tuple[Codes, Floats] | None:
        """The labelled rows, and how much each weighed: (m,) for one node, (nodes, m) for several.

        By the heaviest member that can say (a row of its smoothing matrix); None where none can.
        """
        for name in sorted(self.fitted, key=lambda member: -self.shares[member]):
            found = self.fitted[name].smoother(nodes)
            if found is not None:
                return self.labelled, found
        return None


def choose(
    problem: Problem,
    *,
    method: str = "auto",
    picked: bool = False,
    seed: int = 0,
    progress: Progress = silent,
    workspace: Workspace | None = None,
) -> Prediction:
    """The labels of all nodes by the method, or by the best combination of all (`auto`).

    `picked` says that the labelled nodes were not drawn at random; `workspace` carries what earlier calls
    computed of the same graph.
    """
    workspace = Workspace(problem.graph) if workspace is None else workspace
    link: Link = "sigmoid" if problem.multilabel else "softmax"
    labelled = np.flatnonzero(problem.seeds)
    Y = problem.known.indicator[labelled]
    members, n_folds, skipped = plan(workspace, method, Y, link)
    folds = cut_folds(workspace, labelled, Y, link, n_folds, seed)
    fitted, tables = fit_members(folds, members, progress)
    progress(0.9, "combining")
    scales = {name: _scale_of(folds, fitted[name], tables[name]) for name in members}
    held = {name: [scales[name].of(table) for table in tables[name]] for name in members}
    scores = _scored(folds, members, {name: folds.held_out(held[name]) for name in members})
    auto = method == "auto"
    pool = LogitPool(link, {score.name: score.weight for score in scores}, match=False)
    if _shares_mean_something(Y) and any(isinstance(m.method, SmoothedRidge) for m in members.values()):
        pool = replace(pool, match=not picked or _worse_than_shares(folds, pool.held_out(folds, held)))
    logits_by_member = {name: scales[name].of(fitted[name].logits(slice(None))) for name in members}
    L = pool.of(logits_by_member, Y)
    models = refiners(workspace, members) if auto and link == "softmax" else {}
    L, held_out, self_training = refined(folds, models, L, pool.held_out(folds, held))
    free = np.setdiff1d(folds.sample, labelled)
    scale, estimate = _calibrated(folds, held_out, L[free if free.size else folds.sample])
    P = combine.probabilities(scale.of(L), link)
    choice = explained(
        members,
        scores,
        skipped,
        asked=not auto,
        folds=folds.n_folds,
        labels=len(labelled),
        matched=pool.match,
        self_training=self_training,
    )
    progress(1.0, "labelled")
    model = FittedMembers(labelled, fitted, pool.shares)
    return Prediction(P, reached(problem), choice, estimate, model, logits_by_member)


# -- 2. and 3. fit and weigh -------------------------------------------------------------------


def fit_members(
    folds: LabelFolds, members: Mapping[str, Member], show: Progress
) -> tuple[dict[str, Fitted], dict[str, list[Floats]]]:
    """Each member fitted to all labels; and to those outside each fold, as its logits at `folds.sample`."""
    fitted: dict[str, Fitted] = {}
    tables: dict[str, list[Floats]] = {}
    workspace, methods = folds.workspace, {name: member.method for name, member in members.items()}
    show(0.0, "looking at the graph")
    workspace.compute_rows([way.settings for way in methods.values() if isinstance(way, SmoothedRidge)])
    costs = [method.cost(workspace, folds.Y.shape[1]) for method in methods.values()]
    total, begun = sum(once + fit * (folds.n_folds + 1) for once, fit in costs) or 1.0, 0.0
    for (name, method), (once, fit) in zip(methods.items(), costs, strict=True):
        text = f"trying {method.what}"
        show(0.85 * begun / total, text)
        # The rows are computed in the first fit, which takes long on a large graph: it tells how far it is.
        workspace.progress = part(show, 0.85 * begun / total, 0.85 * once / total, text)
        fitted[name] = method.fit(workspace, folds.labelled, folds.Y, folds.link)
        begun += once + fit
        tables[name] = []
        for fold in range(folds.n_folds):
            show(0.85 * begun / total, text)
            kept = folds.kept(fold)
            fewer = method.fit(workspace, folds.labelled[kept], folds.Y[kept], folds.link)
            tables[name].append(fewer.logits(folds.sample))
            begun += fit
    return fitted, tables


def _scale_of(folds: LabelFolds, fitted: Fitted, tables: Sequence[Floats]) -> Scale:
    """How steep a member's logits are: by its held-out answers; by their spread where there are none."""
    L = folds.held_out(tables) if folds.n_folds else fitted.logits(folds.labelled)
    return combine.scaled_with_prior(L, folds.Y, folds.link, folds.judged)


def _scored(folds: LabelFolds, members: Mapping[str, Member], held: Mapping[str, Floats]) -> list[Score]:
    """Every member with its held-out accuracy, loss and weight, the heaviest first."""
    own, judged = folds.Y[folds.judged], int(folds.judged.sum())
    losses = [combine.loss(held[name][folds.judged], own, folds.link) if judged else 0.0 for name in members]
    shares = combine.weights(losses, judged, ETA) * [member.prior_weight for member in members.values()]
    shares /= shares.sum()
    right = [accuracy(held[name], folds.Y, folds.judged) if judged else float("nan") for name in members]
    rows = zip(members.items(), right, losses, shares, strict=True)
    scores = [
        Score(name, member.method.what, a, b if judged else float("nan"), float(w))
        for (name, member), a, b, w in rows
    ]
    return sorted(scores, key=lambda score: -score.weight)


# -- 3. to 6. combine and calibrate ------------------------------------------------------------------


@dataclass(frozen=True)
class LogitPool:
    """How the members' logits become one: fixed by all labels, applied to all nodes and to each fold."""

    link: Link
    shares: Mapping[str, float]
    match: bool

    def of(self, logits_by_member: Mapping[str, Floats], Y: Floats) -> Floats:
        """Logits, the shares of the classes matched to those of the labels `Y`."""
        L = combine.pooled(
            list(logits_by_member.values()), np.array([self.shares[name] for name in logits_by_member])
        )
        return L + combine.matched(L, _class_shares(Y, self.link), self.link) if self.match else L

    def held_out(self, folds: LabelFolds, held: Mapping[str, Sequence[Floats]]) -> list[Floats]:
        """Logits at `folds.sample` while each fold is held out, from those of each member."""
        return [
            self.of({name: tables[fold] for name, tables in held.items()}, folds.Y[folds.kept(fold)])
            for fold in range(folds.n_folds)
        ]


def _worse_than_shares(folds: LabelFolds, tables: Sequence[Floats]) -> bool:
    """Whether logits, made without the held-out labels, tell less of them than the shares of the classes."""
    own = folds.Y[folds.judged]
    if not len(own):
        return False
    constant = combine.logits(_class_shares(folds.Y, folds.link), folds.link)
    alone = combine.loss(np.broadcast_to(constant, own.shape), own, folds.link)
    return combine.loss(folds.held_out(tables)[folds.judged], own, folds.link) > alone


def _calibrated(folds: LabelFolds, tables: Sequence[Floats], final: Floats) -> tuple[Scale, Estimate]:
    """The temperature and the estimate from the tables of each fold held out.

    `final` are the logits of some unlabelled nodes, which shall not be surer than the estimate allows.
    """
    held, judged = folds.held_out(tables), folds.judged
    best = held[judged].argmax(axis=1)
    rows = np.arange(len(best))
    correct = folds.Y[judged][rows, best] > 0
    scale = combine.scaled(held, folds.Y, folds.link, judged)
    if folds.link == "softmax":
        most = combine.steepness_of(final, presumed(correct, final.shape[1]))
        scale = Scale(min(scale.steepness, most) if folds.n_folds else most)
    P = combine.probabilities(scale.of(held), folds.link)[judged]
    alone = int((~judged).sum())
    return scale, estimated(P[rows, best], correct, folds.n_folds, 1 / scale.steepness, alone)


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


# -- the reasons in sentences -------------------------------------------------------------------------------


def explained(
    members: Mapping[str, Member],
    scores: Sequence[Score],
    skipped: Sequence[str],
    *,
    asked: bool,
    folds: int,
    labels: int,
    matched: bool,
    self_training: Mapping[str, float],
) -> Choice:
    """The choice in words. `asked`: the user named the method; `self_training`: the weights of its models."""
    words = any(member.method.uses_attributes for member in members.values())
    representation = "attributes and links" if words else "links"
    alone = len(members) == 1
    if asked:
        why = [f"{scores[0].name}, as asked for."]
    elif alone:
        why = [f"{scores[0].what} ({scores[0].name}) is the one method that fits this graph and the time."]
    else:
        sources = "attributes and links" if words else "links alone"
        why = [f"{len(scores)} methods were tried on {sources}.", *_weighed(scores, folds, labels)]
    if matched:
        why.append("The classes' shares were matched to those of the labels.")
    if self_training:
        weights = " and ".join(f"that of the {name} {w:.2f}" for name, w in self_training.items())
        why.append(
            "One step of self-training on all nodes followed. Its models weigh by held-out labels: "
            f"{weights} (from 0 to 2; 1 where the labels cannot tell)."
        )
    if skipped:
        why.append(f"Left out, since they would take too long on this graph: {', '.join(skipped)}.")
    method = scores[0].name if alone else "combination of " + ", ".join(s.name for s in heavy(scores))
    return Choice(method, representation, tuple(why), tuple(scores))


def heavy(scores: Sequence[Score]) -> list[Score]:
    """Those that carry the answer: at least half of an even share."""
    return [score for score in scores if score.weight >= 0.5 / len(scores)]


def _weighed(scores: Sequence[Score], folds: int, labels: int) -> list[str]:
    if not folds:
        return ["No label could be held out, so the methods have the weights that they start with."]
    best = min(scores, key=lambda score: score.log_loss)
    carried = ", ".join(f"{score.name} {score.weight:.2f}" for score in heavy(scores))
    return [
        f"Best on held-out labels: {best.what} ({best.name}), accuracy {best.accuracy:.3f}, "
        f"log-loss {best.log_loss:.3f} ({folds}-fold cross-validation, {labels} labels).",
        f"{len(heavy(scores))} of them carry the answer, as a product weighted by held-out log-loss: "
        f"{carried}.",
    ]

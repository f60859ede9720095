"""Choose among the members of `auto`, and combine them, by cross-validation on the labels.

1. *Plan.* Members that suit the graph, as many as their work allows on a graph of its size, in the order of
   `MEMBERS`; the largest graphs get fewer columns and fewer folds.
2. *Fit.* Each member learns from all labels, and from those outside each fold. Its answers to the
   held-out labels are scaled to probabilities and judged by log-loss.
3. *Pool.* A weighted product of the members (`combine.py`): the weights under which the held-out labels are
   likeliest, each member's classes matched to the shares of the labels; near their prior ones while there
   are few labels.
4. *Match* the mean probability of each class to its share of the labels, as far as that serves the held-out
   labels (`MATCHING`): shares of labels that were drawn class by class are exact, those of few random ones
   are not. Where every class has equally many labels their shares say nothing. The shares of labels that were
   picked are trusted only where nothing else tells: where the product does worse on held-out labels than
   the shares alone.
5. *Refine.* One step of self-training (`refine.py`): generative models of the main rows, and of the counts,
   learned from all nodes as step 4 divides them among the classes, are multiplied in.
6. *Calibrate and decide* (`decisions/`). Steps 3 to 5 are repeated with each fold held out (weights as chosen
   from all folds). A temperature is fitted to the held-out answers, then a slope and a shift a class, unless
   the labels were picked or are equally many of every class. The goal says what a node is called; the
   held-out answers say what to expect of that.

The constants were fixed on other data than the reported ones (docs/appendix/label_accuracy.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from querist.collective.problem import Problem
from querist.display import as_html
from querist.labelling import combine
from querist.labelling.combine import Scale
from querist.labelling.decisions.estimate import Estimate, judge, point_estimate
from querist.labelling.decisions.goals import GoalDecision, cost_table
from querist.labelling.folds import LabelFolds, cut_folds
from querist.labelling.heads import is_right
from querist.labelling.kernel_ridge import are_measurements
from querist.labelling.members import plan, row_kinds, settle
from querist.labelling.options import Costs
from querist.labelling.refine import refined, refiners
from querist.labelling.workspace import Fitted, Model, Seen, Workspace, side_by_side
from querist.operator.device.choice import ChosenDevice
from querist.progress import Progress, part, silent
from querist.types import Bools, Codes, Floats

A = TypeVar("A")

MATCHING = (0.0, 1.0, 3.0, 10.0, 30.0, None)
"""How far the shares may be matched: as if so many labels a class had the shares that the pool itself finds;
None leaves those as they are."""

SIDE_BY_SIDE = 2e7
"""Most logits of a member that are computed at the same time as others."""

LABELS_TOGETHER = 2000
"""Most labels with which a device fits all folds at once: each fit holds numbers for all pairs of them."""

PICKED = 0.1
"""What a held-out label counts for that was picked: such labels lie far apart, and members that know a node
by its neighbours seem worse on them than they are. Measurements are picked evenly, and count in full."""

ENOUGH_NODES = 1000
"""Nodes by which a member's shares are matched when it is weighed."""


@dataclass(frozen=True)
class Score:
    """How a member did on held-out labels, and its weight in what was taken.

    >>> Score("walks", "random walks", accuracy=0.8, log_loss=0.5, weight=1.0).weight
    1.0
    """

    name: str
    what: str
    accuracy: float
    log_loss: float
    weight: float


@dataclass(frozen=True)
class Choice:
    """What was taken and why; `scores` holds every member that was tried, the heaviest first.

    >>> import querist
    >>> result = querist.label(querist.load_graph("karate"), {0: "Mr. Hi", 33: "Officer"}, method="walks")
    >>> result.choice.method
    'walks'
    """

    method: str
    representation: str
    why: tuple[str, ...]
    scores: tuple[Score, ...]

    def _repr_html_(self) -> str:
        head = ["member", "what it is", "accuracy", "log-loss", "weight"]
        rows = [(s.name, s.what, s.accuracy, s.log_loss, s.weight) for s in self.scores]
        return as_html(f"{self.method}, on {self.representation}", self.why, head, rows)


@dataclass(frozen=True)
class Prediction:
    """What `label` needs of a choice. `logits_by_member` are the calibrated (n, K) logits of each member."""

    probabilities: Floats
    reached: Bools
    choice: Choice
    decision: GoalDecision
    estimate: Estimate
    model: "FittedMembers"
    logits_by_member: Mapping[str, Floats]


@dataclass(frozen=True)
class FittedMembers:
    """What is left of the members: how much the labelled rows weighed in the heaviest that can say."""

    labelled: Codes
    smoother: Callable[[Any], Floats] | None

    def weights(self, nodes: Any) -> tuple[Codes, Floats] | None:
        """The labelled rows, and how much each weighed: (m,) for one node, (nodes, m) for several.

        By a row of the member's smoothing matrix; None if no member has one.
        """
        return None if self.smoother is None else (self.labelled, self.smoother(nodes))


def choose(
    problem: Problem,
    *,
    method: str = "auto",
    picked: bool = False,
    goal: str = "accuracy",
    costs: Costs | None = None,
    seed: int = 0,
    progress: Progress = silent,
    workspace: Workspace | None = None,
) -> Prediction:
    """The labels of all nodes by the method, or by the best combination of all (`auto`).

    `picked` says that the labelled nodes were not drawn at random; `workspace` carries what earlier calls
    computed of the same graph.
    """
    workspace = Workspace(problem.graph) if workspace is None else workspace
    multilabel = problem.multilabel
    table = None if costs is None else cost_table(costs, problem.known.classes, multilabel)
    labelled = np.flatnonzero(problem.seeds)
    Y = problem.known.indicator[labelled]
    members, n_folds, skipped = plan(workspace, method, Y, multilabel)
    if picked:
        members = {name: member.for_picked() for name, member in members.items()}
    place = settle(workspace, members, n_folds, Y)
    folds = cut_folds(workspace, labelled, Y, multilabel, n_folds, seed)
    fitted, tables = fit_members(folds, members, progress)
    progress(0.9, "combining")
    scales = {name: _scale_of(folds, fitted[name], tables[name]) for name in members}
    held = {name: [scales[name].of(table) for table in tables[name]] for name in members}
    auto = method == "auto"
    informative = _shares_mean_something(Y)
    judged = {name: _judged(folds, held[name], informative and not picked) for name in members}
    points = are_measurements(problem.graph.attributes)
    if points:
        members = {
            name: replace(each, prior_weight=each.prior_weight * each.on_measurements)
            for name, each in members.items()
        }
    spread = picked and not points
    pool = LogitPool(multilabel, _weighed(folds, members, judged, PICKED if spread else 1.0))
    scores = _scored(folds, members, judged, pool.weights)
    if informative and any(member.is_regression for member in members.values()):
        pool = replace(pool, matching=_how_far(folds, pool, held, picked))
    own = _tables(folds, lambda name: scales[name].of(fitted[name].logits(slice(None))), members)
    logits_by_member = dict(zip(members, own, strict=True))
    L = pool.of(logits_by_member, Y)
    models = refiners(workspace, members) if auto and not multilabel else {}
    L, held_out, self_training = refined(folds, models, L, pool.held_out(folds, held, honest=True))
    by_class = informative and not picked
    P, decision, estimate = judge(
        folds, held_out, L, goal=goal, costs=table, by_class=by_class, picked=picked
    )
    choice = explained(
        members,
        scores,
        skipped,
        folds,
        asked=not auto,
        matching=pool.matching,
        self_training=self_training,
        warnings=warnings_of(scores, problem.known.classes, folds, estimate),
        place=place,
    )
    workspace.leave()
    progress(1.0, "labelled")
    by_weight = (fitted[score.name].smoother for score in scores)
    model = FittedMembers(labelled, next(filter(None, by_weight), None))
    return Prediction(P, reached(problem), choice, decision, estimate, model, logits_by_member)


# -- 2. and 3. fit and weigh -------------------------------------------------------------------


def fit_members(
    folds: LabelFolds, members: Mapping[str, Model], show: Progress
) -> tuple[dict[str, Fitted], dict[str, list[Floats]]]:
    """Each member fitted to all labels; and to those outside each fold, as its logits at `folds.sample`.

    All fits of a member are one on a device; in this process the folds follow, several side by side.
    """
    fitted: dict[str, Fitted] = {}
    tables: dict[str, list[Floats]] = {}
    workspace = folds.workspace
    seen = [folds.seen(), *(folds.seen(fold) for fold in range(folds.n_folds))]
    together = workspace.backend.at_once and len(seen[0].labelled) <= LABELS_TOGETHER
    first, later = (seen, []) if together else (seen[:1], seen[1:])
    show(0.0, "looking at the graph")
    workspace.compute_rows(row_kinds(members))
    span = 0.85 / len(members)
    for number, (name, model) in enumerate(members.items()):
        text = f"trying {model.what}"
        own = part(show, number * span, span, text)
        own(0.0, text)
        # The rows are computed in the first fit, which takes long on a large graph: it tells how far it is.
        workspace.progress = part(own, 0.0, 0.8)
        fitted[name], *others = model.fit_all(workspace, first)
        own(0.8, text)
        tables[name] = [other.logits(folds.sample) for other in others]
        tables[name] += _tables(folds, partial(_held_out, folds, model), later)
    workspace.progress = silent  # the fitted keep the workspace, and whoever keeps them may pickle them
    return fitted, tables


def _held_out(folds: LabelFolds, model: Model, seen: Seen) -> Floats:
    """The logits at `folds.sample` from the labels that are seen."""
    return model.fit(folds.workspace, seen).logits(folds.sample)


def _tables(folds: LabelFolds, table: Callable[[A], Floats], which: Iterable[A]) -> list[Floats]:
    """Several tables of logits, at the same time where they are small enough to share the memory."""
    small = folds.workspace.graph.n_nodes * folds.Y.shape[1] <= SIDE_BY_SIDE
    return side_by_side(table, which, in_threads=small)


def _scale_of(folds: LabelFolds, fitted: Fitted, tables: Sequence[Floats]) -> Scale:
    """How steep a member's logits are: by its held-out answers; by their spread where there are none."""
    L = folds.held_out(tables) if folds.n_folds else fitted.logits(folds.labelled)
    return combine.scaled_with_prior(L, folds.Y, folds.multilabel, folds.judged)


def _judged(folds: LabelFolds, tables: Sequence[Floats], match: bool) -> Floats:
    """(j, K) a member's answers to the labels that can be held out, its shares of the classes matched."""
    if match:
        kept = (_class_shares(folds.Y[folds.kept(fold)], folds.multilabel) for fold in range(folds.n_folds))
        tables = [
            L + combine.matched(L, shares, folds.multilabel, enough=ENOUGH_NODES)
            for L, shares in zip(tables, kept, strict=True)
        ]
    return folds.held_out(tables)[folds.judged]


def _weighed(
    folds: LabelFolds, members: Mapping[str, Model], judged: Mapping[str, Floats], trust: float
) -> dict[str, float]:
    """The weight of each member: its prior one, moved by the held-out labels as far as they are trusted."""
    weights = np.array([member.prior_weight for member in members.values()])
    weights /= weights.sum()
    if folds.n_folds and len(members) > 1:
        weights = combine.stacked(
            list(judged.values()), folds.Y[folds.judged], weights, folds.multilabel, trust
        )
    return dict(zip(members, weights.tolist(), strict=True))


def _scored(
    folds: LabelFolds,
    members: Mapping[str, Model],
    judged: Mapping[str, Floats],
    weights: Mapping[str, float],
) -> list[Score]:
    """Every member with its held-out accuracy, loss and share of the weight, the heaviest first."""
    own, total = folds.Y[folds.judged], sum(weights.values()) or 1.0
    scores = []
    for name, member in members.items():
        right = log_loss = float("nan")
        if folds.n_folds:
            right = point_estimate(is_right(judged[name], own))
            log_loss = combine.loss(judged[name], own, folds.multilabel)
        scores.append(Score(name, member.what, right, log_loss, weights[name] / total))
    return sorted(scores, key=lambda score: -score.weight)


# -- 3. and 4. combine and match ------------------------------------------------------------------


@dataclass(frozen=True)
class LogitPool:
    """How the members' logits become one: fixed by all labels, applied to all nodes and to each fold.

    `matching` says how far the shares of the classes are matched (`MATCHING`), by `enough` nodes.
    """

    multilabel: bool
    weights: Mapping[str, float]
    matching: float | None = None
    enough: int = combine.ENOUGH

    def of(self, logits_by_member: Mapping[str, Floats], Y: Floats) -> Floats:
        """Logits, the shares of the classes matched to those of the labels `Y`."""
        L = combine.pooled(
            list(logits_by_member.values()), np.array([self.weights[name] for name in logits_by_member])
        )
        if self.matching is None:
            return L
        shares, own = _class_shares(Y, self.multilabel), self.matching * Y.shape[1]
        if own:
            found = combine.probabilities(L, self.multilabel).mean(axis=0)
            shares = (len(Y) * shares + own * found) / (len(Y) + own)
        return L + combine.matched(L, shares, self.multilabel, enough=self.enough)

    def held_out(
        self, folds: LabelFolds, held: Mapping[str, Sequence[Floats]], *, honest: bool = False
    ) -> list[Floats]:
        """Logits at `folds.sample` while each fold is held out, from those of each member.

        `honest`: matched to the shares of all labels, as the final answers are. A fold lacks the very classes
        that it is asked about, and matched to its own shares would do worse than the final answers do.
        """
        return [
            self.of(
                {name: tables[fold] for name, tables in held.items()},
                folds.Y if honest else folds.Y[folds.kept(fold)],
            )
            for fold in range(folds.n_folds)
        ]


def _how_far(
    folds: LabelFolds, pool: LogitPool, held: Mapping[str, Sequence[Floats]], picked: bool
) -> float | None:
    """How far to match the shares of the classes to those of the labels: by the loss on held-out labels.

    Labels that were picked cannot tell: they are matched only where the pool says less than their shares.
    """
    own = folds.Y[folds.judged]
    if not len(own):
        return None if picked else 0.0

    def held_out(matching: float | None) -> Floats:
        return folds.held_out(replace(pool, matching=matching, enough=ENOUGH_NODES).held_out(folds, held))

    if picked:
        constant = combine.logits(_class_shares(folds.Y, folds.multilabel), folds.multilabel)
        alone = combine.loss(np.broadcast_to(constant, own.shape), own, folds.multilabel)
        return 0.0 if combine.loss(held_out(None)[folds.judged], own, folds.multilabel) > alone else None

    def cost(matching: float | None) -> float:
        L = held_out(matching)
        scaled = combine.scaled(L, folds.Y, folds.multilabel, folds.judged).of(L)
        return combine.loss(scaled[folds.judged], own, folds.multilabel)

    return min(MATCHING, key=cost)


def _class_shares(Y: Floats, multilabel: bool) -> Floats:
    total = Y.sum(axis=0)
    return np.asarray(total / len(Y) if multilabel else total / total.sum())


def _shares_mean_something(Y: Floats) -> bool:
    """Equally many labels of every class were hardly drawn at random."""
    total = Y.sum(axis=0)
    return bool(total.max() - total.min() > 1)


def reached(problem: Problem) -> Bools:
    """(n,) whether a label comes to a node along edges or shared attributes."""
    from querist.collective.problem import reach

    graph = problem.graph
    if graph.attributes is not None and graph.attributes.nnz:
        return reach(graph.attributes, problem.seeds, graph.components)
    return np.asarray(np.isin(graph.components, graph.components[problem.seeds]))


# -- the reasons in sentences -------------------------------------------------------------------------------


def explained(
    members: Mapping[str, Model],
    scores: Sequence[Score],
    skipped: Sequence[str],
    folds: LabelFolds,
    *,
    asked: bool,
    matching: float | None,
    self_training: Mapping[str, float],
    warnings: Sequence[str],
    place: ChosenDevice,
) -> Choice:
    """The choice in words. `asked`: the user named the method; `self_training`: the weights of its models."""
    words, alone = any(member.uses_attributes for member in members.values()), len(members) == 1
    if asked:
        why = [f"{scores[0].name}, as asked for."]
    elif alone:
        why = [f"{scores[0].what} ({scores[0].name}) is the one method that suits this graph and its size."]
    else:
        sources = "attributes and links" if words else "links alone"
        why = [f"{len(scores)} methods were tried on {sources}.", *_weights_in_words(scores, folds)]
    if matching is not None:
        how = "" if matching == 0 else f", as if {matching:g} more a class had the shares that were found"
        why.append(f"The classes' shares were matched to those of the labels{how}.")
    if self_training:
        weights = " and ".join(f"that of the {name} {w:.2f}" for name, w in self_training.items())
        why.append(
            "One step of self-training on all nodes followed. Its models weigh by held-out labels: "
            f"{weights} (from 0 to 2; 1 where the labels cannot tell)."
        )
    if skipped:
        why.append(f"Left out, since they would take too long on this graph: {', '.join(skipped)}.")
    why += warnings
    if place.why:
        why.append(f"{place.why}.")
    if place.name is not None:
        why.append(f"Rows were smoothed and counts were modelled on {place.name}.")
    method = scores[0].name if alone else "combination of " + ", ".join(s.name for s in heavy(scores))
    return Choice(method, "attributes and links" if words else "links", tuple(why), tuple(scores))


def warnings_of(
    scores: Sequence[Score], classes: Sequence[Any], folds: LabelFolds, estimate: Estimate
) -> list[str]:
    """What the held-out labels say against the answer, or against a model: guessing does no worse."""
    shares, own = _class_shares(folds.Y, folds.multilabel), folds.Y[folds.judged]
    constant = np.broadcast_to(combine.logits(shares, folds.multilabel), own.shape)
    largest = int(shares.argmax())
    log_loss = combine.loss(constant, own, folds.multilabel) if len(own) else float("nan")
    found = []
    if estimate.accuracy <= shares[largest]:
        found.append(
            f"On held-out labels this is no better than calling every node {classes[largest]!r}, the class "
            f"with most labels ({estimate.accuracy:.3f} against {shares[largest]:.3f})."
        )
    worse = [score.name for score in scores if score.log_loss > log_loss]
    if worse:
        found.append(
            "Worse on held-out labels than guessing by the classes' shares "
            f"(log-loss {log_loss:.3f}): {', '.join(worse)}."
        )
    return found


def heavy(scores: Sequence[Score]) -> list[Score]:
    """Those that carry the answer: at least half of an even share."""
    return [score for score in scores if score.weight >= 0.5 / len(scores)]


def _weights_in_words(scores: Sequence[Score], folds: LabelFolds) -> list[str]:
    if not folds.n_folds:
        return ["No label could be held out, so the methods have the weights that they start with."]
    best = min(scores, key=lambda score: score.log_loss)
    right = f"accuracy {best.accuracy:.3f}, " if np.isfinite(best.accuracy) else ""
    carried = ", ".join(f"{score.name} {score.weight:.2f}" for score in heavy(scores))
    return [
        f"Best on held-out labels: {best.what} ({best.name}), {right}"
        f"log-loss {best.log_loss:.3f} ({folds.n_folds}-fold cross-validation, {len(folds.Y)} labels).",
        f"{len(heavy(scores))} of them carry the answer, as a product weighted by held-out labels: "
        f"{carried}.",
    ]

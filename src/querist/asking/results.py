"""What came of a campaign: the accuracy of an audit, numbers, and a few words of HTML.

Answers to questions that the learner chose are a biased sample: it asks where it is unsure. The audit is a
simple random sample of the nodes, drawn before anything else and never learned from, so the share that the
predictions get right is an unbiased estimate (Horvitz-Thompson with equal chances) of their accuracy on nodes
nobody was asked about. The interval is Wilson's, at 95 %.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from querist import display
from querist.asking.answers import indicator, likeliest, named_or_none, sureness
from querist.asking.choosers import Chance, target_scores, tried
from querist.asking.nodes import NodeDescriptions
from querist.labelling.labelling import Labelling
from querist.labels import Code
from querist.stats import wilson
from querist.tables.formats import some
from querist.tables.names import NodeTexts
from querist.types import Floats

if TYPE_CHECKING:
    from querist.asking.campaign import Asking

FEWEST_RANDOM = 20
"""Answers of an audit from which on the accuracy is one number beside its interval."""
AHEAD = (10, 50, 100)
"""Answers to come for which the finds to expect are told."""
LEAST_ANSWERS, LATEST_ANSWERS = 30, 500
"""Fewer answers would leave the expected accuracy off by more than ten points on average; the latest of them
calibrate it."""
MODEL_WEIGHT = 20
"""Random questions that count as much as the model's own estimate of its accuracy."""
LEAST_PULL = 0.005
"""Weight of an answer in a score, whose largest is 1, below which it pulls nowhere."""


@dataclass(frozen=True)
class Audit:
    """`right` of `answered` audit questions were predicted right."""

    right: int
    answered: int

    @property
    def accuracy(self) -> float:
        """Share that is right; NaN with fewer than FEWEST_RANDOM answers, which give an interval alone."""
        return self.right / self.answered if self.answered >= FEWEST_RANDOM else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the accuracy.

        >>> tuple(round(end, 4) for end in Audit(9, 10).interval)
        (0.5958, 0.9821)
        """
        return wilson(self.right, self.answered) if self.answered else (0.0, 1.0)

    def as_dict(self) -> dict[str, Any]:
        """As summaries have it."""
        accuracy = None if np.isnan(self.accuracy) else self.accuracy
        return {"accuracy": accuracy, "interval": list(self.interval), **vars(self)}

    def __str__(self) -> str:
        if not self.answered:
            return "no audit question answered"
        low, high = self.interval
        about = f"95 % interval {low:.1%} to {high:.1%}, {some(self.answered, 'random question')}"
        return f"{self.accuracy:.1%} ({about})" if np.isfinite(self.accuracy) else about


def audited(asking: "Asking") -> Audit | None:
    """How right predictions are on the audit; None where there is none.

    They are made from the other answers and known labels only, so they have not seen what they are judged by.
    """
    if not asking.specification.audit:
        return None
    return measured(asking, asking.state.answers(audit=True), asking.state.answers(audit=False))


def measured(asking: "Asking", sample: Mapping[int, Code], chosen: Mapping[int, Code]) -> Audit:
    """How right the predictions from the `chosen` answers are on a `sample`, both codes by row; a set is
    right where all of it is."""
    if not sample or not (chosen or asking.state.known):
        return Audit(0, 0)
    found, rows = asking.label_from(chosen), list(sample)
    true = indicator(list(sample.values()), len(asking.classes)) > 0
    right = found.reached[rows] & (found.said[rows] == true).all(axis=1)
    return Audit(int(right.sum()), len(sample))


def with_audit(found: Labelling, audit: Audit | None) -> Labelling:
    """The labelling with the accuracy that the audit measured, if its own labels cannot tell it."""
    if audit is None or not audit.answered or np.isfinite(found.estimate.accuracy):
        return found
    how = (
        f"{some(audit.answered, 'random question')} of the audit, labelled from the other answers alone; "
        "Wilson's 95 % interval"
    )
    low, high = audit.interval
    measured = replace(found.estimate, accuracy=audit.accuracy, low=low, high=high, how=how)
    return replace(found, estimate=measured)


@dataclass(frozen=True)
class Finding:
    """How the search for `target` goes: `found` in so many answers, and the `chances` of the likeliest nodes
    that nobody was asked about, falling."""

    target: Hashable
    found: int
    answered: int
    chances: Floats

    def expected(self, count: int) -> float:
        """Finds to expect in the next `count` answers."""
        return float(self.chances[:count].sum())

    def __str__(self) -> str:
        text = f"{self.found} {self.target} found in {some(self.answered, 'answer')}"
        ahead = ", ".join(f"{self.expected(count):.0f} of the next {count}" for count in AHEAD)
        return f"{text}; to expect: {ahead}" if self.chances.size else text


def found(asking: "Asking") -> Finding | None:
    """How the search goes; None where no class is looked for.

    Chances are what the answers so far make of the scores, each predicted before its answer came.
    """
    state, target = asking.state, asking.specification.find
    if target is None:
        return None
    code = asking.classes.index(target)
    answers = state.answers()
    z = target_scores(state.model, code)[state.free]
    chances = Chance.learned(*tried(state.turns, code)).of(-np.sort(-z)[: max(AHEAD)])
    return Finding(target, sum(given == code for given in answers.values()), len(answers), chances)


def neighbours(asking: "Asking", node: Hashable) -> list[tuple[Hashable, Any, bool]]:
    """(neighbour, its label by answer or guess, whether it was answered), the answered first."""
    found = NodeDescriptions(asking.state, asking.state, NodeTexts()).neighbours(asking.graph.row_of[node])
    return [(each["node"], named_or_none(each["label"], asking.classes), each["known"]) for each in found]


@dataclass(frozen=True)
class Pull:
    """An answered or known node that speaks for `label`, by `weight` in the score of that class.

    `adjacent` says that an edge joins it to the node in question.
    """

    node: Hashable
    label: Hashable
    weight: float
    adjacent: bool


def pulls(asking: "Asking", node: Hashable, most: int = 3) -> list[Pull]:
    """What pulls a node to its two likeliest classes: for each the `most` answers that weigh most."""
    graph, model = asking.graph, asking.state.model
    row = graph.row_of[node]
    learned = {**asking.state.known, **asking.state.answers(audit=False)}
    learned.pop(row, None)
    if not learned:
        return []
    rows, near = list(learned), set(graph.adjacency[[row]].indices.tolist())
    weights, has = model.weights(row, rows), indicator(list(learned.values()), len(asking.classes))
    found = list[Pull]()
    for code in np.argsort(-model.beliefs[row], kind="stable")[:2].tolist():
        own = np.flatnonzero((has[:, code] > 0) & (weights > LEAST_PULL))
        found += [
            Pull(graph.nodes[rows[k]], asking.classes[code], float(weights[k]), rows[k] in near)
            for k in own[np.argsort(-weights[own], kind="stable")][:most].tolist()
        ]
    return found


def expected_accuracy(asking: "Asking") -> float | None:
    """The share of nodes that the model would label right now; None without an audit, which corrects it, in
    a search for one class, and with fewer than LEAST_ANSWERS.

    Nodes with an answer count as right, nodes that no answer reaches as wrong. For the others it is the mean
    probability of the model, calibrated by its answers, moved towards the share of the audit answers that it
    gets right. This is an estimate; only the audit measures.
    """
    state, model, spec = asking.state, asking.state.model, asking.specification
    targets = dict(list(state.targets().items())[-LATEST_ANSWERS:])
    if not spec.audit or spec.find is not None or len(targets) < LEAST_ANSWERS:
        return None
    p = model.calibrated(list(targets), np.array(list(targets.values())))
    right = np.where(model.reached, sureness(p, model.multilabel), 0.0)
    answered = {**state.known, **state.answers()}
    free = np.ones(right.size, dtype=bool)
    free[list(answered)] = False
    audit = state.answers(audit=True)
    hits = sum(right[row] > 0 and likeliest(p[row], model.multilabel) == code for row, code in audit.items())
    thought = float(right[free].mean()) if free.any() else 1.0
    expected = (MODEL_WEIGHT * thought + hits) / (MODEL_WEIGHT + len(audit))
    return float(1 - (1 - expected) * free.mean())


def summary(asking: "Asking") -> dict[str, Any]:
    """What happened, in numbers."""
    search, audit, turns = found(asking), audited(asking), asking.state.turns
    return {
        "nodes": asking.graph.n_nodes,
        "classes": list(asking.classes),
        "multilabel": asking.multilabel,
        "strategy": asking.specification.strategy,
        "known": len(asking.state.known),
        "asked": asking.asked,
        "answers": len(asking.state.answers()),
        "unsure": sum(turn.outcome == "unsure" for turn in turns),
        "skipped": sum(turn.outcome == "skip" for turn in turns),
        "budget": asking.budget,
        "stopped": asking.stopped,
        "places": asking.places,
        "finding": None
        if search is None
        else {
            "class": search.target,
            "found": search.found,
            "expected": {str(count): search.expected(count) for count in AHEAD},
        },
        "people": [person.as_dict() for person in asking.people],
        "audit": None if audit is None else audit.as_dict(),
    }


def in_words(asking: "Asking") -> str:
    """One line."""
    audit = audited(asking)
    known = len(asking.state.known)
    parts = [
        f"{some(len(asking.state.answers()), 'answer')} about {some(asking.graph.n_nodes, 'node')}",
        *([f"{some(known, 'label')} known before"] if known else []),
        f"{len(asking.classes)} classes, chosen by {asking.specification.strategy}",
        *([] if asking.stopped is None else [asking.stopped]),
        *([] if audit is None else [f"accuracy {audit}"]),
        *([] if asking.finding is None else [str(asking.finding)]),
    ]
    return f"<Asking {'; '.join(parts)}>"


def as_html(asking: "Asking") -> str:
    """For a notebook: the line, the open question, and the labels so far."""
    parts = [display.as_html(in_words(asking)[1:-1].removeprefix("Asking "))]
    parts += [asking.shown(turn)._repr_html_() for turn in asking.state.turns.opens[:1]]
    if asking.state.answers() or asking.state.known:
        found = asking.labelling
        parts += [found._repr_html_(), found.estimate._repr_html_()]
    return "".join(parts)

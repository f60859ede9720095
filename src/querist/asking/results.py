"""What came of a campaign: the accuracy of an audit, numbers, and a few words of HTML.

Answers to questions that the learner chose are a biased sample: it asks where it is unsure. The audit is a
simple random sample of the nodes, drawn before anything else and never learned from, so the share that the
predictions get right is an unbiased estimate (Horvitz-Thompson with equal chances) of their accuracy on nodes
nobody was asked about. The interval is Wilson's, at 95 %.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from querist import display
from querist.asking.answers import Code, as_code, indicator, likeliest, named, sureness
from querist.asking.choosers import tried
from querist.asking.finding import Chance, target_scores
from querist.asking.specification import RANDOM
from querist.stats import wilson
from querist.tables.formats import some
from querist.types import Floats

if TYPE_CHECKING:
    from querist.asking.campaign import Asking

AHEAD = (10, 50, 100)
"""Answers to come for which the finds to expect are told."""
LEAST_PULL = 0.005
"""Weight of an answer in a score, whose largest is 1, below which it pulls nowhere."""

BIASED = (
    "The questions were chosen where the learner was unsure, a biased sample: the expected accuracy is that "
    "of such nodes, not of all. An audit measures it."
)


@dataclass(frozen=True)
class Audit:
    """`right` of `answered` audit questions were predicted right."""

    right: int
    answered: int

    @property
    def accuracy(self) -> float:
        """Share that is right; NaN without an answer."""
        return self.right / self.answered if self.answered else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval for the accuracy.

        >>> tuple(round(end, 4) for end in Audit(9, 10).interval)
        (0.5958, 0.9821)
        """
        return wilson(self.right, self.answered) if self.answered else (0.0, 1.0)

    def __str__(self) -> str:
        if not self.answered:
            return "no audit question answered"
        low, high = self.interval
        return (
            f"{self.accuracy:.1%} (95 % interval {low:.1%} to {high:.1%}, {self.answered} random questions)"
        )


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
    predicted = asking.label_from(chosen).labels
    right = sum(predicted[row] == named(code, asking.classes) for row, code in sample.items())
    return Audit(right, len(sample))


def guessed_right(asking: "Asking") -> tuple[int, int]:
    """How many of the learner's own questions it had guessed right, and of how many it had a guess for.

    A biased sample: it asks where it is unsure. For an accuracy there is the audit.
    """
    guessed = (t for t in asking.state.turns if t.about.get("guess") is not None)
    turns = [t for t in guessed if t.outcome == "answer" and not t.audit]
    return sum(as_code(turn.about["guess"]) == turn.code for turn in turns), len(turns)


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
    """(neighbour, its label by answer or guess, whether it was answered), the heaviest edges first."""
    graph, classes, model = asking.graph, asking.classes, asking.state.model
    row, S = graph.row_of[node], graph.adjacency
    part = slice(S.indptr[row], S.indptr[row + 1])
    near = S.indices[part][np.argsort(-np.abs(S.data[part]), kind="stable")].tolist()
    answered = {**asking.state.known, **asking.state.answers()}
    p, reached = model.beliefs_at(near)
    guesses = [
        likeliest(own, model.several) if there else None for own, there in zip(p, reached, strict=True)
    ]
    codes = [answered.get(other, guess) for other, guess in zip(near, guesses, strict=True)]
    return [
        (graph.nodes[other], None if code is None else named(code, classes), other in answered)
        for other, code in zip(near, codes, strict=True)
    ]


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
    """The share of nodes that would be labelled right now, by the model's own beliefs; None before an answer.

    Nodes whose answer is there count as right, those that no answer reaches as wrong. It is what the model
    thinks, not a measurement: for that there is the audit.
    """
    model, answered = asking.state.model, {**asking.state.known, **asking.state.answers()}
    if not answered:
        return None
    right = np.where(model.reached, sureness(model.beliefs, model.several), 0.0)
    right[list(answered)] = 1.0
    return float(right.mean())


def summary(asking: "Asking") -> dict[str, Any]:
    """What happened, in numbers."""
    right, of = guessed_right(asking)
    search = found(asking)
    audit, turns, seconds = audited(asking), asking.state.turns, asking.seconds
    return {
        "nodes": asking.graph.n_nodes,
        "classes": list(asking.classes),
        "multilabel": asking.multilabel,
        "choose": asking.specification.choose,
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
        "people": [
            {"person": p.name, "answers": p.votes, "accuracy": p.accuracy, "interval": list(p.interval)}
            for p in asking.people
        ],
        "guessed_right": {"right": right, "of": of, "biased": True},
        "audit": None
        if audit is None
        else {
            "accuracy": audit.accuracy,
            "interval": list(audit.interval),
            "right": audit.right,
            "answered": audit.answered,
        },
        "seconds_per_question": {
            "mean": sum(seconds) / len(seconds) if seconds else None,
            "max": max(seconds, default=None),
        },
    }


def in_words(asking: "Asking") -> str:
    """One line."""
    audit = audited(asking)
    known = len(asking.state.known)
    parts = [
        f"{some(len(asking.state.answers()), 'answer')} about {some(asking.graph.n_nodes, 'node')}",
        *([f"{some(known, 'label')} known before"] if known else []),
        f"{len(asking.classes)} classes, chosen by {asking.specification.choose}",
        *([] if asking.stopped is None else [asking.stopped]),
        *([] if audit is None else [f"accuracy {audit}"]),
        *([] if asking.finding is None else [str(asking.finding)]),
    ]
    return f"<Asking {'; '.join(parts)}>"


def as_html(asking: "Asking") -> str:
    """For a notebook: the line, the open question, and the labels so far."""
    parts = [display.as_html(in_words(asking)[1:-1].removeprefix("Asking "))]
    if asking.state.open is not None:
        parts.append(asking.shown(asking.state.open)._repr_html_())
    if asking.state.answers() or asking.state.known:
        parts.append(asking.labelling._repr_html_())
    if asking.state.answers() and asking.specification.choose != RANDOM:
        parts.append(display.as_html(BIASED))
    return "".join(parts)

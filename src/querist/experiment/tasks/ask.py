"""Campaigns of questions: `querist.ask` by any query strategy, beside random asking, as often.

The parameters are options of a campaign (`strategy`, `budget`, `stop`); the method is that of `querist.label`
which makes the final labels.

Numbers, after the last answer: accuracy of the quick learner on nodes that nobody was asked about;
whole_accuracy, that of all nodes with answers among them; mean_accuracy, the mean of the accuracy over the
answers; with `protocol.marks` also final_accuracy, of the labels that `querist.label` makes of the answers;
answers, seconds (for choosing and learning). Those of the control begin with `control_`. Curves: `answer`
with accuracy and whole_accuracy after each, `mark` with final_accuracy.

In repeat r of a seed the first `protocol.start` nodes of its shuffle are known before any question, to both:
the strategies draw nothing themselves, and would ask the same in every repeat. A node whose label the
data do not have is skipped.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from querist.asking.campaign import ask
from querist.asking.model import RANKS
from querist.asking.options import CampaignOptions
from querist.asking.specification import RANDOM, resolve_strategy
from querist.errors import InputError
from querist.experiment.results import CONTROL, Outcome
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.collective import COLLECTIVE
from querist.experiment.tasks.common import (
    checked,
    checked_method,
    complete,
    try_out,
    warm_up,
)
from querist.experiment.tasks.online import EmbeddedGraph, check_answers, learner_seed, shuffled
from querist.labelling.options import methods
from querist.labelling.rows import quick_rows
from querist.types import Codes

APART = tuple(name for name in CampaignOptions.declared() if name not in CampaignOptions.on("experiment"))
"""Options of a campaign that an experiment does not set."""


def protocol(*, start: int = 1, marks: tuple[int, ...] = ()) -> None:
    """Nodes known before; answers after which final labels are made."""


def _campaign(spec: Specification, choice: Mapping[str, Any]) -> CampaignOptions:
    """The options of a campaign with these parameters beside those of the specification."""
    return CampaignOptions(
        **checked({**spec.parameters, **choice}, CampaignOptions, "parameters", APART),
        method=spec.method or "auto",
    )


class AskTask:
    """See the module."""

    name = "ask"
    _own = ("accuracy", "whole_accuracy", "mean_accuracy", "final_accuracy", "answers", "seconds")
    measures = (*_own, *(CONTROL + name for name in _own))
    shown: tuple[str, ...] = ("accuracy", "final_accuracy", "mean_accuracy", "answers", "seconds")
    tuned_by = "accuracy"
    on_disk = True

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """All, or those without marks."""
        marks = complete(spec, "protocol", protocol)["marks"]
        return tuple(name for name in self.measures if marks or not name.endswith("final_accuracy"))

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the data have labels to answer with."""
        checked_method(spec, dict.fromkeys(("", *methods()), CampaignOptions), APART)
        how = complete(spec, "protocol", protocol)
        graph = COLLECTIVE.prepare(spec)
        with blame("dataset"):
            check_answers(graph)
        known = graph.labelled.size

        def possible(**given: Any) -> None:
            own = CampaignOptions(**given)
            resolve_strategy(own.strategy)
            if not 1 <= own.budget <= known:
                raise InputError(
                    f"budget = {own.budget}; {graph.name} has {known:,} labelled nodes: give 1 to {known:,}"
                )

        try_out(spec, CampaignOptions, possible, APART)
        if not 0 <= how["start"] < known:
            raise SpecificationError(
                f"start = {how['start']}; {graph.name} has {known:,} labelled nodes: give 0 to {known - 1:,}",
                ("protocol", "start"),
            )
        budget = min(_campaign(spec, choice).budget for choice in spec.choices)
        with blame("protocol", "marks"):
            if list(how["marks"]) != sorted({*how["marks"]} & {*range(1, budget + 1)}):
                raise InputError(
                    f"marks = {list(how['marks'])}; give rising numbers of answers, from 1 to {budget}"
                )

    def prepare(self, spec: Specification, progress: Any = None) -> EmbeddedGraph:
        """The graph; the quick learner's rows, which the disk keeps for every campaign."""
        graph = COLLECTIVE.prepare(spec)
        bare = graph.without_labels()
        place = EmbeddedGraph(graph, bare, lambda: quick_rows(bare, max(RANKS), progress=progress), False)
        assert place.rows is not None
        return place

    def run(
        self,
        spec: Specification,
        prepared: EmbeddedGraph,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
    ) -> Outcome:
        """One campaign, and its control from the same start."""
        how = complete(spec, "protocol", protocol)
        given = _campaign(spec, parameters)
        strategy = resolve_strategy(given.strategy, graph=prepared.bare)
        options = replace(given, strategy=strategy, seed=learner_seed(seed, repeat))
        first = shuffled(prepared.graph.codes, seed, repeat)[: how["start"]].tolist()
        play = partial(_played, prepared, first, options.budget)
        warm_up(prepared.warm, strategy, lambda: play((), replace(options, budget=1)))
        numbers, curves = play(how["marks"], options)
        at_random = replace(options, strategy=RANDOM, budget=round(numbers["answers"]), stop=None)
        theirs, drawn = play(how["marks"], at_random)
        numbers |= {CONTROL + name: value for name, value in theirs.items()}
        curves |= {CONTROL + name: line for name, line in drawn.items() if name not in ("answer", "mark")}
        return Outcome(numbers, curves)


def _played(
    place: EmbeddedGraph, first: list[int], points: int, marks: tuple[int, ...], options: CampaignOptions
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Numbers and curves of one campaign; the curves have `points` points."""
    graph = place.graph
    codes, labels = graph.codes, graph.labels
    known = graph.known.only(np.isin(np.arange(graph.n_nodes), first)) if graph.known and first else None
    started, labelling = time.perf_counter(), 0.0
    asking = ask(place.bare, classes=graph.classes, labels=known, options=options)
    free = codes >= 0
    free[first] = False

    def right(guesses: Codes) -> float:
        """The share of right guesses on nodes nobody was asked about; 1 if there are none."""
        return float((guesses == codes)[free].mean()) if free.any() else 1.0

    accuracy, whole, final = list[float](), list[float](), list[float]()
    while (question := asking.question) is not None:
        if labels[question.row] is None:
            asking.skip()
            continue
        asking.answer(labels[question.row])
        free[question.row] = False
        model = asking.state.model
        guesses = np.where(model.reached, model.scores.argmax(axis=1), -1)
        accuracy.append(right(guesses))
        whole.append(float((~free | (guesses == codes))[codes >= 0].mean()))
        if len(accuracy) in marks:
            before = time.perf_counter()
            final.append(right(asking.labelling.codes))
            labelling += time.perf_counter() - before
    seconds = time.perf_counter() - started - labelling
    answers = len(accuracy)
    if not answers:
        raise InputError(
            f"{options.strategy} asked nothing on {graph.name}; give it more labels at the start"
        )
    if len(final) < len(marks):  # it stopped before: what it had then is what it has
        final += [right(asking.labelling.codes)] * (len(marks) - len(final))
    missing = points - answers
    curves = {
        "answer": list(np.arange(1.0, points + 1)),
        "accuracy": accuracy + accuracy[-1:] * missing,
        "whole_accuracy": whole + whole[-1:] * missing,
    }
    numbers = {
        "accuracy": accuracy[-1],
        "whole_accuracy": whole[-1],
        "mean_accuracy": float(np.mean(curves["accuracy"])),
        "answers": float(answers),
        "seconds": seconds,
    }
    if marks:
        numbers["final_accuracy"] = final[-1]
        curves |= {"mark": [float(mark) for mark in marks], "final_accuracy": final}
    return numbers, curves


ASK = register(AskTask())

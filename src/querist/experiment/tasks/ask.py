"""Campaigns of questions: `querist.ask` by any way to choose, beside random asking, as often.

Numbers, after the last answer: accuracy of the quick learner on nodes that nobody was asked about;
whole_accuracy, that of all nodes with answers among them; mean_accuracy, the mean of the accuracy over the
answers; with `protocol.marks` also final_accuracy, of the labels that `querist.label` makes of the answers;
answers, seconds (for choosing and learning). Those of the control begin with `control_`. Curves: `answer`
with accuracy and whole_accuracy after each, `mark` with final_accuracy.

In repeat r of a seed the first `protocol.start` nodes of its shuffle are known before any question, to both:
the rules of the pool draw nothing themselves, and would ask the same in every repeat. A node whose label the
data do not have is skipped.
"""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.asking.asking import ask
from querist.asking.model import RANKS
from querist.asking.specification import RANDOM, way_to_choose
from querist.collective.catalogue import CLASSIFIERS
from querist.errors import InputError, check_name
from querist.experiment.results import CONTROL, Outcome
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.collective import representation
from querist.experiment.tasks.common import checked, complete, graph_for, settings, warm_up
from querist.experiment.tasks.online import EmbeddedGraph, check_answers, learner_seed, shuffled
from querist.labelling.members import MEMBERS
from querist.labelling.rows import quick_rows
from querist.types import Bools, Codes


def protocol(
    *, budget: int = 100, start: int = 1, marks: tuple[int, ...] = (), final: str = "auto"
) -> dict[str, Any]:
    """Answers in all; nodes known before; answers after which final labels are made, and by which method."""
    return dict(locals())


def _no_parameters() -> None:
    """A way to choose goes by its name alone."""


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
        with blame("method"):
            way_to_choose(spec.method)
        for table in ("parameters", "grid"):
            checked(getattr(spec, table), _no_parameters, table)
        how = complete(spec, "protocol", protocol)
        with blame("protocol", "final"):
            check_name("method", how["final"], ("auto", *MEMBERS, *CLASSIFIERS))
        graph = graph_for(spec, settings(spec, "representation", representation))
        with blame("dataset"):
            check_answers(graph)
        for name, least, most in (("budget", 1, graph.labelled.size), ("start", 0, graph.labelled.size - 1)):
            if not least <= how[name] <= most:
                raise SpecificationError(
                    f"{name} = {how[name]}; {graph.name} has {graph.labelled.size:,} labelled nodes: give "
                    f"{least} to {most:,}",
                    ("protocol", name),
                )
        with blame("protocol", "marks"):
            if list(how["marks"]) != sorted({*how["marks"]} & {*range(1, how["budget"] + 1)}):
                raise InputError(
                    f"marks = {list(how['marks'])}; give rising numbers of answers, from 1 to {how['budget']}"
                )

    def prepare(self, spec: Specification, progress: Any = None) -> EmbeddedGraph:
        """The graph; the quick learner's rows, which the disk keeps for every campaign."""
        graph = graph_for(spec, settings(spec, "representation", representation))
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
        own = _Campaign(prepared, how, seed, repeat)
        choose = way_to_choose(spec.method, graph=prepared.bare)
        first = _Campaign(prepared, {**how, "budget": 1, "marks": ()}, seed, repeat)
        warm_up(prepared.warm, spec.method, lambda: first.played(choose, 1))
        numbers, curves = own.played(choose, how["budget"])
        theirs, drawn = own.played(RANDOM, round(numbers["answers"]))
        numbers |= {CONTROL + name: value for name, value in theirs.items()}
        curves |= {CONTROL + name: line for name, line in drawn.items() if name not in ("answer", "mark")}
        return Outcome(numbers, curves)


class _Campaign:
    """All that a way to choose and its control share."""

    def __init__(self, place: EmbeddedGraph, how: Mapping[str, Any], seed: int, repeat: int) -> None:
        graph = place.graph
        self.graph, self.bare, self.how = graph, place.bare, how
        self.seed, self.codes = learner_seed(seed, repeat), graph.codes
        first = shuffled(graph.codes, seed, repeat)[: how["start"]].tolist()
        self.known = {graph.nodes[row]: graph.labels[row] for row in first}
        self.first = first

    def played(self, choose: str, budget: int) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Numbers and curves of one campaign."""
        labels, how = self.graph.labels, self.how
        started, labelling = time.perf_counter(), 0.0
        asking = ask(
            self.bare,
            budget=budget,
            classes=self.graph.classes,
            labels=self.known or None,
            choose=choose,
            method=how["final"],
            seed=self.seed,
            prefetch=False,
        )
        free = self.codes >= 0
        free[self.first] = False
        accuracy, whole, final = [], [], []
        while (question := asking.question) is not None:
            if labels[question.row] is None:
                asking.skip()
                continue
            asking.answer(labels[question.row])
            free[question.row] = False
            model = asking.state.model
            guesses = np.where(model.reached, model.scores.argmax(axis=1), -1)
            accuracy.append(self._right(guesses, free))
            whole.append(float((~free | (guesses == self.codes))[self.codes >= 0].mean()))
            if len(accuracy) in how["marks"]:
                before = time.perf_counter()
                final.append(self._right(self._final(asking), free))
                labelling += time.perf_counter() - before
        seconds = time.perf_counter() - started - labelling
        answers = len(accuracy)
        if not answers:
            raise InputError(f"{choose} asked nothing on {self.graph.name}; give it more labels at the start")
        if len(final) < len(how["marks"]):  # it stopped before: what it had then is what it has
            final += [self._right(self._final(asking), free)] * (len(how["marks"]) - len(final))
        missing = how["budget"] - answers
        curves = {
            "answer": list(np.arange(1.0, how["budget"] + 1)),
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
        if how["marks"]:
            numbers["final_accuracy"] = final[-1]
            curves |= {"mark": [float(mark) for mark in how["marks"]], "final_accuracy": final}
        return numbers, curves

    def _right(self, guesses: Codes, free: Bools) -> float:
        """The share of right guesses on nodes nobody was asked about; 1 where there is none."""
        return float((guesses == self.codes)[free].mean()) if free.any() else 1.0

    def _final(self, asking: Any) -> Codes:
        """(n,) codes of the labels made of all answers, -1 where not reached."""
        code = {name: k for k, name in enumerate(self.graph.classes)}
        return np.array([code.get(name, -1) for name in asking.labels])


ASK = register(AskTask())

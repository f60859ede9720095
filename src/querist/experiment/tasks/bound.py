"""One run of an online learner, and the bounds that the papers prove for it.

Numbers: mistakes, questions, rounds, and violations: how many bounds the run broke although every assumption
holds. Details: the bounds with all their terms (`querist.theory`), and the learner's notes.
"""

from collections.abc import Mapping
from typing import Any

from querist.errors import check_name
from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import checked, settings
from querist.experiment.tasks.online import APART, EmbeddedGraph, Online, learner_seed, shuffled
from querist.online.catalogue import ALGORITHMS
from querist.parameters import effective
from querist.theory import bounds_of
from querist.theory.runs import BOUNDED


def protocol() -> dict[str, Any]:
    """Nothing to set: every labelled node comes once, in one random order."""
    return {}


class BoundTask(Online):
    """See the module."""

    name = "bound"
    measures = ("mistakes", "questions", "rounds", "violations")
    shown = measures
    tuned_by = "mistakes"
    in_tuning: Mapping[str, Any] = {}

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """There is no control: a bound is about the learner alone."""
        return self.measures

    def check(self, spec: Specification) -> None:
        """As online; and there must be a bound."""
        with blame("method"):
            check_name("algorithm with a bound", spec.method, BOUNDED)
        settings(spec, "protocol", protocol)
        super().check(spec)

    def prepare(self, spec: Specification, progress: Any = None) -> EmbeddedGraph:
        """The graph; embedded only if a learner stands on rows."""
        return self.placed(spec, progress)

    def run(
        self,
        spec: Specification,
        prepared: EmbeddedGraph,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
    ) -> Outcome:
        """One shuffle."""
        graph, factory, where = prepared.graph, ALGORITHMS[spec.method], prepared.of(spec.method)
        own = checked(parameters, factory, "parameters", APART)
        learner = factory(where, graph.n_classes, seed=learner_seed(seed, repeat), **own).by_row()
        trace = learner.run(shuffled(graph.codes, seed, repeat), graph.codes)
        full = effective(factory, own, APART)
        bounds = bounds_of(spec.method, where, trace, graph.codes, graph.n_classes, full)
        return Outcome(
            {
                "mistakes": float(trace.mistaken.sum()),
                "questions": float(trace.questions),
                "rounds": float(len(trace)),
                "violations": float(sum(bound.applies and not bound.respected for bound in bounds)),
            },
            details={"bounds": [bound.as_dict() for bound in bounds], "notes": list(learner.notes)},
        )


BOUND = register(BoundTask())

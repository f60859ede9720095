"""One run of an online learner, and the bounds that the papers prove for it.

Numbers: mistakes, questions, rounds, and violations: how many bounds the run broke although every assumption
holds. Details: the bounds with all their terms (`querist_papers.theory`), and the learner's notes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from querist import ALGORITHMS, InputError, UnknownNameError, from_points
from querist.experiment import OnlineTask, Outcome, Specification, blame
from querist_papers.theory import bounds_of, pounce08
from querist_papers.theory.covers import distances
from querist_papers.theory.runs import BOUNDED

PERCEPTRON = "perceptron"
"""The perceptron of pounce08, eq. 4, which is `gpa` on rows of its kernel."""


def protocol(*, points: bool = False) -> dict[str, Any]:
    """Every labelled node comes once, in one random order.

    `points` joins the rows of the attributes by `exp(-a d)`, with an a for which Theorem 8 of pounce08 holds.
    """
    return dict(locals())


class BoundTask(OnlineTask):
    """See the module."""

    name = "bound"
    measures = ("mistakes", "questions", "rounds", "violations")
    shown = measures
    tuned_by = "mistakes"
    in_tuning: Mapping[str, Any] = {}
    protocol = staticmethod(protocol)

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """There is no control."""
        return self.measures

    def check(self, spec: Specification) -> None:
        """As online; and there must be a bound."""
        with blame("method"):
            if spec.method not in BOUNDED:
                raise UnknownNameError.of("algorithm with a bound", spec.method, BOUNDED)
        if spec.protocol.get("points") and spec.method != "pounce":
            raise InputError(f"Theorem 8 is about pounce, not about {spec.method}; leave the points out")
        super().check(replace(spec, method="gpa") if spec.method == PERCEPTRON else spec)

    def prepare(self, spec: Specification, progress: Any = None) -> Any:
        """The graph; embedded only if a learner stands on rows."""
        placed = self.placed(spec, progress)
        if not spec.protocol.get("points"):
            return placed, None
        known = placed.graph
        if known.attributes is None:
            raise InputError(f"{known.name} has no attributes, which are the points of Theorem 8")
        distance = distances(known.attributes.toarray())
        a = 1.01 * pounce08.scale_needed(distance, known.codes)
        graph = from_points(known.attributes, kind="exponential", a=a, labels=known.labels)
        return replace(placed, graph=graph, bare=graph.without_labels()), (distance, a)

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One shuffle."""
        (placed, points), method = prepared, spec.method
        graph = placed.graph
        if method == PERCEPTRON:
            place, full = placed.bare, {}
            rows = pounce08.perceptron_rows(graph)
            learner = ALGORITHMS["gpa"](rows, graph.n_classes, scheme="one-vs-rest").by_row()
        else:
            place, full = placed.of(method), self.all_parameters(method, parameters)
            learner = self.learner(placed, method, parameters, seed, repeat)
        trace = learner.run(self.order(placed, seed, repeat), graph.codes)
        if points is None:
            bounds = bounds_of(method, place, trace, graph.codes, graph.n_classes, full)
        else:  # the weights are too far apart for the energies of Theorem 2
            distance, a = points
            bounds = [pounce08.theorem_8(distance, graph.codes, float(trace.mistaken.sum()), a)]
        return Outcome(
            {
                "mistakes": float(trace.mistaken.sum()),
                "questions": float(trace.questions),
                "rounds": float(len(trace)),
                "violations": float(sum(bound.applies and not bound.respected for bound in bounds)),
            },
            details={
                "bounds": [bound.as_dict() for bound in bounds],
                "notes": list(learner.notes),
                "parameters": full,
            },
        )


BOUND = BoundTask()
"""The task of the name `bound`."""

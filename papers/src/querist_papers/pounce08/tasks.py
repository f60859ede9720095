"""Runs of pounce08, by the names its items have for them: a learner in a world, or on a real graph."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from querist import Graph, InputError
from querist.experiment import OnlineTask, Outcome, Result, Specification
from querist.online import ALGORITHMS
from querist_papers.item import Cell, Paper, Statement
from querist_papers.pounce08.worlds import WORLDS, World
from querist_papers.tasks import PaperTask
from querist_papers.theory import minimiser, pounce08, relaxed_energy
from querist_papers.theory.covers import distances
from querist_papers.types import Bools, Codes, Floats

PAPER = Paper(
    "pounce08",
    "Herbster, Exploiting Cluster-Structure to Predict the Labeling of a Graph (ALT 2008).",
    own=frozenset({"POUNCE"}),
    prose=Path(__file__).with_name("report.md"),
)
RIVALS: dict[str, dict[str, Any]] = {
    "POUNCE": {"method": "pounce"},
    "perceptron": {"method": "perceptron"},
    "halving": {"method": "halving"},
    "nearest by resistance": {"method": "nearest", "parameters": {"distance": "resistance"}},
    "nearest by path": {"method": "nearest", "parameters": {"distance": "geodesic"}},
    "nearest, no preview": {"method": "nearest", "parameters": {"distance": "points"}},
}
LOOKS = tuple(RIVALS)
"""The learners, in the order of their looks."""


def case(name: str, world: str, repeats: int = 20, **protocol: Any) -> Specification:
    """A learner in a world."""
    return Specification(
        "pounce08.worlds", protocol={"world": world, **protocol}, repeats=repeats, **RIVALS[name]
    )


def counted(result: Result, measure: str = "mistakes", digits: int = 1) -> Cell:
    """Mean and deviation of a count."""
    return Cell.of(result, measure, digits)


def largest(result: Result, measure: str = "mistakes") -> float:
    """Over the runs."""
    return float(result.values(measure).max())


def stated(item: str, name: str, says: str, lines: Iterable[Result]) -> Statement:
    """A statement that bounds the mistakes of each of these runs."""
    return Statement(PAPER, item, name, says, np.concatenate([run.values("violations") for run in lines]) > 0)


class Worlds(PaperTask):
    """One learner in one world, drawn from (seed, repeat): every method meets the same.

    protocol : `world` and its settings; `bound` (a name in BOUNDS) where one is wanted; `picture` for the
        points as curves
    parameters : of nearest: `distance` ("resistance", "geodesic", or "points": no graph, no preview)
    """

    name = "pounce08.worlds"
    measures = ("mistakes", "rounds", "nodes", "bound", "violations", "components", "balls")

    def run(
        self, spec: Specification, prepared: None, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Draw the world and play it."""
        own = {k: v for k, v in spec.protocol.items() if k not in ("world", "bound", "picture")}
        world = WORLDS[str(spec.protocol["world"])](np.random.default_rng((seed, repeat)), **own)
        wrong = _mistaken(world, spec.method, parameters)
        numbers = {
            "mistakes": float(wrong.sum()),
            "rounds": float(world.order.size),
            "nodes": float(world.graph.n_nodes),
        }
        if spec.protocol.get("bound"):
            numbers |= BOUNDS[str(spec.protocol["bound"])](world, wrong)
            numbers["violations"] = float(numbers["mistakes"] > numbers.get("bound", np.inf) * (1 + 1e-9))
        if not spec.protocol.get("picture"):
            return Outcome(numbers)
        x, y = _points(world).T
        picture = {"x": x, "y": y, "label": world.labels.astype(float)}
        return Outcome(numbers, {name: values.tolist() for name, values in picture.items()})


def _mistaken(world: World, method: str, parameters: Mapping[str, Any]) -> Bools:
    """(rounds,) where the learner was wrong."""
    if method == "halving":
        return pounce08.halving_on_line(world.order, world.labels)
    if method == "perceptron":
        learner = ALGORITHMS["gpa"](pounce08.perceptron_rows(world.graph), 2, scheme="one-vs-rest")
    else:
        where = _points(world) if parameters.get("distance") == "points" else world.graph
        learner = ALGORITHMS[method](where, 2, **parameters)
    return learner.by_row().run(world.order, world.labels).mistaken


def _points(world: World) -> Floats:
    if world.points is None:
        raise InputError(f"{world.graph.name} is not made of points; choose a world that is, as moons")
    return world.points


# -- bounds ----------------------------------------------------------------------


def _run(world: World, wrong: Bools) -> tuple[Graph, Codes, Codes, Bools]:
    """What the bounds of a binary problem take."""
    return world.graph, world.order, 2 * world.labels[world.order] - 1, wrong


def _theorem_8(world: World, wrong: Bools) -> dict[str, float]:
    distance = distances(_points(world))
    found = pounce08.theorem_8(distance, world.labels, float(wrong.sum()), world.scale)
    return {
        "bound": found.value,
        "components": found.terms["component separating-cover number"],
        "balls": found.terms["separating-cover number"],
    }


def _theorem_5(world: World, wrong: Bools) -> dict[str, float]:
    """The least energy that agrees with the labels at the mistakes, and with labels or more."""
    nodes = np.unique(world.order[wrong])
    signs = 2 * world.labels[nodes] - 1
    _, fixed = minimiser(world.graph, nodes, signs.astype(np.float64))
    relaxed = relaxed_energy(world.graph, nodes, signs)
    return {"fixed": fixed, "relaxed": relaxed, "apart": abs(fixed - relaxed) / max(1.0, fixed)}


BOUNDS: dict[str, Callable[[World, Bools], dict[str, float]]] = {
    "theorem 2": lambda world, wrong: {"bound": pounce08.theorem_2(*_run(world, wrong)).value},
    "theorem 2 on the line": lambda world, wrong: {"bound": pounce08.theorem_2_on_line(world.graph.n_nodes)},
    "theorem 5": _theorem_5,
    "theorem 8": _theorem_8,
    "section 5": lambda world, wrong: {
        "bound": pounce08.nearest_neighbour(distances(_points(world)), world.labels, wrong.sum()).value
    },
    "equation 4": lambda world, wrong: {"bound": pounce08.equation_4(*_run(world, wrong)).value},
    "every order": lambda world, wrong: {"bound": float(pounce08.most_mistakes_on_line(world.graph.n_nodes))},
    "halving": lambda world, wrong: {"bound": float(np.log2(2 * world.graph.n_nodes))},
}
"""What stands above the mistakes of a run, by name."""

# -- real graphs -----------------------------------------------------------------


class Nodes(OnlineTask):
    """POUNCE and nearest neighbour on shuffles of a graph.

    `error_rate` is the average over the binary problems where the learner has them, `class_error` the share
    of nodes whose class is wrong: the same for a learner without binary problems.
    """

    name = "pounce08.nodes"
    measures = ("error_rate", "class_error")

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One shuffle."""
        learner = self.learner(prepared, spec.method, parameters, seed, repeat)
        trace = learner.run(self.order(prepared, seed, repeat), prepared.graph.codes)
        return Outcome({"error_rate": trace.error_rate, "class_error": float(trace.mistaken.mean())})

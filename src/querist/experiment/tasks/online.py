"""Online learners on shuffles of a graph: predict, maybe ask, maybe learn.

Numbers: error_rate, queries, updates, rounds, seconds; with the control also control_error_rate,
control_queries and control_updates: random asking in the same shuffle, exactly as often, by the same kind of
learner. Curves, where `protocol.curve` points are asked for: `round`, `error_rate` and `queries` up to it,
and the control's.

In the one-vs-rest scheme all are averages over the binary problems.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from querist.embedding.kinds import with_options
from querist.errors import InputError
from querist.experiment import tuning
from querist.experiment.results import CONTROL, Outcome
from querist.experiment.specification import Specification, SpecificationError, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.common import (
    checked,
    checked_method,
    complete,
    few_points,
    graph_for,
    running_mean,
    settings,
    try_out,
)
from querist.graph import Graph
from querist.online.catalogue import ALGORITHMS, Factory
from querist.online.experiment import control_parameters, shuffled_run
from querist.online.nearest import check_distances
from querist.online.trace import Trace
from querist.parameters import effective
from querist.types import Codes

APART = ("seed",)
ON_GRAPH = ("pounce", "nearest")
"""Learners that take the graph itself where no rank is given."""


def representation(
    *,
    rank: int | None = None,
    kind: str = "spectral",
    component: Literal["all", "largest"] = "all",
    nodes: str | None = None,
    tol: float | None = None,
    embedding_seed: int = 0,
    **options: Any,
) -> dict[str, Any]:
    """What `querist.embed` takes, which component, and the table of the nodes of a graph in a file.

    The rank is 100, or less in a smaller graph, by default. `options` are those of all kinds of embedding.
    """
    return dict(locals())


def protocol(*, control: bool = True, curve: int = 0) -> dict[str, Any]:
    """How a run goes: the control beside it, points of its curves."""
    return dict(locals())


@dataclass
class Place:
    """A labelled graph, the same without its labels, and the rows of its nodes.

    `warm` names what has been compiled in this process.
    """

    graph: Any
    bare: Any
    rows: Any
    ranked: bool
    warm: set[str] = field(default_factory=set)

    def of(self, method: str) -> Any:
        """What a learner stands on: no label is in it."""
        return self.bare if method in ON_GRAPH and not self.ranked else self.rows


class Online:
    """See the module."""

    name = "online"
    measures = (
        *("error_rate", "queries", "updates", "rounds", "seconds"),
        *(CONTROL + name for name in ("error_rate", "queries", "updates", "seconds")),
    )
    tuned_by = "error_rate"
    on_disk = True
    in_tuning: Mapping[str, Any] = {"control": False, "curve": 0}

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """All, or those without the control."""
        how = complete(spec, "protocol", protocol)
        return tuple(name for name in self.measures if how["control"] or not name.startswith(CONTROL))

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the data have labels to answer with."""
        factory = checked_method(spec, ALGORITHMS, APART)
        given = settings(spec, "representation", with_options(representation))
        how = settings(spec, "protocol", protocol)
        if how.get("curve", 0) < 0:
            raise SpecificationError(f"curve = {how['curve']}; give 0 or more points", ("protocol", "curve"))
        graph = graph_for(spec, given)
        with blame("dataset"):
            _check_labels(graph)
        with blame("representation", "rank"):
            if given.get("rank") is not None and not 1 <= given["rank"] <= graph.n_nodes:
                raise InputError(f"rank = {given['rank']}; {graph.name} has {graph.n_nodes:,} nodes")
        if spec.method in ON_GRAPH and given.get("rank") is None:
            with blame("method"):
                for choice in tuning.combinations(spec):
                    check_distances(graph, {**spec.parameters, **choice}.get("distance", "resistance"))
            small: Any = Graph(sp.csr_array(1 - np.eye(2)), attributes=sp.csr_array(np.ones((2, 1))))
        else:
            # As many components, a node each: some learners need all rows in one.
            rows, components = np.zeros((graph.n_components, 1)), np.arange(graph.n_components)
            small = SimpleNamespace(rows=rows, components=components)
        try_out(spec, factory, partial(factory, small, graph.n_classes), APART)

    def prepare(self, spec: Specification) -> Place:
        """The graph and its embedding, which the disk keeps."""
        from querist.embedding import embed

        full = complete(spec, "representation", with_options(representation))
        graph = graph_for(spec, {name: full.pop(name) for name in ("component", "nodes")})
        rank, seed = full.pop("rank"), full.pop("embedding_seed")
        bare = replace(graph, codes=None, label_matrix=None, classes=())
        rows = embed(bare, rank, seed=seed, **full)
        return Place(graph, bare, rows, rank is not None)

    def run(
        self, spec: Specification, prepared: Place, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One shuffle, and its control in the same one."""
        graph, factory = prepared.graph, ALGORITHMS[spec.method]
        own = checked(parameters, factory, "parameters", APART)
        how = complete(spec, "protocol", protocol)
        task = (graph.codes, graph.n_classes)
        numbers, curves = _play(prepared, spec.method, task, factory, own, seed, repeat, None, how["curve"])
        if how["control"]:
            like = control_parameters(effective(factory, own, APART))
            asked = round(numbers["queries"])
            method = "random_sampling"
            theirs, drawn = _play(
                prepared, method, task, ALGORITHMS[method], like, seed, repeat, asked, how["curve"]
            )
            numbers |= {CONTROL + n: v for n, v in theirs.items() if n != "rounds"}
            curves |= {CONTROL + n: v for n, v in drawn.items() if n != "round"}
        return Outcome(numbers, curves)


def _play(
    place: Place,
    method: str,
    task: tuple[Codes, int],
    factory: Factory,
    parameters: dict[str, Any],
    seed: int,
    repeat: int,
    questions: int | None,
    points: int,
) -> tuple[dict[str, float], dict[str, list[float]]]:
    where = place.of(method)
    draw: dict[str, Any] = {"seed": seed, "shuffle": repeat}
    if method not in place.warm:
        shuffled_run(where, *task, factory, parameters, rounds=1, **draw)
        place.warm.add(method)
    started = time.perf_counter()
    trace = shuffled_run(where, *task, factory, parameters, questions=questions, **draw)
    seconds = time.perf_counter() - started
    numbers = {
        "error_rate": trace.error_rate,
        "queries": trace.queries,
        "updates": trace.updates,
        "rounds": float(len(trace)),
        "seconds": seconds,
    }
    return numbers, _curves(trace, points) if points else {}


def _curves(trace: Trace, points: int) -> dict[str, list[float]]:
    at = few_points(len(trace), points)
    of = trace if trace.problems is None else trace.problems
    mistaken, asked = (flags.reshape(len(trace), -1).mean(axis=1) for flags in (of.mistaken, of.asked))
    return {
        "round": [float(i + 1) for i in at],
        "error_rate": running_mean(mistaken)[at].tolist(),
        "queries": np.cumsum(asked)[at].tolist(),
    }


def _check_labels(graph: Any) -> None:
    if graph.label_matrix is not None:
        raise InputError(f"{graph.name} has several labels a node; online learners need one label a node")
    if graph.labelled.size == 0 or graph.n_classes < 2:
        raise InputError(
            f"{graph.name} has no labels of at least 2 classes, so nothing can answer. Labels of a graph in "
            "a file may stand in a table: representation.nodes"
        )


ONLINE = register(Online())

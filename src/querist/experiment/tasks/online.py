"""Online learners on shuffles of a graph: predict, maybe ask, maybe learn.

Numbers: error_rate, queries, updates, rounds, seconds; with the controls also control_error_rate,
control_queries, control_updates and control_seconds: random asking in the same shuffle, exactly as often, by
the same kind of learner; and margin_error_rate and so on: the same learner where its margin is smallest,
exactly as often and on average as early (`margin_threshold`, paced). Curves, where `protocol.curve` points
are asked for: `round`, `error_rate` and `queries` up to it, and the controls'.

In the one-vs-rest scheme all are averages over the binary problems.

Shuffle s of a seed is a permutation of the labelled nodes drawn from `default_rng((seed, s))`. The learner's
own draws get a seed derived from the same pair. So a shuffle is the same whatever the algorithm, and however
many are run.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from querist.embedding.kinds import kind_of, with_kinds
from querist.errors import InputError
from querist.experiment.results import CONTROL, MARGIN, Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks import register
from querist.experiment.tasks.collective import truth_of
from querist.experiment.tasks.common import (
    checked,
    checked_method,
    complete,
    few_points,
    graph_for,
    running_mean,
    try_out,
    warm_up,
)
from querist.graph import Graph
from querist.labels import UNLABELLED
from querist.online import ALGORITHMS, Learner, Trace
from querist.online.cover_learner import check_distances
from querist.parameters import Range, effective, parameters_of
from querist.types import Bools, Codes, Floats

APART = ("seed",)
BY_DISTANCE = ("pounce", "nearest")
ON_GRAPH = (*BY_DISTANCE, "paced")
"""Learners that take the graph itself where no rank is given: an embedding's distances and kernel are
approximate."""


def on_graph(method: str) -> bool:
    """Whether a learner takes the graph itself; a plugin's factory says so by an attribute `on_graph`."""
    return method in ON_GRAPH or bool(getattr(ALGORITHMS[method], "on_graph", False))


def representation(
    *,
    rank: int | None = None,
    component: Literal["all", "largest"] = "all",
    nodes: str | None = None,
    tol: float | None = None,
    embedding_seed: int = 0,
    rows: Mapping[str, Any] | None = None,
) -> None:
    """What `querist.embed` takes, which component, and the table of the nodes of a graph in a file.

    The rank is 100, or less in a smaller graph, by default. `rows` are the kind and the options of all kinds.
    """


def protocol(*, control: bool = True, curve: Annotated[int, Range(0)] = 0) -> None:
    """How a run goes: the controls beside it, points of its curves."""


@dataclass
class EmbeddedGraph:
    """A labelled graph, the same without its labels, and the rows of its nodes, made when first asked for.

    `warm` names what has been compiled in this process.
    """

    graph: Any
    bare: Any
    embed: Callable[[], Any]
    ranked: bool
    warm: set[str] = field(default_factory=set)

    @cached_property
    def rows(self) -> Any:
        """The embedding."""
        return self.embed()

    @cached_property
    def kernel(self) -> Any:
        """What `paced` makes of the graph, made once."""
        from querist.embedding import embed

        return embed(self.bare, kind="pagerank")

    def of(self, method: str) -> Any:
        """What a learner stands on: no label is in it."""
        if self.ranked or not on_graph(method):
            return self.rows
        return self.kernel if method == "paced" else self.bare


class OnlineTask:
    """See the module. A task of your own may run learners in the same shuffles.

    >>> OnlineTask.points(10, 3)
    array([2, 5, 9])
    """

    name = "online"
    measures = (
        *("error_rate", "queries", "updates", "rounds", "seconds"),
        *(c + name for c in (CONTROL, MARGIN) for name in ("error_rate", "queries", "updates", "seconds")),
    )
    shown: tuple[str, ...] = ("error_rate", "queries", "updates", "seconds")
    tuned_by = "error_rate"
    on_disk = True
    in_tuning: Mapping[str, Any] = {"control": False, "curve": 0}
    protocol: ClassVar[Callable[..., Any]] = staticmethod(protocol)
    points = staticmethod(few_points)

    def measures_of(self, spec: Specification) -> tuple[str, ...]:
        """All, or those without the controls."""
        how = complete(spec, "protocol", protocol)
        return tuple(
            name for name in self.measures if how["control"] or not name.startswith((CONTROL, MARGIN))
        )

    def check(self, spec: Specification) -> None:
        """Names, kinds, and whether the data have labels to answer with."""
        factory = checked_method(spec, ALGORITHMS, APART)
        given = complete(spec, "representation", with_kinds(representation))
        with blame("representation"):
            own = {"kind", *parameters_of(representation)}
            kind_of(given["kind"]).check_own(spec.representation.keys() - own)
        complete(spec, "protocol", self.protocol)
        graph = graph_for(spec, given)
        with blame("dataset"):
            check_answers(graph)
        with blame("representation", "rank"):
            if given["rank"] is not None and not 1 <= given["rank"] <= graph.n_nodes:
                raise InputError(
                    f"rank = {given['rank']}; {graph.name} has {graph.n_nodes:,} nodes: pass a rank from 1 "
                    f"to {graph.n_nodes}"
                )
        if on_graph(spec.method) and given["rank"] is None:
            with blame("method"):
                for choice in spec.choices if spec.method in BY_DISTANCE else ():
                    check_distances(graph, {**spec.parameters, **choice}.get("distance", "resistance"))
            small: Any = Graph(sp.csr_array(1 - np.eye(2)), attributes=sp.csr_array(np.ones((2, 1))))
        else:
            # As many components, a node each: some learners need all rows in one.
            rows, components = np.zeros((graph.n_components, 1)), np.arange(graph.n_components)
            small = SimpleNamespace(rows=rows, components=components)
        try_out(spec, factory, partial(factory, small, graph.n_classes), APART)

    def prepare(self, spec: Specification, progress: Any = None) -> EmbeddedGraph:
        """The graph and its embedding, which the disk keeps."""
        place = self.placed(spec, progress)
        assert place.rows is not None
        return place

    def placed(self, spec: Specification, progress: Any = None) -> EmbeddedGraph:
        """The graph, not embedded yet."""
        from querist.embedding import embed

        full = complete(spec, "representation", with_kinds(representation))
        graph = graph_for(spec, {name: full.pop(name) for name in ("component", "nodes")})
        rank, seed = full.pop("rank"), full.pop("embedding_seed")
        bare, options = graph.without_labels(), kind_of(full["kind"]).options
        full = {name: value for name, value in full.items() if name in ("kind", "tol", *options)}
        return EmbeddedGraph(
            graph, bare, lambda: embed(bare, rank, seed=seed, progress=progress, **full), rank is not None
        )

    def run(
        self,
        spec: Specification,
        prepared: EmbeddedGraph,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
    ) -> Outcome:
        """One shuffle, and its controls in the same one."""
        how = complete(spec, "protocol", protocol)
        own, full = dict(parameters), self.all_parameters(spec.method, parameters)
        if full.get("pace") is not None and full["rounds"] is None:
            own["rounds"] = int(prepared.graph.labelled.size)

        def play(method: str, given: Mapping[str, Any], questions: int | None = None) -> Any:
            task = (prepared, method, given, seed, repeat)
            warm_up(prepared.warm, method, lambda: self.played(*task, rounds=1))
            started = time.perf_counter()
            trace = self.played(*task, questions)
            seconds = time.perf_counter() - started
            numbers = {
                "error_rate": trace.error_rate,
                "queries": trace.queries,
                "updates": trace.updates,
                "rounds": float(len(trace)),
                "seconds": seconds,
            }
            return numbers, _curves(trace, how["curve"]) if how["curve"] else {}, trace

        numbers, curves, trace = play(spec.method, own)
        if how["control"]:
            for prefix, control in controls(spec.method, own, full, trace).items():
                theirs, drawn, _ = play(*control)
                numbers |= {prefix + n: v for n, v in theirs.items() if n != "rounds"}
                curves |= {prefix + n: v for n, v in drawn.items() if n != "round"}
        return Outcome(numbers, curves)

    def order(self, prepared: EmbeddedGraph, seed: int, repeat: int) -> Codes:
        """The labelled nodes in the order of a shuffle."""
        return shuffled(prepared.graph.codes, seed, repeat)

    def learner(
        self, prepared: EmbeddedGraph, method: str, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Learner:
        """A fresh learner for a shuffle, which speaks row numbers."""
        factory = ALGORITHMS[method]
        own = checked(parameters, factory, "parameters", APART)
        where, n_classes = prepared.of(method), prepared.graph.n_classes
        return factory(where, n_classes, seed=learner_seed(seed, repeat), **own).by_row()

    def played(
        self,
        prepared: EmbeddedGraph,
        method: str,
        parameters: Mapping[str, Any],
        seed: int,
        repeat: int,
        questions: int | None = None,
        rounds: int | None = None,
    ) -> Trace:
        """One run from scratch, over a shuffle or its first `rounds`.

        With `questions` the method is `random_sampling` with p = 0.5, and it asks exactly so often.
        """
        order = self.order(prepared, seed, repeat)[:rounds]
        draws = None if questions is None else random_rounds(order.size, questions, (seed, repeat, 2))
        learner = self.learner(prepared, method, parameters, seed, repeat)
        return learner.run(order, prepared.graph.codes, uniforms=draws)

    def all_parameters(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a run, those with their default values among them."""
        factory = ALGORITHMS[method]
        return effective(factory, checked(parameters, factory, "parameters", APART), APART)

    def control_of(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with which `random_sampling` is the same kind of learner."""
        return control_parameters(self.all_parameters(method, parameters))


# -- one shuffle ------------------------------------------------------------------


def shuffled(codes: Codes, seed: int, shuffle: int) -> Codes:
    """The labelled nodes in the order of one shuffle."""
    return np.random.default_rng((seed, shuffle)).permutation(np.flatnonzero(codes != UNLABELLED))


def learner_seed(seed: int, shuffle: int) -> int:
    """The seed of a learner's own draws in one shuffle."""
    return int(np.random.SeedSequence((seed, shuffle, 1)).generate_state(1)[0])


def random_rounds(rounds: int, count: int, seed: Sequence[int]) -> Floats:
    """(rounds,) uniforms with which `random_sampling(p=0.5)` asks in exactly `count` rounds, at random."""
    uniforms = np.full(rounds, 0.75)
    uniforms[np.random.default_rng(tuple(seed)).choice(rounds, size=count, replace=False)] = 0.25
    return uniforms


def controls(
    method: str, own: Mapping[str, Any], full: Mapping[str, Any], trace: Trace
) -> dict[str, tuple[str, dict[str, Any], int | None]]:
    """What stands beside a run: by prefix the algorithm, its parameters, how often it asks if at random.

    `own` are the parameters that were given, `full` those and the defaults.
    """
    asked = round(trace.queries)
    if "at_random" in full:  # it is its own control
        like = {**own, "budget": asked}
        return {
            CONTROL: (method, {**like, "at_random": True}, None),
            MARGIN: (method, {**like, "spread": 0.0}, None),
        }
    like = control_parameters(full)
    closest = {name: value for name, value in like.items() if name != "p"}
    pace = full.get("pace")
    where = trace.asked if trace.problems is None else trace.problems.asked.mean(axis=1)
    spent = {"budget": asked, "pace": pace_of(where) if pace is None else pace, "rounds": len(trace)}
    return {
        CONTROL: (
            "random_sampling",
            like if pace is None else {**like, **spent},
            asked if pace is None else None,
        ),
        MARGIN: ("margin_threshold", {**closest, **spent}, None),
    }


def pace_of(asked: Bools | Floats) -> float:
    """The pace that asks as early as a run, given where it asked: the mean question of h is at 1/(h + 1)."""
    if not asked.any():
        return 1.0
    at = (np.arange(asked.size) + 0.5) / asked.size
    return float(1 / np.average(at, weights=asked) - 1)


def control_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that make `random_sampling` the same kind of learner as an algorithm with these.

    A learner that learns from certain questions becomes one that learns every answer: random questions
    are never certain, and learning less would make the control too easy to beat.
    """
    return {
        "p": 0.5,
        "gamma": parameters.get("gamma", parameters.get("mu", 1.0)),
        "second_order": parameters.get("second_order", "gamma" in parameters or "mu" in parameters),
        "update": "mistake" if parameters.get("update") == "mistake" else "always",
        "target": parameters.get("target", "rival"),
        "scheme": parameters.get("scheme", "multiclass"),
    }


def _curves(trace: Trace, points: int) -> dict[str, list[float]]:
    at = few_points(len(trace), points)
    of = trace if trace.problems is None else trace.problems
    mistaken, asked = (flags.reshape(len(trace), -1).mean(axis=1) for flags in (of.mistaken, of.asked))
    return {
        "round": [float(i + 1) for i in at],
        "error_rate": running_mean(mistaken)[at].tolist(),
        "queries": np.cumsum(asked)[at].tolist(),
    }


def check_answers(graph: Graph) -> None:
    """Refuse a graph whose labels cannot answer questions."""
    if graph.known is not None and graph.known.multilabel:
        raise InputError(f"{graph.name} has several labels per node; give a graph with one label per node")
    truth_of(graph)


ONLINE = register(OnlineTask())

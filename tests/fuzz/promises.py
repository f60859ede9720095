"""What is promised of every generated case, whatever it holds.

Only errors of ours; results without NaN and inf; probabilities of a row that sum to one; no more answers than
the budget; with the same seed the same bits; what was given is not changed; a run equals its steps.
"""

import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from strategies import Case

import querist
from querist.collective.catalogue import reads_attributes
from querist.errors import QueristError
from querist.parameters import parameters_of

ITERATIVE = 1e-2
"""How far the solves of the generative models, which stop at a tolerance, may leave a row from one."""


def check(case: Case) -> str:
    """Keep every promise about a case, or raise; "kept", or the first words of our refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            CHECKS[case.operation](case)
        except QueristError as refusal:
            said = str(refusal)
            assert said.strip(), "a refusal that says nothing"
            return said
    return "kept"


def finite(array: Any, what: str) -> None:
    assert np.isfinite(array).all(), f"{what}: NaN or inf"


def same(one: Any, other: Any, what: str) -> None:
    """Bit by bit: 0.0 is not -0.0."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape and one.dtype == other.dtype, f"{what}: {one.shape} and {other.shape}"
    assert one.tobytes() == other.tobytes() if one.dtype != object else one.tolist() == other.tolist(), what


def content(given: Any) -> Any:
    """What a graph or an array holds, to see whether it was changed."""
    if isinstance(given, querist.Graph):
        return [content(given.adjacency), content(given.attributes), tuple(given.nodes)]
    if sp.issparse(given):
        return [content(part) for part in (given.data, given.indices, given.indptr)]
    return given.tobytes() if isinstance(given, np.ndarray) else repr(given)


def unchanged(given: Any, do: Callable[[], Any]) -> Any:
    before = content(given)
    result = do()
    assert content(given) == before, "what was given was changed"
    return result


def probabilities(P: Any, what: str, sums: bool = True, within: float = 1e-6) -> None:
    finite(P, what)
    assert (-within <= P).all() and (1 + within >= P).all(), f"{what}: {P.min()} to {P.max()}"
    if sums:
        total = P.sum(axis=1)
        assert abs(total - 1).max(initial=0) <= within, (
            f"{what}: a row sums to {total[abs(total - 1).argmax()]}"
        )


def unreached(graph: querist.Graph, labelled: Any) -> Any:
    """Rows of components without any of these rows."""
    return np.flatnonzero(~np.isin(graph.components, graph.components[list(labelled)]))


def embed(case: Case) -> None:
    graph, options = case.graph.made(), dict(case.options)
    rank = options.pop("rank")
    rank = None if rank is None else min(rank, graph.n_nodes)
    one, two = (
        unchanged(graph, lambda: querist.embed(graph, rank, cache=False, **options)) for _ in range(2)
    )
    assert one.rows.shape[0] == graph.n_nodes
    finite(one.rows, "rows")
    same(one.rows, two.rows, "rows with the same seed")


def online(case: Case) -> None:
    graph, o = case.graph.made(), case.options
    n, K, factory = graph.n_nodes, o["n_classes"], querist.ALGORITHMS[o["algorithm"]]
    place: Any = graph
    if not (o["of_graph"] and o["algorithm"] in ("pounce", "nearest", "paced", "fastonl")):
        place = querist.embed(graph, min(n, o["rank"]), normalised=o["normalised"], cache=False)
    known = parameters_of(factory)
    own = {name: o[name] for name in ("scheme", "pace") if o[name] is not None and name in known}

    def make() -> Any:
        return factory(place, K, seed=o["seed"], budget=o["budget"], **own).by_row()

    rng = np.random.default_rng(o["seed"])
    codes = rng.integers(0, K, n)
    orders = {"once": rng.permutation(n), "any": rng.integers(0, n, 2 * n), "none": np.arange(0)}
    order = orders[o["order"]]
    one, two, steps = make(), make(), make()
    trace = unchanged(graph, lambda: one.run(order, codes))
    again = two.run(order, codes)
    for name in ("predicted", "asked", "margin", "variance"):
        same(getattr(trace, name), getattr(again, name), f"{name} with the same seed")
    finite(trace.margin, "margin")
    finite(trace.variance, "variance")
    finite(one.scores(), "scores")
    predicted = []
    for row in order.tolist():
        decision = steps.decide(row)
        steps.commit(decision)
        predicted.append(decision.prediction)
        if decision.ask:
            steps.learn(row, int(codes[row]))
    same(trace.predicted, np.array(predicted, dtype=trace.predicted.dtype), "run and its steps")
    same(one.predict(), steps.predict(), "run and its steps, afterwards")
    assert steps.questions == one.questions == trace.questions
    found = one.predict()
    assert ((found >= -1) & (found < K)).all()
    assert (found[unreached(graph, order[trace.updated])] == -1).all(), "a class where no label could reach"
    answers = itertools.cycle([querist.Answer.UNSURE, querist.Answer.NONE, {0, 1}, 0, 1])
    asked: list[Any] = []

    def oracle(node: Any) -> Any:
        asked.append(node)
        return next(answers)

    late = make()
    late.run(order, oracle)
    finite(late.scores(), "scores after sets and none")
    if o["budget"] is not None:
        assert max(one.questions, late.questions, len(asked)) <= o["budget"], "more questions than the budget"


def collective(case: Case) -> None:
    graph, o = case.graph.made(), case.options
    factory = querist.CLASSIFIERS[o["method"]]
    own = {"features": "links"} if o["links"] and "features" in inspect.signature(factory).parameters else {}
    labels = case.labels.given(graph.nodes)
    one, two = (
        unchanged(labels, lambda: unchanged(graph, lambda: factory(**own).fit(graph, labels)))
        for _ in range(2)
    )
    within = ITERATIVE if o["method"] in ("gmnr", "mrgm") else 1e-6
    probabilities(one.probabilities_, "probabilities", not one.problem_.multilabel, within)
    same(one.probabilities_, two.probabilities_, "probabilities with the same seed")
    if not reads_attributes(o["method"]):
        lone = unreached(graph, case.labels.rows(graph.n_nodes))
        assert not one.reached_[lone].any(), "reached where no label could reach"
    one.predict()


def label(case: Case) -> None:
    graph, o = case.graph.made(), case.options
    labels, several = case.labels.given(graph.nodes), case.labels.form == "matrix"
    one, two = (
        unchanged(
            labels, lambda: unchanged(graph, lambda: querist.label(graph, labels, multilabel=several, **o))
        )
        for _ in range(2)
    )
    probabilities(one.probabilities[one.reached], "probabilities", sums=not several)
    assert not one.probabilities[~one.reached].any(), "probabilities where nothing is known"
    same(one.probabilities, two.probabilities, "probabilities with the same seed")
    rows = case.labels.rows(graph.n_nodes)
    if graph.attributes is None:
        assert not one.reached[unreached(graph, rows)].any(), "reached where no label could reach"
    if not several:
        assert all(one.labels[i] == value for i, value in rows.items()), "a given label was changed"
    assert "<script>" not in one._repr_html_() and repr(one)


def ask(case: Case) -> None:
    graph, o = case.graph.made(), dict(case.options)
    classes, silent = case.labels.values, o.pop("silent")
    if o.pop("find"):
        o["find"] = classes[-1]
        o["strategy"] = "pool"
    rows = case.labels.rows(graph.n_nodes)
    histories = []
    for _ in range(2):
        asked: list[Any] = []

        def oracle(node: Any, asked: list[Any] = asked) -> Any:
            asked.append(node)
            row = graph.row_of[node]
            return None if silent and len(asked) % silent == 0 else rows.get(row, classes[row % len(classes)])

        done = unchanged(graph, lambda oracle=oracle: querist.ask(graph, oracle, classes=classes, **o))
        assert done.asked <= o["budget"], "more answers than the budget"
        assert "<script>" not in done._repr_html_() and repr(done)
        if done.answers:
            made = done.labelling
            probabilities(made.probabilities[made.reached], "probabilities")
        histories.append((asked, done.answers, done.labels if done.answers else None))
    assert histories[0] == histories[1], "other questions with the same seed"
    if not o["noise"] and not o["repeats"] and histories[0][2] is not None:
        assert all(histories[0][2][graph.row_of[node]] == own for node, own in histories[0][1].items())


def stream(case: Case) -> None:
    X, codes = case.stream.made()
    K, factory = case.stream.classes, querist.STREAMS[case.options["name"]]
    parameters = case.options["parameters"]
    one, two, steps = (factory(K, **parameters) for _ in range(3))
    found = unchanged(X, lambda: unchanged(codes, lambda: one.run(X, codes)))
    again = two.run(X, codes)
    predicted = np.asarray(found.predicted)
    assert predicted.shape == (len(codes),) and ((predicted >= -1) & (predicted < K)).all()
    same(predicted, again.predicted, "predictions with the same seed")
    if case.options["name"] == "bls" and len(codes):
        finite(one.scores(X), "scores")
        by_item = [int(steps.run(X[t : t + 1], codes[t : t + 1]).predicted[0]) for t in range(len(codes))]
        same(predicted, np.array(by_item, dtype=predicted.dtype), "run and its steps")


CHECKS: dict[str, Callable[[Case], None]] = {
    "embed": embed,
    "online": online,
    "collective": collective,
    "label": label,
    "ask": ask,
    "stream": stream,
}

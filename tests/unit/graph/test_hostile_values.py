"""Objects that are no graph, no labels and no rows: refused by every function with a message of ours."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import querist
from querist import ALGORITHMS, CLASSIFIERS, STREAMS, InputError, as_graph
from querist.asking.oracles import checked_answer

INF, NAN = float("inf"), float("nan")
FRAME = pd.DataFrame({"a": [1], "b": [2]})
PAIR = [(0, 1)]


def learner() -> Any:
    return ALGORITHMS["msg"](np.eye(3), 2)


VALUES: dict[str, Callable[[], Any]] = {
    "infinite labels": lambda: as_graph(PAIR, labels=[INF, 1]),
    "infinite numbers": lambda: querist.label(PAIR, np.array([-INF, 1.0])),
    "a NaN class": lambda: as_graph(PAIR, labels=[1, 2], classes=[1, 2, NAN]),
    "an infinite class": lambda: as_graph(PAIR, labels=[1, 2], classes=[1, 2, INF]),
    "a class None": lambda: as_graph(PAIR, labels=[1, 2], classes=[1, 2, None]),
    "a list for a class": lambda: as_graph(PAIR, labels=[1, 2], classes=[[1], 2]),
    "a number for classes": lambda: as_graph(PAIR, labels=[1, 2], classes=3),
    "asked about NaN": lambda: querist.ask(PAIR, classes=[1, NAN]),
    "asked about inf": lambda: querist.ask(PAIR, classes=[1, INF]),
    "ragged adjacency": lambda: as_graph([[0, 1], [1]], kind="adjacency"),
    "text adjacency": lambda: as_graph([["0", "1"], ["1", "0"]], kind="adjacency"),
    "complex adjacency": lambda: as_graph([[0, 1j], [1j, 0]], kind="adjacency"),
    "complex attributes": lambda: as_graph(PAIR, attributes=np.array([[1j], [2]])),
    "text attributes": lambda: as_graph(PAIR, attributes=np.array([["1"], ["2"]])),
    "ragged attributes": lambda: as_graph(PAIR, attributes=[[1], [2, 3]]),
    "complex sparse attributes": lambda: as_graph(PAIR, attributes=sp.csr_array([[1j], [2]])),
    "complex weights": lambda: as_graph(PAIR, weights=np.array([1j])),
    "weights of 400 digits": lambda: as_graph([(0, 1, 10**400)]),
    "a number for an end": lambda: as_graph(FRAME, source=3),
    "a kind of a table": lambda: as_graph(FRAME, kind="edges"),
    "a kind of a graph": lambda: as_graph(as_graph(PAIR), kind="adjacency"),
    "nodes below 0": lambda: as_graph(PAIR, nodes=-1),
    "complex rows": lambda: ALGORITHMS["msg"](np.array([[1j, 2]]), 2),
    "text rows": lambda: ALGORITHMS["msg"](np.array([["1"]]), 2),
    "order of nothing": lambda: learner().run(5, [0, 1, 0]),
    "ragged order": lambda: learner().run([[0], [1, 2]], [0, 1, 0]),
    "ragged codes": lambda: learner().run([0], [[0], [1, 2], 3]),
    "text draws": lambda: learner().run([0], [0, 1, 0], uniforms=["a"]),
    "a list for a node": lambda: learner().learn([0], 1),
    "text tie order": lambda: ALGORITHMS["msg"](np.eye(3), 2, tie_order=["a", "b"]),
    "text seed": lambda: ALGORITHMS["msg"](np.eye(3), 2, seed="x"),
    "text gamma": lambda: ALGORITHMS["msg"](np.eye(3), 2, gamma="x"),
    "complex items": lambda: STREAMS["bls"](2).run(np.array([[1j]]), [0]),
    "text items": lambda: STREAMS["bls"](2).run([["1"]], [0]),
    "ragged items": lambda: STREAMS["bls"](2).run([[1], [2, 3]], [0, 1]),
}


@pytest.mark.parametrize("case", VALUES)
def test_what_cannot_be_used_is_refused(case: str) -> None:
    with pytest.raises(InputError):
        VALUES[case]()


def outside() -> Any:
    m = sp.csr_array(np.ones((2, 2)) - np.eye(2))
    m.indices = np.array([10**6, 0], dtype=np.int32)
    return m


def coming_back() -> Any:
    m = sp.csr_array(np.ones((2, 2)) - np.eye(2))
    m.indptr = np.array([0, 10**6, 0], dtype=np.int32)
    return m


def by_columns() -> Any:
    given, m = outside(), sp.csc_array((2, 2))
    m.data, m.indices, m.indptr = given.data, given.indices, given.indptr
    return m


def below() -> Any:
    m = sp.coo_array(np.ones((2, 2)) - np.eye(2))
    m.coords = (np.array([-5, 1]), np.array([1, 0]))
    return m


ENTRY_POINTS: dict[str, Callable[[Any], Any]] = {
    "as_graph": as_graph,
    "Graph": querist.Graph,
    "attributes": lambda m: as_graph(PAIR, attributes=m),
    "attributes of a Graph": lambda m: querist.Graph(sp.csr_array(1 - np.eye(2)), attributes=m),
    "labels": lambda m: as_graph(PAIR, labels=m),
    "embed": lambda m: querist.embed(m, 1),
    "label": lambda m: querist.label(m, {0: "a", 1: "b"}),
    "labels of label": lambda m: querist.label(PAIR, m),
    "classifier": lambda m: CLASSIFIERS["wvrn"]().fit(m, ["a", "b"]),
    "points": lambda m: querist.from_points(m, k=1),
    "stream": lambda m: STREAMS["bls"](2, width=1.0).run(m, [0, 1]),
    "scikit-learn": lambda m: querist.BudgetedLeastSquares().fit(m, [0, 1]),
    "local": lambda m: dataclasses.replace(querist.embed(as_graph(PAIR), 1), local=m),
}


@pytest.mark.parametrize("make", [outside, coming_back, by_columns, below])
@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_sparse_matrix_that_points_outside_is_refused(entry: str, make: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match=r"indices|indptr"):
        ENTRY_POINTS[entry](make())


def test_weights_to_fitted_nodes_that_point_outside_are_refused() -> None:
    fitted = CLASSIFIERS["wvrn"]().fit(as_graph([(0, 1), (1, 2)]), ["a", "b", "a"])
    m = sp.csr_array(np.ones((2, 3)))
    m.indices[0] = 10**6
    with pytest.raises(InputError, match="indices"):
        fitted.predict(m)


def test_a_matrix_is_looked_at_and_not_changed() -> None:
    m = sp.csr_array(np.ones((3, 3)) - np.eye(3))
    parts = m.data.copy(), m.indices.copy(), m.indptr.copy()
    as_graph(m)
    assert all((a == b).all() for a, b in zip(parts, (m.data, m.indices, m.indptr), strict=True))


def test_a_text_that_is_a_class_is_that_class_and_no_number() -> None:
    assert [checked_answer(given, (1, "1"), "ann") for given in (1, "1")] == [0, 1]
    assert checked_answer("1", (0, 1), "ann") == 1


def test_component_numbers_with_gaps_take_no_room() -> None:
    rows = querist.embed(as_graph([(0, 1), (2, 3)]), 1)
    wide = dataclasses.replace(rows, components=np.array([0, 0, 10**15, 10**15]))
    assert ALGORITHMS["msg"](wide, 2).n_nodes == 4

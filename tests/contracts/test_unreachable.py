"""An unreachable node has the label None and the code -1, whoever predicts it."""

import numpy as np
import pytest

import querist
from querist import ALGORITHMS, CLASSIFIERS, GraphLabelClassifier, OnGraph, as_graph, ask, embed, label
from querist.datasets import sbm
from querist.graph import Graph

LONE = ("x", "y")


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two camps of ten nodes, and a pair of nodes joined to nobody else, without attributes."""
    camps = sbm((10, 10), 0.7, 0.05, seed=2)
    rows, columns = camps.adjacency.nonzero()
    edges = [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if i < j]
    graph = as_graph([*edges, LONE], nodes=[*range(20), *LONE])
    words = np.zeros((22, 4))
    words[range(20), [2 * (i // 10) + i % 2 for i in range(20)]] = 1.0
    return as_graph(graph, attributes=words)


KNOWN = {0: 1, 5: 1, 10: 3, 15: 3}
"""Class numbers, so that an array of them could not hold None by itself."""


@pytest.mark.parametrize("method", ["auto", "walks", "smoothed"])
def test_label(graph: Graph, method: str) -> None:
    found = label(graph, KNOWN, method=method)
    assert found.labels[-2:] == [None, None] and None not in found.labels[:-2]
    assert (found.codes[-2:] == -1).all()
    assert [found[node].label for node in LONE] == [None, None]


def test_several_labels(graph: Graph) -> None:
    found = label(graph, {node: {own} for node, own in KNOWN.items()}, multilabel=True)
    assert found.labels[-2:] == [None, None] and (found.codes[-2:] == -1).all()


def test_ask(graph: Graph) -> None:
    asking = ask(graph, classes=[1, 3])
    asking.tell(KNOWN)
    assert asking.labels[-2:] == [None, None]
    assert (asking.labelling.codes[-2:] == -1).all()


@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_classifiers_and_the_same_on_a_graph(graph: Graph, name: str) -> None:
    kind = CLASSIFIERS[name]
    found = kind().fit(graph, KNOWN)
    assert found.labels_[-2:].tolist() == found.predict()[-2:].tolist() == [None, None]
    model = OnGraph(kind(), graph).fit(list(KNOWN), list(KNOWN.values()))
    assert model.predict(LONE).tolist() == [None, None]
    reached = model.predict(range(20))
    assert set(reached.tolist()) <= {1, 3} and reached.dtype == model.classes_.dtype
    assert model.score([0, "x"], [1, 1]) == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_several_labels_of_classifiers_and_the_same_on_a_graph(graph: Graph, name: str) -> None:
    kind, sets = CLASSIFIERS[name], {node: {"one" if own == 1 else "three"} for node, own in KNOWN.items()}
    found = kind().fit(graph, sets)
    assert not found.labels_[-2:].any() and not found.predict()[-2:].any()
    assert not found.reached_[-2:].any() and found.reached_[:-2].all()
    model = OnGraph(kind(), graph).fit(list(sets), list(sets.values()))
    np.testing.assert_array_equal(model.predict(graph.nodes), found.labels_)
    np.testing.assert_array_equal(model.predict(range(20)), found.labels_[:20])


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - {"pounce", "nearest"}))
def test_online_algorithms(graph: Graph, name: str) -> None:
    """Those that are left out refuse a graph of several components."""
    learner = ALGORITHMS[name](embed(graph, 6, cache=False), 2)
    assert (learner.predict(LONE) == -1).all()
    learner.run(list(KNOWN), {node: own // 3 for node, own in KNOWN.items()})
    assert (learner.predict(LONE) == -1).all() and (learner.predict(list(KNOWN)) >= 0).all()


def test_the_estimator_on_a_graph(graph: Graph) -> None:
    values = [KNOWN.get(node) for node in graph.nodes]
    model = GraphLabelClassifier(graph, method="walks").fit(list(graph.nodes), values)
    assert model.predict(LONE).tolist() == model.transduction_[-2:].tolist() == [None, None]
    reached = model.predict(range(20))
    assert set(reached.tolist()) == {1, 3} and reached.dtype == model.classes_.dtype
    assert model.score([0, "x"], [1, 1]) == 0.5


def test_the_estimator_on_rows_of_numbers() -> None:
    """Two groups far apart, with no feature in common."""
    X = np.kron(np.eye(2), np.arange(1.0, 9.0)[:, None]) + np.repeat([[0.0, 0.0], [0.0, 100.0]], 8, axis=0)
    y = [0, None, None, None, None, None, None, 1] + [None] * 8
    model = GraphLabelClassifier(method="walks", k=2).fit(X, y)
    assert model.predict(X[8:]).tolist() == [None] * 8 == model.transduction_[8:].tolist()
    assert model.predict([[1.4, 0.0], [0.0, 103.2]]).tolist() == [0, None]


def test_rivers_classifiers(graph: Graph) -> None:
    pytest.importorskip("river")
    rows = embed(graph, 6, cache=False)
    model = querist.adapters.GraphClassifier(rows, [1, 3])
    for node, own in KNOWN.items():
        model.learn_one({"node": node}, own)
    assert [model.predict_one({"node": node}) for node in LONE] == [None, None]
    asker = querist.adapters.GraphAsker(model)
    assert [asker.predict_one({"node": node})[0] for node in (1, *LONE)] == [1, None, None]

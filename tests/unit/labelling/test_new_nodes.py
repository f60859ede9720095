"""Nodes that come after the others were labelled, against labels found from scratch and against an oracle."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from querist import as_graph, load_graph
from querist.errors import InputError
from querist.graph import Graph
from querist.labelling import label
from querist.labelling.influence import influences
from querist.labelling.labelling import Labelling
from querist.labelling.new_nodes import SAMPLE, NewNodeModel
from querist.labels import Labels


def path(n: int = 31) -> Graph:
    return as_graph([(k, k + 1) for k in range(n - 1)])


def words(seed: int = 0, n: int = 400, classes: int = 3, edges: float = 0.02) -> Graph:
    """Nodes with words of their class, more often than not joined to their own kind."""
    rng = np.random.default_rng(seed)
    own = np.arange(n) % classes
    p = np.where(own[:, None] == own[None, :], edges, edges / 5)
    upper = sp.triu(sp.csr_array(rng.random((n, n)) < p).astype(float), 1)
    X = (rng.random((n, 60)) < np.where(own[:, None] == np.arange(60) % classes, 0.2, 0.05)).astype(float)
    return Graph(
        sp.csr_array(upper + upper.T), attributes=sp.csr_array(X), known=Labels(own, tuple("abc"[:classes]))
    )


def apart(graph: Graph, count: int) -> tuple[Labelling, list[tuple[int, int, float]], dict[int, np.ndarray]]:
    """The labelling before the last nodes came, their edges and their attributes."""
    n = graph.n_nodes - count
    old = graph.subgraph(np.arange(n))
    seeds = np.random.default_rng(0).choice(n, n // 8, replace=False)
    found = label(old.without_labels(), {int(i): graph.labels[i] for i in seeds}, method="smoothed")
    upper = sp.triu(graph.adjacency, format="coo")
    came = upper.col >= n
    edges = zip(*(part[came].tolist() for part in (upper.row, upper.col, upper.data)), strict=True)
    rows = graph.attributes[n:].toarray()
    return found, list(edges), {n + k: row for k, row in enumerate(rows)}


def right(found: Labelling, graph: Graph) -> float:
    return float(np.mean([found.labels[i] == graph.labels[i] for i in found.new]))


# -- as good as from scratch ------------------------------------------------------------------------------


def test_new_nodes_are_labelled_about_as_well_as_from_scratch() -> None:
    graph = words()
    known, edges, attributes = apart(graph, 100)
    grown = known.label_new(edges, attributes, limit=1.0)
    scratch = known.label_new(edges, attributes, limit=0.0)
    np.testing.assert_array_equal(grown.probabilities[:300], known.probabilities)
    assert list(grown.new) == list(scratch.new) == list(range(300, 400))
    assert right(grown, graph) >= right(scratch, graph) - 0.04
    assert (grown.graph.adjacency != graph.adjacency).nnz == 0
    np.testing.assert_array_equal(grown.graph.attributes.toarray(), graph.attributes.toarray())
    assert "100 new nodes labelled by neighbours and attributes" in grown.choice.why[-1]
    assert "PageRank" in influences(grown).how


@pytest.mark.parametrize(("with_edges", "with_words", "least"), [(True, False, 0.6), (False, True, 0.6)])
def test_either_edges_or_attributes_are_enough(with_edges: bool, with_words: bool, least: float) -> None:
    graph = words()
    known, edges, attributes = apart(graph, 100)
    found = known.label_new(
        edges if with_edges else [], attributes if with_words else list(attributes), limit=1.0
    )
    assert right(found, graph) > least
    P = found.probabilities[300:]
    np.testing.assert_allclose(P.sum(axis=1), found.reached[300:])
    assert P.max(axis=1).mean() < right(found, graph) + 0.1, "no surer than it is right"


def test_negative_attributes_are_no_counts() -> None:
    graph = words()
    rng = np.random.default_rng(1)
    dense = np.eye(3)[graph.codes] @ rng.standard_normal((3, 10)) + 0.5 * rng.standard_normal((400, 10))
    graph = as_graph(graph, attributes=dense)
    known, _, attributes = apart(graph, 100)
    assert right(known.label_new(None, attributes), graph) > 0.9


def test_much_that_is_new_means_starting_from_scratch() -> None:
    graph = words()
    known, edges, attributes = apart(graph, 100)
    grown = known.label_new(edges, attributes)
    scratch = label(grown.graph, known_labels(known), method="smoothed")
    np.testing.assert_allclose(grown.probabilities, scratch.probabilities, atol=1e-12)
    assert grown.new == range(300, 400)


def known_labels(found: Labelling) -> dict[object, object]:
    return {found.graph.nodes[i]: found.labels[i] for i in np.flatnonzero(found.is_labelled)}


def test_the_limit_counts_all_that_came_since() -> None:
    """Many small arrivals are one large one."""
    known = label(path(), {0: "x", 30: "y"}, method="harmonic")
    for k in range(31, 41):
        before = known
        known = known.label_new([(k - 1, k)], limit=0.2)
    assert known.choice.why[-1].endswith("of the weight is new.") and len(known.choice.why) < 10
    assert before.graph.n_nodes == 40 and known.graph.n_nodes == 41


def test_labels_that_come_too_are_learned_from_scratch() -> None:
    known = label(path(), {0: "x", 30: "y"}, method="harmonic")
    found = known.label_new([(30, 31)], labels={"31": "new", 15: "x", 3: None})
    assert found.classes == ("x", "y", "new")
    assert found.labels[31] == "new" and found.labels[14] == "x"
    assert found.choice.method == "harmonic"
    with pytest.raises(InputError, match="zed"):
        known.label_new([(30, 31)], labels={"zed": "x"})


# -- who is reached, and by what --------------------------------------------------------------------------


def test_who_has_neither_neighbours_nor_attributes_is_not_reached() -> None:
    found = label(path(), {0: "x", 30: "y"}, method="harmonic").label_new([(30, 31)], [40])
    assert found.labels[-2:] == ["y", None]
    assert found.reached[-2:].tolist() == [True, False]
    assert found.labels[0] == "x"
    np.testing.assert_array_equal(found.probabilities[-1], 0)


def test_a_word_that_nobody_has_says_nothing() -> None:
    graph = words()
    wide = sp.hstack([graph.attributes, sp.csr_array((400, 1))], format="csr")
    known, _, _ = apart(as_graph(graph, attributes=wide), 100)
    row = np.zeros(61)
    row[-1] = 1.0
    found = known.label_new(None, {"odd": row, "known": np.eye(61)[0]})
    assert dict(zip(found.graph.nodes[300:], found.reached[300:].tolist(), strict=True)) == {
        "odd": False,
        "known": True,
    }


def test_a_chain_of_new_nodes_is_followed_to_its_end() -> None:
    known = label(path(), {0: "x", 30: "y"}, method="harmonic")
    found = known.label_new([(k, k + 1) for k in range(30, 60)], limit=1.0)
    assert set(found.labels[31:]) == {"y"} and found.reached.all()
    again = known.label_new([(30, 31)], limit=1.0).label_new([(31, 32)], limit=1.0)
    assert again.labels[-1] == "y" and again.new == range(32, 33)


def test_several_labels_a_node() -> None:
    cliques = [(i, j) for first in (0, 20) for i in range(first, first + 20) for j in range(first, i)]
    sets = {k: {"x", "z"} if k < 20 else {"y"} for k in (*range(8), *range(20, 28))}
    known = label(as_graph([*cliques, (0, 20)]), sets, multilabel=True)
    found = known.label_new([(1, 41), (12, 41), (30, 42), (21, 42)])
    assert found.labels[40:] == [("x", "z"), ("y",)]
    assert found.known.indicator.shape == (42, 3)
    assert known.label_new([(0, 41)], limit=0.0).graph.n_nodes == 41
    assert known.label_new([(0, 41)], labels={41: "w"}).classes == ("x", "y", "z", "w")


def test_when_every_label_is_given_new_ones_are_learned_from_them() -> None:
    karate = load_graph("karate")
    found = label(karate).label_new([("new", 0), ("new", 1), ("new", 2)])
    assert found.labels[-1] == karate.labels[0]


# -- against an oracle ------------------------------------------------------------------------------------


def test_the_answers_are_those_of_the_formulas() -> None:
    """Everything again, in dense algebra and with an exact regression, on a small graph."""
    graph = words(n=120)
    rng = np.random.default_rng(2)
    P = 0.7 * np.eye(3)[graph.codes] + 0.3 * rng.dirichlet(np.ones(3), 120)
    n = 110
    old = graph.subgraph(np.arange(n))
    everybody = np.ones(n, dtype=bool)
    model = NewNodeModel(old, P[:n], everybody, ~everybody, False, 1.0)
    edges = graph.adjacency.toarray()
    edges[n:, n:] = 0
    alone = Graph(sp.csr_array(edges), attributes=graph.attributes)
    found, reached = model.answers(alone, P[:n], everybody)

    def centred(L: np.ndarray) -> np.ndarray:
        return L - L.mean(axis=1, keepdims=True)

    then, now = (np.sqrt(np.maximum(edges[:n, :size].sum(axis=1), 1)) for size in (n, 120))
    A = np.vstack([edges[:n, :n] / then, edges[n:, :n] / now])
    A /= np.maximum(A.sum(axis=1, keepdims=True), 1e-12)
    near = A.sum(axis=1) > 0
    logs = centred(np.log(np.maximum(P[:n], 1e-3)))
    first = centred(np.log(np.maximum(A @ P[:n], 1e-3))) * near[:, None]
    X = np.log1p(graph.attributes.toarray())
    X *= 1 + np.log((1 + n) / (1 + (X[:n] > 0).sum(axis=0)))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    order = np.random.default_rng(0).permutation(n)
    halves = order[0::2], order[1::2]
    Y = P[:n] - P[:n].mean(axis=0)
    scores = [X @ krylov(X[rows].T @ X[rows] + np.eye(60), X[rows].T @ Y[rows], 5) for rows in halves]
    own = (scores[0] + scores[1]) / 2
    own[halves[0]], own[halves[1]] = scores[1][halves[0]], scores[0][halves[1]]
    prior = np.broadcast_to(centred(np.log(P[:n].mean(axis=0, keepdims=True))), (120, 3))
    tables = np.stack([first, A @ logs, centred(own), prior])
    such = np.flatnonzero(near[:n])
    assert n <= SAMPLE and near[n:].sum() > 5

    def share(L: np.ndarray) -> np.ndarray:
        E = np.exp(L - L.max(axis=1, keepdims=True))
        return np.asarray(E / E.sum(axis=1, keepdims=True))

    def loss(w: np.ndarray) -> float:
        return -float(np.mean(np.sum(P[such] * np.log(share(np.tensordot(w, tables[:, such], 1))), axis=1)))

    best = minimize(loss, np.full(4, 0.5), method="L-BFGS-B", bounds=[(0, None)] * 4, options={"ftol": 1e-14})
    expected = share(np.tensordot(best.x, tables[:, n:], 1))
    np.testing.assert_allclose(found[near[n:]], expected[near[n:]], atol=5e-3)
    assert reached.all()


def krylov(A: np.ndarray, B: np.ndarray, steps: int) -> np.ndarray:
    """Conjugate gradients by what they are: column by column the best in the energy norm among
    b, A b, ..., A^(steps - 1) b."""
    out = np.zeros_like(B)
    for k, b in enumerate(B.T):
        basis = [b]
        for _ in range(steps - 1):
            basis.append(A @ basis[-1])
        Q = np.linalg.qr(np.stack(basis, axis=1))[0]
        out[:, k] = Q @ np.linalg.solve(Q.T @ A @ Q, Q.T @ b)
    return out


# -- what is refused, and what is nothing special -----------------------------------------------------------


def small() -> Labelling:
    graph = as_graph([("a", "b"), ("b", "c"), ("c", "d")], attributes=np.eye(4)[:, :2])
    return label(graph, {"a": "x", "d": "y"}, method="harmonic")


@pytest.mark.parametrize(
    ("edges", "nodes", "said"),
    [
        (None, {"e": [1.0]}, "node 'e': 1 attributes where the graph has 2"),
        (None, {"e": [1.0, float("nan")]}, "node 'e': attributes hold NaN or infinite values"),
        (None, {"e": ["one", "two"]}, "node 'e': attributes are not all numbers; give 2 numbers"),
        (None, ["e", "f", "e"], "new node 'e' comes twice"),
        ([("a", "e", -1.0)], None, "1 edge with a negative weight, the first -1 between 'a' and 'e'"),
        ([("a", "e"), ("a",)], None, "is not an edge"),
        ([("a", ["e"])], None, "not hashable"),
        ([("a", None)], None, "some node ids are missing"),
        ("nowhere.csv", None, "nowhere.csv"),
    ],
)
def test_what_cannot_be_joined_is_refused(edges: object, nodes: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        small().label_new(edges, nodes)


def test_attributes_for_a_graph_without_any_are_refused() -> None:
    known = label(path(), {0: "x", 30: "y"}, method="harmonic")
    with pytest.raises(InputError, match="the graph has none"):
        known.label_new(None, {"e": [5.0]})


def test_nothing_new_changes_nothing() -> None:
    known = small()
    for edges, nodes in (([], None), (None, []), (np.empty((0, 2)), {}), (None, ["a"]), ([("a", "b")], None)):
        found = known.label_new(edges, nodes)
        assert found.labels == known.labels and len(found.new) == 0


def test_a_node_that_is_there_already_stays_as_it_is() -> None:
    known = small()
    found = known.label_new([("a", "e")], {"a": [9.0, 9.0], "e": [1.0, 0.0]}, limit=1.0)
    np.testing.assert_array_equal(found.graph.attributes.toarray()[[0, 4]], [[1, 0], [1, 0]])
    assert found.labels[:4] == known.labels


def test_new_nodes_are_written_alone(tmp_path: Path) -> None:
    known = small()
    name = "<script>alert(1)</script>"
    found = known.label_new([("a", name), ("b", name)], limit=1.0)
    found.write(tmp_path / "new.csv", new_only=True)
    lines = (tmp_path / "new.csv").read_text().splitlines()
    assert len(lines) == 2 and lines[1].startswith(name)
    assert found.table(new_only=True)["node"] == [name]
    page = found._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page


# -- tables of new nodes ------------------------------------------------------------------------------------

ABOUT = {
    "a": "red wine grape wine",
    "b": "grape wine cellar",
    "c": "goal ball keeper",
    "d": "ball goal match",
}


def test_a_table_of_new_nodes_has_the_words_and_scales_of_the_first(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": list(ABOUT), "text": list(ABOUT.values()), "age": [20.5, 30.1, 41.2, 52.3]})
    many = pd.concat([nodes.assign(id=nodes["id"] + str(k), text=nodes["text"] + f" n{k}") for k in range(8)])
    edges = [(f"{i}{k}", f"{j}{k}") for k in range(8) for i, j in ("ab", "cd")]
    graph = as_graph([*edges, *((f"a{k}", f"a{k + 1}") for k in range(7))], nodes=many)
    known = label(graph, {"a0": "wine", "b1": "wine", "c0": "ball", "d1": "ball"})
    new = pd.DataFrame(
        {"id": ["x", "y"], "text": ["the wine of the cellar", "a match, a ball"], "age": [25.0, None]}
    )
    known.save(tmp_path / "saved.npz")
    new.to_csv(tmp_path / "new.csv", index=False)
    for found in (known.label_new(None, new), Labelling.load(tmp_path / "saved.npz").label_new(None, new)):
        assert found.labels[-2:] == ["wine", "ball"]
        np.testing.assert_array_equal(
            found.graph.attributes.toarray(),
            known.label_new(None, tmp_path / "new.csv").graph.attributes.toarray(),
        )
    assert known.label_new([("x", "a0")], new[["id"]]).labels[-2:] == ["wine", None]


def test_a_table_for_attributes_that_came_as_a_matrix_is_refused() -> None:
    with pytest.raises(InputError, match="came as a matrix; give a dict"):
        small().label_new(None, pd.DataFrame({"id": ["e"], "words": ["wine"]}))
    assert small().label_new(None, pd.DataFrame({"id": ["e"]})).reached[-1] == False  # noqa: E712

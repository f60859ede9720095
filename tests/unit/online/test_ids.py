"""A learner speaks the node ids of its graph; row numbers only where nothing else can be meant."""

import numpy as np
import pytest

from querist import ALGORITHMS, InputError, Learner, as_graph, embed, load_graph
from querist.graph import Graph
from querist.online.checks import Answer


def renamed(names) -> Graph:
    karate = load_graph("karate")
    return Graph(karate.adjacency, nodes=names, known=karate.known)


WORDS = [f"n{i}" for i in range(34)]
YEARS = list(range(1900, 1934))
PAIRS = [("p", i) for i in range(34)]
NAMES = {"words": WORDS, "years": YEARS, "pairs": PAIRS}


def learner_of(algorithm, graph, **parameters):
    where = graph if algorithm in ("pounce", "nearest") else embed(graph, rank=8, cache=False)
    return ALGORITHMS[algorithm](where, 2, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["msg", "sslgc", "pounce", "nearest"])
@pytest.mark.parametrize("kind", NAMES)
def test_a_run_by_ids_is_the_run_by_row_numbers(algorithm, kind, tmp_path):
    names, graph, plain = NAMES[kind], renamed(NAMES[kind]), load_graph("karate")
    order = np.random.default_rng(0).permutation(34)
    ids = [names[row] for row in order]
    ours, theirs = learner_of(algorithm, graph), learner_of(algorithm, plain)
    first, second = ours.run(ids[:20], graph.codes), theirs.run(order[:20], plain.codes)
    assert first.node.tolist() == ids[:20] and first.row.tolist() == order[:20].tolist()
    assert second.node.tolist() == order[:20].tolist() and second.node.dtype == np.int64
    for name in ("predicted", "asked", "mistaken", "margin", "variance"):
        assert (getattr(first, name) == getattr(second, name)).all()

    by_id = {node: int(code) for node, code in zip(names, plain.codes, strict=True)}
    seen = []

    def oracle(node):
        seen.append(node)
        return by_id[node]

    assert ours.run(ids[20:25], by_id).node.tolist() == ids[20:25]
    theirs.run(order[20:25], plain.codes)
    asked = ours.run(ids[25:30], oracle)
    theirs.run(order[25:30], lambda row: int(plain.codes[row]))
    assert seen == asked.node[asked.asked].tolist()

    decision, other = ours.decide(ids[30]), theirs.decide(order[30])
    assert (decision.node, decision.row) == (ids[30], order[30])
    assert (decision.prediction, decision.margin) == (other.prediction, other.margin)
    ours.commit(decision)
    theirs.commit(other)
    if decision.ask:
        assert ours.pending == (ids[30],)
        ours.save(tmp_path / "learner.npz")
        ours = Learner.load(tmp_path / "learner.npz")
        assert ours.pending == (ids[30],)
        assert ours.learn(ids[30], 1) == theirs.learn(order[30], 1)
    else:
        with pytest.raises(InputError, match="no open question"):
            ours.learn(ids[30], Answer.UNSURE)
    assert (ours.predict(ids) == theirs.predict(order)).all()
    assert (ours.predict() == theirs.predict()).all()
    assert (ours.scores(ids) == theirs.scores(order)).all()
    assert (ours.reached(ids) == theirs.reached(order)).all()
    if algorithm in ("pounce", "nearest"):
        assert ours.remembered().tolist() == [names[row] for row in theirs.remembered()]


def test_row_numbers_are_taken_where_nothing_else_can_be_meant():
    plain, words = load_graph("karate"), renamed(WORDS)
    ours = learner_of("msg", words)
    trace = ours.run(range(34), words.codes)
    assert trace.node.tolist() == WORDS
    assert (trace.predicted == learner_of("msg", plain).run(range(34), plain.codes).predicted).all()
    assert ours.decide(np.int64(3)).node == "n3"
    with pytest.raises(InputError, match=r"node 34 is outside the 34 nodes"):
        ours.decide(34)


@pytest.mark.parametrize(
    ("names", "given", "message"),
    [
        (YEARS, 5, "node 5 is none of the graph's ids, which are like 1900.* Row numbers are not taken"),
        ([*WORDS[:33], 5], 6, "node 6 is none.*like 'n0'.* Row numbers are not taken"),
        (WORDS, "zoe", "node 'zoe' is none of the graph's ids, which are like 'n0'"),
        (WORDS, ["n1"], "is none of the graph's ids"),
        (WORDS, True, "is none of the graph's ids"),
    ],
)
def test_what_could_mean_two_nodes_is_refused(names, given, message):
    learner = learner_of("msg", renamed(names))
    with pytest.raises(InputError, match=message):
        learner.decide(given)
    with pytest.raises(InputError, match=message):
        learner.run([given], renamed(names).codes)


def test_by_row_speaks_row_numbers_whatever_the_ids():
    graph = renamed(YEARS)
    learner = learner_of("msg", graph).by_row()
    assert learner.decide(5).node == 5
    assert learner.run(range(34), graph.codes).node.tolist() == list(range(34))


def test_ids_that_json_cannot_keep_are_refused_when_saved(tmp_path):
    graph = renamed([complex(i, 1) for i in range(34)])
    learner = learner_of("msg", graph)
    assert learner.decide(3 + 1j).row == 3
    with pytest.raises(InputError, match=r"nodes\.0: 1j of type complex cannot be saved; use text"):
        learner.save(tmp_path / "a.npz")
    learner.by_row().save(tmp_path / "a.npz")
    assert Learner.load(tmp_path / "a.npz").decide(3).node == 3


def test_an_embedding_knows_the_ids_of_its_graph():
    graph = as_graph([("a", "b"), ("b", "c"), ("c", "a")])
    rows = embed(graph, rank=2, cache=False)
    assert rows.nodes == ("a", "b", "c")
    assert rows.extend([[0]]).nodes is None
    grown = as_graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    assert rows.follow(grown).nodes == ("a", "b", "c", "d")
    assert rows.follow(grown, stale=0.9).nodes == ("a", "b", "c", "d")
    assert embed(load_graph("karate"), rank=3, cache=False).nodes is None


def test_ids_of_a_graph_that_grows():
    def square(*more):
        return as_graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), *more])

    rows = embed(square(), rank=2, cache=False)
    learner = ALGORITHMS["cmog"](rows, 2)
    learner.run(["a", "c"], {"a": 0, "c": 1})
    followed = rows.follow(square(("d", "e")))
    assert learner.follow(followed).ids.names == tuple("abcde")
    assert learner.run(["e"], {"e": 1}).node.tolist() == ["e"]
    for other in (
        embed(as_graph([(c, "z") for c in "vwxy"] + [("v", "u")]), rank=2, cache=False),
        followed.extend([[0]]),
    ):
        with pytest.raises(InputError, match=r"the learner knows 5 nodes by ids.*learner\.by_row\(\)"):
            learner.follow(other)
    assert learner.by_row().follow(followed.extend([[0]])).decide(5).node == 5

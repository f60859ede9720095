"""The rules inside scikit-activeml and river decide as our own learners do."""

import numpy as np
import pytest

from querist import ALGORITHMS, datasets, embed
from querist.errors import InputError, UnknownNameError
from querist.graph import Graph

pytest.importorskip("skactiveml")
pytest.importorskip("river")

from querist.adapters import GraphAsker, GraphClassifier, RiverBudgetedLeastSquares, SelectiveSampling
from querist.adapters.activeml import SELECTIVE


@pytest.fixture(scope="module")
def digits():
    graph = datasets.load_graph("digits")
    rows = embed(graph, rank=12, cache=False)
    order = np.random.default_rng(0).permutation(graph.n_nodes)[:150]
    return rows, graph.codes, order


def streamed(strategy, rows, codes, order, block=1):
    """What the strategy asks about, its answers fed back as scikit-activeml's users do."""
    X, y, asked = [], [], []
    for start in range(0, len(order), block):
        nodes = order[start : start + block]
        known = {"X": np.array(X), "y": np.array(y)} if X else {}
        before = strategy.query(rows[nodes], **known)
        indices, utilities = strategy.query(rows[nodes], **known, return_utilities=True)
        assert before.tolist() == indices.tolist(), "a query changes nothing"
        assert ((utilities >= 0) & (utilities <= 1)).all()
        assert strategy.update(rows[nodes], indices) is strategy
        for i in indices:
            asked.append(int(nodes[i]))
            X.append(rows[nodes[i]])
            y.append(codes[nodes[i]])
    return asked


SETTINGS = {
    "dgs": {"alpha": 0.3},
    "bbq_eps": {"eps": 0.3},
    "sslgc": {"kappa": 0.3},
}


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(SELECTIVE))
def test_the_strategy_asks_and_learns_what_the_learner_does(digits, method):
    """Query by query and update by update, with the algorithm's own rule of what is learned."""
    embedding, codes, order = digits
    parameters = SETTINGS.get(method, {})
    strategy = SelectiveSampling(method, classes=range(10), parameters=parameters, random_state=3)
    asked = streamed(strategy, embedding.rows, codes, order)
    uniforms = np.random.RandomState(3).random_sample(len(order))
    trace = ALGORITHMS[method](embedding, 10, **parameters).run(order, codes, uniforms=uniforms)
    assert asked == trace.node[trace.asked].tolist()
    # With ten classes CMOG asks in all of these rounds: it learns mistakes only.
    assert 5 < len(asked) < 150 or method == "cmog_selected"
    strategy.query(embedding.rows[:1], X=embedding.rows[asked], y=codes[asked])
    assert strategy.learned_.tolist() == trace.updated[trace.asked].tolist()


def test_the_rules_of_learning_differ():
    """Otherwise the test above could not tell them apart: MSG learns some answers, the others all or few."""
    karate = datasets.load_graph("karate")
    rows = embed(karate, rank=8, cache=False).rows
    learned = {}
    for method in ("msg", "cmog_selected", "bbq"):
        strategy = SelectiveSampling(method, classes=[0, 1], parameters=SETTINGS.get(method))
        strategy.query(rows[:1], X=rows, y=karate.codes)
        learned[method] = int(strategy.learned_.sum())
    assert learned["cmog_selected"] < learned["msg"] < learned["bbq"] == 34


@pytest.mark.parametrize("method", ["msg", "sslgc"])
def test_late_answers_and_blocks_are_a_learners(digits, method):
    """Blocks of seven, answered after the next block: a learner that decides, commits and learns likewise."""
    embedding, codes, order = digits
    strategy = SelectiveSampling(method, classes=range(10), random_state=3)
    learner = ALGORITHMS[method](embedding, 10)
    uniforms = np.random.RandomState(3).random_sample(len(order))
    answered, waiting, learned = [], [], []
    for start in range(0, 84, 7):
        nodes = order[start : start + 7]
        known = {"X": embedding.rows[answered], "y": codes[answered]} if answered else {}
        asked = nodes[strategy.query(embedding.rows[nodes], **known)].tolist()
        strategy.update(embedding.rows[nodes], np.flatnonzero(np.isin(nodes, asked)))
        ours = []
        for i, node in enumerate(nodes.tolist()):
            learner.round = start + i
            ours.append(learner.decide(node, uniforms[start + i]))
        for decision in ours:
            learner.round = decision.round - 1
            learner.commit(decision)
        assert asked == [each.node for each in ours if each.ask]
        learned += [learner.learn(node, int(codes[node])) for node in waiting]
        answered, waiting = answered + waiting, asked
    strategy.query(embedding.rows[:1], X=embedding.rows[answered], y=codes[answered])
    assert strategy.learned_.tolist() == learned
    assert 0 < sum(learned) < len(learned)


def test_a_budget_holds_at_every_moment(digits):
    embedding, codes, order = digits
    strategy = SelectiveSampling("random_sampling", classes=range(10), parameters={"p": 1.0}, budget=0.2)
    asked = streamed(strategy, embedding.rows, codes, order, block=7)
    places = np.searchsorted(np.arange(len(order)), [order.tolist().index(node) for node in asked])
    assert len(asked) == 30
    assert all(k + 1 <= 0.2 * (place + 1) + 1 for k, place in enumerate(places))


def test_it_is_an_estimator_that_can_be_cloned():
    from sklearn.base import clone

    strategy = clone(SelectiveSampling("bbq", classes=["a", "b"], parameters={"kappa": 0.2}))
    assert strategy.query(np.eye(2), X=np.eye(2), y=["a", "b"]).tolist() == []


@pytest.mark.parametrize(
    ("strategy", "given", "message"),
    [
        (SelectiveSampling("mgs", classes="ab"), {}, "did you mean 'msg'"),
        (SelectiveSampling("msg"), {}, "name the classes"),
        (SelectiveSampling("sslgc"), {"X": np.eye(2), "y": [0, 1]}, "problem for every class"),
        (SelectiveSampling("msg", classes="ab"), {"X": np.eye(2)}, "go together"),
    ],
)
def test_what_cannot_be_is_said(strategy, given, message):
    with pytest.raises((InputError, UnknownNameError), match=message):
        strategy.query(np.eye(2), **given)
    with pytest.raises(InputError, match="the same candidates"):
        SelectiveSampling("msg", classes="ab").update(np.eye(2), [0])


@pytest.mark.parametrize("method", ["msg", "bbq", "sslgc"])
def test_rivers_active_classifier_is_a_run_of_the_learner(digits, method):
    embedding, codes, order = digits
    model = GraphAsker(GraphClassifier(embedding, list(range(10)), method, {"seed": 4}))
    asked = []
    for node in order.tolist():
        guess, ask = model.predict_one({"node": node})
        assert guess in (*range(10), None)
        if ask:
            asked.append(node)
            model.learn_one({"node": node}, int(codes[node]))
    trace = ALGORITHMS[method](embedding, 10, seed=4).run(order, codes)
    assert asked == trace.node[trace.asked].tolist()
    assert len(asked) > 0


def test_rivers_metrics_and_unasked_labels(digits):
    from river import metrics

    embedding, codes, order = digits
    model, accuracy = GraphClassifier(embedding, list(range(10))), metrics.Accuracy()
    for node in order.tolist():
        guess = model.predict_one({"node": node})
        accuracy.update(int(codes[node]), -1 if guess is None else guess)
        model.learn_one({"node": node}, int(codes[node]))
    assert accuracy.get() > 0.6
    with pytest.raises(InputError, match="none of the classes"):
        model.learn_one({"node": 0}, "zebra")
    with pytest.raises(InputError, match="no feature 'node'"):
        model.predict_one({"x": 1})


# -- the user's own node ids ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def club():
    karate = datasets.load_graph("karate")
    names = [f"n{i}" for i in range(34)]
    graph = Graph(karate.adjacency, nodes=names, known=karate.known)
    return names, embed(graph, rank=8, cache=False), embed(karate, rank=8, cache=False), karate.codes


def test_river_takes_the_ids_of_the_graph(club):
    names, named, plain, codes = club
    ours, theirs = GraphAsker(GraphClassifier(named, [0, 1])), GraphAsker(GraphClassifier(plain, [0, 1]))
    for row, name in enumerate(names):
        guess = ours.predict_one({"node": name})
        assert guess == theirs.predict_one({"node": row})
        if guess[1]:
            ours.learn_one({"node": name}, int(codes[row]))
            theirs.learn_one({"node": row}, int(codes[row]))
    with pytest.raises(InputError, match="none of the graph's ids"):
        ours.predict_one({"node": "zoe"})


def test_scikit_activeml_takes_the_ids_of_the_graph(club):
    names, named, plain, codes = club
    known = {"y": codes[:5]}
    ours = SelectiveSampling("bbq", classes=[0, 1], embedding=named)
    theirs = SelectiveSampling("bbq", classes=[0, 1])
    rows = SelectiveSampling("bbq", classes=[0, 1], embedding=plain.rows)
    wanted = theirs.query(plain.rows[5:], X=plain.rows[:5], **known).tolist()
    assert 0 < len(wanted) < 29
    assert ours.query(names[5:], X=names[:5], **known).tolist() == wanted
    assert ours.query(np.array(names[5:])[:, None], X=names[:5], **known).tolist() == wanted
    assert rows.query(range(5, 34), X=range(5), **known).tolist() == wanted
    assert ours.update(np.array(names[5:])[:, None], wanted) is ours
    with pytest.raises(InputError, match="none of the graph's ids"):
        ours.query(["zoe"])


@pytest.mark.parametrize("call", ["predict_one", "predict_proba_one"])
def test_a_keyword_that_nobody_knows_is_refused(digits, call):
    model = GraphClassifier(digits[0], classes=range(10))
    for each in (model, GraphAsker(model), RiverBudgetedLeastSquares()):
        with pytest.raises(TypeError, match="wrong"):
            getattr(each, call)({"node": 0}, wrong=1)

"""Asking: what follows from a journal, and every way to answer."""

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from querist import as_graph, from_points
from querist.asking.campaign import ask
from querist.asking.policy import due
from querist.asking.results import Audit
from querist.asking.store.events import Event, StoreError
from querist.asking.store.sqlite import SqliteStore, StoredCampaign
from querist.embedding import Embedding
from querist.errors import InputError

CHOICES = [
    {"strategy": "pool"},
    {"strategy": "ambiguity"},
    {"strategy": "margin"},
    {"strategy": "random"},
]


def planted(n=60, seed=0, attributes=True):
    """Three groups of nodes that link and write alike, and their labels by node."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    edges = [
        (f"n{i}", f"n{j}")
        for i in range(n)
        for j in range(i)
        if rng.random() < (0.25 if group[i] == group[j] else 0.02)
    ]
    words = (rng.random((n, 12)) < np.where(np.arange(12) % 3 == group[:, None], 0.5, 0.05)).astype(float)
    ids = [f"n{i}" for i in range(n)]
    graph = as_graph(edges, nodes=ids, attributes=words if attributes else None)
    return graph, dict(zip(ids, [f"class {k}" for k in group], strict=True))


def asked(asking):
    """Nodes by turn."""
    return [asking.graph.nodes[turn.row] for turn in asking.state.turns]


def same_state(one, other):
    assert one.question == other.question
    same_model(one, other)


def same_model(one, other):
    a, b = one.state, other.state
    assert [*a.turns] == [*b.turns]
    for name in ("rows", "scores", "answers"):
        np.testing.assert_array_equal(getattr(a.model, name), getattr(b.model, name), err_msg=name)
    for one_state, other_state in zip(states(a.model), states(b.model), strict=True):
        np.testing.assert_array_equal(one_state.P, other_state.P)
        np.testing.assert_array_equal(one_state.r, other_state.r)


def states(model):
    """All that is of second order."""
    return [*model.regressions, model.choosing]


@pytest.mark.slow
@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_it_asks_once_each_only_what_it_must_and_ends_at_the_budget(chosen):
    graph, labels = planted()
    called = []

    def oracle(node):
        called.append(node)
        return labels[node]

    result = ask(graph, oracle, budget=12, classes=sorted(set(labels.values())), audit=3, **chosen)
    assert called == asked(result)
    assert len(called) == len(set(called)) == 12
    assert result.stopped == "the budget of 12 answers is spent"
    assert result.answers == {node: labels[node] for node in called}
    right = np.mean([found == labels[node] for node, found in zip(graph.nodes, result.labels, strict=True)])
    assert right > 0.7
    assert all(result.labels[graph.row_of[node]] == labels[node] for node in called)


def test_the_pool_is_better_than_chance():
    graph, labels = planted(150)
    truth = np.array(list(labels.values()))

    def accuracy(**chosen):
        found = ask(graph, labels, budget=12, **chosen).state.model.scores.argmax(axis=1)
        return (np.array(sorted(set(truth)))[found] == truth).mean()

    assert accuracy() > np.mean([accuracy(strategy="random", seed=seed) for seed in range(5)])


def test_labels_that_the_graph_holds_are_not_looked_at():
    graph, labels = planted()
    told = as_graph(graph, labels=[labels[node] for node in graph.nodes])
    wrong = dict.fromkeys(labels, "class 0") | {"n1": "class 1", "n2": "class 2"}
    assert ask(told, wrong, budget=8).answers == ask(graph, wrong, budget=8).answers


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("attributes", [True, False], ids=["attributes", "edges alone"])
def test_a_journal_gives_the_same_state_again(tmp_path, chosen, attributes):
    graph, labels = planted(attributes=attributes)
    classes = sorted(set(labels.values()))
    one = ask(graph, None, budget=20, classes=classes, audit=3, journal=tmp_path / "j", **chosen)
    for turn, what in enumerate("aasaaua?asauuaa"):
        question = one.question
        {
            "a": lambda node=question.node: one.answer(labels.get(node, "class 0")),
            "s": one.skip,
            "?": one.unsure,
            "u": one.undo,
        }[what]()
        if turn == 9:
            one.extend([("new", "n0"), ("new", "n3"), ("newer", "new")])
    assert one.question is not None
    one.close()
    two = ask(graph, None, budget=20, audit=3, journal=tmp_path / "j", **chosen)
    assert two.resumed
    assert two.graph.n_nodes == 62
    same_state(one, two)
    two.close()


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
@pytest.mark.parametrize("many", [1, 40], ids=["remembered", "learned anew"])
def test_an_answer_that_was_taken_back_was_never_there(chosen, many):
    graph, labels = planted()
    classes = sorted(set(labels.values()))
    one, other = (ask(graph, None, budget=50, classes=classes, **chosen) for _ in range(2))
    while (question := one.question) is not None and one.asked < 45:
        one.answer(labels[question.node])
    many = min(many, one.asked - 1)
    left = one.asked - many
    for _ in range(many):
        assert one.undo()
    while other.asked < left:
        other.answer(labels[other.question.node])
    same_state(one, other)
    wrong = next(name for name in classes if name != labels[one.question.node])
    one.answer(wrong)
    assert list(one.answers.values())[-1] == wrong


@pytest.mark.parametrize("several", [{}, {"noise": 0.1}])
def test_who_looks_at_the_model_changes_nothing(several):
    graph, labels = planted()
    one, other = (
        ask(graph, None, budget=20, classes=sorted(set(labels.values())), **several) for _ in range(2)
    )
    while one.question is not None:
        model = one.state.model
        assert model.scores.shape[0] == model.variance.size == model.ambiguity.size
        assert one.expected_accuracy is None or 0 <= one.expected_accuracy <= 1
        for asking in (one, other):
            asking.answer(labels[asking.question.node])
    same_model(one, other)
    for mine, others in zip(one.state.model.answered, other.state.model.answered, strict=True):
        np.testing.assert_array_equal(mine.W, others.W)


def test_questions_that_were_put_elsewhere_count_as_open():
    graph, labels = planted()
    here, there = (ask(graph, labels, budget=12) for _ in range(2))
    there.state.apply(Event(1000, 0.0, "question", {"row": (row := here.state.pick().row), "audit": False}))
    # Of a state that has not heard of a question, and of one that has: rows it does not know are left out.
    unheard = next(here.state.picking(5, put=[row, row, 10**6]))
    heard = next(there.state.picking(5))
    assert [pick.row for pick in unheard] == [pick.row for pick in heard]
    assert row not in {pick.row for pick in unheard}
    assert [pick.row for pick in unheard] != [pick.row for pick in next(here.state.picking(5))]


def test_undo_before_any_answer_does_nothing():
    graph, _ = planted()
    asking = ask(graph, classes=["class 0", "class 1"])
    assert not asking.undo()
    before = asking.question
    assert before.guess is None, "nothing has reached it yet"
    assert not asking.undo()
    assert asking.question == before


class Failing(SqliteStore):
    """A journal on a disk that fills up."""

    room = 10**9

    def _commit(self, statements):
        if self.room == 0:
            raise StoreError("the disk is full")
        self.room -= 1
        super()._commit(statements)


@pytest.mark.parametrize("what", ["answer", "question"])
def test_nothing_is_learned_or_shown_that_is_not_written(what):
    graph, labels = planted()
    journal = Failing(None)
    stored = StoredCampaign(journal, "c", "on a full disk", [])
    asking = ask(graph, None, budget=9, classes=sorted(set(labels.values())), journal=stored)
    asking.answer(labels[asking.question.node])
    if what == "answer":
        assert asking.question is not None
    journal.room = 0
    before = asking.state.model
    if what == "answer":
        with pytest.raises(StoreError):
            asking.answer("class 1")
    else:
        with pytest.raises(StoreError):
            _ = asking.question
    assert asking.state.model is before
    assert len(asking.answers) == 1
    journal.room = 100
    assert [event.kind for event in journal.events("c")][:3] == ["campaign", "question", "answer"]
    asking.answer(labels[asking.question.node])
    assert len(asking.answers) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classes": ["class 0", "class 1"]}, "begun with classes class 0, class 1, class 2, now it is"),
        ({"strategy": "random"}, "begun with strategy 'contrast', now it is 'random'"),
        ({"seed": 4}, "begun with seed 0"),
        ({"audit": 2}, "begun with audit 0"),
        ({"graph": planted(57)[0]}, "begun with another graph"),
        ({"graph": planted(seed=9)[0]}, "begun with another graph"),
        ({"graph": planted(attributes=False)[0]}, "begun with another graph"),
    ],
    ids=["classes", "strategy", "seed", "audit", "nodes", "edges", "attributes"],
)
def test_a_journal_of_something_else_is_refused(tmp_path, changed, message):
    graph, labels = planted()
    ask(graph, labels, budget=3, journal=tmp_path / "j").close()
    given = {"graph": graph, "classes": sorted(set(labels.values())), **changed}
    with pytest.raises(InputError, match=message):
        ask(**given, journal=tmp_path / "j")


def test_options_that_are_not_given_are_those_of_the_journal(tmp_path):
    """Also those that changed since it was begun; a change is kept as an event."""
    graph, labels = planted()
    wanted = {"budget": 5, "stop": 1e-9, "unanswered": 7, "method": "wvrn"}
    changes = [{}, {"budget": 6}, {}, {"stop": None, "method": "walks"}, {}]
    for opened, changed in enumerate(changes):
        wanted |= changed
        asking = ask(graph, labels, journal=tmp_path / "j", **(changed if opened else wanted))
        assert {name: getattr(asking.specification, name) for name in wanted} == wanted
        kinds = [event.kind for event in asking.store.events(asking.id)]
        assert kinds.count("options") == sum(map(bool, changes[: opened + 1]))
        asking.close()


def test_a_journal_goes_on_by_the_strategy_it_was_begun_with(tmp_path):
    graph, labels = planted()
    whole = ask(graph, labels, budget=9, strategy="ambiguity", method="wvrn")
    ask(graph, labels, budget=4, strategy="ambiguity", journal=tmp_path / "j", method="wvrn").close()
    again = ask(graph, labels, budget=9, journal=tmp_path / "j", method="wvrn")
    assert again.specification.strategy == "ambiguity"
    assert asked(again) == asked(whole)
    again.close()
    with pytest.raises(InputError, match="begun with strategy 'ambiguity', now it is 'contrast'"):
        ask(graph, labels, budget=9, strategy="contrast", journal=tmp_path / "j")


@pytest.mark.parametrize("attributes", [False, True])
def test_every_large_component_is_asked_about_early(attributes):
    """Three planted graphs of 60 nodes that nothing joins, words of their own."""
    parts = [planted(seed=seed, attributes=False) for seed in range(3)]
    edges, labels = [], {}
    for p, (graph, own) in enumerate(parts):
        rows = np.column_stack(graph.adjacency.nonzero()).tolist()
        edges += [(f"{p} {graph.nodes[i]}", f"{p} {graph.nodes[j]}") for i, j in rows if i < j]
        labels |= {f"{p} {node}": label for node, label in own.items()}
    ids = list(labels)
    words = np.zeros((len(ids), 9))
    for i, node in enumerate(ids):
        words[i, 3 * int(node[0]) : 3 * int(node[0]) + 3] = np.eye(3)[int(labels[node][-1])] + 0.2
    graph = as_graph(edges, nodes=ids, attributes=words if attributes else None)
    found = ask(graph, labels, budget=6, method="wvrn")
    assert {node[0] for node in found.answers} == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("edges", "n", "words"),
    [
        ([(0, leaf) for leaf in range(1, 9)], 9, None),
        ([(0, leaf) for leaf in range(1, 9)], 9, np.ones((9, 2))),
        ([], 1, np.ones((1, 2))),
        ([(0, 2), (1, 2), (2, 3)], 4, np.array([[1.0, 0], [1, 0], [0, 1], [1, 1]])),
    ],
    ids=["star", "star with equal words", "one node", "twins"],
)
def test_small_graphs_are_asked_about_to_the_end_each_node_once(edges, n, words):
    graph = as_graph(edges, nodes=range(n), attributes=words)
    labels = {node: "ab"[node % 2] for node in range(n)}
    found = ask(graph, labels.get, budget=n + 1, classes=["a", "b"], method="wvrn")
    assert sorted(asked(found)) == list(range(n))
    assert found.labels == list(labels.values())


def test_known_labels_are_not_asked_for_anew():
    """Where a third of the groups is known, the first questions are about the others."""
    graph, labels = planted(150)
    known = {node: label for node, label in labels.items() if label == "class 0"}
    found = ask(graph, labels, budget=2, labels=known, method="wvrn")
    assert set(found.answers.values()) == {"class 1", "class 2"}


def test_the_budget_can_be_raised_and_what_was_asked_stays(tmp_path):
    graph, labels = planted()
    first = ask(graph, labels, budget=5, journal=tmp_path / "j")
    first.close()
    more = ask(graph, labels, budget=9, journal=tmp_path / "j")
    assert asked(more)[:5] == asked(first)
    assert more.asked == 9
    kinds = [event.kind for event in more.store.events(more.id)]
    assert kinds.count("stop") == 2
    more.close()


# -- audit, stop ------------------------------------------------------------------------


def test_the_audit_is_spread_evenly_and_taught_to_nobody():
    graph, labels = planted()
    result = ask(graph, labels, budget=20, audit=5)
    positions = [t for t, turn in enumerate(result.state.turns) if turn.audit]
    assert positions == [3, 7, 11, 15, 19]
    plain = ask(graph, labels, budget=15)
    audit = {turn.row for turn in result.state.turns if turn.audit}
    if not audit & {turn.row for turn in plain.state.turns}:
        np.testing.assert_array_equal(result.state.model.scores, plain.state.model.scores)
    assert list(result.state.audit_rows) == np.random.default_rng(0).permutation(60)[:5].tolist()
    assert len(result.answers) == 20


@pytest.mark.parametrize("strategy", ["pool", "random"])
def test_no_chooser_asks_about_a_node_of_the_audit(strategy):
    graph, labels = planted()
    state = ask(graph, labels, budget=20, strategy=strategy, audit=15).state
    assert not {turn.row for turn in state.turns if not turn.audit} & set(state.audit_rows)
    assert {turn.row for turn in state.turns if turn.audit} <= set(state.audit_rows)
    free = ask(
        graph, None, budget=59, classes=sorted(set(labels.values())), strategy=strategy, audit=57
    ).state.free
    assert free.sum() == 3


@pytest.mark.parametrize(("audit", "budget"), [(5, 20), (3, 10), (10, 10), (1, 7), (0, 5)])
def test_all_of_the_audit_is_due_by_the_end_of_the_budget(audit, budget):
    done = 0
    for t in range(budget):
        done += due(t, done, audit, budget)
    assert done == audit


@pytest.mark.slow
def test_the_audit_is_unbiased_where_chosen_answers_are_not():
    """Over many draws its mean is the accuracy of the predictions on nodes not asked; the guesses' is not."""
    graph, labels = planted(200, seed=3)
    rng = np.random.default_rng(0)
    labels |= {f"n{row}": f"class {rng.integers(3)}" for row in rng.permutation(200)[:70]}  # not to be known
    truth = np.array([labels[node] for node in graph.nodes])
    audited, true, guessed = [], [], []
    for seed in range(8):
        result = ask(graph, labels, budget=60, strategy="ambiguity", audit=30, seed=seed, method="wvrn")
        audited.append(result.audit.accuracy)
        chosen = result.state.answers(audit=False)
        unasked = ~np.isin(np.arange(200), list(chosen))
        true.append((np.array(result.label_from(chosen).labels) == truth)[unasked].mean())
        asked = [turn for turn in result.state.turns if not turn.audit and turn.about["guess"] is not None]
        guessed.append(np.mean([turn.about["guess"] == turn.code for turn in asked]))
    spread = np.std(audited) / np.sqrt(len(audited))
    assert abs(np.mean(audited) - np.mean(true)) < 3 * spread
    assert np.mean(true) < 0.95
    assert abs(np.mean(guessed) - np.mean(true)) > 0.1


@pytest.mark.parametrize(("right", "answered"), [(0, 10), (7, 10), (10, 10), (83, 100)])
def test_the_interval_is_wilsons(right, answered):
    from scipy.stats import binomtest

    expected = binomtest(right, answered).proportion_ci(method="wilson")
    assert Audit(right, answered).interval == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_it_stops_when_an_answer_is_expected_to_gain_little():
    graph, labels = planted(150)
    early = ask(graph, labels, budget=120, stop=0.005, audit=6)
    assert "expected to gain" in early.stopped
    assert 10 <= early.asked < 120
    assert len(early.state.answers(audit=True)) == 6, "the audit is asked in full before it ends"
    assert (
        ask(graph, labels, budget=120, stop=0.0001).asked > ask(graph, labels, budget=120, stop=0.005).asked
    )
    gains = [turn.about["gain"] for turn in early.state.turns if not turn.audit]
    assert np.mean(gains[-10:]) < 0.005 <= np.mean(gains[-11:-1])


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["contrast", "coverage", "ambiguity", "margin"])
def test_a_question_is_chosen_within_100_ms_on_20_000_nodes(rule):
    from querist.asking.choosers import most_valuable
    from querist.asking.model import RANKS, QuickModel
    from querist.asking.strategies import STRATEGIES

    rng = np.random.default_rng(0)
    rows = Embedding(
        rng.standard_normal((20_000, max(RANKS))), np.zeros(20_000, dtype=np.int64), kind="given"
    )
    model, free, took = QuickModel.start(rows, 3, (1.0, 2.0)), np.ones(20_000, dtype=bool), []
    for code in range(5):
        started = time.thread_time()  # of this thread alone: what else the machine does is not counted
        row = most_valuable(STRATEGIES[rule], model, free)[0].row
        model = model.learn(row, code % 3)
        took.append(time.thread_time() - started)
    assert min(took) < 0.1


def test_the_default_of_the_pool_covers_measurements_and_contrasts_words_and_links():
    random = np.random.default_rng(0)
    points = from_points(random.standard_normal((30, 3)), labels=[0, 1] * 15)
    words = replace(points, attributes=sp.csr_array(np.eye(30)))
    links = replace(points, attributes=None)
    for graph, rule in ((points, "coverage"), (words, "contrast"), (links, "contrast")):
        assert ask(graph, classes=[0, 1], budget=3).specification.strategy == rule
    assert ask(points, classes=[0, 1], budget=3, strategy="contrast").specification.strategy == "contrast"


# -- a graph that grows -------------------------------------------------------------------


def test_a_graph_that_grew_is_labelled_as_if_it_had_always_been_so():
    graph, labels = planted()
    whole, all_labels = planted(66, seed=0)
    asking = ask(graph, None, budget=20, classes=sorted(set(labels.values())))
    for _ in range(6):
        asking.answer(labels[asking.question.node])
    edges = [
        (whole.nodes[i], whole.nodes[j])
        for i, j in zip(*whole.adjacency.nonzero(), strict=True)
        if i >= 60 and j < i
    ]
    words = {node: whole.attributes.toarray()[whole.row_of[node]] for node in whole.nodes[60:]}
    asking.extend(edges, words)
    assert asking.graph.nodes == whole.nodes
    assert (asking.graph.adjacency != whole.adjacency).nnz == 0
    while (question := asking.question) is not None:
        asking.answer(all_labels[question.node])
    from querist.labelling import label

    scratch = label(asking.graph, asking.answers, classes=asking.classes, picked=True)
    np.testing.assert_array_equal(asking.labelling.probabilities, scratch.probabilities)
    truth = [all_labels[node] for node in whole.nodes]
    fresh = ask(asking.graph, all_labels, budget=20)
    grown = np.mean([a == b for a, b in zip(asking.labels, truth, strict=True)])
    assert grown >= np.mean([a == b for a, b in zip(fresh.labels, truth, strict=True)]) - 0.1


def test_what_arrives_again_is_not_added_again(tmp_path):
    graph, labels = planted()
    asking = ask(graph, None, budget=9, classes=sorted(set(labels.values())), journal=tmp_path / "j")
    asking.answer(labels[asking.question.node])
    asking.extend([("x", "n1"), ("n2", "n4")])
    asking.extend([("n1", "x"), ("n2", "n4")])
    assert [event.kind for event in asking.store.events(asking.id)].count("growth") == 1
    assert asking.graph.n_nodes == 61
    asking.close()
    again = ask(graph, None, budget=9, journal=tmp_path / "j")
    again.extend([("x", "n1")])
    assert (again.graph.adjacency != asking.graph.adjacency).nnz == 0
    assert again.graph.nodes == asking.graph.nodes
    assert [event.kind for event in again.store.events(again.id)].count("growth") == 1
    again.close()


@pytest.mark.parametrize(("strategy", "drawn"), [("pool", False), ("random", True)])
def test_shares_of_the_classes_are_taken_from_random_answers_only(strategy, drawn):
    graph, labels = planted()
    asking = ask(graph, labels, budget=20, strategy=strategy, seed=2)
    _, counts = np.unique(list(asking.answers.values()), return_counts=True)
    assert np.ptp(counts) > 1, "equal numbers would say nothing anyway"
    assert any("shares were matched" in sentence for sentence in asking.labelling.choice.why) == drawn


def test_a_labelling_is_made_anew_when_the_graph_grows():
    graph, labels = planted()
    asking = ask(graph, labels, budget=9)
    before = asking.labelling
    assert asking.labelling is before
    asking.extend([("n0", "n59", 7.5)])
    assert asking.labelling.graph is asking.graph
    assert asking.labelling is not before


def test_new_nodes_can_be_asked_about():
    graph, labels = planted(12)
    asking = ask(graph, None, budget=50, classes=sorted(set(labels.values())))
    asking.extend([("x", "n1"), ("y", "n2")])
    while (question := asking.question) is not None:
        asking.answer(labels.get(question.node, "class 0"))
    assert {"x", "y"} <= set(asking.answers)
    assert asking.stopped == "no node is left to ask about"


# -- labels that are known ------------------------------------------------------------------


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_known_labels_are_learned_first_never_asked_and_kept(tmp_path, chosen):
    graph, labels = planted()
    known = {node: labels[node] for node in list(labels)[:20]}
    one = ask(graph, labels, budget=12, labels=known, audit=4, journal=tmp_path / "j", **chosen)
    assert not set(asked(one)) & set(known), "nobody is asked what is known"
    assert one.asked <= 12 and one.known == known
    assert not set(one.state.audit_rows) & set(one.state.known)
    half = ask(graph, None, budget=6, labels=known, classes=one.classes, audit=4, **chosen)
    assert half.state.model.answers.sum() == 20, "before any question"
    last = one.question
    one.close()
    two = ask(graph, None, budget=12, audit=4, journal=tmp_path / "j", **chosen)
    assert two.known == known and two.question == last
    same_model(one, two)
    again = ask(graph, None, budget=12, labels=known, audit=4, classes=one.classes, **chosen)
    again.tell(known)
    assert len([e for e in again.store.events(again.id) if e.kind == "known"]) == 1


def test_many_labels_at_once_are_those_one_by_one():
    graph, labels = planted()
    model = ask(graph, None, classes=sorted(set(labels.values()))).state.model
    rng = np.random.default_rng(3)
    rows, codes = rng.permutation(60)[:25].tolist(), rng.integers(3, size=25).tolist()
    slow = model.learn(7, 1)
    quick = slow.learn_all(rows, codes)
    for row, code in zip(rows, codes, strict=True):
        slow = slow.learn(row, code)
    for one, other in zip(states(quick), states(slow), strict=True):
        np.testing.assert_allclose(one.P, other.P, atol=1e-10)
        np.testing.assert_allclose(one.r, other.r, atol=1e-10)
    np.testing.assert_allclose(quick.scores, slow.scores, atol=1e-10)
    np.testing.assert_array_equal(quick.answers, slow.answers)


def test_labels_that_become_known_on_the_way_withdraw_their_question(tmp_path):
    graph, labels = planted()
    one = ask(
        graph, None, budget=9, classes=sorted(set(labels.values())), audit=9 - 6, journal=tmp_path / "j"
    )
    for _ in range(4):
        one.answer(labels[one.question.node])
    node = one.question.node
    answered = next(iter(one.answers))
    one.tell({node: labels[node], answered: labels[answered]})
    assert one.known == {node: labels[node]}
    assert one.question.node != node
    with pytest.raises(InputError, match="and the journal has it as"):
        one.tell({answered: next(name for name in one.classes if name != labels[answered])})
    last = one.question
    one.close()
    two = ask(graph, None, budget=9, audit=3, journal=tmp_path / "j")
    assert two.question == last
    same_model(one, two)


def test_known_labels_in_any_form_also_after_the_graph_grew():
    import pandas as pd

    graph, labels = planted(12)
    asking = ask(graph, None, classes=sorted(set(labels.values()))).extend([("x", "n1")])
    asking.tell([labels["n0"], None, labels["n2"], *[None] * 9])
    asking.tell(pd.Series({"x": "class 1", "n5": labels["n5"]}))
    assert asking.known == {"n0": labels["n0"], "n2": labels["n2"], "n5": labels["n5"], "x": "class 1"}


def test_an_audit_can_judge_known_labels_alone():
    graph, labels = planted()
    known = {node: labels[node] for node in list(labels)[:30]}
    result = ask(graph, labels, budget=10, labels=known, audit=10)
    assert result.audit.answered == 10 and not result.state.answers(audit=False)
    with pytest.raises(InputError, match="leaves no question to learn from"):
        ask(graph, labels, budget=10, audit=10)


def test_negative_weights_are_refused_before_anybody_answers():
    signed = as_graph([("a", "b", 1.0), ("b", "c", -2.0), ("a", "c", 1.0)])
    with pytest.raises(InputError, match=r"1 edge with a negative weight, the first -2 between 'b' and 'c'"):
        ask(signed, classes=["x", "y"])


# -- who answers ----------------------------------------------------------------------------


def test_neither_unsure_nor_skip_spends_the_budget_of_answers():
    graph, labels = planted()
    asking = ask(graph, None, budget=4, classes=sorted(set(labels.values())))
    first = asking.question.node
    asking.skip()
    second = asking.question.node
    asking.unsure()
    assert asking.question.number == 1
    asking.answer(None)
    while (question := asking.question) is not None:
        assert question.node not in (first, second)
        asking.answer(labels[question.node])
    found = asking.summary()
    assert (found["asked"], found["answers"], found["unsure"], found["skipped"]) == (4, 4, 2, 1)


@pytest.mark.parametrize(("unanswered", "put"), [(None, 10), (3, 3), (0, 0)])
def test_what_is_left_unanswered_has_a_limit_of_its_own(unanswered, put):
    graph, labels = planted()
    asking = ask(graph, None, budget=4, classes=sorted(set(labels.values())), unanswered=unanswered)
    while asking.question is not None:
        (asking.skip if asking.unanswered % 2 else asking.unsure)()
    assert (asking.asked, asking.unanswered) == (0, put)
    assert asking.stopped == f"{put} questions left unanswered, as many as may be"
    assert ask(graph, lambda node: None, budget=40, classes=["a", "b"]).unanswered == 40, (
        "as many as the budget"
    )
    with pytest.raises(InputError, match="unanswered = -1; it must be a whole number, 0 or more"):
        ask(graph, None, budget=4, classes=["a", "b"], unanswered=-1)


def test_what_pulls_a_node_makes_its_score():
    """All pulls together are the score itself: `f_i = sum_s m_i'P m_s y_s`."""
    graph, labels = planted()
    result = ask(graph, labels, budget=12)
    model, answers = result.state.model, result.state.answers()
    for row in (0, 7, 30):
        Y = np.eye(len(result.classes))[list(answers.values())]
        np.testing.assert_allclose(model.weights(row, list(answers)) @ Y, model.scores[row], atol=1e-9)
    node = next(v for v in graph.nodes if v not in result.answers)
    found = result.pulls(node, most=2)
    p = model.beliefs[graph.row_of[node]]
    likeliest = [result.classes[k] for k in np.argsort(-p, kind="stable")[:2]]
    assert {pull.label for pull in found} <= set(likeliest) and 0 < len(found) <= 4
    for pull in found:
        assert result.answers[pull.node] == pull.label and pull.weight > 0
        joined = graph.adjacency[graph.row_of[node], graph.row_of[pull.node]] != 0
        assert pull.adjacent == joined


def test_the_expected_accuracy_follows_the_answers():
    graph, labels = planted()
    asking = ask(graph, None, budget=45, classes=sorted(set(labels.values())), audit=5)
    assert asking.expected_accuracy is None and asking.pulls(graph.nodes[0]) == []
    expected = []
    while (question := asking.question) is not None:
        asking.answer(labels[question.node])
        expected += [] if question.audit else [asking.expected_accuracy]
    assert expected[:29] == [None] * 29, "too few answers"
    assert 0.6 < expected[29] <= expected[-1] + 0.01 <= 1.01
    everybody = ask(graph, labels, budget=graph.n_nodes, audit=5)
    assert everybody.expected_accuracy == 1.0


def test_a_node_that_the_known_labels_lack_is_unsure():
    graph, labels = planted(12)
    result = ask(graph, {node: labels[node] for node in list(labels)[:9]}, budget=12)
    assert (result.asked, result.unanswered) == (9, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: ask(g, lambda node: "cat"), "classes are not given"),
        (lambda g: ask(g, lambda node: "cat", classes=["a", "b"]), "answered with 'cat', which is none of"),
        (lambda g: ask(g, classes=["a"]), "name at least 2"),
        (lambda g: ask(g, classes=["a", "a"]), "twice"),
        (lambda g: ask(g, classes=["a", ("b",)]), "strings and numbers"),
        (lambda g: ask(g, classes="ab", strategy="pol"), "did you mean 'pool'"),
        (lambda g: ask(g, classes="ab", strategy="contrasts"), "did you mean 'contrast'"),
        (lambda g: ask(g, classes="ab", strategy="margi"), "did you mean 'margin'"),
        (lambda g: ask(g, classes="ab", audit=99), "between 0 and the 12 nodes"),
        (lambda g: ask(g, classes="ab", budget=0), "budget = 0; it must be a whole number, 1 or more"),
        (lambda g: ask(g, print, classes="ab", missing="a"), "missing = 'a' .* leave it out"),
        (lambda g: ask(g, classes="ab", missing="a"), "missing = 'a' .* leave it out"),
        (lambda g: ask(g, print, classes="ab", method="walk"), "unknown method 'walk'; did you mean 'walks'"),
        (lambda g: ask(g, [{"a"}] * 12), "several classes per node"),
        (lambda g: ask(g, classes="ab").answer("a"), "no question is open"),
        (lambda g: ask(g, classes="ab").labels, "no answer yet"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_what_cannot_be_is_said(call, message):
    with pytest.raises((InputError, KeyError), match=message):
        call(planted(12)[0])


@pytest.mark.slow
def test_it_shows_itself():
    graph, labels = planted()
    asking = ask(graph, None, budget=10, classes=sorted(set(labels.values())), audit=2)
    assert asking.question.node in asking._repr_html_()
    while (question := asking.question) is not None:
        asking.answer(labels[question.node])
    shown = asking._repr_html_()
    assert "<table>" in shown and "10 answers about 60 nodes" in shown
    assert "95 % interval" in shown and "budget of 10" in repr(asking)
    assert "audit, labelled from the other answers alone" in shown
    assert "actively selected" in ask(graph, labels, budget=5)._repr_html_()
    assert "actively selected" not in ask(graph, labels, budget=5, strategy="random")._repr_html_()


def test_an_id_with_half_of_a_character_is_refused():
    with pytest.raises(InputError, match="a node id contains half of a character"):
        ask([("a\ud800", "b"), ("b", "c")], lambda question: "x", classes=["x", "y"])

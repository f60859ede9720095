"""Several people, answers that may be wrong, several questions at once, and finding a class."""

import numpy as np
import pytest

from querist import as_graph, load_graph
from querist.asking import ask
from querist.asking.model import QuickModel
from querist.asking.people import FIRST, GROWTH, STRENGTH, Opinions, Vote, one_coin, posterior
from querist.asking.store.events import Event
from querist.embedding import Embedding
from querist.errors import InputError, QueristError


def planted(n=60, seed=0):
    """Three groups of nodes that link and write alike, and their labels by node."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    edges = [
        (i, j) for i in range(n) for j in range(i) if rng.random() < (0.25 if group[i] == group[j] else 0.02)
    ]
    words = (rng.random((n, 12)) < np.where(np.arange(12) % 3 == group[:, None], 0.5, 0.05)).astype(float)
    graph = as_graph(edges, nodes=range(n), attributes=words)
    return graph, {i: "abc"[k] for i, k in enumerate(group)}


CLASSES = ["a", "b", "c"]


def wrong_at_times(truth, share, seed=0):
    draw = np.random.default_rng(seed)
    return lambda node: (
        truth[node] if draw.random() >= share else draw.choice([c for c in CLASSES if c != truth[node]])
    )


# -- the model of people ------------------------------------------------------------------


def objective(accuracy, prior, node, code, person, noise):
    """Log of the marginal likelihood of the votes times the Beta prior, written out node by node."""
    K, total = prior.shape[1], 0.0
    for i in range(len(prior)):
        likely = 0.0
        for k in range(K):
            product = prior[i, k]
            for v in np.flatnonzero(node == i):
                a = accuracy[person[v]]
                product *= a if code[v] == k else (1 - a) / (K - 1)
            likely += product
        total += np.log(likely)
    prior_of = STRENGTH * ((1 - noise) * np.log(accuracy) + noise * np.log(1 - accuracy))
    return total + prior_of.sum()


@pytest.mark.parametrize("seed", range(4))
def test_one_coin_is_the_likeliest_accuracy(seed):
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(3), 20)
    node, code = rng.integers(0, 20, 60), rng.integers(0, 3, 60)
    person = rng.integers(0, 3, 60)
    q, accuracy = one_coin(prior, node, code, person, 3, 0.2)
    value = objective(accuracy, prior, node, code, person, 0.2)
    for at in range(3):
        for step in (-0.01, 0.01):
            other = accuracy.copy()
            other[at] += step
            assert objective(other, prior, node, code, person, 0.2) < value
    votes = node == 4
    np.testing.assert_allclose(q[4], posterior(prior[4], code[votes], accuracy[person[votes]]), atol=1e-6)


def voted(seed, votes):
    rng = np.random.default_rng(seed)
    rows = Embedding(rng.standard_normal((30, 5)), np.zeros(30, dtype=np.int64), kind="given")
    model, opinions = QuickModel.start(rows, 3, (1.0, 1.0)), Opinions(0.2)
    cast = [
        Vote(int(rng.integers(12)), int(rng.integers(3)), "ab"[int(rng.integers(2))]) for _ in range(votes)
    ]
    for vote in cast:
        model = opinions.vote(model, vote)
    return rows, model, opinions


@pytest.mark.parametrize("votes", [5, FIRST, 40])
def test_the_model_has_learned_the_targets_as_they_are_now(votes):
    rows, model, opinions = voted(1, votes)
    anew = QuickModel.start(rows, 3, (1.0, 1.0))
    for row, at in opinions.rows.items():
        anew = anew.learn(row, opinions.targets[at])
    np.testing.assert_allclose(model.scores, anew.scores, atol=1e-9)
    np.testing.assert_allclose(model.choosing.r, anew.choosing.r, atol=1e-9)


def test_beliefs_without_a_node_s_own_answer_are_those_of_a_model_that_never_had_it():
    rows, model, opinions = voted(2, 9)
    targets = np.array(opinions.targets)
    left_out = model.left_out(list(opinions.rows), targets)
    for at, row in enumerate(opinions.rows):
        without = QuickModel.start(rows, 3, (1.0, 1.0))
        for other, where in opinions.rows.items():
            if other != row:
                without = without.learn(other, targets[where])
        p = np.exp((without.scores[row] - without.scores[row].max()) / 0.1)
        share = 3 / (3 + len(opinions.rows))
        np.testing.assert_allclose(left_out[at], (1 - share) * p / p.sum() + share / 3, atol=1e-8)


def test_estimates_are_made_at_numbers_fixed_by_rule():
    made = []
    _, model, opinions = voted(3, 0)
    before = list(opinions.accuracy)
    for number in range(1, 61):
        model = opinions.vote(model, Vote(number % 12, number % 3, "ann"))
        if opinions.accuracy != before and opinions.accuracy != [0.8]:
            made.append(number)
        before = list(opinions.accuracy)
    due, expected = FIRST, []
    while due <= 60:
        expected.append(due)
        due = int(np.ceil(GROWTH * due))
    assert made == expected


# -- campaigns with people ------------------------------------------------------------------


def noisy_campaign(graph, truth, journal, budget=40):
    return ask(
        graph,
        wrong_at_times(truth, 0.2),
        budget=budget,
        classes=CLASSES,
        noise=0.2,
        repeats=8,
        person="ann",
        journal=journal,
    )


def test_noisy_answers_are_replayed_exactly(tmp_path):
    graph, truth = planted()
    path = tmp_path / "n.journal"
    first = noisy_campaign(graph, truth, path)
    again_turns = [turn for turn in first.state.turns if turn.again]
    assert len(again_turns) == 8
    assert {turn.row for turn in again_turns} <= {t.row for t in first.state.turns if not t.again}
    scores, people = first.state.model.scores, first.people
    first.close()
    later = noisy_campaign(graph, truth, path)
    np.testing.assert_array_equal(later.state.model.scores, scores)
    assert later.people == people
    assert [person.name for person in people] == ["ann"]
    later.close()


def test_a_wrong_answer_is_doubted_and_a_second_one_mends_it():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, budget=41, noise=0.2)
    for number in range(40):
        question = asking.question
        lie = {"a": "b", "b": "c", "c": "a"}[truth[question.node]]
        asking.answer(lie if number == 20 else truth[question.node])
        if number == 20:
            wrong = question.node
    assert next(iter(asking.doubts)) == wrong
    asking.again(wrong)
    asking.answer(truth[wrong], person="bob")
    assert asking.answers[wrong] == truth[wrong]
    assert asking.labels[graph.row_of[wrong]] == truth[wrong]


def test_a_second_answer_makes_every_answer_a_vote_and_undo_makes_it_the_truth_again():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, budget=20)
    for _ in range(12):
        asking.answer(truth[asking.question.node], person="ann")
    plain = asking.state.model.scores
    node = next(iter(asking.answers))
    assert asking.people == []
    question = asking.again(node)
    assert question.again and question.node == node
    asking.answer(next(c for c in CLASSES if c != truth[node]), node, person="bob")
    assert {person.name: person.votes for person in asking.people} == {"ann": 12, "bob": 1}
    assert asking.answers[node] == truth[node]
    assert asking.undo("bob")
    np.testing.assert_allclose(asking.state.model.scores, plain, atol=1e-12)
    assert asking.people == []


def test_people_are_told_apart():
    graph, truth = planted(n=90)
    right = {"ann": wrong_at_times(truth, 0.05, 1), "bob": wrong_at_times(truth, 0.5, 2)}
    asking = ask(graph, classes=CLASSES, budget=90, noise=0.2)
    for number in range(60):
        node = asking.question.node
        asking.answer(right["ann"](node), person="ann")
        if number % 2:
            asking.again(node)
            asking.answer(right["bob"](node), person="bob")
    believed = {person.name: person for person in asking.people}
    assert believed["ann"].accuracy > 0.85
    assert believed["bob"].accuracy < 0.65
    assert believed["bob"].interval[0] < believed["bob"].accuracy < believed["bob"].interval[1]


# -- several questions at once ------------------------------------------------------------------


def test_an_open_question_takes_off_the_variance_what_its_answer_will_and_leaves_the_scores():
    rng = np.random.default_rng(0)
    rows = Embedding(rng.standard_normal((20, 4)), np.zeros(20, dtype=np.int64), kind="given")
    model = QuickModel.start(rows, 2, (1.0, 1.0)).learn(3, 1)
    opened, learned = model.opened([5, 7]), model.learn(5, 0).learn(7, 1)
    np.testing.assert_allclose(opened.choosing.r, learned.choosing.r, atol=1e-10)
    np.testing.assert_allclose(opened.variance, learned.variance, atol=1e-10)
    np.testing.assert_array_equal(opened.scores, model.scores)


@pytest.mark.parametrize("find", [None, "a"])
def test_several_questions_are_open_at_once_and_answered_in_any_order(tmp_path, find):
    graph, truth = planted()
    path = tmp_path / "b.journal"
    asking = ask(graph, classes=CLASSES, budget=20, journal=path, find=find)
    first = asking.questions(5)
    nodes = [question.node for question in first]
    assert len(set(nodes)) == 5
    assert [question.number for question in first] == [1, 2, 3, 4, 5]
    asking.answer(truth[nodes[3]], nodes[3])
    asking.skip(nodes[1])
    with pytest.raises(InputError, match="no question about node"):
        asking.answer("a", nodes[3])
    asking.close()
    later = ask(graph, classes=CLASSES, budget=20, journal=path, find=find)
    assert [q.node for q in later.questions(3)] == [nodes[0], nodes[2], nodes[4]]
    more = [q.node for q in later.questions(5)]
    assert more[:3] == [nodes[0], nodes[2], nodes[4]]
    assert not set(more[3:]) & set(nodes)
    assert later.undo()  # the skip; questions chosen since are withdrawn
    assert {turn.row for turn in later.state.turns.opens} == {graph.row_of[n] for n in nodes if n != nodes[3]}
    while batch := later.questions(4):
        for question in batch[::-1]:
            later.answer(truth[question.node], question.node)
    assert later.asked == 20
    later.close()


def test_a_person_takes_back_their_own_answer_and_leaves_the_questions_of_others():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, budget=20)
    nodes = [question.node for question in asking.questions(3)]
    asking.answer(truth[nodes[0]], nodes[0], person="ann")
    asking.answer(truth[nodes[1]], nodes[1], person="bob")
    assert asking.undo("ann")
    assert set(asking.answers) == {nodes[1]}
    assert {q.node for q in asking.questions(2)} == {nodes[0], nodes[2]}
    assert not asking.undo("cy")


# -- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.7}, "guessing"),
        ({"repeats": 60}, "put again"),
        ({"find": "d"}, "none of the classes"),
        ({"find": "a", "strategy": "margin"}, "strategy that finds"),
        ({"strategy": "greedy"}, "finds nodes of one class"),
    ],
)
def test_what_cannot_be_is_said(options, message):
    graph, _ = planted()
    with pytest.raises(QueristError, match=message):
        ask(graph, classes=CLASSES, budget=100, **options)


def test_only_answered_nodes_are_asked_about_again():
    graph, _ = planted()
    asking = ask(graph, classes=CLASSES)
    with pytest.raises(InputError, match="not answered"):
        asking.again(3)


def answered_by(asking, truth, people, wrong=()):
    """Put questions to people in turn until no more are asked; (node, person) of every answer."""
    given = []
    while True:
        asking.person = people[len(given) % len(people)]
        question = asking.question
        if question is None:
            return given
        name = truth[question.node]
        if (question.node, asking.person) in wrong:
            name = next(other for other in asking.classes if other != name)
        asking.answer(name)
        given.append((question.node, asking.person))


def test_overlap_asks_as_many_people_about_every_node():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, budget=12, overlap=2)
    given = answered_by(asking, truth, ["ann", "bob"])
    assert len(given) == 12 == len(set(given))
    assert all(sum(node == other for other, _ in given) == 2 for node, _ in given)


def test_a_second_opinion_is_asked_of_another_person_where_an_answer_is_in_doubt():
    graph, truth = planted()
    plain = ask(graph, classes=CLASSES, budget=14, noise=0.1)
    nodes = [node for node, _ in answered_by(plain, truth, ["ann"])]
    doubtful = ask(graph, classes=CLASSES, budget=14, noise=0.1, second_opinions=True)
    given = answered_by(doubtful, truth, ["ann", "bob"], wrong={(node, "ann") for node in nodes})
    twice = {node for node, _ in given if sum(node == other for other, _ in given) > 1}
    assert twice
    assert all(len({who for other, who in given if other == node}) >= 2 for node in twice)
    assert max(sum(node == other for other, _ in given) for node in twice) <= 3
    assert len(set(given)) == len(given)


def test_a_verdict_stands_above_all_answers():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, budget=6, overlap=2)
    answered_by(asking, truth, ["ann", "bob"])
    node = next(iter(asking.answers))
    other = next(code for code, name in enumerate(asking.classes) if name != asking.answers[node])
    asking.state.apply(Event(99, 0.0, "verdict", {"row": graph.row_of[node], "code": other, "person": "m"}))
    assert asking.answers[node] == asking.classes[other]
    assert asking.labels[graph.row_of[node]] == asking.classes[other]
    assert asking.state.model.beliefs[graph.row_of[node]].argmax() == other
    assert node not in asking.doubts


def test_a_second_opinion_waits_for_another_person():
    karate = load_graph("karate").without_labels()
    asking = ask(karate, classes=["a", "b"], second_opinions=True, noise=0.3, budget=10, person="ann")
    first = asking.question
    asking.answer("a")
    asking.person = "bob"
    second = asking.question
    assert second.again and second.row == first.row
    asking.person = "ann"
    other = asking.question
    assert other.row != first.row
    asking.answer("b")
    assert asking.answers == {first.node: "a", other.node: "b"}
    asking.person = "bob"
    assert asking.question.row == first.row

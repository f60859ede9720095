"""Where nodes may have several labels an answer is a set: the model, people, replays, what is refused."""

from itertools import product

import numpy as np
import pytest

from querist import as_graph, ask
from querist.asking.answers import indicator, likely, sureness
from querist.asking.model import QuickModel
from querist.asking.people import FIRST, MOST, STRENGTH, SetOpinions, Vote, one_coin, posterior
from querist.asking.store.events import Draft, StoreDamagedError
from querist.asking.store.sqlite import SqliteStore
from querist.asking.strategies import STRATEGIES
from querist.embedding import Embedding
from querist.errors import InputError

CLASSES = ["a", "b", "c"]
K = len(CLASSES)


def planted(n=60, seed=0):
    """Two groups that link and write alike, a third class across them, and some nodes of no class."""
    rng = np.random.default_rng(seed)
    has = np.column_stack([np.arange(n) % 2 == 0, np.arange(n) % 2 == 1, np.arange(n) % 3 == 0])
    has[np.arange(n) % 10 == 7] = False
    near = has.astype(int) @ has.T.astype(int)
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < 0.02 + 0.12 * near[i, j]]
    words = (rng.random((n, 12)) < np.where(has[:, np.arange(12) % 3], 0.5, 0.05)).astype(float)
    truth = {i: {CLASSES[k] for k in np.flatnonzero(has[i])} for i in range(n)}
    return as_graph(edges, nodes=range(n), attributes=words), truth


# -- the model --------------------------------------------------------------------------------------------


def learned(seed=0, answers=9):
    """A model of sets, and for every class the model of two classes that learned the same."""
    rng = np.random.default_rng(seed)
    rows = Embedding(rng.standard_normal((30, 6)), np.arange(30) % 3 // 2, kind="given")
    start = {"gammas": (1.0, 2.0), "ranks": (3, 6)}
    model = QuickModel.start(rows, K, multilabel=True, **start)
    each = [QuickModel.start(rows, 2, **start) for _ in range(K)]
    asked = rng.permutation(30)[:answers].tolist()
    sets = [tuple(np.flatnonzero(rng.random(K) < 0.4).tolist()) for _ in asked]
    assert () in sets
    for row, code in zip(asked, sets, strict=True):
        model = model.learn(row, code)
        each = [own.learn(row, int(k in code)) for k, own in enumerate(each)]
    return model, each, asked, sets, lambda: QuickModel.start(rows, K, multilabel=True, **start)


def test_sets_are_learned_as_each_class_alone_by_two_classes():
    model, each, asked, sets, start = learned()
    for k, own in enumerate(each):
        np.testing.assert_allclose(model.scores[:, k], own.scores[:, 1] - own.scores[:, 0], atol=1e-12)
        np.testing.assert_allclose(model.probabilities[:, k], own.probabilities[:, 1], atol=1e-12)
        np.testing.assert_allclose(model.beliefs[:, k], own.beliefs[:, 1], atol=1e-12)
        np.testing.assert_allclose(model.variance, own.variance, atol=1e-12)
        left_out = model.left_out(asked, indicator(sets, K))[:, k]
        two = np.eye(2)[[int(k in code) for code in sets]]
        np.testing.assert_allclose(left_out, own.left_out(asked, two)[:, 1], atol=1e-10)
    assert (model.reached == each[0].reached).all()
    at_once = start().learn_all(asked, sets)
    np.testing.assert_allclose(at_once.scores, model.scores, atol=1e-10)


def test_rules_take_the_doubt_of_each_class_together():
    model, each, *_ = learned(1)
    np.testing.assert_allclose(model.ambiguity, np.mean([own.ambiguity for own in each], axis=0), atol=1e-12)
    by_class = sum(STRATEGIES["margin"](own) for own in each)
    np.testing.assert_allclose(STRATEGIES["margin"](model), by_class, atol=1e-10)
    assert all(np.isfinite(STRATEGIES[rule](model)).all() for rule in STRATEGIES)


def test_the_likeliest_sets_are_those_of_all():
    p = np.array([0.8, 0.45, 0.1])
    all_sets = {
        tuple(np.flatnonzero(has).tolist()): float(np.where(has, p, 1 - p).prod())
        for has in (np.array(flips) for flips in product((False, True), repeat=K))
    }
    for most in (2, 8):
        found = likely(p, most, multilabel=True)
        best = sorted(all_sets.items(), key=lambda own: -own[1])[:most]
        assert [code for code, _ in found] == [code for code, _ in best]
        np.testing.assert_allclose([chance for _, chance in found], [chance for _, chance in best])
    assert sureness(p[None], multilabel=True)[0] == pytest.approx(max(all_sets.values()))


def test_the_gain_of_an_answer_is_that_over_all_sets():
    model, *_ = learned(2)
    sets = [tuple(np.flatnonzero(flips).tolist()) for flips in product((False, True), repeat=K)]

    def right(p, has):
        return np.where(has, p, 1 - p).prod(axis=1)

    old, gains, chances = model.scores > 0, [], []
    for code in sets:
        after = model.learn(20, code)
        gains.append((right(after.probabilities, after.scores > 0) - right(after.probabilities, old)).mean())
        own = indicator([code], K)[0] > 0
        chances.append(np.where(own, model.beliefs[20], 1 - model.beliefs[20]).prod())
    assert sum(chances) == pytest.approx(1)
    assert model.expected_gain(20, most=8) == pytest.approx(np.dot(gains, chances))
    assert model.expected_gain(20) >= 0


# -- people -----------------------------------------------------------------------------------------------


def test_votes_are_taken_class_by_class():
    model, *_, start = learned(3)
    model, opinions, rng = start(), SetOpinions(0.2, K), np.random.default_rng(3)
    priors = {}
    for _ in range(FIRST - 1):
        code = tuple(np.flatnonzero(rng.random(K) < 0.5).tolist())
        vote = Vote(int(rng.integers(4)), code, "pq"[int(rng.integers(2))])
        priors.setdefault(vote.row, 0.98 * model.beliefs[vote.row] + 0.01)
        model = opinions.vote(model, vote)
    right = 0.8 ** (1 / K)
    for row, at in opinions.rows.items():
        own = [vote.code for vote in opinions.votes if vote.row == row]
        for k in range(K):
            prior = np.array([1 - priors[row][k], priors[row][k]])
            alone = posterior(prior, [int(k in code) for code in own], [right] * len(own))
            assert opinions.targets[at][k] == pytest.approx(alone[1])
    anew = start()
    for row, at in opinions.rows.items():
        anew = anew.learn(row, opinions.targets[at])
    np.testing.assert_allclose(model.scores, anew.scores, atol=1e-9)


def test_accuracies_are_those_of_all_decisions_on_classes():
    *_, start = learned(4)
    model, opinions, rng = start(), SetOpinions(0.2, K), np.random.default_rng(4)
    for number in range(FIRST):
        code = tuple(np.flatnonzero(rng.random(K) < 0.5).tolist())
        model = opinions.vote(model, Vote(number % 4, code, "pq"[number % 2]))
    prior = np.array(opinions.priors)
    decisions = [(v.row, k, int(k in v.code), "pq".index(v.person)) for v in opinions.votes for k in range(K)]
    node = np.array([opinions.rows[row] * K + k for row, k, _, _ in decisions])
    q, accuracy = one_coin(
        np.column_stack([1 - prior.ravel(), prior.ravel()]), node, np.array([d[2] for d in decisions]),
        np.array([d[3] for d in decisions]), 2, 1 - 0.8 ** (1 / K), STRENGTH * K, MOST ** (1 / K),
    )  # fmt: skip
    np.testing.assert_allclose(opinions.accuracy, accuracy)
    np.testing.assert_allclose(opinions.targets, q[:, 1].reshape(-1, K))
    for person in opinions.persons(model):
        assert person.interval[0] < person.accuracy < person.interval[1]


def test_a_set_that_nobody_gave_is_in_doubt():
    *_, start = learned(3)
    model, opinions = start(), SetOpinions(0.1, K)
    for person, code in enumerate([(0,), (1,), (2,)]):
        model = opinions.vote(model, Vote(4, code, person))
        model = opinions.vote(model, Vote(5, (0, 1), person))
    assert opinions.believed() == {4: (), 5: (0, 1)}
    odd, sure = opinions.sure
    assert odd < 0.5 < 0.8 < sure


def test_another_person_is_asked_where_a_set_is_in_doubt():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, multilabel=True, noise=0.2, second_opinions=True, budget=40)
    for number in range(40):
        asking.person = "pq"[number % 2]
        question = asking.question
        wrong = {"c"} if question.again else set()
        asking.answer(truth[question.node] ^ wrong)
    again = [turn for turn in asking.state.turns if turn.again]
    assert again and {person.name for person in asking.people} == {"p", "q"}
    assert all(0 < belief < 0.8 for belief in asking.doubts.values())


# -- a campaign -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_campaign_of_sets_is_kept_replayed_and_labelled(tmp_path):
    graph, truth = planted()
    place = tmp_path / "sets.journal"
    asking = ask(graph, classes=CLASSES, multilabel=True, journal=place, budget=35, audit=5)
    asking.tell({0: {"a", "c"}})
    while (question := asking.question) is not None:
        asking.answer({"c"})
        assert asking.undo() and asking.question == question
        assert asking.answer(truth[question.node]) == tuple(sorted(truth[question.node]))
    assert asking.answers == {node: tuple(sorted(truth[node])) for node in asking.answers}
    assert () in asking.answers.values() and 0 not in asking.answers
    kept = [event.body["code"] for event in asking.store.events(asking.id) if event.kind == "answer"]
    assert [] in kept and [0, 2] in kept
    assert asking.known == {0: ("a", "c")}
    for node, given in asking.answers.items():
        assert asking.labels[node] == given
    assert 0 < asking.audit.right <= 5 and 0 < asking.expected_accuracy < 1
    right = [asking.labels[node] == tuple(sorted(truth[node])) for node in truth]
    assert np.mean(right) > 0.6
    said = {**asking.answers, **asking.known}
    pulls = [pull for node in (1, 2) for pull in asking.pulls(node)]
    assert pulls and all(pull.label in said[pull.node] for pull in pulls)
    asking.close()

    again = ask(graph, journal=place, multilabel=True, budget=35, audit=5)
    assert again.answers == asking.answers and again.labels == asking.labels
    assert (again.state.model.scores == asking.state.model.scores).all()
    assert again.question is None
    again.close()
    with pytest.raises(InputError, match="begun with multilabel True, now it is False"):
        ask(graph, journal=place, multilabel=False, budget=25, audit=5)


def test_a_question_says_what_it_guesses_class_by_class():
    graph, truth = planted()
    asking = ask(graph, classes=CLASSES, multilabel=True, budget=20)
    assert asking.question.guess is None and asking.question.probabilities is None
    for _ in range(8):
        asking.answer(truth[asking.question.node])
    question = asking.question
    each = question.probabilities
    assert question.guess == tuple(name for name in CLASSES if each[name] > 0.5)
    assert question.probability == pytest.approx(np.prod([max(p, 1 - p) for p in each.values()]), abs=1e-3)
    flipped = set(question.guess) ^ set(question.second)
    assert flipped == {min(CLASSES, key=lambda name: abs(each[name] - 0.5))}
    near = asking.neighbours(question.node)
    assert all(isinstance(label, tuple) for _, label, _ in near)
    assert "; " in asking._repr_html_() or "none of these" in asking._repr_html_()


def test_answers_come_in_any_form_and_what_is_no_set_of_classes_is_refused():
    graph, _ = planted()
    asking = ask(graph, classes=CLASSES, multilabel=True, budget=20)
    given = [["b", "a"], ("a", "b"), "b; a", frozenset("ab")]
    assert [(asking.question, asking.answer(each))[1] for each in given] == [("a", "b")] * 4
    assert (asking.question, asking.answer("c"))[1] == ("c",)
    assert (asking.question, asking.answer(";"))[1] == ()
    assert (asking.question, asking.answer(None))[1] is None and asking.unanswered == 1
    assert asking.question is not None
    with pytest.raises(InputError, match="'x', which is none of the classes"):
        asking.answer({"a", "x"})


def test_nothing_but_empty_sets_labels_nothing():
    graph, _ = planted()
    asking = ask(graph, lambda node: set(), budget=3, classes=CLASSES, multilabel=True)
    assert set(asking.answers.values()) == {()}
    with pytest.raises(InputError, match="none of the classes"):
        asking.labels  # noqa: B018


def test_what_is_for_one_class_a_node_is_refused():
    graph, truth = planted()
    with pytest.raises(InputError, match="find 'a' and several labels a node"):
        ask(graph, truth, budget=5, multilabel=True, find="a")
    with pytest.raises(InputError, match="pass multilabel=True"):
        ask(graph, truth, budget=5)


@pytest.mark.parametrize("strategy", ["pool", "ambiguity", "coverage", "margin", "random"])
def test_rules_run_on_labels_as_oracle(strategy):
    graph, truth = planted()
    found = ask(graph, truth, budget=12, multilabel=True, strategy=strategy, stop=1e-9)
    assert found.asked == 12
    assert all(set(given) == truth[node] for node, given in found.answers.items())


# -- the log ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("several", "code", "what"),
    [
        (True, [2, 0], "is not in the order of the classes"),
        (True, [0, 0], "is not in the order of the classes"),
        (True, [3], "its class is [3], and there are 3 classes"),
        (True, 1, "its class is 1, and there are 3 classes"),
        (True, [True], "its class is [True]"),
        (False, [1], "its class is [1], and there are 3 classes"),
        (True, "a", "its 'code' is 'a', not of type int or list"),
    ],
    ids=lambda value: str(value).replace(" ", ""),
)
def test_a_log_with_what_is_no_answer_is_damaged(several, code, what):
    begun = {"graph": "0", "nodes": 9, "edges": 8, "classes": CLASSES, "strategy": "random"}
    store = SqliteStore(None)
    store.create("c", "Cats", Draft("campaign", {**begun, "multilabel": several}))
    question = Draft("question", {"row": 1, "audit": False, "reason": "why"})
    store.append("c", 1, [question, Draft("answer", {"row": 1, "code": code})])
    with pytest.raises(StoreDamagedError) as problem:
        store.check("c")
    assert what in str(problem.value)

"""Whether the confidence after `ask` is that of its labels, and what is said of their accuracy."""

import json

import numpy as np
import pytest

import querist
from querist import as_graph
from querist.cli import main
from querist.cli.conversation import progress_line
from querist.errors import InputError
from querist.labelling import Labelling, combine

CLASSES = range(4)
REASON = "the labels were actively selected, not drawn at random"


def noisy(n=600, seed=0, outside=1.2):
    """Four groups that link alike but for some edges, and the group of every node."""
    rng = np.random.default_rng(seed)
    truth, count = rng.integers(0, 4, n), int(n * (4 + outside) / 2)
    a, b = rng.integers(0, n, (2, 6 * count))
    kept = (a != b) & (rng.random(a.size) < np.where(truth[a] == truth[b], 0.9, 0.9 * outside / 12))
    pairs = zip(a[kept][:count].tolist(), b[kept][:count].tolist(), strict=True)
    return as_graph(pairs, nodes=range(n)), truth


def asked(graph, truth, budget, **options):
    return querist.ask(graph, dict(enumerate(truth.tolist())), budget=budget, classes=CLASSES, **options)


def right(labelling, truth):
    """(n,) whether each label is right, and (n,) whether it was found."""
    free = labelling.reached & ~labelling.is_labelled
    return np.array([name == own for name, own in zip(labelling.labels, truth, strict=True)]), free


@pytest.fixture(scope="module")
def campaign():
    graph, truth = noisy()
    return asked(graph, truth, 60), truth


@pytest.mark.slow
def test_the_confidence_after_ask_is_the_accuracy(campaign):
    asking, truth = campaign
    is_right, found = right(asking.labelling, truth)
    assert abs(asking.labelling.probability[found].mean() - is_right[found].mean()) < 0.1


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 0], [0, 1, 0, 1, 2, 3]])
def test_few_selected_labels_are_no_certainty(labels, monkeypatch):
    """However steep held-out labels would have it, it is no surer than if all of them were right."""
    monkeypatch.setattr(combine, "scaled", lambda *_: combine.Scale(1e3))
    graph, truth = noisy()
    nodes = [int(np.flatnonzero(truth == k)[at]) for at, k in enumerate(labels)]
    given = {node: int(truth[node]) for node in nodes}
    labelling = querist.label(graph, given, picked=True, method="walks", classes=CLASSES)
    judged = sum(labels.count(k) > 1 for k in labels)
    _, found = right(labelling, truth)
    assert labelling.probability[found].mean() < (judged + 1 + 1 / 4) / (judged + 2) + 0.01


def test_without_an_audit_the_accuracy_of_selected_labels_is_unknown(campaign, tmp_path):
    asking, _ = campaign
    labelling, estimate = asking.labelling, asking.labelling.estimate
    assert np.isnan(estimate.accuracy) and str(estimate) == "unknown" and estimate.how.startswith(REASON)
    assert "expected accuracy unknown" in repr(labelling) and "audit=40" in asking._repr_html_()
    assert not labelling.among_likeliest(2, 10).is_known and estimate.classes == ()
    page = labelling.report(tmp_path / "report.html").read_text()
    assert f"The accuracy is unknown: {REASON}" in page and "nan" not in page.lower().split()
    assert "could be held out" not in page and "Whether it is right to be" not in page
    with pytest.raises(InputError, match=r"no reliability curve: .*audit=40"):
        labelling.plot("reliability")
    labelling.save(tmp_path / "kept.npz")
    assert str(Labelling.load(tmp_path / "kept.npz").estimate) == "unknown"


@pytest.mark.slow
def test_goals_and_ranks_cope_with_an_unknown_accuracy(tmp_path):
    graph, truth = noisy()
    labels = {row: int(truth[row]) for row in range(60)}
    for goal in ("accuracy", "balanced", "f1"):
        found = querist.label(graph, labels, picked=True, goal=goal, method="walks")
        assert np.isnan(found.estimate.accuracy) and np.isnan(found.estimate.macro_f1)
        assert found.report(tmp_path / "report.html", rank=1).exists()
    sets = {row: {group, "all"} for row, group in labels.items()}
    found = querist.label(graph, sets, multilabel=True, picked=True, method="walks")
    assert str(found.estimate) == "unknown" and (found.probabilities[found.reached] >= 0).all()


def test_an_audit_gives_the_accuracy_of_the_labels():
    graph, truth = noisy()
    asking = asked(graph, truth, 80, audit=40, method="walks")
    estimate, audit = asking.labelling.estimate, asking.audit
    assert (estimate.accuracy, estimate.low, estimate.high) == (audit.accuracy, *audit.interval)
    assert "40 random questions" in estimate.how and estimate.classes == ()
    random = asked(graph, truth, 60, strategy="random", method="walks").labelling.estimate
    assert np.isfinite(random.accuracy) and "cross-validation" in random.how and random.classes


def test_a_few_random_questions_give_an_interval_alone():
    graph, truth = noisy(200)
    asking = asked(graph, truth, 30, audit=5, method="walks")
    estimate, (low, high) = asking.labelling.estimate, asking.audit.interval
    assert np.isnan(asking.audit.accuracy) and np.isnan(estimate.accuracy)
    assert str(asking.audit) == f"95 % interval {low:.1%} to {high:.1%}, 5 random questions"
    assert str(estimate) == f"{low:.3f} to {high:.3f} (95 % interval)"


@pytest.mark.slow
def test_the_expected_accuracy_is_near_the_accuracy_of_the_model():
    for outside, seed in ((1.2, 0), (2.5, 1), (6.0, 2)):
        graph, truth = noisy(seed=seed, outside=outside)
        asking = querist.ask(graph, budget=160, classes=CLASSES, audit=40)
        off = []
        while (question := asking.question) is not None:
            asking.answer(int(truth[question.row]))
            model, answered = asking.state.model, list(asking.state.answers())
            learned = asking.state.answers(audit=False)
            is_right = model.reached & (model.scores.argmax(axis=1) == truth)
            is_right[answered] = True
            expected = asking.expected_accuracy
            assert (expected is None) == (len(learned) < 30)
            if expected is not None:
                off.append(abs(expected - is_right.mean()))
        assert np.mean(off) < 0.1, (outside, seed)


@pytest.mark.parametrize(
    ("options", "shown"), [({}, False), ({"find": 2, "audit": 8}, False), ({"audit": 8}, True)]
)
def test_no_accuracy_is_expected_without_an_audit_or_in_a_search(options, shown):
    graph, truth = noisy(200)
    asking = asked(graph, truth, 45, **options)
    assert (asking.expected_accuracy is not None) == ("expected accuracy" in progress_line(asking)) == shown


def test_an_audit_moves_the_expected_accuracy():
    graph, truth = noisy()
    asking = querist.ask(graph, budget=100, classes=CLASSES, audit=50)
    while (question := asking.question) is not None:
        wrong = (int(truth[question.row]) + 1) % 4
        asking.answer(wrong if question.audit else int(truth[question.row]))
    assert asking.expected_accuracy < 0.5, "every audit answer differs from the model"


def test_a_command_says_unknown_and_what_to_do(campaign, tmp_path, monkeypatch, capsys):
    asking, truth = campaign
    monkeypatch.chdir(tmp_path)
    S = asking.graph.adjacency.tocoo()
    edges = [f"{a},{b}" for a, b in zip(S.row.tolist(), S.col.tolist(), strict=True) if a < b]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
    rows = [f"{row},{own}" for row, own in enumerate(truth)]
    (tmp_path / "all.csv").write_text("\n".join(["node,label", *rows]) + "\n")
    (tmp_path / "known.csv").write_text("\n".join(["node,label", *rows[::10]]) + "\n")

    def said(*words):
        code, (out, err) = main(words), capsys.readouterr()
        assert code == 0, err
        return out

    label = ("label", "edges.csv", "--labels", "known.csv", "--picked", "--method", "walks", "-o", "out.csv")
    assert f"Expected accuracy unknown: {REASON}" in said(*label)
    found = json.loads(said(*label, "--json"))
    assert found["accuracy"]["expected"] is None and found["macro_f1"] is None and found["by_class"] == {}
    ask = ("ask", "edges.csv", "--oracle", "all.csv", "--budget", "20", "--method", "walks", "-o", "out.csv")
    assert f"Expected accuracy unknown: {REASON}" in said(*ask, "--journal", "one")
    audited = said(*ask, "--journal", "two", "--audit", "10")
    assert "by the audit:" in audited and "Expected accuracy" not in audited

"""`label` in Python: what it promises whatever the graph."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from querist.collective.catalogue import CLASSIFIERS
from querist.collective.problem import pose
from querist.datasets import load_graph, sbm
from querist.errors import InputError, UnknownNameError
from querist.graph import as_graph
from querist.labelling import choose as choosing, label
from querist.labelling.decisions.calibrate import calibration_error
from querist.labelling.decisions.estimate import estimated
from querist.labelling.decisions.goals import decide
from querist.labelling.folds import cut_folds, stratified
from querist.labelling.members import MEMBERS, RandomWalk, plan
from querist.labelling.workspace import Workspace
from querist.stats import wilson


@pytest.fixture(scope="module")
def blocks():
    """Three blocks of different sizes with words that lean to the block."""
    graph = sbm((90, 60, 30), 0.12, 0.02, seed=1)
    generator = np.random.default_rng(0)
    lean = np.full((3, 30), 0.05)
    for k in range(3):
        lean[k, 10 * k : 10 * k + 10] = 0.2
    words = generator.poisson(lean[graph.codes])
    return as_graph(graph.adjacency, attributes=sp.csr_array(words.astype(float))), graph.codes


def some(codes, count, seed=0):
    """`count` in ten of each class, by node."""
    generator = np.random.default_rng(seed)
    rows = [generator.permutation(np.flatnonzero(codes == k)) for k in np.unique(codes)]
    return {int(i): f"class {codes[i]}" for own in rows for i in own[: len(own) * count // 10]}


@pytest.fixture(scope="module")
def result(blocks):
    graph, codes = blocks
    return label(graph, some(codes, 1))


def test_a_labelling_is_right_mostly_and_keeps_what_it_was_given(blocks, result):
    _, codes = blocks
    given = some(codes, 1)
    assert np.mean([a == f"class {c}" for a, c in zip(result.labels, codes, strict=True)]) > 0.85
    for node, value in given.items():
        assert result.labels[node] == value
        assert result.probability[node] == 1.0
        assert result.runner_up[node] is None
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1)
    assert result.classes == ("class 0", "class 1", "class 2")
    assert result.known.known.sum() == len(given) == result.is_labelled.sum()
    assert result.reached.all()


def test_it_says_what_it_took_and_why_and_shows_itself(result):
    assert result.choice.representation == "attributes and links"
    assert {score.name for score in result.choice.scores} <= set(MEMBERS)
    assert sum(score.weight for score in result.choice.scores) == pytest.approx(1)
    assert any("cross-validation" in sentence for sentence in result.choice.why)
    assert any(
        "self-training" in sentence and "that of the counts" in sentence for sentence in result.choice.why
    )
    assert 0 < result.estimate.low < result.estimate.high <= 1
    assert np.isnan(result.estimate.accuracy), "18 labels give an interval alone"
    assert "expected accuracy" in repr(result)
    assert "<table>" in result._repr_html_()
    assert list(result.table()) == ["node", "label", "probability", "runner_up", "reached"]


def test_the_runner_up_is_the_second_best_of_the_free_nodes(result):
    order = np.argsort(-result.probabilities, axis=1, kind="stable")
    for node in np.flatnonzero(~result.is_labelled)[:20]:
        assert result.labels[node] == result.classes[order[node, 0]]
        assert result.runner_up[node] == result.classes[order[node, 1]]


def test_the_same_seed_gives_the_same_bits(blocks, result):
    graph, codes = blocks
    again = label(graph, some(codes, 1))
    np.testing.assert_array_equal(again.probabilities, result.probabilities)
    assert (again.estimate.low, again.estimate.high) == (result.estimate.low, result.estimate.high)


def test_the_combination_is_near_its_best_part(blocks, result):
    graph, codes = blocks
    free = ~result.is_labelled
    whole = np.mean(result.probabilities.argmax(axis=1)[free] == codes[free])
    for name in ("walks", "smoothed", "gmnr"):
        alone = label(graph, some(codes, 1), method=name)
        assert whole >= np.mean(alone.probabilities.argmax(axis=1)[free] == codes[free]) - 0.03
        assert alone.choice.method == name


@pytest.mark.slow
def test_calibration_brings_steep_logits_down_to_their_accuracy(blocks, monkeypatch):
    graph, codes = blocks
    generator = np.random.default_rng(0)
    codes = np.where(generator.random(len(codes)) < 0.4, generator.integers(3, size=len(codes)), codes)
    monkeypatch.setattr("querist.labelling.combine.TYPICAL", 12.0)
    monkeypatch.setattr("querist.labelling.combine.FIRMNESS", 0.05)
    monkeypatch.setattr("querist.labelling.combine.DEVIATION", 1e-3)  # the pool would take it back
    before, after = [], []
    for seed in range(4):
        given = np.full(len(codes), -1)
        for node in some(codes, 2, seed):
            given[node] = codes[node]
        outcome = choosing.choose(pose(graph, given, missing=-1))
        free = given < 0
        L = np.log(np.maximum(outcome.probabilities, 1e-300)) * outcome.estimate.temperature
        raw = np.exp(L - L.max(axis=1, keepdims=True))
        raw /= raw.sum(axis=1, keepdims=True)
        for P, found in ((raw, before), (outcome.probabilities, after)):
            right = P.argmax(axis=1) == codes
            found.append(calibration_error(P.max(axis=1)[free], right[free]))
    assert np.mean(after) < 0.15 < 2 * np.mean(after) < np.mean(before)


def test_nodes_without_a_way_to_a_label_are_not_reached():
    graph = as_graph([(0, 1), (1, 2), (3, 4)])
    found = label(graph, {0: "a", 2: "b"})
    assert found.labels[3] is found.labels[4] is None
    assert not found.reached[3:].any()
    assert set(found.labels[3:]) == {None}
    assert not found.probabilities[3:].any()
    assert found.probability[3] == 0
    assert found.runner_up[3] is None


def test_codes_are_an_array_of_integers_with_minus_one_for_unreachable_nodes():
    graph = as_graph([(0, 1), (1, 2), (3, 4)])
    found = label(graph, {0: "a", 2: "b"})
    assert found.codes.dtype == np.int64 and found.codes.shape == (5,)
    assert found.codes[[0, 2, 3, 4]].tolist() == [0, 1, -1, -1]
    assert [None if k < 0 else found.classes[k] for k in found.codes] == found.labels
    several = label(graph, {0: {"a", "b"}, 2: {"b"}}, multilabel=True).with_no_class([1])
    assert several.codes.dtype == np.int64
    assert several.codes.tolist() == [[1, 1], [0, 0], [0, 1], [-1, -1], [-1, -1]]
    assert several.labels == [("a", "b"), (), ("b",), None, None]


def test_one_label_a_class_leaves_the_accuracy_unknown():
    karate = load_graph("karate")
    found = label(karate, {0: "left", 33: "right"})
    assert str(found.estimate) == "unknown"
    assert found.labels[1] == "left" and found.labels[32] == "right"
    assert "No label could be held out" in " ".join(found.choice.why)


def test_one_class_is_everyones():
    found = label(as_graph([(0, 1), (1, 2)]), {0: "a", 1: "a"})
    assert found.labels == ["a", "a", "a"]
    assert found.runner_up == [None, None, None]


def test_attributes_alone_are_enough(blocks):
    graph, codes = blocks
    bare = as_graph(sp.csr_array((len(codes), len(codes))), attributes=graph.attributes)
    found = label(bare, some(codes, 2))
    assert np.mean([a == f"class {c}" for a, c in zip(found.labels, codes, strict=True)]) > 0.6
    assert "walks" not in {score.name for score in found.choice.scores}


def test_negative_attributes_are_no_counts(blocks):
    graph, codes = blocks
    centred = graph.attributes.toarray() - 0.5
    found = label(as_graph(graph.adjacency, attributes=sp.csr_array(centred)), some(codes, 1))
    assert "counts" not in {score.name for score in found.choice.scores}


def test_several_labels_a_node(blocks):
    graph, codes = blocks
    truth = np.eye(3)[codes]
    truth[codes == 2, 0] = 1  # every third-class node is also of the first class
    rows = list(some(codes, 3))
    given = {i: {f"c{k}" for k in np.flatnonzero(truth[i])} for i in rows}
    found = label(graph, given, multilabel=True)
    assert found.multilabel and found.known.indicator.shape == (180, 3)
    free = ~found.is_labelled
    predicted = found.probabilities >= 0.5
    assert np.mean(predicted[free] == truth[free].astype(bool)) > 0.85
    assert all(isinstance(value, tuple) and value for value in found.labels)
    assert found.labels[rows[0]] == tuple(sorted(given[rows[0]]))
    assert 0 < found.estimate.accuracy <= 1


def test_sets_need_to_be_meant(blocks):
    graph, _ = blocks
    with pytest.raises(InputError, match="multilabel=True"):
        label(graph, {0: {"a", "b"}, 1: {"a"}})


def test_an_unknown_method_is_refused_with_the_known_ones(blocks):
    graph, codes = blocks
    with pytest.raises(UnknownNameError, match="did you mean 'smoothed'"):
        label(graph, some(codes, 1), method="smooth")


def test_influence_points_to_labelled_nodes_of_the_predicted_class(result, blocks):
    _, codes = blocks
    rows, weights = result.model.weights(np.flatnonzero(~result.is_labelled))
    assert weights.shape == (int((~result.is_labelled).sum()), rows.size)
    heaviest = codes[rows[weights.argmax(axis=1)]]
    said = result.probabilities[~result.is_labelled].argmax(axis=1)
    assert np.mean(heaviest == said) > 0.7
    _, one = result.model.weights(int(np.flatnonzero(~result.is_labelled)[0]))
    np.testing.assert_allclose(one, weights[0])


def test_a_plan_leaves_out_what_is_too_much_work(blocks, monkeypatch):
    graph, codes = blocks
    Y = np.eye(3)[codes[:30]]
    taken, _, skipped = plan(Workspace(graph), "auto", Y, False)
    assert not skipped
    monkeypatch.setattr("querist.labelling.members.WORK", 2e6)
    monkeypatch.setattr("querist.labelling.members.WORK_PER_NODE", 0.0)
    workspace = Workspace(graph)
    fewer, _, left = plan(workspace, "auto", Y, False)
    assert left and set(fewer) < set(taken)
    assert workspace.rank < 150


def test_a_method_left_alone_is_not_said_to_be_asked_for(blocks, monkeypatch):
    graph, codes = blocks
    monkeypatch.setattr("querist.labelling.members.WORK", 45.0)
    monkeypatch.setattr("querist.labelling.members.WORK_PER_NODE", 0.0)
    alone = label(graph, some(codes, 1)).choice
    assert len(alone.scores) == 1 and alone.method == alone.scores[0].name
    assert "the one method that suits" in alone.why[0] and "too long" in alone.why[-1]
    asked = label(graph, some(codes, 1), method="walks").choice.why
    assert asked[0] == "walks, as asked for."
    assert not any("self-training" in sentence for sentence in asked)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(CLASSIFIERS))
def test_every_classifier_labels_nodes_with_several_classes(blocks, method):
    graph, codes = blocks
    both = {node: {f"class {codes[node]}", "any"} for node in some(codes, 2)}
    found = label(graph, both, method=method, multilabel=True)
    assert np.isfinite(found.probabilities).all()
    assert all(set(own) <= set(found.classes) for own in found.labels)


def test_equal_numbers_of_labels_say_nothing_of_the_shares(blocks):
    graph, codes = blocks
    even = {int(i): int(codes[i]) for k in range(3) for i in np.flatnonzero(codes == k)[:4]}
    found = label(graph, even)
    assert not any("shares were matched" in sentence for sentence in found.choice.why)


def test_shares_are_matched_where_held_out_labels_want_it():
    """A graph that tells nothing of classes of which one is large: only their shares do."""
    generator = np.random.default_rng(3)
    graph = as_graph(generator.integers(150, size=(400, 2)).tolist())
    codes = (generator.random(graph.n_nodes) < 0.15).astype(int)
    found = label(graph, {node: int(codes[i]) for i, node in enumerate(graph.nodes) if i % 2})
    assert any("shares were matched" in sentence for sentence in found.choice.why)
    assert np.mean([name == 0 for name in found.labels]) > 0.8
    assert any("no better than calling every node 0" in sentence for sentence in found.choice.why)


def test_members_that_are_worse_than_guessing_are_named(blocks):
    graph, codes = blocks
    noise = replace(graph, attributes=sp.csr_array(np.random.default_rng(0).random((graph.n_nodes, 5))))
    found = label(noise, some(codes, 3)).choice
    worse = next(sentence for sentence in found.why if sentence.startswith("Worse on held-out labels"))
    assert "own" in worse and "walks" not in worse
    assert not any("no better than" in sentence for sentence in found.why)


def test_labels_that_were_picked_say_nothing_of_the_shares():
    """Ten nodes of one clique and two of another: the classes are equally large all the same."""
    clique = [(side, i, side, j) for side in "ab" for i in range(20) for j in range(i)]
    graph = as_graph([(f"{s}{i}", f"{t}{j}") for s, i, t, j in clique] + [("a0", "b0"), ("a1", "b1")])
    picked = {**{f"a{i}": "left" for i in range(2, 12)}, "b2": "right", "b3": "right"}
    found = label(graph, picked, picked=True)
    assert not any("shares were matched" in sentence for sentence in found.choice.why)
    assert any("shares were matched" in sentence for sentence in label(graph, picked).choice.why)
    assert found.probabilities[:, 1].mean() > label(graph, picked).probabilities[:, 1].mean()


def test_walks_from_picked_labels_do_not_favour_the_class_that_was_picked_more_often():
    """A path of 21 nodes, four labels at one end and two at the other."""
    graph = as_graph([(i, i + 1) for i in range(20)])
    given = {0: "left", 1: "left", 2: "left", 3: "left", 19: "right", 20: "right"}
    drawn, chosen = (label(graph, given, method="walks", picked=picked) for picked in (False, True))
    assert drawn.labels.count("left") > chosen.labels.count("left") >= 10


def test_folds_spread_every_class():
    codes = np.repeat([0, 1, 2], [10, 7, 3])
    folds = stratified(codes, 5, seed=0)
    assert np.bincount(folds).tolist() == [4, 4, 4, 4, 4]
    for k in range(3):
        counts = np.bincount(folds[codes == k], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert (stratified(codes, 5, seed=1) != folds).any()


def test_wilson_covers_at_the_promised_rate():
    generator = np.random.default_rng(0)
    inside = [low <= 0.8 <= high for low, high in (wilson(x, 60) for x in generator.binomial(60, 0.8, 4000))]
    assert 0.93 < np.mean(inside) < 0.97


def test_an_estimate_says_how_it_was_made():
    Y = np.eye(4)[[0] * 8 + [1] * 2 + [2, 3]]  # two alone in their classes
    folds = cut_folds(Workspace(load_graph("karate")), np.arange(12), Y, False, 5, seed=0)
    H = np.tile([0.7, 0.1, 0.1, 0.1], (10, 1))
    found = estimated(folds, H, H, decide("accuracy", H, False), 1.3)
    assert found.correct.mean() == 0.8 and found.temperature == 1.3
    assert np.isnan(found.accuracy) and found.low < 0.8 < found.high
    assert "only an interval" in found.how
    assert "80% of the labels" in found.how and "2 nodes alone" in found.how
    assert found.majority == 8 / 12 and [own.labels for own in found.classes] == [8, 2, 1, 1]


@pytest.mark.parametrize(("nodes", "most"), [((0, 33), 0.76), ((0, 1, 32, 33), 0.92)])
def test_few_labels_are_no_certainty(nodes, most):
    karate = load_graph("karate")
    found = label(karate, {node: karate.labels[node] for node in nodes})
    assert 0.6 < found.probability[~found.is_labelled].mean() < most
    assert np.mean([a == b for a, b in zip(found.labels, karate.labels, strict=True)]) > 0.9


def test_a_method_without_what_it_looks_at_is_refused():
    karate = load_graph("karate")
    with pytest.raises(InputError, match=r'"own".*no such attributes.*"auto"'):
        label(karate, {0: "a", 33: "b"}, method="own")
    with pytest.raises(InputError, match=r'"own_gaussian".*attributes of another kind; give such, or'):
        label(load_graph("messages"), method="own_gaussian")


def test_a_notebook_shows_what_was_found_before_what_was_given():
    karate = load_graph("karate")
    shown = label(karate, {node: karate.labels[node] for node in range(12)})._repr_html_()
    assert "<td>12</td>" in shown and "<td>0</td>" not in shown


def test_a_member_is_one_registered_value(blocks, monkeypatch):
    graph, codes = blocks
    walk = RandomWalk("short walks", damping=0.5, prior_weight=2.0)
    monkeypatch.setitem(MEMBERS, "short_walks", walk)
    given = some(codes, 1)
    scores = {score.name: score for score in label(graph, given).choice.scores}
    assert scores["short_walks"].what == "short walks"
    assert label(graph, given, method="short_walks").choice.method == "short_walks"


@pytest.mark.parametrize("method", ["pagerank", "auto"])
def test_several_labels_a_node_of_which_one_is_ever_given(method):
    """A 0/1 matrix with labels of one class alone; the other is nobody's."""
    labels = np.array([[0, 0], [0, 1], [0, 0]])
    found = label([(0, 1), (1, 2)], labels, method=method, multilabel=True)
    assert np.isfinite(found.probabilities).all()
    assert found.labels[1] == (1,)


@pytest.mark.parametrize("count", [4, 12, 30])
def test_an_accuracy_from_a_few_labels_is_an_interval_alone(count):
    karate = load_graph("karate")
    rows = range(0, 34, 34 // count)[:count]
    found = label(karate, {row: karate.labels[row] for row in rows}).estimate
    assert np.isnan(found.accuracy) and 0 < found.low < found.high
    assert str(found) == f"{found.low:.3f} to {found.high:.3f} (95 % interval)"

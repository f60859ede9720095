"""The benchmark of label efficiency: its draws, its peers on a processor, and the arithmetic of its table."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from querist.graph import Graph
from querist.labelling.folds import stratified
from querist.labels import Labels

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def benchmark(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module(name)


@pytest.fixture(scope="module")
def efficiency():
    return benchmark("label_efficiency")


@pytest.fixture(scope="module")
def networks():
    pytest.importorskip("torch", reason="torch is not installed")
    return benchmark("label_efficiency_networks")


@pytest.fixture(scope="module")
def peers():
    return benchmark("label_efficiency_peers")


@pytest.fixture(scope="module")
def table():
    return benchmark("label_efficiency_table")


@pytest.fixture(scope="module")
def graph():
    """Three blocks of twenty nodes, a word or two of each block's own, one node alone."""
    generator = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], 20)
    near = codes[:, None] == codes
    upper = np.triu(generator.random((60, 60)) < np.where(near, 0.3, 0.02), 1) * 1.0
    upper[:, 7] = upper[7] = 0
    words = (generator.random((60, 90)) < 0.05 + 0.2 * (np.arange(90) % 3 == codes[:, None])) * 1.0
    return Graph(
        sp.csr_array(upper + upper.T), attributes=sp.csr_array(words), known=Labels(codes, ("a", "b", "c"))
    )


@pytest.fixture(scope="module")
def split(peers, graph):
    seeds = np.sort(np.random.default_rng(1).choice(60, 15, replace=False))
    return peers.Split(peers.Features(graph), seeds, stratified(graph.codes[seeds], 5, seed=0))


# -- draws -----------------------------------------------------------------------------------------


def test_class_by_class_every_class_has_its_share_rounded_up(efficiency):
    codes = np.repeat([0, 1, 2], [10, 101, 300])
    seeds = efficiency.drawn(codes, "class", 0.05, 0, 3)
    assert np.bincount(codes[seeds]).tolist() == [1, 6, 15]


def test_at_random_as_many_are_drawn_among_the_labelled_whatever_their_class(efficiency):
    codes = np.repeat([0, 1, 2, -1], [10, 101, 300, 500])
    draws = [efficiency.drawn(codes, "random", 0.05, 0, trial) for trial in range(40)]
    assert all(len(np.unique(seeds)) == 22 and (codes[seeds] >= 0).all() for seeds in draws)
    assert all((np.diff(seeds) > 0).all() for seeds in draws)
    rare = [int((codes[seeds] == 0).sum()) for seeds in draws]
    assert min(rare) == 0 and np.mean(rare) == pytest.approx(22 * 10 / 411, abs=0.35)
    assert not np.array_equal(draws[0], efficiency.drawn(codes, "random", 0.05, 1, 0))


def test_large_sets_have_fewer_draws(efficiency):
    draws = efficiency.Draws(20, 5, 0)
    assert len(draws.of("cora")) == 20 and len(draws.of(efficiency.LARGE[0])) == 5


def test_what_is_prepared_can_be_read_without_querist(efficiency, networks, graph, tmp_path):
    efficiency.prepare(graph, tmp_path, efficiency.Draws(2, 1, 0))
    task = networks.Task(next((tmp_path / "prepared").glob("*.npz")), "cpu")
    np.testing.assert_array_equal(task.S.toarray(), graph.adjacency.toarray())
    np.testing.assert_array_equal(task.X.toarray(), graph.attributes.toarray())
    np.testing.assert_array_equal(task.codes, graph.codes)
    seeds = efficiency.drawn(graph.codes, "random", 0.05, 0, 1)
    np.testing.assert_array_equal(task.seeds["random_0.05_1"], seeds)
    assert set(task.folds) == {
        f"{p}_{s}_t{t}" for p in ("class", "random") for s in (0.01, 0.02, 0.05) for t in (0, 1)
    }


def test_other_values_than_one_survive_the_narrow_types(efficiency, networks):
    for data in ([1.0, 300.0, 2.0], [0.5, 0.25, 3.0], [-1.0, 2.0, 3.0], [7.0, 7.0, 7.0]):
        M = sp.csr_array((data, ([0, 2, 2], [1, 0, 3])), shape=(3, 4))
        np.testing.assert_array_equal(
            networks.unpacked(efficiency.packed("M", M), "M", 4).toarray(), M.toarray()
        )


# -- peers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("powers", [(0,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("scaling", ["raw", "tfidf"])
@pytest.mark.parametrize("kept_dense", [True, False])
def test_regressions_are_those_of_scikit_learn_on_the_whole_features(
    peers, split, powers, scaling, kept_dense, monkeypatch
):
    from sklearn.linear_model import LogisticRegression

    monkeypatch.setattr(peers, "TOLERANCE", 1e-8)
    monkeypatch.setattr(peers, "KEPT", 1e9 if kept_dense else 0)
    A = split.graph.adjacency.toarray() + np.eye(60)
    S = A / np.sqrt(np.outer(A.sum(axis=1), A.sum(axis=1)))
    X = split.features.X(scaling).toarray()
    Z = np.hstack([np.linalg.matrix_power(S, p) @ X for p in powers])
    one = peers.Regression(split, powers, scaling)
    kept = split.folds != 2
    energy = Z[split.seeds].var(axis=0).sum()
    model = LogisticRegression(C=10 / energy, tol=1e-8, max_iter=1000)
    model.fit(Z[split.seeds[kept]], split.codes[kept])
    found = one.fit(10.0)(kept, slice(None))
    np.testing.assert_allclose(found, model.predict_proba(Z), atol=1e-4)
    np.testing.assert_allclose(one.fit(10.0)(kept, split.seeds[~kept]), found[split.seeds[~kept]], atol=1e-6)


def test_two_classes_and_one_class_are_regressed_as_well(peers, graph):
    for among, classes in ((np.arange(0, 40, 4), {0, 1}), (np.arange(0, 20, 2), {0})):
        split = peers.Split(peers.Features(graph), among, np.arange(10) % 5)
        P = peers.Regression(split, (2,), "row").fit(10.0)(np.ones(10, dtype=bool), slice(None))
        assert set(P.argmax(axis=1)) == classes
        np.testing.assert_allclose(P.sum(axis=1), 1)


def test_correct_and_smooth_is_that_of_pyg(peers, split):
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    import torch
    from torch_geometric.nn import CorrectAndSmooth

    S = peers.symmetric(split.graph.adjacency)
    P = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    Y = np.eye(3)[split.codes]
    model = CorrectAndSmooth(peers.STEPS, 0.9, peers.STEPS, 0.5, autoscale=True)
    edges, weights = torch.tensor(np.array(S.nonzero())), torch.tensor(S.data)
    seeds, codes = torch.tensor(split.seeds), torch.tensor(split.codes)
    corrected = model.correct(torch.tensor(P), codes, seeds, edges, weights)
    np.testing.assert_allclose(peers.corrected(S, P, split.seeds, Y, 0.9), corrected, atol=1e-9)
    expected = model.smooth(corrected, codes, seeds, edges, weights)
    found = peers.correct_and_smooth(S, P, split.seeds, Y, (0.9, 0.5))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_without_alphas_correct_and_smooth_leaves_the_base(peers, split):
    P = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    found = peers.correct_and_smooth(None, P, split.seeds, np.eye(3)[split.codes], (0.0, 0.0))
    others = np.setdiff1d(np.arange(60), split.seeds)
    np.testing.assert_array_equal(found[others], P[others])


def test_the_setting_of_the_best_held_out_accuracy_is_chosen_then_of_least_loss(peers, split, monkeypatch):
    def saying(codes, sure):
        return lambda kept, rows: np.where(np.arange(3) == codes[rows][:, None], sure, (1 - sure) / 2)

    true, false = split.graph.codes, np.zeros(60, dtype=int)
    fits = {"wrong": saying(false, 0.9), "flat": saying(true, 0.5), "sure": saying(true, 0.8)}
    monkeypatch.setattr(peers, "PEERS", {"told": lambda split, settings: fits})
    assert peers.chosen([split, split]) == {"told": "sure"}


def test_settings_are_chosen_on_a_part_of_many_seeds_that_keeps_folds_and_classes(peers, monkeypatch):
    monkeypatch.setattr(peers, "MOST", 60)
    codes = np.repeat([0, 1, 2], [400, 200, 25])
    everything = sp.csr_array((625, 625))
    graph = Graph(everything, known=Labels(codes, ("a", "b", "c")))
    split = peers.Split(peers.Features(graph), np.arange(625), stratified(codes, 5, seed=0))
    some = split.sampled()
    assert 50 <= some.seeds.size <= 60
    assert np.bincount(some.folds, minlength=5).min() >= 10
    assert np.bincount(some.codes, minlength=3).min() >= 2


@pytest.mark.slow
def test_every_peer_answers_better_than_chance(peers, split, efficiency):
    pytest.importorskip("sknetwork", reason="scikit-network is not installed")
    settings = peers.chosen([split])
    told = efficiency.peers(split, settings)
    assert {"lr_x", "lr_s2x", "lr_xs", "c_and_s", "diffusion", "pagerank"} <= set(settings)
    assert all(told[name] > 0.5 for name in ("lr_s2x", "lr_xs matched", "c_and_s", "diffusion", "pagerank"))


# -- running ---------------------------------------------------------------------------------------


def test_only_draws_that_are_missing_are_run(efficiency, graph, tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(
        efficiency, "ours", lambda graph, seeds, workspace: ran.append(seeds) or {"auto": 0.5}
    )
    efficiency.Run("ours", graph, efficiency.Draws(2, 1, 0), tmp_path).file("class", 0.05)
    efficiency.Run("ours", graph, efficiency.Draws(3, 1, 0), tmp_path).file("class", 0.05)
    assert len(ran) == 3
    told = json.loads(next(tmp_path.glob("ours_*_class_0.05.json")).read_text())
    assert set(told["found"]["auto"]) == {"class_0.05_0", "class_0.05_1", "class_0.05_2"}


def test_ours_tells_accuracy_members_interval_and_time(efficiency, graph):
    from querist.labelling.workspace import Workspace

    told = efficiency.ours(graph, efficiency.drawn(graph.codes, "class", 0.2, 0, 0), Workspace(graph))
    assert {"auto", "ece", "estimate", "low", "high", "seconds", "processor", "smoothed matched"} <= set(told)
    assert told["low"] <= told["estimate"] <= told["high"] and told["auto"] > 0.5


# -- the table -------------------------------------------------------------------------------------


def of(values, protocol="class", share=0.01):
    return {f"{protocol}_{share}_{draw}": value for draw, value in enumerate(values)}


@pytest.fixture
def found():
    """On cora `gcn` is best on even draws and `lr_x matched` on odd ones; genes has one peer alone."""
    return {
        "cora": {
            "auto": of([0.80, 0.81, 0.82, 0.83]) | of([0.7, 0.71, 0.72, 0.73], share=0.02),
            "gcn": of([0.90, 0.70, 0.90, 0.70]),
            "lr_x matched": of([0.60, 0.85, 0.60, 0.85, 0.99]),
            "smoothed": of([0.5, 0.5, 0.5, 0.7]),
            "low": of([0.7, 0.82, 0.7, 0.7]),
            "high": of([0.9, 0.9, 0.81, 0.9]),
            "ece": of([0.1, 0.2, 0.1, 0.2]),
        },
        "genes": {"auto": of([0.5, 0.6]), "gcn": of([0.7, 0.8])},
    }


def test_the_best_peer_is_chosen_on_one_half_of_the_draws_and_met_on_the_other(table, found):
    one = table.row(found["cora"], "class", 0.01)["against best"]
    differences = [0.81 - 0.70, 0.83 - 0.70, 0.80 - 0.60, 0.82 - 0.60]  # gcn on odd draws, lr_x on even ones
    assert one["peers"] == ["gcn", "lr_x matched"]
    assert one["difference"] == pytest.approx(np.mean(differences))
    from scipy.stats import ttest_1samp

    low, high = ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (one["low"], one["high"]) == pytest.approx((low, high))
    assert not one["lost"]


def test_a_row_has_means_coverage_and_the_best_of_ours(table, found):
    row = table.row(found["cora"], "class", 0.01)
    assert row["draws"] == 4 and row["auto"] == pytest.approx(0.815)
    assert row["peers"]["lr_x matched"] == pytest.approx(0.725)  # of the draws that auto has
    assert row["coverage"] == 0.5 and row["ece"] == pytest.approx(0.15)
    assert row["ours"] == ["smoothed", pytest.approx(0.55)]


def test_a_set_is_lost_where_the_whole_interval_is_two_points_below(table, found):
    assert table.row(found["genes"], "class", 0.01)["against best"]["lost"]
    near = {"auto": of([0.50, 0.60]), "gcn": of([0.519, 0.619])}
    assert not table.row(near, "class", 0.01)["against best"]["lost"]


def test_groups_are_compared_with_the_one_peer_that_is_best_on_all_their_sets(table, found):
    told = table.results(found)["class"]["0.01"]["groups"]["reported"]
    assert told["sets"] == 2 and told["auto"] == pytest.approx((0.815 + 0.55) / 2)
    assert told["best single"] == ["gcn", pytest.approx((0.815 - 0.8 + 0.55 - 0.75) / 2), 2]
    assert told["lost"] == ["genes"] and told["first"] == 1


def test_more_labels_that_hurt_are_told(table, found):
    step = table.results(found)["class"]["more labels"]["0.01 to 0.02"]
    assert step["cora"]["hurt"] and step["cora"]["difference"] == pytest.approx(-0.1)


def test_development_and_report_halves_share_nothing_and_hold_all(table):
    halves = table.SUMMARIES["development half"], table.SUMMARIES["report half"]
    assert not set(halves[0]) & set(halves[1]) and set(halves[0]) | set(halves[1]) == set(table.ALL)
    assert (len(halves[0]), len(halves[1])) == (15, 16)


def test_the_tables_print_as_markdown_and_as_json(table, found, tmp_path, capsys):
    for name, own in found.items():
        (tmp_path / f"ours_{name}.json").write_text(json.dumps({"set": name, "found": own}))
    table.show(tmp_path, as_json=False)
    printed = capsys.readouterr().out
    assert "| cora | 4 | **0.815** |" in printed and "| 0.725* |" in printed and "lost: genes" in printed
    table.show(tmp_path, as_json=True)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(table.results(found)))

"""The benchmark's networks: PyG's own layers, or the formula written out, give the same answers."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def networks():
    pytest.importorskip("torch", reason="torch is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return importlib.import_module("label_efficiency_networks")


@pytest.fixture(scope="module")
def small():
    generator = np.random.default_rng(0)
    upper = np.triu(generator.random((30, 30)) * (generator.random((30, 30)) < 0.15), 1)
    return sp.csr_array(upper + upper.T), generator.random((30, 12))


def answered(networks, small, kind, own):
    """Four networks with random biases, and their logits (30, 4, 3)."""
    import torch

    torch.manual_seed(0)
    nets = networks.Networks(kind, 12, networks.Setting("raw", 5, 0.01, own), 3, 4).eval()
    with torch.no_grad():
        nets.first_bias.uniform_()
        nets.second_bias.uniform_()
        logits = nets(networks.normalised(small[0], "cpu"), networks.Inputs(sp.csr_array(small[1]), "cpu"))
    assert logits.shape == (30, 1, 4, 3)
    return nets, logits[:, 0].numpy()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "own"), [("gcn", 0), ("appnp", 0.1), ("gprgnn", 0.3), ("grand", 3)])
def test_side_by_side_networks_answer_as_separate_ones(networks, small, kind, own):
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    import torch
    from torch_geometric.nn import APPNP, GCNConv

    nets, found = answered(networks, small, kind, own)
    S, X = small[0], torch.tensor(small[1], dtype=torch.float32)
    edges, weights = torch.tensor(np.array(S.nonzero())), torch.tensor(S.data, dtype=torch.float32)
    A = networks.normalised(S, "cpu").to_dense()
    for b in range(4):
        W1, W2 = nets.first[:, b], nets.second[b]
        b1, b2 = nets.first_bias[b], nets.second_bias[b]
        with torch.no_grad():
            own_answer = (X @ W1 + b1).relu() @ W2 + b2
            if kind == "gcn":
                one, two = GCNConv(12, 5), GCNConv(5, 3)
                for layer, W, bias in ((one, W1, b1), (two, W2, b2)):
                    layer.lin.weight.copy_(W.T)
                    layer.bias.copy_(bias)
                expected = two(one(X, edges, weights).relu(), edges, weights)
            elif kind == "grand":
                spread = sum(torch.linalg.matrix_power(A, k) for k in range(4)) @ X / 4
                expected = (spread @ W1 + b1).relu() @ W2 + b2
            else:  # before it learns, GPR-GNN is personalised PageRank
                expected = APPNP(K=networks.STEPS, alpha=own)(own_answer, edges, weights)
        np.testing.assert_allclose(found[:, b], expected.numpy(), atol=1e-5)


def test_the_gradient_of_propagation_is_that_of_autograd(networks, small):
    import torch

    A, w = networks.normalised(small[0], "cpu"), [0.5, 0.0, 2.0]
    X, target = torch.rand(30, 4, requires_grad=True), torch.rand(30, 4)
    networks.Propagate.apply(A, X, w).mul(target).sum().backward()
    D = A.to_dense()
    np.testing.assert_allclose(X.grad, (0.5 * target + 2 * D @ D @ target).numpy(), atol=1e-5)


def test_the_gradient_of_learned_propagation_is_that_of_autograd(networks, small):
    import torch

    A, target = networks.normalised(small[0], "cpu"), torch.rand(30, 2, 3)
    found = torch.rand(30, 2, 3, requires_grad=True), torch.rand(4, 2, requires_grad=True)
    expected = tuple(part.detach().clone().requires_grad_() for part in found)
    networks.PropagateLearned.apply(A, *found).mul(target).sum().backward()
    powers = [torch.linalg.matrix_power(A.to_dense(), k) for k in range(4)]
    H, G = expected
    sum(torch.einsum("ij,jbk->ibk", P, H) * g[:, None] for P, g in zip(powers, G, strict=True)).mul(
        target
    ).sum().backward()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.grad, theirs.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("filled", [0.002, 0.4])
def test_the_gradient_of_inputs_is_that_of_dense_ones(networks, filled):
    import torch

    X = sp.csr_array(sp.random_array((60, 90), density=filled, rng=np.random.default_rng(0)))
    W, target = torch.rand(90, 4, requires_grad=True), torch.rand(60, 4)
    inputs = networks.Inputs(X, "cpu")
    assert inputs.is_dense == (filled > networks.DENSE)
    (inputs.times(W, False) * target).sum().backward()
    np.testing.assert_allclose(W.grad.numpy(), X.T @ target.numpy(), atol=1e-5)


def test_grand_drops_the_same_nodes_whether_inputs_or_the_layer_are_spread(networks, small):
    import torch

    S, X = small
    A, inputs = networks.normalised(S, "cpu"), networks.Inputs(sp.csr_array(X), "cpu")
    found = []
    for hidden in (6, 5):  # 12 inputs are no more than twice 6 units, but more than twice 5
        nets = networks.Networks("grand", 12, networks.Setting("raw", hidden, 0.01, 2), 3, 1).train()
        with torch.no_grad():
            nets.first.fill_(1.0)
        torch.manual_seed(1)
        found.append(nets.hidden_inputs(A, inputs).detach()[..., 0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert not np.allclose(found[0][:, 0], found[0][:, 1])  # two augmentations


def test_the_consistency_loss_is_the_squared_distance_from_the_sharpened_mean(networks):
    import torch

    P = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.6, 0.4]]])  # two nodes, two augmentations
    expected = 0.0
    for node in P:
        squares = node.mean(axis=0) ** 2  # temperature one half
        expected += sum(((p - squares / squares.sum()) ** 2).sum() for p in node) / 4
    logits = torch.tensor(np.log(P))[:, :, None]
    np.testing.assert_allclose(networks.disagreement(logits), [expected])


def test_no_gradient_flows_through_the_sharpened_mean(networks):
    import torch

    logits = torch.rand(5, 2, 1, 3, dtype=torch.float64, requires_grad=True)
    networks.disagreement(logits).sum().backward()
    P = logits.detach().softmax(dim=-1)
    sharp = P.mean(dim=1, keepdim=True) ** 2
    sharp = sharp / sharp.sum(dim=-1, keepdim=True)
    again = logits.detach().clone().requires_grad_()
    (((again.softmax(dim=-1) - sharp) ** 2).sum() / 10).backward()
    np.testing.assert_allclose(logits.grad, again.grad)


def test_networks_are_matched_as_ours_are(networks):
    import torch

    from querist.labelling.combine import matched

    L = np.random.default_rng(0).normal(size=(40, 2, 3))
    shares = np.array([[0.5, 0.3, 0.2], [0.7, 0.3, 0.0]])
    found = networks.matched(torch.tensor(L), torch.tensor(shares)).numpy()
    for b in range(2):
        np.testing.assert_allclose(found[b], matched(L[:, b], shares[b], False), atol=1e-9)


@pytest.fixture
def prepared(tmp_path):
    """Two blocks of forty nodes, with attributes that tell a little; as `prepare` writes them."""
    generator = np.random.default_rng(0)
    codes = np.repeat([0, 1], 40)
    near = codes[:, None] == codes
    upper = sp.csr_array(np.triu(generator.random((80, 80)) < np.where(near, 0.15, 0.01), 1).astype(float))
    X = sp.csr_array((generator.random((80, 10)) < 0.2 + 0.2 * (np.arange(10) < 5) * codes[:, None]) * 1.0)
    arrays = {"codes": codes, "X_columns": np.array(10)}
    for name, M in (("S", upper), ("X", X)):
        arrays |= {f"{name}_counts": np.diff(M.indptr), f"{name}_indices": M.indices}
        arrays[f"{name}_data"] = np.ones(1)
    for draw in ("0", "1", "t0", "t1"):
        seeds = np.sort(np.concatenate([generator.choice(40, 5, False), 40 + generator.choice(40, 5, False)]))
        arrays[f"seeds_class_0.1_{draw}"] = seeds
        if draw.startswith("t"):
            arrays[f"folds_class_0.1_{draw}"] = np.tile(np.arange(5), 2)
    np.savez(tmp_path / "blocks.npz", **arrays)
    return tmp_path / "blocks.npz"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gcn", "appnp", "gprgnn", "grand"])
def test_every_network_learns_and_is_written_once(networks, prepared, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(networks, "EPOCHS", (10, 40))
    monkeypatch.setattr(networks, "WIDE", 40_000)  # so that jobs are trained in parts
    assert kind in networks.work(prepared, kind, tmp_path, "cpu", 2, float("inf"))
    told = json.loads((tmp_path / f"networks_blocks_{kind}.json").read_text())
    for form in (kind, f"{kind} matched"):
        assert set(told["found"][form]) == {"class_0.1_0", "class_0.1_1"}
        assert np.mean(list(told["found"][form].values())) > 0.8
    assert "there already" in networks.work(prepared, kind, tmp_path, "cpu", 2, float("inf"))


def test_a_network_that_runs_out_of_time_writes_nothing(networks, prepared, tmp_path):
    task = networks.Task(prepared, "cpu", deadline=0.0)
    with pytest.raises(TimeoutError):
        networks.run(task, "gcn", 1)
    assert "no time" in networks.work(prepared, "gcn", tmp_path, "cpu", 1, 0.0)
    assert not list(tmp_path.glob("*.json"))


def test_the_best_cross_validated_setting_is_taken_one_choice_after_the_other(
    networks, prepared, monkeypatch
):
    """Judges say that `raw`, then a rate of .05, then 25 epochs are right; hidden units do not matter."""
    tried = []

    def trained(task, kind, setting, jobs, judge, checkpoints):
        tried.append(setting)
        merit = (setting.scaling == "raw") + (setting.rate == 0.05)
        return [[(float(merit), 1.0 + number) for number in range(4)] for _ in jobs]

    monkeypatch.setattr(networks, "train", trained)
    found = networks.chosen(networks.Task(prepared, "cpu"), "gcn", ["class_0.1"])
    assert found["class_0.1"][:2] == (networks.Setting("raw", 64, 0.05, 0), 25)
    assert len(tried) == 5

"""The benchmark's networks are PyG's: same weights, same answers."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "label_efficiency_networks.py"


@pytest.fixture(scope="module")
def networks():
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    spec = importlib.util.spec_from_file_location("label_efficiency_networks", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def small():
    generator = np.random.default_rng(0)
    upper = np.triu(generator.random((30, 30)) * (generator.random((30, 30)) < 0.15), 1)
    return sp.csr_array(upper + upper.T), generator.random((30, 12))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gcn", "appnp"])
def test_side_by_side_networks_answer_as_separate_ones_of_pyg(networks, small, kind):
    import torch
    from torch_geometric.nn import APPNP, GCNConv

    S, dense = small
    X = torch.tensor(dense, dtype=torch.float32)
    torch.manual_seed(0)
    nets = networks.Networks(kind, 12, 5, 3, 4).eval()
    with torch.no_grad():
        nets.first_bias.uniform_()
        nets.second_bias.uniform_()
        found = nets(networks.normalised(S, "cpu"), networks.Inputs(sp.csr_array(dense), "cpu")).numpy()
    edges = torch.tensor(np.array(S.nonzero()))
    weights = torch.tensor(S.data, dtype=torch.float32)
    for b in range(4):
        W1, W2, b1, b2 = (part[b] for part in (nets.first, nets.second, nets.first_bias, nets.second_bias))
        with torch.no_grad():
            if kind == "gcn":
                one, two = GCNConv(12, 5), GCNConv(5, 3)
                for layer, W, bias in ((one, W1, b1), (two, W2, b2)):
                    layer.lin.weight.copy_(W.T)
                    layer.bias.copy_(bias)
                expected = two(one(X, edges, weights).relu(), edges, weights)
            else:
                own = (X @ W1 + b1).relu() @ W2 + b2
                expected = APPNP(K=networks.STEPS, alpha=networks.TELEPORT)(own, edges, weights)
        np.testing.assert_allclose(found[:, b], expected.numpy(), atol=1e-5)


def test_the_gradient_of_propagation_is_that_of_autograd(networks, small):
    import torch

    A = networks.normalised(small[0], "cpu")
    X = torch.rand(30, 4, requires_grad=True)
    target = torch.rand(30, 4)
    (networks.Propagate.apply(A, X) * target).sum().backward()
    np.testing.assert_allclose(X.grad.numpy(), (A.to_dense().T @ target).numpy(), atol=1e-6)


def test_the_gradient_of_sparse_inputs_is_that_of_dense_ones(networks, small):
    import torch

    X = small[1] * (small[1] > 0.6)
    W, target = torch.rand(12, 4, requires_grad=True), torch.rand(30, 4)
    (networks.Inputs(sp.csr_array(X), "cpu").times(W, False) * target).sum().backward()
    np.testing.assert_allclose(W.grad.numpy(), X.T @ target.numpy(), atol=1e-5)


def test_the_best_cross_validated_setting_is_taken_whatever_the_test_says(networks):
    settings = {
        "a": {"cv": [0.5, 1.0], "loss": [1.0, 1.0], "size": [3, 1], "test": 0.9},
        "b": {"cv": [0.75, 0.25], "loss": [0.5, 0.5], "size": [3, 1], "test": 0.1},
        "c": {"cv": [0.75, 0.25], "loss": [0.6, 0.6], "size": [3, 1], "test": 0.8},
    }
    assert networks.chosen(settings) == ("b", 0.1)

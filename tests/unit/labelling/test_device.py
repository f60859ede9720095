"""`label(..., device=)` on torch's CPU: what this process finds, but for rounding."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from querist import label
from querist.datasets import load_graph, sbm
from querist.errors import InputError
from querist.graph import Graph
from querist.operator.device import choice

pytest.importorskip("torch", reason="devices are the extra [torch]")


@pytest.fixture(scope="module")
def club() -> Graph:
    return load_graph("karate")


@pytest.mark.parametrize("method", ["links", "gmnr"])
def test_a_device_labels_as_this_process_does(club: Graph, method: str) -> None:
    if method == "gmnr":
        club = replace(club, attributes=club.adjacency)
    known = {node: club.labels[node] for node in (0, 1, 2, 31, 32, 33)}
    here = label(club.without_labels(), known, method=method)
    there = label(club.without_labels(), known, method=method, device="cpu")
    np.testing.assert_allclose(there.probabilities, here.probabilities, atol=0.01)
    assert there.choice.why[-1] == "Rows were smoothed and counts were modelled on cpu."
    assert here.choice.why == there.choice.why[:-1]


def test_a_device_that_is_not_there_is_refused_at_once(club: Graph) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        label(club, {0: "a", 33: "b"}, device="cuda:77")


def test_auto_takes_a_gpu_if_the_graph_is_large_and_fits_on_it(
    club: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one

    def why() -> str:
        known = {0: "a", 1: "a", 32: "b", 33: "b"}
        return " ".join(label(club.without_labels(), known, method="links", device="auto").choice.why)

    assert "the graph has fewer than 100,000 nodes and edges." in why()
    monkeypatch.setattr(choice, "LARGE", 100)
    assert 'device="auto" takes cpu: ' in why() and "modelled on cpu." in why()
    monkeypatch.setattr(choice, "free_on", lambda _: 1.0)
    assert "of cpu, 0.0 GB are needed there" in why() and "modelled on" not in why()
    monkeypatch.setattr(choice, "graphics", lambda: None)
    assert "torch sees no GPU." in why()


@pytest.fixture(scope="module")
def described() -> Graph:
    """Two planted blocks whose nodes have counts of 40 words."""
    blocks = sbm((90, 80), 0.08, 0.01, seed=1)
    lean = np.random.default_rng(0).gamma(0.7, size=(2, 40))
    X = np.random.default_rng(1).poisson(lean[blocks.codes])
    return replace(blocks, attributes=sp.csr_array(X.astype(float)))


@pytest.mark.slow
def test_all_members_are_fitted_on_a_device_as_in_this_process(described: Graph) -> None:
    codes = described.codes
    known = {node: int(codes[node]) for node in range(0, 170, 6)}
    here, there = (label(described.without_labels(), known, device=device) for device in (None, "cpu"))
    np.testing.assert_allclose(there.probabilities, here.probabilities, atol=2e-3)
    assert there.estimate.correct.mean() == pytest.approx(here.estimate.correct.mean(), abs=2e-3)
    assert {score.name for score in there.choice.scores} == {score.name for score in here.choice.scores}
    assert there.model.weights(np.arange(3))[1].shape == (3, len(known)), "who weighed how much is known"
    again = label(described.without_labels(), known, device="cpu")
    assert (again.probabilities == there.probabilities).all()


@pytest.mark.slow
@pytest.mark.parametrize(("method", "close"), [("walks", 1e-9), ("channels", 1e-9), ("auto", 2e-3)])
def test_several_labels_a_node_are_fitted_on_a_device_too(
    described: Graph, method: str, close: float
) -> None:
    sets = {node: {int(described.codes[node]), node % 2} for node in range(0, 170, 6)}
    here, there = (
        label(described.without_labels(), sets, multilabel=True, method=method, device=device)
        for device in (None, "cpu")
    )
    np.testing.assert_allclose(there.probabilities, here.probabilities, atol=close)


def test_a_labelling_that_was_made_on_a_device_can_be_pickled(described: Graph) -> None:
    known = {node: int(described.codes[node]) for node in (0, 1, 100, 101)}
    made = label(described.without_labels(), known, method="smoothed", device="cpu")
    again = pickle.loads(pickle.dumps(made))
    assert again.labels == made.labels
    np.testing.assert_array_equal(again.model.weights(0)[1], made.model.weights(0)[1])

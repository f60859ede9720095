"""`label(..., device=)` on torch's CPU: what this process finds, but for rounding."""

import numpy as np
import pytest

from querist import label
from querist.datasets import load
from querist.errors import InputError
from querist.graph import Graph
from querist.operator import place
from querist.operator.device import choice

pytest.importorskip("torch", reason="devices are the extra [torch]")


@pytest.fixture(scope="module")
def club() -> Graph:
    return load("karate")


@pytest.mark.parametrize("method", ["links", "gmnr"])
def test_a_device_labels_as_this_process_does(club: Graph, method: str) -> None:
    if method == "gmnr":
        from dataclasses import replace

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


def test_auto_takes_a_gpu_where_it_is_worth_it(club: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: "cpu")  # as if it were one
    monkeypatch.setattr(choice, "copied_on", lambda _: 1e13)

    def why() -> str:
        known = {0: "a", 1: "a", 32: "b", 33: "b"}
        return " ".join(label(club.without_labels(), known, method="links", device="auto").choice.why)

    assert "a moment; cpu would take about" in why()
    monkeypatch.setattr(place, "DEVICE_START", 0.0)
    assert "On cpu: about 1 s and 0.0 GB of" in why() and "modelled on cpu." in why()
    monkeypatch.setattr(choice, "free_on", lambda _: 1.0)
    assert "cpu would need 0.0 GB, and 0.0 GB are free" in why() and "modelled on" not in why()
    monkeypatch.setattr(choice, "graphics", lambda: None)
    assert "there is no GPU that torch can use" in why()

"""`device="auto"` has one rule, and a device that is named must have room."""

import re
from types import SimpleNamespace

import pytest

from querist.errors import TooLargeError
from querist.operator.device import choice
from querist.operator.device.choice import LARGE, ChosenDevice, device_for


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU with 2 GB free."""
    monkeypatch.setattr(choice, "graphics", lambda: "cuda")
    monkeypatch.setattr(choice, "chosen_device", lambda name: SimpleNamespace(type=name))
    monkeypatch.setattr(choice, "free_on", lambda _: 2e9)


@pytest.mark.parametrize(
    ("size", "need", "device", "why"),
    [
        (LARGE, 2e9, "cuda", r"takes cuda: 2\.0 GB are needed there and 2\.0 GB are free"),
        (LARGE - 1, 2e9, None, "takes the CPU: the graph has fewer than 100,000 nodes and edges"),
        (LARGE, 3e9, None, r"takes the CPU: of cuda, 3\.0 GB are needed there and 2\.0 GB are free"),
        (LARGE, None, None, "takes the CPU: this is not done on a GPU"),
    ],
)
def test_auto_takes_a_gpu_for_a_large_graph_that_fits(
    size: int, need: float | None, device: str | None, why: str
) -> None:
    found = device_for("auto", "this", size, need)
    assert found.name == device and re.fullmatch(f'device="auto" {why}', found.why)


def test_auto_without_a_gpu_takes_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: None)
    assert device_for("auto", "this", LARGE, 1.0) == (None, 'device="auto" takes the CPU: torch sees no GPU')


def test_a_small_graph_does_not_load_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "graphics", lambda: pytest.fail("looked for a GPU"))
    assert device_for("auto", "this", LARGE - 1, 1.0).name is None


def test_a_named_device_is_taken_or_refused() -> None:
    assert device_for(None, "this", LARGE, 1e99) == ChosenDevice(None)
    assert device_for("cuda:1", "this", 1, 2e9) == ChosenDevice("cuda:1")
    text = r"^this needs about 3\.0 GB of memory on cuda:1, and 2\.0 GB are available; leave the device out$"
    with pytest.raises(TooLargeError, match=text):
        device_for("cuda:1", "this", 1, 3e9)

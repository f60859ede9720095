"""One bar over several stages."""

import time

import pytest

from querist import progress as stages
from querist.progress import Stages


def told() -> tuple[list[tuple[str, float, str]], Stages]:
    seen: list[tuple[str, float, str]] = []

    def progress(fraction: float, text: str) -> None:
        seen.append(("all", fraction, text))

    return seen, Stages(progress, {"read": 1.0, "work": 3.0})


def test_a_stage_is_its_share_of_the_bar_and_it_never_goes_back() -> None:
    seen, show = told()
    for stage, fraction in (("read", 0.5), ("read", 1.0), ("work", 0.5), ("work", 0.2), ("work", 2.0)):
        show(stage, fraction, "busy")
    assert [fraction for _, fraction, _ in seen] == [0.125, 0.25, 0.625, 0.625, 1.0]
    assert {(stage, text) for stage, _, text in seen} == {("all", "busy")}


def test_the_bar_moves_while_a_step_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "BEAT", 0.01)
    seen, show = told()
    with show.ticking():
        show.lasting("read", "reading", 0.2)
        time.sleep(0.3)
        assert len(seen) > 5
        fractions = [fraction for _, fraction, _ in seen]
        assert fractions == sorted(fractions)
        assert 0.1 < fractions[-1] < 0.25
        show("work", 0.0, "working")
        time.sleep(0.3)
        silent = seen[-1]
    count = len(seen)
    time.sleep(0.05)
    assert len(seen) == count
    # By the pace so far, three times as long as the first stage: it creeps on, but does not arrive.
    assert 0.26 < silent[1] < 0.7
    assert silent[2] == "working"

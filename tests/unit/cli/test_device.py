"""`--device` of embed, label, ask, evaluate collective and campaigns, on torch's CPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="devices are the extra [torch]")


def test_commands_compute_on_a_device(querist: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "rows.npy"
    assert querist("embed", "karate", "--rank", "5", "--device", "cpu", "--out", str(out)).code == 0
    assert np.load(out).shape == (34, 5)
    found = querist(
        "evaluate",
        "collective",
        "karate",
        "--set",
        "features=links",
        "--repeats",
        "2",
        "--device",
        "cpu",
        "--json",
    )
    assert found.json["parameters"]["device"] == "cpu"
    here = querist("evaluate", "collective", "karate", "--set", "features=links", "--repeats", "2", "--json")
    assert found.json["accuracy"]["mean"] == pytest.approx(here.json["accuracy"]["mean"], abs=0.05)


def test_a_label_says_where_it_was_made(querist: Callable[..., Any], tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("node,label\n0,a\n1,a\n32,b\n33,b\n")
    out = tmp_path / "labelled.csv"
    done = querist(
        "label", "karate", "--labels", str(labels), "--device", "cpu", "--method", "links", "--out", str(out)
    )
    assert done.code == 0, done.err
    assert "on cpu" in done.out


def test_questions_are_chosen_on_a_device(querist: Callable[..., Any], tmp_path: Path) -> None:
    def asked(name: str, *more: str) -> Any:
        out = tmp_path / f"{name}.csv"
        done = querist("ask", "karate", "--oracle", "karate", "--budget", "5", "--out", str(out), *more)
        assert done.code == 0, done.err
        return done.out.splitlines()[:5]

    assert asked("there", "--device", "cpu") == asked("here")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("embed", "karate", "--out", "rows.npy", "--device", "cuda:77"), "cannot be used"),
        (("ask", "karate", "--oracle", "karate", "--device", "cuda:77"), "cannot be used"),
        (("serve", "--device", "cuda:77"), "cannot be used"),
        (("campaign", "create", "karate", "--device", "cuda:77"), "cannot be used"),
        (("evaluate", "collective", "karate", "--method", "wvrn", "--device", "cpu"), "wvrn knows no device"),
    ],
    ids=["no such device", "none to ask on", "none to serve on", "none for a campaign", "a method without"],
)
def test_what_cannot_be_computed_there_is_refused(
    querist: Callable[..., Any],
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = querist(*words)
    assert done.code != 0 and said in done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [("ask", "karate", "--oracle", "karate"), ("campaign", "create", "karate")])
def test_a_campaign_says_where_it_works(
    querist: Callable[..., Any], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = "--budget", "3", "--device", "auto"
    spoken = [line for line in querist(*words, *more).out.splitlines() if "device=" in line]
    assert len(spoken) == 1 and "takes the CPU: the graph has fewer than" in spoken[0]
    (tmp_path / "querist.db").unlink(missing_ok=True)
    assert querist(*words, *more, "--json").json["places"] == spoken

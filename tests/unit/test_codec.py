"""Saved files whose digest is right and whose content is not: refused before compiled code reads it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sealing import Change, resealed

import querist
from querist import ALGORITHMS, STREAMS, InputError, Learner
from querist.budgeted import BLS

RING = querist.as_graph([(i, (i + 1) % 7) for i in range(7)], nodes=7)
ROWS = np.random.default_rng(0).normal(size=(7, 3))


def named(arrays: dict[str, Any], name: str) -> str:
    """The whole name of an array, by the last part of it."""
    (found,) = (own for own in arrays if own.rpartition(".")[2] == name)
    return found


def put(name: str, place: Any, value: Any) -> Change:
    """A change of one entry of an array."""

    def change(held: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[named(arrays, name)][place] = value

    return change


def instead(name: str, make: Callable[[Any], Any]) -> Change:
    """Another array in the place of one."""
    return lambda held, arrays: arrays.update({named(arrays, name): make(arrays[named(arrays, name)])})


def inside(held: dict[str, Any], *names: str) -> dict[str, Any]:
    """The fields of the record in these fields; a union of records says which one it is."""
    (here,) = held["value"].values()
    for name in names:
        (here,) = here[name].values()
    return here


def rule(**values: Any) -> Change:
    def change(held: dict[str, Any], arrays: dict[str, Any]) -> None:
        fields = inside(held, "parts", "rules") if "parts" in inside(held) else inside(held, "rules")
        fields.update(values)

    return change


def told(**values: Any) -> Change:
    return lambda held, arrays: inside(held).update(values)


def asked(row: int, problems: int) -> dict[str, Any]:
    """An open question as it is saved."""
    question = {"round": 1, "certain": True, "asks": {"tuple": [True] * problems}}
    return {"table": [[row, {"tuple": [{"OpenQuestion": question}]}]]}


EVERY = {
    "cut rows": instead("rows", lambda rows: rows[:-1]),
    "rows of a line": instead("rows", lambda rows: rows[0]),
    "short tie": instead("tie", lambda tie: tie[:2]),
    "tie order twice": instead("tie_order", np.zeros_like),
    "tie order outside": put("tie_order", 0, 10**9),
    "counts below 0": put("counts", 0, -5),
    "short counts": instead("counts", lambda counts: counts[:2]),
    "singles": instead("tie", lambda tie: tie.astype(np.float32)),
    "classes": rule(n_classes=50),
    "classes beyond memory": rule(n_classes=10**18),
    "truth for a number": told(seed=True),
    "a number beyond 64 bits": told(budget=2**64),
    "open question of nobody": told(pending=asked(-1, 1)),
    "open question beyond": told(pending=asked(7, 1)),
    "question of many problems": told(pending=asked(0, 99)),
    "no list of questions": told(pending={"table": 3}),
    "ids": told(nodes={"tuple": ["a", "a", "b", "c", "d", "e", "f"]}),
    "few ids": told(nodes={"tuple": ["a"]}),
    "a list for an id": told(nodes={"tuple": [["a", i] for i in range(7)]}),
    "ids of no kind": told(nodes={"tuple": [{"other": i} for i in range(7)]}),
    "parts of no kind": told(parts={"OtherParts": {}}),
    "another field": told(colour=3),
    "another array": lambda held, arrays: arrays.update(more=np.zeros(3)),
    "no array": lambda held, arrays: arrays.pop("parts.place.tie_order"),
    "deep": told(notes=json.loads("[" * 900 + "]" * 900)),
    "ring of values": instead("recent", lambda recent: np.zeros(5)),
}
COMPONENTS = {
    "component 10^9": put("component", 0, 10**9),
    "component -1": put("component", 0, -1),
    "few touched": instead("touched", lambda touched: touched[:0]),
}
KINDS: dict[str, tuple[Callable[[], Learner], dict[str, Change]]] = {
    "msg": (
        lambda: ALGORITHMS["msg"](ROWS, 3),
        {
            **COMPONENTS,
            "cut P": instead("P", lambda P: P[:, :2]),
            "no P": instead("P", lambda P: P[:, :0, :0]),
            "wide rows": instead("rows", lambda rows: np.tile(rows, (1, 4))),
            "wide W": instead("W", lambda W: np.tile(W, (1, 4))),
            "NaN in P": put("P", (0, 0, 0), np.nan),
            "an unknown rule": rule(query=77),
            "numbers of another rule": instead("numbers", lambda own: np.zeros(2)),
            "h below 0": put("numbers", 0, -1.0),
            "first order": rule(second_order=False),
            "one-vs-rest": rule(binary=True),
            "no number": rule(pace={"float": "nan"}),
        },
    ),
    "pounce": (
        lambda: ALGORITHMS["pounce"](RING, 3),
        {
            "sizes beyond n": put("sizes", 0, 10**6),
            "sizes of more than are known": put("sizes", 0, 7),
            "sizes below 0": put("sizes", 0, -1),
            "known beyond n": put("known", (0, 3), 10**9),
            "met without a cover": put("counts", 3, 2),
            "more met than nodes": put("counts", 3, 10**6),
            "in a cover, not met": put("in_cover", 0, True),
            "a node far from itself": put("distance", (1, 1), 2.0),
            "no distance": put("distance", (1, 2), np.nan),
            "short w": instead("w", lambda w: w[:, :2]),
        },
    ),
    "nearest": (
        lambda: ALGORITHMS["nearest"](ROWS, 3),
        {
            "covers that differ": lambda held, arrays: (
                arrays["parts.state.sizes"].__setitem__(1, 1),
                arrays["parts.state.counts"].__setitem__(3, 1),
                arrays["parts.state.in_cover"].__setitem__(0, True),
            ),
        },
    ),
    "paced": (
        lambda: ALGORITHMS["paced"](RING, 3, budget=3),
        {
            **COMPONENTS,
            "neighbours beyond n": put("indices", 0, 10**9),
            "neighbours that go back": put("indptr", 1, 10**9),
            "cut b": instead("b", lambda b: b[:2]),
            "gamma 0": rule(gamma=0.0),
        },
    ),
    "fastonl": (
        lambda: ALGORITHMS["fastonl"](RING, 3),
        {
            **COMPONENTS,
            "neighbours beyond n": put("indices", 0, 10**9),
            "neighbours that go back": put("indptr", 1, 10**9),
            "few gradients": instead("gradients", lambda own: own[:2]),
            "alpha 1": rule(alpha=1.0),
        },
    ),
}
CASES = [(kind, name) for kind, (_, own) in KINDS.items() for name in (*EVERY, *own)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}-{name}" for kind, name in CASES])
def test_a_learner_that_cannot_have_been_saved_is_refused(kind: str, name: str, tmp_path: Path) -> None:
    make, own = KINDS[kind]
    path = tmp_path / "learner.npz"
    make().save(path)
    Learner.load(path)
    resealed(path, {**EVERY, **own}[name])
    with pytest.raises(InputError, match=r"learner\.npz: "):
        Learner.load(path)


STREAM: dict[str, Change] = {
    "cut H": instead("H", lambda H: H[:3]),
    "wide H": instead("H", lambda H: np.zeros((99, 99))),
    "NaN in H": put("H", (0, 0), np.nan),
    "a ring beyond the slots": put("ring", (0, 0), 10**9),
    "a slot twice": put("ring", (0, 1), 0),
    "more vectors than slots": put("counts", 1, 10**6),
    "vectors below 0": put("counts", 1, -1),
    "the oldest beyond": put("counts", 3, 10**6),
    "the last slot beyond": put("counts", 7, 10**6),
    "waiting for no slot": lambda held, arrays: arrays["state.owed"].__setitem__(
        slice(None), [1.0, 1.0, 1e9, 1.0]
    ),
    "short owed": instead("owed", lambda owed: owed[:2]),
    "cut X": instead("X", lambda X: X[:, :1]),
    "problems": instead("alpha", lambda alpha: np.tile(alpha, (5, 1))),
    "classes": told(n_classes=50),
    "a maintenance": rule(maintenance=9),
    "another maintenance": rule(maintenance=1),
    "budget": rule(budget_labelled=10**9),
    "no width": rule(width=0.0),
    "no kernel of ours": rule(kernel=2),
    "warm": told(warm=True),
    "first items": instead("first", lambda first: np.zeros((3, 99))),
}


@pytest.mark.parametrize("name", STREAM)
def test_a_stream_learner_that_cannot_have_been_saved_is_refused(name: str, tmp_path: Path) -> None:
    path, X = tmp_path / "learner.npz", np.random.default_rng(1).normal(size=(40, 2))
    learner = STREAMS["bls"](2, width=1.0, budget_labelled=5, budget_unlabelled=4)
    learner.run(X, (X[:, 0] > 0).astype(int))
    learner.save(path)
    BLS.load(path)
    resealed(path, STREAM[name])
    with pytest.raises(InputError, match=r"learner\.npz: "):
        BLS.load(path)


@pytest.mark.parametrize("row", [-1, 7, 10**9])
def test_a_decision_about_no_node_is_not_taken(row: int) -> None:
    learner = ALGORITHMS["msg"](ROWS, 3)
    decision = learner.decide(0)
    with pytest.raises(InputError, match="another learner"):
        learner.commit(replace(decision, row=row))
    with pytest.raises(InputError, match="another learner"):
        learner.commit(replace(decision, variances=np.zeros(10_000)))
    with pytest.raises(InputError, match="round = -1"):
        learner.round = -1
    assert learner.round == 0 and not learner.pending

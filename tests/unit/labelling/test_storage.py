"""A labelling that was saved is the labelling, and a file is whole or refused."""

import datetime
import decimal
import os
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest
from sealing import resealed

import querist
from querist import as_graph
from querist.errors import InputError
from querist.labelling import Labelling, label, storage
from querist.labelling.influence import influences

IDS = {
    "row numbers": list(range(8)),
    "numbers": [7, -3, 2**70, 0, 11, 12, 13, 14],
    "fractions": [0.5, 1.5, -2.25, float("inf"), 1e300, 3.0, 4.5, 5.5],
    "text": ["a", "", "007", "\x00", "é", "\ud800", "<script>alert(1)</script>", "a\nb"],
    "mixed": ["a", 3, 2.5, (1, "b"), True, b"\xff", frozenset({1, "c"}), ((), (None, 2))],
    "times": [
        datetime.date(2020, 1, 1),
        datetime.datetime(2020, 1, 1, 12, 30, 1, 5),
        datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC),
        datetime.time(1, 2),
        decimal.Decimal("1.10"),
        uuid.UUID(int=5),
        datetime.date(1, 1, 1),
        "2020-01-01",
    ],
}


def found(ids: list, *, attributes: bool = True, several: bool = False, **options: object) -> Labelling:  # type: ignore[type-arg]
    """Two squares of four nodes, joined by an edge."""
    pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (4, 5), (5, 6), (6, 7), (7, 4), (4, 6), (3, 4)]
    X = np.repeat(np.eye(2), 4, axis=0) if attributes else None
    graph = as_graph([(ids[i], ids[j], 1.5 + i) for i, j in pairs], nodes=ids, attributes=X, name="squares")
    names: tuple = (ids[0], ids[1]) if options.pop("classes_like_ids", False) else ("x", "y")  # type: ignore[type-arg]
    known = {ids[k]: {names[k // 4]} if several else names[k // 4] for k in (0, 1, 4, 5)}
    return label(graph, known, multilabel=several, **options)  # type: ignore[arg-type]


def same(one: Labelling, other: Labelling) -> None:
    assert list(map(repr, other.graph.nodes)) == list(map(repr, one.graph.nodes))
    assert other.graph.nodes == one.graph.nodes
    assert (other.classes, other.labels, other.runner_up) == (one.classes, one.labels, one.runner_up)
    for name in ("probabilities", "reached"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
        assert getattr(other, name).dtype == getattr(one, name).dtype
    assert (other.graph.adjacency != one.graph.adjacency).nnz == 0
    assert (other.graph.attributes is None) == (one.graph.attributes is None)
    if one.graph.attributes is not None:
        assert (other.graph.attributes != one.graph.attributes).nnz == 0
    assert (other.graph.name, other.graph.notes) == (one.graph.name, one.graph.notes)
    assert repr(other.choice) == repr(one.choice) and repr(other) == repr(one)
    assert str(other.estimate) == str(one.estimate) and other.estimate.how == one.estimate.how
    np.testing.assert_array_equal(other.estimate.confidence, one.estimate.confidence)
    assert dict(other.options) == dict(one.options) and other.new == one.new


@pytest.mark.parametrize("kind", IDS)
def test_ids_and_classes_of_every_kind_come_back(kind: str, tmp_path: Path) -> None:
    one = found(IDS[kind], method="harmonic", classes_like_ids=kind != "fractions")
    one.save(tmp_path / "saved.npz")
    same(one, Labelling.load(tmp_path / "saved.npz"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"attributes": False}, {"several": True}, {"method": "smoothed", "seed": 3, "picked": True}],
)
def test_everything_comes_back(options: dict[str, object], tmp_path: Path) -> None:
    one = found(list("abcdefgh"), **options)  # type: ignore[arg-type]
    one.save(tmp_path / "saved.npz")
    two = querist.Labelling.load(tmp_path / "saved.npz")
    same(one, two)
    assert influences(two).rows.tolist() == influences(one).rows.tolist()
    assert influences(two).how == influences(one).how
    new = [("new", "a"), ("new", "b"), ("newer", "new")]
    grown = one.label_new(new, limit=1.0)
    same(grown, two.label_new(new, limit=1.0))
    grown.save(tmp_path / "grown.npz")
    again = Labelling.load(tmp_path / "grown.npz")
    same(grown, again)
    anew = one.label_new(new, limit=0.0), again.label_new(limit=0.0)
    np.testing.assert_allclose(anew[0].probabilities, anew[1].probabilities)
    more = [("last", "newer"), ("last", "a")]
    same(grown.label_new(more, limit=1.0), again.label_new(more, limit=1.0))


def test_weights_are_kept_while_they_are_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = found(list("abcdefgh"), method="smoothed")
    one.save(tmp_path / "saved.npz")
    model = Labelling.load(tmp_path / "saved.npz").model
    for nodes in (3, np.array([1, 5])):
        for kept, own in zip(model.weights(nodes), one.model.weights(nodes), strict=True):
            np.testing.assert_allclose(kept, own, atol=1e-12)
    monkeypatch.setattr(storage, "WEIGHTS", 5)
    one.save(tmp_path / "saved.npz")
    assert Labelling.load(tmp_path / "saved.npz").model is None


class Strange:
    """A hashable that no file can hold."""

    def __repr__(self) -> str:
        return "<strange>"


def test_an_id_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    ids = [Strange(), *"bcdefgh"]
    with pytest.raises(InputError, match=r"graph\.nodes\.0: <strange> of type Strange cannot be saved"):
        found(ids, method="harmonic").save(tmp_path / "saved.npz")
    assert not list(tmp_path.iterdir())


# -- files that are not what they should be -----------------------------------------------------------------


def changed(path: Path, **fields: object) -> None:
    """The same file with another description, its digest right."""
    resealed(path, lambda held, arrays: held["value"]["SavedLabelling"].update(fields))


def far(held: dict[str, object], arrays: dict[str, np.ndarray]) -> None:
    arrays["graph.adjacency.indices"][-1] = 99


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


FAULTS = {
    "missing": (Path.unlink, "no such file"),
    "empty": (lambda p: p.write_bytes(b""), "not a saved labelling, or damaged"),
    "text": (lambda p: p.write_text("node,label\n"), "not a saved labelling, or damaged"),
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-300]), "not a saved labelling, or damaged"),
    "a bit changed": (flipped, "damaged"),
    "another archive": (lambda p: np.savez(p, edges=np.array([[0, 1]])), "not a saved labelling, or damaged"),
    "a learner": (
        lambda p: querist.ALGORITHMS["msg"](np.eye(4), 2).save(p),
        "a saved online learner, and a saved labelling is needed",
    ),
    "newer": (
        lambda p: resealed(p, lambda held, arrays: held.update(version=99)),
        "format 99, this version reads 2; update querist",
    ),
    "fields missing": (lambda p: changed(p, choice={"Choice": {}}), "Choice has"),
    "fields of another type": (lambda p: changed(p, n_old="8"), "n_old is '8'; it must be of type int"),
    "other sizes": (lambda p: changed(p, classes={"tuple": ["x"]}), "K = 1 is needed"),
    "rows out of range": (lambda p: resealed(p, far), "indices 0..99"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_saved_labelling_is_refused(fault: str, tmp_path: Path) -> None:
    place = tmp_path / "saved.npz"
    found(list("abcdefgh"), method="harmonic").save(place)
    spoil, said = FAULTS[fault]
    spoil(place)
    with pytest.raises(InputError, match=said):
        Labelling.load(place)


def test_a_labelling_is_no_learner(tmp_path: Path) -> None:
    found(list("abcdefgh"), method="harmonic").save(tmp_path / "saved.npz")
    with pytest.raises(InputError, match="a saved labelling, and a saved online learner is needed"):
        querist.Learner.load(tmp_path / "saved.npz")


# -- a process that is killed, a disk that is full ----------------------------------------------------------

CHILD = """
import os, resource, sys
import numpy as np
import querist

place, what = sys.argv[1:]
found = querist.Labelling.load(place)
if what == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
else:
    real = os.fsync
    os.fsync = lambda file: os.kill(os.getpid(), 9)
found.label_new([("new", "a")], limit=1.0).save(place)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("what", "code"), [("full", 1), ("killed", -9)])
def test_a_full_disk_and_a_kill_leave_the_old_file(what: str, code: int, tmp_path: Path) -> None:
    place = tmp_path / "saved.npz"
    one = found(list("abcdefgh"), method="harmonic")
    one.save(place)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(place), what], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    if what == "full":
        assert "saved.npz" in done.stderr.splitlines()[-1]
        assert os.listdir(tmp_path) == ["saved.npz"]
    same(one, Labelling.load(place))

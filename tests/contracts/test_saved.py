"""What holds of everything that is saved, whatever it is."""

import importlib
import json
import pkgutil
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sealing import resealed

import querist
from querist import ALGORITHMS, STREAMS, codec, npz
from querist.cluster import store
from querist.embedding import cache
from querist.errors import InputError
from querist.experiment import Outcome, store as results

N, K = 9, 3
RING = querist.as_graph(
    [(f"n{i}", f"n{(i + 1) % N}", 1.0 + i) for i in range(N)],
    nodes=[f"n{i}" for i in range(N)],
    attributes=np.eye(N, 4),
)
CODES = np.arange(N) % K
EMBEDDED = querist.embed(RING, 3, kind="pagerank", cache=False)


def learner(name: str) -> Any:
    graph = name in ("pounce", "paced", "fastonl")
    made = ALGORITHMS[name](RING if graph else EMBEDDED, K, budget=6)
    made.by_row().run(range(5), CODES)
    made.commit(made.decide(6, 0.0))
    return made


ITEMS = np.random.default_rng(2).normal(size=(30, 3)), np.arange(30) % (K + 1) - 1


def stream(maintenance: str) -> Any:
    made = STREAMS["bls"](K, maintenance=maintenance, budget_labelled=5, budget_unlabelled=4)
    made.run(*ITEMS)
    return made


def labelling(**options: Any) -> Any:
    several = options.get("multilabel", False)
    known = {f"n{i}": {f"class {i % K}"} if several else f"class {i % K}" for i in range(6)}
    return querist.label(RING, known, **options)


class Direct:
    """A value that nothing but the codec saves."""

    def __init__(self, kind: codec.SavedKind[Any], value: Any) -> None:
        self.kind, self.value = kind, value

    def save(self, path: Path) -> None:
        codec.write(path, self.kind, self.value)


def result() -> Direct:
    outcome = Outcome({"error": 1 / 3, "seconds": float("nan")}, {"error": [0.5, 0.25]}, {"why": ("a", 1)})
    record = results.Record("run", {"h": 0.1, "k": 2}, 7, 3, outcome, {"versions": {"querist": "0"}})
    return Direct(results.KIND, results.Line("key", {"task": "online", "grid": {"h": [1, 2]}}, record))


WHOLE = store.Whole(np.array([0, 4, N]), np.array([8, 10]), {"cut": 0.5, "classes": ["a", "b"]})
EXAMPLES: dict[str, Callable[[], Any]] = {
    **{
        f"online learner, {name}": lambda name=name: learner(name)
        for name in ("msg", "dgs", "pounce", "nearest", "paced", "fastonl")
    },
    **{f"stream learner, {name}": lambda name=name: stream(name) for name in ("remove", "projection")},
    "stream learner, fresh": lambda: STREAMS["bls"](2),
    "labelling": lambda: labelling(method="smoothed"),
    "labelling, multilabel": lambda: labelling(multilabel=True),
    "cached embedding": lambda: Direct(cache.KIND, cache.CachedEmbedding("name", EMBEDDED)),
    "experiment result": result,
    "cluster graph": lambda: Direct(store.WHOLE_KIND, WHOLE),
    "cluster segment": lambda: Direct(
        store.SEGMENT, store.Segment(RING.adjacency, {"codes": CODES}, sp.csr_array(np.eye(N, 5)))
    ),
    "cluster checkpoint": lambda: Direct(store.BLOCK, store.Checkpoint(np.eye(3, 5, dtype=np.float32))),
}
ODD = {"set": [1]}
FREE = ("beside.", "X")
"""Arrays of any type, or of any whole numbers."""


def as_it_is(value: Any) -> Any:
    return value


@pytest.fixture(params=EXAMPLES)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> "Kept":
    """A kind, and a file of it."""
    EXAMPLES[request.param]().save(tmp_path / "kept.npz")
    return codec.KINDS[request.param.partition(",")[0]], tmp_path / "kept.npz"


Kept = tuple[codec.SavedKind[Any], Path]


def test_every_kind_has_an_example() -> None:
    for module in pkgutil.walk_packages(querist.__path__, "querist."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue  # it needs an extra that is not installed
    assert {name.partition(",")[0] for name in EXAMPLES} == set(codec.KINDS)


def test_what_is_read_is_what_was_written(kept: Kept) -> None:
    kind, path = kept
    value = codec.read(path, kind, as_it_is)
    again = path.with_name("again.npz")
    codec.write(again, kind, value)
    assert again.read_bytes() == path.read_bytes(), "every bit of every array, every number and text"
    assert codec.holds(path, kind)


def test_no_file_another_kind_and_another_version_are_named(kept: Kept) -> None:
    kind, path = kept
    with pytest.raises(InputError, match=rf"absent\.npz: no such file; give the path of a saved {kind.name}"):
        codec.read(path.with_name("absent.npz"), kind, as_it_is)
    other = next(own for own in codec.KINDS.values() if own is not kind)
    with pytest.raises(
        InputError, match=f"kept.npz: a saved {kind.name}, and a saved {other.name} is needed"
    ):
        codec.read(path, other, as_it_is)
    assert not codec.holds(path, other)
    resealed(path, lambda held, arrays: held.update(version=99))
    with pytest.raises(InputError, match=f"format 99, this version reads {kind.version}; update querist"):
        codec.read(path, kind, as_it_is)
    resealed(path, lambda held, arrays: held.update(version=0))
    with pytest.raises(InputError, match=r"format 0, .*; save it again"):
        codec.read(path, kind, as_it_is)


@pytest.mark.slow
def test_a_damaged_file_is_refused_or_the_same(kept: Kept) -> None:
    kind, path = kept
    content, draw = path.read_bytes(), random.Random(0)
    refused, again = 0, path.with_name("again.npz")
    for _ in range(60):
        damaged = bytearray(content)
        damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            codec.write(again, kind, codec.read(path, kind, as_it_is))
        except InputError:
            refused += 1
        else:
            assert again.read_bytes() == content
    assert refused > 20


def test_a_changed_value_is_found_by_the_digest(kept: Kept) -> None:
    kind, path = kept
    arrays = npz.read(path)
    text = arrays["saved"].tobytes()
    changed = text.replace(b'"version": ', b'"version":  ')
    assert changed != text
    np.savez(path, **{**arrays, "saved": np.frombuffer(changed, np.uint8)})
    with pytest.raises(InputError, match="digest does not match"):
        codec.read(path, kind, as_it_is)


def array_names(path: Path) -> list[str]:
    return [name for name in npz.shapes(path) if name != "saved"]


@pytest.mark.slow
def test_an_array_of_another_form_is_refused(kept: Kept) -> None:
    kind, path = kept
    content = path.read_bytes()
    for name in array_names(path):
        changes = {
            "missing": lambda arrays, name=name: arrays.pop(name),
            "another dimension": lambda arrays, name=name: arrays.update({name: arrays[name][None]}),
            "complex": lambda arrays, name=name: arrays.update({name: arrays[name].astype(complex)}),
        }
        for what, change in changes.items():
            if what == "complex" and kind.name.startswith("cluster"):
                continue
            path.write_bytes(content)
            resealed(path, lambda held, arrays, change=change: change(arrays))
            with pytest.raises(InputError):
                codec.read(path, kind, as_it_is)
    path.write_bytes(content)
    resealed(path, lambda held, arrays: arrays.update(more=np.zeros(3)))
    with pytest.raises(InputError, match="the array more belongs to nothing"):
        codec.read(path, kind, as_it_is)


@pytest.mark.slow
def test_numbers_out_of_range_are_refused(kept: Kept) -> None:
    kind, path = kept
    content = path.read_bytes()
    for name, array in npz.read(path).items():
        if array.dtype.kind == "i" and array.size and not name.startswith(FREE):
            path.write_bytes(content)
            least = np.iinfo(array.dtype).min
            resealed(
                path, lambda held, arrays, name=name, least=least: arrays[name].reshape(-1).put(0, least)
            )
            with pytest.raises(InputError, match=r"kept\.npz"):
                codec.read(path, kind, as_it_is)


@pytest.mark.slow
def test_a_field_too_many_or_too_few_is_refused(kept: Kept) -> None:
    kind, path = kept
    content = path.read_bytes()
    (fields,) = json.loads(npz.read(path)["saved"].tobytes())["value"].values()
    for name in fields:
        path.write_bytes(content)
        resealed(path, lambda held, arrays, name=name: held["value"][kind.saved.__name__].pop(name))
        with pytest.raises(InputError, match=f"{kind.saved.__name__} has"):
            codec.read(path, kind, as_it_is)
        path.write_bytes(content)
        resealed(path, lambda held, arrays, name=name: held["value"][kind.saved.__name__].update({name: ODD}))
        with pytest.raises(InputError, match=r"kept\.npz"):
            codec.read(path, kind, as_it_is)

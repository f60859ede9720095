"""Damaged files of every kind that we write and read again: 0 crashes, 0 silent differences.

Bytes are flipped, cut, moved and overwritten: such a file is refused with an error of ours, or gives exactly
what the undamaged one gives; the cache computes again. And values are replaced by extreme ones in a file that
is otherwise sound, its digest made anew: it is refused, or what it gives can be used without a crash.

Every case is made by its number alone; `profiles.FILES` says how many there are of each kind.
"""

import hashlib
import random
import sqlite3
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from profiles import FILES
from sealing import resealed

import querist
from querist import ALGORITHMS, STREAMS, Learner, npz
from querist.asking.store.events import Draft
from querist.asking.store.sqlite import SqliteStore, only_campaign
from querist.budgeted import BLS
from querist.embedding import Embedding, cache
from querist.errors import QueristError
from querist.labelling import Labelling
from querist.labelling.influence import influences

REFUSED = "refused"
Reader = Callable[[Path], str]

N, K = 9, 3
RING = querist.as_graph([(i, (i + 1) % N) for i in range(N)] + [(0, 4)], nodes=N)
ROWS = np.random.default_rng(0).normal(size=(N, 4))
CODES = np.arange(N) % K


# -- bytes ---------------------------------------------------------------------------------


def damaged(content: bytes, case: int) -> bytes:
    """The content as some accident leaves it."""
    draw, size = random.Random(case), len(content)
    changed = bytearray(content)
    begins = list(range(0, size, 512)) + [at for at in range(size) if content[at : at + 2] == b"PK"]

    def place() -> int:
        """Anywhere, or where the file says what it is."""
        return (
            draw.randrange(size)
            if draw.random() < 0.5
            else min(size - 1, draw.choice(begins) + draw.randrange(48))
        )

    how = case % 6
    if how in (0, 1):
        for _ in range(1 if how == 0 else draw.randint(2, 8)):
            changed[place()] ^= 1 << draw.randrange(8)
    elif how == 2:
        del changed[draw.randrange(size) :]
    elif how == 3:
        one, length = place(), draw.choice((1, 4, 16, 200))
        changed[one : one + length] = bytes(draw.choice((0, 255, draw.randrange(256))) for _ in range(length))
    elif how == 4:
        length = draw.choice((8, 64, 512, 4096))
        one, other = (draw.randrange(max(1, size // length)) * length for _ in range(2))
        changed[one : one + length] = content[other : other + length]
        if draw.random() < 0.5:
            changed[other : other + length] = content[one : one + length]
    else:
        one = place()
        if draw.random() < 0.5:
            del changed[one : one + draw.choice((1, 4, 64))]
        else:
            changed[one:one] = content[one : one + draw.choice((1, 4, 64))]
    return bytes(changed)


def digest(*values: Any) -> str:
    total = hashlib.sha256()
    for value in values:
        total.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return total.hexdigest()


def read_or_refused(read: Reader, path: Path) -> str:
    try:
        return read(path)
    except QueristError:
        return REFUSED


def read_graph(path: Path) -> str:
    graph = querist.as_graph(path)
    parts = [
        (m.data, m.indices, m.indptr, m.shape) for m in (graph.adjacency, graph.attributes) if m is not None
    ]
    return digest(graph.nodes, graph.labels, graph.classes, *(own for part in parts for own in part))


def read_learner(path: Path) -> str:
    learner = Learner.load(path)
    about = learner.seed, learner.budget, learner.ids, learner.notes, learner.pending, learner._rules
    return digest(type(learner), *map(repr, about), *learner._place, *learner._state)


def read_stream(path: Path) -> str:
    learner = BLS.load(path)
    assert learner.state is not None
    return digest(
        learner.rules, learner.n_classes, learner.warm, learner.floor, learner.first, *learner.state
    )


def read_entry(path: Path) -> str:
    found = cache.fetch(path.stem)
    return REFUSED if found is None else of_embedding(found)


def of_embedding(found: Embedding) -> str:
    local = () if found.local is None else (found.local.data, found.local.indices, found.local.indptr)
    plain = [getattr(found, f.name) for f in fields(Embedding) if f.name not in ("local", "cached")]
    return digest(*plain, *local)


def read_labelling(path: Path) -> str:
    found = Labelling.load(path)
    about = found.classes, found.labels, found.choice, found.decision.goal, str(found.estimate), found.options
    return digest(*about, found.probabilities, found.labels, found.reached, found.graph.adjacency.data)


def read_journal(path: Path) -> str:
    with only_campaign(path) as journal:
        return digest(repr(journal.events))


# -- what is damaged -------------------------------------------------------------------------


def write_graph(path: Path) -> None:
    words = sp.random_array((N, 5), density=0.5, rng=np.random.default_rng(1), format="csr")
    np.savez(
        path,
        edges=np.array([(i, (i + 1) % N) for i in range(N)]),
        weights=np.arange(1.0, N + 1),
        labels=np.where(np.arange(N) % 4, CODES, -1),
        class_names=np.array(["a", "b", "c"]),
        node_names=np.array([f"node {i}" for i in range(N)]),
        features_data=words.data,
        features_indices=words.indices,
        features_indptr=words.indptr,
        features_shape=np.array(words.shape),
    )


LEARNERS: dict[str, Callable[[], Learner]] = {
    "msg": lambda: ALGORITHMS["msg"](ROWS, K, budget=6, pace=1.0),
    "pounce": lambda: ALGORITHMS["pounce"](RING, K),
    "nearest": lambda: ALGORITHMS["nearest"](ROWS, K),
    "paced": lambda: ALGORITHMS["paced"](RING, K, budget=5),
    "fastonl": lambda: ALGORITHMS["fastonl"](RING, K),
}


def write_learner(path: Path, name: str) -> None:
    learner = LEARNERS[name]()
    learner.run(range(5), CODES)
    learner.commit(learner.decide(6, 0.0))
    learner.save(path)


def write_stream(path: Path, maintenance: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3))
    learner = STREAMS["bls"](K, maintenance=maintenance, width=1.0, budget_labelled=5, budget_unlabelled=4)
    learner.run(X, np.where(rng.random(30) < 0.6, rng.integers(0, K, 30), -1))
    learner.save(path)


def write_entry(path: Path) -> None:
    cache.store(path.stem, querist.embed(RING, 3, kind="pagerank"))
    (cache.directory() / path.name).rename(path)


def write_labelling(path: Path) -> None:
    querist.label(RING, {0: "a", 3: "b", 5: "a", 7: "c"}, method="harmonic").save(path)


def write_journal(path: Path) -> None:
    store = SqliteStore(path)
    begun = {"graph": "0", "nodes": 9, "edges": 8, "classes": ["a", "b"], "strategy": "random"}
    store.create("c", "Cats", Draft("campaign", begun))
    events = [
        Draft(kind, {"row": row, **more})
        for row in range(9)
        for kind, more in (("question", {"audit": False, "reason": "y" * 150}), ("answer", {"code": row % 2}))
    ]
    store.append("c", 1, events, ("key", "digest", {}))
    store.close()


KINDS: dict[str, tuple[str, Callable[[Path], None], Reader]] = {
    "graph": ("town.npz", write_graph, read_graph),
    **{
        f"learner-{name}": ("learner.npz", lambda path, name=name: write_learner(path, name), read_learner)
        for name in LEARNERS
    },
    **{
        f"stream-{maintenance}": (
            "stream.npz",
            lambda path, own=maintenance: write_stream(path, own),
            read_stream,
        )
        for maintenance in ("remove", "projection")
    },
    "cache": ("entry.npz", write_entry, read_entry),
    "labelling": ("labelling.npz", write_labelling, read_labelling),
    "journal": ("answers.journal", write_journal, read_journal),
}


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is the cache too; damaged headers make NumPy and Python warn."""
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path))
    (tmp_path / "embeddings").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield tmp_path / "embeddings"


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_or_reads_as_before(kind: str, quiet: Path) -> None:
    name, write, read = KINDS[kind]
    family = kind.partition("-")[0]
    shares = sum(own.partition("-")[0] == family for own in KINDS)
    write(quiet / name)
    whole, content = read(quiet / name), (quiet / name).read_bytes()
    assert whole != REFUSED
    endings = {whole: 0, REFUSED: 0}
    for case in range(-(-FILES // shares)):
        for old in quiet.glob(f"{name}*"):
            old.unlink()
        (quiet / name).write_bytes(damaged(content, case))
        found = read_or_refused(read, quiet / name)
        assert found in endings, f"{kind}, case {case}: read as something else"
        endings[found] += 1
    assert endings[REFUSED] > FILES / shares / 3


def test_a_damaged_entry_is_computed_again_to_the_same_rows(quiet: Path) -> None:
    n = cache.WORTH + 1
    graph = querist.as_graph(
        np.array([(i, (i + 1) % n) for i in range(n)] + [(i, i * 7 % n) for i in range(n)])
    )
    rows = querist.embed(graph, 4).rows
    (path,) = quiet.glob("*.npz")
    content = path.read_bytes()
    for case in range(6):
        path.write_bytes(damaged(content, case))
        np.testing.assert_array_equal(querist.embed(graph, 4).rows, rows)


# -- values ----------------------------------------------------------------------------------

WHOLE = (-1, 0, 1, 2**31, 10**9, 2**63 - 1, -(2**63))
REAL = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1.0, 0.0)
ODD = (None, -1, 0, 10**9, 10**30, 1e308, float("nan"), "x", "", [], {}, True, [[1, True, [True] * 50]])


def extreme(arrays: dict[str, Any], about: Any, draw: random.Random) -> None:
    """One thing replaced: a value, a shape or type of an array, or a leaf of the description."""
    name = draw.choice([*sorted(arrays), *(["about"] * 3 if about is not None else [])])
    if name == "about":
        here = about
        while True:
            key = draw.choice(list(here) if isinstance(here, dict) else range(len(here)))
            if isinstance(here[key], dict | list) and here[key] and draw.random() < 0.8:
                here = here[key]
                continue
            here[key] = draw.choice(ODD)
            return
    array = arrays[name].copy()
    how = draw.randrange(5)
    if how < 3 and array.size and array.dtype.kind in "biuf":
        value = draw.choice(REAL if array.dtype.kind == "f" else WHOLE)
        with np.errstate(all="ignore"):
            value = np.array(value).astype(array.dtype) if array.dtype.kind == "b" else value
            if (
                array.dtype.kind in "iu"
                and not np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max
            ):
                value = np.iinfo(array.dtype).max
        array.reshape(-1)[draw.randrange(array.size)] = value
    elif how == 3 and array.ndim:
        array = draw.choice(
            (array[:-1], array[:0], np.concatenate([array, array]), array[None], array.T, array[..., :1])
        )
    else:
        array = (
            array.astype(
                draw.choice((np.float32, np.int32, np.complex128, "U5", np.float64, np.int64)),
                casting="unsafe",
            )
            if array.dtype.kind in "biuf"
            else array[None]
        )
    arrays[name] = array


def rewritten(path: Path, case: int) -> None:
    draw = random.Random(case)
    arrays = npz.read(path)
    if "saved" not in arrays:
        extreme(arrays, None, draw)
        np.savez(path, **arrays)
        return

    def change(held: dict[str, Any], arrays: dict[str, Any]) -> None:
        for _ in range(draw.randint(1, 2)):
            extreme(arrays, held["value"], draw)

    resealed(path, change)


def use_learner(path: Path) -> str:
    learner = Learner.load(path).by_row()
    learner.predict()
    for node in range(learner.n_nodes):
        learner.commit(learner.decide(node))
    for node in learner.pending:
        learner.learn(node, int(node) % learner.n_classes)
    learner.run(range(learner.n_nodes), np.arange(learner.n_nodes) % learner.n_classes)
    return "used"


def use_stream(path: Path) -> str:
    learner = BLS.load(path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, learner.n_features or 1))
    learner.run(X, rng.integers(-1, learner.n_classes, 40))
    learner.scores(X)
    return "used"


def use_entry(path: Path) -> str:
    found = cache.fetch(path.stem)
    return REFUSED if found is None else str(ALGORITHMS["paced"](found, K, budget=3).run(range(N), CODES))


def use_labelling(path: Path) -> str:
    found = Labelling.load(path)
    found.table()
    influences(found)
    return str(found.label_new([("new", 0), ("new", 1)], limit=1.0).labels)


USES: dict[str, Reader] = {
    "graph": read_graph,
    "learner": use_learner,
    "stream": use_stream,
    "cache": use_entry,
    "labelling": use_labelling,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "journal"])
def test_extreme_values_are_refused_or_harmless(kind: str, quiet: Path) -> None:
    name, write, _ = KINDS[kind]
    family = kind.partition("-")[0]
    shares = sum(own.partition("-")[0] == family for own in KINDS)
    write(quiet / name)
    content, refused = (quiet / name).read_bytes(), 0
    for case in range(-(-FILES // shares)):
        (quiet / name).write_bytes(content)
        try:
            rewritten(quiet / name, case)
        except (ValueError, TypeError, OverflowError):
            continue  # NumPy or JSON cannot write it
        refused += read_or_refused(USES[family], quiet / name) == REFUSED
    assert refused > FILES / shares / 8


def test_extreme_values_in_a_journal_are_refused_or_harmless(quiet: Path) -> None:
    path = quiet / "answers.journal"
    write_journal(path)
    whole, content = read_journal(path), path.read_bytes()
    for case in range(-(-FILES // 10)):
        draw = random.Random(case)
        for old in quiet.glob("answers.journal*"):
            old.unlink()
        path.write_bytes(content)
        with sqlite3.connect(path) as base:
            for (trigger,) in base.execute(
                "select name from sqlite_master where type = 'trigger'"
            ).fetchall():
                base.execute(f'drop trigger "{trigger}"')
            tables = [own for (own,) in base.execute("select name from sqlite_master where type = 'table'")]
            table = draw.choice(sorted(own for own in tables if not own.startswith("sqlite_")))
            columns = [own[1] for own in base.execute(f'pragma table_info("{table}")')]
            value = draw.choice((None, -1, 2**63 - 1, 1e308, "x", b"\xff", ""))
            try:
                base.execute(f'update "{table}" set "{draw.choice(columns)}" = ?', (value,))
            except sqlite3.Error:
                continue
        base.close()
        assert read_or_refused(read_journal, path) in (whole, REFUSED), case


def test_a_large_count_takes_no_memory(quiet: Path) -> None:
    """The case of a long run that ended in a killed process: `list(range(b))` of a number from the file."""
    name, write, _ = KINDS["stream-remove"]
    write(quiet / name)

    def change(held: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays["state.counts"][1] = 2**24

    resealed(quiet / name, change)
    tracemalloc.start()
    try:
        assert read_or_refused(use_stream, quiet / name) == REFUSED
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()

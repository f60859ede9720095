"""What 0.1.0 wrote is opened, gives the values it gave then, and is gone on with.

README.md says what each file is and what made it. Only public names are used here, and the command line:
where the code lives may change, what lies on people's disks does not.
"""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import querist

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parent / "fixtures"
MADE_BY = "0.1.0"
ROOM = 1e-9
"""Relative difference allowed between floats: another processor adds in another order."""


def named(folder: str, ending: str) -> list[str]:
    return sorted(path.stem for path in (FIXTURES / folder).glob(f"*.{ending}"))


def expected(folder: str, name: str) -> Any:
    return json.loads((FIXTURES / folder / f"{name}.json").read_text(encoding="utf-8"))


def agree(found: Any, wanted: Any, where: str = "it") -> None:
    """Equal, but for the last digits of floats, and for what later versions say besides."""
    if isinstance(wanted, dict):
        assert [name for name in found if name in wanted] == list(wanted), where
        for name in wanted:
            agree(found[name], wanted[name], f"{where}[{name!r}]")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
            agree(one, other, f"{where}[{i}]")
    elif isinstance(wanted, float):
        assert math.isclose(found, wanted, rel_tol=ROOM, abs_tol=1e-12), where
    else:
        assert found == wanted, where


def plain(value: Any) -> Any:
    """As it would come back from JSON."""
    return json.loads(json.dumps(value, default=lambda array: array.tolist()))


def command(folder: Path, *arguments: str) -> Any:
    """What the command line prints as JSON, run in this folder."""
    done = subprocess.run(
        [sys.executable, "-m", "querist", *arguments, "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# -- learners on graphs ----------------------------------------------------------------


def state_of_learner(learner: querist.Learner) -> dict[str, Any]:
    decision = learner.decide(1)
    return {
        "about": [learner.n_nodes, learner.n_classes, learner.seed, learner.budget, list(learner.notes)],
        "counts": [learner.round, learner.questions, learner.updates],
        "pending": list(learner.pending),
        "predicted": learner.predict(),
        "scores": learner.scores(range(4)),
        "decision": [decision.prediction, decision.ask, decision.margin, decision.probability],
    }


def use_learner(path: Path, labels: list[int]) -> Any:
    learner = querist.Learner.load(path)
    loaded = state_of_learner(learner)
    learned = [learner.learn(node, labels[node]) for node in learner.pending]
    trace = learner.run(range(learner.n_nodes - 1, -1, -1), np.array(labels))
    rounds = [trace.predicted, np.flatnonzero(trace.asked), np.flatnonzero(trace.mistaken)]
    return plain({"loaded": loaded, "learned": learned, "rounds": rounds, "after": state_of_learner(learner)})


@pytest.mark.parametrize("name", named("learners", "npz"))
def test_a_learner_is_loaded_and_goes_on(name: str) -> None:
    wanted = expected("learners", name)
    agree(use_learner(FIXTURES / "learners" / f"{name}.npz", wanted["labels"]), wanted["values"])


# -- learners on streams ---------------------------------------------------------------

CLASSES = ["low", "middle", "high"]


def items() -> tuple[Any, Any]:
    """(75, 3) rows and the codes of their classes; the saved learners have seen the first 60."""
    number = np.arange(75)
    codes = number * 7 % 3
    return np.column_stack([codes + 0.6 * np.sin(number), np.cos(3 * number), number % 5 / 5]), codes


def items_for_river() -> list[tuple[dict[str, float], str]]:
    X, codes = items()
    rows = [dict(zip("abc", row.tolist(), strict=True)) for row in X]
    return [(row, CLASSES[code]) for row, code in zip(rows, codes.tolist(), strict=True)]


def city_block(X: Any, Z: Any) -> Any:
    """A kernel that is a function: a file cannot hold it."""
    return np.exp(-np.abs(np.asarray(X)[:, None] - np.asarray(Z)[None]).sum(axis=2))


def use_stream_learner(path: Path) -> Any:
    X, codes = items()
    learner = type(querist.STREAMS["bls"](2)).load(path)
    loaded = [learner.seen, learner.updates, list(learner.sizes), learner.scores(X[60:66])]
    run = learner.run(X[60:], codes[60:], np.arange(15) % 4 != 0)
    return plain(
        {"loaded": loaded, "predicted": run.predicted, "after": [learner.sizes, learner.scores(X[60:66])]}
    )


def use_scikit_learner(path: Path, kernel: Any = None) -> Any:
    X, codes = items()
    model = querist.BudgetedLeastSquares.load(path, kernel)
    loaded = {"params": {**model.get_params(), "kernel": str(type(model.kernel))}, "classes": model.classes_}
    scores = [model.decision_function(X[60:66])]
    model.partial_fit(X[60:], np.array(CLASSES)[codes[60:]])
    scores.append(model.decision_function(X[60:66]))
    return plain({**loaded, "scores": scores, "predicted": model.predict(X)})


def use_scikit_learner_with_a_function(path: Path) -> Any:
    return use_scikit_learner(path, city_block)


def use_river_learner(path: Path) -> Any:
    model, rows = querist.RiverBudgetedLeastSquares.load(path), items_for_river()
    loaded = [model.predict_proba_one(x) for x, _ in rows[60:66]]
    for x, y in rows[60:]:
        model.learn_one({**x, "new": 1.0}, y)
    return plain({"loaded": loaded, "after": [model.predict_proba_one(x) for x, _ in rows[60:66]]})


STREAM_LEARNERS: dict[str, Callable[[Path], Any]] = {
    "bls": use_stream_learner,
    "bls_unused": use_stream_learner,
    "bls_projection": use_stream_learner,
    "scikit": use_scikit_learner,
    "scikit_kernel_function": use_scikit_learner_with_a_function,
    "river": use_river_learner,
}


@pytest.mark.parametrize("name", named("streams", "npz"))
def test_a_learner_of_streams_is_loaded_and_goes_on(name: str) -> None:
    agree(STREAM_LEARNERS[name](FIXTURES / "streams" / f"{name}.npz"), expected("streams", name))


# -- journals ----------------------------------------------------------------------------


def club(node: Any) -> str:
    """The oracle: who joined later went with the officer."""
    labels = querist.load("karate").labels
    return str(labels[node]) if node < len(labels) else "Officer"


NEW_IN_SUMMARY, NEW_IN_QUESTION = ("finding", "people"), ("again", "chance")
"""What 0.1.0 did not tell."""


def state_of_asking(asking: querist.Asking) -> dict[str, Any]:
    summary = asking.summary()
    for new in ("seconds_per_question", *NEW_IN_SUMMARY):
        del summary[new]
    question = asdict(asking.question) if asking.question else None
    for new in NEW_IN_QUESTION if question else ():
        del question[new]
    return {
        "resumed": asking.resumed,
        "question": question,
        "stopped": asking.stopped,
        "answers": [list(pair) for pair in asking.answers.items()],
        "known": [list(pair) for pair in asking.known.items()],
        "labels": asking.labels,
        "summary": summary,
    }


def use_journal(path: Path, call: dict[str, Any]) -> Any:
    asking = querist.ask(querist.load("karate"), journal=path, prefetch=False, **call)
    try:
        loaded, asked = state_of_asking(asking), []
        asking.run(club, lambda question, given: asked.append([question.node, given]))
        return plain({"loaded": loaded, "asked": asked, "after": state_of_asking(asking)})
    finally:
        asking.close()


def without_doubts(wanted: dict[str, Any]) -> dict[str, Any]:
    """0.1.0 counted an "unsure" in the budget: the same campaign has now a budget smaller by that many."""
    values, doubts = wanted["values"], wanted["values"]["loaded"]["summary"]["unsure"]
    before = wanted["call"]["budget"]
    wanted["call"]["budget"] = before - doubts
    for when in ("loaded", "after"):
        then = values[when]
        for count in ("asked", "budget"):
            then["summary"][count] -= doubts
        if then["question"] is not None:
            then["question"]["number"] -= doubts
        for part in (then, then["summary"]):
            if part["stopped"] is not None:
                part["stopped"] = part["stopped"].replace(f"of {before} ", f"of {before - doubts} ")
    return wanted


@pytest.mark.parametrize("name", named("journals", "journal"))
def test_a_journal_goes_on_with_its_open_question(name: str, tmp_path: Path) -> None:
    wanted = without_doubts(expected("journals", name))
    path = shutil.copy(FIXTURES / "journals" / f"{name}.journal", tmp_path)
    found = use_journal(Path(path), wanted["call"])
    for when in ("loaded", "after"):
        # 0.2.0 makes labels of the same answers by more members, weighed in another way.
        now, then = found[when].pop("labels"), wanted["values"][when].pop("labels")
        assert len(now) == len(then) and np.mean([a == b for a, b in zip(now, then, strict=True)]) > 0.85
    agree(found, wanted["values"])


def use_journal_of_files(folder: Path) -> Any:
    """All that is printed, and the labels, at the budget it was stopped at and at a larger one."""
    found = []
    for budget in ("6", "10"):
        files = ("edges.csv", "--nodes", "nodes.csv", "--oracle", "labels.csv", "--journal", "files.journal")
        summary = command(folder, "ask", *files, "--budget", budget, "--out", "out.csv")
        for new in ("seconds_per_question", *NEW_IN_SUMMARY):
            del summary[new]
        lines = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
        found.append({"summary": summary, "labels": [line.split(",")[:2] for line in lines]})
    return found


def test_a_journal_of_the_command_line_goes_on(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FIXTURES / "asked", tmp_path / "asked"))
    agree(use_journal_of_files(folder), expected("asked", "files"))


# -- the cache of embeddings ---------------------------------------------------------------


def ring() -> querist.Graph:
    """500 nodes on a ring, with chords, weights and attributes."""
    n, i = 500, np.arange(500)
    heads, tails = np.concatenate([i, i]), np.concatenate([(i + 1) % n, (7 * i + 3) % n])
    weights = np.concatenate([1 + i % 3 / 2, np.full(n, 0.25)])
    S = sp.coo_array((weights, (heads, tails)), shape=(n, n)).toarray()
    words = sp.csr_array((1.0 + i % 4, (i, i // 84)), shape=(n, 6))
    return querist.Graph(sp.csr_array(np.maximum(S, S.T) * (1 - np.eye(n))), None, words)


EMBEDDINGS: dict[str, dict[str, Any]] = {
    "spectral": {"rank": 2},
    "both": {"rank": 2, "kind": "both", "normalised": False, "constant": 0.5, "steps": 3, "seed": 5},
}


@contextmanager
def cache_in(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUERIST_CACHE", str(folder))
        yield


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_an_embedding_is_found_in_the_cache_and_not_computed(name: str, tmp_path: Path) -> None:
    wanted = expected("embeddings", name)
    entry = FIXTURES / "embeddings" / wanted["entry"]
    place = tmp_path / "embeddings"
    place.mkdir()
    with np.load(entry) as kept:
        arrays = dict(kept)
    # Rows that no computation gives: whoever has them has read the entry.
    np.savez(place / entry.name, **{**arrays, "rows": arrays["rows"] + 1000})
    content = (place / entry.name).read_bytes()
    with cache_in(tmp_path):
        found = querist.embed(ring(), **EMBEDDINGS[name])
    assert found.cached
    np.testing.assert_array_equal(found.rows, arrays["rows"] + 1000)
    assert [path.name for path in place.iterdir()] == [entry.name]
    assert (place / entry.name).read_bytes() == content


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_an_embedding_in_the_cache_is_whole(name: str, tmp_path: Path) -> None:
    wanted = expected("embeddings", name)
    (tmp_path / "embeddings").mkdir()
    shutil.copy(FIXTURES / "embeddings" / wanted["entry"], tmp_path / "embeddings")
    with cache_in(tmp_path):
        found = asdict(querist.embed(ring(), **EMBEDDINGS[name]))
    assert found["cached"]
    with np.load(FIXTURES / "embeddings" / wanted["entry"]) as kept:
        for array in ("rows", "components", "eigenvalues", "residuals", "degrees"):
            np.testing.assert_array_equal(found[array], kept[array])
    assert {field: plain(found[field]) for field in wanted["fields"]} == wanted["fields"]


# -- experiments -----------------------------------------------------------------------------


def experiment(folder: Path, name: str) -> Any:
    return command(folder, "experiment", f"{name}.toml", "--out", name, "--processes", "1")


def runs_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "results").glob("*.jsonl")}


@pytest.fixture
def experiments(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / "experiments", tmp_path / "experiments"))


def agree_on_rows(rows: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    """Whatever 0.1.0 measured is measured, and found, again; later versions measure more besides.

    But for seconds, and for ICA: it reads attributes, and a table of nodes means more than its numbers since
    0.2.0 (CHANGELOG.md).
    """
    found = {(row["specification"], row["measure"]): row for row in rows}
    assert {(row["specification"], row["measure"]) for row in wanted} <= set(found)
    for row in wanted:
        if row["method"] != "ica" and not row["measure"].endswith("seconds"):
            agree(found[row["specification"], row["measure"]], row, row["measure"])


@pytest.mark.parametrize("name", named("experiments", "toml"))
def test_a_finished_experiment_is_not_run_again(name: str, experiments: Path) -> None:
    """The names of the files are hashes of what the TOML says: they are found only if these are the same."""
    before, table = runs_in(experiments / name), experiments / name / "tables" / "comparison.csv"
    shown = table.read_bytes()
    table.unlink()
    rows = experiment(experiments, name)
    after, wanted = runs_in(experiments / name), expected("experiments", name)
    assert sorted(after) == sorted(before) == sorted({row["specification"] + ".jsonl" for row in wanted})
    if querist.__version__ == MADE_BY:
        assert after == before
        assert rows == wanted
        assert table.read_bytes() == shown
    else:  # what another version computed is kept, and computed again
        assert all(after[file].startswith(content) for file, content in before.items())
        agree_on_rows(rows, wanted)


@pytest.mark.parametrize("name", named("experiments", "toml"))
def test_an_experiment_that_was_cut_short_is_gone_on_with(name: str, experiments: Path) -> None:
    for path in (experiments / name / "results").glob("*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    agree_on_rows(experiment(experiments, name), expected("experiments", name))


# -- all of it ---------------------------------------------------------------------------------

ALGORITHMS_THEN = {"gpa", "ollgc", "sslgc", "cmog", "cmog_selected", "msg", "bbq", "bbq_eps", "dgs"}
ALGORITHMS_THEN |= {"random_sampling", "pounce", "nearest"}


def test_no_file_is_forgotten() -> None:
    """Tests go by the files they find: one that is gone would not be missed."""
    assert set(named("learners", "npz")) == ALGORITHMS_THEN
    assert set(named("streams", "npz")) == set(STREAM_LEARNERS)
    assert set(named("journals", "journal")) == {"pool", "stream", "random"}
    assert set(named("experiments", "toml")) == {"online", "collective", "stream", "transduce"}

"""What a comparison shows, whatever its task."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from querist.experiment import Specification, Store, run
from querist.experiment.comparison import NO_CHOICE, Comparison, show


def shown(folder: Path, *specs: Specification, measures=()):
    comparison = Comparison("T", [spec.method for spec in specs], specs, measures)
    return show(comparison, run(specs, Store(folder)))


@pytest.fixture
def rows(tmp_path):
    y = np.repeat([-1, 1], 40)
    np.savez(tmp_path / "rows.npz", X=np.random.default_rng(0).normal(size=(80, 2)) + y[:, None], y=y)
    return str(tmp_path / "rows.npz")


def test_learners_stand_beside_their_controls(tmp_path):
    rank = {"representation": {"rank": 8}, "repeats": 3}
    curved = {**rank, "protocol": {"curve": 5}}
    found = shown(
        tmp_path,
        Specification("online", "karate", "msg", **curved),
        Specification("online", "karate", "gpa", **curved),
    )
    (table,) = found.tables
    assert list(table.columns) == ["", "error rate", "queries", "updates", "seconds", "p"]
    lines = ["", ": random, as often", ": margin, as often"]
    assert [row[0] for row in table.rows] == [name + line for name in ("msg", "gpa") for line in lines]
    assert [row[-1] is None for row in table.rows] == [True, False, False] * 2
    errors = [row[1].value for row in table.rows]
    assert errors[3] == errors[4] == errors[5], "who asks everything is its own control"
    assert table.rows[4][-1] == table.rows[5][-1] == 1.0
    (figure,) = found.figures
    assert b"random, as often" in figure.svg and b"margin, as often" in figure.svg
    assert not found.remarks


def test_one_run_has_no_p_and_untuned_methods_no_column(tmp_path):
    (table,) = shown(tmp_path, Specification("online", "karate", "msg", repeats=1)).tables
    assert "p" not in table.columns
    assert "tuned" not in table.columns


def test_streams_and_transduction(tmp_path, rows):
    found = shown(
        tmp_path,
        Specification("stream", rows, "pa", repeats=2, protocol={"curve": 4, "labelled": 0.5}),
        Specification("transduce", rows, "bls", repeats=2, grid={"lambda1": (0.1, 1.0)}),
    )
    assert [table.title for table in found.tables] == ["stream on rows.npz", "transduce on rows.npz"]
    assert found.tables[1].columns[-1] == "tuned"
    assert found.tables[1].rows[0][-1] in ("lambda1 0.1", "lambda1 1")
    assert [figure.name for figure in found.figures] == ["stream_rows_npz"]
    assert found.figures[0].svg
    assert found.remarks == [NO_CHOICE]


def test_several_labels_a_node_show_their_measures(tmp_path):
    labels = sp.csr_array(np.array([[1, 0], [1, 1], [0, 1], [1, 1]] * 3))
    parts = {f"labels_{name}": getattr(labels, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "two.npz", edges=np.array([(i, (i + 1) % 12) for i in range(12)]), **parts)
    spec = Specification(
        "collective", str(tmp_path / "two.npz"), "wvrn", repeats=2, protocol={"labelled": 0.3}
    )
    (table,) = shown(tmp_path, spec).tables
    assert list(table.columns[1:3]) == ["hamming loss", "one error"]
    (table,) = shown(tmp_path, spec, measures=["coverage"]).tables
    assert list(table.columns) == ["", "coverage"]


# -- the examples of the page ----------------------------------------------------------

PAGE = Path(__file__).parents[3] / "docs" / "experiments.md"
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
EXAMPLES = {task: next(b for b in BLOCKS if f'task = "{task}"' in b) for task in ("label", "ask")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "titles", "rows"),
    [
        ("label", ["label on karate", "label on karate: accuracy by share labelled"], 3),
        ("ask", ["ask on karate", "ask on karate: accuracy of the final labels by answers"], 6),
    ],
)
def test_the_examples_of_the_page_run_as_printed(task, titles, rows, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(EXAMPLES[task])
    comparison = Comparison.read(file)
    found = show(comparison, run(comparison.specifications, Store(tmp_path / "results")))
    assert [table.title for table in found.tables] == titles
    assert all(len(table.rows) == rows for table in found.tables)
    points = comparison.specifications[0].protocol["labelled" if task == "label" else "marks"]
    assert len(found.tables[1].columns) == 1 + len(points)
    (figure,) = found.figures
    assert b"<svg" in figure.svg
    assert all(0.5 < entry.value <= 1 for row in found.tables[1].rows for entry in row[1:])
    (note,) = [table.note for table in found.tables][:1]
    assert ("paired t of the accuracy" in note) == (task == "ask")
    assert bool(found.remarks) == (task == "label")

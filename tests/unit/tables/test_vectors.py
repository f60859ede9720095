"""Rows from files and from lines: every format, and what is broken in the middle."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

from querist.budgeted.catalogue import STREAMS
from querist.budgeted.feed import feed
from querist.datasets import load_vectors
from querist.errors import InputError
from querist.tables.files import read_vectors
from querist.tables.readers.lines import Lines

X = np.array([[0.5, 0.0], [1.0, -2.0], [0.0, 3.0]])
LABELS = ["a", None, "b"]

FORMS = {
    "rows.csv": "f1,label,f2\n0.5,a,0\n1,,-2\n0,b,3\n",
    "rows.tsv": "f1\tf2\tY\n0.5\t0\ta\n1\t-2\t\n0\t3\tb\n",
    "rows.libsvm": "a 1:0.5\n 1:1 2:-2\n# a comment\nb 2:3\n",
    "rows.jsonl": '{"f1": 0.5, "class": "a"}\n{"f1": 1, "f2": -2, "class": null}\n{"f2": 3, "class": "b"}\n',
}


def dense(M):
    return M.toarray() if sp.issparse(M) else M


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_text_format(name, zipped, tmp_path):
    path = tmp_path / (name + ".gz" if zipped else name)
    path.write_bytes(gzip.compress(FORMS[name].encode()) if zipped else FORMS[name].encode())
    table = read_vectors(path)
    np.testing.assert_array_equal(dense(table.X), X)
    assert table.y.tolist() == LABELS
    assert table.name == "rows"


def test_parquet(tmp_path):
    parquet.write_table(pa.table({"f1": X[:, 0], "target": LABELS, "f2": X[:, 1]}), tmp_path / "p.parquet")
    table = read_vectors(tmp_path / "p.parquet")
    np.testing.assert_array_equal(table.X, X)
    assert table.y.tolist() == LABELS
    parquet.write_table(pa.table({"f": ["x", "y"], "label": [0, 1]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="not numbers"):
        read_vectors(tmp_path / "t.parquet")


def test_labels_keep_their_kind_and_the_column_can_be_named():
    lines = ["size,kind,y\n", "1,2,3\n", "4,-1,x 1\n", "1,1,3.0\n", "1,1,007\n", "1,1,1e3\n"]
    (block,) = Lines().blocks(lines)
    assert block.labels == [3, "x 1", "3.0", "007", "1e3"]
    (block,) = Lines(label="kind").blocks(["size,kind,other\n", "1,2,3\n"])
    assert block.labels == [2]
    (block,) = Lines().blocks(["u,v,w\n", "1,2,last\n"])
    assert block.labels == ["last"]
    with pytest.raises(InputError, match="no column 'colour'"):
        list(Lines(label="colour").blocks(lines))


@pytest.mark.parametrize(
    ("lines", "before", "said"),
    [
        (["f,label", "1,a", "oops,b", "2,a"], 1, "line 3: f is 'oops'"),
        (["f,label", "1,a", "2,b", "2,b,c"], 2, "line 4: 3 values for 2 columns"),
        (["f,label", "1,a", "nan,b"], 1, "line 3: f is 'nan', not a finite number"),
        (['{"f": 1, "label": 0}', '{"f": 1, "label":'], 1, "line 2"),
        (['{"f": 1, "label": 0}', "[1, 2]"], 1, "line 2: .* not a JSON object"),
        (['{"f": 1, "label": 0}', '{"f": "x"}'], 1, "line 2: f is 'x'"),
        (["1 1:2", "1 0:3"], 1, "line 2: '0:3'"),
        (["1 1:2", "1 2:x"], 1, "line 2: 2 is 'x'"),
        (["1 1:2", "", "1 word"], 1, "line 3: 'word'"),
        (["only one"], 0, "neither JSON, LIBSVM nor a CSV header"),
        (["1,2,3", "4,5,6"], 0, "give a header"),
        (["f,label", "1,a", "\udcff" * 999 + ",b"], 1, r"f is '(\\udcff){9}\\udcf, not a number"),
    ],
)
def test_a_broken_line_is_named_and_what_came_before_is_given(lines, before, said):
    rows = []
    with pytest.raises(InputError, match=said):
        rows.extend(label for block in Lines().blocks(lines) for label in block.labels)
    assert len(rows) == before


def test_numbers_between_semicolons_may_have_decimal_commas():
    (block,) = Lines().blocks(["u;v;label", "1,5;2;a", "2.5;-0,5;b"])
    assert block.X.tolist() == [[1.5, 2], [2.5, -0.5]] and block.labels == ["a", "b"]


def test_broken_lines_can_be_counted_instead():
    parser = Lines(skip_broken=True)
    (block,) = parser.blocks(["f,label", "1,a", "oops,b", "2,a"])
    assert block.X.ravel().tolist() == [1, 2]
    assert parser.broken == 1


def test_json_features_are_numbered_as_they_appear():
    lines = [json.dumps({f"f{i % 7}": 1.0, "label": i % 2}) for i in range(20)]
    parser = Lines()
    widths = [block.X.shape for block in parser.blocks(lines, size=4)]
    assert widths == [(4, 4), (4, 7), (4, 7), (4, 7), (4, 7)]


def blocks_of(n, size, seed=0):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, 3))
    names = np.array(["no", "yes"])[(V[:, 0] > 0).astype(int)]
    lines = [
        "u,v,w,label",
        *(",".join(map(str, [*row, name])) for row, name in zip(V.tolist(), names, strict=True)),
    ]
    return Lines().blocks(lines, size), V, (names == "yes").astype(np.int64)


def test_feeding_is_running():
    blocks, V, codes = blocks_of(300, 50)
    for running, learner in feed(blocks, STREAMS["bls"]):
        last = running, learner
    running, learner = last
    order = [codes[0], 1 - codes[0]]  # classes are numbered as they appear
    mapped = np.array([order.index(c) for c in codes])
    twin = STREAMS["bls"](2)
    done = twin.run(V, mapped)
    assert running.accuracy == done.accuracy(mapped)
    assert running.rows == running.judged == 300
    assert running.updates == done.updates
    np.testing.assert_array_equal(learner.scores(V), twin.scores(V))


def test_feeding_takes_declared_classes_or_new_ones():
    lines = ['{"a": 1, "label": "x"}', '{"b": 1, "label": "y"}', '{"c": 1, "label": "z"}', '{"d": 2}'] * 5
    *_, (running, learner) = feed(Lines().blocks(lines, 3), STREAMS["bls"])
    assert learner.n_classes == 3
    assert running.judged == 15
    assert running.accuracy > 0.5
    with pytest.raises(InputError, match="before the stream begins"):
        list(feed(Lines().blocks(lines), STREAMS["pa"]))
    with pytest.raises(InputError, match="'z' is not among the classes"):
        list(feed(Lines().blocks(lines), STREAMS["pa"], classes=["x", "y"]))
    *_, (running, _) = feed(Lines().blocks(lines, 100), STREAMS["pa"], classes=["x", "y", "z"])
    assert running.rows == 20


def test_what_was_learned_before_a_broken_line_stays():
    lines = ["u,v,w,label", "0,0,1,no", "1,0,0,yes", "0,broken,0,no"]
    learners = []
    with pytest.raises(InputError, match="line 4"):
        learners.extend(learner for _, learner in feed(Lines().blocks(lines, 1), STREAMS["bls"]))
    assert learners[-1].seen == 2
    assert learners[-1].scores(np.array([[1.0, 0, 0]]))[0, 0] > 0


@pytest.mark.parametrize("name", ["bls", "pa"])
def test_what_was_learned_before_an_undeclared_label_stays(name):
    lines = ["u,label", "0,no", "1,yes", "0.1,no", "5,perhaps", "0.9,yes"]
    passed = []
    with pytest.raises(InputError, match="row 4 of the block from line 2: label 'perhaps'"):
        passed.extend(feed(Lines().blocks(lines), STREAMS[name], classes=["no", "yes"]))
    running, learner = passed[-1]
    assert running.rows == running.judged == 3
    twin = STREAMS[name](2)
    twin.run(np.array([[0.0], [1.0], [0.1]]), np.array([0, 1, 0]))
    rest = np.array([[0.9], [0.0]]), np.array([1, 0])
    np.testing.assert_array_equal(learner.run(*rest).predicted, twin.run(*rest).predicted)


def test_labels_beyond_63_bits_are_whole(tmp_path):
    labels = np.array([2**63 + 1, 1, 2], dtype=np.uint64)
    np.savez(tmp_path / "large.npz", X=np.eye(3), y=labels)
    assert list(load_vectors(tmp_path / "large.npz").y) == labels.tolist()

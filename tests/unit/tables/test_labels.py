"""A file of labels: read right, or refused by file and line."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist.errors import InputError
from querist.graph import as_graph
from querist.tables.labels import read_seeds

WORDS = as_graph([("ann", "bob"), ("bob", "cy"), ("cy", "007")])
NUMBERS = as_graph([(1, 2), (2, 3), (3, 4)])


def write(tmp_path: Path, content: str | bytes, name: str = "l.csv") -> Path:
    path = tmp_path / name
    raw = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("node,label\nann,cat\ncy,dog\n", "l.csv"),
        ("label,node\ncat,ann\ndog,cy\n", "l.csv"),
        ("ID\tClass\nann\tcat\ncy\tdog\n", "l.tsv"),
        ("who,what\nann,cat\ncy,dog\n", "l.csv.gz"),
        ("ann,cat\ncy,dog\n", "l.csv"),
        (b"\xef\xbb\xbfnode,label\r\nann,cat\r\ncy,dog\r\n", "l.csv"),
        ("node,label,remark\nann,cat,x\nbob,,y\ncy,dog,z\n", "l.csv"),
        ("node,label\nann , cat\n\n cy,dog\n", "l.csv"),
        ("node,label\nann,cat\ncy,dog\nann,cat\n", "l.csv"),
    ],
)
def test_read_right(content: str | bytes, name: str, tmp_path: Path) -> None:
    seeds = read_seeds(write(tmp_path, content, name), WORDS.nodes)
    assert seeds.labels == {"ann": "cat", "cy": "dog"}
    assert seeds.classes == ("cat", "dog")
    assert seeds.notes[0] == "2 labelled nodes, 2 classes"


def test_what_is_set_aside_is_said(tmp_path: Path) -> None:
    seeds = read_seeds(write(tmp_path, "node,label\nann,cat\nbob,\ncy,dog\nann,cat\n"), WORDS.nodes)
    assert seeds.notes[1:] == ("1 row without a label, not used", "1 label given more than once")


def test_several_labels_in_a_field_or_a_list(tmp_path: Path) -> None:
    expected = {"ann": {"cat", "dog"}, "bob": {"cat"}, "cy": {"dog", "owl"}}
    text = write(tmp_path, "node,label\nann,cat;dog\nbob,cat\ncy,dog; owl;\n007,\n")
    assert read_seeds(text, WORDS.nodes, multilabel=True).labels == expected
    lists = [["cat", "dog"], ["cat"], ["dog", "owl"], None]
    path = tmp_path / "l.parquet"
    pq.write_table(pa.table({"node": ["ann", "bob", "cy", "007"], "label": lists}), path)
    seeds = read_seeds(path, WORDS.nodes, multilabel=True)
    assert seeds.labels == expected and "1 row without a label, not used" in seeds.notes
    with pytest.raises(
        InputError, match="column 'label' holds lists; give one label a node, or allow several"
    ):
        read_seeds(path, WORDS.nodes)
    assert read_seeds(text, WORDS.nodes).labels["ann"] == "cat;dog", "one label, whatever it is called"


def test_nan_is_no_label_and_what_looks_like_none_is_said(tmp_path: Path) -> None:
    seeds = read_seeds(write(tmp_path, "node,label\nann,1\nbob,NaN\ncy,nan\n007,NA\n"), WORDS.nodes)
    assert seeds.labels == {"ann": "1", "007": "NA"}
    assert seeds.notes[1:] == (
        "2 rows without a label, not used",
        "'NA' is taken as a class; leave the field empty where there is no label",
    )


@pytest.mark.parametrize(
    ("labels", "missing", "kept"),
    [
        ("0 1 2", "0", [1, 2]),
        ("0 cat dog", "0", ["cat", "dog"]),
        ("x cat dog", "x", ["cat", "dog"]),
        ("-1 0 1", None, [0, 1]),
        ("-1 0 1", "nan", [-1, 0, 1]),
    ],
)
def test_what_means_unlabelled_can_be_said(
    labels: str, missing: str | None, kept: list[object], tmp_path: Path
) -> None:
    rows = zip(("ann", "bob", "cy"), labels.split(), strict=True)
    path = write(tmp_path, "node,label\n" + "".join(f"{node},{own}\n" for node, own in rows))
    found = read_seeds(path, WORDS.nodes, missing=missing)
    assert list(found.labels.values()) == kept
    assert any("taken as unlabelled" in note for note in found.notes) == (len(kept) < 3)


def test_strangers_are_left_out_where_that_is_allowed(tmp_path: Path) -> None:
    path = write(tmp_path, "node,label\nann,cat\nzed,dog\n")
    seeds = read_seeds(path, WORDS.nodes, ignore_unknown=True, least=1)
    assert seeds.labels == {"ann": "cat"}
    assert seeds.notes[1:] == ("1 row for nodes not in the graph, skipped",)
    with pytest.raises(InputError, match="node 'zed' is not in the graph"):
        read_seeds(write(tmp_path, "node,label\nzed,cat\nyan,dog\n"), WORDS.nodes, ignore_unknown=True)


REFUSED = {
    "two labels": (
        "node,label\nann,cat\n\ncy,dog\nann,dog\n",
        r"l\.csv: node 'ann' is 'cat' in line 2 and 'dog' in line 5; keep one, or .*--multilabel",
    ),
    "unknown node": (
        "node,label\nann,cat\nzed,dog\nyan,dog\n",
        r"l\.csv, line 3: node 'zed' is not in the graph \(.* like '007'\), and 1 more row like it",
    ),
    "no node": ("node,label\nann,cat\n,dog\n", r"l\.csv, line 3: no node"),
    "missing column": (
        "node,colour,size\nann,red,1\n",
        r"l\.csv, line 1: no column 'label'; there are node, colour",
    ),
    "one column": ("node\nann\n", r"l\.csv, line 1: no column 'label'"),
    "one class": (
        "node,label\nann,cat\ncy,cat\n",
        r"l\.csv: only the class 'cat'; label nodes of at least 2",
    ),
    "no label at all": ("node,label\nann,\n", r"l\.csv: no label"),
    "broken line": ("node,label\nann,cat\ncy\n", r"l\.csv, line 3: 1 field where 2 are needed"),
    "not UTF-8": (b"node,label\nann,cat\ncy,caf\xe9\n", r"l\.csv, line 3: bytes that are not UTF-8"),
    "open quotation mark": ('node,label\nann,"cat\ncy,dog\n', r"l\.csv, line 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_file_and_line(case: str, tmp_path: Path) -> None:
    content, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        read_seeds(write(tmp_path, content), WORDS.nodes)


def test_several_labels_a_node_only_when_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "node,label\nann,cat\ncy,dog\nann,dog\nann,cat\n")
    seeds = read_seeds(path, WORDS.nodes, multilabel=True)
    assert seeds.labels == {"ann": {"cat", "dog"}, "cy": {"dog"}}
    assert seeds.notes[-1] == "1 label given more than once"


def test_the_column_of_the_labels_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "node,colour,size\nann,red,1\nbob,blue,2\n")
    assert read_seeds(path, WORDS.nodes, label="size").labels == {"ann": 1, "bob": 2}
    with pytest.raises(
        InputError, match="line 1: no column 'shape' for the labels; there are node, colour, size"
    ):
        read_seeds(path, WORDS.nodes, label="shape")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("node,label\n1,5\n3,6\n", {1: 5, 3: 6}),
        ("node,label\n1,05\n3,6\n", {1: "05", 3: "6"}),
        ("node,label\n1,5\n3,x\n", {1: "5", 3: "x"}),
        ("1,a\n3,b\n", {1: "a", 3: "b"}),
        ("1,5\n3,6\n", {1: 5, 3: 6}),
    ],
    ids=["integers", "zeros", "mixed", "no header", "nothing but numbers"],
)
def test_numbers_and_text(text: str, labels: dict[int, object], tmp_path: Path) -> None:
    assert read_seeds(write(tmp_path, text), NUMBERS.nodes).labels == labels


def test_one_odd_id_does_not_turn_the_others_into_strangers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3: node 'x3' is not in the graph \(its nodes are like 1\);"):
        read_seeds(write(tmp_path, "node,label\n1,a\nx3,b\n"), NUMBERS.nodes)


@pytest.mark.parametrize("ids", [[1, 3], ["1", "3"]])
def test_parquet(ids: list[object], tmp_path: Path) -> None:
    pq.write_table(pa.table({"node": ids, "label": ["a", "b"]}), tmp_path / "l.parquet")
    assert read_seeds(tmp_path / "l.parquet", NUMBERS.nodes).labels == {1: "a", 3: "b"}
    pq.write_table(pa.table({"node": [*ids, ids[0]], "label": ["a", "b", "c"]}), tmp_path / "l.parquet")
    with pytest.raises(InputError, match="node 1 is 'a' in row 0 and 'c' in row 2"):
        read_seeds(tmp_path / "l.parquet", NUMBERS.nodes)

"""From files to a file, without a command line."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from querist import label, load_graph
from querist.errors import InputError
from querist.labelling import GraphFiles, from_files

KNOWN = [0, 1, 2, 32, 33, 30, 8, 5]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    karate = load_graph("karate")
    heads, tails = karate.adjacency.nonzero()
    pairs = [(int(i), int(j)) for i, j in zip(heads, tails, strict=True) if i < j]
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{j}\n" for i, j in pairs))
    Path("labels.csv").write_text("node,label\n" + "".join(f"{i},{karate.labels[i]}\n" for i in KNOWN))


def test_it_labels_as_label_does_and_writes_only_what_it_is_asked_to() -> None:
    karate = load_graph("karate")
    seen: list[tuple[float, str]] = []
    found = from_files("edges.csv", "labels.csv", progress=lambda done, text: seen.append((done, text)))
    graph = found.source.graph
    assert found.labelling.labels == label(graph, {i: karate.labels[i] for i in KNOWN}).labels
    assert (found.out, found.report) == (None, None)
    assert {path.name for path in Path().iterdir()} == {"edges.csv", "labels.csv"}
    fractions = [done for done, _ in seen]
    assert fractions == sorted(fractions)
    assert seen[0][1] == "reading edges.csv"


def test_it_writes_a_row_a_node_and_a_page() -> None:
    found = from_files("edges.csv", "labels.csv", out="out.csv", report="page.html", command="make labels")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == found.labelling.labels
    assert "make labels" in Path("page.html").read_text()
    numbers = found.summary()
    assert (numbers["nodes"], numbers["labelled"]) == (34, 8)
    assert (numbers["out"], numbers["report"]) == ("out.csv", "page.html")
    assert "8 labelled nodes, 2 classes" in numbers["notes"]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["0", "none yet"])
def test_the_label_that_means_unlabelled_in_a_table_of_labels_or_of_nodes(missing: str) -> None:
    karate = load_graph("karate")
    names = [str(karate.labels[i]) if i in KNOWN else missing for i in range(34)]
    Path("nodes.csv").write_text("node,label\n" + "".join(f"{i},{own}\n" for i, own in enumerate(names)))
    expected = from_files("edges.csv", "labels.csv").labelling.labels
    files = GraphFiles("edges.csv", missing=missing)
    assert from_files(files, "nodes.csv").labelling.labels == expected
    assert from_files(replace(files, nodes="nodes.csv")).labelling.labels == expected


def test_minus_one_can_be_a_class() -> None:
    codes = {0: 0, 1: 0, 33: 1, 32: 1, 16: -1, 5: -1}
    Path("codes.csv").write_text("node,label\n" + "".join(f"{i},{k}\n" for i, k in codes.items()))
    assert from_files("edges.csv", "codes.csv").labelling.classes == (0, 1)
    assert from_files(GraphFiles("edges.csv", missing="nan"), "codes.csv").labelling.classes == (-1, 0, 1)
    assert from_files("edges.csv", "codes.csv", missing="nan").labelling.classes == (-1, 0, 1)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        ("edges.csv", {"out": "edges.csv"}, "edges.csv is read, and would be lost"),
        (GraphFiles("edges.csv", extend=["more.csv"]), {"out": "more.csv"}, "more.csv is read"),
        ("edges.csv", {"out": "labels.csv"}, "labels.csv is read"),
        ("edges.csv", {"report": "page.doc"}, "a report is an HTML page"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_read(
    graph: GraphFiles | str, options: dict[str, str], message: str
) -> None:
    Path("edges.csv").write_text("not,\nan edge\n")
    with pytest.raises(InputError, match=message):
        from_files(graph, "labels.csv", **options)


def test_further_files_join_and_the_labels_of_the_nodes_are_taken() -> None:
    truth = load_graph("karate").labels
    given = {i: truth[i] for i in KNOWN}
    Path("nodes.csv").write_text("node,label\n" + "".join(f"{i},{given.get(i, '')}\n" for i in range(34)))
    Path("more.csv").write_text("source,target\nnew,0\nnew,1\n")
    found = from_files(GraphFiles("edges.csv", nodes="nodes.csv", extend=["more.csv"]))
    assert found.labelling.graph.n_nodes == 35
    assert found.labelling.is_labelled.sum() == 8
    assert "8 labels of the nodes themselves" in found.notes
    with pytest.raises(InputError, match="no labels"):
        from_files("edges.csv")


def test_columns_of_any_name_and_edges_given_more_than_once() -> None:
    Path("pay.csv").write_text("when,payer,payee,amount\n1,a,b,2\n2,b,a,3\n3,b,c,4\n4,c,d,1\n")
    Path("who.csv").write_text("kind,name,age\nx,a,1\n,b,2\n,c,3\ny,d,4\n")
    columns = {"source": "payer", "target": "payee", "weight": "amount", "id": "name", "label_column": "kind"}
    found = from_files(GraphFiles("pay.csv", nodes="who.csv", **columns, parallel="sum"))
    assert found.labelling.graph.nodes == ("a", "b", "c", "d")
    assert found.labelling.graph.adjacency[[0], [1]] == 5
    assert found.seeds.labels == {"a": "x", "d": "y"}
    assert "kind: holds labels, so it is no attribute" in found.notes
    assert from_files(GraphFiles("pay.csv", **columns), "who.csv").seeds.labels == {"a": "x", "d": "y"}
    largest = GraphFiles("pay.csv", **columns).read(labels_elsewhere=True).graph
    assert largest.adjacency[[0], [1]] == 3


def test_labels_in_a_table_of_their_own_keep_those_of_the_nodes_out() -> None:
    Path("e.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    Path("n.csv").write_text("node,kind,label,age\na,x,1,1\nb,x,2,2\nc,y,1,4\nd,y,2,3\n")
    Path("l.csv").write_text("node,kind\na,x\nd,y\n")
    found = from_files(GraphFiles("e.csv", nodes="n.csv", label_column="kind"), "l.csv")
    assert found.source.graph.attributes is not None
    assert found.source.graph.attributes.shape[1] == 1, "the age alone"
    other = from_files(GraphFiles("e.csv", nodes="n.csv", label_column="kind"), "l.csv", seed=1)
    assert "kind: holds labels, so it is no attribute" in other.notes
    Path("n.csv").write_text("node,age\na,1\nb,2\nc,4\nd,3\n")
    assert from_files(GraphFiles("e.csv", nodes="n.csv", label_column="kind"), "l.csv").seeds.labels
    with pytest.raises(InputError, match="kind"):
        from_files(GraphFiles("e.csv", nodes="n.csv", label_column="kind"))


def test_a_data_set_by_its_name_is_labelled_by_its_own_labels_or_a_table() -> None:
    whole = from_files("karate")
    assert whole.labelling.labels == list(load_graph("karate").labels)
    assert any("every node has its label already" in note for note in whole.notes)
    some = from_files("karate", "labels.csv", out="out.csv")
    assert some.labelling.labels == from_files("edges.csv", "labels.csv").labelling.labels
    assert from_files("edges.csv", "karate").labelling.labels == whole.labelling.labels
    with pytest.raises(InputError, match="karate is a data set, which needs no nodes= and weights="):
        from_files(GraphFiles("karate", nodes="nodes.csv", weight="w"))
    with pytest.raises(InputError, match="digits: node 34 is not in the graph"):
        from_files("edges.csv", "digits")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (GraphFiles(nodes="nodes.csv", weight="w"), "weight: no file of edges is given"),
        (GraphFiles("edges.csv", id="key"), "id: no table of nodes or labels is given"),
    ],
)
def test_columns_of_tables_that_are_not_given_are_refused(files: GraphFiles, message: str) -> None:
    with pytest.raises(InputError, match=message):
        files.read()

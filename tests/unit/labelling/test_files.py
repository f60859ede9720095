"""From files to a file, without a command line."""

import csv
from pathlib import Path

import pytest

from querist import label, load
from querist.errors import InputError
from querist.labelling import GraphFiles, from_files

KNOWN = [0, 1, 2, 32, 33, 30, 8, 5]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    karate = load("karate")
    heads, tails = karate.adjacency.nonzero()
    pairs = [(int(i), int(j)) for i, j in zip(heads, tails, strict=True) if i < j]
    Path("edges.csv").write_text("source,target\n" + "".join(f"{i},{j}\n" for i, j in pairs))
    Path("labels.csv").write_text("node,label\n" + "".join(f"{i},{karate.labels[i]}\n" for i in KNOWN))


def test_it_labels_as_label_does_and_writes_only_what_it_is_asked_to() -> None:
    karate = load("karate")
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
    truth = load("karate").labels
    given = {i: truth[i] for i in KNOWN}
    Path("nodes.csv").write_text("node,label\n" + "".join(f"{i},{given.get(i, '')}\n" for i in range(34)))
    Path("more.csv").write_text("source,target\nnew,0\nnew,1\n")
    found = from_files(GraphFiles("edges.csv", nodes="nodes.csv", extend=["more.csv"]))
    assert found.labelling.graph.n_nodes == 35
    assert found.labelling.labelled.sum() == 8
    assert "8 labels of the nodes themselves" in found.notes
    with pytest.raises(InputError, match="no labels"):
        from_files("edges.csv")

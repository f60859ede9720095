"""Nodes without edges are joined to their nearest neighbours; nodes read as edges are named."""

import numpy as np
import pytest

import querist
from querist.cli import main
from querist.errors import InputError
from querist.labelling import GraphFiles
from querist.tables.nodes import read_nodes


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 2)) + 4 * (np.arange(60) % 2)[:, None]
    rows = "".join(f"n{k},{x:.5f},{y:.5f}\n" for k, (x, y) in enumerate(X))
    (tmp_path / "points.csv").write_text("node,x,y\n" + rows)
    labels = "".join(f"n{k},{'ab'[k % 2]}\n" for k in range(10))
    (tmp_path / "labels.csv").write_text("node,label\n" + labels)
    return tmp_path


def test_rows_are_joined_to_their_nearest_neighbours(place, capsys):
    assert main(["label", "--nodes", "points.csv", "--labels", "labels.csv", "--out", "out.csv"]) == 0
    assert "10 nearest neighbours" in capsys.readouterr().out
    found = [line.split(",")[1] for line in (place / "out.csv").read_text().splitlines()[1:]]
    assert np.mean([label == "ab"[k % 2] for k, label in enumerate(found)]) > 0.9
    table = read_nodes(place / "points.csv")
    graph = GraphFiles(nodes=place / "points.csv").read().graph
    assert (graph.adjacency != querist.from_points(table.matrix).adjacency).nnz == 0


def test_texts_are_compared_by_angle(place):
    """A longer text with the same words is the nearer one."""
    cars, boats = "red car on road with wheel lamp", "blue boat at sea under sail mast"
    texts = [cars, f"{cars} {cars} {cars}", boats, f"{boats} {boats}"] * 5
    rows = "".join(f"n{k},{text} number{k % 7}\n" for k, text in enumerate(texts))
    (place / "texts.csv").write_text("node,text\n" + rows)
    graph = GraphFiles(nodes=place / "texts.csv").read().graph
    near = graph.adjacency[[0]].indices
    assert 1 in near and 2 not in near


@pytest.mark.parametrize("text", ["node,x\na,1\n", "node\na\nb\n"])
def test_what_cannot_be_compared_is_refused(text, place):
    (place / "few.csv").write_text(text)
    with pytest.raises(InputError, match=r"no edges, and .* give edges, or a table"):
        GraphFiles(nodes=place / "few.csv").read()


def test_neither_edges_nor_nodes(place, capsys):
    assert main(["label", "--labels", "labels.csv", "--out", "out.csv"]) == 2
    assert "no graph is given" in capsys.readouterr().err


def test_nodes_given_as_edges_are_named(place):
    assert any("points.csv was read as edges" in note for note in querist.as_graph("points.csv").notes)
    (place / "named.csv").write_text("name,x,y\na,0.5,1\nb,2,0.25\nc,1.5,2\n")
    assert any("named.csv was read as edges" in note for note in querist.as_graph("named.csv").notes)
    (place / "trades.csv").write_text("who,what\na,0.5\na,1\nb,1\n")
    assert not any("read as edges" in note for note in querist.as_graph("trades.csv").notes)
    (place / "edges.csv").write_text("source,target\na,b\n")
    assert not any("read as edges" in note for note in querist.as_graph("edges.csv").notes)

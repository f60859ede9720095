"""The same two tables in every form: files, data frames and graphs of other libraries."""

from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from typer.testing import CliRunner

from querist import as_graph, label
from querist.cli.app import app
from querist.labelling import GraphFiles
from querist.tables.labels import read_seeds

N = 90
RNG = np.random.default_rng(3)
CLASS = np.arange(N) % 3
WORDS = [["tree", "leaf", "root"], ["ship", "sail", "port"], ["star", "moon", "dust"]]
NODES = {
    "paper": [f"p{k:03}" for k in RNG.permutation(N)],
    "label": [f"{c:03}" if k % 4 else "" for k, c in enumerate(CLASS)],
    "about": [" ".join(RNG.choice(WORDS[c], 7)) for c in CLASS],
    "town": RNG.choice(["York", "Bath", ""], N).tolist(),
    "year": [1990 + int(y) for y in RNG.integers(0, 30, N)],
    "score": RNG.normal(size=N).round(3).tolist(),
    "day": [f"2020-0{1 + k % 9}-1{k % 7}" for k in range(N)],
    "seen": [f"2021-03-0{1 + k % 8} 10:{10 + k % 40}:00" for k in range(N)],
    "hour": [f"{8 + k % 12:02}:{k % 60:02}:00" for k in range(N)],
    "open": ["True" if k % 5 else "False" for k in range(N)],
    "nothing": ["same"] * N,
    "key": [f"k{k}" for k in range(N)],
}
ENDS = RNG.integers(0, N, (400, 2))
# Most edges stay within a class.
ENDS[:300, 1] = (ENDS[:300, 0] + 3 * RNG.integers(0, N // 3, 300)) % N
EDGES = {"from": [NODES["paper"][i] for i in ENDS[:, 0]], "to": [NODES["paper"][j] for j in ENDS[:, 1]]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tables")
    pd.DataFrame(EDGES).to_csv(folder / "edges.csv", index=False)
    pd.DataFrame(NODES).to_csv(folder / "nodes.csv", index=False)
    return folder / "edges.csv", folder / "nodes.csv"


def in_pandas(path: Path) -> Any:
    return pd.read_csv(path, dtype={"label": "string"})


READERS = {
    "pandas": in_pandas,
    "pandas, dates parsed": lambda path: (
        in_pandas(path).assign(day=lambda t: pd.to_datetime(t.day), seen=lambda t: pd.to_datetime(t.seen))
        if "nodes" in path.name
        else in_pandas(path)
    ),
    "polars": lambda path: pl.read_csv(path, schema_overrides={"label": pl.String}),
    "polars, dates parsed": lambda path: pl.read_csv(
        path, schema_overrides={"label": pl.String}, try_parse_dates=True
    ),
    "arrow": lambda path: arrow_csv.read_csv(
        path, convert_options=arrow_csv.ConvertOptions(column_types={"label": pa.string()})
    ),
}


@pytest.mark.parametrize("library", READERS)
def test_two_data_frames_give_the_attributes_of_the_two_files(library: str, files: tuple[Path, Path]) -> None:
    edges, nodes = (READERS[library](path) for path in files)
    read, given = as_graph(files[0], nodes=files[1]), as_graph(edges, nodes=nodes)
    assert given.nodes == read.nodes
    assert given.attributes.shape == read.attributes.shape
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(given.attributes, part), getattr(read.attributes, part))
    assert (given.adjacency != read.adjacency).nnz == 0
    assert [note for note in given.notes if ":" in note] == [note for note in read.notes if ":" in note]
    assert set(read.classes) == {"000", "001", "002"}


def test_what_was_taken_and_what_was_left_out_is_said(files: tuple[Path, Path]) -> None:
    notes = as_graph(files[0], nodes=files[1]).notes
    assert "town: 2 categories, 0 or 1 each" in notes
    assert "nothing: left out, it is the same everywhere" in notes
    assert "key: left out, nearly every value is different" in notes
    assert "label: holds labels, so it is no attribute" in notes
    assert any(
        note.startswith("year, score, day, seen, hour: numbers, in 8 overlapping ranges") for note in notes
    )


@pytest.mark.slow
def test_a_notebook_is_as_right_as_the_command_line(files: tuple[Path, Path], tmp_path: Path) -> None:
    truth = dict(zip(NODES["paper"], (f"{c:03}" for c in CLASS), strict=True))
    out = tmp_path / "out.csv"
    told = CliRunner().invoke(app, ["label", str(files[0]), "--nodes", str(files[1]), "--out", str(out)])
    assert told.exit_code == 0, told.output
    by_command = pd.read_csv(out, dtype=str).set_index("node").label
    edges, nodes = (in_pandas(path) for path in files)
    graph = as_graph(edges, nodes=nodes)
    known = {node: own for node, own in zip(graph.nodes, graph.labels, strict=True) if own is not None}
    found = label(as_graph(edges, nodes=nodes.drop(columns="label")), known)
    by_notebook = dict(zip(found.graph.nodes, found.labels, strict=True))
    assert by_notebook == by_command.to_dict()
    assert np.mean([by_notebook[node] == truth[node] for node in truth]) > 0.9


def test_the_graph_of_networkx_and_igraph_gives_the_same_attributes(files: tuple[Path, Path]) -> None:
    expected = as_graph(files[0], nodes=files[1])
    table = in_pandas(files[1])
    known = {
        row.pop("paper"): row for row in table.astype(object).where(table.notna(), None).to_dict("records")
    }
    network = nx.Graph()
    network.add_nodes_from(known.items())
    network.add_edges_from(zip(EDGES["from"], EDGES["to"], strict=True))
    other = igraph.Graph.TupleList(zip(EDGES["from"], EDGES["to"], strict=True))
    other.add_vertices([node for node in known if node not in other.vs["name"]])
    for name in table.columns.drop("paper"):
        other.vs[name] = [known[node][name] for node in other.vs["name"]]
    for graph in (as_graph(network), as_graph(other)):
        order = [graph.row_of[node] for node in expected.nodes]
        np.testing.assert_array_equal(graph.attributes.toarray()[order], expected.attributes.toarray())
        assert [graph.labels[k] for k in order] == expected.labels
        assert "key: left out, nearly every value is different" in graph.notes
        assert as_graph(network, attributes=False).attributes is None


def test_names_that_a_drawing_program_gives_are_no_labels() -> None:
    network = nx.path_graph(4)
    nx.set_node_attributes(network, {k: f"node {k}" for k in network}, "label")
    assert as_graph(network).known is None
    assert as_graph(network, labels="label").classes == ("node 0", "node 1", "node 2", "node 3")


# -- one rule for labels ----------------------------------------------------------------------------------

COLUMNS = {
    "integers": (["1", "2", "", "10"], [1, 2, None, 10]),
    "signs": (["+1", "-1", "", "+1"], [1, -1, None, 1]),
    "zeros": (["007", "7", "", "1"], ["007", "7", None, "1"]),
    "exponents": (["1e3", "2e3", "", "1e3"], ["1e3", "2e3", None, "1e3"]),
    "points": (["1.0", "2.0", "", "1.0"], ["1.0", "2.0", None, "1.0"]),
    "words": (["1", "x", " ", "NaN"], ["1", "x", None, None]),
    "truths": (["true", "false", "", "true"], ["true", "false", None, "true"]),
    "dates": (
        ["2020-01-01", "2020-01-02", "", "2020-01-01"],
        ["2020-01-01", "2020-01-02", None, "2020-01-01"],
    ),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_label_is_the_same_behind_every_door(case: str, tmp_path: Path) -> None:
    from querist.tables.files import read_vectors

    texts, expected = COLUMNS[case]
    names = ["a", "b", "c", "d"]
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    rows = [f"{node},{own}" for node, own in zip(names, texts, strict=True)]
    (tmp_path / "n.csv").write_text("\n".join(["node,label", *rows]) + "\n")
    (tmp_path / "v.csv").write_text(
        "\n".join(["f,label", *(f"{k},{own}" for k, own in enumerate(texts))]) + "\n"
    )
    given = {node: own for node, own in zip(names, expected, strict=True) if own is not None}
    assert as_graph(tmp_path / "e.csv", nodes=tmp_path / "n.csv").labels == expected
    assert GraphFiles(tmp_path / "e.csv", tmp_path / "n.csv").read().labels == given
    assert read_seeds(tmp_path / "n.csv", names).labels == given
    assert read_vectors(tmp_path / "v.csv").y.tolist() == expected


# -- formats ------------------------------------------------------------------------------------------------


def test_a_format_is_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from querist.tables import readers

    (tmp_path / "toy_pairs.py").write_text(
        "import numpy as np\n"
        "from querist.tables.formats import Entries, Format\n"
        "def read(path, weights, labels):\n"
        "    ends = np.array([line.split('-') for line in path.read_text().split()], int)\n"
        "    return Entries(ends[:, 0], ends[:, 1], 1 + ends.max())\n"
        "FORMAT = Format(endings=('.toy',), elements=read)\n"
    )
    (tmp_path / "g.toy").write_text("0-1 1-2\n")
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path)])
    readers.formats.cache_clear()
    try:
        assert as_graph(tmp_path / "g.toy").adjacency.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    finally:
        monkeypatch.undo()
        readers.formats.cache_clear()


def test_edges_between_spaces(tmp_path: Path) -> None:
    for text in ("0 1\n1 2\n", "source target\n0 1\n1 2\n"):
        (tmp_path / "e.csv").write_text(text)
        assert as_graph(tmp_path / "e.csv").nodes == (0, 1, 2)


def test_every_reader_is_found_and_ends_like_no_other() -> None:
    from querist.tables.readers import formats

    ends = [ending for format in formats() for ending in format.endings]
    assert {".csv", ".tsv.gz", ".parquet", ".npz", ".graphml", ".svmlight", ".jsonl"} <= set(ends)
    for role in ("table", "nodes", "elements", "vectors"):
        same = [end for format in formats() if getattr(format, role) for end in format.endings]
        assert len(set(same)) == len(same)


def test_load_graph_reads_as_as_graph_does(files: tuple[Path, Path]) -> None:
    from querist.datasets import load_graph

    read = load_graph(files[0], nodes=files[1], parallel="sum")
    assert read.attributes.shape == as_graph(files[0], nodes=files[1]).attributes.shape

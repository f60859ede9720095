"""JSON lines as tables of edges and of nodes; spreadsheets are refused with what to do."""

import gzip

import pytest

import querist
from querist.errors import InputError
from querist.tables.nodes import read_nodes

EDGES = '{"source": "ann", "target": "bob", "weight": 0.5}\n\n{"source": "bob", "target": 7, "weight": 2}\n'


def test_edges_and_nodes(tmp_path):
    (tmp_path / "edges.jsonl").write_text(EDGES)
    (tmp_path / "nodes.ndjson.gz").write_bytes(
        gzip.compress(
            b'{"id": "ann", "tags": ["x", "y"], "age": 3}\n{"id": "bob", "tags": ["x"], "age": null}\n'
        )
    )
    graph = querist.as_graph(tmp_path / "edges.jsonl", nodes=tmp_path / "nodes.ndjson.gz")
    assert graph.nodes == ("ann", "bob", "7")
    assert graph.adjacency[[0], [1]].tolist() == [0.5] and graph.attributes.shape[0] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EDGES + "[1, 2]\n", "t.jsonl, line 4: list, not an object"),
        (EDGES + '{"source": \n', "t.jsonl, line 4: not JSON"),
        ('{"a": ' + "[" * 100_000 + "\n", "t.jsonl, line 1: not JSON .*recursion"),
        ('{"source": "a", "target": "b", "weight": "x"}\n', "t.jsonl: column 'weight' is .*line 1 holds 'x'"),
        ("".join(f'{{"k{k}": 1}}\n' for k in range(5000)), "5,000 objects with 5,000 keys in all"),
    ],
)
def test_broken_lines_are_named(text, said, tmp_path):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        querist.as_graph(tmp_path / "t.jsonl")


@pytest.mark.parametrize("ending", ["xlsx", "XLS", "ods"])
def test_a_spreadsheet_is_refused_with_what_to_do(ending, tmp_path):
    (tmp_path / f"t.{ending}").write_bytes(b"PK")
    for read in (querist.as_graph, read_nodes, querist.load_vectors):
        with pytest.raises(InputError, match="save it as CSV"):
            read(tmp_path / f"t.{ending}")

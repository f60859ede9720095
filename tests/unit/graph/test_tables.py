"""Node tables, label forms, and what text files can look like."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from querist.errors import InputError
from querist.graph import as_graph

EDGES = {"source": ["b", "c"], "target": ["a", "a"]}
NODES = {
    "id": ["d", "c", "b", "a"],
    "label": ["x", None, "y", "x"],
    "age": [4, 3, 2, 1],
    "town": list("pqrs"),
}


@pytest.fixture(params=["pandas", "polars", "arrow", "csv", "parquet"])
def tables(request, tmp_path):
    """The edge table and the node table, in one library or as files."""
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(request.param, pa.table)
    edges, nodes = make(EDGES), make(NODES)
    if request.param == "csv":
        pd.DataFrame(EDGES).to_csv(tmp_path / "edges.csv", index=False)
        pd.DataFrame(NODES).to_csv(tmp_path / "nodes.csv", index=False)
        return tmp_path / "edges.csv", str(tmp_path / "nodes.csv")
    if request.param == "parquet":
        pq.write_table(edges, tmp_path / "edges.parquet")
        pq.write_table(nodes, tmp_path / "nodes.parquet")
        return str(tmp_path / "edges.parquet"), tmp_path / "nodes.parquet"
    return edges, nodes


def test_a_node_table_gives_order_isolated_nodes_and_labels(tables):
    edges, nodes = tables
    graph = as_graph(edges, nodes=nodes)
    assert graph.nodes == ("d", "c", "b", "a")
    assert graph.labels == ["x", None, "y", "x"]
    assert graph.classes == ("x", "y")
    assert graph.adjacency.toarray().tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 1, 0]]
    # town is different everywhere; age is standardised, as a table of numbers only.
    expected = (np.arange(4, 0, -1) - 2.5) / np.std([1, 2, 3, 4])
    np.testing.assert_allclose(graph.attributes.toarray()[:, 0], expected, atol=1e-15)
    assert "town: left out, nearly every value is different" in graph.notes
    assert as_graph(edges, nodes=nodes, attributes=False).attributes is None


def test_columns_by_option(tables):
    edges, nodes = tables
    graph = as_graph(edges, nodes=nodes, labels="town", attributes=["age"])
    assert graph.labels == list("pqrs")
    assert graph.attributes.toarray().tolist() == [[4], [3], [2], [1]]
    assert as_graph(edges, nodes=nodes, attributes=True).attributes.shape == (4, 1)
    assert as_graph(edges, nodes=nodes, missing="y").labels == ["x", None, None, "x"]
    with pytest.raises(InputError, match=r"no column 'city'; there are id, label, age, town"):
        as_graph(edges, nodes=nodes, labels="city")
    with pytest.raises(InputError, match=r"'town' is .*not numbers"):
        as_graph(edges, nodes=nodes, attributes=["town"])


def test_nodes_that_the_table_does_not_list_follow_at_the_end():
    graph = as_graph(
        pd.DataFrame(EDGES),
        nodes=pd.DataFrame({"node": ["c", "e"], "class": [7, 8], "age": [1.0, 2.0]}),
        attributes=["age"],
    )
    assert graph.nodes == ("c", "e", "a", "b")
    assert graph.labels == [7, 8, None, None]
    assert graph.attributes.toarray().ravel().tolist() == [1, 2, 0, 0]
    assert "2 nodes of the edges not in the node table" in graph.notes


def test_a_node_table_also_serves_a_matrix_and_networkx():
    import networkx as nx

    path = nx.path_graph(3)
    table = pl.DataFrame({"id": [2, 1, 0, 9], "label": ["c", "b", "a", "z"]})
    for source in (path, nx.to_scipy_sparse_array(path), np.array([[0, 1], [1, 2]])):
        graph = as_graph(source, nodes=table)
        assert graph.nodes == (2, 1, 0, 9)
        assert graph.labels == ["c", "b", "a", "z"]
        assert graph.adjacency.toarray()[:3, :3].tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_source_labels_and_attributes_follow_their_nodes():
    graph = as_graph([("a", "b")], labels=["x", "y"], attributes=np.array([[1.0], [2.0]]))
    moved = as_graph(graph, nodes=["c", "b", "a"])
    assert moved.labels == [None, "y", "x"]
    assert moved.attributes.toarray().ravel().tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    "labels",
    [
        ["x", None, "y"],
        ("x", float("nan"), "y"),
        np.array(["x", None, "y"], dtype=object),
        pd.Series(["x", None, "y"], index=[5, 6, 7]),
        pd.Series(["x", pd.NA, "y"], dtype="string"),
        ["x", pd.NA, "y"],
        pl.Series(["x", None, "y"]),
        pa.chunked_array([["x", None], ["y"]]),
        pa.array(["x", None, "y"]),
        {"a": "x", "c": "y"},
        {"a": "x", "b": None, "c": "y"},
        iter(["x", None, "y"]),
    ],
    ids=lambda labels: type(labels).__module__ + "." + type(labels).__name__,
)
def test_labels_in_every_form(labels):
    graph = as_graph([("a", "b"), ("b", "c")], labels=labels)
    assert graph.labels == ["x", None, "y"]
    assert graph.codes.tolist() == [0, -1, 1]


def test_classes_fix_the_codes_and_may_come_without_labels():
    pairs = [("a", "b"), ("b", "c")]
    graph = as_graph(pairs, labels=[3, -1, 5], classes=(5, 4, 3), missing=-1)
    assert graph.codes.tolist() == [2, -1, 0]
    assert as_graph(pairs, classes=("p", "q")).classes == ("p", "q")


def test_several_labels_a_node():
    Y = np.array([[1, 1], [0, 0], [0, 1]])
    graph = as_graph([(0, 1), (1, 2)], labels=Y, classes=("p", "q"))
    assert graph.known.multilabel
    assert graph.classes == ("p", "q")
    np.testing.assert_array_equal(graph.known.indicator, Y)
    turned = as_graph(graph, classes=("q", "p"))
    np.testing.assert_array_equal(turned.known.indicator, Y[:, ::-1])
    with pytest.raises(InputError, match="not among the classes"):
        as_graph(graph, classes=("q", "r"))
    with pytest.raises(InputError, match="other values than 0 and 1"):
        as_graph([(0, 1), (1, 2)], labels=2 * Y)


# -- columns ------------------------------------------------------------------


def test_a_third_column_is_a_weight_only_if_it_is_named_so():
    frame = pd.DataFrame({"u": [1, 2], "v": [2, 3], "year": [1999, 2001]})
    graph = as_graph(frame)
    assert graph.adjacency.max() == 1
    assert graph.notes == ("edges taken from columns 'u' and 'v'", "columns not used: year")
    assert as_graph(frame, weights="year").adjacency.max() == 2001


def test_half_a_pair_of_columns_is_refused():
    with pytest.raises(InputError, match=r"column 'source' but no 'target'.*target="):
        as_graph(pd.DataFrame({"source": [1], "weight": [2], "end": [3]}))


def test_columns_without_names_of_their_own():
    assert as_graph(pd.DataFrame([[0, 1], [1, 5]])).nodes == (0, 1, 5)


# -- text ---------------------------------------------------------------------


def graph_of(tmp_path, edges, nodes=None, **options):
    (tmp_path / "edges.csv").write_text(edges, encoding="utf-8")
    if nodes is not None:
        (tmp_path / "nodes.csv").write_text(nodes, encoding="utf-8")
        options["nodes"] = tmp_path / "nodes.csv"
    return as_graph(tmp_path / "edges.csv", **options)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("source,target\n10,9\n9,7\n", (7, 9, 10)),
        ("source,target\n007,7\n", ("007", "7")),
        ("source,target\n1,x\n", ("1", "x")),
        ("source , target\n1, 2\n3 ,1\n", (1, 2, 3)),
        ("\ufeffsource,target\r\nNA,None\r\n", ("NA", "None")),
        ('from,to\n"Smith, J.",nan\n', ("Smith, J.", "nan")),
        ("1,2\n2,4\n", (1, 2, 4)),
        ("source,target\n-1,3\n", (-1, 3)),
    ],
    ids=["integers", "zeros", "mixed", "spaces", "byte-order mark", "quotes", "no header", "negative"],
)
def test_ids_in_text(tmp_path, text, nodes):
    assert graph_of(tmp_path, text).nodes == nodes


def test_digits_in_one_file_meet_text_in_the_other(tmp_path):
    graph = graph_of(tmp_path, "source,target\n1,2\n", "id,label\n1,p\nA7,q\n2,\n")
    assert graph.nodes == ("1", "A7", "2")
    assert graph.labels == ["p", "q", None]
    assert graph.n_edges == 1


def test_weights_and_labels_in_text(tmp_path):
    graph = graph_of(tmp_path, "src,dst,weight\na,b,2\nb,c,0.5\n", "node,class\nc,1\nb,\na,0\n")
    assert graph.adjacency.toarray().tolist() == [[0, 0.5, 0], [0.5, 0, 2], [0, 2, 0]]
    assert graph.labels == [1, None, 0]


def test_a_header_alone_is_an_edgeless_graph_if_there_are_nodes(tmp_path):
    graph = graph_of(tmp_path, "source,target\n", "node\na\nb\n")
    assert (graph.n_nodes, graph.n_edges) == (2, 0)
    with pytest.raises(InputError, match="no nodes"):
        graph_of(tmp_path, "source,target\n")


# -- columns by the names that the user gives -----------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"source": "who", "target": "whom"},
        {"source": "who"},
        {"target": "whom"},
    ],
)
def test_the_ends_by_name_or_one_of_them(options, tmp_path):
    frame = pd.DataFrame({"who": ["a", "b"], "whom": ["b", "c"], "often": [2, 3]})
    frame.to_csv(tmp_path / "e.csv", index=False)
    for edges in (frame, tmp_path / "e.csv"):
        graph = as_graph(edges, weights="often", **options)
        assert graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 3], [0, 3, 0]]
    turned = frame.rename(columns={"whom": "to"})[["often", "to", "who"]]
    assert as_graph(turned, source="who").adjacency.shape == (3, 3)


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        (pd.DataFrame(EDGES), {"source": "x"}, "no column 'x'; there are source, target"),
        (pd.DataFrame(EDGES), {"source": "source", "target": "source"}, "name two columns"),
        (as_graph([("a", "b")]), {"source": "x"}, "Graph is no table"),
        (pd.DataFrame(EDGES), {"kind": "edges"}, "says what an array or a list holds"),
        ([("a", "b")], {"source": "x"}, "list is no table"),
        ([("a", "b")], {"id": "x"}, "there is no node table"),
        (pd.DataFrame(EDGES), {"nodes": pd.DataFrame(NODES), "id": "key"}, "no column 'key' for the ids"),
    ],
)
def test_names_that_name_nothing_are_refused(edges, options, message):
    with pytest.raises(InputError, match=message):
        as_graph(edges, **options)


def test_the_ids_of_a_node_table_by_name(tmp_path):
    table = {"id": [9, 8, 7], "key": ["a", "b", "c"], "label": ["x", "y", None]}
    pd.DataFrame(table).to_csv(tmp_path / "n.csv", index=False)
    for nodes in (pd.DataFrame(table), tmp_path / "n.csv"):
        graph = as_graph(pd.DataFrame(EDGES), nodes=nodes, id="key")
        assert graph.nodes == ("a", "b", "c")
        assert graph.labels == ["x", "y", None]

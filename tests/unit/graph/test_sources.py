"""One graph in every form that people have it in gives one and the same `Graph`."""

import gzip
import logging
import subprocess
import sys

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from querist import ask, label
from querist.errors import InputError
from querist.graph import as_graph

# Weighted, directed and disconnected, with a self-loop, a duplicate, a two-way edge and a
# negative weight: what is expected is worked out by hand.
NAMES = ("ann", "bob", "cy", "dee", "eve")
TRIPLES = [
    ("ann", "bob", 2.0),
    ("bob", "ann", 5.0),
    ("bob", "cy", 1.5),
    ("cy", "cy", 9.0),
    ("cy", "ann", -1.0),
    ("dee", "eve", 0.5),
    ("bob", "cy", 1.0),
]
EXPECTED = np.array(
    [
        [0.0, 5.0, -1.0, 0.0, 0.0],
        [5.0, 0.0, 1.5, 0.0, 0.0],
        [-1.0, 1.5, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.5],
        [0.0, 0.0, 0.0, 0.5, 0.0],
    ]
)
NOTES = (
    "1 self-loop dropped",
    "1 duplicate edge merged by max",
    "direction merged by max: 3 edges one way, 1 both ways (1 with different weights)",
    "1 negative weight",
)
ROWS = np.array([[NAMES.index(a), NAMES.index(b)] for a, b, _ in TRIPLES])
WEIGHTS = np.array([w for _, _, w in TRIPLES])


def dense():
    """The matrix form cannot hold the duplicate; its larger weight stands."""
    S = np.zeros((5, 5))
    S[tuple(ROWS[:-1].T)] = WEIGHTS[:-1]
    return S


def columns(ids=TRIPLES):
    return {"source": [a for a, _, _ in ids], "target": [b for _, b, _ in ids], "weight": WEIGHTS.tolist()}


def in_networkx():
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(NAMES)
    graph.add_weighted_edges_from(TRIPLES)
    return graph


def in_igraph():
    graph = igraph.Graph(5, ROWS.tolist(), directed=True)
    graph.vs["name"], graph.es["weight"] = NAMES, WEIGHTS
    return graph


def in_pandas_with_its_own_names():
    frame = pd.DataFrame(columns()).rename(columns={"source": "who", "target": "whom", "weight": "often"})
    return frame[["often", "who", "whom"]]


# Row-numbered forms are given the names; the others have them.
FORMS = {
    "csr array": (lambda: sp.csr_array(dense()), {"nodes": NAMES}),
    "csr matrix": (lambda: sp.csr_matrix(dense()), {"nodes": NAMES}),
    "coo": (lambda: sp.coo_array(dense()), {"nodes": NAMES}),
    "dense": (dense, {"nodes": NAMES}),
    "dense list": (lambda: dense().tolist(), {"nodes": NAMES, "kind": "adjacency"}),
    "edge array": (lambda: ROWS, {"nodes": NAMES, "weights": WEIGHTS}),
    "edge array of floats": (lambda: ROWS.astype(float), {"nodes": NAMES, "weights": WEIGHTS.tolist()}),
    "edge array with weights": (lambda: np.column_stack([ROWS, WEIGHTS]), {"nodes": NAMES}),
    "edge array of names": (lambda: np.array(TRIPLES)[:, :2], {"weights": WEIGHTS}),
    "triples": (lambda: TRIPLES, {}),
    "pairs": (lambda: [t[:2] for t in TRIPLES], {"weights": pd.Series(WEIGHTS)}),
    "iterator": (lambda: iter(TRIPLES), {}),
    "networkx": (in_networkx, {}),
    "igraph": (in_igraph, {}),
    "pandas": (lambda: pd.DataFrame(columns()), {}),
    "pandas src dst": (lambda: pd.DataFrame(columns()).set_axis(["SRC", "dst", "Value"], axis=1), {}),
    "pandas, own names": (
        in_pandas_with_its_own_names,
        {"source": "who", "target": "whom", "weights": "often"},
    ),
    "pandas categories": (lambda: pd.DataFrame(columns()).astype({"source": "category"}), {}),
    "polars": (lambda: pl.DataFrame(columns()), {}),
    "polars lazy": (lambda: pl.LazyFrame(columns()), {}),
    "arrow": (lambda: pa.table(columns()), {}),
}


def assert_expected(graph):
    np.testing.assert_array_equal(graph.adjacency.toarray(), EXPECTED)
    assert graph.nodes == NAMES
    assert isinstance(graph.adjacency, sp.csr_array)
    assert graph.n_components == 2


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_graph(form):
    make, options = FORMS[form]
    graph = as_graph(make(), **options)
    assert_expected(graph)
    matrix = "dense" in form or form.startswith(("csr", "coo"))
    assert graph.notes == tuple(note for note in NOTES if not (matrix and "duplicate" in note))


def write_csv(path):
    pd.DataFrame(columns()).to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")


def write_archive(path):
    np.savez(path, edges=ROWS.astype(np.int32), weights=WEIGHTS, node_names=np.array(NAMES))


WRITERS = {
    "edges.csv": write_csv,
    "edges.tsv": write_csv,
    "edges.csv.gz": write_csv,
    "edges.parquet": lambda path: pq.write_table(pa.table(columns()), path),
    "edges.npz": write_archive,
}


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_file_gives_the_same_graph(name, as_path, tmp_path):
    WRITERS[name](tmp_path / name)
    graph = as_graph(as_path(tmp_path / name))
    assert_expected(graph)
    assert graph.notes == NOTES
    assert graph.name == "edges"


def test_the_archive_of_scipy(tmp_path):
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(dense()))
    assert_expected(as_graph(tmp_path / "s.npz", nodes=NAMES))


@pytest.mark.slow
def test_pyg_data():
    torch = pytest.importorskip("torch", reason="needs the extra pyg: pip install querist[pyg]")
    data = pytest.importorskip("torch_geometric.data", reason="needs the extra pyg: pip install querist[pyg]")
    x, y = torch.eye(6)[:, :3], torch.tensor([0, 1, 2, 0, 1, 2])
    for weights in ({"edge_weight": torch.tensor(WEIGHTS)}, {"edge_attr": torch.tensor(WEIGHTS)[:, None]}):
        pyg = data.Data(x=x, edge_index=torch.tensor(ROWS.T), y=y, num_nodes=6, **weights)
        graph = as_graph(pyg, nodes=(*NAMES, "fay"), missing=2)
        np.testing.assert_array_equal(graph.adjacency.toarray()[:5, :5], EXPECTED)
        assert graph.n_nodes == 6
        assert graph.labels == [0, 1, None, 0, 1, None]
        np.testing.assert_array_equal(graph.attributes.toarray(), x.numpy())
        assert graph.notes == NOTES
    several = data.Data(edge_index=torch.tensor(ROWS.T), edge_attr=torch.ones(7, 2), num_nodes=5)
    assert "edge_attr of shape (7, 2) not used" in as_graph(several).notes
    with pytest.raises(InputError, match="edge_index"):
        as_graph(data.Data(x=x))


@pytest.fixture
def pyg():
    """A function that makes a `Data` of a ring of six nodes with labels 0, 1, 2, 0, 1, 2."""
    torch = pytest.importorskip("torch", reason="needs the extra pyg: pip install querist[pyg]")
    data = pytest.importorskip("torch_geometric.data", reason="needs the extra pyg: pip install querist[pyg]")
    edges = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])

    def made(mask, y=(0, 1, 2, 0, 1, 2)):
        own = {} if mask is None else {"train_mask": torch.tensor(mask)}
        return data.Data(edge_index=edges, y=torch.tensor(y), num_nodes=6, **own)

    return made


TRAIN = [True, True, True, True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mask", "where"),
    [
        (TRAIN, "train_mask"),
        ([1, 1, 1, 1, 0, 0], "train_mask"),
        ([[row] for row in TRAIN], "train_mask"),
        ([[row, True, False] for row in TRAIN], "the first of the 3 columns of train_mask"),
    ],
    ids=["bool", "int", "column", "splits"],
)
def test_labels_of_pyg_outside_the_train_mask_are_not_known(pyg, mask, where):
    graph = as_graph(pyg(mask))
    assert graph.labels == [0, 1, 2, 0, None, None]
    assert graph.notes[0] == f"y read in {where} only, 4 labels; pass labels=data.y for all of them"
    assert as_graph(pyg(mask), labels="y").labels == graph.labels
    result = label(pyg(mask), method="walks")
    assert result.is_labelled.tolist() == TRAIN
    assert graph.notes[0] in result.graph.notes


@pytest.mark.slow
def test_all_labels_of_pyg_are_known_if_they_are_passed(pyg):
    source = pyg(TRAIN)
    assert as_graph(source, labels=source.y).labels == [0, 1, 2, 0, 1, 2]
    assert as_graph(source, labels=source.y).notes == ()
    result = label(source, source.y, method="walks")
    assert result.is_labelled.all() and result.graph.notes == ()
    assert ask(source, source.y, budget=3).graph.notes == ()
    assert as_graph(pyg(None)).labels == [0, 1, 2, 0, 1, 2]
    assert as_graph(pyg(None)).notes == ()


@pytest.mark.slow
def test_several_labels_of_pyg_outside_the_train_mask_are_not_known(pyg):
    matrix = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, float("nan")]]
    assert as_graph(pyg(TRAIN, matrix)).known.indicator.tolist() == [*matrix[:4], [0, 0], [0, 0]]


@pytest.mark.slow
def test_a_train_mask_that_is_false_everywhere_gives_no_label(pyg):
    graph = as_graph(pyg([False] * 6))
    assert graph.labels == [None] * 6
    assert "y read in train_mask only, and it is False everywhere; " in graph.notes[0]
    with pytest.raises(InputError, match="no node is labelled"):
        label(pyg([False] * 6))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mask", [[True] * 5, [0, 1, 2, 3, 4, 5], [[[True]]] * 6], ids=["short", "rows", "deep"]
)
def test_a_train_mask_that_is_none_is_refused(pyg, mask):
    with pytest.raises(InputError, match=r"train_mask of shape .*; give 6 values, True or False"):
        as_graph(pyg(mask))


@pytest.mark.parametrize(
    ("make", "both"),
    [(nx.Graph, False), (nx.DiGraph, True), (nx.MultiGraph, False), (nx.MultiDiGraph, True)],
)
def test_the_four_networkx_classes(make, both):
    graph = make()
    graph.add_edge((0, 1), "x", weight=2)
    graph.add_edge("x", 7)
    graph.add_edge("x", (0, 1), weight=3)
    read = as_graph(graph)
    assert read.nodes == ((0, 1), "x", 7)
    assert read.adjacency.toarray().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
    assert any("both ways" in note for note in read.notes) == both


def test_labels_named_in_networkx_and_igraph():
    karate = nx.karate_club_graph()
    graph = as_graph(karate, labels="club", weights="weight")
    assert graph.classes == ("Mr. Hi", "Officer")
    assert graph.labels == [club for _, club in karate.nodes(data="club")]
    np.testing.assert_array_equal(graph.adjacency.toarray(), nx.to_numpy_array(karate))
    assert as_graph(igraph.Graph.from_networkx(karate), labels="club").labels == graph.labels
    assert not as_graph(igraph.Graph.Ring(5)).notes


@pytest.mark.parametrize("source", [nx.path_graph(3), igraph.Graph.Ring(3)], ids=["networkx", "igraph"])
@pytest.mark.parametrize("option", [{"labels": "party"}, {"weights": "strength"}], ids=["labels", "weights"])
def test_an_attribute_that_is_not_there(source, option):
    with pytest.raises(InputError, match=next(iter(option.values()))):
        as_graph(source, **option)


def test_a_subclass_is_recognised():
    class Mine(nx.DiGraph):
        pass

    assert as_graph(Mine([("a", "b")])).nodes == ("a", "b")


def test_foreign_libraries_are_not_imported(tmp_path):
    write_archive(tmp_path / "g.npz")
    code = (
        "import sys, numpy, scipy.sparse as sp; from querist.graph import as_graph\n"
        "as_graph([('a', 'b')]); as_graph(numpy.array([[0, 1]])); as_graph(sp.eye_array(3))\n"
        "as_graph(sys.argv[1])\n"
        "names = 'networkx igraph torch torch_geometric pandas polars pyarrow narwhals sklearn matplotlib'\n"
        "print([name for name in names.split() if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "g.npz")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_graph_is_returned_as_it_is_unless_something_is_added():
    graph = as_graph(TRIPLES)
    assert as_graph(graph) is graph
    labelled = as_graph(graph, labels={"cy": "x"}, attributes=np.eye(5), name="people")
    assert labelled.labels == [None, None, "x", None, None]
    assert labelled.attributes.shape == (5, 5)
    assert labelled.name == "people"
    assert labelled.notes == graph.notes
    assert_expected(labelled)
    assert as_graph(labelled, missing="x").labels == [None] * 5
    again = as_graph(labelled, classes=("z", "x"))
    assert again.codes.tolist() == [-1, -1, 1, -1, -1]
    assert again.attributes.shape == (5, 5)


def test_one_line_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="querist"):
        graph = as_graph(TRIPLES, name="people")
    assert caplog.messages == [graph.describe()]
    assert caplog.messages[0].startswith("people: 5 nodes, 4 edges, 2 components; 1 self-loop dropped; ")


@pytest.mark.parametrize(
    ("array", "options", "n_nodes"),
    [
        ([[0.0, 2.0], [2.0, 1.0]], {}, 2),
        ([[0, 7], [7, 0]], {}, 2),
        ([[0, 7], [7, 0]], {"kind": "edges"}, 8),
        ([[0, 1], [1, 2]], {}, 3),
        ([[0, 1], [1, 2]], {"kind": "adjacency"}, 2),
        ([[0, 1, 1], [1, 5, 1], [2, 3, 1]], {}, 3),
        ([[0, 1, 1], [1, 5, 1], [2, 3, 1]], {"kind": "edges"}, 6),
    ],
)
def test_an_array_that_could_be_either(array, options, n_nodes):
    assert as_graph(np.array(array), **options).n_nodes == n_nodes


def test_a_list_is_a_list_of_edges_unless_told():
    assert as_graph([[0, 1], [1, 0]], kind="adjacency").n_edges == 1
    assert as_graph([[0, 1], [1, 2]]).n_nodes == 3


def test_arrays_hold_row_numbers_and_lists_hold_ids():
    pairs = [(1, 3), (3, 30)]
    assert as_graph(pairs).nodes == (1, 3, 30)
    assert as_graph(pd.DataFrame(pairs, columns=["from", "to"])).nodes == (1, 3, 30)
    assert as_graph(np.array(pairs)).n_nodes == 31
    assert as_graph(pairs, nodes=31).nodes == tuple(range(31))
    assert as_graph(np.array([(0, 1)]), labels=["a", "b", "c"]).n_nodes == 3
    assert as_graph(np.array([(0, 1)]), attributes=np.eye(4)).n_nodes == 4


@pytest.mark.parametrize(
    "ids",
    [
        [10**15, -5, 7],
        [2**63 + 1, 2**63, 2**63 + 5],
        ["b", "a", "c"],
        [("t", 1), ("s", 2), ("t", 0)],
        [1.5, 0.5, 2],
    ],
    ids=["far apart", "beyond int64", "strings", "tuples", "floats"],
)
def test_ids_of_any_hashable_type_are_sorted(ids):
    a, b, c = ids
    graph = as_graph(
        [
            (a, b),
            (
                a,
                c,
            ),
        ]
    )
    assert graph.nodes == tuple(sorted(ids))
    assert graph.adjacency[[graph.row_of[a]]].nnz == 2


def test_a_dense_matrix_of_float16_is_read_as_it_is():
    weights = np.array([[0, 0.5], [0.5, 0]], dtype=np.float16)
    np.testing.assert_array_equal(as_graph(weights).adjacency.toarray(), weights)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_integer_columns_of_every_width(dtype):
    frame = pd.DataFrame({"source": [0, 100], "target": [100, 120]}, dtype=dtype)
    assert as_graph(frame).nodes == (0, 100, 120)


def test_ids_that_cannot_be_compared_keep_their_order():
    assert as_graph([("b", 1), (2, "a")]).nodes == ("b", 2, 1, "a")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_the_callers_matrix_is_left_alone(form):
    entries = (np.array([1.0, 2.0, 0.0]), (np.array([0, 0, 1]), np.array([1, 1, 0])))
    S = sp.coo_array(entries, shape=(2, 2)).asformat(form)
    before = {name: value.copy() for name, value in vars(S).items() if isinstance(value, np.ndarray)}
    assert as_graph(S).adjacency.toarray().tolist() == [[0, 3], [3, 0]]
    assert S.nnz == before["data"].size
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(S, name), value)


def test_gz_and_plain_text_agree(tmp_path):
    write_csv(tmp_path / "e.csv")
    with gzip.open(tmp_path / "e.csv.gz", "wb") as file:
        file.write((tmp_path / "e.csv").read_bytes())
    assert_expected(as_graph(tmp_path / "e.csv.gz"))


@pytest.mark.parametrize("source", [None, 3, {"a": ["b"]}, object(), b"abc"], ids=lambda s: type(s).__name__)
def test_what_is_no_graph_is_refused(source):
    with pytest.raises(InputError, match="is no graph; give a matrix"):
        as_graph(source)

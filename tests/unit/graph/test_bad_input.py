"""Bad input is refused with what was given, what is needed and what to do."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from querist.errors import InputError, QueristError
from querist.graph import as_graph

PAIRS = [("a", "b"), ("b", "c")]
ROWS = np.array([[0, 1], [1, 2], [2, 3]])

CASES = {
    "NaN in a matrix": (lambda: as_graph(np.array([[0, np.nan], [np.nan, 0]])), "NaN or infinite"),
    "infinity in a sparse matrix": (
        lambda: as_graph(sp.csr_array([[0, np.inf], [0, 0]])),
        "first inf at edge 0",
    ),
    "NaN weight": (lambda: as_graph(ROWS, weights=[1, np.nan, 2]), "1 weight of 3 NaN or infinite.*edge 1"),
    "NaN in networkx": (lambda: as_graph(nx.Graph([(0, 1, {"weight": np.nan})])), "networkx graph: 1 weight"),
    "weight in words": (lambda: as_graph([("a", "b", "heavy")]), "weights are not numbers"),
    "complex weights": (lambda: as_graph(np.array([[0, 1j], [1j, 0]])), "must be real"),
    "a sparse matrix of float16": (
        lambda: as_graph(sp.csr_array((np.ones(2, np.float16), [1, 0], [0, 1, 2]), shape=(2, 2))),
        "float16.*convert it to float32",
    ),
    "too few weights": (lambda: as_graph(ROWS, weights=[1.0, 2.0]), r"shape \(2,\) for 3 edges"),
    "weights for a matrix": (lambda: as_graph(np.eye(4), weights=[1.0]), "hold their own weights"),
    "weights by name for a list": (lambda: as_graph(PAIRS, weights="w"), "names a column"),
    "matrix not square": (lambda: as_graph(sp.csr_array((3, 4))), r"shape \(3, 4\); an adjacency is square"),
    "array of four columns": (lambda: as_graph(np.zeros((5, 4), int)), r"give \(n, n\) weights or \(m, 2\)"),
    "edge index": (lambda: as_graph(np.zeros((2, 5), int)), "transpose it"),
    "array of one dimension": (lambda: as_graph(np.arange(4)), r"shape \(4,\)"),
    "negative row": (
        lambda: as_graph(np.array([[0, 1], [1, -2], [0, 2]])),
        r"edge 1 is \[1, -2\]; row numbers start",
    ),
    "half a row": (lambda: as_graph(np.array([[0, 1.5], [1, 2], [0, 1]])), r"edge 0 is \[0.0, 1.5\].*whole"),
    "NaN row": (lambda: as_graph(np.array([[0, np.nan], [1, 2], [0, 1]])), "edge 0.*whole row numbers"),
    "row out of range": (
        lambda: as_graph(ROWS, nodes=3),
        r"edge 2 is \(2, 3\), but there are 3 nodes \(0..2\)",
    ),
    "too few names for rows": (lambda: as_graph(ROWS, nodes=["a", "b"]), "there are 2 nodes"),
    "names for a matrix": (lambda: as_graph(np.eye(3), nodes=["a", "b"]), "2 ids for 3 nodes"),
    "ids as rows": (
        lambda: as_graph(np.array([[10**12, 5], [5, 6], [6, 7]])),
        "list of pairs or a data frame",
    ),
    "unlisted node": (lambda: as_graph(PAIRS, nodes=["a", "b"]), "1 node of the edges, e.g. 'c'"),
    "node listed twice": (lambda: as_graph(PAIRS, nodes=["a", "b", "c", "a"]), "node id 'a' comes twice"),
    "same name for two rows": (lambda: as_graph(ROWS, nodes=["a", "b", "c", "a"]), "not distinct"),
    "nodes of no kind": (lambda: as_graph(PAIRS, nodes=2.5), "float where a list"),
    "a pair of three": (lambda: as_graph([("a", "b"), ("a", "b", "c")]), r"\('a', 'b', 'c'\) is not an edge"),
    "no pairs": (lambda: as_graph(["ab", "cd"]), "'ab' is not an edge"),
    "unhashable id": (lambda: as_graph([("a", ["b"])]), r"node id \['b'\] is not hashable"),
    "missing id": (lambda: as_graph([("a", None)]), "node ids are missing"),
    "missing id in a frame": (
        lambda: as_graph(pd.DataFrame({"source": ["a", None], "target": ["b", "c"]})),
        "'source' is empty in 1 of 2 rows, the first row 1",
    ),
    "missing weight in a frame": (
        lambda: as_graph(pd.DataFrame({"source": ["a"], "target": ["b"], "weight": [np.nan]})),
        "'weight'",
    ),
    "no such column": (
        lambda: as_graph(pd.DataFrame({"a": [1], "b": [2]}), source="a", target="z"),
        "there are a, b",
    ),
    "no such weight": (lambda: as_graph(pd.DataFrame({"a": [1], "b": [2]}), weights="z"), "no column 'z'"),
    "one column": (lambda: as_graph(pd.DataFrame({"a": [1]})), "1 column"),
    "a series": (lambda: as_graph(pd.Series([1, 2])), "edge table"),
    "empty list": (lambda: as_graph([]), "no nodes; give at least one edge"),
    "empty edge array": (lambda: as_graph(np.empty((0, 2), int)), "no nodes"),
    "empty matrix": (lambda: as_graph(np.empty((0, 0))), "no nodes"),
    "empty networkx": (lambda: as_graph(nx.Graph()), "no nodes"),
    "too few labels": (lambda: as_graph(PAIRS, labels=["x"]), "1 labels for 3 nodes; give one per node"),
    "too many labels": (lambda: as_graph(PAIRS, labels=list("wxyz")), "4 labels for 3 nodes"),
    "too few labels for rows": (lambda: as_graph(ROWS, labels=["x", "y"]), "2 labels for 4 nodes"),
    "label of an unknown node": (
        lambda: as_graph(PAIRS, labels={"z": 1}),
        "1 unknown node, e.g. 'z'.*like 'a'",
    ),
    "label outside the classes": (
        lambda: as_graph(PAIRS, labels=["x", "y", "z"], classes=("x", "y")),
        r"label 'z' is not among the classes \('x', 'y'\)",
    ),
    "the unlabelled value without labels": (
        lambda: as_graph(PAIRS, missing="?"),
        r"missing = '\?' says which label means unlabelled, but there are no labels",
    ),
    "class twice": (lambda: as_graph(PAIRS, labels=["x", "y", "x"], classes=("x", "y", "x")), "twice"),
    "unhashable label": (lambda: as_graph(PAIRS, labels=[["x"], "y", "z"]), "not hashable"),
    "labels by name without a table": (lambda: as_graph(PAIRS, labels="party"), "no node table"),
    "attributes by name without a table": (lambda: as_graph(PAIRS, attributes=["age"]), "no node table"),
    "attributes of another size": (lambda: as_graph(PAIRS, attributes=np.eye(2)), "2 rows for 3 nodes"),
    "attributes in words": (
        lambda: as_graph(PAIRS, attributes=[["x"], ["y"], ["z"]]),
        "text where numbers belong",
    ),
    "attributes of one dimension": (lambda: as_graph(PAIRS, attributes=[1.0, 2.0, 3.0]), r"shape \(3,\)"),
    "NaN attribute": (lambda: as_graph(PAIRS, attributes=[[1.0], [np.nan], [2.0]]), "attributes holds NaN"),
    "no such kind": (lambda: as_graph(ROWS, kind="matrix"), "must be one of adjacency, edges or none"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case):
    call, message = CASES[case]
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, QueristError)

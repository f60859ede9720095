"""Labels of a whole graph in every form that people have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from querist import InputError
from querist.labels import encode, tabulate

NODES = ("ann", "bob", "cy", "dan")
KNOWN = np.array([[1, 0], [0, 0], [0, 1], [1, 0]], dtype=float)  # classes cat, dog


@pytest.mark.parametrize(
    "labels",
    [
        {"ann": "cat", "cy": "dog", "dan": "cat"},
        {"ann": "cat", "bob": None, "cy": "dog", "dan": "cat"},
        ["cat", None, "dog", "cat"],
        ("cat", float("nan"), "dog", "cat"),
        np.array(["cat", None, "dog", "cat"], dtype=object),
        pd.Series(["cat", None, "dog", "cat"]),
        pd.Series(["cat", pd.NA, "dog", "cat"], dtype="string"),
        pd.Series(["cat", None, "dog", "cat"], dtype="category"),
        pd.Series(["dog", "cat", "cat"], index=["cy", "dan", "ann"]),
        pl.Series(["cat", None, "dog", "cat"]),
    ],
    ids=["dict", "dict-none", "list", "nan", "array", "series", "string", "category", "index", "polars"],
)
def test_one_label_a_node(labels):
    found = tabulate(labels, NODES)
    assert found.indicator.tolist() == KNOWN.tolist()
    assert found.classes == ("cat", "dog")
    assert not found.multilabel
    assert found.known.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        (np.array([0, -1, 1, 0]), -1),
        (np.array([0, np.nan, 1, 0]), None),
        (np.array([0.0, 9.0, 1.0, 0.0]), 9),
        ([0, -1, 1, 0], -1),
        ({"ann": 0, "bob": -1, "cy": 1, "dan": 0}, -1),
    ],
)
def test_a_value_that_means_unlabelled(labels, missing):
    found = tabulate(labels, NODES, missing=missing)
    assert found.indicator.tolist() == KNOWN.tolist()
    assert found.classes == (0, 1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64])
def test_arrays_of_numbers_are_encoded_as_one_by_one(dtype):
    values = np.random.default_rng(0).integers(0, 9, 50).astype(dtype)
    expected = encode(values.tolist(), missing=3)
    found = tabulate(values, range(50), missing=3)
    assert found.classes == expected.classes
    assert (found.codes == expected.codes).all()


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (KNOWN, (0, 1)),
        (sp.csr_array(KNOWN), (0, 1)),
        (KNOWN.astype(bool), (0, 1)),
        (KNOWN.tolist(), (0, 1)),
        (np.where(KNOWN.any(axis=1, keepdims=True), KNOWN, np.nan), (0, 1)),
        (pd.DataFrame(KNOWN, columns=["cat", "dog"]), ("cat", "dog")),
        (pd.DataFrame(KNOWN[[2, 0, 3]], columns=["cat", "dog"], index=["cy", "ann", "dan"]), ("cat", "dog")),
        ([{"cat"}, set(), frozenset({"dog"}), {"cat"}], ("cat", "dog")),
        ({"ann": {"cat"}, "cy": {"dog"}, "dan": {"cat"}}, ("cat", "dog")),
    ],
)
def test_several_labels_a_node(labels, classes):
    found = tabulate(labels, NODES)
    assert found.indicator.tolist() == KNOWN.tolist()
    assert found.classes == classes
    assert found.multilabel
    assert found.known.tolist() == [True, False, True, True]


def test_classes_may_be_named():
    found = tabulate({"ann": "dog"}, NODES, classes=["dog", "cow", "cat"])
    assert found.classes == ("dog", "cow", "cat")
    assert found.indicator[0].tolist() == [1, 0, 0]
    assert tabulate(KNOWN, NODES, classes=["cat", "dog"]).classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        (["cat"], {}, "1 labels for 4 nodes"),
        ({"eve": "cat"}, {}, "unknown node, e.g. 'eve'"),
        (pd.Series(["cat"], index=["eve"]), {}, "unknown node, e.g. 'eve'"),
        (pd.Series(["cat", "dog"], index=["ann", "ann"]), {}, "names a node twice"),
        (KNOWN[:2], {}, "2 labels for 4 nodes"),
        (KNOWN * 2, {}, "other values than 0 and 1"),
        (np.where(KNOWN > 0, np.nan, 0.0), {}, "other values than 0 and 1"),
        (np.full((4, 2), "x"), {}, "text where numbers belong"),
        (KNOWN, {"classes": ["cat"]}, "2 columns of labels for 1 classes"),
        ([[1, 0], [1], [0, 1], [1, 0]], {}, "differ in length"),
        (["cat", "cow", None, None], {"classes": ["cat"]}, "not among the classes"),
    ],
)
def test_bad_input(labels, options, words):
    with pytest.raises(InputError, match=words):
        tabulate(labels, NODES, **options)

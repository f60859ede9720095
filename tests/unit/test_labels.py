"""What means "unlabelled" if nobody says so: -1 beside class numbers, by one rule in every function."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from querist import CLASSIFIERS, BudgetedLeastSquares, as_graph, ask, label, load_graph
from querist.errors import InputError
from querist.labels import Labels, implied_missing, tabulate
from querist.tables.labels import read_seeds

WORDS = "missing=-1"


@pytest.mark.parametrize(
    ("values", "classes", "means"),
    [
        ([0, 1, -1], None, -1),
        ([0.0, 2.0, -1.0, float("nan")], None, -1),
        (np.array([3, 7, -1]), None, -1),
        ([-1, 1], None, None),
        ([-1, 0], None, None),
        ([-2, -1, 0, 1], None, None),
        ([0.5, 1, -1], None, None),
        (["0", "1", "-1"], None, None),
        (["a", 0, 1, -1], None, None),
        ([True, False, -1], None, None),
        ([0, 1, 2], None, None),
        ([0, -1], [0, 1], -1),
        ([0, 1, -1], [-1, 0, 1], None),
        ([0, 1, -1], ["a", "b"], None),
    ],
)
def test_minus_one_beside_class_numbers_is_no_class(values, classes, means):
    assert implied_missing(values, classes, parameter=None) == means
    assert implied_missing(values, classes, "?", None) == "?"


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, -1, 0],
        np.array([0, 1, -1, 0]),
        np.array([0.0, 1.0, -1.0, 0.0]),
        pd.Series([0, 1, -1, 0]),
        {0: 0, 1: 1, 2: -1, 3: 0},
        [{0}, {1}, -1, {0}],
    ],
)
def test_every_form_of_labels_is_read_so_and_warned_of(labels):
    with pytest.warns(UserWarning, match=WORDS) as caught:
        found = tabulate(labels, range(4))
    assert [w.filename for w in caught] == [__file__], "it points to the user's own line"
    assert found.classes == (0, 1)
    assert found.known.tolist() == [True, True, False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tabulate(labels, range(4), missing=-1).known.tolist() == [True, True, False, True]
        assert tabulate(labels, range(4), missing=float("nan")).classes == (-1, 0, 1)


@pytest.fixture
def halves():
    """karate's codes, every other one hidden by -1."""
    karate = load_graph("karate")
    return karate, np.where(np.arange(34) % 2, karate.codes, -1)


FUNCTIONS = {
    "label": lambda graph, given: label(graph, given).is_labelled,
    "classifier": lambda graph, given: CLASSIFIERS["wvrn"]().fit(graph, given).problem_.seeds,
    "own": lambda graph, given: (
        CLASSIFIERS["wvrn"]().fit(as_graph(graph.adjacency, labels=given)).problem_.seeds
    ),
    "ask": lambda graph, given: np.isin(np.arange(34), list(ask(graph, labels=given).state.known)),
    "oracle": lambda graph, given: np.isin(np.arange(34), list(ask(graph, given).state.answers())),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_has_the_rule(halves, function):
    karate, given = halves
    with pytest.warns(UserWarning, match=WORDS):
        known = FUNCTIONS[function](karate, given)
    assert known.tolist() == (given >= 0).tolist()


def test_it_can_be_said_otherwise(halves):
    karate, given = halves
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert label(karate, given, missing=float("nan"), method="wvrn").classes == (-1, 0, 1)
        assert ask(karate, labels=given, missing=float("nan")).classes == (-1, 0, 1)
        assert label(karate, given, classes=[-1, 0, 1], method="wvrn").classes == (-1, 0, 1)
        assert set(label(karate, np.where(karate.codes, 1, -1), method="wvrn").classes) == {-1, 1}


def test_a_file_of_labels_says_it_in_its_notes(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("node,label\n0,0\n1,1\n2,-1\n3,\n")
    found = read_seeds(path, load_graph("karate").nodes)
    assert found.labels == {0: 0, 1: 1} and found.classes == (0, 1)
    assert any("1 row labelled -1, taken as unlabelled" in note for note in found.notes)
    assert any("1 row without a label" in note for note in found.notes)


# -- streams ------------------------------------------------------------------------------------------

X = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.0], [0.9, 1.0]])


def test_a_stream_is_judged_by_all_its_labels_in_fit():
    with pytest.warns(UserWarning, match="missing_label=-1"):
        model = BudgetedLeastSquares().fit(X, [0, 1, -1, -1])
    assert model.classes_.tolist() == [0, 1]
    said = BudgetedLeastSquares(missing_label=-1).fit(X, [0, 1, -1, -1])
    assert (model.decision_function(X) == said.decision_function(X)).all()
    assert BudgetedLeastSquares().fit(X, [-1, 1, -1, 1]).classes_.tolist() == [-1, 1]


@pytest.mark.parametrize("go_on", ["partial_fit", "run"])
def test_a_batch_is_judged_by_the_classes_and_never_by_itself(go_on):
    said = BudgetedLeastSquares(missing_label=-1).partial_fit(X, [-1, 1, -1, 0], classes=[0, 1, 2])
    model = BudgetedLeastSquares()
    with pytest.warns(UserWarning, match="missing_label=-1"):
        getattr(model, go_on)(X[:2], [-1, 1], classes=[0, 1, 2])  # alone, {-1, 1} would be two classes
    with pytest.warns(UserWarning, match="missing_label=-1"):
        getattr(model, go_on)(X[2:], [-1, 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.decision_function(X) == said.decision_function(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        three = getattr(BudgetedLeastSquares(), go_on)(X[:3], [-1, 1, 0], classes=[-1, 0, 1])
        model = BudgetedLeastSquares().partial_fit(X[:3], [-1, 1, 0])
    assert model.classes_.tolist() == [-1, 0, 1], "a batch without classes= names them"
    assert three is not None


# -- a table of nodes and labels ----------------------------------------------------------------------


def tables_of(columns):
    import polars as pl
    import pyarrow as pa

    return [make(columns) for make in (pd.DataFrame, pl.DataFrame, pa.table)]


@pytest.mark.parametrize(
    "columns",
    [
        {"node": ["cy", "ann"], "label": ["dog", "cat"]},
        {"animal": ["dog", "cat"], "ID": ["cy", "ann"]},
        {"who": ["cy", "ann", "bob"], "what": ["dog", "cat", None]},
        {"what": ["dog", "cat"], "who": ["cy", "ann"]},
    ],
)
def test_a_table_of_two_columns_is_a_dict(columns):
    for table in tables_of(columns):
        found = tabulate(table, ["ann", "bob", "cy"])
        assert found.classes == ("cat", "dog") and found.indicator.tolist() == [[1, 0], [0, 0], [0, 1]]


def test_a_table_of_zeros_and_ones_stays_a_matrix_unless_a_column_says_node():
    matrix = {"cat": [1, 0, 0], "dog": [0, 1, 0]}
    for table in tables_of(matrix)[:1]:
        found = tabulate(table, [5, 6, 7])
        assert found.multilabel and found.classes == ("cat", "dog")
    for table in tables_of({"node": [0, 1], "label": [1, 0]}):
        found = tabulate(table, range(4))
        assert not found.multilabel and found.indicator.tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]


def test_a_table_that_contradicts_itself_or_the_graph_is_refused():
    for table in tables_of({"node": ["ann", "ann"], "label": ["cat", "dog"]}):
        with pytest.raises(InputError, match="node 'ann' is 'cat' and 'dog'; give it one label"):
            tabulate(table, ["ann", "bob"])
    for table in tables_of({"node": ["zed"], "label": ["cat"]}):
        with pytest.raises(InputError, match="labels for 1 unknown node, "):
            tabulate(table, ["ann", "bob"])
    with pytest.raises(InputError, match="labels are the text 'club'"):
        tabulate("club", ["ann", "bob"])


# -- the one form inside ------------------------------------------------------------------------------

ONE = Labels(np.array([1, -1, 0, 1]), ("cat", "dog"))
SETS = Labels(sp.csr_array([[1, 1], [0, 0], [1, 0], [0, 1]]), ("cat", "dog"))


@pytest.mark.parametrize(
    ("labels", "names", "by_row"),
    [
        (ONE, ["dog", None, "cat", "dog"], {0: 1, 2: 0, 3: 1}),
        (SETS, [("cat", "dog"), None, ("cat",), ("dog",)], {0: (0, 1), 2: (0,), 3: (1,)}),
    ],
)
def test_both_kinds_of_labels_have_the_same_calls(labels, names, by_row):
    assert labels.names() == names and labels.by_row() == by_row and len(labels) == 4
    assert labels.known.tolist() == [True, False, True, True]
    assert labels.sizes.tolist() == labels.indicator.sum(axis=0).tolist() == [1 + labels.multilabel, 2]
    assert labels.select([2, -1, 0]).names() == [names[2], None, names[0]]
    assert labels.grown(6).names() == [*names, None, None]
    assert labels.only(np.array([True, True, False, False])).names() == [names[0], None, None, None]
    again = Labels.of(by_row, 4, labels.classes, labels.multilabel)
    assert (again.indicator == labels.indicator).all() and again.multilabel == labels.multilabel
    assert tabulate(labels, "abcd") is labels


def test_one_label_per_node_is_a_set_of_one_where_nodes_may_have_several():
    assert ONE.as_sets().names() == [("dog",), None, ("cat",), ("dog",)]
    assert SETS.as_sets() is SETS
    given = {"ann": "cat", "bob": {"cat", "dog"}}
    assert tabulate(given, ["ann", "bob"], multilabel=True).names() == [("cat",), ("cat", "dog")]
    assert tabulate({"ann": "cat"}, ["ann"], multilabel=True).names() == [("cat",)]
    names = [("cat", "dog"), None, ("dog",)]
    assert tabulate(names, range(3), multilabel=True).names() == names
    assert tabulate(names, range(3)).classes == (("cat", "dog"), ("dog",)), "a class may be a tuple"
    for multilabel in (True, None):
        with pytest.raises(InputError, match="is not hashable"):
            tabulate([("cat", ["dog"]), "cat"], range(2), multilabel=multilabel)
    with pytest.raises(InputError, match="pass multilabel=True, or one class per node"):
        tabulate(given, ["ann", "bob"], multilabel=False)


def test_what_stands_twice_or_as_a_zero_counts_once_or_not_at_all():
    twice = sp.coo_array(([1, 0, 1], ([0, 1, 2], [0, 0, 1])), shape=(3, 2))
    assert Labels(twice, ("cat", "dog")).by_row() == {0: (0,), 2: (1,)}


WRONG = {
    "a code above": (lambda: Labels(np.array([0, 2]), ("p", "q")), "label code 2 is outside the 2 classes"),
    "a code below": (lambda: Labels(np.array([0, -2]), ("p", "q")), "label code -2 is outside"),
    "fractions": (lambda: Labels(np.array([0.5]), ("p", "q")), "float64; give integers"),
    "a table of codes": (lambda: Labels(np.zeros((2, 2), int), ("p", "q")), r"codes of shape \(2, 2\)"),
    "a class twice": (lambda: Labels(np.array([0]), ("p", "p")), "twice"),
    "columns": (lambda: Labels(sp.csr_array((3, 2)), ("p",)), "2 columns of labels for 1 classes"),
    "values": (lambda: Labels(2 * sp.eye_array(3), (0, 1, 2)), "other values than 0 and 1"),
    "other nodes": (lambda: tabulate(ONE, ["ann"]), "4 labels for 1 nodes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_labels_that_mean_nothing_are_refused(case):
    make, message = WRONG[case]
    with pytest.raises(InputError, match=message):
        make()


def test_a_data_frame_of_one_column_leaves_nodes_out():
    frame = pd.DataFrame({"kind": [1, 0]}, index=["cy", "ann"])
    assert tabulate(frame, ["ann", "bob", "cy"]).names() == [0, None, 1]

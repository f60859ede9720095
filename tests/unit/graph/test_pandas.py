"""What pandas and NumPy hold is read as it is meant: named indices, missing values, dates as ids."""

import datetime as dt
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

import querist
from querist.cluster.reading import table_files
from querist.errors import InputError
from querist.labelling import Labelling, from_files
from querist.online import Learner
from querist.tables.nodes import read_nodes

EDGES = [("a", "b"), ("b", "c"), ("c", "a")]


@pytest.mark.parametrize("name", ["node", "account"])
def test_a_named_index_of_a_node_table_holds_the_ids(name):
    table = pd.DataFrame({"age": [1.0, 2.0, 5.0]}, index=pd.Index(["a", "b", "c"], name=name))
    assert read_nodes(table).ids == ("a", "b", "c")
    assert querist.as_graph(EDGES, nodes=table).attributes.shape == (3, 1)


def test_a_column_of_ids_goes_before_an_index():
    table = pd.DataFrame({"node": ["a", "b"], "x": [1, 2]}, index=pd.Index([7, 8], name="row"))
    assert read_nodes(table).ids == ("a", "b")


def test_an_index_that_is_a_column_too_holds_the_ids():
    table = pd.DataFrame({"score": [1.5, 2.5], "account": ["a", "b"]}).set_index("account", drop=False)
    assert read_nodes(table).ids == ("a", "b") and read_nodes(table, id="score").ids == (1.5, 2.5)
    table["account"] = ["b", "a"]
    with pytest.raises(InputError, match="the index and the column 'account' differ"):
        read_nodes(table)


def test_an_index_of_several_levels_is_refused():
    levels = pd.MultiIndex.from_arrays([["a", "b"], [1, 2]], names=["node", "year"])
    with pytest.raises(InputError, match=r"index of several levels; call reset_index\(\)"):
        read_nodes(pd.DataFrame({"x": [1, 2]}, index=levels))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA, np.datetime64("NaT")])
def test_missing_values_of_every_kind_mean_unlabelled(missing):
    expected = querist.label(EDGES, {"a": "x", "c": "y"}).labels
    for labels in ({"a": "x", "b": missing, "c": "y"}, pd.Series({"a": "x", "b": missing, "c": "y"})):
        assert querist.label(EDGES, labels).labels == expected
    assert querist.as_graph(EDGES, labels=["x", missing, "y"]).labels == ["x", None, "y"]


def test_dates_among_attributes_are_not_taken_for_numbers():
    for date in (np.datetime64("NaT"), np.datetime64("2020-01-01"), np.timedelta64(1, "D")):
        with pytest.raises(InputError, match="attributes: text or dates where numbers belong"):
            querist.as_graph(EDGES, attributes=np.array([[1, date], [2, 3], [4, 5]], dtype=object))


def test_nullable_integers_stay_integers():
    values = pd.array([1, None, 2], "Int64")
    for labels in (values, pd.Series(values), pd.Series(values, index=["a", "b", "c"])):
        assert {type(label) for label in querist.label(EDGES, labels).labels} == {int}
    assert str(querist.as_graph(EDGES, labels=values).labels) == "[1, None, 2]"


def test_a_message_does_not_print_hundreds_of_digits(tmp_path):
    key = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    edge = f'<edge source="a" target="a"><data key="w">{10**400}</data></edge>'
    (tmp_path / "g.graphml").write_text(f'<graphml>{key}<graph><node id="a"/>{edge}</graph></graphml>')
    for call in (
        lambda: querist.as_graph(tmp_path / "g.graphml"),
        lambda: querist.as_graph(EDGES, nodes=10**400),
        lambda: querist.label(EDGES, {"a": "x", "b": "y"}, costs={("x", "y"): 10**400}),
    ):
        with pytest.raises(InputError, match=r"10{30}|the first inf") as refused:
            call()
        assert len(str(refused.value)) < 250


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_ids_of_datetime64_are_found_under_the_id_that_was_given(unit):
    days = [np.datetime64(f"2020-01-0{k}", unit) for k in (1, 2, 3)]
    labels = {days[0]: "x", days[2]: "y"}
    links = [(days[0], days[1]), (days[1], days[2])]
    for edges in (links, pd.DataFrame(links, columns=["source", "target"])):
        found = querist.label(edges, labels)
        assert [found.graph.row_of[day] for day in days] == [0, 1, 2]
        assert found[days[0]].label == "x" and days[1] in found
        assert found[dt.datetime(2020, 1, 3)].label == "y"
        with pytest.raises(KeyError):
            found.graph.row_of[np.datetime64("2021-01-01", unit)]


@pytest.mark.parametrize("unit", ["Y", "M", "D", "ns"])
@pytest.mark.parametrize("m", [2, 3])
def test_ids_of_datetime64_are_the_same_in_lists_arrays_and_tables(unit, m):
    days = np.array(["2018", "2019", "2020", "2021"], f"datetime64[{unit}]")[: m + 1]
    pairs = list(pairwise(days))
    for edges in (pairs, np.array(pairs)):
        for nodes in (list(days), pd.DataFrame({"node": days}), None):
            graph = querist.as_graph(edges, nodes=nodes)
            assert [graph.row_of[day] for day in days] == list(range(m + 1)) and graph.n_edges == m


def test_dates_are_found_by_their_midnight(tmp_path):
    days = [dt.date(2020, 1, k) for k in (1, 2, 3)]
    table = pl.DataFrame({"source": days[:2], "target": days[1:]})
    table.write_parquet(tmp_path / "e.parquet")
    labels = {np.datetime64("2020-01-01"): "x", np.datetime64("2020-01-03", "ns"): "y"}
    for edges in (table, tmp_path / "e.parquet"):
        found = querist.label(edges, labels)
        assert found.graph.nodes == tuple(days) and found[np.datetime64("2020-01-02")].label in ("x", "y")
        assert dt.datetime(2020, 1, 3) in found and dt.datetime(2020, 1, 3, 1) not in found


def test_weights_beyond_floats_are_refused():
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [10**400, 1]})
    with pytest.raises(InputError, match=r"column 'weight' is .*, not numbers \(row 0 holds 1000"):
        querist.as_graph(frame)
    with pytest.raises(InputError, match="weights are not numbers"):
        querist.as_graph([("a", "b", 10**400), ("b", "c", 1)])


def test_attributes_beyond_floats_are_text():
    frame = pd.DataFrame({"node": ["a", "b", "c"], "x": [10**400, 1, 2]})
    assert read_nodes(frame).notes[0] == "x: left out, nearly every value is different"
    with pytest.raises(InputError, match="column 'x' is String, not numbers"):
        querist.as_graph(EDGES, nodes=frame, attributes=["x"])


def test_half_precision_is_taken():
    matrix = np.zeros((3, 3), dtype=np.float16)
    matrix[0, 1] = matrix[1, 0] = 0.5
    matrix[1, 2] = matrix[2, 1] = 2
    assert sorted(querist.as_graph(matrix).adjacency.data) == [0.5, 0.5, 2, 2]
    with warnings.catch_warnings(action="error"):
        assert querist.as_graph(np.array([[0, 1], [1, 2], [2, 3]], dtype=np.float16)).n_edges == 3


@pytest.mark.parametrize("path", ["a\0b.csv", "a\ud800.csv", f"{'a' * 300}.csv"])
def test_a_path_that_no_file_can_have_is_refused(path, tmp_path):
    labelling = querist.label(EDGES, {"a": "x", "c": "y"})
    calls = [
        lambda: querist.as_graph(path),
        lambda: querist.as_graph(EDGES, nodes=path),
        lambda: querist.load_vectors(path),
        lambda: labelling.write(path),
        lambda: labelling.save(path),
        lambda: from_files(path, path, out=tmp_path / "x.csv"),
        lambda: querist.ask(EDGES, classes=["x", "y"], journal=path),
        lambda: Labelling.load(path),
        lambda: Learner.load(path),
        lambda: querist.load_graph(path),
        lambda: table_files(path),
    ]
    for call in calls:
        with pytest.raises(InputError, match="is no name of a file") as refused:
            call()
        assert str(refused.value).isprintable()


def test_rows_given_twice_are_dropped_and_rows_that_differ_refused():
    table = pd.DataFrame({"node": ["a", "b", "a", "c"], "x": [1.0, np.nan, 1.0, 4.0]})
    found = read_nodes(table)
    assert found.ids == ("a", "b", "c")
    assert found.notes[0] == "1 exact repeat of an earlier row dropped"
    table.loc[2, "x"] = 3.0
    with pytest.raises(InputError, match="node 'a' has two rows that differ, row 0 and row 2"):
        read_nodes(table)


def test_ids_with_and_without_a_sign_stay_apart():
    ends = {"source": np.array([1, 2]), "target": np.array([2**63, 2**64 - 1], dtype=np.uint64)}
    assert querist.as_graph(pd.DataFrame(ends)).nodes == (1, 2, 2**63, 2**64 - 1)

"""Labels of nodes that are not in the graph: refused by default, skipped and counted if asked for."""

from itertools import pairwise

import pandas as pd
import pytest

import querist
from querist.asking.store.sqlite import SqliteStore
from querist.cli import main
from querist.collective import Harmonic
from querist.errors import InputError
from querist.labelling import GraphFiles
from querist.serve.opening import create, open_campaign

EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
LABELS = {"a": "x", "gone": "x", "e": "y", "left": "y"}
FORMS = {
    "dict": LABELS,
    "series": pd.Series(LABELS),
    "table": pd.DataFrame({"node": [*LABELS], "label": [*LABELS.values()]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_unknown_nodes_are_skipped_and_counted(form):
    expected = querist.label(EDGES, {"a": "x", "e": "y"})
    found = querist.label(EDGES, FORMS[form], ignore_unknown=True)
    assert found.labels == expected.labels
    assert found.choice.why == (*expected.choice.why, "Skipped the labels of 2 nodes not in the graph.")
    with pytest.raises(InputError, match=r"2 unknown nodes, e.g. '(gone|left)'.*ignore_unknown=True"):
        querist.label(EDGES, FORMS[form])


@pytest.mark.parametrize(
    "call",
    [
        lambda: querist.as_graph(EDGES, labels=LABELS),
        lambda: querist.ask(EDGES, classes=["x", "y"], labels=LABELS),
        lambda: querist.ask(EDGES, LABELS),
        lambda: Harmonic().fit(EDGES, LABELS),
    ],
    ids=["as_graph", "ask(labels)", "ask(oracle)", "fit"],
)
def test_the_option_is_named_only_by_what_has_it(call):
    with pytest.raises(InputError, match=r"2 unknown nodes.*or leave them out\. A Series"):
        call()


def test_a_campaign_of_the_server_skips_a_stale_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    (tmp_path / "labels.csv").write_text("node,label\na,x\ngone,x\ne,y\n")
    store = SqliteStore(None)
    with pytest.raises(InputError, match="node 'gone' is not in the graph"):
        create(store, "edges.csv", labels="labels.csv")
    made = create(store, GraphFiles("edges.csv", ignore_unknown=True), labels="labels.csv")
    assert open_campaign(store, made.id).classes == ("x", "y")


def test_wrong_ids_alone_are_refused():
    with pytest.raises(InputError, match="unknown nodes"):
        querist.label(EDGES, {"v": "x", "w": "y"}, ignore_unknown=True)


@pytest.mark.parametrize("verb", ["label", "ask"])
def test_a_stale_row_of_a_file(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    (tmp_path / "labels.csv").write_text("node,label\na,x\ngone,x\ne,y\n")
    words = [verb, "edges.csv", "--labels", "labels.csv", "--out", "out.csv"]
    if verb == "ask":
        (tmp_path / "truth.csv").write_text("node,label\nb,x\nc,y\nd,y\n")
        words += ["--oracle", "truth.csv"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "labels.csv, line 3: node 'gone' is not in the graph" in said and "--ignore-unknown" in said
    assert main([*words, "--ignore-unknown"]) == 0
    assert "1 row for nodes not in the graph, skipped" in capsys.readouterr().out or verb == "ask"
    assert (tmp_path / "out.csv").read_text().count("\n") == 6


def test_labels_of_a_data_set_are_counted(tmp_path):
    karate = querist.load_graph("karate")
    names = karate.nodes[:20]
    links = "".join(f"{a},{b}\n" for a, b in pairwise(names))
    (tmp_path / "edges.csv").write_text("source,target\n" + links)
    files = GraphFiles(tmp_path / "edges.csv", ignore_unknown=True)
    found = files.read_labels("karate", files.read().graph)
    assert found.notes == ("20 labelled nodes of karate", "14 labels for nodes not in the graph, skipped")

"""A campaign from files, without a command line: begun, resumed, joined by what arrived."""

from pathlib import Path

import pytest

from querist import load_graph
from querist.asking import from_files
from querist.asking.store.sqlite import only_campaign
from querist.errors import InputError
from querist.labelling import GraphFiles

EDGES = "source,target\nann,bob\nbob,cy\ncy,ann\ndan,eve\neve,fay\nfay,dan\ncy,dan\n"
LABELS = dict.fromkeys(("ann", "bob", "cy"), "music") | dict.fromkeys(("dan", "eve", "fay"), "sport")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("edges.csv").write_text(EDGES)
    Path("nodes.csv").write_text("node,hobby\n" + "".join(f"{name},{name} plays\n" for name in LABELS))
    Path("labels.csv").write_text("node,label\n" + "".join(f"{k},{v}\n" for k, v in LABELS.items()))
    Path("more.csv").write_text("source,target\ngil,fay\ngil,eve\n")
    return tmp_path


def test_it_begins_with_nothing_asked_and_the_file_can_answer(place: Path) -> None:
    campaign = from_files("edges.csv", oracle="labels.csv", budget=3)
    assert campaign.asking.asked == 0
    assert campaign.asking.classes == ("music", "sport")
    assert campaign.oracle is not None
    campaign.asking.run(campaign.oracle)
    assert campaign.asking.answers == {node: LABELS[str(node)] for node in campaign.asking.answers}
    assert campaign.asking.asked == 3


def test_it_goes_on_with_the_open_question_and_what_the_journal_has(place: Path) -> None:
    files = GraphFiles("edges.csv", nodes="nodes.csv")
    first = from_files(
        files, classes=["music", "sport"], journal="j", budget=4, strategy="margin", audit=1, seed=5
    )
    assert first.source.table.column_names == ["node", "hobby"]
    assert first.asking.question is not None
    first.asking.answer("music")
    waiting = first.asking.question
    first.asking.close()
    again = from_files(files, journal="j", budget=4)
    assert again.asking.resumed
    assert again.asking.question == waiting
    kept = again.asking.specification
    assert (kept.classes, kept.strategy, kept.audit, kept.seed) == (("music", "sport"), "margin", 1, 5)
    again.asking.close()
    with pytest.raises(InputError, match="begun with strategy 'margin', now it is 'random'"):
        from_files(files, journal="j", strategy="random")
    with only_campaign("j") as journal:
        assert journal.events, "a campaign that was refused lets go of its journal"


def test_an_open_journal_stays_open_when_the_campaign_is_refused(place: Path) -> None:
    with only_campaign("j") as journal:
        with pytest.raises(InputError, match="no classes: say what an answer may be"):
            from_files("edges.csv", journal=journal)
        assert journal.events == []
        assert from_files("edges.csv", journal=journal, classes=["a", "b"]).asking.classes == ("a", "b")


def test_what_arrived_and_what_is_known_joins_once(place: Path) -> None:
    Path("known.csv").write_text("node,label\nann,music\ngil,sport\n")
    files = GraphFiles("edges.csv", extend=["more.csv"])
    for _ in range(2):
        campaign = from_files(files, oracle="labels.csv", labels="known.csv", journal="j")
        assert campaign.asking.graph.n_nodes == 7
        assert campaign.source.graph.n_nodes == 6, "the graph that the campaign was begun with"
        assert campaign.asking.known == {"ann": "music", "gil": "sport"}
        campaign.asking.close()
    with only_campaign("j") as journal:
        kinds = [event.kind for event in journal.events]
    assert kinds == ["campaign", "growth", "known"]
    later = from_files("edges.csv", oracle="labels.csv", journal="j").asking
    assert (later.graph.n_nodes, len(later.known)) == (7, 2), "the first files are enough"
    later.close()


def test_text_stands_for_the_numbers_of_the_files(place: Path) -> None:
    Path("known.csv").write_text("node,label\nann,0\nbob,1\n")
    campaign = from_files("edges.csv", labels="known.csv", classes=["1", "0", "2"], journal="j")
    assert campaign.asking.classes == (1, 0, 2)
    campaign.asking.close()
    resumed = from_files("edges.csv", classes=["1", "0", "2"], journal="j").asking
    assert resumed.classes == (1, 0, 2), "also those of the journal"
    resumed.close()


def test_a_data_set_by_its_name_knows_its_classes_and_may_answer(place: Path) -> None:
    campaign = from_files("karate", budget=4)
    assert campaign.asking.classes == ("Mr. Hi", "Officer")
    assert (campaign.oracle, campaign.asking.known) == (None, {}), "its labels are not looked at"
    answered = from_files("karate", oracle="karate", budget=4)
    assert answered.oracle is not None
    answered.asking.run(answered.oracle)
    truth = load_graph("karate").labels
    assert answered.asking.answers == {node: truth[int(str(node))] for node in answered.asking.answers}


def test_classes_of_the_labels_that_a_table_of_nodes_holds(place: Path) -> None:
    Path("nodes.csv").write_text("node,kind\nann,music\nbob,\ncy,\ndan,sport\neve,\nfay,\n")
    asking = from_files(GraphFiles("edges.csv", nodes="nodes.csv", label_column="kind")).asking
    assert (asking.classes, asking.known) == (("music", "sport"), {})

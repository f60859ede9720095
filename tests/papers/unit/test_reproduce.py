"""Items run and written: every output, from a small item."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from querist.datasets.registry import ENTRIES
from querist.errors import DownloadError, InputError
from querist.experiment import Specification, Store
from querist.report import charts
from querist_papers.chance import with_chance
from querist_papers.index import columns, outside, shares, statements, totals
from querist_papers.item import Cell, Figure, Item, Number, Paper, Shown, Table
from querist_papers.reproduce import reproduce
from querist_papers.verdicts import Statement

PAPER = Paper("tiny", "A paper of two learners.", own=frozenset({"msg"}))


def plan(quick):
    repeats = 2 if quick else 3
    return [
        Specification(
            "online", "karate", method, representation={"rank": 8}, protocol={"curve": 5}, repeats=repeats
        )
        for method in ("msg", "cmog")
    ]


def show(results):
    rows = [(r.specification.method, Cell(r.mean("error_rate"), r.std("error_rate"))) for r in results]
    lines = {r.specification.method: (r.curve("round")[0], r.curve("error_rate")) for r in results}
    figure = Figure("curves", lambda f: charts.curves(f.add_subplot(), lines), "Error <so far>")
    numbers = [
        Number(
            *(PAPER, "table1", "karate", r.specification.method, "error_rate", 0.1),
            published_std=0.1,
            published_n=2,
        ).beside(r)
        for r in results
    ]
    return Shown(
        [Table("Karate", ("method", "error"), rows)], [figure], numbers=numbers, remarks=["A remark & more."]
    )


TINY = Item(PAPER, "table1", "Karate & friends", "Two learners <on karate>.", plan, show)


def test_every_output_is_there(tmp_path):
    outputs = reproduce([TINY], tmp_path, quick=True)
    written = {
        str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".jsonl"
    }
    assert written == {
        "README.md", "results.json", "tables/tiny_table1.md",
        "tables/tiny_table1_1.csv", "tables/tiny_table1_2.csv", "figures/tiny_table1_curves.svg",
        "figures/tiny_table1_curves.png",
    }  # fmt: skip
    rows = json.loads((tmp_path / "results.json").read_text())
    assert rows == outputs.rows()
    assert [row["system"] for row in rows] == ["own", "rival"]
    assert len(outputs.done[0].results[0].outcomes) == 2


@pytest.mark.slow
def test_more_repeats_build_on_the_quick_ones_and_rows_are_replaced(tmp_path):
    quick = reproduce([TINY], tmp_path, quick=True)
    seen = []
    full = reproduce([TINY], tmp_path, progress=lambda *told: seen.append(told))
    assert seen[-1] == (1.0, "running, 2 of 2"), "one more repeat of each"
    assert full.done[0].results[0].outcomes[:2] == quick.done[0].results[0].outcomes
    other = Item(PAPER, "table2", "Other", "", plan, lambda r: Shown(numbers=[
        Number(PAPER, "table2", "karate", "x", "error_rate", 0.1, None)]))  # fmt: skip
    reproduce([other], tmp_path, known=[TINY, other])
    rows = json.loads((tmp_path / "results.json").read_text())
    assert [row["item"] for row in rows] == ["table1", "table1", "table2"]
    reproduce([Item(PAPER, "figure1", "No numbers", "", plan, lambda r: Shown())], tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == rows


# -- the index ---------------------------------------------------------------------


OTHER = Item(PAPER, "figure1", "A figure | of two", "", plan, lambda r: Shown())
GONE = Item(PAPER, "gone", "Gone", "", lambda quick: [Specification("online", "gone", "msg")], show)


KNOWN = (TINY, OTHER, GONE)


def table_row(folder, name):
    lines = (folder / "README.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"| [{name}]"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.slow
def test_the_index_counts_verdicts_and_lists_what_is_not_there(tmp_path):
    reproduce([TINY], tmp_path, quick=True, known=KNOWN)
    reproduce([OTHER], tmp_path, known=KNOWN)
    counted = ["1", "", "", "1", ""]
    assert table_row(tmp_path, "table1")[1:] == ["Karate & friends (quick: fewer repeats)", *counted]
    assert r"[figure1](tables/tiny_figure1.md) | A figure \| of two |  |  |  |" in index_of(tmp_path)
    rows = (tmp_path / "results.json").read_text()
    reproduce([adding("figure0")], tmp_path, known=KNOWN)
    reproduce([TINY], tmp_path, quick=True, known=KNOWN)
    there = json.loads((tmp_path / "results.json").read_text())
    assert [row["item"] for row in there] == ["table1", "table1", "figure0"], "run again, in the same place"
    assert there[:2] == json.loads(rows)
    reproduce([TINY], tmp_path, known=KNOWN)
    assert table_row(tmp_path, "table1") == ["[table1](tables/tiny_table1.md)", "Karate & friends", *counted]
    page = index_of(tmp_path)
    assert "## tiny\n\nA paper of two learners.\n" in page
    (missing,) = (line for line in page.splitlines() if line.startswith("Not in this folder: "))
    assert missing == "Not in this folder: tiny gone."
    for linked in re.findall(r"\]\(([^)]+)\)", page):
        assert (tmp_path / linked).is_file()


def row(paper="p", system="own", verdict="reached", **fields):
    given = {"measure": "accuracy", "published": 0.8, "tolerance": 0.01, "difference": 0.0}
    given |= dict.fromkeys(("majority", "random", "without")) | {"item": "i", "method": "m 20%", "others": {}}
    return {"paper": paper, "system": system, "verdict": verdict, "post_hoc": False, **given, **fields}


def test_own_systems_come_first_and_what_a_constant_would_earn_is_told():
    """Constant .795 and .9 are near and beyond .8, .5 is neither; of an error rate, less is more."""
    rows = [
        row(majority=0.795, random=0.5, without=0.79, difference=-0.01),
        row(majority=0.9, random=0.5, post_hoc=True, others={"held out": 0.7}),
        row(verdict="better", majority=0.5, random=0.5, without=0.7, difference=0.1),
        row(verdict="not reached", measure="queries", published=100),
        row("q", verdict="not reached", measure="error_rate", published=0.2, majority=0.19, random=0.5),
        Statement(PAPER, "i", "Theorem 1", "it rains", [True] + [False] * 8, "it may rain").as_dict()
        | {"paper": "p"},
        row(system="rival", verdict="differs"),
        row(system="", verdict="by definition"),
        row(system="", verdict="differs"),
        row(system="", verdict="no counterpart"),
    ]
    own, theorems, rivals = totals(rows)
    assert [t.title for t in (own, theorems, rivals)] == ["Own systems", "Theorems", "Rivals"]
    assert theorems.rows == [["p", 0, 1, 0]]
    assert own.rows == [
        ["p", "1 of 3", "1 of 1", 1, 1, 1, 1, "2 of 3", "0 of 3", "1 of 2"],
        ["q", "0 of 1", "0 of 0", 0, 1, 0, 0, "1 of 1", "0 of 1", "0 of 0"],
        ["all", "1 of 4", "1 of 1", 1, 2, 1, 1, "3 of 4", "0 of 4", "1 of 2"],
    ]
    assert [line[3:] for line in columns(rows, "p")[0].rows] == [[3, 1, 1], [1, 0, 0]]
    sentence, fair = shares(rows)
    assert fair.startswith("Of the latter, 0 of 1 are reached if")
    assert sentence.startswith("Numbers of the papers' own systems that are reached: 1 of 4 with settings")
    assert sentence.index("declared beforehand (25%)") < sentence.index("1 of 1 with settings or readings")
    (table,) = statements(rows, "p")
    assert table.rows == [["Theorem 1", "it rains", "1 of 9", "false as printed", "it may rain"]]
    assert statements(rows, "p", linked=True)[0].rows[0][0] == "[Theorem 1](tables/p_i.md)"
    assert rivals.rows == [["p", 0, 1, 0]]
    said = "Outside these totals: 1 no counterpart, 1 by definition, 1 counts of the data that differ."
    assert outside(rows) == said


def test_what_learns_nothing_is_counted_from_the_labels(tmp_path):
    """Karate has 17 members on each side."""
    outputs = reproduce([TINY], tmp_path, quick=True)
    own, rival = outputs.rows()
    assert (own["majority"], own["random"], rival["majority"]) == (0.5, 0.5, None)
    apart = replace(PAPER, one_vs_rest=True)
    digits = Specification("online", "digits", "msg", repeats=1)
    numbers = [
        Number(paper, "i", "d", "msg", measure, 0.1, 0.1, specification=digits)
        for paper, measure in ((PAPER, "accuracy"), (PAPER, "error_rate"), (apart, "error_rate"))
    ]
    shares = np.bincount(load_digits().target) / 1797
    found = [(n.majority, n.random) for n in with_chance(numbers, Store(tmp_path / "results"))]
    expected = [(shares.max(), 0.1), (1 - shares.max(), 0.9), (0.1, 0.5)]
    assert np.allclose(found, expected)


def index_of(folder):
    return (folder / "README.md").read_text()


def test_the_index_has_room_for_notes_and_leaves_another_readme_alone(tmp_path):
    (tmp_path / "NOTES.md").write_text("The machine was busy.\n")
    reproduce([TINY], tmp_path, quick=True)
    assert "\n\nThe machine was busy.\n\n" in index_of(tmp_path)
    (tmp_path / "README.md").write_text("# My project\n")
    reproduce([TINY], tmp_path, quick=True)
    assert index_of(tmp_path) == "# My project\n"


def test_what_was_made_in_a_hurry_says_so(tmp_path):
    hurried, repeats = "Made in a hurry (--quick)", "Seed 0; 2 repeats; 2 specifications."
    reproduce([TINY], tmp_path, quick=True)
    page = tmp_path / "tables" / "tiny_table1.md"
    for said in (hurried, repeats, "`querist reproduce tiny table1 --quick`"):
        assert said in page.read_text()
    reproduce([TINY], tmp_path)
    assert hurried not in page.read_text()
    assert repeats.replace("2 rep", "3 rep") in page.read_text()


def test_rows_that_cannot_be_added_to_are_refused_before_anything_runs(tmp_path):
    for content in ('[{"paper": "ti', "{}x", '[{"name": "mine"}]', "[1]"):
        (tmp_path / "results.json").write_text(content)
        with pytest.raises(InputError, match=r"results\.json: not the rows"):
            reproduce([TINY], tmp_path)
    number = Number(PAPER, "table2", "karate", "msg", "accuracy", 0.9, None)
    for each in (number, Statement(PAPER, "table2", "Theorem 1", "it rains")):
        old = each.as_dict()
        old.popitem()  # as an earlier version wrote it
        (tmp_path / "results.json").write_text(json.dumps([old]))
        with pytest.raises(InputError, match=r"remove it, or take another folder"):
            reproduce([TINY], tmp_path)
    assert not (tmp_path / "results").exists()


def adding(name):
    """An item of its own, with a number."""
    return Item(PAPER, name, name, "", plan, lambda r: Shown(numbers=[
        Number(PAPER, name, "karate", "x", "error_rate", 0.1, None)]))  # fmt: skip


@pytest.mark.slow
def test_items_written_at_the_same_time_all_stay(tmp_path):
    reproduce([TINY], tmp_path, quick=True)
    names = [f"table{i}" for i in range(2, 8)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: reproduce([adding(name)], tmp_path, quick=True), names))
    rows = json.loads((tmp_path / "results.json").read_text())
    assert sorted({row["item"] for row in rows}) == ["table1", *names]


# -- what is not to be had -----------------------------------------------------------


def test_items_without_their_data_are_left_out_but_not_all_of_them(tmp_path, monkeypatch):
    monkeypatch.delenv("QUERIST_DATA", raising=False)
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("querist.datasets.resolve.fetch", fail)
    # A name of its own: a graph that another test has loaded stays in the process, and needs no data.
    monkeypatch.setitem(ENTRIES, "gone", ENTRIES["cora"])
    outputs = reproduce([TINY, GONE], tmp_path / "out", quick=True, known=KNOWN)
    assert list(outputs.left_out) == ["tiny gone"]
    assert "Left out, tiny gone: " in index_of(tmp_path / "out")
    assert "no network" in index_of(tmp_path / "out")
    with pytest.raises(DownloadError):
        reproduce([GONE], tmp_path / "out")


def fail(*args, **options):
    raise DownloadError("no network")


def test_a_plan_that_cannot_run_is_a_mistake_with_a_name(tmp_path):
    wrong = Item(PAPER, "wrong", "", "", lambda quick: [Specification("online", "karate", "msgg")], show)
    with pytest.raises(InputError, match="tiny wrong: unknown method 'msgg'"):
        reproduce([wrong], tmp_path)
    assert not (tmp_path / "results").exists(), "nothing was run"

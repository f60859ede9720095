"""Items run and written: every output, from a small item."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from querist import papers
from querist.errors import DownloadError, InputError
from querist.experiment import Cell, Figure, Item, Number, Shown, Specification, Table
from querist.experiment.reproduce import reproduce
from querist.report import charts

KEYS = {
    "paper", "item", "dataset", "method", "measure", "published", "reached", "std", "difference", "verdict",
    "post_hoc",
}  # fmt: skip


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
            "tiny",
            "table1",
            "karate",
            r.specification.method,
            "error_rate",
            0.1,
            r.mean("error_rate"),
            0.0,
            0.05,
        )
        for r in results
    ]
    return Shown([Table("Karate", ("method", "error"), rows)], [figure], numbers, ["A remark & more."])


TINY = Item("tiny", "table1", "Karate & friends", "Two learners <on karate>.", plan, show)


def test_every_output_is_there(tmp_path):
    outputs = reproduce([TINY], tmp_path, quick=True)
    written = {
        str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".jsonl"
    }
    assert written == {
        "README.md", "results.json", "tiny.html", "tables/tiny_table1.md", "tables/tiny_table1.tex",
        "tables/tiny_table1.csv", "figures/tiny_table1_curves.svg", "figures/tiny_table1_curves.png",
    }  # fmt: skip
    rows = json.loads((tmp_path / "results.json").read_text())
    assert rows == outputs.rows()
    assert all(set(row) == KEYS for row in rows)
    assert len(outputs.done[0].results[0].outcomes) == 2


def test_the_page_stands_alone(tmp_path):
    reproduce([TINY], tmp_path, quick=True)
    page = (tmp_path / "tiny.html").read_text()
    for said in ("Karate &amp; friends", "Two learners &lt;on karate&gt;.", "Seed 0",
                 "querist reproduce tiny table1 --quick", "A remark &amp; more.", "<svg",
                 "Error &lt;so far&gt;", "numpy"):  # fmt: skip
        assert said in page
    assert not re.search(r'(?:src|href)="(?!data:|#)', page), "nothing is loaded from anywhere"
    assert "<script" not in page


@pytest.mark.slow
def test_more_repeats_build_on_the_quick_ones_and_rows_are_replaced(tmp_path):
    quick = reproduce([TINY], tmp_path, quick=True)
    seen = []
    full = reproduce([TINY], tmp_path, progress=lambda *told: seen.append(told))
    assert seen[-1] == ("run", 2, 2), "one more repeat of each"
    assert full.done[0].results[0].outcomes[:2] == quick.done[0].results[0].outcomes
    other = Item("tiny", "table2", "Other", "", plan, lambda r: Shown(numbers=[
        Number("tiny", "table2", "karate", "x", "error_rate", 0.1, None)]))  # fmt: skip
    reproduce([other], tmp_path, beside=[TINY, other])
    page = (tmp_path / "tiny.html").read_text()
    assert page.index("Karate &amp; friends") < page.index("table2: Other"), "what is there is on the page"
    rows = json.loads((tmp_path / "results.json").read_text())
    assert [row["item"] for row in rows] == ["table1", "table1", "table2"]
    reproduce([Item("tiny", "figure1", "No numbers", "", plan, lambda r: Shown())], tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == rows
    reproduce([TINY], tmp_path, beside=[TINY, other])
    assert (tmp_path / "tiny.html").read_text() == page, "in the paper's order, whatever was run last"


# -- the index ---------------------------------------------------------------------


OTHER = Item("tiny", "figure1", "A figure | of two", "", plan, lambda r: Shown())
GONE = Item("tiny", "gone", "Gone", "", lambda quick: [Specification("online", "cora", "msg")], show)


@pytest.fixture
def known(monkeypatch):
    """A paper beside the five."""
    of = papers.items_of
    monkeypatch.setattr(papers, "PAPERS", (*papers.PAPERS, "tiny"))
    monkeypatch.setattr(papers, "items_of", lambda p: (TINY, OTHER, GONE) if p == "tiny" else of(p))


def table_row(folder, name):
    lines = (folder / "README.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"| [{name}]"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_index_counts_verdicts_and_lists_what_is_not_there(tmp_path, known):
    reproduce([TINY], tmp_path, quick=True)
    reproduce([OTHER], tmp_path)
    assert table_row(tmp_path, "table1")[1:] == ["Karate & friends (quick: fewer repeats)", "1", "0", "1"]
    assert r"[figure1](tables/tiny_figure1.md) | A figure \| of two |  |  |  |" in index_of(tmp_path)
    rows = (tmp_path / "results.json").read_text()
    reproduce([adding("figure0")], tmp_path)
    reproduce([TINY], tmp_path, quick=True)
    there = json.loads((tmp_path / "results.json").read_text())
    assert [row["item"] for row in there] == ["table1", "table1", "figure0"], "run again, in the same place"
    assert there[:2] == json.loads(rows)
    reproduce([TINY], tmp_path)
    assert table_row(tmp_path, "table1") == [
        "[table1](tables/tiny_table1.md)",
        "Karate & friends",
        "1",
        "0",
        "1",
    ]
    page = index_of(tmp_path)
    assert "1 reached, 0 better, 1 not reached" in page
    (missing,) = (line for line in page.splitlines() if line.startswith("Not in this folder: "))
    assert {"sslgc13 table2", "mrgm15 figure3"} <= set(missing.removesuffix(".")[20:].split(", "))
    assert "tiny gone" in missing
    assert "tiny table1" not in missing
    for linked in re.findall(r"\]\(([^)]+)\)", page):
        assert (tmp_path / linked).is_file()


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
    for page in ((tmp_path / "tables" / "tiny_table1.md"), (tmp_path / "tiny.html")):
        assert hurried in page.read_text()
        assert repeats in page.read_text()
    assert "`querist reproduce tiny table1 --quick`" in (tmp_path / "tables" / "tiny_table1.md").read_text()
    reproduce([TINY], tmp_path)
    for page in ((tmp_path / "tables" / "tiny_table1.md"), (tmp_path / "tiny.html")):
        assert hurried not in page.read_text()
        assert repeats.replace("2 rep", "3 rep") in page.read_text()


def test_rows_that_cannot_be_added_to_are_refused_before_anything_runs(tmp_path):
    for content in ('[{"paper": "ti', "{}x", '[{"name": "mine"}]', "[1]"):
        (tmp_path / "results.json").write_text(content)
        with pytest.raises(InputError, match=r"results\.json: not the rows"):
            reproduce([TINY], tmp_path)
    assert not (tmp_path / "results").exists()


def adding(name):
    """An item of its own, with a number."""
    return Item("tiny", name, name, "", plan, lambda r: Shown(numbers=[
        Number("tiny", name, "karate", "x", "error_rate", 0.1, None)]))  # fmt: skip


@pytest.mark.slow
def test_items_written_at_the_same_time_all_stay(tmp_path):
    reproduce([TINY], tmp_path, quick=True)
    names = [f"table{i}" for i in range(2, 8)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: reproduce([adding(name)], tmp_path, quick=True), names))
    rows = json.loads((tmp_path / "results.json").read_text())
    assert sorted({row["item"] for row in rows}) == ["table1", *names]


# -- what is not to be had -----------------------------------------------------------


def test_items_without_their_data_are_left_out_but_not_all_of_them(tmp_path, monkeypatch, known):
    monkeypatch.delenv("QUERIST_DATA", raising=False)
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("querist.datasets.resolve.fetch", fail)
    outputs = reproduce([TINY, GONE], tmp_path / "out", quick=True)
    assert list(outputs.left_out) == ["tiny gone"]
    assert "Left out: tiny gone" in (tmp_path / "out" / "tiny.html").read_text()
    assert "no network" in index_of(tmp_path / "out")
    with pytest.raises(DownloadError):
        reproduce([GONE], tmp_path / "out")


def fail(*args, **options):
    raise DownloadError("no network")


def test_a_plan_that_cannot_run_is_a_mistake_with_a_name(tmp_path):
    wrong = Item("tiny", "wrong", "", "", lambda quick: [Specification("online", "karate", "msgg")], show)
    with pytest.raises(InputError, match="tiny wrong: unknown method 'msgg'"):
        reproduce([wrong], tmp_path)
    assert not (tmp_path / "results").exists(), "nothing was run"

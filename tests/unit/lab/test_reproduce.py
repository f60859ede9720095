"""Items run and written: every output, from a small item."""

import json
import re

import pytest

from querist.errors import DownloadError, InputError
from querist.lab import Cell, Figure, Item, Number, Shown, Specification, Table, plots
from querist.lab.reproduce import reproduce

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
    figure = Figure("curves", lambda f: plots.curves(f.add_subplot(), lines), "Error <so far>")
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
        "results.json", "tiny.html", "tables/tiny_table1.md", "tables/tiny_table1.tex",
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


def absent(quick):
    return [Specification("online", "cora", "msg")]


def test_items_without_their_data_are_left_out_but_not_all_of_them(tmp_path, monkeypatch):
    monkeypatch.delenv("QUERIST_DATA", raising=False)
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("querist.datasets.resolve.fetch", fail)
    gone = Item("tiny", "gone", "Gone", "", absent, show)
    outputs = reproduce([TINY, gone], tmp_path / "out", quick=True)
    assert list(outputs.left_out) == ["tiny gone"]
    assert "Left out: tiny gone" in (tmp_path / "out" / "tiny.html").read_text()
    with pytest.raises(DownloadError):
        reproduce([gone], tmp_path / "out")


def fail(*args, **options):
    raise DownloadError("no network")


def test_a_plan_that_cannot_run_is_a_mistake_with_a_name(tmp_path):
    wrong = Item("tiny", "wrong", "", "", lambda quick: [Specification("online", "karate", "msgg")], show)
    with pytest.raises(InputError, match="tiny wrong: unknown method 'msgg'"):
        reproduce([wrong], tmp_path)
    assert not (tmp_path / "results").exists(), "nothing was run"

"""`querist reproduce`: lists, refusals, and one small item from end to end."""

import pytest

import querist_papers as papers
from querist_papers import PAPERS


@pytest.fixture
def tiny(monkeypatch):
    """One paper with one small item, in the place of the five."""
    from querist.experiment import Specification, Table
    from querist_papers.item import Item, Number, Paper, Shown

    paper = Paper("tiny", own=frozenset({"msg"}))

    def show(results):
        (r,) = results
        number = Number(
            *(paper, "table1", "karate", "msg", "error_rate", 0.13), published_std=0.03, post_hoc=True
        ).beside(r)
        return Shown(
            [Table("T", ("", "error"), [("msg", r.mean("error_rate"))])],
            numbers=[number],
            remarks=["A remark."],
        )

    def plan(quick):
        return [
            Specification("online", "karate", "msg", representation={"rank": 8}, repeats=2 if quick else 5)
        ]

    item = Item(paper, "table1", "A small table", "By hand.", plan, show)
    monkeypatch.setattr(papers, "PAPERS", ("tiny",))
    monkeypatch.setattr(papers, "items_of", lambda paper: (item,))
    return item


def test_every_item_is_listed_with_a_title(querist):
    rows = querist("reproduce", "--json").json
    assert {row["paper"] for row in rows} == set(PAPERS)
    assert len({(row["paper"], row["item"]) for row in rows}) == len(rows)
    assert all(row["title"] for row in rows)
    assert "table2" in querist("reproduce").out


def test_an_item_from_end_to_end(querist, tiny, tmp_path):
    command = ("reproduce", "tiny", "table1", "--out", str(tmp_path), "--processes", "1")
    shown = querist(*command)
    assert shown.code == 0
    for said in ("tiny table1: A small table", "A remark.", "Own systems", "0 of 1", "0 no counterpart"):
        assert said in shown.out
    (row,) = querist(*command, "--json").json
    assert (row["verdict"], row["published"]) == ("reached", 0.13)
    assert querist(*command[:3], *command[2:], "--json").json == [row], "named twice, done once"
    assert querist("reproduce", "--all", "--quick", "--out", str(tmp_path), "--json").json != [row]


def test_a_difference_from_a_finished_run_is_an_exit_code(querist, tiny, tmp_path):
    command = ("reproduce", "tiny", "--processes", "1", "--out")
    shown = querist(*command, str(tmp_path / "a"))
    assert "; it took 0." in shown.out
    same = querist(*command, str(tmp_path / "b"), "--compare", str(tmp_path / "a"))
    assert (same.code, "0 cells differ" in same.err) == (0, True)
    quick = querist(*command, str(tmp_path / "c"), "--quick", "--compare", str(tmp_path / "a"))
    assert quick.code == 1
    assert "results.json, tiny table1, karate, msg, error_rate, reached: " in quick.err
    shown = querist(*command, str(tmp_path / "d"), "--compare", str(tmp_path))
    assert (shown.code, (tmp_path / "d").exists()) == (2, False)
    assert "has no results.json" in shown.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sslgc31"], "unknown paper 'sslgc31'; did you mean 'sslgc13'?"),
        (["sslgc13", "tabel2"], "unknown item of sslgc13 'tabel2'; did you mean 'table2'?"),
        (["sslgc13", "--all"], "--all and sslgc13; give one of the two"),
    ],
)
def test_refusals(querist, arguments, said):
    shown = querist("reproduce", *arguments)
    assert shown.code == 2
    assert said in shown.err

"""The report: prose whose numbers come from the folder, and from nowhere else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from querist.experiment import Item, Paper, Shown
from querist.experiment.account import Lookup, account, rendered
from querist.experiment.reproduce import reproduce
from querist.papers import all_items

ROWS = [
    {
        **{"paper": "tiny", "item": "table1", "dataset": "Cora", "method": method, "system": system},
        **{"measure": measure, "published": 0.2, "reached": reached, "verdict": verdict, "post_hoc": False},
        **{"tolerance": 0.005, "majority": 0.7, "random": None},
    }
    for method, system, measure, reached, verdict in (
        ("MSG", "own", "error_rate", 0.1944, "reached"),
        ("MSG 5%", "own", "accuracy", 0.19, "not reached"),
        ("GPA", "rival", "error_rate", 0.5, "differs"),
    )
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "results.json").write_text(json.dumps(ROWS))
    (tmp_path / "tables" / "tiny_table1_2.csv").write_text("data,method,error\nCora,random,0.2267\n")
    (tmp_path / "tables" / "tiny_table1.md").write_text("# tiny\n\nMSG wins on Cora.\n")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "tiny_table1_a.svg").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('ours("table1", "Cora", "MSG", "error_rate")', "19.4 %"),
        ('published("table1", "Cora", "MSG", "error_rate")', "20.0 %"),
        ('constant("table1", "Cora", "MSG", "error_rate")', "70.0 %"),
        ('ours("table1", "Cora", "MSG", "queries")', "not run"),
        ('ours("table2", "Cora", "MSG", "error_rate")', "not run"),
        ("count()", "2"),
        ('count("not reached", "table1")', "1"),
        ('count("not reached", "table1", method="MSG 5")', "1"),
        ('count("differs", system="rival")', "1"),
        ('count(item="table2")', "not run"),
        ('cell("table1", "error", {"data": "Cora", "method": "random"}, 1, 100)', "22.7"),
        ('cell("table1", "error", {"data": "Cora", "method": "none"})', "not run"),
        ('said("table1", "MSG wins")', "MSG wins on Cora."),
        ('said("table1", "GPA wins")', "(GPA wins not run)"),
        ('figure("table1_a", "A figure")', "![A figure](figures/tiny_table1_a.svg)"),
        ('figure("table1_b", "A figure")', "(figures/tiny_table1_b.svg: not run)"),
        ("missed()", "Not reached, ours (published): table1, Cora, MSG 5%, accuracy 19.0 % (20.0 %)."),
    ],
)
def test_a_number_is_looked_up_or_said_not_to_be_there(folder: Path, asked: str, said: str) -> None:
    prose = folder / "prose.md"
    prose.write_text(f"It is\n{{{{ {asked} }}}}\n")
    assert rendered(prose, Lookup(folder, "tiny", ROWS)) == f"It is {said}"


def test_a_name_that_nobody_knows_is_an_error(folder: Path) -> None:
    prose = folder / "prose.md"
    prose.write_text("{{ theirs() }}")
    with pytest.raises(UndefinedError):
        rendered(prose, Lookup(folder, "tiny", ROWS))


def test_the_report_is_written_where_every_item_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "prose.md").write_text("All of {{ count() }}.")
    paper = Paper("tiny", "A paper.", prose=tmp_path / "prose.md")
    first = Item(paper, "table1", "", "", lambda quick: [], lambda results: Shown())
    items = [first, replace(first, name="table2")]
    reproduce(items[:1], tmp_path / "out", known=items)
    assert not (tmp_path / "out" / "REPORT.md").exists()
    reproduce(items, tmp_path / "out", known=items)
    assert "## tiny\n\nA paper.\n\nAll of not run.\n" in (tmp_path / "out" / "REPORT.md").read_text()


def test_the_prose_of_every_paper_can_be_rendered(tmp_path: Path) -> None:
    """Typed-in decimals would not follow the results: there are none but of settings."""
    text = account(tmp_path, all_items())
    assert all(f"\n## {item.paper.name}\n" in text for item in all_items())
    assert "not run" in text

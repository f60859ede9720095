"""The report: prose whose numbers come from the folder, and from nowhere else."""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

from querist import InputError
from querist.experiment import Figure, Outcome, Result, Specification
from querist.experiment.tasks import task_of
from querist_papers import all_items, items_of
from querist_papers.account import Lookup, rendered
from querist_papers.compare import differences, refuse_without_results
from querist_papers.item import Item, Paper, Shown
from querist_papers.reproduce import reproduce
from querist_papers.verdicts import Statement

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
] + [Statement(Paper("tiny"), "lemma", "Lemma 2", "it rains", [True] * 3 + [False] * 997).as_dict()]


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
        ('count("false as printed", system="theorem")', "1"),
        ('broken("lemma", "Lemma 2")', "3 of 1,000"),
        ('broken("lemma", "Lemma 3")', "not run"),
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


class Anything(dict[str, Any]):
    """A value for every name, the same one each time."""

    def __init__(self, known: Mapping[str, Any], make: Callable[[str], Any]) -> None:
        super().__init__(known)
        self.make = make

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        self[name] = self.make(name)
        return self[name]


def made_up(specs: Sequence[Specification], *_: Any, **__: Any) -> list[Result]:
    """Results of these specifications: every number and curve, and not from any run."""
    found = []
    for spec in specs:
        rng = np.random.default_rng(int(spec.key, 16) % 2**32)
        bound = {"what": "mistakes", "applies": True, "respected": True, "observed": 3.0, "value": 5.0}

        def curve(name: str, rng: np.random.Generator = rng) -> list[float]:
            return np.sort(rng.random(30 if name == "objective" else 60)).tolist()

        def number(name: str, rng: np.random.Generator = rng) -> float:
            return float(rng.random())

        known = {name: number(name) for name in getattr(task_of(spec.task), "measures", ())}
        outcomes = [
            Outcome(Anything(known, number), Anything({}, curve), {"bounds": [bound]})
            for _ in range(spec.repeats)
        ]
        found.append(Result(spec, spec.choices[0], tuple(outcomes)))
    return found


@pytest.fixture(scope="module")
def every_item(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every item by the full protocol, of made-up runs and with empty figures."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("querist_papers.reproduce.check_all", lambda *_: None)
        patch.setattr("querist_papers.reproduce.run", made_up)
        patch.setattr("querist_papers.chance.run", made_up)
        for kind in ("svg", "png"):
            patch.setattr(Figure, kind, b"")
        reproduce(all_items(), folder)
    return folder


MOST_WORDS = 2200
"""About five pages."""

FOR_MISSES = 150
"""Of these, what the numbers that are not reached may take: of made-up runs nearly all are missed."""


@pytest.mark.slow
def test_the_report_finds_every_number_and_fits_five_pages(every_item: Path) -> None:
    text = (every_item / "REPORT.md").read_text()
    assert all(f"\n## {item.paper.name}\n" in text for item in all_items())
    assert "not run" not in text
    lines = [line for line in text.splitlines() if not line.startswith("Not reached, ours")]
    words = re.findall(r"\w[^\s|]*", "\n".join(lines))
    assert len(words) <= MOST_WORDS - FOR_MISSES


def test_every_number_has_a_reading_and_every_own_one_an_ablation(every_item: Path) -> None:
    rows = json.loads((every_item / "results.json").read_text())
    numbers = [row for row in rows if row["system"] != "theorem"]
    assert {row["reading"] for row in numbers} & {"", "as printed"} == set()
    missing = [row for row in numbers if row["system"] == "own" and row["without"] is None]
    assert {row["paper"] for row in missing} == {"pounce08"}, "a bound, which is not run"


def test_the_index_leads_to_every_theorem_table_and_figure(every_item: Path) -> None:
    index = (every_item / "README.md").read_text()
    for row in json.loads((every_item / "results.json").read_text()):
        if row["system"] == "theorem":
            assert f"| [{row['statement']}](tables/{row['paper']}_{row['item']}.md) |" in index
    for linked in re.findall(r"\]\(([^)]+)\)", index):
        assert (every_item / linked).is_file()
    assert "| table2 | BLS, projection | accuracy |" in index


def test_a_fresh_run_is_compared_but_for_seconds(every_item: Path, tmp_path: Path) -> None:
    fresh, items = tmp_path / "fresh", items_of("sslgc13")
    shutil.copytree(every_item, fresh, ignore=shutil.ignore_patterns("figures"))
    assert differences(fresh, every_item, items) == []
    rows = json.loads((fresh / "results.json").read_text())
    timed = next(row for row in rows if row["measure"] == "seconds")
    timed["reached"] = 7.0
    rows[0]["published"] += 1
    (fresh / "results.json").write_text(json.dumps(rows))
    path = fresh / "tables" / "sslgc13_figure1.csv"
    frame = pd.read_csv(path)
    frame.loc[0, "SSLGC seconds"], frame.loc[1, "SSLGC error"] = 7.0, 0.7
    frame.to_csv(path, index=False)
    (first, second) = differences(fresh, every_item, items)
    assert first.startswith("results.json, sslgc13 table1, Coauthor, nodes, published: 1712")
    assert second.startswith("sslgc13_figure1.csv, line 3, column 10 (SSLGC error): 0.7 in")
    with pytest.raises(InputError, match=r"no results\.json"):
        refuse_without_results(tmp_path)

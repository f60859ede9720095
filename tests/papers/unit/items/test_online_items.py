"""The items of sslgc13 and msg16: what they plan, and what they show of results that are made up."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from querist.experiment import CONTROL, Outcome, Result, Specification, Store, run
from querist.experiment.tasks.online import OnlineTask
from querist_papers import item_of, items_of
from querist_papers.graphs import STAND_IN
from querist_papers.item import Item, Number
from querist_papers.msg16 import published as msg16
from querist_papers.sslgc13 import published as sslgc13
from querist_papers.sslgc13.tasks import AskingWithControls, Clock
from querist_papers.sslgc13.theory import RegretRuns
from querist_papers.tasks import Counts

ITEMS = [i for p in ("sslgc13", "msg16") for i in items_of(p) if not i.name.startswith("theorem")]
NAMES = [item.label for item in ITEMS]


def made_up(spec: Specification, value: float = 0.25) -> Result:
    """A result of this specification: plausible, and not from any run."""
    rng = np.random.default_rng(int(spec.key, 16) % 2**32)
    points = int(spec.protocol.get("curve", 0)) or 1
    measures = ("error_rate", "queries", "seconds", "rounds")
    prefixes = ("", CONTROL, "perceptron_")
    outcomes = []
    for _ in range(spec.repeats):
        numbers = {p + m: value + 0.01 * rng.random() for p in prefixes for m in measures}
        numbers |= dict.fromkeys(Counts.measures, 10.0) | {"rounds": 1.0}
        curve = np.sort(rng.random(points)).tolist()
        curves = dict.fromkeys(("round", "error_rate", "queries", "seconds"), curve)
        outcomes.append(Outcome(numbers, curves))
    return Result(spec, spec.choices[0], tuple(outcomes))


@pytest.mark.parametrize("item", ITEMS, ids=NAMES)
def test_a_hurried_plan_is_a_part_of_the_full_one(item: Item) -> None:
    quick, full = item.plan(True), item.plan(False)
    assert {spec.key for spec in quick} <= {spec.key for spec in full}
    assert len({spec.key for spec in full}) == len(full)
    assert sum(spec.repeats for spec in quick) * 4 <= sum(spec.repeats for spec in full) or len(full) == 4
    assert all(spec.repeats == 20 for spec in full if spec.task != "papers.counts")


@pytest.mark.parametrize(("paper", "name"), [("sslgc13", "figure1"), ("msg16", "figure3")])
def test_large_ranks_are_left_to_the_full_plan(paper: str, name: str) -> None:
    item = item_of(paper, name)
    largest = [max(spec.representation["rank"] for spec in item.plan(quick)) for quick in (True, False)]
    assert largest == [250, 1000]


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize("item", ITEMS, ids=NAMES)
def test_it_can_be_shown(item: Item, quick: bool) -> None:
    found = item.show([made_up(spec) for spec in item.plan(quick)])
    assert found.tables
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert "nan" not in table.markdown()
    assert bool(found.figures) == item.name.startswith("figure")
    if quick:
        for figure in found.figures:
            assert figure.png.startswith(b"\x89PNG")


def numbers_of(paper: str, name: str, value: float = 0.25) -> list[Number]:
    item = item_of(paper, name)
    return list(item.show([made_up(spec, value) for spec in item.plan(True)]).numbers)


@pytest.mark.parametrize(
    ("paper", "name", "count", "measures"),
    [("sslgc13", "table1", 17, 4), ("sslgc13", "table2", 36, 3), ("msg16", "table1", 48, 2)],
)
def test_every_published_number_has_a_row(paper: str, name: str, count: int, measures: int) -> None:
    found = numbers_of(paper, name)
    assert len(found) == count
    assert len({(n.dataset, n.method, n.measure) for n in found}) == count
    assert Counter(n.measure for n in found).most_common(1)[0][1] == count // measures
    for number in found:
        assert (number.reached is None) == (number.dataset == STAND_IN)


def test_published_numbers_are_typed_as_printed() -> None:
    """Sums of every column, by hand from the papers' tables."""
    error, queries, seconds = np.array([[c[0] for c in line] for line in sslgc13.TABLE_2.values()]).T
    assert error.sum() == pytest.approx(2.3363, abs=1e-9)
    assert queries.sum() == pytest.approx(2 * (1711 + 2485 + 17046 + 19717) + 11552.88, abs=1e-6)
    assert seconds.sum() == pytest.approx(5.3050, abs=1e-9)
    error, queries = np.array([[c[0] for c in line] for line in msg16.TABLE_1.values()]).T
    assert error.sum() == pytest.approx(8.6192, abs=1e-9)
    assert queries.sum() == pytest.approx(182875.64, abs=1e-6)


def test_verdicts_follow_the_numbers() -> None:
    cora = [n for n in numbers_of("sslgc13", "table2", 0.0725) if (n.dataset, n.method) == ("Cora", "OLLGC")]
    near = {n.measure: n.verdict for n in cora}
    far = {n.verdict for n in numbers_of("sslgc13", "table2", 0.5) if n.measure == "error_rate"}
    assert near == {"error_rate": "reached", "queries": "not reached", "seconds": "no counterpart"}
    assert far == {"not reached", "differs", "no counterpart"}


def test_variances_of_msg16_are_taken_as_such() -> None:
    (msg,) = (
        n
        for n in numbers_of("msg16", "table1")
        if (n.dataset, n.method, n.measure) == ("Coauthor", "MSG", "error_rate")
    )
    assert (msg.published_std, msg.published_n) == (pytest.approx(6.63e-5**0.5), 20)
    assert msg.own
    assert not any(n.own for n in numbers_of("msg16", "table1") if n.method in ("GPA", "DGS", "BBQ-eps"))


def test_what_is_post_hoc_is_said() -> None:
    chosen = {(n.dataset, n.method) for n in numbers_of("sslgc13", "table2") if not n.post_hoc}
    assert chosen == {("Cora", "OLLGC"), (STAND_IN, "OLLGC")}
    assert all(n.post_hoc for n in numbers_of("msg16", "table1"))


# -- the tasks -------------------------------------------------------------------


def karate(task: str, method: str = "sslgc", **protocol: object) -> Specification:
    place = {"rank": 8, "component": "largest"}
    return Specification(task, "karate", method, representation=place, protocol=protocol)


@pytest.mark.parametrize("method", ["sslgc", "msg", "gpa"])
def test_the_clock_changes_nothing(method: str) -> None:
    a, b = (
        task.run(spec, task.prepare(spec), {}, 3, 2)
        for task in (Clock(), OnlineTask())
        for spec in [karate(task.name, method, curve=7)]
    )
    for name in ("error_rate", "queries"):
        assert a.numbers[name] == pytest.approx(b.numbers[name], abs=1e-12)
        assert a.curves[name] == pytest.approx(b.curves[name], abs=1e-12)
    assert a.curves["round"] == b.curves["round"]
    assert np.all(np.diff(a.curves["seconds"]) >= 0)
    assert a.curves["seconds"][-1] == pytest.approx(a.numbers["seconds"])


def test_both_controls_ask_as_often() -> None:
    spec, task = karate("sslgc13.asking"), AskingWithControls()
    numbers = task.run(spec, task.prepare(spec), {"mu": 1.0, "kappa": 0.2}, 0, 0).numbers
    assert 0 < numbers["queries"] < 34
    for prefix in (CONTROL, "perceptron_"):
        assert numbers[prefix + "queries"] == round(numbers["queries"])


def test_links_are_counted_in_both_directions() -> None:
    spec, task = Specification("papers.counts", "karate", repeats=1), Counts()
    numbers = task.run(spec, task.prepare(spec), {}, 0, 0).numbers
    whole = {"whole_nodes": 34, "whole_links": 78, "whole_classes": 2, "whole_features": 0}
    assert numbers == {"nodes": 34, "links": 156, "classes": 2, "class_size": 17} | whole


# -- theorems --------------------------------------------------------------------


def test_theorem_4_is_broken_where_u_fits_and_corollary_5_by_an_adversary() -> None:
    """karate at full rank, and again with every prediction contradicted; what holds is kept in both."""
    plan = {spec.dataset: spec for spec in item_of("sslgc13", "theorem4").plan(True)}
    spec, task = plan["karate"], RegretRuns()
    assert spec.representation["rank"] == 34
    fitted = task.run(spec, task.prepare(spec), spec.parameters, 0, 0).numbers
    assert fitted["Theorem 4, all rounds, broken"] == 1 and fitted["Corollary 5, broken"] == 1
    against = replace(spec, representation={**spec.representation, "rank": 3}, protocol={"adversary": True})
    beaten = task.run(against, task.prepare(against), {"mu": 1.0}, 0, 0).numbers
    assert beaten["Corollary 5, counted"] == 34
    for numbers in (fitted, beaten):
        for statement in ("Theorem 4, learned rounds", "Corollary 5"):
            assert numbers[f"{statement}, counted"] <= numbers[f"{statement}, holds"]


@pytest.mark.slow
def test_lemma_6_and_theorem_7_beside_runs(tmp_path: Path) -> None:
    item = item_of("sslgc13", "theorem7")
    results = run([replace(spec, repeats=1) for spec in item.plan(True)], Store(tmp_path))
    shown = item.show(results)
    broken = {(row[0], row[1].partition(",")[0]) for row in shown.tables[0].rows if row[4] == "1 of 1"}
    assert {("one node, SSLGC", "Lemma 6"), ("two lengths, SSLGC", "Theorem 7")} <= broken
    assert ("one node, mu = 100, BBQ", "Lemma 6") in broken
    assert all(row[2] <= row[5] for row in shown.tables[0].rows if row[5] is not None)
    assert {each.verdict for each in shown.statements} == {"false as printed"}


def test_each_statement_of_msg16_has_a_verdict(tmp_path: Path) -> None:
    """Lemma 2 holds for scores under A_t alone; the theorems hold in every run."""
    item = item_of("msg16", "theorems")
    plan = [replace(spec, repeats=2) for spec in item.plan(True) if spec.dataset in ("", "karate")]
    shown = item.show(run(plan, Store(tmp_path)))
    verdicts = {each.name: (len(each.failed) > 0, each.verdict) for each in shown.statements}
    assert verdicts.pop("Lemma 2") == (True, "false as printed")
    assert list(verdicts) == ["Lemma 1", "Theorem 1", "Theorem 3", "Theorem 5"]
    assert set(verdicts.values()) == {(True, "holds")}
    lemma = next(each for each in shown.statements if each.name == "Lemma 2")
    assert lemma.instead == "with scores under A_t, in 2 of 2 runs"

"""The items of mrgm15: what they plan, what they show of made-up results, and DBLP-A."""

import os

import numpy as np
import pytest

from querist.experiment import Outcome, Result, Specification
from querist.metrics import NAMES
from querist_papers import item_of, items_of
from querist_papers.item import Item
from querist_papers.mrgm15.single import METHODS, POST_HOC
from querist_papers.mrgm15.tasks import AREAS, dblp_a
from querist_papers.tasks import Counts

ITEMS = items_of("mrgm15")


def made_up(spec: Specification) -> Result:
    """A result of this specification: plausible, and not from any run."""
    rng = np.random.default_rng(int(spec.key, 16) % 2**32)
    counts = (*Counts.measures, "iterations", "labelled", "reached", "seconds")
    outcomes = tuple(
        Outcome(
            {name: 0.5 + 0.1 * rng.random() for name in (*NAMES, *counts, "rise")},
            {"objective": np.sort(-1 - rng.random(30)).tolist()},
        )
        for _ in range(spec.repeats)
    )
    return Result(spec, {}, outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS, ids=[item.name for item in ITEMS])
def test_a_hurried_plan_is_a_part_of_the_full_one_and_both_can_be_shown(item: Item) -> None:
    quick, full = item.plan(True), item.plan(False)
    assert {spec.key for spec in quick} <= {spec.key for spec in full}
    assert len({spec.key for spec in full}) == len(full)
    for plan in (quick, full):
        found = item.show([made_up(spec) for spec in plan])
        assert found.tables
        for table in found.tables:
            assert all(len(row) == len(table.columns) for row in table.rows)
            assert "nan" not in table.markdown()
    assert all(figure.png.startswith(b"\x89PNG") for figure in found.figures)


@pytest.mark.parametrize("name", ["figure2", "figure3"])
def test_mrgm_stands_with_one_lambda_and_with_its_own_beside_both_icas(name: str) -> None:
    """One lambda is the network's, 5, as printed."""
    runs = [(spec.method, spec.parameters) for spec in item_of("mrgm15", name).plan(False)]
    for expected in (("mrgm", {"lam_labels": 5.0}), ("mrgm", {}), ("ica", {"bootstrap": False}), ("ica", {})):
        assert runs.count(expected) == 6


def test_figure_6_goes_as_far_as_the_paper_with_both_mrgms() -> None:
    runs = item_of("mrgm15", "figure6").plan(False)
    assert max(spec.parameters["lam"] for spec in runs if spec.method == "gmnr") == 60
    mrgm = [spec.parameters for spec in runs if spec.method == "mrgm"]
    assert max(given["lam"] for given in mrgm) == 50
    one = [given for given in mrgm if "lam_labels" in given]
    assert len(one) * 2 == len(mrgm) and all(given["lam"] == given["lam_labels"] for given in one)


def test_readings_chosen_by_the_published_numbers_are_post_hoc() -> None:
    for name in ("table3", "table4"):
        item = item_of("mrgm15", name)
        numbers = item.show([made_up(spec) for spec in item.plan(False)]).numbers
        accuracies = [number for number in numbers if number.measure == "accuracy"]
        chosen = {number.method.partition(" ")[0] for number in accuracies if number.post_hoc}
        if name == "table3":
            assert chosen == POST_HOC == {"GMNR", "ICA", "semiICA", "LNP"}
        else:
            assert chosen == {*METHODS}, "the size of the samples is"
        assert all((number.without is not None) == number.own for number in accuracies)
        assert {number.published_n for number in accuracies} == {10}
    assert len(accuracies) == 15  # table 4: ten published samples of a data set are one number


def test_dblp_a_has_the_authors_of_its_six_areas(data) -> None:
    """Against the file, venue by venue."""
    whole = data("dblp_multilabel")
    graph = dblp_a()
    assert (graph.n_nodes, graph.n_edges, graph.classes) == (13691, 38116, tuple(AREAS))
    assert graph.known.multilabel and graph.known.codes.sum() == 16351
    kept = {name: row for row, name in enumerate(whole.nodes)}
    with np.load(os.path.join(os.environ["QUERIST_DATA"], "dblp_multilabel.npz")) as arrays:
        for row in (0, 1000, 13690):
            at = kept[graph.nodes[row]]
            indices = arrays["venue_indices"][arrays["venue_indptr"][at] : arrays["venue_indptr"][at + 1]]
            venues = set(arrays["venue_names"][indices].tolist())
            own = [area for area, places in AREAS.items() if venues & set(places)]
            assert [graph.classes[k] for k in graph.known.codes[[row]].indices] == own

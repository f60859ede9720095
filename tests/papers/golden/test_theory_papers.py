"""One cell of every theory table of sslgc13 and pounce08, and of the data of Table 1, as first computed.

The specifications are those of `querist reproduce`; a cell is the mean of its first runs.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from querist.experiment import Result, Specification, Store, run
from querist.graph import Graph
from querist_papers import item_of


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Result]:
    """`play(paper, item, repeats, **what)`: the result of the one specification with these settings."""
    store = Store(tmp_path_factory.mktemp("results"))

    def result(paper: str, item: str, repeats: int, **what: object) -> Result:
        def settings(spec: Specification) -> dict[str, object]:
            return {**spec.protocol, **spec.parameters, "dataset": spec.dataset, "method": spec.method}

        plan = item_of(paper, item).plan(False)
        (spec,) = (spec for spec in plan if all(settings(spec).get(k) == v for k, v in what.items()))
        return run([replace(spec, repeats=repeats)], store)[0]

    return result


def test_the_links_of_coauthor_and_its_diagonal(data: Callable[[str], Graph], play) -> None:
    data("dblp_four_area_1711")
    counts = play("sslgc13", "table1", 1, dataset="dblp_four_area_1711")
    assert counts.mean("links") + counts.mean("nodes") == 7507


def test_theorem_4_is_broken_on_cora(data: Callable[[str], Graph], play) -> None:
    data("cora")
    found = play("sslgc13", "theorem4", 2, dataset="cora", mu=1.0, adversary=None)
    assert found.mean("Theorem 4, all rounds, counted") == pytest.approx(903, rel=0.1)
    assert found.mean("Theorem 4, all rounds, printed") == pytest.approx(105, rel=0.1)
    assert found.mean("Theorem 4, learned rounds, counted") == pytest.approx(10.9, rel=0.1)
    assert found.mean("Theorem 4, learned rounds, holds") == pytest.approx(28.7, rel=0.1)


@pytest.mark.parametrize(
    ("rows", "method", "off", "lemma"),
    [("two_lengths", "sslgc", 4994, 469.5), ("two_lengths", "bbq", 4, 467.1)],
)
def test_lemma_6(play, rows: str, method: str, off: float, lemma: float) -> None:
    found = play("sslgc13", "theorem7", 3, rows=rows, method=method)
    assert found.mean("Lemma 6, counted") == pytest.approx(off, abs=10)
    assert found.mean("Lemma 6, printed") == pytest.approx(lemma, rel=0.01)


@pytest.mark.parametrize(
    ("item", "method", "what", "mistakes"),
    [
        ("line", "pounce", {"n": 64, "bisected": True}, 7),
        ("line", "perceptron", {"n": 64, "bisected": True}, 3),
        ("line", "halving", {"n": 64, "bisected": True}, 5),
        ("three_clusters", "pounce", {"world": "two_cliques", "size": 48}, 2),
        ("three_clusters", "perceptron", {"world": "clusters", "size": 48}, 28),
        ("figure1", "pounce", {}, 2),
        ("figure4", "pounce", {"n": 20}, 2),
        ("controls", "nearest", {"world": "matched", "size": 16, "distance": "geodesic"}, 16),
        ("controls", "nearest", {"world": "matched", "size": 16, "distance": "resistance"}, 1),
        ("theorem8", "pounce", {"world": "figure_4"}, 2),
    ],
    ids=str,
)
def test_mistakes_of_pounce08(play, item: str, method: str, what: dict[str, object], mistakes: float) -> None:
    assert play("pounce08", item, 1, method=method, **what).mean("mistakes") == mistakes


def test_theorem_2_and_5_on_small_graphs(play) -> None:
    bounded = play("pounce08", "theorem2", 50, world="random_graph", signed=True)
    assert bounded.mean("mistakes") == pytest.approx(3.1, abs=0.5)
    assert bounded.values("violations").sum() == 0
    assert play("pounce08", "theorem5", 20, world="random_graph", signed=True).values("apart").max() < 1e-9

"""The items of pounce08: its worlds, its covers, its tasks; every item run once, small, and shown."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from querist import ALGORITHMS, datasets, effective_resistance
from querist.errors import InputError
from querist.experiment import Specification, Store, run
from querist.experiment.tasks.online import learner_seed, shuffled
from querist.graph.neighbours import all_distances
from querist_papers import item_of, items_of
from querist_papers.item import Item
from querist_papers.pounce08 import tasks
from querist_papers.pounce08.points import cover_of, enclosing
from querist_papers.pounce08.tasks import case
from querist_papers.pounce08.worlds import WIDTH, WORLDS, crescent_outline, crescent_space
from querist_papers.theory import component_cover_number, cover_number, separation

SMALL = {"communities": {"size": 8}, "moons": {"n": 40}, "blobs": {"n": 40}}


def world(name: str, seed: int = 0, **settings: object) -> object:
    return WORLDS[name](np.random.default_rng(seed), **settings)


# -- worlds ----------------------------------------------------------------------


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_is_connected_and_the_same_each_time(name: str) -> None:
    first, again, other = (world(name, seed, **SMALL.get(name, {})) for seed in (3, 3, 4))
    n = first.graph.n_nodes
    assert first.graph.n_components == 1
    assert first.labels.shape == (n,)
    assert set(np.unique(first.labels)) <= {0, 1}
    assert first.order.min() >= 0
    assert first.order.max() < n
    assert (first.graph.adjacency != again.graph.adjacency).nnz == 0
    np.testing.assert_array_equal(first.order, again.order)
    assert first.order.tolist() != other.order.tolist()


def test_figure_4_is_as_described() -> None:
    """6n - 2 points in two sets, each joined in steps of 1/2, no two labels nearer than 1."""
    drawn = world("figure_4", n=12)
    assert len(drawn.points) == 70
    assert sorted(drawn.order) == list(range(12))
    distance = all_distances(drawn.points, "euclidean")
    assert component_cover_number(distance, 0.5) == 2
    assert separation(distance, drawn.labels) == (1.0, pytest.approx(0.5 * 2**0.5))


def test_twins_are_near_by_path_and_far_by_resistance() -> None:
    """In a matched world a twin is one step away; its own side is two, and less resistance."""
    drawn = world("matched", size=16)
    R = effective_resistance(drawn.graph)
    side, twin = R[0, 1], R[0, 32]
    assert 1.3 < twin / side < 1.7
    assert drawn.graph.adjacency[0, 32] == 1
    assert drawn.graph.adjacency[0, 1] == 0
    assert drawn.labels[0] != drawn.labels[32]
    assert drawn.labels[0] == drawn.labels[1]


def test_crescents_lie_within_their_outline() -> None:
    from matplotlib.path import Path as Outline

    drawn = world("crescents")
    space, labels = crescent_space()
    for points, codes, slack in ((drawn.points, drawn.labels, 0.0), (space, labels, 0.01)):
        for side in (0, 1):
            inside = Outline(crescent_outline(side)).contains_points(points[codes == side], radius=slack)
            other = Outline(crescent_outline(side)).contains_points(points[codes != side], radius=-slack)
            assert inside.mean() > 0.95
            assert not other.any()
    # The tip of one looks at the inner rim of the other, whose centre is 1/2 above it.
    apart = (1 - WIDTH) - np.hypot(WIDTH, 0.5)
    assert separation(all_distances(space, "euclidean"), labels)[0] == pytest.approx(apart, abs=1e-3)


# -- covers ----------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(2, 30), st.floats(0.05, 1.5))
def test_a_cover_covers(seed: int, n: int, rho: float) -> None:
    points = np.random.default_rng(seed).random((n, 2))
    sets = cover_of(points, rho)
    assert sorted(map(tuple, np.concatenate(sets).tolist())) == sorted(map(tuple, points.tolist()))
    assert all(all_distances(part, "euclidean").max() <= rho for part in sets if len(part) > 1)
    assert len(sets) == cover_number(all_distances(points, "euclidean"), rho, exact=False).number


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(2, 20))
def test_a_circle_encloses_and_is_nearly_the_smallest(seed: int, n: int) -> None:
    """Against every circle through two or three of the points."""
    points = np.random.default_rng(seed).random((n, 2))
    centre, radius = enclosing(points)
    assert np.sqrt(((points - centre) ** 2).sum(axis=1)).max() <= radius * (1 + 1e-12)
    assert radius <= smallest(points) * 1.01 + 1e-12


def smallest(points: np.ndarray) -> float:
    n, found = len(points), []
    for i in range(n):
        for j in range(i):
            found.append((points[i] + points[j]) / 2)
            for k in range(j):
                a, b = points[[j, k]] - points[i]
                if abs(np.linalg.det([a, b])) > 1e-12:
                    found.append(points[i] + np.linalg.solve(2 * np.array([a, b]), [a @ a, b @ b]))
    return min(float(np.sqrt(((points - centre) ** 2).sum(axis=1)).max()) for centre in found)


# -- tasks -----------------------------------------------------------------------


def played(spec: Specification, repeat: int = 0) -> dict[str, float]:
    task = tasks.Worlds()
    task.check(spec)
    return dict(task.run(spec, task.prepare(spec), spec.parameters, spec.seed, repeat).numbers)


def test_nearest_by_path_errs_once_a_pair_and_pounce_does_not() -> None:
    for size in (6, 24, 48):
        assert played(case("nearest by path", "matched", size=size))["mistakes"] == size
        assert played(case("POUNCE", "matched", size=size))["mistakes"] <= 3


@pytest.mark.slow
def test_three_clusters_as_in_the_readings() -> None:
    """From cliques of 6 to cliques of 192 the perceptron grows from 8 mistakes to 100; POUNCE stays at 3."""
    most = {
        (name, size): max(
            played(case(name, "clusters", size=size), repeat)["mistakes"] for repeat in range(4)
        )
        for name in ("perceptron", "POUNCE")
        for size in (6, 192)
    }
    assert most == {("perceptron", 6): 8, ("perceptron", 192): 100, ("POUNCE", 6): 3, ("POUNCE", 192): 3}


@pytest.mark.parametrize("bound", tasks.BOUNDS)
def test_a_broken_bound_would_be_seen(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = case("POUNCE", "moons", bound=bound, n=40)
    assert played(spec)["violations"] == 0
    monkeypatch.setitem(tasks.BOUNDS, bound, lambda world, trace: {"bound": 0.0})
    assert played(spec)["violations"] == 1


@pytest.mark.parametrize("wrong", [{"bound": "theorem 8"}, {"picture": True}], ids=str)
def test_what_is_about_points_is_refused_elsewhere(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="not made of points"):
        played(case("POUNCE", "clusters", **wrong))


def test_classes_and_binary_problems_are_told_apart() -> None:
    place = {"component": "largest"}
    spec = Specification("pounce08.nodes", "three_clusters", "pounce", representation=place)
    task = tasks.Nodes()
    numbers = task.run(spec, task.prepare(spec), {}, 0, 0).numbers
    graph = datasets.three_clusters()
    learner = ALGORITHMS["pounce"](graph, 3, seed=learner_seed(0, 0))
    trace = learner.run(shuffled(graph.codes, 0, 0), graph.codes)
    assert numbers == {
        "error_rate": trace.problems.mistaken.mean(),
        "class_error": (trace.predicted != graph.codes[trace.node]).mean(),
    }
    assert numbers["error_rate"] != numbers["class_error"]


# -- items -----------------------------------------------------------------------

OWN = [item for item in items_of("pounce08") if item.name != "controls"]


@pytest.mark.parametrize("item", items_of("pounce08"), ids=lambda item: item.name)
def test_a_hurried_plan_is_a_part_of_the_full_one(item: Item) -> None:
    quick, full = item.plan(True), item.plan(False)
    assert {spec.key for spec in quick} <= {spec.key for spec in full}
    assert len({spec.key for spec in full}) == len(full)


@pytest.mark.slow
@pytest.mark.parametrize("item", OWN, ids=lambda item: item.name)
def test_an_item_can_be_run_and_shown(item: Item, tmp_path: Path) -> None:
    plan = [replace(spec, repeats=1) for spec in item.plan(True)]
    found = item.show(run(plan, Store(tmp_path)))
    assert found.numbers or found.statements
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert "nan" not in table.markdown()
    for figure in found.figures:
        assert figure.png.startswith(b"\x89PNG")
    for number in found.numbers:
        if number.measure in ("components", "bound"):
            assert number.verdict == "by definition", number
    assert all(statement.verdict == "holds" for statement in found.statements)


def test_the_controls_can_be_planned() -> None:
    wanted = {spec.dataset for spec in item_of("pounce08", "controls").plan(True)}
    assert wanted == {"", "karate", "dblp_four_area_1711", "cora"}

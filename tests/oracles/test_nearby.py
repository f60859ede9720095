"""The nearest remembered row against brute force: the rule, the bounds of the screen, and learners on top.

Distances are taken again in extended precision, ties by a loop. The rows are meant to hurt: lattices (ties
everywhere), copies, rows of zeros, a common offset that eats the digits, lengths over many orders, and scales
at which single precision over- or underflows.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from querist import Learner
from querist.online import POUNCE, Nearest, nearby


def lattice(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 3, (300, 5)).astype(float)


def copies(rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(60, 7))
    return np.repeat(rows, 5, axis=0) + rng.choice([0, 1e-9], (300, 1))


def empty(rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(300, 9))
    rows[rng.random(300) < 0.5] = 0
    return rows


def offset(rng: np.random.Generator) -> np.ndarray:
    return 1e6 + rng.normal(size=(300, 16))


def uneven(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(300, 33)) * 10 ** rng.uniform(-6, 3, (300, 1))


def same(rng: np.random.Generator) -> np.ndarray:
    return np.full((300, 3), rng.normal())


def minute(rng: np.random.Generator) -> np.ndarray:
    rows = 1e-22 * rng.normal(size=(300, 3))
    rows[0], rows[1] = 1, -1  # so that the squares of all others are not normal in single precision
    return rows


KINDS = (lattice, copies, empty, offset, uneven, same, minute)
SCALES = (1.0, 1e-25, 1e25, 1e-100, 1e150)
Make = Callable[[np.random.Generator], np.ndarray]


def exact(rows: np.ndarray, node: int) -> np.ndarray:
    difference = rows.astype(np.longdouble) - rows[node]
    return (difference**2).sum(axis=1)


def by_brute_force(distance: np.ndarray, known: np.ndarray) -> int:
    least = min(distance[j] for j in known)
    return next(int(j) for j in known if distance[j] * (1 - nearby.TIE) <= least)


def view_of(rows: np.ndarray, nodes: np.ndarray, met: np.ndarray, screened: int) -> nearby.View:
    screening = nearby.Screening(rows)
    screening.block(nodes[:1], met[: screened // 2])  # what is held grows from block to block
    return screening.block(nodes, met[:screened])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("make", KINDS)
def test_no_distance_is_below_its_bound(make: Make, scale: float) -> None:
    rng = np.random.default_rng(1)
    rows = scale * make(rng)
    met = rng.permutation(300)[:200]
    nodes = rng.integers(0, 300, 40)
    view = view_of(rows, nodes, met, screened=150)
    centred = rows - rows.mean(axis=0)
    norms = (centred**2).sum(axis=1) * view.factors[1]
    closest = np.inf
    for i, node in enumerate(nodes):
        nearby.bound_distances(view, i, rows, node, met, met.size)
        true = exact(rows, node) * view.factors[1]
        assert (view.low[met] <= true[met] + nearby.UNDERFLOW).all()
        # A bound that is no better than 0 would pass the line above.
        S = norms[node] + norms[met]
        assert (view.low[met] >= true[met] - 3 * (rows.shape[1] + 16) * 2**-24 * S - nearby.UNDERFLOW).all()
        closest = min(closest, float((true[met] - view.low[met]).min()))
    assert closest < 1e-2


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("make", KINDS)
def test_scan_and_screen_find_the_nearest(make: Make, scale: float) -> None:
    rng = np.random.default_rng(2)
    rows = scale * make(rng)
    met = rng.permutation(300)[:250]
    nodes = rng.integers(0, 300, 60)
    view = view_of(rows, nodes, met, screened=200)
    for i, node in enumerate(nodes):
        known = met[rng.random(250) < 0.3]
        scanned, screened = np.full(300, np.nan), np.full(300, np.nan)
        nearby.measure(rows, node, met, met.size, scanned)
        nearby.bound_distances(view, i, rows, node, met, met.size)
        expected = by_brute_force(exact(rows, node), known)
        assert nearby.nearest(known, known.size, scanned) == expected
        assert nearby.nearest_screened(view, rows, node, known, known.size, screened) == expected
        assert screened[expected] == scanned[expected]


def test_few_are_measured() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(2000, 20))
    met, nodes = np.arange(1900), np.arange(1900, 2000)
    view = view_of(rows, nodes, met, screened=met.size)
    measured = 0
    for i, node in enumerate(nodes):
        out = np.full(2000, np.nan)
        nearby.bound_distances(view, i, rows, node, met, met.size)
        nearby.nearest_screened(view, rows, node, met, met.size, out)
        measured += int(np.isfinite(out).sum())
    assert measured < 3 * nodes.size


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ([1 + 1.6e-10, 1 + 0.8e-10, 1.0], 1),  # the first is near the second, but not near the nearest
        ([1 + 0.8e-10, 1.0, 1 - 1e-16], 0),
        ([2.0, 1 + 2e-10, 1.0], 2),
        ([1.0, 0.0, 0.0], 1),
        ([np.inf, np.inf], 0),
        ([], -1),
    ],
)
def test_the_earliest_within_a_tie_of_the_smallest(distance: list[float], expected: int) -> None:
    known = np.arange(len(distance))
    assert nearby.nearest(known, known.size, np.array(distance)) == expected


# -- learners ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("block", [7, 128])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [POUNCE, Nearest])
def test_screened_runs_are_steps(
    make: Any, kind: Make, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run, the same in two halves over a file, and every round by hand: the same bits; scores too."""
    rng = np.random.default_rng(4)
    rows, labels = kind(rng), rng.integers(0, 3, 300)
    order = rng.integers(0, 300, 500)
    monkeypatch.setattr(nearby, "BLOCK", block)
    whole, halves, steps = (make(rows, 3, budget=400) for _ in range(3))
    monkeypatch.setattr(nearby, "FEW", 10**9)
    unscreened = make(rows, 3, budget=400)
    expected = unscreened.run(order, labels)
    expected_scores = unscreened.scores()
    monkeypatch.setattr(nearby, "FEW", 3)
    trace = whole.run(order, labels)
    halves.run(order[:200], labels)
    halves.save(tmp_path / "half.npz")
    halves = Learner.load(tmp_path / "half.npz")
    halves.run(order[200:], labels)
    for node in order.tolist():
        decision = steps.decide(node)
        steps.commit(decision)
        if decision.ask:
            steps.learn(node, int(labels[node]))
    for name in ("predicted", "mistaken", "margin", "variance"):
        np.testing.assert_array_equal(getattr(trace, name), getattr(expected, name))
    for learner in (whole, halves, steps):
        for state in zip(learner._state, unscreened._state, strict=True):
            np.testing.assert_array_equal(*state)
        np.testing.assert_array_equal(learner.scores(), expected_scores)


def test_rows_beyond_the_bounds_are_scanned() -> None:
    rows = np.ones((2, 3))
    assert nearby.fits(rows, np.ones(2))
    assert not nearby.fits(rows, np.array([1.0, np.inf]))
    assert not nearby.fits(np.ones((1, nearby.WIDEST + 1)), np.ones(1))


def test_a_product_takes_bounded_room() -> None:
    for met in (1, 1000, 10**5, 10**6, 10**8):
        assert nearby.block_length(met) >= 1
        assert met > nearby.ROOM or nearby.block_length(met) * met <= nearby.ROOM

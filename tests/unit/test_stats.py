import numpy as np
import pytest
import scipy.stats as peer
from matplotlib.figure import Figure

from querist import InputError, stats

VALUES = np.random.default_rng(0).normal(size=(12, 4)) + np.arange(4)


def test_paired_t_is_the_textbook_formula():
    a, b = VALUES[:, 0], VALUES[:, 1]
    found, d = stats.paired_t(a, b), a - b
    t = d.mean() / (d.std(ddof=1) / np.sqrt(12))
    assert (found.difference, found.statistic) == pytest.approx((d.mean(), t))
    assert found.p == pytest.approx(2 * peer.t.sf(abs(t), 11))
    assert stats.paired_t([1, 1], [1, 1]).p == 1.0
    assert stats.paired_t([2, 2], [1, 1]) == stats.PairedT(1.0, np.inf, 0.0)


def test_friedman_is_the_textbook_formula():
    found = stats.friedman(VALUES)
    n, k = VALUES.shape
    ranks = (-VALUES).argsort(axis=1).argsort(axis=1).mean(axis=0) + 1
    chi2 = 12 * n / (k * (k + 1)) * ((ranks**2).sum() - k * (k + 1) ** 2 / 4)
    assert found.ranks == pytest.approx(ranks)
    assert found.chi2 == pytest.approx(chi2)
    assert pytest.approx((n - 1) * chi2 / (n * (k - 1) - chi2)) == found.F
    assert found.p_F == pytest.approx(peer.f.sf(found.F, 3, 33))
    assert stats.friedman(-VALUES, smaller_is_better=True).ranks == pytest.approx(ranks)


def test_all_alike_and_all_apart():
    alike = stats.friedman(np.ones((5, 3)))
    assert (alike.chi2, alike.p_F) == (0.0, 1.0)
    assert alike.ranks == pytest.approx([2, 2, 2])
    apart = stats.friedman(np.tile([3.0, 2.0, 1.0], (6, 1)))
    assert np.inf == apart.F and apart.p_F == 0.0


def test_nemenyi_says_what_the_critical_distance_says():
    ranks, distance = stats.average_ranks(VALUES), stats.critical_distance(4, 12)
    p = stats.nemenyi(VALUES)
    off = ~np.eye(4, dtype=bool)
    assert ((p < 0.05) == (abs(ranks[:, None] - ranks) > distance))[off].all()
    assert (p == p.T).all()
    assert stats.critical_distance(4, 12, alpha=0.1) < distance


def test_a_rank_diagram_names_the_methods():
    axes = Figure().subplots()
    stats.draw_ranks(axes, VALUES, ["one", "two", "three", "four"])
    drawn = {text.get_text().strip("() .0123456789") for text in axes.texts}
    assert {"one", "two", "three", "four"} <= drawn


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: stats.friedman(VALUES[:, :2]), "at least 3"),
        (lambda: stats.friedman(np.full((3, 3), np.nan)), "NaN"),
        (lambda: stats.nemenyi([1, 2, 3]), "a row a task"),
        (lambda: stats.paired_t([1], [2]), "at least two tasks"),
        (lambda: stats.critical_distance(1, 3), "at least 2"),
        (lambda: stats.draw_ranks(None, VALUES, ["one", "one", "two", "three"]), "each its own"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()

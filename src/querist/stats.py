"""Is one method better than another? Paired t, Friedman, Nemenyi, and the rank diagram.

Rows are tasks (data sets, trials), columns are methods. Methods are ranked within each task, 1 the best and
equal ones by their mean rank. Friedman asks whether all average ranks could be equal; where not, two methods
differ when their average ranks are further apart than the critical distance of Nemenyi (Demsar 2006;
mrgm15, section 4.4 and Figure 1). The tests are SciPy's and scikit-posthocs'.

>>> from querist.stats import average_ranks
>>> average_ranks([[0.9, 0.8], [0.7, 0.7]])
array([1.25, 1.75])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.lazy import needing
from querist.types import Floats

__all__ = ["critical_distance", "draw_ranks", "friedman", "nemenyi", "paired_t"]


@dataclass(frozen=True)
class PairedT:
    """Mean of first minus second, its t statistic and the two-sided p value.

    >>> PairedT(0.1, statistic=2.5, p=0.03).p
    0.03
    """

    difference: float
    statistic: float
    p: float


@dataclass(frozen=True)
class Friedman:
    """Average ranks (K,), the chi-square form with k-1 degrees, and the less conservative F form.

    `F = (N - 1) chi2 / (N (k - 1) - chi2)` with (k-1, (k-1)(N-1)) degrees; infinite where every task
    ranks the methods alike.

    >>> from querist.stats import friedman
    >>> friedman([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.85, 0.6], [0.7, 0.8, 0.5]]).ranks
    array([1.25, 1.75, 3.  ])
    """

    ranks: Floats
    chi2: float
    p_chi2: float
    F: float
    p_F: float
    degrees: tuple[int, int]


def paired_t(first: Any, second: Any) -> PairedT:
    """Two methods on the same tasks.

    >>> paired_t([0.8, 0.9, 0.7], [0.7, 0.7, 0.6]).p < 0.06
    True
    """
    from scipy.stats import ttest_rel

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise InputError(f"{a.shape} and {b.shape} values; give one a task for each, and at least two tasks")
    difference = a - b
    if np.ptp(difference) == 0:
        # Every task says the same: there is no spread to compare with.
        certain = difference[0] != 0
        statistic = float(np.copysign(np.inf, difference[0])) if certain else 0.0
        return PairedT(float(difference[0]), statistic, 0.0 if certain else 1.0)
    found = ttest_rel(a, b)
    return PairedT(float(difference.mean()), float(found.statistic), float(found.pvalue))


def average_ranks(values: Any, smaller_is_better: bool = False) -> Floats:
    """(K,) mean over the tasks of each method's rank.

    >>> average_ranks([[0.9, 0.8], [0.7, 0.7]])
    array([1.25, 1.75])
    """
    from scipy.stats import rankdata

    table = _checked(values)
    return np.asarray(rankdata(table if smaller_is_better else -table, axis=1).mean(axis=0))


def friedman(values: Any, smaller_is_better: bool = False) -> Friedman:
    """Whether all methods could be equally good on these tasks; needs three methods or more.

    >>> found = friedman([[3, 2, 1], [3, 1, 2], [3, 2, 1], [3, 2, 1]])
    >>> found.ranks, round(found.chi2, 3), round(found.F, 3)
    (array([1.  , 2.25, 2.75]), 6.5, 13.0)
    """
    from scipy.stats import f, friedmanchisquare

    table = _checked(values)
    n, k = table.shape
    if k < 3:
        raise InputError(f"{k} methods; the Friedman test needs at least 3. Use paired_t for two")
    ranks = average_ranks(table, smaller_is_better)
    if (table == table[:, :1]).all():
        return Friedman(ranks, 0.0, 1.0, 0.0, 1.0, (k - 1, (k - 1) * (n - 1)))
    found = friedmanchisquare(*table.T)
    chi2, degrees = float(found.statistic), (k - 1, (k - 1) * (n - 1))
    rest = n * (k - 1) - chi2
    F = (n - 1) * chi2 / rest if rest > 1e-9 * n else float("inf")
    return Friedman(ranks, chi2, float(found.pvalue), F, float(f.sf(F, *degrees)), degrees)


def nemenyi(values: Any) -> Floats:
    """(K, K) p value of every pair of methods.

    >>> nemenyi([[0.9, 0.8, 0.7]] * 5).shape
    (3, 3)
    """
    with needing("peers", "the test of Nemenyi"):
        from scikit_posthocs import posthoc_nemenyi_friedman

    return np.asarray(posthoc_nemenyi_friedman(_checked(values)).to_numpy(), dtype=np.float64)


def critical_distance(methods: int, tasks: int, alpha: float = 0.05, q: float | None = None) -> float:
    """How far apart average ranks must be: `q sqrt(k (k + 1) / (6 N))`.

    `q` is the studentised range at `alpha` over sqrt(2), computed unless given (tables print 3 digits).

    >>> round(critical_distance(5, 30), 3)
    1.114
    """
    from scipy.stats import studentized_range

    if methods < 2 or tasks < 1 or not 0 < alpha < 1:
        raise InputError(
            f"{methods} methods, {tasks} tasks, alpha {alpha}; give at least 2 and 1, and 0 < alpha < 1"
        )
    if q is None:
        q = float(studentized_range.ppf(1 - alpha, methods, np.inf) / np.sqrt(2))
    return float(q * np.sqrt(methods * (methods + 1) / (6 * tasks)))


def draw_ranks(
    axes: Any, values: Any, names: Sequence[str], smaller_is_better: bool = False, alpha: float = 0.05
) -> None:
    """The average ranks on a line; a bar joins methods that do not differ by Nemenyi at `alpha`.

    >>> import matplotlib.figure
    >>> axes = matplotlib.figure.Figure().subplots()
    >>> draw_ranks(axes, [[0.9, 0.8, 0.7]] * 5, ["a", "b", "c"])
    >>> len(axes.texts) >= 3
    True
    """
    with needing("peers", "a rank diagram"):
        import pandas as pd
        from scikit_posthocs import critical_difference_diagram

    table = _checked(values)
    if len(names) != table.shape[1] or len(set(names)) != len(names):
        raise InputError(f"{len(names)} names for {table.shape[1]} methods; give each its own")
    critical_difference_diagram(
        pd.Series(average_ranks(table, smaller_is_better), index=list(names)),
        pd.DataFrame(nemenyi(table), index=list(names), columns=list(names)),
        alpha=alpha,
        ax=axes,
    )
    axes.grid(False)
    distance = critical_distance(table.shape[1], table.shape[0], alpha)
    axes.set_title(f"critical distance {distance:.2f}", loc="right", fontsize="small")


def _checked(values: Any) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise InputError(f"values of shape {table.shape}; give a row a task and a column a method, 2 of each")
    if not np.isfinite(table).all():
        raise InputError("values hold NaN or infinite numbers; leave out tasks that a method did not finish")
    return table


def wilson(right: float, count: float, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval for a share.

    >>> [round(bound, 4) for bound in wilson(8, 10)]
    [0.4902, 0.9433]
    """
    p = right / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))

"""The most valuable node anywhere: what an answer at each node would be worth, before it is given.

The model is a Gaussian one. Node i has the row `m_i` and one score a class, `f_ik = m_i . w_k`, with weights
`w_k` of covariance P given the answers so far; an answer is a score plus noise of variance 1. Two nodes have
the covariance `c_ui = m_u . P m_i`, a node the variance `r_i = c_ii`. Whatever the answer at i, it takes
`c_ui^2 / (1 + r_i)` off the variance at u. With `G = sum_u m_u m_u'`, its terms weighted, sums over u are
quadratic forms `m_i' (P G P) m_i`: (n, d, d) work for all nodes.

Where nodes may have several labels a node is as ambiguous as its classes are on average (model.py); the
variance is the same for all classes, so rules that look at it alone are as they are.

A rule is a function of the model that gives (n,) values, larger where asking is worth more. `@pool_rule`
keeps it in RULES under its name, with the sentence that is shown beside its questions and whether its model
has centred rows: help, `choose=` and the contracts find it there. A journal keeps the name: what a rule means
is never changed, a better one gets a name of its own.

What is done with the rows of all nodes a rule asks of `model.pool`: that is done in this process or on a
device. All else, the rows themselves too, is numpy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from querist.asking.model import QuickModel
from querist.labelling.heads import squared_distances
from querist.labelling.suggest import ambiguous_correlation, margins
from querist.registry import Registry
from querist.types import Floats


@dataclass(frozen=True)
class PoolRule:
    """What an answer at each node is worth, and the `reason` that a question of the rule is given with.

    `centred`: the rows of its model are (model.py).

    >>> import numpy as np
    >>> rule = PoolRule("anything", lambda model: np.ones(model.n_nodes), "every node is worth the same")
    >>> rule.name, rule.reason
    ('anything', 'every node is worth the same')
    """

    name: str
    values: Callable[[QuickModel], Floats]
    reason: str
    centred: bool = False

    def __call__(self, model: QuickModel) -> Floats:
        """(n,) the values."""
        return self.values(model)


RULES: Registry[PoolRule] = Registry("rule of the pool")
"""What an answer is worth, by name (`ask(..., choose=...)`); a new rule is registered by assigning it.

>>> {"contrast", "margin"} <= set(RULES)
True
"""

WORTH_ASKING, SPOKEN_FOR = 2000, 1500
"""Most nodes that coverage chooses among, and by whose distances."""


def pool_rule(
    name: str, reason: str, *, centred: bool = False
) -> Callable[[Callable[[QuickModel], Floats]], Callable[[QuickModel], Floats]]:
    """Register a rule."""

    def register(values: Callable[[QuickModel], Floats]) -> Callable[[QuickModel], Floats]:
        RULES[name] = PoolRule(name, values, reason, centred)
        return values

    return register


@pool_rule("ambiguity", "an answer here decides most among the nodes that are in doubt")
@pool_rule(
    "contrast",
    "an answer here decides most among the nodes that are in doubt, by what sets nodes apart",
    centred=True,
)
def by_ambiguity(model: QuickModel) -> Floats:
    """`a_i sum_u a_u c_ui^2 / ((1 + r_i) (1 + r_u))`, a the ambiguity `1 - (p_1 - p_2)` by the beliefs.

    Ours: the squared correlation of an answer at i with one at u, times the ambiguity of both. What decides
    nothing is left alone; and a node counts at most once however large its variance is, so a part of the
    graph weighs by the nodes it holds. Without `1 + r_u` small components of which nothing is known, whose
    variance is largest, would come first. A node without a row tells of its component alone, all of it, and
    as long as nothing is known there.

    `contrast`, the default, is the same on centred rows. With what all rows have in common left in, every
    answer seems to tell of every node, and questions crowd where the doubt is largest while whole groups of
    nodes have no answer; on dense attributes that is worse than chance. Without attributes the two are one.
    """
    P, r = model.choosing.P, model.choosing.r
    values = ambiguous_correlation(model.pool, P, r, model.ambiguity)
    sizes, first = np.bincount(model.components), 1 / (1 + model.gamma)
    alone = np.where(model.answers + model.pending == 0, sizes * first**2, 0.0)[model.components]
    return np.where(model.pool.present, values, alone)


@pool_rule("coverage", "an answer here speaks for most nodes in doubt that are far from every answer so far")
def by_coverage(model: QuickModel) -> Floats:
    """`sum_u sqrt(a_u) max(0, d_u - |m_u - m_i|^2)`, d_u the squared distance to the nearest answer.

    Facility location, weighted by the ambiguity a: what an answer takes off the distances of all nodes to
    the nearest answer. For attributes that are measurements it is the default: there classes are regions, and
    correlations of rows that have much in common do not see them. On `SPOKEN_FOR` nodes drawn at random, of
    `WORTH_ASKING` candidates; all others are worth nothing.
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(model.pool.present))
    asked, spoken = order[:WORTH_ASKING], order[:SPOKEN_FOR]
    values = np.zeros(len(model.rows))
    nearer = squared_distances(model.rows[asked], model.rows[spoken])
    np.subtract(model.nearest[spoken], nearer, out=nearer)
    values[asked] = np.maximum(nearer, 0.0, out=nearer) @ np.sqrt(model.ambiguity[spoken])
    return values


@pool_rule("variance", "an answer here takes most off the uncertainty of all nodes")
def by_variance(model: QuickModel) -> Floats:
    """`sum_u c_ui^2 / (1 + r_i)`: V-optimality (Ji and Han 2012)."""
    rows, P, r = model.pool, model.choosing.P, model.choosing.r
    return rows.forms(P @ rows.gram() @ P) / (1 + r)


@pool_rule("sigma", "an answer here takes most off the uncertainty of the class sizes")
def by_sigma(model: QuickModel) -> Floats:
    """`(sum_u c_ui)^2 / (1 + r_i)` (Ma, Garnett and Schneider 2013): how much the variance of the sum over
    all nodes falls."""
    rows, P, r = model.pool, model.choosing.P, model.choosing.r
    return np.asarray(rows.times(P @ rows.total()) ** 2 / (1 + r))


@pool_rule("margin", "the model knows least about this node: a small margin, a large variance")
def by_margin(model: QuickModel) -> Floats:
    """Minus the Theta of msg16, Definition 2; it looks at node i alone. Of sets the sum over the classes."""
    if not model.several:
        return margin_uncertainty(model.scores, model.variance)
    halves = np.stack([model.scores / 2, -model.scores / 2], axis=2)
    each = (margin_uncertainty(halves[:, k], model.variance) for k in range(model.n_classes))
    return np.asarray(sum(each))


def margin_uncertainty(scores: Floats, r: Floats) -> Floats:
    """`-Theta = K r/(1+r) - 2 D - D^2/2`, D the margin of the scores `f/(1+r)` (msg16, Definition 2)."""
    margin = margins(scores) / (1 + r)
    return np.asarray(scores.shape[1] * r / (1 + r) - 2 * margin - margin**2 / 2)

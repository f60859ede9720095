"""Query strategies: what an answer at each node would be worth, before it is given.

The model is a Gaussian one. Node i has the row `m_i` and one score per class, `f_ik = m_i . w_k`, with
weights `w_k` of covariance P given the answers so far; an answer is a score plus noise of variance 1. Two
nodes have the covariance `c_ui = m_u . P m_i`, a node the variance `r_i = c_ii`. Whatever the answer at i, it
takes `c_ui^2 / (1 + r_i)` off the variance at u. With `G = sum_u m_u m_u'`, its terms weighted, sums over u
are quadratic forms `m_i' (P G P) m_i`: (n, d, d) work for all nodes.

If nodes may have several labels a node is as ambiguous as its classes are on average (model.py); the variance
is the same for all classes, so strategies that look at it alone are as they are.

A strategy is a function of the model that gives (n,) values, larger if asking is worth more. A journal keeps
its name: what a strategy means is never changed, a better one gets a name of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from querist.asking.model import QuickModel
from querist.labelling.heads import squared_distances
from querist.labelling.suggest import ambiguous_correlation, margins
from querist.registry import Registry
from querist.types import Floats

Values = Callable[[QuickModel], Floats]


@dataclass(frozen=True)
class Strategy:
    """What an answer at each node is worth, and the `reason` shown beside a question of the strategy.

    `centred`: so are the rows of its model (model.py).
    """

    values: Values
    reason: str
    centred: bool = False

    def __call__(self, model: QuickModel) -> Floats:
        """(n,) the values."""
        return self.values(model)


class Strategies(Registry[Strategy]):
    """Query strategies by name."""

    def register(self, reason: str, *, centred: bool = False) -> Callable[[Values], Values]:
        """Register a function under its name; see `Strategy`."""

        def registered(values: Values) -> Values:
            self[values.__name__] = Strategy(values, reason, centred)
            return values

        return registered


STRATEGIES = Strategies("query strategy")
"""The query strategies by name (`ask(..., strategy=...)`); `@STRATEGIES.register(reason)` adds a function.

>>> {"contrast", "margin"} <= set(STRATEGIES)
True
"""

MAX_CANDIDATES, MAX_COVERED = 2000, 1500
"""Most nodes that `coverage` chooses among, and by whose distances."""


@STRATEGIES.register("an answer here decides most among the nodes that are in doubt")
def ambiguity(model: QuickModel) -> Floats:
    """`a_i sum_u a_u c_ui^2 / ((1 + r_i) (1 + r_u))`, a the ambiguity `1 - (p_1 - p_2)` by the beliefs.

    Ours: the squared correlation of an answer at i with one at u, times the ambiguity of both. A node that
    decides nothing is left alone; and a node counts at most once however large its variance is, so a part of
    the graph weighs by the nodes it holds. Without `1 + r_u` small components of which nothing is known,
    whose variance is largest, would come first. A node without a row tells of its component alone, all of it,
    and as long as nothing is known there.

    >>> import querist
    >>> karate = querist.load_graph("karate")
    >>> asking = querist.ask(karate, karate.labels, budget=4, strategy="ambiguity")
    >>> ambiguity(asking.state.model).shape
    (34,)
    """
    P, r = model.choosing.P, model.choosing.r
    values = ambiguous_correlation(model.rows, P, r, model.ambiguity)
    sizes, first = np.bincount(model.components), 1 / (1 + model.gamma)
    alone = np.where(model.answers + model.pending == 0, sizes * first**2, 0.0)[model.components]
    return np.where(model.rows.any(axis=1), values, alone)


@STRATEGIES.register(
    "an answer here decides most among the nodes that are in doubt, by what sets nodes apart", centred=True
)
def contrast(model: QuickModel) -> Floats:
    """The default: `ambiguity`, on centred rows.

    With what all rows have in common left in, every answer seems to tell of every node, and questions crowd
    around the largest doubt while whole groups of nodes have no answer; on dense attributes that is worse
    than chance. Without attributes the two are one.

    >>> import querist
    >>> karate = querist.load_graph("karate")
    >>> querist.ask(karate, karate.labels, budget=4).specification.strategy
    'contrast'
    """
    return ambiguity(model)


@STRATEGIES.register("an answer here speaks for most nodes in doubt that are far from every answer so far")
def coverage(model: QuickModel) -> Floats:
    """`sum_u sqrt(a_u) max(0, d_u - |m_u - m_i|^2)`, d_u the squared distance to the nearest answer.

    Facility location, weighted by the ambiguity a: what an answer takes off the distances of all nodes to
    the nearest answer. It is the default for attributes that are measurements: there classes are regions, and
    correlations of rows that have much in common do not see them. On `MAX_COVERED` nodes drawn at random, of
    `MAX_CANDIDATES` candidates; all others are worth nothing.

    >>> import querist
    >>> karate = querist.load_graph("karate")
    >>> asking = querist.ask(karate, karate.labels, budget=4, strategy="coverage")
    >>> bool((coverage(asking.state.model) >= 0).all())
    True
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(model.rows.any(axis=1)))
    asked, covered = order[:MAX_CANDIDATES], order[:MAX_COVERED]
    values = np.zeros(len(model.rows))
    nearer = squared_distances(model.rows[asked], model.rows[covered])
    np.subtract(model.nearest(covered), nearer, out=nearer)
    values[asked] = np.maximum(nearer, 0.0, out=nearer) @ np.sqrt(model.ambiguity[covered])
    return values


@STRATEGIES.register("the model knows least about this node: a small margin, a large variance")
def margin(model: QuickModel) -> Floats:
    """Minus the Theta of msg16, Definition 2; it looks at node i alone. Of sets the sum over the classes.

    >>> import querist
    >>> karate = querist.load_graph("karate")
    >>> asking = querist.ask(karate, karate.labels, budget=4, strategy="margin")
    >>> margin(asking.state.model).shape
    (34,)
    """
    if not model.multilabel:
        return margin_uncertainty(model.scores, model.variance)
    halves = np.stack([model.scores / 2, -model.scores / 2], axis=2)
    each = (margin_uncertainty(halves[:, k], model.variance) for k in range(model.n_classes))
    return np.asarray(sum(each))


def margin_uncertainty(scores: Floats, r: Floats) -> Floats:
    """`-Theta = K r/(1+r) - 2 D - D^2/2`, D the margin of the scores `f/(1+r)` (msg16, Definition 2)."""
    apart = margins(scores) / (1 + r)
    return np.asarray(scores.shape[1] * r / (1 + r) - 2 * apart - apart**2 / 2)

"""FastONL, a rival that sees every label: Zhou, Sun and Babanezhad, "Fast online node labeling for very large
graphs" (ICML 2023). `fastonl_kernels.py` has the maths.

Taken is the kernel that the paper lists second, of the normalised Laplacian; a column of it is the
personalised PageRank of a node, approximated by local pushes when the node comes. The relaxation and its
constants are those of the authors' published program. Guesses of ours: the default `alpha` (they tune it for
every set; here it was chosen on Citeseer), degrees in units of their median where pushes stop, gradients that
add up where a node comes again, and answers other than one class.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from querist.errors import refuse
from querist.graph import Graph
from querist.online import checks, fastonl_kernels as maths, loop
from querist.online.learner import Learner
from querist.online.pace import ring, spending
from querist.online.rules import Scheme
from querist.operator.push import Walkable, walkable
from querist.types import Codes, Floats

TIE = 1e-12
"""Scores closer than this are equal."""

SHORTEST, ROUNDING = 1e-6, 1e-15
"""The smallest chance to go back, and the smallest push: below the one a walk takes hours, below the other
there is rounding alone."""


class FastonlLearner(Learner):
    """FastONL in the protocol of every `Learner`; `fastonl` makes one. It knows no variance and says 1.

    >>> from querist.datasets import karate
    >>> isinstance(fastonl(karate(), 2), FastonlLearner)
    True
    """

    _maths: ClassVar[Any] = maths
    _parts: ClassVar[Any] = (maths.FastonlRules, maths.FastonlNodes, maths.FastonlState)

    def __init__(
        self,
        place: maths.FastonlNodes,
        n_classes: int,
        *,
        rules: maths.FastonlRules,
        seed: int = 0,
        budget: int | None = None,
        ids: checks.Ids | None = None,
    ) -> None:
        self._begin(n_classes, Scheme.MULTICLASS, seed, budget, ids=ids)
        n, d = place.rows.shape
        self._rules: Any = rules
        self._place: Any = place
        self._state: Any = maths.FastonlState(
            gradients=np.zeros((0 if d else n, self.n_classes)),
            W=np.zeros((self.n_classes, d)),
            sums=np.array([0.0, 2.0 * n * n]),
            touched=np.zeros(int(place.component.max()) + 1, dtype=np.bool_),
            counts=np.zeros(3, dtype=np.int64),
            recent=ring(rules),
        )
        self._work: Any = maths.scratch(rules, self._state)
        self._safe = False

    def _scores(self, rows: Codes | slice) -> Floats:
        nodes = np.arange(self.n_nodes)[rows]
        out = np.empty((nodes.size, self.n_classes))
        maths.score_all(self._rules, self._state, self._place, nodes, self._work, out)
        return out

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: loop.RunRecord) -> None:
        maths.run_rounds(self._rules, self._state, self._place, nodes, codes, u, budget, self._work, record)


def fastonl(
    embedding: Any,
    n_classes: int,
    *,
    alpha: float = 0.1,
    eps: float = 1e-5,
    seed: int = 0,
    budget: int | None = None,
    pace: float | None = None,
    rounds: int | None = None,
    tie_order: Iterable[int] | None = None,
) -> FastonlLearner:
    """FastONL (Zhou, Sun and Babanezhad 2023): ask always, relaxed online labelling by local PageRank.

    Parameters
    ----------
    embedding : a `Graph`; or an `Embedding` or (n, d) rows, whose products then are the kernel
    alpha : between 0 and 1, the chance that the walk goes back to its node
    eps : above 0; smaller pushes further
    n_classes, seed, budget, pace, rounds, tie_order : as for every algorithm; only a pace draws

    >>> from querist import datasets
    >>> karate = datasets.load_graph("karate")
    >>> trace = fastonl(karate, 2).run(range(34), karate.codes)
    >>> int(trace.mistaken.sum())
    12
    """
    check_walk(alpha, eps)
    order = checks.checked_tie_order(tie_order, n_classes)
    place = graph_place(embedding, order) if isinstance(embedding, Graph) else row_place(embedding, order)
    rules = maths.FastonlRules(
        alpha=float(alpha),
        eps=float(eps),
        binary=False,
        n_classes=int(n_classes),
        **spending(pace, budget, rounds, len(place.rows)),
    )
    return FastonlLearner(
        place, n_classes, rules=rules, seed=seed, budget=budget, ids=checks.ids_of(embedding)
    )


def check_walk(alpha: float, eps: float) -> None:
    """Refuse walks that never come back, and pushes without an end: their number goes with 1 / alpha."""
    refuse(
        {
            f"alpha = {alpha!r}; it must lie from {SHORTEST:g} to below 1": not SHORTEST <= alpha < 1,
            f"eps = {eps!r}; it must be a finite number from {ROUNDING:g}": not ROUNDING <= eps < np.inf,
        }
    )


def graph_place(graph: Graph, tie_order: Codes) -> maths.FastonlNodes:
    """The nodes of a graph."""
    n, S = graph.n_nodes, walkable(graph.adjacency)
    return _place(np.empty((n, 0)), S, np.ascontiguousarray(graph.components, dtype=np.int64), tie_order)


def row_place(embedding: Any, tie_order: Codes) -> maths.FastonlNodes:
    """Rows, the longest of length one."""
    rows = checks.checked_rows(embedding)
    rows = rows / max(np.abs(rows).max(), np.finfo(float).tiny)
    rows /= max(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()), np.finfo(float).tiny)
    nothing = np.empty(0, dtype=np.int64)
    S = Walkable(nothing, nothing, np.empty(0), np.empty(0))
    return _place(rows, S, checks.checked_components(embedding, len(rows)), tie_order)


def _place(rows: Floats, S: Walkable, component: Codes, tie_order: Codes) -> maths.FastonlNodes:
    return maths.FastonlNodes(
        rows=rows,
        indptr=S.indptr,
        indices=S.indices,
        entries=S.values,
        roots=S.roots,
        component=component,
        tie=np.full(len(rows), TIE),
        tie_order=tie_order,
    )

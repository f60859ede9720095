"""FastONL, a rival that sees every label: Zhou, Sun and Babanezhad, "Fast online node labeling for very large
graphs" (ICML 2023). `fastonl_kernels.py` has the maths.

Taken is the kernel that the paper lists second, of the normalised Laplacian; a column of it is the
personalised PageRank of a node, approximated by local pushes when the node comes. The relaxation and its
constants are those of the authors' published program. Guesses of ours: the default `alpha` (they tune it for
every set; here it was chosen on Citeseer), degrees in units of their median where pushes stop, gradients that
add up where a node comes again, and answers other than one class.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np

from querist import Graph, InputError
from querist.extend import steps
from querist.online import Learner
from querist_papers.rivals import fastonl_kernels as maths
from querist_papers.types import Codes, Floats

TIE = 1e-12
"""Scores closer than this are equal."""

SHORTEST, ROUNDING = 1e-6, 1e-15
"""The smallest chance to go back, and the smallest push: below the one a walk takes hours, below the other
there is rounding alone."""


class FastonlParts(NamedTuple):
    """All that FastONL computes with."""

    rules: maths.FastonlRules
    place: maths.FastonlNodes
    state: maths.FastonlState

    def saved_sizes(self) -> dict[str, int]:
        """Numbers for the names in the shapes of a saved learner; C is the number of problems."""
        n, d = self.place.rows.shape
        graph = {"nodes": 0, "ends": 0, "entries": 0} if d else {"nodes": n, "ends": n + 1}
        return {"K": self.rules.n_classes, "C": 1, "ring": steps.ring(self.rules).size, **graph}

    def saved_faults(self) -> dict[str, Any]:
        """What kernels take for granted beside shapes and ranges."""
        endless = False
        if self.place.indptr.size:
            steps.check_neighbours(self.place)
            endless = not _pushes_end(self.place)
        check_walk(self.rules.alpha, self.rules.eps)
        return {
            "binary rules": self.rules.binary,
            "weights of neighbours that do not fit the degrees": endless,
        }


def _pushes_end(place: maths.FastonlNodes) -> bool:
    """Whether pushes come to an end: each passes on no more than it takes, `|S| root <= root`, and no root of
    a node with neighbours is 0."""
    among, roots = np.diff(place.indptr) > 0, place.roots
    passed = np.zeros(roots.size)
    np.add.at(
        passed,
        np.repeat(np.arange(roots.size), np.diff(place.indptr)),
        np.abs(place.entries) * roots[place.indices],
    )
    return bool((passed <= roots * (1 + 1e-6)).all() and (roots[among] > 0).all())


class FastonlLearner(Learner):
    """FastONL in the protocol of every `Learner`; `fastonl` makes one. It knows no variance and says 1.

    >>> from querist import load_graph
    >>> isinstance(fastonl(load_graph("karate"), 2), FastonlLearner)
    True
    """

    _maths: ClassVar[Any] = maths
    _parts: ClassVar[Any] = FastonlParts

    def __init__(
        self,
        place: maths.FastonlNodes,
        n_classes: int,
        *,
        rules: maths.FastonlRules,
        options: Mapping[str, Any],
        ids: steps.Ids | None = None,
    ) -> None:
        self._begin(n_classes, options, ids)
        n, d = place.rows.shape
        self._rules: Any = rules
        self._place: Any = place
        self._state: Any = maths.FastonlState(
            gradients=np.zeros((0 if d else n, self.n_classes)),
            W=np.zeros((self.n_classes, d)),
            sums=np.array([0.0, 2.0 * n * n]),
            touched=np.zeros(int(place.component.max()) + 1, dtype=np.bool_),
            counts=np.zeros(3, dtype=np.int64),
            recent=steps.ring(rules),
        )
        self._work: Any = maths.scratch(rules, self._state)
        self._safe = False

    def _scores(self, rows: Codes | slice) -> Floats:
        nodes = np.arange(self.n_nodes)[rows]
        out = np.empty((nodes.size, self.n_classes))
        for i, node in enumerate(nodes.tolist()):
            maths.decide_step(self._rules, self._state, self._place, node, 1.0, self._work)
            out[i] = self._work.f
        return out

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: steps.RunRecord) -> None:
        maths.run_rounds(self._rules, self._state, self._place, nodes, codes, u, budget, self._work, record)


def fastonl(
    embedding: Any,
    n_classes: int,
    *,
    alpha: float = 0.1,
    eps: float = 1e-5,
    **protocol: Unpack[steps.LearnerOptions],
) -> FastonlLearner:
    """FastONL (Zhou, Sun and Babanezhad 2023): ask always, relaxed online labelling by local PageRank.

    Parameters
    ----------
    embedding : a `Graph`; or an `Embedding` or (n, d) rows, whose products then are the kernel
    alpha : between 0 and 1, the chance that the walk goes back to its node
    eps : above 0; smaller pushes further

    and `n_classes` and the options of every `Learner`; only a pace draws.

    >>> from querist import datasets
    >>> karate = datasets.load_graph("karate")
    >>> trace = fastonl(karate, 2).run(range(34), karate.codes)
    >>> int(trace.mistaken.sum())
    12
    """
    check_walk(alpha, eps)
    options = steps.settled(steps.LearnerOptions, protocol)
    order = steps.checked_tie_order(options["tie_order"], n_classes)
    place = graph_place(embedding, order) if isinstance(embedding, Graph) else row_place(embedding, order)
    rules = maths.FastonlRules(
        alpha=float(alpha),
        eps=float(eps),
        binary=False,
        n_classes=int(n_classes),
        **steps.spending(options, len(place.rows)),
    )
    return FastonlLearner(place, n_classes, rules=rules, options=options, ids=steps.ids_of(embedding))


fastonl.on_graph = True  # type: ignore[attr-defined]  # it takes the graph itself, unless a rank asks for an embedding


def check_walk(alpha: float, eps: float) -> None:
    """Refuse walks that never come back, and pushes without an end: their number goes with 1 / alpha."""
    if not SHORTEST <= alpha < 1:
        raise InputError(f"alpha = {alpha!r}; it must lie from {SHORTEST:g} to below 1")
    if not (steps.is_finite(eps) and eps >= ROUNDING):
        raise InputError(f"eps = {eps!r}; it must be a finite number from {ROUNDING:g}")


def graph_place(graph: Graph, tie_order: Codes) -> maths.FastonlNodes:
    """The nodes of a graph."""
    n, S = graph.n_nodes, steps.walkable(graph.adjacency)
    return _place(np.empty((n, 0)), S, np.ascontiguousarray(graph.components, dtype=np.int64), tie_order)


def row_place(embedding: Any, tie_order: Codes) -> maths.FastonlNodes:
    """Rows, the longest of length one."""
    rows = steps.checked_rows(embedding)
    rows = rows / max(np.abs(rows).max(), np.finfo(float).tiny)
    rows /= max(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()), np.finfo(float).tiny)
    nothing = np.empty(0, dtype=np.int64)
    S = steps.Walkable(nothing, nothing, np.empty(0), np.empty(0))
    return _place(rows, S, steps.checked_components(embedding, len(rows)), tie_order)


def _place(rows: Floats, S: steps.Walkable, component: Codes, tie_order: Codes) -> maths.FastonlNodes:
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

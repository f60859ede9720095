"""FastONL, a rival that sees every label: Zhou, Sun and Babanezhad, "Fast online node labeling for very large
graphs" (ICML 2023). `fastonl_kernels.py` has the maths.

Taken is the kernel that the paper lists second, of the normalised Laplacian; a column of it is the
personalised PageRank of a node, approximated by local pushes when the node comes. The relaxation and its
constants are those of the authors' published program. Guesses of ours: the default `alpha` (they tune it for
every set; here it was chosen on Citeseer), degrees in units of their median where pushes stop, gradients that
add up where a node comes again, and answers other than one class.
"""

from typing import Annotated, Any, NamedTuple, Unpack

import numpy as np

from querist import Graph
from querist.extend import Range, steps
from querist.online import Learner
from querist_papers.rivals import fastonl_kernels as maths
from querist_papers.types import Codes, Floats

TIE = 1e-12
"""Scores closer than this are equal."""

ALPHAS, EPSILONS = Range(1e-6, lt=1), Range(1e-15)
"""Chances to go back, and sizes of a push: below the one a walk takes hours, since the number of pushes goes
with 1 / alpha, below the other there is rounding alone."""


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
        return {
            "binary rules": self.rules.binary,
            f"alpha = {self.rules.alpha}": not ALPHAS.holds(self.rules.alpha),
            f"eps = {self.rules.eps}": not EPSILONS.holds(self.rules.eps),
            "weights of neighbours that do not fit the degrees": endless,
        }

    def work(self) -> steps.Scratch:
        """Working room of a round."""
        K = self.rules.n_classes
        push = steps.push_room(len(self.state.gradients))
        return steps.scratch(K, 1, K, more=maths.FastonlRoom(np.zeros(K, dtype=np.bool_), np.empty(1), push))


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
    """FastONL (Zhou, Sun and Babanezhad 2023): ask always, relaxed online labelling by local PageRank.

    It knows no variance and says 1.

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

    _steps = steps.Steps.of(maths)
    _parts = FastonlParts
    on_graph = True  # it takes the graph itself, unless a rank asks for an embedding

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        alpha: Annotated[float, ALPHAS] = 0.1,
        eps: Annotated[float, EPSILONS] = 1e-5,
        **protocol: Unpack[steps.LearnerOptions],
    ) -> None:
        options, order = self._begin(embedding, n_classes, protocol)
        place = graph_place(embedding, order) if isinstance(embedding, Graph) else row_place(embedding, order)
        (n, d), K = place.rows.shape, self.n_classes
        rules = maths.FastonlRules(float(alpha), float(eps), False, K, **steps.spending(options, n))
        state = maths.FastonlState(
            gradients=np.zeros((0 if d else n, K)),
            W=np.zeros((K, d)),
            sums=np.array([0.0, 2.0 * n * n]),
            touched=np.zeros(int(place.component.max()) + 1, dtype=np.bool_),
            counts=np.zeros(3, dtype=np.int64),
            recent=steps.ring(rules),
        )
        self._hold(FastonlParts(rules, place, state))


fastonl = FastonlLearner


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

"""The paced learner: our own, for a number of questions that is known beforehand.

It is made of the kernel of personalised PageRank, uncut (embedding/kinds/pagerank.py); of questions where the
two best classes are close and the answer bears on much of the graph; and of a pace that spends most of the
budget early. `paced_kernels.py` has the maths. It is not from the papers.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from querist.embedding import embed
from querist.errors import InputError, refuse
from querist.graph import Graph
from querist.online import checks, loop, paced_kernels as maths
from querist.online.learner import Learner
from querist.online.pace import checked_pace, ring, spending
from querist.online.rules import Scheme
from querist.types import Codes, Floats, Sparse

WARM_UP = 60
"""Rounds that are asked about first, where the budget has twice as many."""

TIE = 1e-12
"""Scores closer than this are equal."""


class PacedLearner(Learner):
    """A learner that spends a budget of questions over a known number of rounds; `paced` makes one.

    It has the protocol of every `Learner`. The variance of a decision is that of the node's score before the
    round, `value` what asking is worth.

    >>> from querist.datasets import karate
    >>> isinstance(paced(karate(), 2, budget=8), PacedLearner)
    True
    """

    _maths: ClassVar[Any] = maths
    _parts: ClassVar[Any] = (maths.PacedRules, maths.PacedNodes, maths.PacedState)

    def __init__(
        self,
        place: maths.PacedNodes,
        n_classes: int,
        *,
        rules: maths.PacedRules,
        seed: int = 0,
        budget: int | None = None,
        ids: checks.Ids | None = None,
    ) -> None:
        self._begin(n_classes, Scheme.MULTICLASS, seed, budget, ids=ids)
        n, d = place.rows.shape
        self._rules: Any = rules
        self._place: Any = place
        self._state: Any = maths.PacedState(
            P=np.eye(d),
            W=np.zeros((self.n_classes, d)),
            b=np.zeros((n, self.n_classes)),
            left=place.own.copy(),
            recent=ring(rules),
            touched=np.zeros(int(place.component.max()) + 1, dtype=np.bool_),
            counts=np.zeros(3, dtype=np.int64),
        )
        self._work: Any = maths.scratch(rules, self._state)
        self._safe = False

    def _scores(self, rows: Codes | slice) -> Floats:
        place, state = self._place, self._state
        n = self.n_nodes
        R = sp.csr_array((place.entries, place.indices, place.indptr), shape=(n, n))
        return np.asarray(place.rows[rows] @ state.W.T + self._rules.local * (R[rows] @ state.b))

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: loop.RunRecord) -> None:
        maths.run_rounds(self._rules, self._state, self._place, nodes, codes, u, self._work, record)


def paced(
    embedding: Any,
    n_classes: int,
    *,
    rounds: int | None = None,
    pace: float = 4.0,
    gamma: float = 0.5,
    local: float = 0.5,
    spread: float = 0.25,
    sharpness: float = 20.0,
    at_random: bool = False,
    seed: int = 0,
    budget: int | None = None,
    tie_order: Iterable[int] | None = None,
) -> PacedLearner:
    """Ours: ask about close calls that bear on much of the graph, early while a budget lasts; learn all.

    Parameters
    ----------
    embedding : a `Graph`, which is embedded by `embed(graph, kind="pagerank")`; an `Embedding`, best of that
        kind; or an (n, d) array of rows. Rows are scaled so that all nodes have the same prior variance
    rounds : how many rounds the budget is for; the number of nodes unless given. Later rounds ask whatever is
        left
    pace : 1 spends the budget evenly over the rounds, more spends it early
    gamma : variance of the noise in an answer, in units of a node's prior variance
    local : 0 to 1, how far scores follow what the rows lack near a node (`Embedding.local`)
    spread : 0 or more; 0 asks about close calls alone, more prefers nodes that are like many others
    sharpness : above 0; how soon a lead among the scores counts as clear
    at_random : ask at the same pace, about random nodes: the control
    budget : the most questions ever asked. Without one nothing is paced, and every node is asked about
    n_classes, seed, tie_order : as for every algorithm; only `at_random` draws

    >>> from querist import datasets
    >>> karate = datasets.load_graph("karate")
    >>> order = np.random.default_rng(0).permutation(34)
    >>> trace = paced(karate, 2, budget=6).run(order, karate.codes)
    >>> trace.questions, int(trace.mistaken.sum())
    (6, 3)
    """
    check_numbers(gamma, local, sharpness)
    refuse({f"spread = {spread!r}; it must be 0 or more, and finite": not 0 <= spread < np.inf})
    ids = checks.ids_of(embedding)
    made = embed(embedding, kind="pagerank") if isinstance(embedding, Graph) else embedding
    rows, R = unit_kernel(checks.checked_rows(made), getattr(made, "local", None))
    n = len(rows)
    spends = spending(None, budget, rounds, n)
    spends["pace"] = checked_pace(pace)
    rules = maths.PacedRules(
        gamma=float(gamma),
        local=float(local),
        sharpness=float(sharpness),
        warm_up=min(WARM_UP, spends["budget"] // 2),
        at_random=bool(at_random),
        binary=False,
        n_classes=int(n_classes),
        **spends,
    )
    place = maths.PacedNodes(
        rows=rows,
        indptr=R.indptr.astype(np.int64),
        indices=R.indices.astype(np.int64),
        entries=np.ascontiguousarray(R.data, dtype=np.float64),
        own=np.ascontiguousarray(R.diagonal()),
        bearing=bearing(rows, R) ** spread,
        component=checks.checked_components(made, n),
        tie=np.full(n, TIE),
        tie_order=checks.checked_tie_order(tie_order, n_classes),
    )
    return PacedLearner(place, n_classes, rules=rules, seed=seed, budget=budget, ids=ids)


def check_numbers(gamma: float, local: float, sharpness: float) -> None:
    """Refuse numbers that the maths has no meaning for."""
    refuse(
        {
            f"gamma = {gamma!r}; it must be above 0 and finite": not 0 < gamma < np.inf,
            f"local = {local!r}; it must be between 0 and 1": not 0 <= local <= 1,
            f"sharpness = {sharpness!r}; it must be above 0 and finite": not 0 < sharpness < np.inf,
        }
    )


def unit_kernel(rows: Floats, local: Sparse | None) -> tuple[Floats, Sparse]:
    """M and R, scaled so that `M M' + R` has a diagonal of ones; zero where a node has neither."""
    n = len(rows)
    R = sp.csr_array((n, n)) if local is None else sp.csr_array(local)
    if R.shape != (n, n):
        raise InputError(f"the local part is of shape {R.shape} for {n} rows; embed the graph again")
    own = np.maximum(R.diagonal(), 0.0)
    # Divided by its largest entry first, a row's sum of squares neither overflows nor vanishes.
    largest = np.maximum(np.abs(rows).max(axis=1), np.sqrt(own))
    largest[largest == 0] = 1.0
    rows = rows / largest[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows) + own / largest / largest)
    lengths[lengths == 0] = 1.0
    scale = 1 / lengths / largest
    entries = R.data * np.repeat(scale, np.diff(R.indptr)) * scale[R.indices]
    return rows / lengths[:, None], sp.csr_array((entries, R.indices, R.indptr), shape=(n, n))


def bearing(rows: Floats, R: Sparse) -> Floats:
    """(n,) `sum_u K_iu^2`, but for the products of the two parts of K."""
    squares = sp.csr_array((R.data**2, R.indices, R.indptr), shape=R.shape)
    return np.asarray(np.einsum("ij,ij->i", rows @ (rows.T @ rows), rows) + squares.sum(axis=1))

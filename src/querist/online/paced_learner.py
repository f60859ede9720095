"""The paced learner: our own, for a number of questions that is known beforehand.

It is made of the kernel of personalised PageRank, uncut (embedding/kinds/pagerank.py); of questions where the
two best classes are close and the answer bears on much of the graph; and of a pace that spends most of the
budget early. `paced_kernels.py` has the maths. It is not from the papers.
"""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from querist.embedding import embed
from querist.errors import InputError
from querist.graph import Graph
from querist.online import checks, paced_kernels as maths
from querist.online.kernels import Scratch, scratch
from querist.online.learner import Learner
from querist.online.loop import Steps
from querist.online.pace import ring, spending
from querist.parameters import Range, check_values, parameters_of
from querist.types import Codes, Floats, Sparse

WARM_UP = 60
"""Rounds that are asked about first, where the budget has twice as many."""

TIE = 1e-12
"""Scores closer than this are equal."""


class PacedParts(NamedTuple):
    """All that a paced learner computes with."""

    rules: maths.PacedRules
    place: maths.PacedNodes
    state: maths.PacedState

    def saved_sizes(self) -> dict[str, int]:
        """Numbers for the names in the shapes of a saved learner; C is the number of problems."""
        ends = len(self.place.rows) + 1
        return {"K": self.rules.n_classes, "C": 1, "ends": ends, "ring": ring(self.rules).size}

    def saved_faults(self) -> dict[str, Any]:
        """What kernels take for granted beside shapes and ranges."""
        checks.check_neighbours(self.place)
        check_values(parameters_of(Paced, ("budget",)), self.rules._asdict())
        return {"binary rules": self.rules.binary}

    def work(self) -> Scratch:
        """Working room of a round."""
        return scratch(self.rules.n_classes, 1, *self.state.W.shape)


class Paced(Learner):
    """Ours: ask about close calls that bear on much of the graph, early while a budget lasts; learn all.

    It has the protocol of every `Learner`. The variance of a decision is that of the node's score before the
    round, `value` what asking is worth.

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
    >>> trace = Paced(karate, 2, budget=6).run(order, karate.codes)
    >>> trace.questions, int(trace.mistaken.sum())
    (6, 3)
    """

    _steps = Steps.of(maths)
    _parts = PacedParts

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        rounds: int | None = None,
        pace: Annotated[float, Range(gt=0)] = 4.0,
        gamma: Annotated[float, Range(gt=0)] = 0.5,
        local: Annotated[float, Range(0, 1)] = 0.5,
        spread: Annotated[float, Range(0)] = 0.25,
        sharpness: Annotated[float, Range(gt=0)] = 20.0,
        at_random: bool = False,
        seed: int = 0,
        budget: int | None = None,
        tie_order: Iterable[int] | None = None,
    ) -> None:
        given = {"seed": seed, "budget": budget, "rounds": rounds, "tie_order": tie_order}
        options, order = self._begin(embedding, n_classes, given)
        made = embed(embedding, kind="pagerank") if isinstance(embedding, Graph) else embedding
        rows, R = unit_kernel(checks.checked_rows(made), getattr(made, "local", None))
        n, d = rows.shape
        spends = spending(options, n)
        spends["pace"] = float(pace)
        rules = maths.PacedRules(
            gamma=float(gamma),
            local=float(local),
            sharpness=float(sharpness),
            warm_up=min(WARM_UP, spends["budget"] // 2),
            at_random=bool(at_random),
            binary=False,
            n_classes=self.n_classes,
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
            tie_order=order,
        )
        state = maths.PacedState(
            P=np.eye(d),
            W=np.zeros((self.n_classes, d)),
            b=np.zeros((n, self.n_classes)),
            left=place.own.copy(),
            recent=ring(rules),
            touched=np.zeros(int(place.component.max()) + 1, dtype=np.bool_),
            counts=np.zeros(3, dtype=np.int64),
        )
        self._hold(PacedParts(rules, place, state))

    def _scores(self, rows: Codes | slice) -> Floats:
        place, state = self._place, self._state
        n = self.n_nodes
        R = sp.csr_array((place.entries, place.indices, place.indptr), shape=(n, n))
        return np.asarray(place.rows[rows] @ state.W.T + self._rules.local * (R[rows] @ state.b))


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

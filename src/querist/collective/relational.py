"""Neighbours' votes with relaxation labelling: wvRN+RL; and the harmonic solution it heads for.

The weighted-vote relational neighbour classifier (Macskassy and Provost 2007; mrgm15, section 4.3) knows
edges only. All unlabelled nodes start at the labelled class prior and move together:

    c_i <- beta_t sum_j S_ij c_j / d_i + (1 - beta_t) c_i,   beta_t = decay^t, t = 1, 2, ...

Labelled nodes stand still; a node without an edge keeps the prior. The first step already uses
`decay`, not 1.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from querist.collective.classifier import Classifier
from querist.collective.problem import Inference, Problem, smoothness
from querist.compiled import compiled
from querist.operator.harmonic import harmonic, reached
from querist.parameters import Range
from querist.progress import count


@compiled
def relax(
    indptr: Any, indices: Any, data: Any, fixed: Any, beta: float, C: Any, out: Any, roughness: Any
) -> float:
    """One synchronous step from `C` to `out` (n, K); the largest change of a value.

    `roughness[0]` becomes `tr C'LC`, which costs nothing beside the step.
    """
    most, rough, K = 0.0, 0.0, C.shape[1]
    for i in range(C.shape[0]):
        own, row, degree = C[i], out[i], 0.0
        for k in range(K):
            row[k] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            degree += data[p]
            neighbour = C[indices[p]]
            for k in range(K):
                row[k] += data[p] * neighbour[k]
        for k in range(K):
            rough += own[k] * (degree * own[k] - row[k])
        if degree > 0 and not fixed[i]:
            for k in range(K):
                row[k] = beta * (row[k] / degree) + (1 - beta) * own[k]
                most = max(most, abs(row[k] - own[k]))
        else:
            for k in range(K):
                row[k] = own[k]
    roughness[0] = rough
    return most


@dataclass(eq=False, repr=False, kw_only=True)
class WVRN(Classifier):
    """Weighted-vote relational neighbours with relaxation labelling (wvRN+RL): edges only.

    Parameters
    ----------
    max_iter : steps; 1000 in the paper
    decay : of the step, above 0 and at most 1
    tol : stop when no probability changes by more

    >>> from querist.datasets import load_graph
    >>> karate = load_graph("karate")
    >>> model = WVRN().fit(karate, {node: karate.labels[node] for node in (0, 33)})
    >>> print(f"{(model.labels_ == karate.labels).mean():.3f}")
    0.971
    """

    max_iter: Annotated[int, Range(1)] = 1000
    decay: Annotated[float, Range(le=1, gt=0)] = 0.99
    tol: Annotated[float, Range(0)] = 1e-9

    def infer(self, problem: Problem) -> Inference:
        """Relaxation labelling from the class prior."""
        S = problem.graph.adjacency
        C, other = problem.rows.copy(), np.empty_like(problem.rows)
        change: list[float] = []
        objective: list[float] = []
        rough = np.empty(1)
        for t in range(1, self.max_iter + 1):
            beta = float(self.decay) ** t
            change.append(relax(S.indptr, S.indices, S.data, problem.seeds, beta, C, other, rough))
            objective.append(-float(rough[0]))  # of the step before
            C, other = other, C
            count(self.progress, t, self.max_iter, "iterations")
            if change[-1] <= self.tol:
                break
        objective = [*objective[1:], smoothness(problem.graph, C)]
        return Inference(C, reached(S, np.flatnonzero(problem.seeds)), objective, change)


@dataclass(eq=False, repr=False, kw_only=True)
class Harmonic(Classifier):
    """Label propagation in closed form: every unlabelled node is the mean of its neighbours.

    Parameters
    ----------
    ridge : how strongly each node is tied to the labelled class prior

    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> Harmonic().fit(path, {"a": "left", "d": "right"}).probabilities_.round(3)
    array([[1.   , 0.   ],
           [0.667, 0.333],
           [0.333, 0.667],
           [0.   , 1.   ]])
    """

    ridge: Annotated[float, Range(0)] = 0.0

    def infer(self, problem: Problem) -> Inference:
        """The harmonic solution (`querist.operator.harmonic`)."""
        S, seeds = problem.graph.adjacency, np.flatnonzero(problem.seeds)
        P = harmonic(S, seeds, problem.rows[seeds], ridge=float(self.ridge), prior=problem.prior)
        return Inference(P, reached(S, seeds))

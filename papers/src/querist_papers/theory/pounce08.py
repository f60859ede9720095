"""Bounds of pounce08: POUNCE by covers and energy, nearest neighbour by separating covers.

Theorem 2. For an irreducible Laplacian, or a positive definite signed one, and any rho > 0

    |M| <= N(X, rho) + |u|^2 rho + 1,

X the nodes seen, by squared distance (effective resistance), u any labelling with `u_i y_i >= 1` at the
mistakes; by Theorem 5 the best is the harmonic u*. The value here is the least over all rho.

Theorem 8. On the exponential graph `exp(-a d)` of points, for any `a > 3 ln(4|X|)/(delta - rho)`,

    |M| <= C° + 1 <= N° + 1,

C° and N° the component and ball separating-cover numbers. N° alone bounds nearest neighbour. (The proof
gives `a > ln(4 |X|^3)/epsilon`; the stated constant is larger, and safe.)

Equation 4. The perceptron with the kernel `L+ + R_G`, R_G the resistance diameter, errs at most
`2 |u*|^2 R_G + 2` times.

Section 6. On a line of n nodes, cut once, segments of diameter rho make Theorem 2 read
`|M| <= n/(rho + 1) + 4 rho + 1`, about `4 sqrt(n)`; the perceptron has `8 n - 6` by eq. 4, and the halving
algorithm `log2(2n)`. POUNCE does better than its bound: no order and no cut costs it more than
`ceil(log2 n) + 1` (`most_mistakes_on_line`, n up to 32).
"""

import math

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from querist import Embedding, Graph, InputError, effective_resistance, embed
from querist.extend import compiled
from querist_papers.theory.bounds import Bound
from querist_papers.theory.covers import cover_profile, separating_cover_numbers, separation
from querist_papers.theory.labelling import minimiser, resistance_diameter
from querist_papers.types import Bools, Codes, Floats


def theorem_2(graph: Graph, nodes: Codes, signs: Codes, mistaken: Bools) -> Bound:
    """The bound on POUNCE's mistakes in one binary problem.

    Parameters
    ----------
    graph : the graph it ran on
    nodes, signs, mistaken : node, label +-1 and whether it was a mistake, one entry a round
    """
    R = effective_resistance(graph)
    seen, wrong = np.unique(nodes), np.unique(nodes[mistaken])
    consistent = _one_label_a_node(nodes, signs)
    label = np.zeros(graph.n_nodes)
    label[nodes] = signs
    least = minimiser(graph, wrong, label[wrong])[1] if wrong.size else 0.0
    profile = cover_profile(R[np.ix_(seen, seen)])
    best = min(profile, key=lambda cover: cover.number + least * cover.rho)
    return Bound(
        source="pounce08, Theorem 2",
        what="mistakes",
        value=best.number + least * best.rho + 1,
        observed=float(mistaken.sum()),
        terms={
            "cover number": float(best.number),
            "rho": best.rho,
            "energy of u*": least,
            "energy x rho": least * best.rho,
        },
        assumptions={"every node has one label": consistent},
        note="the least over all rho; "
        + ("exact covers" if all(c.exact for c in profile) else "greedy covers, so the least may be lower"),
    )


def theorem_8(distance: Floats, codes: Codes, mistakes: float, a: float) -> Bound:
    """The bound on POUNCE's mistakes on the exponential graph of points.

    `distance` (n, n) and `codes` (n,) are of all points, `mistakes` those of the run, `a` the scale of
    `exp(-a d)`.
    """
    balls, components = separating_cover_numbers(distance, codes)
    if components is None or balls is None:
        raise InputError("two points coincide and have different labels: no cover separates them; mend them")
    needed = scale_needed(distance, codes)
    return Bound(
        source="pounce08, Theorem 8",
        what="mistakes",
        value=components + 1.0,
        observed=float(mistakes),
        terms={
            "component separating-cover number": float(components),
            "separating-cover number": float(balls.number),
            "a": a,
            "a needed": needed,
        },
        assumptions={f"a > {needed:.4g}": a > needed, "two classes": np.unique(codes).size <= 2},
        note="" if balls.exact else "the separating-cover number is greedy; C° is exact",
    )


def perceptron_rows(graph: Graph) -> Embedding:
    """Rows whose inner products are the kernel of eq. 4: the pseudo-inverse and the resistance diameter."""
    root = float(np.sqrt(resistance_diameter(graph)))
    return embed(graph, rank=graph.n_nodes, normalised=False, constant=root, cache=False)


def equation_4(graph: Graph, nodes: Codes, signs: Codes, mistaken: Bools) -> Bound:
    """The bound on the perceptron's mistakes in one binary problem; the arguments of `theorem_2`."""
    seen, first = np.unique(nodes, return_index=True)
    least, diameter = minimiser(graph, seen, signs[first].astype(np.float64))[1], resistance_diameter(graph)
    return Bound(
        source="pounce08, equation 4",
        what="mistakes",
        value=2 * least * diameter + 2,
        observed=float(mistaken.sum()),
        terms={"energy of u*": least, "resistance diameter": diameter},
        assumptions={"every node has one label": _one_label_a_node(nodes, signs)},
    )


def scale_needed(distance: Floats, codes: Codes) -> float:
    """The `a` beyond which Theorem 8 holds: `3 ln(4n)/(delta - rho)`, with the smallest rho that serves."""
    d = np.asarray(distance)
    delta, below = separation(d, codes)
    if not math.isfinite(delta):
        return 0.0
    # Heights of single linkage are the edges that join components; a rho below the last of them splits some.
    joins = linkage(squareform(np.minimum(d, delta + 1), checks=False), "single")[:, 2]
    return float(3 * math.log(4 * len(d)) / (delta - joins[joins <= below].max(initial=0.0)))


def nearest_neighbour(distance: Floats, codes: Codes, mistakes: float) -> Bound:
    """The separating-cover number, which bounds nearest neighbour by that discrepancy (section 5)."""
    balls, _ = separating_cover_numbers(distance, codes)
    return Bound(
        source="pounce08, section 5",
        what="mistakes",
        value=math.inf if balls is None else float(balls.number),
        observed=float(mistakes),
        terms={} if balls is None else {"separating-cover number": float(balls.number), "rho": balls.rho},
        assumptions={"no two coinciding points have different labels": balls is not None},
        note="" if balls is None or balls.exact else "greedy cover, so the number may be lower",
    )


def theorem_2_on_line(n: int) -> float:
    """Theorem 2 on a line of n nodes that is cut once: the least over rho of `ceil(n/(rho + 1)) + 4 rho + 1`.

    >>> [theorem_2_on_line(n) for n in (16, 64, 256)]
    [13.0, 29.0, 61.0]
    """
    rho = np.arange(n)
    return float((np.ceil(n / (rho + 1)) + 4 * rho + 1).min())


def halving_on_line(order: Codes, labels: Codes) -> Bools:
    """(rounds,) mistakes of the majority of the labellings with at most one cut that agree with all answers.

    There are 2n of them at first, and every mistake halves what is left: at most `log2(2n)`.
    """
    n = len(labels)
    cut = np.tril(np.ones((n, n), dtype=np.int64))  # row k: k + 1 nodes of class 1, the others of class 0
    guesses = np.concatenate([cut, 1 - cut])
    mistaken = np.zeros(order.size, dtype=np.bool_)
    for t, node in enumerate(order.tolist()):
        votes = guesses[:, node]
        mistaken[t] = (2 * votes.sum() > votes.size) != labels[node]
        guesses = guesses[votes == labels[node]]
    return mistaken


def most_mistakes_on_line(n: int) -> int:
    """The most mistakes of POUNCE on a line of n nodes that is cut once, over all orders, cuts and labels.

    Only mistakes change its state, so that the search follows the orders in which every node is one.
    """
    w, nodes, signs = np.zeros((n + 1, n)), np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1)
    # Labels are positive on the left: the mirror image brings nothing new.
    return int(_worst(0, n, w, nodes, signs, -1, n))


@compiled
def _worst(m: int, n: int, w: Floats, nodes: Codes, signs: Floats, left: int, right: int) -> int:
    """The most mistakes in all, after m; nodes up to `left` are positive, those from `right` on negative."""
    most = m
    for i in range(n):
        near, steps = -1, n
        for k in range(m):
            if abs(nodes[k] - i) < steps:
                near, steps = k, abs(nodes[k] - i)
        if steps == 0:
            continue
        start = nodes[near]
        for y in (1.0, -1.0):
            if (y > 0 and i >= right) or (y < 0 and i <= left):
                continue
            rise = 0.0
            if m > 0:
                if y * (signs[near] + w[m, i] - w[m, start]) > 1e-9:
                    continue
                rise = (y - signs[near] - w[m, i] + w[m, start]) / steps
            for x in range(n):  # v_i - v_start climbs from start to i, a step a node, and is level elsewhere
                along = min(max(x, min(i, start)), max(i, start)) - start
                w[m + 1, x] = w[m, x] + rise * abs(along)
            nodes[m], signs[m] = i, y
            sides = (max(left, i), right) if y > 0 else (left, min(right, i))
            most = max(most, _worst(m + 1, n, w, nodes, signs, sides[0], sides[1]))
    return most


def _one_label_a_node(nodes: Codes, signs: Codes) -> bool:
    pairs = np.unique(np.column_stack([nodes, signs]), axis=0)
    return bool(len(pairs) == np.unique(nodes).size)

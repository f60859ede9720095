"""Mistakes as a graph grows: on clusters (pounce08, section 2.2), and on a line that is cut once (section 6).

Three clusters are hard for the perceptron, and not for POUNCE. The published constants, 42 and 20, are limits
for any number of links; here the bounds are computed on each graph: eq. 4 for the perceptron, Theorem 2 at
its best rho for POUNCE.

The line is easy for halving, harder for POUNCE's bound, and hardest for the perceptron's. The paper gives the
orders: O(log n) for halving, O(sqrt n) by Theorem 2, O(n) by eq. 4. POUNCE itself does better than its bound:
a search of all orders finds at most `ceil(log2 n) + 1` mistakes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from querist.experiment import Result, charts
from querist_papers import panels
from querist_papers.item import Cases, Entry, Figure, Found, Label, Shown, Statement, Table
from querist_papers.pounce08.tasks import LOOKS, PAPER, case, counted, largest, stated

BOUND_OF = "bound of "


def _draw(
    found: Mapping[Label, Result],
    parts: Sequence[str],
    sizes: Sequence[int],
    bounds: Mapping[str, str],
    x_label: str,
    wide: int,
) -> Callable[[Any], None]:
    """A panel per part: mistakes as it grows, thin lines for the bounds; both axes are logarithmic."""

    def draw(canvas: Any) -> None:
        sides = canvas.subplots(1, len(parts), squeeze=False)[0]
        for axes, part in zip(sides, parts, strict=True):
            lines = {name: [found[part, name, size] for size in sizes] for name in bounds}
            series = {name: (sizes, panels.columns(line, "mistakes")) for name, line in lines.items()}
            labels: dict[str, Any] = {"x_label": x_label, "y_label": "mistakes", "log_x": True, "log_y": True}
            panels.panel(axes, series, LOOKS, title=part if len(parts) > 1 else "", **labels)
            for name, line in lines.items():
                look = charts.look_of(LOOKS.index(name)) | {"marker": "", "linewidth": 0.9}
                axes.plot(sizes, [each.mean("bound") for each in line], label=BOUND_OF + name, **look)
            axes.set_ylim(bottom=1)
            panels.plain_log(axes, sizes, [mark * 10**k for k in range(4) for mark in (1, 2, 5)])
        panels.shared_legend(canvas, sides, (*LOOKS, *(BOUND_OF + name for name in bounds)), wide)

    return draw


# -- three clusters --------------------------------------------------------------

CLIQUES, QUICK_CLIQUES = (6, 12, 24, 48, 96, 192), (6, 12, 24, 48)
BOUNDS = {"POUNCE": "theorem 2", "perceptron": "equation 4"}
GRAPHS = {"two cliques": "two_cliques", "three clusters": "clusters"}
LIMITS = {("three clusters", "POUNCE"): 20, ("two cliques", "perceptron"): 42}
"""What the paper says that the bounds never pass, however large the cliques."""

_clusters = Cases(
    {
        (graph, name, size): case(name, world, size=size, bound=bound)
        for graph, world in GRAPHS.items()
        for size in CLIQUES
        for name, bound in BOUNDS.items()
    },
    few=5,
    hurried=lambda label: label[2] in QUICK_CLIQUES,
)


@_clusters.item(
    PAPER, "Cliques of 6 to 192 nodes, 20 random orders each; the perceptron has the kernel of eq. 4."
)
def three_clusters(found: Found) -> Shown:
    """Three clusters: the perceptron against POUNCE."""
    sizes = sorted({int(size) for *_, size in found})
    rows: list[list[Entry]] = []
    for graph in GRAPHS:
        for size in sizes:
            row: list[Entry] = [graph, size]
            for name in BOUNDS:
                line = found[graph, name, size]
                row += [counted(line), int(largest(line)), round(line.mean("bound"), 1)]
            rows.append(row)
    heads = [f"{name}: {what}" for name in BOUNDS for what in ("mistakes", "most", "bound")]
    table = Table(
        "Mistakes as the cliques grow",
        ["graph", "clique size", *heads],
        rows,
        "Two cliques are joined by three quarters as many edges as a clique has nodes; the third is joined "
        "to each by one. The first clique is positive. Mistakes: mean ± deviation over random orders, and "
        "the most; bounds: Theorem 2 at its best rho, and eq. 4.",
        digits=1,
    )
    over = [
        largest(found[graph, name, size], "bound") > limit
        for (graph, name), limit in LIMITS.items()
        for size in sizes
    ]
    perceptron = [line for (_, name, _), line in found.items() if name == "perceptron"]
    equation = "the perceptron errs at most 2 |u*|^2 R + 2 times"
    says = "the bounds are at most 20 for POUNCE on three clusters, 42 for the perceptron on two cliques"
    statements = [
        stated("three_clusters", "Equation 4", equation, perceptron),
        Statement(PAPER, "three_clusters", "Section 2.2", says, over),
    ]
    caption = (
        "Mistakes as the cliques grow. Lines with markers: means over random orders, with bands of one "
        "standard deviation; thin lines: the bounds, eq. 4 and Theorem 2. Both axes are logarithmic."
    )
    ends = {
        name: [largest(found["three clusters", name, s]) for s in (sizes[0], sizes[-1])] for name in BOUNDS
    }
    growth = ", ".join(f"{name} from {first:.0f} to {last:.0f}" for name, (first, last) in ends.items())

    draw = _draw(found, tuple(GRAPHS), sizes, BOUNDS, "nodes of a clique", 6)
    return Shown(
        [table],
        [Figure("cliques", draw, caption, (7.4, 3.6))],
        statements=statements,
        remarks=[
            f"Most mistakes on three clusters, from cliques of {sizes[0]} to cliques of {sizes[-1]}: "
            f"{growth}.",
            "20 and 42 are limits for any number of links; ours are those of these graphs.",
        ],
    )


# -- the line --------------------------------------------------------------------

LENGTHS, QUICK_LENGTHS = (16, 64, 256, 1024), (16, 64, 256)
SEARCHED = (8, 16, 32)
ON_LINE = {"POUNCE": "theorem 2 on the line", "perceptron": "equation 4", "halving": "halving"}
GROWTH = {"POUNCE": 0.5, "perceptron": 1.0}
"""As which power of n a bound grows, as the paper says."""

RANDOM, BISECTED, EVERY = "random", "bisected", "every order"
_lines = Cases(
    {
        **{
            (order, name, n): case(name, "line", repeats, n=n, bisected=order == BISECTED, bound=bound)
            for order, repeats in ((RANDOM, 20), (BISECTED, 1))
            for n in LENGTHS
            for name, bound in ON_LINE.items()
        },
        **{
            (EVERY, "POUNCE", n): case("POUNCE", "line", 1, n=n, bisected=True, bound=EVERY) for n in SEARCHED
        },
    },
    few=3,
    hurried=lambda label: label[2] in (*QUICK_LENGTHS, *SEARCHED),
)


@_lines.item(PAPER, "Lines of 16 to 1024 nodes, cut once; 20 random cuts and orders, and a bisecting order.")
def line(found: Found) -> Shown:
    """The line graph: mistakes against the square root of n."""
    sizes = sorted({int(n) for order, _, n in found if order == RANDOM})
    rows: list[list[Entry]] = []
    for n in sizes:
        row: list[Entry] = [n, float(np.sqrt(n))]
        for name in ON_LINE:
            by_chance, bisected = found[RANDOM, name, n], found[BISECTED, name, n]
            row += [counted(by_chance), int(largest(bisected)), largest(by_chance, "bound")]
        rows.append(row)
    heads = [f"{name}: {what}" for name in ON_LINE for what in ("random order", "bisected", "bound")]
    searched: list[list[Entry]] = [
        [
            n,
            int(np.ceil(np.log2(n))) + 1,
            *(int(largest(found[EVERY, "POUNCE", n], m)) for m in ("bound", "mistakes")),
        ]
        for n in SEARCHED
    ]
    off = [abs(_exponent(found, name, sizes[-2:]) - power) > 0.05 for name, power in GROWTH.items()]
    says = "the bound grows as sqrt n for POUNCE, as n for the perceptron"
    caption = (
        "Mistakes on a line of n nodes that is cut once. Lines with markers: means over random cuts and "
        "orders, with bands of one standard deviation; thin lines: the bounds. Both axes are logarithmic."
    )
    draw = _draw(found, (RANDOM,), sizes, ON_LINE, "nodes of the line, n", 3)
    return Shown(
        [
            Table(
                "Mistakes on a line that is cut once",
                ["n", "sqrt n", *heads],
                rows,
                "Random: the cut and the order, mean ± deviation. Bisected: the first node against all "
                "others, in the order of a search for the cut. Bounds: Theorem 2, the least over rho of "
                "ceil(n/(rho + 1)) + 4 rho + 1; eq. 4, which is 8 n - 6; and log2(2n).",
                digits=1,
            ),
            Table(
                "The most mistakes of POUNCE over all orders and cuts",
                ["n", "ceil(log2 n) + 1", "over all orders", "bisected"],
                searched,
            ),
        ],
        [Figure("line", draw, caption, (5.6, 4.2))],
        statements=[Statement(PAPER, "line", "Section 6", says, off)],
        remarks=[
            "The exponent of a bound is read between the two largest n; the paper says O(sqrt n) for POUNCE "
            "and O(n) for the perceptron.",
            "The bound of POUNCE grows as sqrt n, its mistakes do not: no order and no cut costs it more "
            f"than ceil(log2 n) + 1, searched for n = {', '.join(map(str, SEARCHED))}. That is the rate of "
            "halving, which the paper asks an efficient algorithm for; on this graph POUNCE has it. It is "
            "the perceptron whose mistakes grow about as sqrt n in random orders.",
        ],
    )


def _exponent(found: Found, name: str, sizes: list[int]) -> float:
    low, high = (largest(found[RANDOM, name, n], "bound") for n in sizes)
    return float(np.log(high / low) / np.log(sizes[1] / sizes[0]))

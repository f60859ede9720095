"""The line graph (pounce08, section 6): cut once, it is easy for halving, harder for POUNCE's bound, and
hardest for the perceptron's.

The paper gives the orders: O(log n) for halving, O(sqrt n) by Theorem 2, O(n) by eq. 4. POUNCE itself does
better than its bound: a search of all orders finds at most `ceil(log2 n) + 1` mistakes.
"""

from typing import Any

import numpy as np

from querist_papers import panels
from querist_papers.item import Cases, Entry, Figure, Found, Shown, Statement, Table
from querist_papers.pounce08.play import BOUND_OF, LOOKS, PAPER, case, counted, draw_growth, largest

SIZES, QUICK_SIZES = (16, 64, 256, 1024), (16, 64, 256)
SEARCHED = (8, 16, 32)
BOUNDS = {"POUNCE": "theorem 2 on the line", "perceptron": "equation 4", "halving": "halving"}
GROWTH = {"POUNCE": 0.5, "perceptron": 1.0}
"""As which power of n a bound grows, as the paper says."""

RANDOM, BISECTED, EVERY = "random", "bisected", "every order"
_cases = Cases(
    {
        **{
            (order, name, n): case(name, "line", repeats, n=n, bisected=order == BISECTED, bound=bound)
            for order, repeats in ((RANDOM, 20), (BISECTED, 1))
            for n in SIZES
            for name, bound in BOUNDS.items()
        },
        **{
            (EVERY, "POUNCE", n): case("POUNCE", "line", 1, n=n, bisected=True, bound=EVERY) for n in SEARCHED
        },
    },
    few=3,
    hurried=lambda label: label[2] in (*QUICK_SIZES, *SEARCHED),
)


@_cases.item(PAPER, "Lines of 16 to 1024 nodes, cut once; 20 random cuts and orders, and a bisecting order.")
def line(found: Found) -> Shown:
    """The line graph: mistakes against the square root of n."""
    sizes = sorted({int(n) for order, _, n in found if order == RANDOM})
    rows: list[list[Entry]] = []
    for n in sizes:
        row: list[Entry] = [n, float(np.sqrt(n))]
        for name in BOUNDS:
            by_chance, bisected = found[RANDOM, name, n], found[BISECTED, name, n]
            row += [counted(by_chance), int(largest(bisected)), largest(by_chance, "bound")]
        rows.append(row)
    heads = [f"{name}: {what}" for name in BOUNDS for what in ("random order", "bisected", "bound")]
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
        [Figure("line", lambda canvas: _draw(canvas, found, sizes), caption, (5.6, 4.2))],
        statements=[Statement(PAPER, "line", "Section 6", says, len(off), sum(off))],
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


def _draw(canvas: Any, found: Found, sizes: list[int]) -> None:
    axes = canvas.subplots()
    lines = {name: [found[RANDOM, name, n] for n in sizes] for name in BOUNDS}
    draw_growth(axes, lines, sizes, x_label="nodes of the line, n")
    panels.shared_legend(canvas, [axes], (*LOOKS, *(BOUND_OF + name for name in BOUNDS)), columns=3)

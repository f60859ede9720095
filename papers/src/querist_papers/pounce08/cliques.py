"""Three clusters are hard for the perceptron, and not for POUNCE (pounce08, section 2.2).

The published constants, 42 and 20, are limits for any number of links; here the bounds are computed on each
graph: eq. 4 for the perceptron, Theorem 2 at its best rho for POUNCE.
"""

from typing import Any

from querist_papers import panels
from querist_papers.item import Cases, Entry, Figure, Found, Shown, Statement, Table
from querist_papers.pounce08.play import BOUND_OF, LOOKS, PAPER, case, counted, draw_growth, largest, stated

SIZES, QUICK_SIZES = (6, 12, 24, 48, 96, 192), (6, 12, 24, 48)
BOUNDS = {"POUNCE": "theorem 2", "perceptron": "equation 4"}
GRAPHS = {"two cliques": "two_cliques", "three clusters": "clusters"}
LIMITS = {("three clusters", "POUNCE"): 20, ("two cliques", "perceptron"): 42}
"""What the paper says that the bounds never pass, however large the cliques."""

_cases = Cases(
    {
        (graph, name, size): case(name, world, size=size, bound=bound)
        for graph, world in GRAPHS.items()
        for size in SIZES
        for name, bound in BOUNDS.items()
    },
    few=5,
    hurried=lambda label: label[2] in QUICK_SIZES,
)


@_cases.item(
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
    statements = [
        stated(
            "three_clusters", "Equation 4", "the perceptron errs at most 2 |u*|^2 R + 2 times", perceptron
        ),
        Statement(
            *(PAPER, "three_clusters", "Section 2.2"),
            "the bounds are at most 20 for POUNCE on three clusters, 42 for the perceptron on two cliques",
            runs=len(over),
            broken=sum(over),
        ),
    ]
    caption = (
        "Mistakes as the cliques grow. Lines with markers: means over random orders, with bands of one "
        "standard deviation; thin lines: the bounds, eq. 4 and Theorem 2. Both axes are logarithmic."
    )
    ends = {
        name: [largest(found["three clusters", name, s]) for s in (sizes[0], sizes[-1])] for name in BOUNDS
    }
    growth = ", ".join(f"{name} from {first:.0f} to {last:.0f}" for name, (first, last) in ends.items())

    def draw(canvas: Any) -> None:
        sides = canvas.subplots(1, len(GRAPHS))
        for axes, graph in zip(sides, GRAPHS, strict=True):
            lines = {name: [found[graph, name, size] for size in sizes] for name in BOUNDS}
            draw_growth(axes, lines, sizes, title=graph, x_label="nodes of a clique")
        panels.shared_legend(canvas, sides, (*LOOKS, *(BOUND_OF + name for name in BOUNDS)))

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

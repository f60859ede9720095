"""Three clusters are hard for the perceptron, and not for POUNCE (pounce08, section 2.2).

The published constants, 42 and 20, are limits for any number of links; here the bounds are computed on each
graph: eq. 4 for the perceptron, Theorem 2 at its best rho for POUNCE.
"""

from collections.abc import Sequence
from typing import Any

from querist.experiment.item import Entry, Figure, Item, Number, Shown, Table
from querist.experiment.results import Result
from querist.papers import panels
from querist.papers.cases import Cases, Label
from querist.papers.pounce08.play import BOUND_OF, LOOKS, PAPER, case, counted, draw_growth, largest

SIZES, QUICK_SIZES = (6, 12, 24, 48, 96, 192), (6, 12, 24, 48)
BOUNDS = {"POUNCE": "theorem 2", "perceptron": "equation 4"}
GRAPHS = {"two cliques": "two_cliques", "three clusters": "clusters"}

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


def _show(results: Sequence[Result]) -> Shown:
    found = _cases.read(results)
    sizes = _sizes(found)
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
    limits = {
        name: max(largest(found[graph, name, size], "bound") for size in sizes)
        for name, graph in (("POUNCE", "three clusters"), ("perceptron", "two cliques"))
    }
    numbers = [
        Number(PAPER, "three_clusters", "three clusters", "POUNCE", "bound", 20, limits["POUNCE"]),
        Number(PAPER, "three_clusters", "two cliques", "perceptron", "bound", 42, limits["perceptron"]),
    ]
    caption = (
        "Mistakes as the cliques grow. Lines with markers: means over random orders, with bands of one "
        "standard deviation; thin lines: the bounds, eq. 4 and Theorem 2. Both axes are logarithmic."
    )
    return Shown(
        [table],
        [Figure("cliques", lambda canvas: _draw(canvas, found), caption, (7.4, 3.6))],
        numbers,
        [_growth(found), "20 and 42 are limits for any number of links; ours are those of these graphs."],
    )


def _sizes(found: dict[Label, Result]) -> list[int]:
    return sorted({int(size) for *_, size in found})


def _growth(found: dict[Label, Result]) -> str:
    said, sizes = [], _sizes(found)
    for name in BOUNDS:
        first, last = (largest(found["three clusters", name, size]) for size in (sizes[0], sizes[-1]))
        said.append(f"{name} from {first:.0f} to {last:.0f}")
    return (
        f"Most mistakes on three clusters, from cliques of {sizes[0]} to cliques of {sizes[-1]}: "
        f"{', '.join(said)}."
    )


def _draw(canvas: Any, found: dict[Label, Result]) -> None:
    table, sizes = panels.grid(canvas, 1, len(GRAPHS))[0], _sizes(found)
    for axes, graph in zip(table, GRAPHS, strict=True):
        lines = {name: [found[graph, name, size] for size in sizes] for name in BOUNDS}
        draw_growth(axes, lines, sizes, title=graph, x_label="nodes of a clique")
    panels.shared_legend(canvas, table, (*LOOKS, *(BOUND_OF + name for name in BOUNDS)))


THREE_CLUSTERS = Item(
    PAPER,
    "three_clusters",
    "Three clusters: the perceptron against POUNCE",
    "Cliques of 6 to 192 nodes, 20 random orders each; the perceptron has the kernel of eq. 4.",
    _cases.plan,
    _show,
)

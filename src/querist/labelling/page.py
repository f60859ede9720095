"""What a labelling found, as one HTML file: how far to trust it, where it is in doubt, what to label next."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from querist.atomic import check_writable
from querist.errors import InputError
from querist.labelling.decisions.summary import class_sizes, class_words, falling, rarest, sentences, to_check
from querist.labelling.influence import Influences
from querist.labelling.suggest import worth_labelling
from querist.lazy import needing
from querist.progress import Progress, silent
from querist.report import charts
from querist.report.drawing import class_look, draw, draw_on
from querist.report.figures import PAGE_SIZE, Figure, house_style
from querist.report.page import page
from querist.tables.formats import some
from querist.tables.labels import in_words
from querist.tables.names import NodeTexts
from querist.types import Codes

CLASSES_SHOWN = 20
ENOUGH = 20
"""Held-out labels below which a reliability curve would be noise."""


def check_report(path: Path) -> Path:
    """The path of a report, refused before the work if it cannot be one."""
    place = path.expanduser()
    if place.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page; name a file such as report.html")
    return check_writable(place)


def report(
    labelling: Any,
    found: Influences | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    progress: Progress = silent,
    rank: Hashable = None,
    texts: NodeTexts | None = None,
) -> str:
    """The page: all that `templates/labelling.html` shows.

    `notes` say what was read, `command` how to do it again. `rank` is the class that is looked for; the
    rarest if there is one, by default. `texts` has the names of nodes.
    """
    texts = texts or NodeTexts()
    graph, choice, estimate = labelling.graph, labelling.choice, labelling.estimate
    sizes = class_sizes(labelling)
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))  # the largest class has rank 0
    method = f"a {choice.method}" if choice.method.startswith("combination") else choice.method
    how = "How the accuracy was estimated" if estimate.is_known else "The accuracy is unknown"
    progress(0.1, "drawing the graph")

    def said(row: int) -> str:
        own = labelling.at(row)
        return str(replace(own, node=texts.called(row, own.node)))

    drawing = draw(**_nodes_drawn(labelling, ranks), said=said)
    progress(0.5, "looking for what to label next")
    return page(
        "labelling",
        title=f"Labels for {graph.name}",
        lede=f"{some(graph.n_nodes, 'node')} and {some(graph.n_edges, 'edge')}. "
        f"{some(int(labelling.is_labelled.sum()), 'label')} were given; the others were found with {method}.",
        numbers=_numbers(labelling),
        how=f"{how}: {estimate.how.rstrip('.')}.",
        beside=sentences(labelling, rank),
        drawing=drawing,
        legend=_legend(labelling, ranks, sizes),
        trust=_trust(labelling),
        held_out=estimate.confidence.size,
        checked=estimate.confidence.size >= ENOUGH,
        n_classes=sizes.size,
        **_classes(labelling, ranks, sizes),
        **_finding(labelling, rarest(labelling) if rank is None else rank),
        worth=_worth(labelling, found, texts),
        weighed=None if found is None else found.how,
        why=[f"{s[:1].upper()}{s[1:].rstrip('.')}." for s in choice.why],
        scores=[
            (s.name, s.what, _known(s.accuracy, ".1%"), _known(s.log_loss, ".3f"), f"{s.weight:.2f}")
            for s in choice.scores
        ],
        notes=[f"{note.rstrip('.')}." for note in notes],
        command=command,
    )


def _nodes_drawn(labelling: Any, ranks: Codes) -> dict[str, Any]:
    """What a drawing needs to know of the graph and its nodes; `ranks` (K,): which colour a class has."""
    return {
        "S": labelling.graph.adjacency,
        "codes": labelling.said.argmax(axis=1),
        "ranks": ranks,
        "labelled": labelling.is_labelled,
        "reached": labelling.reached,
        "sure": labelling.probability,
    }


def plot(labelling: Any, kind: str = "graph", axes: Any = None) -> Any:
    """One of `PLOTS` on the axes given, or on new ones; returns the axes."""
    from querist.errors import check_name

    check_name("kind of plot", kind, PLOTS)
    drawing, size = PLOTS[kind]
    with house_style():
        if axes is None:
            with needing("report", "a plot"):
                from matplotlib import pyplot

            _, axes = pyplot.subplots(layout="constrained", figsize=size)
        drawing(axes, labelling)
    return axes


def _plot_graph(axes: Any, labelling: Any) -> None:
    sizes = class_sizes(labelling)
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))
    draw_on(axes, **_nodes_drawn(labelling, ranks))
    for rank, (_, name, count) in enumerate(_legend(labelling, ranks, sizes)):
        axes.scatter([], [], color=charts.class_colour(rank), label=f"{name} ({count})")
    for text in axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0)).get_texts():
        text.set_parse_math(False)


def _plot_confidence(axes: Any, labelling: Any) -> None:
    charts.histogram(axes, labelling.probability[labelling.reached & ~labelling.is_labelled], "nodes")


def _plot_reliability(axes: Any, labelling: Any) -> None:
    held, right = labelling.estimate.confidence, labelling.estimate.correct
    if not held.size:
        raise InputError(f"there is no reliability curve: {labelling.estimate.how}")
    if held.size < ENOUGH:
        raise InputError(
            f"{some(held.size, 'label')} could be held out, and a reliability curve of fewer than {ENOUGH} "
            "would be noise; give more labels"
        )
    charts.reliability(axes, held, right)


PLOTS: dict[str, tuple[Callable[[Any, Any], None], tuple[float, float]]] = {
    "graph": (_plot_graph, (6.4, 4.8)),
    "confidence": (_plot_confidence, PAGE_SIZE),
    "reliability": (_plot_reliability, PAGE_SIZE),
}
"""What draws a labelling on axes, and the size of a figure of its own, in inches."""


def _numbers(labelling: Any) -> list[tuple[str, str, str]]:
    n, estimate = labelling.graph.n_nodes, labelling.estimate
    given, reached = int(labelling.is_labelled.sum()), int(labelling.reached.sum())
    found = labelling.reached & ~labelling.is_labelled
    sure = float(labelling.probability[found].mean()) if found.any() else float("nan")
    interval, point = f"{estimate.low:.1%} to {estimate.high:.1%}", _known(estimate.accuracy, ".1%")
    majority = f"; majority {estimate.majority:.1%}" if np.isfinite(estimate.majority) else ""
    return [
        (
            point or (interval if estimate.is_known else "unknown"),
            "expected accuracy",
            f"95 %{f': {interval}' if point else ' interval'}{majority}"
            if estimate.is_known
            else "the reason is below",
        ),
        (
            _known(estimate.balanced_accuracy, ".1%") or "unknown",
            "balanced accuracy",
            f"macro-F1 {_known(estimate.macro_f1, '.3f') or 'unknown'}",
        ),
        (f"{given:,}", "labels given", f"{given / n:.1%} of {n:,} nodes"),
        (f"{int(found.sum()):,}", "labels found", f"{sure:.1%} sure on average"),
        (
            f"{int((labelling.probability[found] < 0.5).sum()):,}",
            "less than half sure",
            "of the labels found",
        ),
        (f"{n - reached:,}", "not reached", "no label, no guess"),
    ]


def _legend(labelling: Any, ranks: Codes, sizes: Codes) -> list[tuple[str, str, str]]:
    order = np.argsort(ranks)
    entries = [
        (class_look(i), str(labelling.classes[k]), f"{sizes[k]:,}")
        for i, k in enumerate(order)
        if class_look(i) != class_look(sizes.size)
    ]
    rest = order[len(entries) :]
    other = (class_look(sizes.size), some(rest.size, "other class", "es"), f"{sizes[rest].sum():,}")
    return entries + ([other] if rest.size else [])


def _trust(labelling: Any) -> list[Figure]:
    found = labelling.reached & ~labelling.is_labelled
    held, right = labelling.estimate.confidence, labelling.estimate.correct
    shown = [
        Figure(
            "probabilities",
            _alone(charts.histogram, labelling.probability[found], "nodes"),
            f"The {int(found.sum()):,} labels that were found, by their probability.",
            PAGE_SIZE,
            "How sure it is",
            "How many nodes have which probability.",
        ),
        Figure(
            "reliability",
            _alone(charts.reliability, held, right),
            f"{held.size:,} labels were held out and guessed. On the dashed line, of those said to be 80 % "
            "sure 80 % are right. Bars are 95 % intervals.",
            PAGE_SIZE,
            "Whether it is right to be",
            "Share of held-out labels that were right against the probability said.",
        ),
    ]
    return shown if held.size >= ENOUGH else shown[:1]


def _finding(labelling: Any, name: Hashable) -> dict[str, Any]:
    """What to expect of looking for a class: its curve, and how many of the likeliest are of it."""
    p = np.empty(0) if name is None else falling(labelling, name)
    k = 0 if name is None else labelling.code_of(name)
    if not p.size or k >= len(labelling.estimate.classes):
        return {"finding": None, "gain": [], "sought": ""}
    known = labelling.estimate.classes[k].recall.is_known
    shown = p[: int(min(p.size, max(20, 4 * p.sum())))]
    counts = np.unique(np.linspace(1, shown.size, 25).astype(np.int64))
    shares = [labelling.among_likeliest(name, int(count)) for count in counts] if known else []
    # Who checks more nodes finds no fewer.
    least = np.maximum.accumulate([s.low * c for s, c in zip(shares, counts, strict=False)])
    most = np.minimum.accumulate([s.high * c for s, c in zip(shares, counts, strict=False)][::-1])[::-1]
    bounds = list(zip(counts.tolist(), least, most, strict=False))
    gain = Figure(
        "gain",
        _alone(charts.gains, shown, bounds, float(p.mean())),
        "How many are found when nodes are checked in the order of their probability, with 95 % bounds.",
        PAGE_SIZE,
        "Checking the likeliest",
        "How many of the class are found against how many nodes are checked.",
    )
    return {"finding": to_check(labelling, name), "gain": [gain], "sought": str(name)}


def _classes(labelling: Any, ranks: Codes, sizes: Codes) -> dict[str, Any]:
    """The largest classes among all labels and among those given, in a figure and in rows."""
    given = labelling.known.sizes
    shares = sizes / max(1, int(labelling.reached.sum()))
    of_given = given / max(1, int(labelling.is_labelled.sum()))
    largest = np.argsort(ranks)[:CLASSES_SHOWN]
    names = [str(labelling.classes[k]) for k in largest]
    rows = [
        (name, int(ranks[k]), float(of_given[k]), float(shares[k]))
        for name, k in zip(names, largest, strict=True)
    ]
    balance = Figure(
        "classes",
        _alone(charts.balance, rows),
        "A class much larger or smaller here than among the labels given deserves a look.",
        (PAGE_SIZE[0], 0.3 + 0.33 * len(rows)),
        description="Share of each class among all labels and among those given.",
    )
    lines = [
        (name, f"{given[k]:,}", f"{sizes[k]:,}", f"{shares[k]:.1%}", *class_words(labelling, k))
        for name, k in zip(names, largest, strict=True)
    ]
    return {"balance": balance, "classes": lines}


def _worth(labelling: Any, found: Influences | None, texts: NodeTexts) -> list[tuple[str, ...]]:
    """What to label next, in order, with the labelled nodes that weighed most."""
    rows = list[tuple[str, ...]]()
    for row in worth_labelling(labelling).tolist():
        own, near = labelling.at(row), [] if found is None else [k for k in found.rows[row] if k >= 0]
        rows.append(
            (
                _short(texts.called(row, own.node)),
                _short(in_words(own.label)),
                f"{own.probability:.0%}",
                _short(in_words(own.runner_up)),
                "; ".join(_short(texts.called(k, labelling.graph.nodes[k]), 16) for k in near),
            )
        )
    return rows


def _alone(chart: Callable[..., None], *values: Any) -> Callable[[Any], None]:
    """A figure of one chart."""
    return lambda canvas: chart(canvas.add_subplot(), *values)


def _known(number: float, form: str) -> str:
    return f"{number:{form}}" if np.isfinite(number) else ""


def _short(text: Any, most: int = 28) -> str:
    words = str(text)
    return words if len(words) <= most else f"{words[: most - 1]}…"

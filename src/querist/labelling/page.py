"""What a labelling found, as one HTML file: how far to trust it, where it is in doubt, what to label next."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
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
from querist.report import PAGE_SIZE, Figure, charts, page, write
from querist.report.drawing import Drawing, class_look, draw, draw_on
from querist.report.figures import house_style
from querist.tables.formats import some
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


def write_report(
    labelling: Any,
    found: Influences | None,
    path: Path,
    *,
    rank: Hashable = None,
    notes: Sequence[str] = (),
    command: str = "",
    progress: Progress = silent,
) -> Path:
    """Write the page, all or nothing; `notes` say what was read, `command` how to do it again.

    `rank` is the class that is looked for; the rarest where there is one, by default.
    """
    return write(path, report(labelling, found, notes, command, progress, rank))


def report(
    labelling: Any,
    found: Influences | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    progress: Progress = silent,
    rank: Hashable = None,
) -> str:
    """The page: all that `templates/labelling.html` shows."""
    graph, choice, estimate = labelling.graph, labelling.choice, labelling.estimate
    sizes = class_sizes(labelling)
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))  # the largest class has rank 0
    method = f"a {choice.method}" if choice.method.startswith("combination") else choice.method
    progress(0.1, "drawing the graph")
    drawing = drawing_of(labelling, ranks)
    progress(0.5, "looking for what to label next")
    return page(
        "labelling",
        title=f"Labels for {graph.name}",
        lede=f"{some(graph.n_nodes, 'node')} and {some(graph.n_edges, 'edge')}. "
        f"{some(int(labelling.is_labelled.sum()), 'label')} were given; the others were found with {method}.",
        numbers=_numbers(labelling),
        how=estimate.how.rstrip("."),
        beside=sentences(labelling, rank),
        drawing=drawing,
        legend=_legend(labelling, ranks, sizes),
        trust=_trust(labelling),
        held_out=estimate.confidence.size,
        checked=estimate.confidence.size >= ENOUGH,
        n_classes=sizes.size,
        **_classes(labelling, ranks, sizes),
        **_finding(labelling, rarest(labelling) if rank is None else rank),
        worth=_worth(labelling, found),
        weighed=None if found is None else found.how,
        why=[f"{s[:1].upper()}{s[1:].rstrip('.')}." for s in choice.why],
        scores=[
            (s.name, s.what, f"{s.accuracy:.1%}", _known(s.log_loss, ".3f"), f"{s.weight:.2f}")
            for s in choice.scores
        ],
        notes=[f"{note.rstrip('.')}." for note in notes],
        command=command,
    )


def drawing_of(labelling: Any, ranks: Codes) -> Drawing:
    """The graph, or a piece of it, coloured by label; `ranks` (K,) says which colour a class has."""

    def said(row: int) -> str:
        name = _said(labelling.labels[row])
        found = (
            f"{name}, given" if labelling.is_labelled[row] else f"{name}, {labelling.probability[row]:.0%}"
        )
        return f"{labelling.graph.nodes[row]}: {found if labelling.reached[row] else 'not reached'}"

    return draw(**_nodes_drawn(labelling, ranks), said=said)


def _nodes_drawn(labelling: Any, ranks: Codes) -> dict[str, Any]:
    """What a drawing needs to know of the graph and its nodes."""
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
    with house_style():
        if axes is None:
            with needing("report", "a plot"):
                from matplotlib import pyplot

            _, axes = pyplot.subplots(layout="constrained", figsize=PLOTS[kind].size)
        PLOTS[kind].draw(axes, labelling)
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
    if held.size < ENOUGH:
        raise InputError(
            f"{some(held.size, 'label')} could be held out, and a reliability curve of fewer than {ENOUGH} "
            "would be noise; give more labels"
        )
    charts.reliability(axes, held, right)


@dataclass(frozen=True)
class PlotKind:
    """A plot of a labelling: what draws it on axes, and the size of a figure of its own, in inches."""

    draw: Callable[[Any, Any], None]
    size: tuple[float, float] = PAGE_SIZE


PLOTS = {
    "graph": PlotKind(_plot_graph, (6.4, 4.8)),
    "confidence": PlotKind(_plot_confidence),
    "reliability": PlotKind(_plot_reliability),
}


def _numbers(labelling: Any) -> list[tuple[str, str, str]]:
    n, estimate = labelling.graph.n_nodes, labelling.estimate
    given, reached = int(labelling.is_labelled.sum()), int(labelling.reached.sum())
    found = labelling.reached & ~labelling.is_labelled
    sure = float(labelling.probability[found].mean()) if found.any() else float("nan")
    interval = f"95 %: {estimate.low:.1%} to {estimate.high:.1%}"
    return [
        (
            _known(estimate.accuracy, ".1%") or "unknown",
            "expected accuracy",
            f"{interval}; majority {estimate.majority:.1%}"
            if np.isfinite(estimate.accuracy)
            else "too few labels",
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
    return [*shown, *_by_class(labelling)] if held.size >= ENOUGH else shown[:1]


def _by_class(labelling: Any) -> list[Figure]:
    """Reliability of the probability of each class: of the rarest, and the largest, that can be judged."""
    estimate = labelling.estimate
    judged = [k for k, own in enumerate(estimate.classes) if own.recall.is_known]
    judged.sort(key=lambda k: estimate.classes[k].labels)
    judged = judged[:2] + judged[2:][-4:]
    if not judged:
        return []
    shown = {str(labelling.classes[k]): (estimate.probabilities[:, k], estimate.truth[:, k]) for k in judged}
    return [
        Figure(
            "reliability-by-class",
            lambda canvas: charts.class_reliability(canvas, shown),
            "The same for the probability of each class, from the class with fewest labels on: probability "
            "said across, share that is of the class up.",
            (PAGE_SIZE[0] * 1.25, 0.4 + 1.5 * -(-len(shown) // 3)),
            "And for every class",
            "Share of held-out labels of each class against the probability said.",
        )
    ]


def _finding(labelling: Any, name: Hashable) -> dict[str, Any]:
    """What to expect of looking for a class: its curves, and how many of the likeliest are of it."""
    p = np.empty(0) if name is None else falling(labelling, name)
    k = 0 if name is None else labelling.code_of(name)
    if not p.size or k >= len(labelling.estimate.classes):
        return {"finding": None, "curves": [], "sought": ""}
    own, estimate = labelling.estimate.classes[k], labelling.estimate
    known = own.recall.is_known
    held = {"held-out labels": (estimate.probabilities[:, k], estimate.truth[:, k])} if known else {}
    shown = p[: int(min(p.size, max(20, 4 * p.sum())))]
    counts = np.unique(np.linspace(1, shown.size, 25).astype(np.int64))
    shares = [labelling.among_likeliest(name, int(count)) for count in counts] if known else []
    # Who checks more nodes finds no fewer.
    least = np.maximum.accumulate([s.low * c for s, c in zip(shares, counts, strict=False)])
    most = np.minimum.accumulate([s.high * c for s, c in zip(shares, counts, strict=False)][::-1])[::-1]
    bounds = list(zip(counts.tolist(), least, most, strict=False))
    curves = [
        Figure(
            "gain",
            _alone(charts.gains, shown, bounds, float(p.mean())),
            "How many are found when nodes are checked in the order of their probability, with 95 % bounds.",
            PAGE_SIZE,
            "Checking the likeliest",
            "How many of the class are found against how many nodes are checked.",
        ),
        Figure(
            "precision-recall",
            _alone(
                charts.precision_recall,
                {"expected of the others": (p, p), **held},
                (own.recall, own.precision) if known else None,
            ),
            "Wherever the line is drawn between the class and the others, one is traded for the other.",
            PAGE_SIZE,
            "Precision and recall",
            "Precision against recall, on held-out labels and as expected of the others.",
        ),
    ]
    return {"finding": to_check(labelling, name), "curves": curves, "sought": str(name)}


def _classes(labelling: Any, ranks: Codes, sizes: Codes) -> dict[str, Any]:
    """The largest classes among all labels and among those given, in a figure and in rows."""
    seeds = labelling.given_codes
    given = (
        seeds.sum(axis=0) if labelling.multilabel else np.bincount(seeds[seeds >= 0], minlength=sizes.size)
    )
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


def _worth(labelling: Any, found: Influences | None) -> list[tuple[str, str, str, str, str]]:
    """What to label next, in order, with the labelled nodes that weighed most."""
    nodes = labelling.graph.nodes
    rows = []
    for row in worth_labelling(labelling).tolist():
        near = [] if found is None else [str(nodes[k]) for k in found.rows[row] if k >= 0]
        rows.append(
            (
                _short(nodes[row]),
                _short(_said(labelling.labels[row])),
                f"{labelling.probability[row]:.0%}",
                _short(_said(labelling.runner_up[row])),
                ", ".join(_short(name, 16) for name in near),
            )
        )
    return rows


def _alone(chart: Callable[..., None], *values: Any) -> Callable[[Any], None]:
    """A figure of one chart."""
    return lambda canvas: chart(canvas.add_subplot(), *values)


def _known(number: float, form: str) -> str:
    return f"{number:{form}}" if np.isfinite(number) else ""


def _said(label: Any) -> str:
    if label is None:
        return "none"
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _short(text: Any, most: int = 28) -> str:
    words = str(text)
    return words if len(words) <= most else f"{words[: most - 1]}…"

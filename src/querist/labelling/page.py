"""What a labelling found, as one HTML file: how far to trust it, where it is in doubt, what to label next."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from querist.atomic import replacing
from querist.errors import InputError
from querist.graph.entries import some
from querist.labelling.influence import Influences, Progress
from querist.labelling.output import check_folder
from querist.labelling.suggest import worth_labelling
from querist.report import Figure, Html, code, columns, headline, page, prose, section, table
from querist.report.charts import balance, colour_class, colours, histogram, reliability
from querist.report.drawing import draw
from querist.types import Codes

CLASSES_SHOWN = 20
ENOUGH = 20
"""Held-out labels below which a reliability curve would be noise."""


def check_report(path: Path) -> Path:
    """The path of a report, refused before the work if it cannot be one."""
    place = path.expanduser()
    if place.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is an HTML page; name a file such as report.html")
    return check_folder(place)


def write_report(
    labelling: Any,
    found: Influences | None,
    path: Path,
    *,
    notes: Sequence[str] = (),
    command: str = "",
    progress: Progress | None = None,
) -> Path:
    """Write the page, all or nothing; `notes` say what was read, `command` how to do it again."""
    text = report(labelling, found, notes, command, progress)
    with replacing(path) as file:
        file.write(text.encode())
    return path


def report(
    labelling: Any,
    found: Influences | None = None,
    notes: Sequence[str] = (),
    command: str = "",
    progress: Progress | None = None,
) -> str:
    """The page, top to bottom."""
    show = progress or (lambda fraction, text: None)
    n, given = labelling.graph.n_nodes, int(labelling.is_labelled.sum())
    sizes = class_sizes(labelling)
    ranks = np.empty(sizes.size, dtype=np.int64)
    ranks[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size)
    lede = (
        f"{some(n, 'node')} and {some(labelling.graph.n_edges, 'edge')}. {some(given, 'label')} were given; "
        f"the others were found with {_article(labelling.choice.method)}."
    )
    show(0.1, "drawing the graph")
    drawn = _graph(labelling, ranks, sizes)
    show(0.5, "looking for what to label next")
    worth = _next(labelling, found)
    return page(
        f"Labels for {labelling.graph.name}",
        lede,
        [
            colours(),
            _numbers(labelling),
            drawn,
            _trust(labelling),
            _classes(labelling, ranks, sizes),
            worth,
            _chosen(labelling),
            *(
                [section("What was read", prose(*(f"{note.rstrip('.')}." for note in notes)))]
                if notes
                else []
            ),
            *([section("Do it again", code(command))] if command else []),
        ],
    )


def class_sizes(labelling: Any) -> Codes:
    """(K,) how many nodes have each class as a label."""
    if labelling.multilabel:
        codes = {c: k for k, c in enumerate(labelling.classes)}
        held = [codes[c] for names in labelling.labels if names for c in names]
        return np.bincount(np.array(held, dtype=np.int64), minlength=len(codes))
    top = labelling.probabilities.argmax(axis=1)[labelling.reached]
    return np.bincount(top, minlength=len(labelling.classes))


def _numbers(labelling: Any) -> Html:
    n, estimate = labelling.graph.n_nodes, labelling.estimate
    given, reached = int(labelling.is_labelled.sum()), int(labelling.reached.sum())
    found = labelling.reached & ~labelling.is_labelled
    sure = float(labelling.probability[found].mean()) if found.any() else float("nan")
    doubtful = int((labelling.probability[found] < 0.5).sum())
    known = np.isfinite(estimate.accuracy)
    return Html(
        "\n".join(
            [
                "<section>",
                headline(
                    [
                        (
                            f"{estimate.accuracy:.1%}" if known else "unknown",
                            "expected accuracy",
                            f"95 %: {estimate.low:.1%} to {estimate.high:.1%}" if known else "too few labels",
                        ),
                        (f"{given:,}", "labels given", f"{given / n:.1%} of {n:,} nodes"),
                        (f"{int(found.sum()):,}", "labels found", f"{sure:.1%} sure on average"),
                        (f"{doubtful:,}", "less than half sure", "of the labels found"),
                        (f"{n - reached:,}", "not reached", "no label, no guess"),
                    ]
                ),
                prose(f"How the accuracy was estimated: {estimate.how.rstrip('.')}."),
                "</section>",
            ]
        )
    )


def _graph(labelling: Any, ranks: Codes, sizes: Codes) -> Html:
    drawing = draw(labelling, ranks)
    order = np.argsort(ranks)
    names = [str(labelling.classes[k]) for k in order]
    entries = [
        f'<li><svg viewBox="0 0 10 10"><circle class="{colour_class(i)}" cx="5" cy="5" r="5"/></svg>'
        f"{escape(name)} <small>{sizes[order[i]]:,}</small></li>"
        for i, name in enumerate(names)
        if colour_class(i) != "other"
    ]
    rest = len(names) - len(entries)
    if rest:
        many = int(sizes[order[len(entries) :]].sum())
        dot = '<svg viewBox="0 0 10 10"><circle class="other" cx="5" cy="5" r="5"/></svg>'
        entries.append(f"<li>{dot}{some(rest, 'other class', 'es')} <small>{many:,}</small></li>")
    legend = Html(f'<ul class="legend">{"".join(entries)}</ul>')
    figure = Html(
        f'<figure class="drawing">{drawing.svg}<figcaption>{escape(drawing.caption)}</figcaption></figure>'
    )
    return section("The graph", legend, figure)


def _trust(labelling: Any) -> Html:
    found = labelling.reached & ~labelling.is_labelled
    estimate = labelling.estimate
    held = estimate.confidence.size
    shown = [
        Figure(
            histogram(labelling.probability[found]),
            "How sure it is",
            f"The {int(found.sum()):,} labels that were found, by their probability.",
        )
    ]
    if held >= ENOUGH:
        shown.append(
            Figure(
                reliability(estimate.confidence, estimate.correct),
                "Whether it is right to be",
                f"{held:,} labels were held out and guessed. On the dashed line, of those said to be 80 % "
                "sure 80 % are right. Bars are 95 % intervals.",
            )
        )
    few = [] if held >= ENOUGH else [prose(f"Only {held} labels could be held out: too few to check it.")]
    return section("How far to trust it", columns(*shown), *few)


def _classes(labelling: Any, ranks: Codes, sizes: Codes) -> Html:
    seeds = labelling.given_codes
    given = (
        seeds.sum(axis=0) if labelling.multilabel else np.bincount(seeds[seeds >= 0], minlength=sizes.size)
    )
    shares = sizes / max(1, int(labelling.reached.sum()))
    of_given = given / max(1, int(labelling.is_labelled.sum()))
    order = np.argsort(ranks)
    rows = [
        (str(labelling.classes[k]), int(ranks[k]), float(of_given[k]), float(shares[k]))
        for k in order[:CLASSES_SHOWN]
    ]
    more = (
        []
        if order.size <= CLASSES_SHOWN
        else [prose(f"The {CLASSES_SHOWN} largest of {order.size} classes.")]
    )
    lines = [
        (str(labelling.classes[k]), f"{given[k]:,}", f"{sizes[k]:,}", f"{shares[k]:.1%}")
        for k in order[:CLASSES_SHOWN]
    ]
    head = ("class", "labels given", "nodes", "share")
    return section(
        "Classes",
        *more,
        Html(
            '<div class="columns">'
            f"<figure>{balance(rows)}<figcaption>A class much larger or smaller here than among the labels "
            "given deserves a look.</figcaption></figure>"
            f"{table(head, lines, 'All labels, those given included.')}</div>"
        ),
    )


def _next(labelling: Any, found: Influences | None) -> Html:
    nodes = labelling.graph.nodes
    picked = worth_labelling(labelling)
    if not picked.size:
        return section("Worth labelling next", prose("Every node is labelled."))
    who = None if found is None else found.rows
    rows = []
    for row in picked.tolist():
        near = [] if who is None else [str(nodes[k]) for k in who[row] if k >= 0]
        rows.append(
            (
                _short(nodes[row]),
                _short(_said(labelling.labels[row])),
                f"{labelling.probability[row]:.0%}",
                _short(_said(labelling.runner_up[row])),
                ", ".join(_short(name, 16) for name in near),
            )
        )
    head = ("node", "guess", "probability", "runner-up", "labelled nodes that weighed most")
    order = prose(
        "In this order: each is in doubt, and an answer would settle most of the doubt around it, those "
        "above being answered already."
    )
    how = [] if found is None else [prose(f"Who weighed most: {found.how}.")]
    shown = table(head, rows, "Nodes that were not labelled.", words=(1, 3, 4))
    return section("Worth labelling next", order, *how, shown)


def _chosen(labelling: Any) -> Html:
    choice = labelling.choice
    rows = [
        (
            s.name,
            s.what,
            f"{s.accuracy:.1%}",
            "" if not np.isfinite(s.log_loss) else f"{s.log_loss:.3f}",
            f"{s.weight:.2f}",
        )
        for s in choice.scores
    ]
    head = ("method", "what it is", "right when held out", "log-loss", "weight")
    return section(
        "How it was chosen",
        _listed(choice.why),
        table(head, rows, "Each was tried on held-out labels.", words=(1,)),
    )


def _article(method: str) -> str:
    return f"a {method}" if method.startswith("combination") else method


def _listed(sentences: Sequence[str]) -> Html:
    return prose(*(f"{s[:1].upper()}{s[1:].rstrip('.')}." for s in sentences))


def _said(label: Any) -> str:
    if label is None:
        return "none"
    return ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _short(text: Any, most: int = 28) -> str:
    words = str(text)
    return words if len(words) <= most else f"{words[: most - 1]}…"

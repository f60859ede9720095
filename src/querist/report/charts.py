"""Small charts as SVG written by hand: they follow the page's colours and need no library."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from querist.report import Html
from querist.types import Bools, Codes, Floats

WIDTH, HEIGHT = 440, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 12, 42

PALETTE = (
    ("#1f5fa8", "#7db4f2"),
    ("#d9730d", "#f5a95c"),
    ("#2a8c4a", "#6fce8d"),
    ("#b8348f", "#f08fd0"),
    ("#7a52c7", "#bda2f7"),
    ("#0f8b8d", "#5fd0d1"),
    ("#c23b3b", "#ff9a94"),
    ("#8a6d1a", "#d9bd62"),
    ("#5f8a00", "#b5d84a"),
)
"""Colours of classes on light and on dark paper; further classes share the grey of `--muted`."""


_RULES = """
.other { fill: var(--muted); } .none { fill: none; stroke: var(--muted); } .drawing { max-width: 46rem; }
.legend { list-style: none; padding: 0; margin: .75rem 0; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; }
.legend svg { width: .8rem; height: .8rem; margin-right: .4rem; vertical-align: -.05rem; }
"""


def colours() -> Html:
    """The rules that give the page the colours of classes."""
    light, dark = (" ".join(f"--class-{k}: {pair[i]};" for k, pair in enumerate(PALETTE)) for i in range(2))
    fills = "".join(f".c{k} {{ fill: var(--class-{k}); }} " for k in range(len(PALETTE)))
    night = f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return Html(f"<style>:root {{ {light} }} {night} {fills}{_RULES}</style>")


def colour_class(rank: int) -> str:
    """The CSS class of a class by its rank in size."""
    return f"c{rank}" if rank < len(PALETTE) else "other"


def histogram(confidence: Floats, bins: int = 10) -> Html:
    """How many nodes have which probability."""
    counts, _ = np.histogram(confidence, bins=bins, range=(0.0, 1.0))
    top = nice_top(float(counts.max(initial=1)))
    bars = []
    for k, count in enumerate(counts.tolist()):
        x0, x1 = _x(k / bins), _x((k + 1) / bins)
        y = _y(count / top)
        said = f"{count:,} nodes between {k / bins:.0%} and {(k + 1) / bins:.0%}"
        bars.append(
            f'<rect x="{x0 + 1.5:.1f}" y="{y:.1f}" width="{x1 - x0 - 3:.1f}" height="{_y(0) - y:.1f}" '
            f'fill="var(--series-1)"><title>{said}</title></rect>'
        )
    axes = _axes([(v / 5, _brief(v * top / 5)) for v in range(6)], "probability of the label", "nodes")
    return _svg([*axes, *bars], "How many nodes have which probability.")


def reliability(confidence: Floats, correct: Bools, bins: int = 10) -> Html:
    """The share that was right among held-out labels of about the same probability, with 95 % intervals."""
    from querist.stats import wilson

    marks = [
        f'<line x1="{_x(0):.1f}" y1="{_y(0):.1f}" x2="{_x(1):.1f}" y2="{_y(1):.1f}" stroke="var(--muted)" '
        'stroke-dasharray="4 4"/>'
    ]
    points = []
    for group in _groups(confidence, bins):
        mean, right = float(confidence[group].mean()), float(correct[group].mean())
        low, high = wilson(float(correct[group].sum()), group.size)
        x = _x(mean)
        points.append((x, _y(right)))
        said = f"{group.size:,} held-out labels, probability {mean:.0%} on average, {right:.0%} right"
        marks.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(low):.1f}" y2="{_y(high):.1f}" '
            'stroke="var(--series-1)" stroke-width="1.5" opacity=".55"/>'
            f'<circle cx="{x:.1f}" cy="{_y(right):.1f}" r="4.5" '
            f'fill="var(--series-1)"><title>{said}</title></circle>'
        )
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    marks.insert(1, f'<polyline points="{line}" fill="none" stroke="var(--series-1)" stroke-width="1.5"/>')
    axes = _axes([(v / 5, f"{20 * v} %") for v in range(6)], "probability said", "share right")
    return _svg([*axes, *marks], "Share of held-out labels that were right against the probability said.")


def _groups(confidence: Floats, bins: int) -> list[Codes]:
    """Held-out labels in order of probability, in groups of about equal size, at least 5 in each."""
    order = np.argsort(confidence, kind="stable")
    return [group for group in np.array_split(order, max(1, min(bins, order.size // 5))) if group.size]


def balance(rows: Sequence[tuple[str, int, float, float]]) -> Html:
    """A pair of bars a class: (name, rank, share among the labels, share among the predictions)."""
    top = max((max(given, said) for _, _, given, said in rows), default=1.0) or 1.0
    step, left = 34, 150
    parts = []
    for k, (name, rank, given, said) in enumerate(rows):
        y = 8 + step * k
        shown = name if len(name) <= 20 else f"{name[:19]}…"
        parts.append(
            f'<text x="{left - 8}" y="{y + 17}" text-anchor="end" fill="var(--ink)">{escape(shown)}</text>'
        )
        for offset, share, fill, what in (
            (2, said, f'class="{colour_class(rank)}"', "of all labels"),
            (15, given, 'fill="var(--line)"', "of those given"),
        ):
            width = (WIDTH - left - 122) * share / top
            parts.append(
                f'<rect x="{left}" y="{y + offset}" width="{max(width, 0.5):.1f}" height="11" {fill}/>'
                f'<text x="{left + width + 5:.1f}" y="{y + offset + 9.5}" fill="var(--muted)" font-size="10">'
                f"{share:.1%} {what}</text>"
                if share > 0 or offset == 2
                else ""
            )
    return _svg(parts, "Share of each class among all labels and among those given.", 16 + step * len(rows))


def nice_top(value: float) -> float:
    """A round number as the top of an axis in five steps.

    >>> [nice_top(v) for v in (3, 87, 589, 1430)]
    [5.0, 100.0, 600.0, 1500.0]
    """
    power = 10 ** np.floor(np.log10(max(value, 5.0)))
    return max(5.0, float(next(power * s for s in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if power * s >= value)))


def _brief(count: float) -> str:
    """A count that fits beside an axis.

    >>> _brief(480), _brief(24_000), _brief(3_600_000)
    ('480', '24k', '3.6M')
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if count >= 10 * unit or (unit == 1e6 and count >= unit):
            return f"{count / unit:g}{name}"
    return f"{count:,.0f}"


def _x(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM)


def _axes(ticks: Iterable[tuple[float, str]], x_label: str, y_label: str) -> list[str]:
    lines = []
    for share, text in ticks:
        y = _y(share)
        lines.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="var(--line)" '
            f'stroke-width=".7"/><text x="{_LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>'
        )
    lines += [
        f'<text x="{_x(k / 5):.1f}" y="{HEIGHT - _BOTTOM + 16}" text-anchor="middle">{20 * k} %</text>'
        for k in range(6)
    ]
    middle = (_TOP + HEIGHT - _BOTTOM) / 2
    lines.append(f'<text x="{_x(0.5):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
    turned = f'text-anchor="middle" transform="rotate(-90 11 {middle})"'
    lines.append(f'<text x="11" y="{middle}" {turned}>{escape(y_label)}</text>')
    return lines


def _svg(parts: Iterable[str], description: str, height: int = HEIGHT) -> Html:
    return Html(
        f'<svg role="img" aria-label="{escape(description)}" viewBox="0 0 {WIDTH} {height}" font-size="11" '
        f'fill="var(--muted)" font-family="system-ui, sans-serif">{"".join(parts)}</svg>'
    )

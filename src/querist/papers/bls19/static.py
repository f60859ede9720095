"""Table I and Figure 1 of bls19: some points are labelled, all are there from the start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.budgeted.closed_form import transduce
from querist.budgeted.similarity import gram_of, mean_distance
from querist.experiment.item import Cell, Entry, Figure, Item, Number, Published, Shown, Table
from querist.experiment.results import Outcome, Result
from querist.experiment.specification import Specification
from querist.papers.bls19.published import DATA, PAPER, SCALED, TABLE_1, TABLE_1_METHODS, TABLE_1_SHAPES
from querist.papers.cases import Cases
from querist.report.charts import MARKERS
from querist.report.figures import COLOURS, INK
from querist.types import Codes, Floats

TRIALS = 10
LAMBDAS = (10.0, 1.0, 0.1, 0.01)
SHARES = (0.2, 0.1)
LARGE = 5000
"""Rows beyond which three trials are made: each is a dense solve."""

_LEAST_SQUARES = {"method": "bls", "grid": {"lambda1": LAMBDAS, "lambda2": (10.0, 0.1)}}
METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "BLS, RBF": (_LEAST_SQUARES, "rbf"),
    "BLS, linear": (_LEAST_SQUARES, "linear"),
    "LP": ({"method": "lp"}, "rbf"),
    "RLP": ({"method": "rlp", "grid": {"ridge": LAMBDAS}}, "rbf"),
}

# -- Table I ---------------------------------------------------------------------


def case(name: str, method: str, share: float) -> Specification:
    """A method on draws of a share of the labels of a set."""
    settings, kernel = METHODS[method]
    rows = TABLE_1_SHAPES[name][0]
    held_out = 1 if rows > LARGE else 3 if rows > 1000 else TRIALS
    tuning = {"tuning": held_out} if "grid" in settings else {}
    return Specification(
        task="transduce",
        dataset=DATA.get(name, name),
        **settings,
        representation={"kernel": kernel, "scaled": name in SCALED},
        protocol={"labelled": share, **tuning},
        repeats=3 if rows > LARGE else TRIALS,
    )


_QUICK = {"Sonar", "Ionosphere", "Wdbc", "Australian", "Diabetes", "FourClass"}
_table = Cases(
    {
        (name, method, share): case(name, method, share)
        for name in TABLE_1_SHAPES
        for share in SHARES
        for method in METHODS
    },
    few=3,
    hurried=lambda label: label[0] in _QUICK,
)


def _show_table(results: Sequence[Result]) -> Shown:
    found = _table.read(results)
    rows: list[list[Entry]] = []
    numbers: list[Number] = []
    for (name, share), line in TABLE_1.items():
        cells: list[Entry] = [name, f"{share:.0%}"]
        for method, (printed, std) in zip(TABLE_1_METHODS, line, strict=True):
            result = found.get((name, method, share))
            if result is None:
                continue
            cells += [Cell.of(result, "accuracy", 2, unit=100), f"{printed:.2f}"]
            numbers.append(
                Number.of(
                    *(PAPER, "table1", name, f"{method} {share:.0%}", "accuracy"),
                    Published(printed / 100, std / 100, TRIALS),
                    result,
                )
            )
        if len(cells) > 2:
            rows.append(cells)
    columns = ["data", "labelled", *(head for name in TABLE_1_METHODS for head in (name, "published"))]
    note = (
        "Accuracy in per cent on the unlabelled points, ± deviations over the draws. Lambdas and ridge are "
        "chosen on held-out draws; the paper records the best."
    )
    return Shown([Table("Transductive accuracy", columns, rows, note)], (), numbers)


TABLE_I = Item(
    PAPER,
    "table1",
    "Transductive accuracy",
    f"{TRIALS} draws of 20 and 10 % labels that cover the classes (3 on mushrooms); kernel width from all "
    "pairs. lambda1 and ridge from {10, 1, 0.1, 0.01}, lambda2 from {10, 0.1}, on held-out draws: ten on "
    "sets below 1,000 points, three below 5,000, else one.",
    _table.plan,
    _show_table,
)

# -- Figure 1 --------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """A draw of the noisy curves."""

    X: Floats
    codes: Codes
    labelled: Codes


def two_curves(n: int, noise: float, seed: Sequence[int]) -> Points:
    """Two interleaved half circles whose noise grows along them; 1 % of the points are labelled.

    The paper shows its curves and does not say how they were made: this is a guess.
    """
    generator = np.random.default_rng(tuple(seed))
    codes = np.arange(n) % 2
    angle = np.pi * generator.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(codes == 0, 1.0, -1.0)[:, None]
    X += np.where(codes == 0, 0.0, 1.0)[:, None] * np.array([1.0, 0.4])
    X += noise * (0.3 + angle / np.pi)[:, None] * generator.standard_normal((n, 2))
    # One of each class at least: with one class there is nothing to learn.
    each = max(1, n // 200)
    labelled = np.concatenate(
        [generator.choice(np.flatnonzero(codes == c), each, replace=False) for c in (0, 1)]
    )
    return Points(X, codes, labelled)


class Curves:
    """LP, RLP and BLS on a draw of the two noisy curves, all parameters 1."""

    name = "bls19.curves"
    measures = ("accuracy",)
    tuned_by = "accuracy"

    def check(self, spec: Specification) -> None:
        """Nothing is read."""

    def prepare(self, spec: Specification) -> None:
        """Nothing is shared."""

    def run(
        self, spec: Specification, prepared: None, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw."""
        points = two_curves(1000, 0.25, (seed, repeat))
        K = np.asarray(gram_of("rbf", mean_distance(points.X))(points.X, points.X))
        given = np.full(points.codes.size, -1, dtype=np.int64)
        given[points.labelled] = points.codes[points.labelled]
        answers = transduce(K, given, 2, method=spec.method, **parameters)  # type: ignore[arg-type]
        open_ = given < 0
        right = float((answers[open_] == points.codes[open_]).mean())
        drawn = {"x": points.X[:, 0], "y": points.X[:, 1], "answer": answers, "given": given}
        return Outcome({"accuracy": right}, {name: values.tolist() for name, values in drawn.items()})


_ONES = {"bls": {"lambda1": 1.0, "lambda2": 1.0}, "rlp": {"ridge": 1.0}, "lp": {}}
_curves = Cases(
    {
        (name,): Specification("bls19.curves", "", method, _ONES[method], repeats=TRIALS)
        for name, method in (("LP", "lp"), ("RLP", "rlp"), ("BLS", "bls"))
    },
    few=3,
)


def _show_curves(results: Sequence[Result]) -> Shown:
    found = _curves.read(results)
    rows: list[list[Entry]] = [[name, Cell.of(r, "accuracy", 1, unit=100)] for (name,), r in found.items()]

    def draw(canvas: Any) -> None:
        for axes, ((name,), result) in zip(
            canvas.subplots(1, len(found), sharey=True), found.items(), strict=True
        ):
            x, y, answer, given = (result.curve(part)[0] for part in ("x", "y", "answer", "given"))
            for c in (0, 1):
                axes.scatter(
                    *(v[answer == c] for v in (x, y)), s=5, color=COLOURS[c], marker=MARKERS[c], alpha=0.55
                )
                mine = given == c
                axes.scatter(
                    x[mine], y[mine], s=90, marker="^s"[c], color=COLOURS[c], edgecolor=INK, zorder=3
                )
            axes.set_title(f"{name}: {result.values('accuracy')[0]:.1%} right", loc="left")
            axes.set_aspect("equal")

    caption = (
        "The first draw of two noisy curves. Large marks are the labelled points, colours and small "
        "marks the answers."
    )
    return Shown(
        [Table("Accuracy on the noisy curves, per cent", ["method", "accuracy"], rows)],
        [Figure("curves", draw, caption, (10.5, 3.4))],
        remarks=["The paper shows its curves without saying how they were made; these are ours."],
    )


FIGURE_1 = Item(
    PAPER,
    "figure1",
    "Two noisy curves",
    f"{TRIALS} draws of 1,000 points, 1 % labelled, all parameters 1.",
    _curves.plan,
    _show_curves,
)

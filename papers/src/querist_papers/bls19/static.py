"""Table I and Figure 1 of bls19: some points are labelled, all are there from the start."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from querist.budgeted import transduce
from querist.experiment import Outcome, Result, Specification, TransduceTask, charts
from querist_papers.bls19 import compared
from querist_papers.bls19.compared import CHOICES, LAMBDAS, LEAST_SQUARES, PER_RUN, RUNS, shown
from querist_papers.bls19.published import DATA, PAPER, TABLE_1, TABLE_1_METHODS
from querist_papers.item import Cases, Cell, Entry, Figure, Found, Number, Shown, Table
from querist_papers.tasks import PaperTask, VectorTask
from querist_papers.types import Codes, Floats

SHARES = (0.2, 0.1)
BINARY = ("a1a", "w1a", "mushrooms")
"""Sets of 0/1 features, which there is no reason to scale."""

METHODS: dict[str, tuple[str, str, tuple[dict[str, float], ...]]] = {
    "BLS, RBF": ("bls", "rbf", LEAST_SQUARES),
    "BLS, linear": ("bls", "linear", LEAST_SQUARES),
    "LP": ("lp", "rbf", ({},)),
    "RLP": ("rlp", "rbf", tuple({"ridge": ridge} for ridge in LAMBDAS)),
}
"""Method, kernel, and the combinations that are tried."""

_ALONE = tuple({"lambda1": value} for value in LAMBDAS)
RAW, SCALED = "features as they come", "features in [-1, 1]"
OTHERS = ALONE, WIDE, STRONG = "labelled points alone", "twice the kernel width", "lambda1 = 100"
VARIANTS: dict[tuple[str, str], tuple[str, str, tuple[dict[str, float], ...]]] = {
    (ALONE, "BLS, RBF"): ("ridge", "rbf", _ALONE),
    (WIDE, "BLS, RBF"): ("bls", "rbf", tuple(given | {"lambda2": 0.01} for given in _ALONE)),
    (ALONE, "BLS, linear"): ("ridge", "linear", _ALONE),
    (STRONG, "BLS, linear"): ("bls", "linear", tuple({"lambda1": 100.0, "lambda2": b} for b in LAMBDAS)),
}
"""What the paper does not have: kernel ridge regression that never sees the unlabelled points, which is the
method without its idea, and settings that may explain why a number is missed."""

TRIED = {(setting, name): how for setting in (RAW, SCALED) for name, how in METHODS.items()} | VARIANTS

# -- Table I ---------------------------------------------------------------------


class Draws(VectorTask):
    """One combination of parameters on all draws of a set, reported and held out: they share an inverse.

    Curves: the accuracy on the unlabelled points, draw by draw, by share and by what the draw is for.
    """

    name = "bls19.draws"
    measures = ("accuracy",)

    def prepare(self, spec: Specification) -> Any:
        """The kernel matrix; of an RBF kernel `times` as wide it is the root."""
        how = dict(spec.representation)
        times = how.pop("times", 1.0)
        found = TransduceTask().prepare(replace(spec, representation=how))
        return found if times == 1.0 else replace(found, K=found.K ** (1 / times))

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """All draws; where there is nothing to choose, none is held out."""
        firsts = {"reported": seed} | ({"held out": spec.held_out} if parameters else {})
        codes, curves = prepared.codes, {}
        for share, (which, first) in product(SHARES, firsts.items()):
            visible = [TransduceTask.cover(codes, 2, share, first + r) for r in range(RUNS)]
            curves[f"{share:.0%} {which}"] = visible
        draws = [np.where(seen, codes, -1) for each in curves.values() for seen in each]
        method: Any = spec.method
        found = iter(
            [labelled_alone(prepared.K, given, **parameters) for given in draws]
            if method == "ridge"
            else transduce(prepared.K, np.array(draws), method=method, **parameters)
        )
        right = {
            name: [float(np.mean((next(found) == codes)[~seen])) for seen in each]
            for name, each in curves.items()
        }
        return Outcome({"accuracy": float(np.mean([right[f"{s:.0%} reported"] for s in SHARES]))}, right)


def labelled_alone(K: Floats, given: Codes, lambda1: float) -> Codes:
    """(n,) the class of every point, by kernel ridge regression on the labelled ones: -1 is no label.

    >>> labelled_alone(np.diag([1.0, 2, 3]) + 0.1, np.array([0, 1, -1]), 1.0)
    array([0, 1, 0])
    """
    rows = np.flatnonzero(given >= 0)
    A = K[np.ix_(rows, rows)] + lambda1 * np.eye(rows.size)
    scores = K[:, rows] @ np.linalg.solve(A, np.where(given[rows] == 1, 1.0, -1.0))
    return (scores > 0).astype(np.int64)


def case(name: str, method: str, parameters: Mapping[str, float], setting: str = RAW) -> Specification:
    """A method with these parameters on all draws of a set."""
    how, kernel, _ = TRIED[setting, method]
    return Specification(
        task=Draws.name,
        dataset=DATA.get(name, name.lower()),
        method=how,
        parameters=parameters,
        representation={"kernel": kernel, "scaled": setting == SCALED}
        | ({"times": 2.0} if setting == WIDE else {}),
        repeats=1,
    )


_table = Cases(
    {
        (name, setting, method, *given.values()): case(name, method, given, setting)
        for name in dict.fromkeys(name for name, _ in TABLE_1)
        for (setting, method), (_, _, grid) in TRIED.items()
        if not (setting == SCALED and name in BINARY)
        # mushrooms is reached throughout, and has by far the largest matrix
        if not (setting in (WIDE, STRONG) and name == "mushrooms")
        for given in grid
    },
    hurried=lambda label: label[0] == "Sonar" or (label[0] in ("Ionosphere", "Wdbc") and label[1] != SCALED),
)


def chosen(results: Sequence[Result], share: float) -> dict[str, Floats]:
    """Accuracies of the reported draws by reading, from the results of all combinations."""
    reported = np.array([result.curve(f"{share:.0%} reported")[0] for result in results])
    if len(results) == 1:
        return {PER_RUN: reported[0]}
    held_out = np.array([result.curve(f"{share:.0%} held out")[0] for result in results])
    return compared.by_reading(reported, reported, held_out)


@_table.item(
    PAPER,
    f"{RUNS} draws of 20 and 10 % labels that cover the classes; kernel width from all pairs; lambda1, "
    f"lambda2 and ridge from {{10, 1, 0.1, 0.01}}, chosen on {RUNS} held-out draws, and on the reported "
    "draws as the paper does.",
    {
        "BLS": "the best lambdas of each draw, features as they come",
        "LP": "the harmonic solution, features as they come",
        "RLP": "the best ridge of each draw, features as they come",
    },
)
def table1(found: Found) -> Shown:
    """Transductive accuracy."""
    groups = compared.grouped(found)
    best = {(*key, share): chosen(group, share) for key, group in groups.items() for share in SHARES}
    rows: list[list[Entry]] = []
    numbers: list[Number] = []
    for (name, share), line in TABLE_1.items():
        for method, printed in zip(TABLE_1_METHODS, line, strict=True):
            for setting in (RAW, SCALED):
                ours = best.get((name, setting, method, share))
                if ours is None:
                    continue
                of = [(name, other if setting == RAW else "", method, share) for other in OTHERS]
                beside = [best.get(label, {}).get(PER_RUN) for label in of]
                cells = [shown(each) for each in (*map(ours.get, compared.READINGS), *beside)]
                rows.append([name, f"{share:.0%}", method, setting, *cells, Cell(printed[0], None, 2)])
                if setting == RAW:
                    where = ("table1", name, f"{method} {share:.0%}", "accuracy")
                    spec = groups[name, RAW, method][0].specification
                    numbers.append(compared.number(*where, printed, ours, spec, beside[0]))

    def reason(each: Number) -> str:
        """Which of the other settings would reach a number that is missed."""
        method, _, share = each.method.rpartition(" ")
        tried = {
            setting: float(ours[PER_RUN].mean())
            for (name, setting, other, of), ours in best.items()
            if (name, other, f"{of:.0%}") == (each.dataset, method, share) and setting not in (RAW, ALONE)
        }
        would = {name: value for name, value in tried.items() if value >= each.published - each.near}
        listed = ", ".join(f"{100 * value:.2f} with {name}" for name, value in (would or tried).items())
        said = "another setting would" if would else "not explained, no setting tried would"
        return f"{said}: {listed}" if tried else "not explained"

    note = f"Accuracy in per cent on the unlabelled points, ± deviations over the draws. {CHOICES}"
    columns = ["data", "labelled", "method", "features", *compared.READINGS, *OTHERS, "published"]
    return Shown(
        [Table("Transductive accuracy", columns, rows, note)],
        numbers=numbers,
        remarks=[*REMARKS, compared.without_idea(numbers), *compared.remarks_on(numbers, reason)],
    )


REMARKS = [
    "Features are taken as the files hold them, in every set; Australian and FourClass lie in [-1, 1] "
    "already. Every set that is not of 0/1 features is also scaled. The paper does not say what it did. Its "
    "Sonar was probably scaled: with z-scores LP and RLP come to 59.8 and 67.1 at 20 % labelled, "
    "published 58.6 and 68.6; but BLS with the RBF kernel reaches at most 77.05 with four scalings and eight "
    "widths.",
    "The published LP on Wdbc, 22.9 ± 23 %, is worse than guessing. At this kernel width the system of LP is "
    "so badly conditioned that a dense solve breaks down (27 ± 41 % in a trial), which the paper's number "
    "looks like; the harmonic solution itself is right on 91 %.",
    "Twice the kernel width brings the RBF kernel to the published numbers of Wdbc and USPS, and away from "
    "others.",
]


# -- Figure 1 --------------------------------------------------------------------


def two_curves(seed: Sequence[int], n: int = 1000, noise: float = 0.25) -> tuple[Floats, Codes, Codes]:
    """Points, classes and given labels (-1: none) of two interleaved half circles, noisier along them.

    1 % of the points are labelled. The paper shows its curves and does not say how they were made: this is a
    guess.
    """
    generator = np.random.default_rng(tuple(seed))
    codes, given = np.arange(n) % 2, np.full(n, -1, dtype=np.int64)
    angle = np.pi * generator.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(codes == 0, 1.0, -1.0)[:, None]
    X += np.where(codes == 0, 0.0, 1.0)[:, None] * np.array([1.0, 0.4])
    X += noise * (0.3 + angle / np.pi)[:, None] * generator.standard_normal((n, 2))
    for c in (0, 1):
        given[generator.choice(np.flatnonzero(codes == c), n // 200, replace=False)] = c
    return X, codes, given


class Curves(PaperTask):
    """LP, RLP and BLS on a draw of the two noisy curves, all parameters 1."""

    name = "bls19.curves"
    measures = ("accuracy",)

    def run(
        self, spec: Specification, prepared: None, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One draw."""
        X, codes, given = two_curves((seed, repeat))
        K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * float(pdist(X).mean())))
        answers = transduce(K, given, 2, method=spec.method, **parameters)  # type: ignore[arg-type]
        right = float((answers == codes)[given < 0].mean())
        drawn = {"x": X[:, 0], "y": X[:, 1], "answer": answers, "given": given}
        return Outcome({"accuracy": right}, {name: values.tolist() for name, values in drawn.items()})


_ONES = {"bls": {"lambda1": 1.0, "lambda2": 1.0}, "rlp": {"ridge": 1.0}, "lp": {}}
_curves = Cases(
    {
        (name,): Specification("bls19.curves", "", method, _ONES[method], repeats=RUNS)
        for name, method in (("LP", "lp"), ("RLP", "rlp"), ("BLS", "bls"))
    },
    few=3,
)


@_curves.item(PAPER, f"{RUNS} draws of 1,000 points, 1 % labelled, all parameters 1.")
def figure1(found: Found) -> Shown:
    """Two noisy curves."""
    rows: list[list[Entry]] = [[name, Cell.of(r, "accuracy", 1, unit=100)] for (name,), r in found.items()]

    def draw(canvas: Any) -> None:
        for axes, ((name,), result) in zip(
            canvas.subplots(1, len(found), sharey=True), found.items(), strict=True
        ):
            x, y, answer, given = (result.curve(part)[0] for part in ("x", "y", "answer", "given"))
            for c in (0, 1):
                small = {"s": 5, "marker": charts.MARKERS[c], "alpha": 0.55}
                large = {"s": 90, "marker": "^s"[c], "edgecolor": charts.INK, "zorder": 3}
                for mine, look in ((answer == c, small), (given == c, large)):
                    axes.scatter(x[mine], y[mine], color=charts.COLOURS[c], **look)
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

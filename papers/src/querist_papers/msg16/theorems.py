"""The lemmas and theorems of msg16 beside runs.

Theorems 1, 3 and 5 bound the mistakes of CMOG, of CMOG on selected labels and of MSG, for scores under A_t
and targets +1 (true) and -1 (best other): see `querist_papers.theory.msg16`. Lemmas 1 and 2 are equalities
about the least of `G_t(U) = sum |y - U'm|^2 + gamma tr(U'U)`, computed here from the definition.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.experiment import Outcome, Specification
from querist_papers.graphs import DATA, TITLES, place
from querist_papers.item import Cases, Entry, Found, Shown, Statement, Table
from querist_papers.msg16.published import PAPER
from querist_papers.tasks import PaperTask
from querist_papers.types import Floats

ROUNDS = 30
SAME = 1e-8
"""Parts of a value in which two computations of it may differ."""

PRINTED, CORRECTED = "scores under A_(t-1)", "scores under A_t"


class Lemmas(PaperTask):
    """Random rows and targets: how far each equality is off at most, in parts of its value."""

    name = "msg16.lemmas"
    measures = ("Lemma 1", PRINTED, CORRECTED)

    def run(
        self, spec: Specification, prepared: None, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Draw a sequence, and compare both sides of the equalities in every round."""
        rng, gamma = np.random.default_rng((seed, repeat)), float(parameters["gamma"])
        m, K = rng.normal(size=(ROUNDS, 4)), 3
        y = np.zeros((ROUNDS, K))
        pairs = np.array([rng.permutation(K)[:2] for _ in range(ROUNDS)])
        y[np.arange(ROUNDS), pairs[:, 0]], y[np.arange(ROUNDS), pairs[:, 1]] = 1, -1
        off = dict.fromkeys(self.measures, 0.0)
        for t in range(1, ROUNDS):
            now, before = least(m[:t], y[:t], gamma), least(m[: t - 1], y[: t - 1], gamma)
            A, B = gamma * np.eye(4) + m[: t - 1].T @ m[: t - 1], m[: t - 1].T @ y[: t - 1]
            x, target = m[t - 1], y[t - 1]
            f, r = B.T @ np.linalg.solve(A, x), x @ np.linalg.solve(A, x)
            sides = {
                "Lemma 1": closed_form(m[:t], y[:t], gamma) - now,
                PRINTED: increment(target, f, r) - (now - before),
                CORRECTED: increment(target, f / (1 + r), r) - (now - before),
            }
            off = {name: max(off[name], abs(side) / now) for name, side in sides.items()}
        return Outcome(off)


def least(m: Floats, y: Floats, gamma: float) -> float:
    """The least of G, by least squares on the rows and on the roots of gamma."""
    if not len(m):
        return 0.0
    d = m.shape[1]
    rows, targets = np.vstack([m, np.sqrt(gamma) * np.eye(d)]), np.vstack([y, np.zeros((d, y.shape[1]))])
    U = np.linalg.lstsq(rows, targets)[0]
    return float(((rows @ U - targets) ** 2).sum())


def closed_form(m: Floats, y: Floats, gamma: float) -> float:
    """The least of G as Lemma 1 has it."""
    B = m.T @ y
    return float((y**2).sum() - np.sum(B * np.linalg.solve(gamma * np.eye(m.shape[1]) + m.T @ m, B)))


def increment(y: Floats, f: Floats, r: float) -> float:
    """The right side of Lemma 2, for `|y|^2 = 2`."""
    return float(((y - f) ** 2).sum() - 2 * r / (1 + r) + r * (f**2).sum())


STATEMENTS = {
    "cmog": ("Theorem 1", "CMOG errs at most hinge loss + h/2 tr(U'AU) + 1/h sum r/(1+r) times"),
    "cmog_selected": ("Theorem 3", "the same of CMOG on selected labels, with half the last term"),
    "msg": ("Theorem 5", "the same of MSG, less the rounds that it learned without a mistake"),
}
READING = "for scores under A_t and targets +1 (true) and -1 (best other)"

_LEMMAS = ("lemmas",)
_cases = Cases(
    {
        (name, method, h): Specification(
            *("bound", data, method, {"gamma": 1.0} | ({} if method == "cmog" else {"h": h})),
            representation=how,
            repeats=5,
        )
        for name, data, how in (
            ("karate", "karate", {"rank": 8, "normalised": False}),
            *((name, DATA[name], place()) for name in ("Coauthor", "Cora")),
        )
        for method in STATEMENTS
        for h in ((1.0,) if method == "cmog" else (0.01, 1.0))
    }
    | {_LEMMAS: Specification("msg16.lemmas", "", "lemmas", {"gamma": 0.5}, repeats=100)},
    few=1,
)


@_cases.item(
    PAPER, f"5 shuffles of three graphs, gamma 1; 100 random sequences of {ROUNDS} rounds for the lemmas."
)
def theorems(found: Found) -> Shown:
    """Lemmas 1 and 2 and Theorems 1, 3 and 5."""
    equalities = found.pop(_LEMMAS)
    rows: list[list[Entry]] = []
    tried: dict[str, list[bool]] = {method: [] for method in STATEMENTS}
    for (name, method, h), line in found.items():
        bounds = [
            each
            for outcome in line.outcomes
            for each in outcome.details["bounds"]
            if each["what"] == "mistakes" and each["applies"]
        ]
        tried[str(method)] += [not each["respected"] for each in bounds]
        mean = [float(np.mean([each[side] for each in bounds])) for side in ("observed", "value")]
        where = TITLES.get(str(name), str(name))
        rows.append([where, STATEMENTS[str(method)][0], "" if method == "cmog" else f"{h:g}", *mean])
    off = {name: equalities.values(name) > SAME for name in equalities.measures}
    lemmas = [
        ("Lemma 1", "U = A^-1 B is the least of G, |y|^2 - tr(B'A^-1 B)", off["Lemma 1"], ""),
        (
            "Lemma 2",
            "how the least of G grows by a round",
            off[PRINTED],
            f"with scores under A_t, in {(~off[CORRECTED]).sum()} of {off[CORRECTED].size} runs",
        ),
    ]
    statements = [
        Statement(PAPER, "theorems", name, says, failed, instead) for name, says, failed, instead in lemmas
    ]
    statements += [
        Statement(PAPER, "theorems", *STATEMENTS[method], failed, READING) for method, failed in tried.items()
    ]
    columns = ["data", "statement", "h", "mistakes", "bound"]
    note = (
        "Means over the runs. Theorem 1 takes its best h. Theorems 3 and 5 are about the mean over the coin: "
        "they are tried by a count that has this mean and stays below the bound in every single run."
    )
    return Shown([Table("Mistakes and bounds", columns, rows, note, digits=1)], statements=statements)

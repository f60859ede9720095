"""How many answers does asking save? Accuracy after every answer: the pool against random asking.

A start is a random first question; from there the pool chooses by its rule. Random asking has the same model,
and for its part the ranks (one, or the mean of several) and the ridge that are best for it on the very set,
at the last answer; the pool has those that were chosen elsewhere (see asking/model.py). Accuracy counts the
nodes nobody was asked about; beside it stands that of the whole result, in which answers count as right.

    python benchmarks/questions.py [--data cora citeseer pubmed] [--starts 10] [--first 0]
                                   [--rules ambiguity] [--json] [--svg docs/images]
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import querist
from querist.asking.model import GAMMAS, RANKS, QuickModel
from querist.asking.rules import RULES
from querist.embedding import Embedding
from querist.embedding.kinds import kind_of
from querist.labelling.rows import quick_rows
from querist.labelling.suggest import best
from querist.report import PAGE_SIZE, Figure, charts, standalone
from querist.types import Codes, Floats

GOALS = {"cora": 75, "citeseer": 150, "pubmed": 150}
"""Answers of the pool that must be as good as 200 random ones."""
ANSWERS = 200
RIDGES = (0.3, 1.0, 2.0, 4.0)
SINGLE = ((64,), (100,), (200,))
"""Ranks that random asking may have instead of the mean of those of the model."""
SHOWN = (10, 25, 50, 75, 100, 150, 200)


def played(
    rows: Embedding, codes: Codes, rule: str | None, ranks: Sequence[int], gamma: float, start: int
) -> Floats:
    """(2, ANSWERS) accuracy on nodes not asked about, and of the whole result, after every answer."""
    known = codes >= 0
    order = np.random.default_rng(start).permutation(np.flatnonzero(known))
    model = QuickModel.start(rows, int(codes.max()) + 1, gamma, ranks=ranks)
    free, found = known.copy(), np.empty((2, ANSWERS))
    for t in range(ANSWERS):
        row: Any = int(order[t])
        if rule is not None and t > 0:
            row = best(RULES[rule](model), free)
        free[row] = False
        model = model.learn(row, int(codes[row]))
        right = model.scores.argmax(axis=1) == codes
        found[:, t] = right[free].mean(), (right | ~free)[known].mean()
    return found


def measure(name: str, rules: list[str], starts: range) -> dict[str, Any]:
    graph = querist.datasets.load_graph(name)
    print(graph.describe(), file=sys.stderr)
    codes = graph.codes

    def mean(rule: str | None, ranks: Sequence[int], gamma: float) -> Floats:
        rows = quick_rows(graph, max(ranks))
        return np.mean([played(rows, codes, rule, ranks, gamma, start) for start in starts], axis=0)

    own = GAMMAS[kind_of(quick_rows(graph, max(RANKS)).kind).attributes]
    tuned = {(ranks, g): mean(None, ranks, g) for ranks in (RANKS, *SINGLE) for g in {*RIDGES, own}}
    best_of = max(tuned, key=lambda setting: tuned[setting][0, -1])
    control, plain = tuned[best_of], tuned[RANKS, own]
    result: dict[str, Any] = {
        "data": graph.name,
        "starts": [starts.start, starts.stop - 1],
        "random": {"ranks": best_of[0], "ridge": best_of[1], "as_the_pool": float(plain[0, -1])},
        "target": float(control[0, -1]),
        "target_all": float(control[1, -1]),
        "goal": GOALS.get(name),
        "curves": {"random": control.tolist()},
        "answers": {},
    }
    for rule in rules:
        started = time.thread_time()
        found = mean(rule, RANKS, own)
        result["seconds_per_question"] = (time.thread_time() - started) / (len(starts) * ANSWERS)
        result["curves"][rule] = found.tolist()
        result["answers"][rule] = [first_reach(curve, control[k, -1]) for k, curve in enumerate(found)]
    needed = result["answers"][rules[0]][0]
    result["reached"] = None if result["goal"] is None else needed is not None and needed <= result["goal"]
    return result


def first_reach(curve: Floats, target: float) -> int | None:
    """Answers after which the curve stays at the target or above until the last one; None if it does not."""
    below = np.flatnonzero(curve < target)
    first = 1 if below.size == 0 else int(below[-1]) + 2
    return first if first <= curve.size else None


def table(result: dict[str, Any]) -> str:
    head = f"{'':22}" + "".join(f"{m:>7}" for m in SHOWN) + "   as 200 random (all nodes)"
    first, last = result["starts"]
    lines = [f"{result['data']}, mean of the starts {first} to {last}", head]
    for name, (free, _) in result["curves"].items():
        needed = result["answers"].get(name, ["", ""])
        tuned = result["random"]
        ranks = "mean" if len(tuned["ranks"]) > 1 else str(tuned["ranks"][0])
        label = f"random, {ranks} / {tuned['ridge']:g}" if name == "random" else name
        lines.append(f"{label:22}" + "".join(f"{free[m - 1]:7.3f}" for m in SHOWN) + f"   {needed[0]!s:>4} "
                     f"({needed[1]})")  # fmt: skip
    if result["goal"] is not None:
        state = "reached" if result["reached"] else "NOT reached"
        lines.append(f"goal: at most {result['goal']} answers; {state}")
    plain = result["random"]["as_the_pool"]
    lines.append(f"random with the ranks and the ridge of the pool, at the last answer: {plain:.3f}")
    lines.append(f"{1e3 * result['seconds_per_question']:.0f} ms of one core a question")
    return "\n".join(lines)


def drawing(result: dict[str, Any]) -> str:
    """The first rule and random asking."""
    rule = next(iter(result["answers"]))
    x = np.arange(1, ANSWERS + 1)
    drawn = {
        f"pool, {rule}": (x, result["curves"][rule][0]),
        "random": (x, result["curves"]["random"][0]),
    }

    def draw(canvas: Any) -> None:
        axes = canvas.add_subplot()
        charts.curves(axes, drawn, x_label="answers", y_label=f"accuracy on {result['data']}")
        axes.set_ylim(0, 1)
        charts.few_ticks(axes.yaxis, percent=True)

    said = f"Accuracy after every answer on {result['data']}: the pool rises faster than random"
    return standalone(Figure("questions", draw, size=PAGE_SIZE, description=said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(GOALS))
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first start")
    parser.add_argument("--rules", nargs="+", default=["ambiguity"], choices=list(RULES))
    parser.add_argument("--svg", type=Path, help="a folder for the curves, questions_cora.svg and so on")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    results = []
    for name in given.data:
        results.append(measure(name, given.rules, range(given.first, given.first + given.starts)))
        if not given.json:
            print(table(results[-1]), end="\n\n", flush=True)
        if given.svg:
            (given.svg / f"questions_{name}.svg").write_text(drawing(results[-1]), encoding="utf-8")
    if given.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()

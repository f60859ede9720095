"""Several people, some of them wrong: batches of questions, noisy answers, and how well people are known.

`batches`: answers that one question at a time and batches of 10 need for the accuracy of 200 random ones, by
the labels of the quick model on nodes nobody was asked about, mean over the starts. A batch is chosen with
its own questions open, and all of it is answered before the next.

`together`: the same for 16 people who answer at the same time: whoever is done gets the next question, which
is chosen with those of the others open.

`noise`: accuracy of the labels made in the end from 200 answers: all right, 20 % wrong and taken for the
truth, 20 % wrong and presumed so, and that with 40 of the 200 put again.

`reliability`: three people who are right in 95, 80 and 60 % of their answers; 150 questions in turn, 50 of
them put to a second person as well; the accuracy that is estimated of each.

    python benchmarks/people.py batches [--data cora citeseer pubmed] [--starts 30] [--size 10] [--json]
    python benchmarks/people.py together [--data cora citeseer pubmed] [--starts 10] [--size 16] [--json]
    python benchmarks/people.py noise [--data cora] [--starts 10] [--json]
    python benchmarks/people.py reliability [--data cora] [--starts 10] [--json]

The constants of people.py were chosen on cora_ml.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import querist
from querist.asking.campaign import Asking
from querist.asking.model import RANKS, QuickModel
from querist.asking.specification import DEFAULT_STRATEGY
from querist.asking.strategies import STRATEGIES
from querist.embedding import Embedding
from querist.labelling.rows import quick_rows
from querist.labelling.suggest import best
from querist.types import Codes, Floats
from questions import load

ANSWERS, NOISE, REPEATS = 200, 0.2, 40
PEOPLE = {"ann": 0.95, "bob": 0.8, "cy": 0.6}
QUESTIONS, TWICE = 150, 50


# -- batches ----------------------------------------------------------------------------


def curve(rows: Embedding, codes: Codes, start: int, size: int | None, steady: bool = False) -> Floats:
    """Accuracy after 1, 2, ... answers with up to `size` questions open; None asks at random.

    A batch is answered whole before the next; `steady`: whichever is answered is followed by another, as by
    people who work at the same time and are not equally fast.
    """
    labelled, draw = codes >= 0, np.random.default_rng(start)
    order = draw.permutation(np.flatnonzero(labelled))
    strategy = STRATEGIES[DEFAULT_STRATEGY]
    model = QuickModel.start(rows, int(codes.max()) + 1, centred=strategy.centred)
    free, found, opened = labelled.copy(), np.empty(ANSWERS), [int(order[0])]
    waiting = free.copy()
    waiting[opened] = False
    for t in range(ANSWERS):
        if size is not None and (steady or not opened):
            while len(opened) < min(size, ANSWERS - t):
                row = best(strategy(model.opened(opened)), waiting)
                assert row is not None
                opened.append(row)
                waiting[row] = False
        at = int(draw.integers(len(opened))) if steady and size else 0
        row = opened.pop(at) if size else int(order[t])
        free[row] = False
        model = model.learn(row, int(codes[row]))
        found[t] = (model.scores.argmax(axis=1) == codes)[free].mean()
    return found


def batches(name: str, starts: Sequence[int], size: int, steady: bool = False) -> dict[str, Any]:
    graph = load(name)
    codes, rows = np.asarray(graph.codes), quick_rows(graph.without_labels(), max(RANKS))

    def mean(of: int | None) -> Floats:
        print(name, of, file=sys.stderr, flush=True)
        return np.mean([curve(rows, codes, start, of, steady) for start in starts], axis=0)

    target = float(mean(None)[-1])
    needed = {of: _needed(mean(of), target) for of in (1, size)}
    return {
        "data": name,
        "random": target,
        "one": needed[1],
        "several": needed[size],
        "size": size,
        "steady": steady,
        "ratio": needed[size] / needed[1],
    }


def _needed(found: Floats, target: float) -> int:
    """Answers after which the curve stays at or above the target; one more than all where it does not."""
    below = np.flatnonzero(found < target)
    return int(below[-1]) + 2 if below.size else 1


# -- wrong answers ------------------------------------------------------------------------


def wrong_at_times(truth: Sequence[Any], classes: Sequence[Any], seed: int) -> Callable[[int, float], Any]:
    """Who answers about a row, right with the given chance, else with any other class."""
    draw = np.random.default_rng([seed, 7])

    def answer(row: int, right: float) -> Any:
        if draw.random() < right:
            return truth[row]
        return draw.choice([name for name in classes if name != truth[row]])

    return answer


def noise(name: str, starts: Sequence[int]) -> dict[str, Any]:
    graph = load(name)
    truth, classes = graph.labels, graph.classes
    kinds: dict[str, tuple[float, dict[str, Any]]] = {
        "right": (1.0, {}),
        "taken for the truth": (1 - NOISE, {}),
        "presumed": (1 - NOISE, {"noise": NOISE}),
        f"presumed, {REPEATS} again": (1 - NOISE, {"noise": NOISE, "repeats": REPEATS}),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for start in starts:
        for kind, (right, options) in kinds.items():
            answer = wrong_at_times(truth, classes, start)
            asking = querist.ask(
                graph,
                lambda node, answer=answer, right=right: answer(graph.row_of[node], right),
                budget=ANSWERS,
                classes=classes,
                seed=start,
                labels={_first(graph, start): truth[graph.row_of[_first(graph, start)]]},
                **options,
            )
            found[kind].append(_accuracy(asking, truth))
            print(name, start, kind, round(found[kind][-1], 4), file=sys.stderr, flush=True)
    return {"data": name, "accuracy": found}


def _first(graph: Any, start: int) -> Any:
    """A node that is known, so that starts differ."""
    return graph.nodes[int(np.random.default_rng(start).choice(np.flatnonzero(graph.codes >= 0)))]


def _accuracy(asking: Asking, truth: Sequence[Any]) -> float:
    given = asking.state.answers()
    labels = asking.labels
    rest = [row for row in range(len(truth)) if row not in given and truth[row] is not None]
    return float(np.mean([labels[row] == truth[row] for row in rest]))


# -- people ---------------------------------------------------------------------------------


def reliability(name: str, starts: Sequence[int]) -> dict[str, Any]:
    graph = load(name)
    found = []
    for start in starts:
        answer = wrong_at_times(graph.labels, graph.classes, start)
        asking = querist.ask(graph, classes=graph.classes, budget=QUESTIONS + TWICE, noise=NOISE, seed=start)
        names = list(PEOPLE)
        for number in range(QUESTIONS):
            question = asking.question
            assert question is not None
            turns = [names[number % len(names)]]
            if number % (QUESTIONS // TWICE) == 0:
                turns.append(names[(number + 1 + number // len(names) % 2) % len(names)])
            for again, person in enumerate(turns):
                if again:
                    asking.again(question.node)
                asking.answer(answer(question.row, PEOPLE[person]), person=person)
        found.append({person.name: person.accuracy for person in asking.people})
        print(name, start, found[-1], file=sys.stderr, flush=True)
    return {"data": name, "estimated": found, "right": PEOPLE}


# -- tables -----------------------------------------------------------------------------------


def table(result: dict[str, Any]) -> str:
    """One result in words."""
    if "ratio" in result:
        return (
            f"{result['data']}: accuracy of {ANSWERS} random answers {result['random']:.3f}, reached after "
            f"{result['one']} one at a time, {result['several']} "
            f"{'by {} people at once' if result['steady'] else 'in batches of {}'}: ".format(result["size"])
            + f"{result['ratio']:.2f} times as many"
        )
    lines = [result["data"]]
    if "accuracy" in result:
        for kind, values in result["accuracy"].items():
            behind = 100 * (np.mean(result["accuracy"]["right"]) - np.mean(values))
            lines.append(f"  {kind:24}{np.mean(values):.3f}   {behind:+.1f} points behind")
        return "\n".join(lines)
    for name, right in result["right"].items():
        off = [one[name] - right for one in result["estimated"]]
        lines.append(
            f"  {name:6} right {right:.0%}, estimated {np.mean(off) + right:.3f}; "
            f"off by {np.mean(np.abs(off)):.3f} on average, {np.max(np.abs(off)):.3f} at most"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["batches", "together", "noise", "reliability"])
    parser.add_argument("--data", nargs="+")
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--size", type=int)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    starts, results = range(given.starts), []
    steady = given.what == "together"
    several = steady or given.what == "batches"
    for name in given.data or (["cora", "citeseer", "pubmed"] if several else ["cora"]):
        if several:
            results.append(batches(name, starts, given.size or (16 if steady else 10), steady))
        else:
            results.append((noise if given.what == "noise" else reliability)(name, starts))
        if not given.json:
            print(table(results[-1]), flush=True)
    if given.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()

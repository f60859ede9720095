"""How much dearer is a round of POUNCE than one of a kernel perceptron? Ratios side by side, on one thread.

Both keep the same number of mistakes m and cost O(m) a round: the perceptron adds up m kernel values, POUNCE
looks for the nearest of m nodes. The perceptron is a compiled loop that does nothing else; it is handed the
rounds in which POUNCE was mistaken and errs in the same ones, so that both have the same m in every round.

    python benchmarks/pounce.py [--data cora] [--repeats 15] [--json]
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import querist
from querist.graph.laplacian import resistances

GOAL = 3.0


@numba.njit(error_model="numpy")
def kernel_perceptron(K: Any, order: Any, signs: Any, mistaken: Any, known: Any, label: Any) -> int:
    """Rounds of a kernel perceptron that errs where it is told to; returns how often its sign was right."""
    m, right = 0, 0
    for i in range(order.size):
        row = K[order[i]]
        score = 0.0
        for s in range(m):
            score += label[s] * row[known[s]]
        right += score * signs[i] > 0
        if mistaken[i]:
            known[m] = order[i]
            label[m] = signs[i]
            m += 1
    return right


def seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()  # of this thread alone: what else the machine does is not counted
    work()
    return time.thread_time() - started


def measure(data: str, repeats: int) -> dict[str, Any]:
    graph = querist.datasets.load_graph(data).largest_component()
    print(graph.describe(), file=sys.stderr)
    R = resistances(graph).all()
    K = -R / 2  # the kernel but for what is constant along rows and columns; the arithmetic is the same
    order = np.random.default_rng(0).permutation(graph.labelled)
    result: dict[str, Any] = {"data": graph.name, "rounds": order.size, "repeats": repeats, "goal": GOAL}
    for positive in range(graph.n_classes):
        labels = (graph.codes == positive).astype(np.int64)
        signs = 2.0 * labels[order] - 1
        mistaken = querist.ALGORITHMS["pounce"](graph, 2).run(order, labels).mistaken
        room = np.empty(order.size, dtype=np.int64), np.empty(order.size)
        kernel_perceptron(K, order, signs, mistaken, *room)
        own, theirs = [], []
        for _ in range(repeats):
            fresh = querist.ALGORITHMS["pounce"](graph, 2)
            own.append(seconds(lambda fresh=fresh, labels=labels: fresh.run(order, labels)))
            theirs.append(seconds(lambda s=signs, m=mistaken, r=room: kernel_perceptron(K, order, s, m, *r)))
        result[str(graph.classes[positive])] = {
            "mistakes": int(mistaken.sum()),
            "pounce_us_per_round": statistics.median(own) / order.size * 1e6,
            "perceptron_us_per_round": statistics.median(theirs) / order.size * 1e6,
            "ratio": statistics.median(a / b for a, b in zip(own, theirs, strict=True)),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="cora")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.data, options.repeats)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['data']}, {result['rounds']:,} rounds, one thread; goal: ratio at most {GOAL:g}")
    print(f"{'positive class':24}{'mistakes':>9}{'POUNCE us':>11}{'perceptron us':>15}{'ratio':>7}")
    for name, row in result.items():
        if isinstance(row, dict):
            print(
                f"{name:24}{row['mistakes']:>9,}{row['pounce_us_per_round']:>11.2f}"
                f"{row['perceptron_us_per_round']:>15.2f}{row['ratio']:>7.2f}"
            )


if __name__ == "__main__":
    main()

"""How fast is budgeted least squares? Ratios of processor time, side by side, in one run, on one thread.

The yardstick of a replacement is one compiled pass that reads and writes the lower triangle of the
inverse. The yardsticks of a run are scikit-learn's `SGDClassifier.partial_fit` and river's logistic
regression, row by row over the same stream. Memory is the resident set before and after a long
generated stream.

    python benchmarks/budgeted.py [--data ijcnn1] [--budget 450] [--repeats 15] [--items 10000000] [--json]
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numba
import numpy as np

import querist
from querist.budgeted import inverse
from querist.budgeted.budget import zeros
from querist.budgeted.learner import StreamLearner

SETTINGS = {"lambda1": 0.01, "lambda2": 0.1}
"""What the held-out shuffle of ijcnn1 chooses at 20 % labels, to remove the oldest."""

SHARES = (0.1, 1.0)
"""Shares of labels: that of the paper, and that of an ordinary supervised stream."""

GOALS = {"replace": "< 2.5", "sgd": ">= 5", "river": ">= 1"}


@numba.njit
def one_pass(H: Any, b: int, factor: float) -> None:
    for i in range(b):
        row = H[i]
        for j in range(i + 1):
            row[j] *= factor


@numba.njit
def replacement(
    H: Any, b: int, i: int, h: Any, k: Any, a: Any, kxx: float, wh: Any, wv: Any, owed: Any
) -> None:
    k[i] = 0.0
    inverse.without(H, b, i, k, h, a, wh, wv, owed)
    inverse.replace(b, i, h, a, kxx - inverse.dot(k, a, b), wh, wv, owed)


def seconds(work: Callable[[], object], times: int = 1) -> float:
    started = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - started) / times


def replacements(b: int, repeats: int) -> dict[str, float]:
    """Microseconds of a pass and of a replacement, and their ratio, pair by pair.

    Both matrices lie in memory as a learner's does.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * b, 20))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 40) + np.eye(2 * b)
    room = b + -b % 8
    H, T, inside = zeros((room, room)), zeros((room, room)), np.arange(b)
    H[:b, :b], T[:b, :b] = np.tril(np.linalg.inv(K[:b, :b])), np.tril(rng.normal(size=(b, b)))
    h, a, *waiting = (zeros((n,)) for n in (b, b, b, b, 4))
    rows = [(i, new) for i, new in zip(range(b), range(b, 2 * b), strict=True)]

    def replace_all() -> None:
        for i, new in rows:
            k = K[new, inside]
            replacement(H, b, i, h, k, a, K[new, new], *waiting)
            inside[i] = new

    def gathers_only() -> None:
        for _, new in rows:
            K[new, inside]

    def passes() -> None:
        for _ in rows:
            one_pass(T, b, 1.0)

    replace_all(), one_pass(T, b, 1.0)
    pairs = []
    for _ in range(repeats):
        rows[:] = [(i, (int(inside[i]) + b) % (2 * b)) for i, _ in rows]
        took = seconds(replace_all)
        rows[:] = [(i, int(inside[i])) for i, _ in rows]
        pairs.append(((took - seconds(gathers_only)) / b, seconds(passes) / b))
    inverse.settle(H, b, *waiting)
    exact = np.linalg.inv(K[np.ix_(inside, inside)])
    assert abs(np.tril(H[:b, :b] - exact)).max() < 1e-9
    return {
        "replace_us": statistics.median(own for own, _ in pairs) * 1e6,
        "pass_us": statistics.median(base for _, base in pairs) * 1e6,
        "ratio": statistics.median(own / base for own, base in pairs),
    }


def streams(data: str, b: int, rows: int, repeats: int, share: float) -> dict[str, Any]:
    """Items a second of our run, of scikit-learn's SGD and of river, with a share of labels."""
    found = querist.load(data)
    y = np.unique(found.y, return_inverse=True)[1].astype(np.int64)
    rng = np.random.default_rng(0)
    order = rng.permutation(y.size)
    X, y, labelled = found.X[order], y[order], rng.random(y.size) < share
    classes = int(y.max()) + 1
    own: dict[str, Any] = {**SETTINGS, "budget_labelled": b // 3, "budget_unlabelled": b - b // 3}
    makers = {
        "bls": (lambda: querist.STREAMS["bls"](classes, **own), y.size),
        "sgd": (lambda: querist.STREAMS["sklearn_sgd"](classes), rows),
        "river": (lambda: querist.STREAMS["river_logistic"](classes), y.size),
    }
    taken: dict[str, list[float]] = {name: [] for name in makers}
    accuracy = {}
    for repeat in range(-1, repeats):
        for name, (make, n) in makers.items():
            learner = make()
            started = time.process_time()
            done = learner.run(X[:n], y[:n], labelled[:n])
            if repeat >= 0:
                taken[name].append((time.process_time() - started) / n)
            accuracy[name] = done.accuracy(y[:n])
    result: dict[str, Any] = {"rows": int(y.size), "sgd_rows": rows}
    for name, times in taken.items():
        ratio = statistics.median(other / ours for other, ours in zip(times, taken["bls"], strict=True))
        result[name] = {
            "items_per_second": 1 / statistics.median(times),
            "bls_is_faster_by": ratio,
            "accuracy": accuracy[name],
        }
    return result


def resident() -> float:
    """Megabytes of this process now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def memory(items: int, block: int = 100_000) -> dict[str, float]:
    """Resident megabytes after the first block and after the last of a stream with a drifting boundary."""
    learner, rng = StreamLearner(2, lambda1=0.1), np.random.default_rng(0)
    first = last = 0.0
    done = 0
    while done < items:
        X = rng.normal(size=(block, 4))
        angle = done / items * np.pi
        codes = (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0).astype(np.int64)
        learner.run(X, codes, rng.random(block) < 0.01)
        done += block
        last = resident()
        first = first or last
        print(f"\r{done:,} items, {last:.1f} MB", end="", file=sys.stderr)
    print(file=sys.stderr)
    return {"items": done, "start_mb": first, "end_mb": last, "updates": learner.updates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="ijcnn1")
    parser.add_argument("--budget", type=int, default=450)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3000, help="rows for scikit-learn, which is slow")
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = {
        "budget": options.budget,
        "replace": replacements(options.budget, options.repeats),
        "streams": {
            share: streams(options.data, options.budget, options.rows, options.repeats, share)
            for share in SHARES
        },
        "memory": memory(options.items),
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    r, m = result["replace"], result["memory"]
    print(
        f"replace, budget {options.budget}: {r['replace_us']:.1f} us, "
        f"{r['ratio']:.2f} passes of {r['pass_us']:.1f} us"
    )
    print(f"  goal {GOALS['replace']} passes")
    for share, found in result["streams"].items():
        print(f"{options.data}, {share:.0%} labelled:")
        for name in ("bls", "sgd", "river"):
            row, said = found[name], ""
            if name != "bls":
                said = f"  bls is {row['bls_is_faster_by']:.2f} times as fast (goal {GOALS[name]})"
            print(
                f"  {name:6} {row['items_per_second']:>10,.0f} items/s  accuracy {row['accuracy']:.4f}{said}"
            )
    print(f"memory: {m['start_mb']:.1f} MB at the start, {m['end_mb']:.1f} MB after {m['items']:,} items")


if __name__ == "__main__":
    main()

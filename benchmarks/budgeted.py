"""How fast is budgeted least squares? Ratios of processor time, side by side, in one run, on one thread.

The yardstick of a replacement is one compiled pass that reads and writes the lower triangle of the
inverse. The yardsticks of a run are river's logistic regression and scikit-learn's
`SGDClassifier.partial_fit`, row by row over the same stream. Memory is the resident set before and after
a long generated stream.

Every set is run with the lambdas that are best on a held-out shuffle (grid and protocol of
`querist.experiment`: {10, 1, 0.1, 0.01} each, tuned on 20,000 items), then timed on the first items of
another; all else is the library's default, the kernel width from the stream among it. river is as it comes,
with plain gradient steps and no penalty, its cheapest. It is timed twice: on dictionaries that are there
before the clock starts, and on rows of the same matrix, of which it makes them. Zeros of a sparse matrix are
in neither.

    python benchmarks/budgeted.py [--data a9a ijcnn1 ...] [--budget 450] [--labelled 150] [--length 20000]
        [--repeats 5] [--items 10000000] [--json]
"""

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numba
import numpy as np

from querist import STREAMS
from querist.budgeted import inverse
from querist.budgeted.budget import zeros
from querist.budgeted.learner import BLS
from querist.experiment import Specification, Store, run
from querist.experiment.tasks.common import vectors_of
from querist.experiment.tasks.stream import draw
from querist_papers.bls19.sensitivity import GRID
from querist_papers.rivals.stream_peers import dictionaries

DATA = ("phishing", "a9a", "electricity", "w8a", "ijcnn1", "cod_rna", "skin")
"""The streams of bls19, Table II; those of which another is a part are left out."""

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


def tuned(data: str, budgets: tuple[int, int], share: float) -> Specification:
    """Budgeted least squares on a set, with the lambdas that a held-out shuffle chooses.

    budgets : slots for labelled and for unlabelled vectors
    """
    spec = Specification(
        "stream",
        data,
        "bls",
        parameters=dict(zip(("budget_labelled", "budget_unlabelled"), budgets, strict=True)),
        grid=GRID,
        protocol={"labelled": share},
        repeats=1,
    )
    [result] = run([spec], Store())
    return replace(spec, parameters=result.parameters, grid={})


def river_on(dicts: list[dict[int, float]], codes: list[int], classes: int) -> float:
    """Seconds of river on dictionaries, -1 being no label; what it predicts is thrown away."""
    model = STREAMS["river_logistic"](classes).model
    targets: list[Any] = [None if c < 0 else bool(c) if classes == 2 else c for c in codes]
    started = time.process_time()
    for x, target in zip(dicts, targets, strict=True):
        model.predict_one(x)
        if target is not None:
            model.learn_one(x, target)
    return time.process_time() - started


def stream(
    data: str, budgets: tuple[int, int], share: float, length: int, rows: int, repeats: int
) -> dict[str, Any]:
    """Microseconds an item of our run, of river and of scikit-learn's SGD, with a share of labels."""
    spec = tuned(data, budgets, share)
    X, y, classes = vectors_of(data)
    order, visible = draw(y.size, share, spec.seed)
    X, y, visible = X[order[:length]], y[order[:length]], visible[:length]
    dicts, seen = list(dictionaries(X)), np.where(visible, y, -1).tolist()
    makers = {
        "bls": (lambda: STREAMS["bls"](classes, **spec.parameters), y.size),
        "river_rows": (lambda: STREAMS["river_logistic"](classes), y.size),
        "sgd": (lambda: STREAMS["sklearn_sgd"](classes), min(rows, y.size)),
    }
    taken: dict[str, list[float]] = {name: [] for name in (*makers, "river")}
    accuracy: dict[str, float] = {}
    done: dict[str, Any] = {}
    for _ in range(repeats + 1):
        for name, (make, n) in makers.items():
            learner = make()
            started = time.process_time()
            done[name] = learner.run(X[:n], y[:n], visible[:n])
            taken[name].append((time.process_time() - started) / n)
            accuracy[name] = done[name].accuracy(y[:n])
            if name == "bls":
                kept = sum(learner.sizes)
        taken["river"].append(river_on(dicts, seen, classes) / y.size)
    # The first round compiles and warms up.
    times = {name: each[1:] for name, each in taken.items()}
    return {
        "data": data,
        "items": int(y.size),
        "features": int(X.shape[1]),
        "sparse": not isinstance(X, np.ndarray),
        "labelled": share,
        "lambda1": spec.parameters["lambda1"],
        "lambda2": spec.parameters["lambda2"],
        "entered": done["bls"].updates / y.size,
        "kept": kept,
        "us": {name: 1e6 * statistics.median(each) for name, each in times.items()},
        "bls_is_faster_by": {
            name: statistics.median(other / own for other, own in zip(each, times["bls"], strict=True))
            for name, each in times.items()
            if name != "bls"
        },
        "accuracy": {"bls": accuracy["bls"], "river": accuracy["river_rows"]},
    }


HEADER = (
    *("data", "items", "features", "labels", "lambda1, lambda2", "enter", "kept"),
    *("BLS us", "river us", "from rows us", "times as fast as river", "from rows", "as SGD"),
    *("accuracy BLS", "river"),
)


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """A line of the table."""
    us, ratio, accuracy = row["us"], row["bls_is_faster_by"], row["accuracy"]
    return (
        row["data"],
        f"{row['items']:,}",
        f"{row['features']:,}" + (" sparse" if row["sparse"] else ""),
        f"{row['labelled']:.0%}",
        f"{row['lambda1']:g}, {row['lambda2']:g}",
        f"{row['entered']:.0%}",
        str(row["kept"]),
        *(f"{us[name]:.1f}" for name in ("bls", "river", "river_rows")),
        *(f"{ratio[name]:.2f}" for name in ("river", "river_rows", "sgd")),
        *(f"{accuracy[name]:.3f}" for name in ("bls", "river")),
    )


def markdown(rows: list[dict[str, Any]]) -> str:
    """The streams as a table."""
    lines = [HEADER, ("---",) * len(HEADER), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def resident() -> float:
    """Megabytes of this process now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def memory(items: int, block: int = 100_000) -> dict[str, float]:
    """Resident megabytes after the first block and after the last of a stream with a drifting boundary."""
    learner, rng = BLS(2, lambda1=0.1), np.random.default_rng(0)
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
    parser.add_argument("--data", nargs="+", default=DATA, help="sets of vectors by name, or files")
    parser.add_argument("--budget", type=int, default=450)
    parser.add_argument("--labelled", type=int, help="slots of it for labelled vectors; by default a third")
    parser.add_argument("--length", type=int, default=20_000, help="items of a stream that are timed")
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="shares of labels")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3000, help="rows for scikit-learn, which is slow")
    parser.add_argument("--items", type=int, default=10_000_000, help="items of the memory run; 0: none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    labelled = options.budget // 3 if options.labelled is None else options.labelled
    budgets = (labelled, options.budget - labelled)
    result: dict[str, Any] = {
        "budgets": budgets,
        "replace": replacements(options.budget, options.repeats),
        "streams": [
            stream(data, budgets, share, options.length, options.rows, options.repeats)
            for share in options.shares
            for data in options.data
        ],
        "memory": memory(options.items) if options.items else None,
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    r, m = result["replace"], result["memory"]
    print(
        f"replace, budget {options.budget}: {r['replace_us']:.1f} us, "
        f"{r['ratio']:.2f} passes of {r['pass_us']:.1f} us (goal {GOALS['replace']} passes)\n"
    )
    print(markdown(result["streams"]))
    print(f"\ngoals: {GOALS['river']} times as fast as river, {GOALS['sgd']} times as SGD")
    if m:
        print(f"memory: {m['start_mb']:.1f} MB at the start, {m['end_mb']:.1f} MB after {m['items']:,} items")


if __name__ == "__main__":
    main()

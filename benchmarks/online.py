"""How fast is a round? Ratios measured side by side, in one run, on one thread.

The yardstick is a compiled loop that does nothing but one `P @ m` a round, the
product that a second-order learner cannot do without when it works node by
node. The floor is that loop with as many rows a product as BLAS likes: the same
arithmetic, no decisions, no learning.

    python benchmarks/online.py [--data pubmed] [--rank 100] [--repeats 15] [--json]

And how well does a learner follow a graph that grows, beside one that sees all of it from the start? Half of
the nodes come later, in random order, `--step` of them at a time.

    python benchmarks/online.py --growing [--data cora] [--step 100] [--repeats 4] [--json]
"""

import argparse
import json
import os
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


@numba.njit
def products_only(P: Any, rows: Any, order: Any) -> float:
    total = 0.0
    for node in order:
        total += (P @ rows[node])[0]
    return total


@numba.njit
def blocked_products_only(P: Any, rows: Any, order: Any) -> float:
    block = np.empty((64, rows.shape[1]))
    total = 0.0
    for start in range(0, order.size - 63, 64):
        for b in range(64):
            block[b] = rows[order[start + b]]
        total += (block @ P)[0, 0]
    return total


def seconds(work: Callable[[], object]) -> float:
    """CPU time of this thread: what else the machine does at the same time does not count."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def measure(data: str, rank: int, repeats: int) -> dict[str, Any]:
    graph = querist.datasets.load_graph(data).largest_component()
    print(graph.describe(), file=sys.stderr)
    embedding = querist.embed(graph, rank=rank)
    print(embedding.report(), file=sys.stderr)
    rows = embedding.rows
    order = np.random.default_rng(0).permutation(graph.labelled)
    P = np.eye(rows.shape[1])
    settings = {"msg h=1e-4": 1e-4, "msg h=0.01": 0.01, "msg h=1": 1.0}

    def learner(h: float) -> Any:
        return querist.ALGORITHMS["msg"](embedding, graph.n_classes, h=h)

    products_only(P, rows, order)
    blocked_products_only(P, rows, order)
    traces = {name: learner(h).run(order, graph.codes) for name, h in settings.items()}
    times: dict[str, list[float]] = {"P @ m": [], "floor": [], **{name: [] for name in settings}}
    for _ in range(repeats):
        times["P @ m"].append(seconds(lambda: products_only(P, rows, order)))
        times["floor"].append(seconds(lambda: blocked_products_only(P, rows, order)))
        for name, h in settings.items():
            fresh = learner(h)
            times[name].append(seconds(lambda fresh=fresh: fresh.run(order, graph.codes)))

    result: dict[str, Any] = {"data": graph.name, "rounds": order.size, "rank": rank, "repeats": repeats}
    for name, taken in times.items():
        ratio = [base / own for base, own in zip(times["P @ m"], taken, strict=True)]
        result[name] = {
            "us_per_round": statistics.median(taken) / order.size * 1e6,
            "times_P_at_m": statistics.median(ratio),
        }
        if name in traces:
            result[name] |= {"questions": traces[name].questions, "updates": int(traces[name].updates)}
    one = learner(0.01)
    one.run(order[:500], graph.codes)
    one.decide(0)
    result["decide"] = {"us": seconds(lambda: [one.decide(int(node)) for node in order[:5000]]) / 5000 * 1e6}
    return result


def growing(data: str, rank: int, step: int, shuffles: int) -> dict[str, dict[str, float]]:
    """Mean errors over the rounds of the later half, also if learned anew at every step, and in the end."""
    graph = querist.datasets.load_graph(data).largest_component()
    whole, half = querist.embed(graph, rank), graph.n_nodes // 2
    found: dict[str, list[list[float]]] = {name: [] for name in ("msg", "cmog", "sslgc")}
    for name, runs in found.items():
        for seed in range(shuffles):
            order = np.random.default_rng(seed).permutation(graph.n_nodes)
            shuffled, make = graph.subgraph(order), querist.ALGORITHMS[name]
            seen = make(whole.rows[order], graph.n_classes, seed=seed)
            before = seen.run(range(graph.n_nodes), shuffled.codes)
            rows, last, mistakes, mistakes_anew, learning = None, 0, 0, 0, 0.0
            for end in (*range(half, graph.n_nodes, step), graph.n_nodes):
                part = shuffled.subgraph(range(end))
                if rows is None:
                    rows = querist.embed(part, rank, cache=False)
                    learner = make(rows, graph.n_classes, seed=seed).by_row()
                else:
                    rows = rows.follow(part)
                    learning += seconds(lambda learner=learner, rows=rows: learner.follow(rows))
                trace = learner.run(range(last, end), part.codes)
                if end > half:
                    anew = make(querist.embed(part, rank, cache=False), graph.n_classes, seed=seed).by_row()
                    again = anew.run(range(end), part.codes)
                    mistakes += int(trace.mistaken.sum())
                    mistakes_anew += int(again.mistaken[last:].sum())
                last = end
            ends = (float((each.predict() != shuffled.codes).mean()) for each in (seen, learner))
            asked = before.questions, learner.questions
            arrivals = graph.n_nodes - half
            later = float(before.mistaken[half:].mean()), mistakes / arrivals, mistakes_anew / arrivals
            runs.append([*later, *ends, *asked, learning])
    keys = ("later_whole", "later", "later_anew", "end_whole", "end", "asked_whole", "asked", "seconds")
    return {
        name: dict(zip(keys, np.mean(runs, axis=0).tolist(), strict=True)) for name, runs in found.items()
    }


def growing_table(data: str, found: dict[str, dict[str, float]]) -> None:
    head = "error of the later half | learned anew | whole graph | of all nodes in the end | whole graph"
    print(f"| on {data} | {head} | questions | whole graph | seconds to follow |\n{'|---' * 9}|")
    for name, row in found.items():
        keys = ("later", "later_anew", "later_whole", "end", "end_whole")
        numbers = [*(f"{row[key]:.4f}" for key in keys), f"{row['asked']:,.0f}", f"{row['asked_whole']:,.0f}"]
        print(f"| {name} | {' | '.join(numbers)} | {row['seconds']:.1f} |")


GOALS = {"msg h=1e-4": 1.3, "msg h=1": 0.7}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="pubmed")
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--growing", action="store_true")
    parser.add_argument("--step", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.growing:
        found = growing(options.data, options.rank, options.step, options.repeats)
        print(json.dumps(found, indent=2)) if options.json else growing_table(options.data, found)
        return
    result = measure(options.data, options.rank, options.repeats)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['data']}, {result['rounds']:,} rounds, rank {result['rank']}, one thread")
    print(f"{'':14}{'us/round':>10}{'x P @ m':>9}{'goal':>7}{'asked':>8}{'learned':>9}")
    for name, row in result.items():
        if isinstance(row, dict) and "us_per_round" in row:
            goal = GOALS.get(name, "")
            counts = f"{row['questions']:>8,}{row['updates']:>9,}" if "questions" in row else ""
            print(f"{name:14}{row['us_per_round']:>10.2f}{row['times_P_at_m']:>9.2f}{goal:>7}{counts}")
    print(f"{'decide':14}{result['decide']['us']:>10.1f}  us a call from Python (goal: under 30)")


if __name__ == "__main__":
    main()

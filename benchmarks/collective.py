"""How fast is a whole graph labelled? Ratios measured side by side, in one run.

Citeseer from 5 % of its labels: GMNR end to end, 10 iterations, beside a two-layer graph convolutional
network of PyG trained for 200 epochs on the CPU with the same labels (where torch is installed). Then
generated graphs of growing size: seconds, the exponent of their growth, and the memory of the largest.

    python benchmarks/collective.py [--data citeseer] [--nodes 100000 1000000] [--repeats 7] [--json]

And what is the weight of the network worth that GMNR (MRGM, for several labels a node) chooses by itself?

    python benchmarks/collective.py --lam cora citeseer genes dblp_multilabel [--repeats 7] [--json]
"""

import argparse
import json
import math
import os
import resource
import statistics
import sys
import time
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import scipy.sparse as sp

import querist
from querist.collective.gmnr import GMNR, MRGM
from querist.experiment.tasks.collective import draw
from querist.labels import Labels
from querist.metrics import micro_f1

LABELLED, CLASSES, WORDS = 0.05, 10, 20_000
GOALS = {"seconds": 0.1, "times_faster": 100, "big_seconds": 60, "big_gb": 6.0, "exponent": 1.15}


def small(data: str, repeats: int) -> dict[str, Any]:
    """GMNR and a GCN in turn, on the same draw of labels."""
    graph = querist.datasets.load_graph(data)
    seeds = draw(graph.known, LABELLED, 0, 0)
    given = np.where(seeds, graph.codes, -1)
    test = (graph.codes >= 0) & ~seeds

    def gmnr() -> float:
        model = GMNR(missing=-1).fit(graph, given)
        return float((model.probabilities_.argmax(axis=1) == graph.codes)[test].mean())

    runs: dict[str, Any] = {"gmnr": gmnr}
    if (gcn := convolutional(graph, seeds, test)) is not None:
        runs["gcn"] = gcn
    result: dict[str, Any] = {"data": graph.name, "labelled": int(seeds.sum())}
    times: dict[str, list[float]] = {name: [] for name in runs}
    gmnr()
    for _ in range(repeats):
        for name, run in runs.items():
            if name == "gcn" and times[name]:
                continue  # once is enough for a factor of a hundred
            started = time.perf_counter()
            result[f"{name}_accuracy"] = run()
            times[name].append(time.perf_counter() - started)
    result |= {f"{name}_seconds": statistics.median(taken) for name, taken in times.items()}
    if "gcn" in runs:
        result["times_faster"] = result["gcn_seconds"] / result["gmnr_seconds"]
    return result


def weights(data: str, repeats: int) -> dict[str, float]:
    """Accuracy, or micro-F1 for several labels a node, from 5 % of the labels: lam by itself, and others."""
    graph = querist.datasets.load_graph(data)
    known, several = graph.known, graph.known.multilabel
    found: dict[str, list[float]] = {}
    for seed in range(repeats):
        seeds = draw(known, LABELLED, seed, 0)
        given = known.indicator * seeds[:, None] if several else np.where(seeds, graph.codes, -1)
        options: dict[str, Any] = {"objective": False} if several else {"objective": False, "missing": -1}
        test = known.known & ~seeds
        for lam in ("auto", 0.5, 1.0, 2.5, 5.0, 10.0, 20.0):
            model = (MRGM if several else GMNR)(lam=lam, **options).fit(graph, given)
            if several:
                score = micro_f1(known.indicator[test], model.labels_[test])
            else:
                score = (model.probabilities_.argmax(axis=1) == graph.codes)[test].mean()
            found.setdefault(f"lam {lam}", []).append(float(score))
            if lam == "auto":
                found.setdefault("chosen", []).append(model.lam_)
    return {lam: statistics.mean(scores) for lam, scores in found.items()}


def weights_table(rows: dict[str, dict[str, float]]) -> str:
    head, *_ = rows.values()
    lines = [["on", *head], ["---"] * (1 + len(head))]
    lines += [[data, *(f"{value:.3f}" for value in row.values())] for data, row in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def convolutional(graph: Any, seeds: Any, test: Any) -> Any:
    """The usual network: 16 hidden units, dropout one half, Adam at 0.01, weight decay 5e-4, 200 epochs."""
    try:
        import torch
        from torch_geometric.nn import GCNConv
    except ImportError:
        print("torch and torch-geometric are not installed: no network to compare with", file=sys.stderr)
        return None
    X = torch.tensor(graph.attributes.toarray(), dtype=torch.float32)
    edges = torch.tensor(np.array(graph.adjacency.nonzero()), dtype=torch.long)
    y, known = torch.tensor(graph.codes), torch.tensor(seeds)

    def run() -> float:
        torch.manual_seed(0)
        first, second = GCNConv(X.shape[1], 16), GCNConv(16, graph.n_classes)
        parameters = [*first.parameters(), *second.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)

        def forward(training: bool) -> Any:
            hidden = torch.nn.functional.dropout(X, training=training)
            hidden = torch.nn.functional.dropout(first(hidden, edges).relu(), training=training)
            return second(hidden, edges)

        for _ in range(200):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(forward(True)[known], y[known]).backward()
            optimiser.step()
        with torch.no_grad():
            return float((forward(False).argmax(dim=1).numpy() == graph.codes)[test].mean())

    return run


def generated(n: int, seed: int = 0) -> tuple[Any, Any]:
    """n nodes, 5 n edges, 50 n words of 20,000; both lean to a node's own class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, CLASSES, n)
    by_class = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[by_class], np.arange(CLASSES + 1))
    heads = rng.integers(0, n, 5 * n)
    own = rng.random(5 * n) < 0.6
    first, last = starts[codes[heads]], starts[codes[heads] + 1]
    alike = by_class[(first + rng.random(5 * n) * (last - first)).astype(np.int64)]
    tails = np.where(own, alike, rng.integers(0, n, 5 * n))
    S = sp.coo_array((np.ones(5 * n), (heads, tails)), shape=(n, n)).tocsr()
    words = np.empty((n, 50), dtype=np.int32)
    for k in range(CLASSES):
        rows = np.flatnonzero(codes == k)
        near = rng.integers(k * WORDS // CLASSES, (k + 1) * WORDS // CLASSES, (rows.size, 50))
        own = rng.random((rows.size, 50)) < 0.3
        words[rows] = np.where(own, near, rng.integers(0, WORDS, (rows.size, 50)))
    data, indptr = np.ones(50 * n), np.arange(0, 50 * n + 1, 50)
    attributes = sp.csr_array((data, words.ravel(), indptr), shape=(n, WORDS))
    return querist.as_graph(S, attributes=attributes, name=f"generated {n:,}"), codes


def large(n: int) -> dict[str, Any]:
    graph, codes = generated(n)
    seeds = draw(Labels(codes, tuple(range(CLASSES))), 0.01, 0, 0)
    given = np.where(seeds, codes, -1)
    model = GMNR(missing=-1, dtype="float32")
    started, busy = time.perf_counter(), time.process_time()
    model.fit(graph, given)
    taken, processor = time.perf_counter() - started, time.process_time() - busy
    return {
        "nodes": n,
        "edges": graph.n_edges,
        "counts": int(graph.attributes.nnz),
        "seconds": taken,
        "processor_seconds": processor,
        "solver": model.solver_,
        "accuracy": float((model.probabilities_.argmax(axis=1) == codes)[~seeds].mean()),
        "floor_gb": floor(graph, model),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def floor(graph: Any, model: Any) -> float:
    """Gigabytes that an iteration must read and write at least, each array once a pass.

    The counts with their places and the blocks `Y` and `Z`; then, for each of the sweeps that the last
    iteration took, the network with its places and three blocks.
    """
    X, S = graph.attributes, graph.adjacency
    block = model.distribution_.nbytes
    sweeps = int(model.solver_.split()[0]) if "sweeps" in model.solver_ else 1
    words = X.data.nbytes + X.indices.nbytes + 2 * block
    return float(words + sweeps * (S.nnz * (4 + S.indices.itemsize) + 3 * block)) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="citeseer")
    parser.add_argument("--nodes", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--lam", nargs="*", default=[], help="only this, on these sets")
    options = parser.parse_args()
    if options.lam:
        rows = {data: weights(data, options.repeats) for data in options.lam}
        print(json.dumps(rows, indent=2) if options.json else weights_table(rows))
        return
    large(5_000)  # compiles
    result: dict[str, Any] = {"large": [large(n) for n in options.nodes]}
    if len(options.nodes) > 1:
        first, last = result["large"][0], result["large"][-1]
        larger = math.log(last["nodes"] / first["nodes"])
        result["exponent"] = math.log(last["seconds"] / first["seconds"]) / larger
        busier = last["processor_seconds"] / first["processor_seconds"]
        result["processor_exponent"] = math.log(busier) / larger
    result["small"] = small(options.data, options.repeats)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    few = result["small"]
    print(f"{few['data']}, {few['labelled']} labels")
    print(f"GMNR end to end: {few['gmnr_seconds']:.3f} s (goal: under {GOALS['seconds']}), ", end="")
    print(f"accuracy {few['gmnr_accuracy']:.3f}")
    if "gcn_seconds" in few:
        print(f"GCN, 200 epochs: {few['gcn_seconds']:.1f} s, accuracy {few['gcn_accuracy']:.3f}: ", end="")
        print(f"{few['times_faster']:.0f} times as long (goal: {GOALS['times_faster']})")
    for row in result["large"]:
        print(f"{row['nodes']:,} nodes, {row['edges']:,} edges, {row['counts']:,} counts, ", end="")
        print(
            f"{row['solver']}: {row['seconds']:.1f} s ({row['processor_seconds']:.1f} s of processor), ",
            end="",
        )
        print(f"accuracy {row['accuracy']:.3f}, peak {row['peak_gb']:.1f} GB so far; ", end="")
        print(f"an iteration moves at least {row['floor_gb']:.2f} GB")
    if "exponent" in result:
        print(f"exponent of the growth: {result['exponent']:.2f} (goal: below {GOALS['exponent']}), ", end="")
        print(f"{result['processor_exponent']:.2f} in processor time")
    print(f"goals for a million nodes: {GOALS['big_seconds']} s, {GOALS['big_gb']} GB")


if __name__ == "__main__":
    main()

"""How fast is an embedding? Against its peers, against its own size, and against the memory bus.

Prints its tables as Markdown, as they stand in docs/embedding.md; what is going on goes to the other stream.

- Peers run at equal residual (at most the tolerance, measured alike for all), each in a process of its own
  and each at its best over precision, basis size and tolerance. All may use the same threads. One that takes
  more than `--limit` seconds of the processor, or twice the best so far if that is more, is stopped.
- Other programs on the machine slow everybody down, and threads that wait for each other most. Then compare
  the processor seconds of one thread: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 QUERIST_THREADS=1.

    python benchmarks/embedding.py [--parts peers floor arrivals scale] [--data pubmed]
                                   [--limit 10]
"""

import argparse
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(os.cpu_count()))

import numpy as np
import scipy.sparse as sp

import querist
from embedding_peers import GOALS, TOL, peers, peers_table, say, table
from querist.embedding.extend import edges_of
from querist.graph.graph import Graph
from querist.memory import free
from querist.operator.eigen.solve import by_degree
from querist.operator.kernels import combine_rows
from querist.operator.local import empty_block
from querist.operator.value import Operator

THREADS = os.environ["OMP_NUM_THREADS"]


# -- size --------------------------------------------------------------------------------------------


def generated(n: int, edges: int, seed: int = 0, communities: int = 200) -> Graph:
    """A graph of communities of unequal size and nodes of unequal degree, in random order."""
    rng = np.random.default_rng(seed)
    share = 1 / np.sqrt(np.arange(1, communities + 1))
    home = np.sort(rng.choice(communities, n, p=share / share.sum()))
    starts = np.searchsorted(home, np.arange(communities + 1))
    m = int(1.05 * edges)
    i = (n * rng.random(m)).astype(np.int64)
    first, last = starts[home[i]], starts[home[i] + 1]
    pull = rng.random(m) ** 1.5
    near = first + ((last - first) * pull).astype(np.int64)
    j = np.where(rng.random(m) < 0.7, near, (n * pull).astype(np.int64))
    mix = rng.permutation(n)
    i, j = mix[i[i != j]], mix[j[i != j]]
    pairs = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    pairs = np.sort(rng.choice(pairs, min(edges, pairs.size), replace=False))
    i, j = (pairs // n).astype(np.int32), (pairs % n).astype(np.int32)
    S = sp.coo_array((np.ones(2 * i.size), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    return Graph(sp.csr_array(S), name=f"generated, {n:,} nodes").largest_component()


def resident() -> float:
    with open("/proc/self/statm") as file:
        return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """One number: the bytes that were held at most in the block, beyond those at its beginning."""
    base, most, over = resident(), [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            most[0] = max(most[0], resident() - base)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield most
    over.set()
    watcher.join()


def scale(sizes: list[int], rank: int = 32) -> dict[str, Any]:
    """Seconds and memory against edges, ten edges a node; and the product on the same graphs."""
    found: dict[str, Any] = {}
    for edges in sizes:
        graph = generated(edges // 10, edges)
        graph.components  # noqa: B018  part of the graph, not of the embedding
        runs = []
        with peak_memory() as peak:
            for _ in range(3 if found else 4):
                spent = time.process_time()
                embedding = querist.embed(graph, rank, cache=False)
                runs.append((embedding.seconds, time.process_time() - spent))
        wall, processor = np.median(runs[-3:], axis=0).tolist()  # the first of all may compile
        found[str(graph.n_edges)] = row = {
            "nodes": graph.n_nodes,
            "seconds": wall,
            "cpu_seconds": processor,
            "beyond_graph_gb": peak[0] / 1e9,
            "residual": embedding.residual,
            "solver": embedding.solver,
        }
        row["floor"] = floor(graph, 48, 5)
        say(f"  {graph.n_edges:,} edges: {row}")
    return found


def exponent(found: dict[str, Any], what: str) -> float:
    """The slope of log seconds over log edges."""
    logs = np.log([[float(edges), row[what]] for edges, row in found.items()])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]) if len(logs) > 1 else np.nan


def scale_table(found: dict[str, Any]) -> None:
    rows = [
        (
            f"{row['nodes']:,}",
            f"{int(edges):,}",
            f"{row['seconds']:.1f}",
            f"{row['cpu_seconds']:.1f}",
            f"{row['beyond_graph_gb']:.2f}",
            f"{row['residual']:.1e}",
            row["solver"],
        )
        for edges, row in found.items()
    ]
    head = ("nodes", "edges", "seconds", "of processor", "GB beyond the graph", "largest residual", "solver")
    table(head, rows)
    powers = [exponent(found, what) for what in ("seconds", "cpu_seconds")]
    print(
        f"Time grows as edges^{powers[0]:.2f}, of the processor as edges^{powers[1]:.2f} (goal: below 1.15; "
        "at 10,000,000 edges under 120 s and 4 GB).\n"
    )


# -- floor -------------------------------------------------------------------------------------------


def stream(a: Any, pool: ThreadPoolExecutor) -> float:
    """Read an array once, on all threads, and do nothing with it but add."""
    parts = np.array_split(a, int(os.environ.get("QUERIST_THREADS", os.cpu_count() or 1)))
    return float(sum(pool.map(np.sum, parts)))


def floor(graph: Graph, columns: int, repeats: int = 12) -> dict[str, Any]:
    """One float32 product against plain reads of as many bytes, in processor seconds over all threads: the
    best of several runs, so that other programs on the machine count little.

    The product is the solver's, in its order of the nodes. *Compulsory* bytes: the matrix
    once, the block read once and written once. No product can do with less; it reaches this floor when the
    block stays in the cache. *Gather*: a loop over the same entries that brings in the same rows of the block
    in the same order, with the same prefetching, adds all of them up in registers and does nothing else. No
    product of this matrix in this order can be quicker on this machine.
    """
    S, _ = by_degree(graph.adjacency)
    M = Operator.laplacian(S, normalised=True, dtype=np.float32)
    X, out = (empty_block((M.n, columns), np.float32) for _ in "ab")
    X[:] = 1
    compulsory = M.indptr.nbytes + M.indices.nbytes + M.values.nbytes + 2 * X.nbytes
    read = np.ones(100_000_000, dtype=np.float32)  # beyond every cache
    whole = np.array([0, M.nnz])
    factors = (np.float32(1), np.float32(-1), np.float32(0), np.float32(0))
    one = (whole, M.indices, M.values, M.centre, X, out[:1], out[:1], *factors, 0, 1)
    pool = ThreadPoolExecutor()
    works: dict[str, Callable[[], Any]] = {
        "product": lambda: M.matmat(X, out=out),
        "gather": lambda: combine_rows(*one),
        "stream": lambda: stream(read, pool),
    }
    best = dict.fromkeys(works, np.inf)
    for name, work in works.items():
        for _ in range(repeats + 1):  # one after the other, as in the solver
            started = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - started)
    rate = read.nbytes / best["stream"]
    return {
        "nodes": M.n,
        "entries": M.nnz,
        "ms": best["product"] * 1e3,
        "stream_gb_s": rate / 1e9,
        "compulsory": compulsory,
        "share_compulsory": compulsory / rate / best["product"],
        "share_gather": best["gather"] / best["product"],
        "gather_of_compulsory": compulsory / rate / best["gather"],
    }


def floor_table(rows: dict[tuple[str, int], dict[str, Any]]) -> None:
    head = (
        "graph",
        "columns",
        "ms",
        "MB it must touch",
        "share of a stream",
        "a bare gather's",
        "of the gather",
    )
    table(
        head,
        [
            (
                f"{name}, {row['nodes']:,} nodes, {row['entries']:,} entries",
                str(columns),
                f"{row['ms']:.2f}",
                f"{row['compulsory'] / 1e6:.0f}",
                f"{row['share_compulsory']:.2f}",
                f"{row['gather_of_compulsory']:.2f}",
                f"{row['share_gather']:.2f}",
            )
            for (name, columns), row in rows.items()
        ],
    )
    rate = max(row["stream_gb_s"] for row in rows.values())
    print(
        f"A plain stream reads {rate:.1f} GB/s a thread. *Share of a stream*: the seconds of a stream of the "
        "bytes that the product must touch, over its own (goal: .5). *A bare gather's*: the same of a loop "
        "that only brings in the rows; *of the gather*: its seconds over the product's.\n"
    )


def distance(graph: Graph, rank: int, product: dict[str, Any]) -> dict[str, float]:
    """What a whole embedding takes beside a plain stream of the bytes that its products must touch."""
    started = time.process_time()
    embedding = querist.embed(graph, rank, cache=False)
    seconds = time.process_time() - started
    blocks = float(embedding.solver.split(", ")[1].split()[0]) * rank / 16
    least = blocks * product["compulsory"] / (product["stream_gb_s"] * 1e9)
    return {"blocks": blocks, "floor": least, "products": blocks * product["ms"] / 1e3, "seconds": seconds}


# -- a tenth of the nodes arrives later ----------------------------------------------------------------


def arrivals(data: str, seeds: int, step: int) -> dict[str, float]:
    """How much worse hidden nodes classify than in the full embedding, in points; means over splits."""
    graph = querist.datasets.load_graph(data).largest_component()
    full, gaps = querist.embed(graph, 100), []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(graph.n_nodes)
        train, whole = graph.n_nodes - graph.n_nodes // 10, graph.subgraph(order)
        visible = querist.embed(whole.subgraph(np.arange(train)), 100)
        followed = visible
        for last in (*range(train + step, graph.n_nodes, step), graph.n_nodes):
            followed = followed.follow(whole.subgraph(np.arange(last)))
        extended = visible.extend(edges_of(whole, train))
        base, *others = (
            ridge_accuracy(rows, whole, train) for rows in (full.rows[order], extended.rows, followed.rows)
        )
        gaps.append([100 * (base - other) for other in others])
    alone, following = np.mean(gaps, axis=0)
    return {"extended": float(alone), "followed": float(following)}


def ridge_accuracy(rows: Any, graph: Graph, train: int) -> float:
    """Of one-hot ridge regression learned on the first `train` nodes, on the others."""
    R, Y = rows[:train], np.eye(graph.n_classes)[graph.codes[:train]]
    W = np.linalg.solve(R.T @ R + np.eye(R.shape[1]), R.T @ Y)
    return float(((rows[train:] @ W).argmax(axis=1) == graph.codes[train:]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", default=["peers", "scale", "floor", "arrivals"])
    parser.add_argument("--data", nargs="*", default=list(GOALS))
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--limit", type=float, default=10.0, help="seconds of the processor before a peer is stopped"
    )
    parser.add_argument("--edges", nargs="*", type=int, default=[1_000_000, 10_000_000])
    parser.add_argument("--only", default="", help="peers with this in their name")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there")
    options = parser.parse_args()
    found: dict[str, Any] = {"threads": int(THREADS), "free_gb": free() / 1e9}
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{os.cpu_count()} cores, {THREADS} threads in BLAS, load {load}; tol {TOL:g}.\n", flush=True)
    if "peers" in options.parts:
        for data in options.data:
            found[data] = peers(data, options.rank, options.limit, options.repeats, options.only)
            peers_table(f"{data}, rank {options.rank}" if options.rank != 100 else data, found[data])
    floors: dict[tuple[str, int], dict[str, Any]] = {}
    if "scale" in options.parts:
        found["scale"] = scale(options.edges)
        print("Rank 32 on generated graphs, ten edges a node:\n")
        scale_table(found["scale"])
        floors = {(f"generated, {int(e):,} edges", 48): row["floor"] for e, row in found["scale"].items()}
    if "floor" in options.parts:
        graphs = {data: querist.datasets.load_graph(data).largest_component() for data in options.data}
        floors = {(d, c): floor(graph, c) for d, graph in graphs.items() for c in (16, 48, 128)} | floors
        floor_table(floors)
        found["floor"] = {f"{data} {columns}": row for (data, columns), row in floors.items()}
        for data, graph in graphs.items():
            found[f"distance {data}"] = far = distance(graph, options.rank, floors[data, 16])
            print(
                f"Rank {options.rank} on {data}: {far['blocks']:.0f} products of 16 columns, at the floor "
                f"{far['floor']:.3f} s, measured one by one {far['products']:.3f} s of the processor; "
                f"all of it takes {far['seconds']:.2f} s.\n"
            )
    if "arrivals" in options.parts:
        rows = list[tuple[str, ...]]()
        for data, seeds, step in (("cora", 6, 1), ("pubmed", 2, 500)):
            found[f"arrivals {data}"] = row = arrivals(data, seeds, step)
            rows.append((data, f"{row['extended']:.1f}", f"{row['followed']:.1f}"))
        print("A tenth of the nodes hidden and added back, points below the full embedding (goal: 1):\n")
        table(("on", "by extension alone", "followed as it grows"), rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=2)


if __name__ == "__main__":
    main()

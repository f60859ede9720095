"""How fast is an embedding? Against its peers, against its own size, and against the memory bus.

Peers run at equal residual (at most the tolerance, measured alike for all), each in a process of its own
and each at its best over precision, basis size and tolerance. All use the same threads.

    python benchmarks/embedding.py [--parts peers floor arrivals scale] [--data pubmed] [--limit 120]

Other programs on the machine slow everybody down, and threads that wait for each other most. Then compare
the CPU seconds of one thread: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 QUERIST_THREADS=1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(os.cpu_count()))

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import querist
from querist.embedding.extend import edges_of
from querist.embedding.memory import free
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian
from querist.operator import Operator, empty_block

THREADS = os.environ["OMP_NUM_THREADS"]
TOL = 2e-3


def best_residual(graph: Graph, vectors: Any) -> float:
    """The largest `|Lv - rho v|` of unit columns, rho their Rayleigh quotients."""
    L = laplacian(graph, normalised=True)
    V = np.asarray(vectors, dtype=np.float64)
    V = V / np.linalg.norm(V, axis=0)
    LV = L @ V
    return float(np.linalg.norm(LV - V * (V * LV).sum(axis=0), axis=0).max())


# -- peers -------------------------------------------------------------------------------------------


def flipped(graph: Graph, dtype: Any) -> Any:
    return (sp.eye_array(graph.n_nodes) - laplacian(graph, normalised=True)).tocsr().astype(dtype)


def lanczos(dtype: Any, basis: int, tol: float) -> Callable[[Graph, int], Any]:
    def run(graph: Graph, k: int) -> Any:
        return spla.eigsh(flipped(graph, dtype), k=k, which="LA", ncv=basis, tol=tol)[1]

    return run


def shift_invert(graph: Graph, k: int) -> Any:
    L = sp.csc_array(laplacian(graph, normalised=True))
    return spla.eigsh(L, k=k, sigma=-1e-6, which="LM", tol=TOL)[1]


def lobpcg_amg(graph: Graph, k: int) -> Any:
    import pyamg

    L = sp.csr_matrix(laplacian(graph, normalised=True))
    L.indices, L.indptr = L.indices.astype(np.int32), L.indptr.astype(np.int32)
    guard = L + 1e-6 * sp.eye(L.shape[0], format="csr")
    M = pyamg.smoothed_aggregation_solver(guard).aspreconditioner()
    X = np.random.default_rng(0).standard_normal((graph.n_nodes, k))
    return spla.lobpcg(L, X, M=M, tol=TOL, maxiter=100, largest=False)[1]


def scikit_learn(solver: str) -> Callable[[Graph, int], Any]:
    def run(graph: Graph, k: int) -> Any:
        from sklearn.manifold import spectral_embedding

        rows = spectral_embedding(
            sp.csr_matrix(graph.adjacency),
            n_components=k,
            eigen_solver=solver,
            eigen_tol=TOL,
            drop_first=False,
            random_state=0,
        )
        return rows * np.sqrt(graph.degrees)[:, None]

    return run


LANCZOS = {
    f"eigsh {np.dtype(dtype).name} ncv {basis} tol {tol:g}": lanczos(dtype, basis, tol)
    for dtype, sizes, tols in (
        (np.float32, (160, 200, 260, 400), (TOL, 2 * TOL)),
        (np.float64, (200, 400), (TOL,)),
    )
    for basis in sizes
    for tol in tols
}
"""A looser tolerance than ours counts where the residuals turn out small enough all the same."""

PEERS: dict[str, Callable[[Graph, int], Any]] = LANCZOS | {
    "eigsh shift-invert": shift_invert,
    "lobpcg + pyamg": lobpcg_amg,
    "spectral_embedding arpack": scikit_learn("arpack"),
    "spectral_embedding amg": scikit_learn("amg"),
}


def ours(graph: Graph, k: int) -> Any:
    return querist.embed(graph, k, cache=False).rows[:, : k - 1]


def run_one(peer: str, data: str, rank: int, repeats: int) -> dict[str, Any]:
    graph = querist.datasets.load_graph(data).largest_component()
    work = ours if peer == "querist" else PEERS[peer]
    if peer == "querist":  # compiled once a machine, not once a graph
        work(Graph(sp.csr_array(np.ones((1600, 1600)) - np.eye(1600))), 10)
    taken, cpu = [], []
    for _ in range(repeats):
        started, spent = time.perf_counter(), time.process_time()
        vectors = work(graph, rank)
        taken.append(time.perf_counter() - started)
        cpu.append(time.process_time() - spent)
    seconds, used = statistics.median(taken), statistics.median(cpu)
    return {"seconds": seconds, "cpu_seconds": used, "residual": best_residual(graph, vectors)}


def peers(data: str, rank: int, limit: float, repeats: int, only: str) -> dict[str, Any]:
    """Seconds and residual of everybody on one data set; what takes longer than `limit` is stopped."""
    found: dict[str, Any] = {}
    for peer in ("querist", *(name for name in PEERS if only in name)):
        command = [sys.executable, __file__, "--peer", peer, "--data", data, "--rank", str(rank)]
        command += ["--repeats", str(repeats if peer == "querist" else 1)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
            found[peer] = json.loads(done.stdout.splitlines()[-1])
        except subprocess.TimeoutExpired:
            found[peer] = {"seconds": None, "residual": None, "stopped_after": limit}
        except subprocess.CalledProcessError as error:
            found[peer] = {"seconds": None, "residual": None, "error": error.stderr.splitlines()[-1:]}
        print(f"  {data} {peer:28}{_shown(found[peer], found['querist'])}", flush=True)
    rivals = [
        row for name, row in found.items() if name != "querist" and (row["residual"] or 1) <= TOL * 1.05
    ]
    for what in ("seconds", "cpu_seconds"):
        best = min((row[what] for row in rivals), default=None)
        found[f"best peer, {what}"] = None if best is None else best / found["querist"][what]
    return found


def _shown(row: dict[str, Any], base: dict[str, Any]) -> str:
    if row["seconds"] is None:
        why = row.get("error") or f"stopped after {row.get('stopped_after'):.0f} s"
        return f"  {why}"
    short = "" if row["residual"] <= TOL * 1.05 else "  (residual above tol: does not count)"
    times = f"{row['seconds']:9.2f} s{row['cpu_seconds']:9.2f} s of cpu"
    return f"{times}{row['seconds'] / base['seconds']:8.1f} x   {row['residual']:.1e}{short}"


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


def scale(sizes: list[int], rank: int = 32) -> dict[str, Any]:
    """Seconds and memory against edges, ten edges a node."""
    import threading

    found: dict[str, Any] = {}
    for edges in sizes:
        graph = generated(edges // 10, edges)
        base, peak, over = resident(), [0.0], threading.Event()

        def watch(peak: list[float] = peak, over: threading.Event = over) -> None:
            while not over.wait(0.05):
                peak[0] = max(peak[0], resident())

        graph.components  # noqa: B018  part of the graph, not of the embedding
        threading.Thread(target=watch, daemon=True).start()
        spent = time.process_time()
        embedding = querist.embed(graph, rank, cache=False)
        over.set()
        row = {
            "nodes": graph.n_nodes,
            "seconds": embedding.seconds,
            "cpu_seconds": time.process_time() - spent,
            "beyond_graph_gb": (peak[0] - base) / 1e9,
            "residual": embedding.residual,
            "solver": embedding.solver,
        }
        found[str(graph.n_edges)] = row
        print(
            f"  {graph.n_edges:>11,} edges {graph.n_nodes:>10,} nodes {row['seconds']:8.1f} s "
            f"{row['cpu_seconds']:8.1f} s of cpu {row['beyond_graph_gb']:6.2f} GB beyond the graph; "
            f"{row['solver']}, {row['residual']:.1e}",
            flush=True,
        )
    logs = np.log([[float(edges), row["seconds"]] for edges, row in found.items()])
    found["exponent"] = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0]) if len(sizes) > 1 else None
    return found


# -- floor -------------------------------------------------------------------------------------------


def stream(a: Any, pool: ThreadPoolExecutor) -> float:
    """Read an array once, on all threads, and do nothing with it but add."""
    parts = np.array_split(a, int(os.environ.get("QUERIST_THREADS", os.cpu_count() or 1)))
    return float(sum(pool.map(np.sum, parts)))


def floor(graph: Graph, columns: int, repeats: int = 12) -> dict[str, Any]:
    """One float32 product against plain reads of as many bytes, in CPU seconds over all threads: the best of
    several runs, so that other programs on the machine count little.

    *Compulsory* bytes: the matrix once, the block read once and written once. No product can do with less;
    it reaches this floor when the block stays in the cache. *Gathered* bytes: the matrix, a row of the
    block for every non-zero, and the block that is written: what the cores load, from cache or memory; a
    product that is quicker than a plain stream of them has found most in the cache.
    """
    M = Operator.laplacian(graph.adjacency, normalised=True, dtype=np.float32)
    X, out = (empty_block((graph.n_nodes, columns), np.float32) for _ in "ab")
    X[:] = 1
    matrix = M.indptr.nbytes + M.indices.nbytes + M.values.nbytes
    sizes = {
        "compulsory": matrix + 2 * X.nbytes,
        "gathered": matrix + 4 * columns * M.nnz + X.nbytes,
    }
    read = np.ones(100_000_000, dtype=np.float32)  # beyond every cache
    pool = ThreadPoolExecutor()
    stream(read, pool), M.matmat(X, out=out)
    product, plain = [], []
    for _ in range(repeats):
        started = time.process_time()
        M.matmat(X, out=out)
        product.append(time.process_time() - started)
        started = time.process_time()
        stream(read, pool)
        plain.append(time.process_time() - started)
    rate = read.nbytes / min(plain)
    shares = {f"share_{name}": size / rate / min(product) for name, size in sizes.items()}
    return {"ms": min(product) * 1e3, "stream_gb_s": rate / 1e9, **sizes, **shares}


def distance(graph: Graph, rank: int, product: dict[str, Any]) -> dict[str, float]:
    """What a whole embedding takes beside a plain stream of the bytes that its products must touch."""
    started = time.process_time()
    embedding = querist.embed(graph, rank, cache=False)
    seconds = time.process_time() - started
    blocks = float(embedding.solver.split(", ")[1].split()[0]) * rank / 16
    least = blocks * product["compulsory"] / (product["stream_gb_s"] * 1e9)
    return {"blocks": blocks, "floor": least, "seconds": seconds}


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
    assert graph.codes is not None
    R, Y = rows[:train], np.eye(graph.n_classes)[graph.codes[:train]]
    W = np.linalg.solve(R.T @ R + np.eye(R.shape[1]), R.T @ Y)
    return float(((rows[train:] @ W).argmax(axis=1) == graph.codes[train:]).mean())


GOALS = {"pubmed": 2.0, "debian_sections": 10.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", default=["peers", "floor", "arrivals", "scale"])
    parser.add_argument("--data", nargs="*", default=list(GOALS))
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds before a peer is stopped")
    parser.add_argument("--edges", nargs="*", type=int, default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--only", default="", help="peers with this in their name")
    parser.add_argument("--json", metavar="FILE", help="write all numbers there")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(json.dumps(run_one(options.peer, options.data[0], options.rank, options.repeats)))
        return
    found: dict[str, Any] = {"threads": int(THREADS), "free_gb": free() / 1e9}
    print(f"{os.cpu_count()} threads, {THREADS} in BLAS, tol {TOL:g}, rank {options.rank}")
    if "peers" in options.parts:
        for data in options.data:
            found[data] = peers(data, options.rank, options.limit, options.repeats, options.only)
            ratio, work = (found[data][f"best peer, {what}"] for what in ("seconds", "cpu_seconds"))
            text = "no peer arrived in time"
            if ratio is not None:
                text = f"{ratio:.1f} times faster than the best peer, with {work:.1f} times less work"
            print(f"{data}: {text} (goal: {GOALS.get(data, 1.0):g} times faster)")
    if "floor" in options.parts:
        for data in options.data:
            graph = querist.datasets.load_graph(data).largest_component()
            for columns in (16, 128):
                found[f"floor {data} {columns}"] = row = floor(graph, columns)
                must, loads = (row[name] / 1e6 for name in ("compulsory", "gathered"))
                print(
                    f"product on {data}, {columns} columns: {row['ms']:.1f} ms of CPU; a plain stream "
                    f"({row['stream_gb_s']:.1f} GB/s a thread) of the {must:.0f} MB it must touch takes "
                    f"{row['share_compulsory']:.2f} of that (the floor; goal: .5), "
                    f"of the {loads:.0f} MB it gathers {row['share_gathered']:.2f}"
                )
            found[f"distance {data}"] = far = distance(graph, options.rank, floor(graph, 16))
            print(
                f"  rank {options.rank} on {data}: {far['blocks']:.0f} products of 16 columns, "
                f"{far['floor']:.2f} s of CPU at the floor; all of it takes {far['seconds']:.2f} s, "
                f"{far['seconds'] / far['floor']:.1f} times as long"
            )
    if "arrivals" in options.parts:
        for data, seeds, step in (("cora", 6, 1), ("pubmed", 2, 500)):
            found[f"arrivals {data}"] = row = arrivals(data, seeds, step)
            print(
                f"a tenth of {data} hidden and added back: {row['extended']:.1f} points below the full "
                f"embedding by extension alone, {row['followed']:.1f} when refreshed as it grows (goal: 1)"
            )
    if "scale" in options.parts:
        print("rank 32, ten edges a node:")
        found["scale"] = scale(options.edges)
        if found["scale"]["exponent"] is not None:
            print(f"time grows as edges^{found['scale']['exponent']:.2f} (goal: below 1.15)")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=2)


if __name__ == "__main__":
    main()

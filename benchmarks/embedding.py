"""How fast is an embedding? Against its peers, against its own size, and against the memory bus.

Prints its tables as Markdown, as they stand in docs/embedding.md; what is going on goes to the other stream.

- Peers run at equal residual (at most the tolerance, measured alike for all), each in a process of its own
  and each at its best over precision, basis size and tolerance. All may use the same threads. One that takes
  more than `--limit` seconds of the processor, or twice the best so far if that is more, is stopped.
- Other programs on the machine slow everybody down, and threads that wait for each other most. Then compare
  the processor seconds of one thread: OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 QUERIST_THREADS=1.

    python benchmarks/embedding.py [--parts peers floor arrivals scale] [--data pubmed] [--limit 10]
"""

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(os.cpu_count()))

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import querist
from querist.embedding.compact import compacted
from querist.embedding.extend import edges_of
from querist.embedding.memory import free
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian
from querist.operator import Operator, empty_block
from querist.operator.kernels import combine_rows

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


def shift_invert(sigma: float) -> Callable[[Graph, int], Any]:
    def run(graph: Graph, k: int) -> Any:
        L = sp.csc_array(laplacian(graph, normalised=True))
        return spla.eigsh(L, k=k, sigma=sigma, which="LM", tol=TOL)[1]

    return run


def lobpcg_amg(dtype: Any, extra: int) -> Callable[[Graph, int], Any]:
    """With `extra` columns beside the wanted ones, since the last of a block arrive late."""

    def run(graph: Graph, k: int) -> Any:
        import pyamg

        L = sp.csr_matrix(laplacian(graph, normalised=True)).astype(dtype)
        L.indices, L.indptr = L.indices.astype(np.int32), L.indptr.astype(np.int32)
        guard = sp.csr_matrix(L + dtype(1e-5) * sp.eye(L.shape[0], format="csr", dtype=dtype))
        M = pyamg.smoothed_aggregation_solver(guard).aspreconditioner()
        X = np.random.default_rng(0).standard_normal((graph.n_nodes, k + extra)).astype(dtype)
        return spla.lobpcg(L, X, M=M, tol=TOL, maxiter=200, largest=False)[1][:, :k]

    return run


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


SETTINGS = (
    *((np.float32, basis, tol) for basis in (140, 160, 200) for tol in (TOL, 2 * TOL)),
    (np.float32, 300, TOL),
    (np.float64, 160, 2 * TOL),
    (np.float64, 300, 2 * TOL),
)
"""A looser tolerance than ours counts where the residuals turn out small enough all the same."""

PEERS: dict[str, Callable[[Graph, int], Any]] = {
    f"eigsh Lanczos, {np.dtype(dtype).name}, ncv {basis}, tol {tol:g}": lanczos(dtype, basis, tol)
    for dtype, basis, tol in SETTINGS
} | {
    "eigsh shift-invert, sigma -0.01": shift_invert(-1e-2),
    "LOBPCG + pyamg, float64": lobpcg_amg(np.float64, 0),
    "LOBPCG + pyamg, float32, 20 more columns": lobpcg_amg(np.float32, 20),
    "spectral_embedding, arpack": scikit_learn("arpack"),
    "spectral_embedding, lobpcg": scikit_learn("lobpcg"),
    "spectral_embedding, amg": scikit_learn("amg"),
}


OURS = "querist"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    for row in (head, ("---",) * len(head), *rows):
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def ours(graph: Graph, k: int) -> Any:
    return querist.embed(graph, k, cache=False).rows[:, : k - 1]


def run_one(peer: str, data: str, rank: int, repeats: int, limit: float) -> dict[str, Any]:
    graph = querist.datasets.load_graph(data).largest_component()
    work = ours if peer == OURS else PEERS[peer]
    if peer == OURS:  # compiled once a machine, not once a graph
        work(graph, rank)
    taken, cpu = [], []
    used = int(time.process_time())
    if limit:  # counted by the processor: other programs on the machine stop nobody
        resource.setrlimit(resource.RLIMIT_CPU, (used + int(np.ceil(limit)), resource.RLIM_INFINITY))
    for _ in range(repeats):
        started, spent = time.perf_counter(), time.process_time()
        vectors = work(graph, rank)
        taken.append(time.perf_counter() - started)
        cpu.append(time.process_time() - spent)
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)
    seconds, spent = statistics.median(taken), statistics.median(cpu)
    return {"seconds": seconds, "cpu_seconds": spent, "residual": best_residual(graph, vectors)}


def in_a_process(peer: str, data: str, rank: int, repeats: int, limit: float) -> dict[str, Any]:
    """What `run_one` finds, in a process of its own."""
    command = [sys.executable, __file__, "--peer", peer, "--data", data, "--rank", str(rank)]
    command += ["--repeats", str(repeats), "--limit", str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"stopped_after": limit}
    if done.returncode:
        return {"error": (done.stderr.splitlines() or ["no message"])[-1][:80]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def peers(data: str, rank: int, limit: float, repeats: int, only: str) -> dict[str, Any]:
    """Seconds and residual of everybody on one data set."""
    found: dict[str, Any] = {}
    for peer in (OURS, *(name for name in PEERS if only in name)):
        arrived = [row["cpu_seconds"] for name, row in found.items() if name != OURS and counts(row)]
        most = 0.0 if peer == OURS else max(limit, 2 * min(arrived, default=0.0))
        found[peer] = in_a_process(peer, data, rank, repeats if peer == OURS else 1, most)
        say(f"  {data}: {peer}: {found[peer]}")
    return found


def counts(row: dict[str, Any]) -> bool:
    return float(row.get("residual", np.inf)) <= TOL * 1.05


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """Of the best peer that counts to ours, by wall clock and by processor."""
    rivals = [row for name, row in found.items() if name != OURS and counts(row)]
    return {
        what: min((row[what] for row in rivals), default=np.nan) / found[OURS][what]
        for what in ("seconds", "cpu_seconds")
    }


def peers_table(data: str, found: dict[str, Any]) -> None:
    base = found[OURS]
    rows = list[tuple[str, ...]]()
    for name, row in found.items():
        if "seconds" not in row:
            why = row.get("error") or f"over {row['stopped_after']:.0f}"
            rows.append((name, "", why, "", ""))
            continue
        late = "" if counts(row) else ", too large: does not count"
        times = f"{row['seconds'] / base['seconds']:.1f}" if name != OURS else ""
        rows.append(
            (
                name,
                f"{row['seconds']:.2f}",
                f"{row['cpu_seconds']:.2f}",
                f"{row['residual']:.1e}{late}",
                times,
            )
        )
    table(("on " + data, "seconds", "of processor", "largest residual", "times ours"), rows)
    best = ratios(found)
    print(
        f"{data}: {best['seconds']:.1f} times faster than the best peer (goal: {GOALS.get(data, 1.0):g}), "
        f"with {best['cpu_seconds']:.1f} times less work.\n",
        flush=True,
    )


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
    """Seconds and memory against edges, ten edges a node; and the product on the same graphs."""
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
        runs = []
        for _ in range(3 if edges < 2_000_000 else 1):  # the first of a process may compile
            spent = time.process_time()
            embedding = querist.embed(graph, rank, cache=False)
            runs.append((embedding.seconds, time.process_time() - spent))
        over.set()
        found[str(graph.n_edges)] = row = {
            "nodes": graph.n_nodes,
            "seconds": min(run[0] for run in runs),
            "cpu_seconds": min(run[1] for run in runs),
            "beyond_graph_gb": (peak[0] - base) / 1e9,
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

    The product is the solver's: without twins, in its order of the nodes. *Compulsory* bytes: the matrix
    once, the block read once and written once. No product can do with less; it reaches this floor when the
    block stays in the cache. *Gather*: a loop over the same entries that brings in the same rows of the block
    in the same order, with the same prefetching, adds all of them up in registers and does nothing else. No
    product of this matrix in this order can be quicker on this machine.
    """
    S = compacted(graph.adjacency, 0).S
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
    assert graph.codes is not None
    R, Y = rows[:train], np.eye(graph.n_classes)[graph.codes[:train]]
    W = np.linalg.solve(R.T @ R + np.eye(R.shape[1]), R.T @ Y)
    return float(((rows[train:] @ W).argmax(axis=1) == graph.codes[train:]).mean())


GOALS = {"pubmed": 2.0, "debian_sections": 10.0}


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
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(
            json.dumps(run_one(options.peer, options.data[0], options.rank, options.repeats, options.limit))
        )
        return
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
        table(("on", "by extension alone", "refreshed as it grows"), rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=2)


if __name__ == "__main__":
    main()

"""The peers of `embedding.py`: eigsh, LOBPCG with pyamg, scikit-learn; each run in a process of its own.

python benchmarks/embedding_peers.py PEER DATA RANK REPEATS LIMIT    (what embedding.py calls)
"""

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(os.cpu_count()))

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import querist
from querist.graph.graph import Graph
from querist.graph.laplacian import laplacian

TOL = 2e-3
GOALS = {"pubmed": 2.0, "debian_sections": 10.0}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    for row in (head, ("---",) * len(head), *rows):
        print("| " + " | ".join(row) + " |")
    print(flush=True)


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
    command = [sys.executable, __file__, peer, data, str(rank), str(repeats), str(limit)]
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


def best_residual(graph: Graph, vectors: Any) -> float:
    """The largest `|Lv - rho v|` of unit columns, rho their Rayleigh quotients."""
    L = laplacian(graph, normalised=True)
    V = np.asarray(vectors, dtype=np.float64)
    V = V / np.linalg.norm(V, axis=0)
    LV = L @ V
    return float(np.linalg.norm(LV - V * (V * LV).sum(axis=0), axis=0).max())


if __name__ == "__main__":
    peer, data, *numbers = sys.argv[1:]
    rank, repeats, limit = int(numbers[0]), int(numbers[1]), float(numbers[2])
    print(json.dumps(run_one(peer, data, rank, repeats, limit)))

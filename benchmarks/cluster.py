"""What a cluster costs. Two workers of one thread each against two threads of one process: CPU seconds.

Prints its tables as Markdown, as they stand in docs/scale.md; what is going on goes to the other stream. The
graph is that of benchmarks/embedding.py, written as partitioned parquet, in random order.

    python benchmarks/cluster.py [--only kernel product embedding killed reading scale]
                                 [--nodes 1_000_000] [--edges 10_000_000] [--rank 32] [--json]

- kernel: own rows times a block of 48 columns, the halo in place, over two threads of one process
- product: the same with packing and exchange; bytes sent, over 4 x columns x rows needed
- embedding: the solver alone, from rows in memory to vectors, over the same solver in one process
- killed: seconds of an embedding with a worker killed in the middle, over those of an undisturbed one
- reading: seconds and memory of all workers from files to rows at their owners
- scale: CPU seconds of reading, placing and embedding at a tenth of the edges and at all, and their exponent

CPU seconds of other programs do not count here, but what they do to the caches does.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
# Dask looks a hundred times a second at what a worker does: that is CPU time by the clock, not by the work.
os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] = "False"

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

COLUMNS = 48
PRODUCTS = 10
PARTS = ("kernel", "product", "embedding", "killed", "reading", "scale")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write_graph(folder: Path, n: int, edges: int, files: int = 16, communities: int = 200) -> Path:
    """Communities of unequal size and nodes of unequal degree, a file at a time; an edge may come twice."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    share = 1 / np.sqrt(np.arange(1, communities + 1))
    home = np.sort(rng.choice(communities, n, p=share / share.sum())).astype(np.int16)
    starts = np.searchsorted(home, np.arange(communities + 1))
    mix = rng.permutation(n).astype(np.int32)
    for number in range(files):
        m = edges // files
        i = (n * rng.random(m)).astype(np.int64)
        first, last = starts[home[i]], starts[home[i] + 1]
        pull = rng.random(m) ** 1.5
        j = np.where(rng.random(m) < 0.7, first + ((last - first) * pull), n * pull).astype(np.int64)
        table = pa.table({"source": mix[i], "target": mix[j]})
        pq.write_table(table, folder / f"part-{number:03d}.parquet", row_group_size=1 << 20)
    return folder


# -- in a rank --------------------------------------------------------------------------------------


def high_water() -> float:
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) * 1024


def read_only(group: Any, tables: Any) -> dict[str, float]:
    from querist.cluster.reading import read_rows

    cpu = time.process_time()
    rows, _ = read_rows(group, tables.edges, tables.ends)
    return {"entries": rows.columns.size, "cpu": time.process_time() - cpu, "memory": high_water()}


def placed(group: Any, work: Path, tables: Any) -> dict[str, float]:
    from querist.cluster.tables import prepare

    cpu = time.process_time()
    prepare(group, work, tables)
    return {"cpu": time.process_time() - cpu, "memory": high_water()}


def times(group: Any, work: Path, dtype: Any = np.float32) -> dict[str, float]:
    """The kernel alone, and products with their exchange."""
    from querist.cluster.space import ShardOperator
    from querist.cluster.store import load_rows
    from querist.operator.kernels import combine_rows

    shard = load_rows(group, work)[0].shard(group)
    M = ShardOperator.laplacian(shard, shard.degrees(), dtype=dtype)
    X, Y = M.space.random(np.random.default_rng(0), COLUMNS), M.space.empty(COLUMNS)
    M.combine(X, Y)
    whole = M.space.with_room(X)
    factors = dtype(1), dtype(-1), dtype(0), dtype(0)
    kernel, packing, product = [], [], []
    kept = [np.empty((rows.size, COLUMNS), dtype=dtype) for rows in shard.send]
    for _ in range(PRODUCTS):
        cpu = time.process_time()
        combine_rows(shard.indptr, shard.indices, M.values, M.centre, whole, Y, Y, *factors, 0, shard.own)
        kernel.append(time.process_time() - cpu)
        cpu = time.process_time()
        for rows, buffer in zip(shard.send, kept, strict=True):
            np.take(whole, rows, axis=0, out=buffer, mode="clip")
        packing.append(time.process_time() - cpu)
    sent = M.sent
    for _ in range(PRODUCTS):
        group.everyone(np.zeros(1))
        cpu = time.process_time()
        M.combine(X, Y)
        product.append(time.process_time() - cpu)
    needed = sum(rows.size for rows in shard.send)
    return {
        "kernel": float(np.min(kernel)),
        "product": float(np.min(product)),
        "packed": 4 * COLUMNS * needed / max(float(np.min(packing)), 1e-9),
        "sent": (M.sent - sent) / PRODUCTS,
        "needed": needed,
        "entries": shard.nnz,
    }


def solved(group: Any, work: Path, rank: int, checkpoints: bool = False) -> dict[str, Any]:
    """The solver on rows in memory."""
    from querist.cluster.spectral import lowest_pairs
    from querist.cluster.store import Checkpoints, load_rows

    shard = load_rows(group, work)[0].shard(group)
    kept = Checkpoints(shard, work / "checkpoints") if checkpoints else None
    resumed = kept is not None and any(kept.folder.glob("block-*"))
    group.everyone(np.zeros(1))
    cpu, wall = time.process_time(), time.perf_counter()
    found = lowest_pairs(shard, rank, 2e-3, 0, kept)[0]
    return {
        "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall, "memory": high_water(),
        "products": found.products / COLUMNS, "residual": float(found.residuals[:-1].max()),
        "arrived": found.arrived, "resumed": resumed,
    }  # fmt: skip


# -- one process ------------------------------------------------------------------------------------


def alone(work: Path, rank: int, what: str) -> dict[str, float]:
    """The same rows in one process with two threads: `what` is "product" or "embedding"."""
    os.environ["QUERIST_THREADS"] = "2"
    from querist.cluster.store import load_rows
    from querist.operator.eigen.chebyshev import filtered_pairs
    from querist.operator.eigen.solve import by_degree
    from querist.operator.threads import one_blas_thread
    from querist.operator.value import Operator
    from querist.progress import silent

    rows = load_rows(SimpleNamespace(rank=0, size=1), work)[0]
    S = sp.csr_array((rows.weights.astype(np.float64), rows.columns, rows.indptr))
    S, _ = by_degree(S)  # the order that one process takes
    if what == "product":
        M = Operator.laplacian(S, normalised=True, dtype=np.float32)
        X, Y = M.space.random(np.random.default_rng(0), COLUMNS), M.space.empty(COLUMNS)
        M.combine(X, Y)
        taken = []
        for _ in range(PRODUCTS):
            cpu = time.process_time()
            M.combine(X, Y)
            taken.append(time.process_time() - cpu)
        return {"product": float(np.min(taken)), "entries": S.nnz}
    made: dict[Any, Any] = {}

    def make(dtype: Any) -> Any:
        if np.dtype(dtype) not in made:
            made[np.dtype(dtype)] = Operator.laplacian(S, normalised=True, dtype=dtype)
        return made[np.dtype(dtype)]

    degrees = np.asarray(S.sum(axis=1)).ravel()
    null = np.sqrt(degrees / degrees.sum())
    make(np.float32).matmat(np.ones((null.size, COLUMNS), np.float32))
    cpu, wall = time.process_time(), time.perf_counter()
    with one_blas_thread():
        found = filtered_pairs(
            make, null, rank, ceiling=2.0, tol=2e-3, seed=0, progress=silent, spare=1, keep=lambda X: None
        )
    return {
        "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall,
        "products": found.products / COLUMNS, "residual": float(found.residuals[:-1].max()),
    }  # fmt: skip


def in_a_process(function: Any, *arguments: Any) -> Any:
    """In a process of its own, whose memory and threads are nobody else's."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


# -- parts ------------------------------------------------------------------------------------------


def killed(client: Any, work: Path, rank: int) -> dict[str, Any]:
    """An embedding, and the same with a worker killed half of the time into it."""
    from querist.cluster.run import on_workers

    def run() -> tuple[bool, float]:
        shutil.rmtree(work / "checkpoints", ignore_errors=True)
        began = time.perf_counter()
        found = on_workers(client, solved, work, rank, True)
        return found[0]["resumed"], time.perf_counter() - began

    _, undisturbed = run()
    pids = client.run(os.getpid)

    def strike() -> None:
        time.sleep(undisturbed / 2)
        os.kill(list(pids.values())[1], signal.SIGKILL)

    threading.Thread(target=strike, daemon=True).start()
    resumed, disturbed = run()
    return {
        "undisturbed": undisturbed,
        "killed": disturbed,
        "ratio": disturbed / undisturbed,
        "resumed": resumed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="*", choices=PARTS, default=[part for part in PARTS if part != "scale"]
    )
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="Where the files go; a temporary folder by default.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as home:
        found = measured(options, Path(home))
    print(json.dumps(found, indent=2) if options.json else table(found))


def measured(options: Any, home: Path) -> dict[str, Any]:
    os.environ["QUERIST_THREADS"] = "1"
    only, found = set(options.only), {"nodes": options.nodes, "edges": options.edges, "rank": options.rank}
    sizes = [options.edges // 10, options.edges] if "scale" in only else [options.edges]
    for edges in sizes:
        on_one_size(options, home, edges, found)
    if len(sizes) > 1:
        small, large = (found["scale"][str(edges)]["cpu_in_all"] for edges in sizes)
        found["exponent"] = float(np.log10(large / small))
    return found


@contextmanager
def workers(options: Any) -> Iterator[Any]:
    """Fresh workers of one thread each: what a process held at most is its own affair."""
    from distributed import Client, LocalCluster

    start = {"n_workers": options.workers, "threads_per_worker": 1, "memory_limit": None}
    with LocalCluster(dashboard_address=None, **start) as cluster, Client(cluster) as client:
        yield client


def on_one_size(options: Any, home: Path, edges: int, found: dict[str, Any]) -> None:
    from querist.cluster.run import on_workers
    from querist.cluster.tables import graph_tables

    # The smaller size of two is there for the exponent alone.
    only = set(options.only) if edges == options.edges else {"scale"}
    say(f"writing {edges:,} edges")
    nodes = options.nodes * edges // options.edges
    files = in_a_process(write_graph, home / f"edges-{edges}", nodes, edges)
    tables, work = graph_tables(files, connect=True), home / f"work-{edges}"
    if "reading" in only:
        with workers(options) as client:
            wall = time.perf_counter()
            parts = on_workers(client, read_only, tables)
            found["reading"] = summed(parts) | {"seconds": time.perf_counter() - wall}
            say(f"reading: {found['reading']}")
    with workers(options) as client:
        wall = time.perf_counter()
        place = summed(on_workers(client, placed, work, tables)) | {"seconds": time.perf_counter() - wall}
        found["placing"] = place
        say(f"reading and placing: {place}")
    if only & {"kernel", "product"}:
        with workers(options) as client:
            ranks = on_workers(client, times, work)
        found["products"] = products(ranks, in_a_process(alone, work, options.rank, "product"))
        say(f"products: {found['products']}")
    if only & {"scale", "embedding"}:
        with workers(options) as client:
            ranks = on_workers(client, solved, work, options.rank)
        whole = summed(ranks) | {k: ranks[0][k] for k in ("wall", "products", "residual")}
        found.setdefault("scale", {})[str(edges)] = whole | {"cpu_in_all": whole["cpu"] + place["cpu"]}
        say(f"embedding: {whole}")
    if "embedding" in only:
        one = in_a_process(alone, work, options.rank, "embedding")
        found["embedding"] = {"ranks": whole, "one": one, "ratio": whole["cpu"] / one["cpu"]}
        say(f"in one process: {one}; ratio {found['embedding']['ratio']:.2f}")
    if "killed" in only:
        with workers(options) as client:
            found["killed"] = killed(client, work, options.rank)
        say(f"killed: {found['killed']}")
    shutil.rmtree(work)
    shutil.rmtree(files)


def summed(ranks: list[dict[str, Any]]) -> dict[str, float]:
    """CPU seconds and memory of all ranks."""
    return {key: float(sum(rank[key] for rank in ranks)) for key in ("cpu", "memory")}


def products(ranks: list[dict[str, float]], one: dict[str, float]) -> dict[str, float]:
    entries, single = sum(rank["entries"] for rank in ranks), one["product"] / one["entries"]
    kernel, product = (sum(rank[key] for rank in ranks) / entries for key in ("kernel", "product"))
    return {
        "kernel_seconds": kernel * entries,
        "product_seconds": product * entries,
        "one_process_seconds": single * entries,
        "kernel": kernel / single,
        "product": product / single,
        "gathered": (4 * COLUMNS + 8) / kernel,
        "packed": float(np.mean([rank["packed"] for rank in ranks])),
        "bytes_over_needed": sum(r["sent"] for r in ranks) / (4 * COLUMNS * sum(r["needed"] for r in ranks)),
    }


def table(found: dict[str, Any]) -> str:
    """What was measured, beside what it should be."""
    rows: list[tuple[str, str, str]] = []
    if "products" in found:
        each = found["products"]
        rows += [
            ("shard kernel over two threads of one process", f"{each['kernel']:.2f}", "1.1"),
            ("product over two threads of one process", f"{each['product']:.2f}", "1.5"),
            ("bytes sent over 4 x columns x rows needed", f"{each['bytes_over_needed']:.6f}", "1"),
            ("bytes gathered by a core", f"{each['gathered'] / 1e9:.1f} GB/s", ""),
            ("bytes packed by a core", f"{each['packed'] / 1e9:.1f} GB/s", ""),
        ]
    if "embedding" in found:
        each = found["embedding"]
        rows += [
            ("embedding over two threads of one process", f"{each['ratio']:.2f}", "1.5"),
            ("products of an embedding", f"{each['ranks']['products']:.0f}", ""),
        ]
    if "killed" in found:
        rows += [("a worker killed half way, over undisturbed", f"{found['killed']['ratio']:.2f}", "1.5")]
    if "reading" in found:
        each = found["reading"]
        rows += [
            (
                "reading",
                f"{each['seconds']:.0f} s, {each['cpu']:.0f} CPU s, {each['memory'] / 1e9:.1f} GB",
                "",
            ),
        ]
    if "placing" in found:
        each = found["placing"]
        text = f"{each['seconds']:.0f} s, {each['cpu']:.0f} CPU s, {each['memory'] / 1e9:.1f} GB"
        rows += [("reading and placing", text, "")]
    for edges, each in found.get("scale", {}).items():
        text = f"{each['wall']:.0f} s, {each['cpu']:.0f} CPU s, {each['memory'] / 1e9:.1f} GB"
        rows += [(f"embedding of {int(edges):,} edges", text, "")]
    if "exponent" in found:
        rows += [("exponent of CPU seconds over edges", f"{found['exponent']:.2f}", "1.15")]
    head = f"{found['nodes']:,} nodes, {found['edges']:,} edges, rank {found['rank']}\n\n"
    return head + "\n".join(
        ["| what | measured | at most |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in rows)]
    )


if __name__ == "__main__":
    main()

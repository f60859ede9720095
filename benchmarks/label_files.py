"""`querist label` from a file of edges to a file of labels: seconds, CPU seconds, memory, accuracy, and what
it said of the first and the third before it began.

A graph of planted classes is generated (an edge joins two nodes of one class with probability 0.7, else any
two), written as CSV with 1 % of the labels, and labelled by the command in a process of its own.

    python benchmarks/label_files.py                                 # 1,000,000 nodes, 10,000,000 edges
    python benchmarks/label_files.py --nodes 2708 --edges 5278 --labelled 0.05
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv


def planted_edges(
    random: np.random.Generator, own: np.ndarray, classes: int, edges: int
) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of edges, which join two nodes of one class with probability 0.7, else any two."""
    by_class = np.argsort(own, kind="stable")
    first = np.searchsorted(own[by_class], np.arange(classes + 1))
    heads = random.integers(own.size, size=edges)
    c = own[heads]
    mates = by_class[first[c] + (random.random(edges) * (first[c + 1] - first[c])).astype(np.int64)]
    return heads, np.where(random.random(edges) < 0.7, mates, random.integers(own.size, size=edges))


def generate(folder: Path, nodes: int, edges: int, classes: int, labelled: float, seed: int) -> np.ndarray:
    """Write edges.csv and labels.csv; returns the class of every node."""
    random = np.random.default_rng(seed)
    own = random.integers(classes, size=nodes)
    heads, tails = planted_edges(random, own, classes, edges)
    arrow_csv.write_csv(pa.table({"source": heads, "target": tails}), folder / "edges.csv")
    there = np.union1d(heads, tails)  # nodes without an edge are not in the file
    seeds = random.choice(there, max(2 * classes, round(labelled * nodes)), replace=False)
    names = np.array([f"class {k}" for k in range(classes)])
    arrow_csv.write_csv(pa.table({"node": seeds, "label": names[own[seeds]]}), folder / "labels.csv")
    return own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--labelled", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", action="store_true", help="write the HTML page too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        own = generate(folder, given.nodes, given.edges, given.classes, given.labelled, given.seed)
        command = [sys.executable, "-m", "querist", "label", "edges.csv", "--labels", "labels.csv"]
        command += ["--out", "out.csv", "--json", *(["--report", "report.html"] if given.report else [])]
        started = time.perf_counter()
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
        seconds = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads(done.stdout)
        table = arrow_csv.read_csv(folder / "out.csv")
        seeds = set(arrow_csv.read_csv(folder / "labels.csv")["node"].to_pylist())
    nodes = np.asarray(table["node"])
    guess = np.array([int(label[6:]) if label else -1 for label in table["label"].to_pylist()])
    tested = np.array([node not in seeds for node in nodes.tolist()])
    print(
        f"{found['nodes']:,} nodes, {found['edges']:,} edges, {found['labelled']:,} labels; {found['method']}"
    )
    right, expected = np.mean(guess[tested] == own[nodes[tested]]), found["accuracy"]["expected"]
    print(f"{seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} CPU s, {used.ru_maxrss / 1e6:.2f} GB")
    print(f"right {right:.4f}, expected {expected:.4f}")
    print(next((said for said in found["why"] if said.startswith("On ")), "Said nothing of time and memory."))


if __name__ == "__main__":
    main()

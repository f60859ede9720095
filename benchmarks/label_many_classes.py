"""`querist.label` with many classes and many labels: seconds, CPU seconds, accuracy.

Two graphs of planted classes with words, an edge joining two nodes of one class with probability 0.7: *tags*,
30,000 nodes, one or two of 100 tags each, 1,500 labelled; *words*, 117,659 nodes, 45 classes, 5,900 labelled.

    python benchmarks/label_many_classes.py [tags words] [--json]
"""

import argparse
import json
import os
import time
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import scipy.sparse as sp

import querist
from label_files import planted_edges

CASES: dict[str, dict[str, Any]] = {
    "tags": {"nodes": 30_000, "classes": 100, "edges": 150_000, "words": 2000, "length": 20, "labels": 1500},
    "words": {"nodes": 117_659, "classes": 45, "edges": 470_000, "words": 5000, "length": 15, "labels": 5900},
}


def planted(nodes: int, classes: int, edges: int, words: int, length: int, seed: int = 0) -> Any:
    """Adjacency, counts of words (nodes, words), and the class of every node."""
    random = np.random.default_rng(seed)
    own = random.choice(classes, nodes, p=random.dirichlet(np.full(classes, 0.7)))
    heads, tails = planted_edges(random, own, classes, edges)
    S = sp.csr_array((np.ones(edges), (heads, tails)), shape=(nodes, nodes))
    S = sp.csr_array(S + S.T)
    S.setdiag(0)
    S.eliminate_zeros()
    topics = 0.4 * random.dirichlet(np.full(words, 0.05), classes) + 0.6 * random.dirichlet(
        np.full(words, 0.5)
    )
    columns = [random.choice(words, length, p=topics[k] / topics[k].sum()) for k in own]
    rows = np.repeat(np.arange(nodes), length)
    X = sp.csr_array((np.ones(rows.size), (rows, np.concatenate(columns))), shape=(nodes, words))
    return S, X, own


def measure(name: str) -> dict[str, Any]:
    case = dict(CASES[name])
    labels = case.pop("labels")
    S, X, own = planted(**case)
    graph = querist.as_graph(S, attributes=X)
    random = np.random.default_rng(1)
    seeds = random.choice(len(own), labels, replace=False)
    known: dict[Any, Any] = {graph.nodes[i]: int(own[i]) for i in seeds}
    if name == "tags":
        second = random.integers(case["classes"], size=len(own))
        known = {node: {code, int(second[i])} for i, (node, code) in zip(seeds, known.items(), strict=True)}
    started, busy = time.perf_counter(), time.process_time()
    result = querist.label(graph, known, multilabel=name == "tags")
    seconds, processor = time.perf_counter() - started, time.process_time() - busy
    likeliest = np.array(result.classes)[result.probabilities.argmax(axis=1)]
    free = np.setdiff1d(np.arange(len(own)), seeds)
    return {
        "case": name,
        **CASES[name],
        "seconds": seconds,
        "processor": processor,
        "likeliest_is_its_class": float(np.mean(likeliest[free] == own[free])),
        "members": [score.name for score in result.choice.scores],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=" or ".join(CASES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for found in map(measure, given.cases or CASES):
        if given.json:
            print(json.dumps(found))
            continue
        size = f"{found['nodes']:,} nodes, {found['classes']} classes, {found['labels']:,} labels"
        spent = f"{found['seconds']:.1f} s, {found['processor']:.1f} CPU s"
        print(f"{found['case']}: {size}: {spent}; right {found['likeliest_is_its_class']:.3f}")
        print(f"  {', '.join(found['members'])}", flush=True)


if __name__ == "__main__":
    main()

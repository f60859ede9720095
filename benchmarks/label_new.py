"""Nodes that come later: labelled by `Labelling.label_new`, and from scratch.

A tenth of the nodes (`--share`) is taken away, what is left is labelled from 5 % of its labels, and the tenth
comes back with its edges and attributes. Printed is the accuracy on these nodes when they stand at the mean
of their neighbours' probabilities, when `label_new` labels them, with both edges and attributes and with one
of them, and when everything is labelled from scratch; with the calibration error of the second and the last,
and the milliseconds of processor time that the model takes for 100 nodes, at first and when it is fitted.

    python benchmarks/label_new.py [--sets cora citeseer] [--draws 2] [--share 0.1] [--keep DIR] [--json]

`--keep` keeps the labels found from scratch, which take the time, for the next run.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import scipy.optimize  # noqa: F401 - what `label` has loaded already is no part of the time
import scipy.sparse as sp

import querist
from querist.labelling.decisions.calibrate import calibration_error
from querist.labelling.new_nodes import NewNodeModel

SETS = ("cora", "citeseer", "pubmed", "blogcatalog_attr", "chameleon_filtered")
"""Reported; the constants of labelling/new_nodes.py were fixed on cora_ml, amazon_computers, dblp_citation,
uai2010 and acm_coauthor."""
LABELS = 0.05


def parted(graph: Any, share: float, draw: int) -> tuple[Any, Any, Any]:
    """Rows that stay, rows that come later, and which of those that stay are labelled."""
    rng = np.random.default_rng(draw)
    new = np.sort(rng.choice(np.flatnonzero(graph.codes >= 0), int(share * graph.n_nodes), replace=False))
    kept = np.setdiff1d(np.arange(graph.n_nodes), new)
    known = np.flatnonzero(graph.codes[kept] >= 0)
    seeds = rng.choice(known, max(int(LABELS * known.size), 2 * graph.n_classes), replace=False)
    return kept, new, seeds


def from_scratch(graph: Any, parts: tuple[Any, Any, Any], file: Path | None) -> dict[str, Any]:
    """Probabilities, and who is reached, before the new nodes came and with them."""
    if file is not None and file.is_file():
        return dict(np.load(file))
    kept, _, seeds = parts
    labels = {graph.nodes[i]: graph.labels[i] for i in kept[seeds]}
    found: dict[str, Any] = {}
    for when, there in (("old", graph.subgraph(kept)), ("anew", graph)):
        result = querist.label(there.without_labels(), labels, classes=graph.classes)
        found |= {when: result.probabilities, f"{when}_reached": result.reached}
    if file is not None:
        np.savez(file, **found)
    return found


def mean_of_neighbours(graph: Any, P: Any) -> Any:
    """Where new nodes stand without a model: new ones among the neighbours count from the second pass on."""
    n = len(P)
    P, S = np.vstack([P, np.zeros((graph.n_nodes - n, P.shape[1]))]), abs(graph.adjacency[n:])
    for _ in range(3):
        mean = S @ P
        P[n:] = mean / np.maximum(mean.sum(axis=1, keepdims=True), 1e-300)
    return P[n:]


def measure(graph: Any, share: float, draw: int, keep: Path | None) -> dict[str, dict[str, float]]:
    parts = kept, new, seeds = parted(graph, share, draw)
    file = None if keep is None else keep / f"{graph.name}_{share:g}_{draw}.npz"
    scratch = from_scratch(graph, parts, file)
    P, reached = scratch["old"], scratch["old_reached"]
    given = np.zeros(kept.size, dtype=bool)
    given[seeds] = True
    old = graph.subgraph(kept)
    whole = graph.subgraph(np.concatenate([kept, new]))
    apart = sp.block_diag([old.adjacency, sp.csr_array((new.size, new.size))], format="csr")
    hundred = whole.subgraph(np.arange(kept.size + min(100, new.size)))
    bare = sp.vstack([old.attributes, sp.csr_array((new.size, old.attributes.shape[1]))], format="csr")
    truth, found = graph.codes[new], dict[str, dict[str, float]]()

    def judged(name: str, Q: Any, **more: float) -> None:
        right = Q.argmax(axis=1) == truth[: len(Q)]
        error = calibration_error(Q.max(axis=1), right)
        found[name] = {"accuracy": float(right.mean()), "calibration": error, **more}

    def fresh() -> NewNodeModel:
        return NewNodeModel(old, P, reached, given, False, float(old.degrees.sum()))

    def timed(call: Callable[[], Any]) -> float:
        begun = time.process_time()
        call()
        return 1e3 * (time.process_time() - begun)

    model = fresh()
    first = timed(lambda: model.answers(hundred, P, reached))
    next_ones = timed(lambda: model.answers(hundred, P, reached))
    judged("mean of neighbours", mean_of_neighbours(whole, P))
    judged("label_new", fresh().answers(whole, P, reached)[0], first_ms=first, next_ms=next_ones)
    judged("edges alone", fresh().answers(replace(whole, attributes=bare), P, reached)[0])
    judged("attributes alone", fresh().answers(replace(whole, adjacency=sp.csr_array(apart)), P, reached)[0])
    judged("from scratch", scratch["anew"][new])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    means: dict[str, dict[str, dict[str, float]]] = {}
    for name in given.sets:
        graph = querist.load_graph(name)
        draws = [measure(graph, given.share, draw, given.keep) for draw in range(given.draws)]
        means[name] = {
            way: {key: float(np.mean([draw[way][key] for draw in draws])) for key in numbers}
            for way, numbers in draws[0].items()
        }
        if not given.json:
            if len(means) == 1:
                print(f"| set | {' | '.join(means[name])} | calibration | ms, first / next 100 |")
                print("|---" * (3 + len(means[name])) + "|")
            own, scratch = means[name]["label_new"], means[name]["from scratch"]
            cells = [f"{numbers['accuracy']:.3f}" for numbers in means[name].values()]
            cells.append(f"{own['calibration']:.3f} / {scratch['calibration']:.3f}")
            cells.append(f"{own['first_ms']:.0f} / {own['next_ms']:.0f}")
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if given.json:
        print(json.dumps(means, indent=1))


if __name__ == "__main__":
    main()

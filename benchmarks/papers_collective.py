"""mrgm15, Table 3 and section 4.5 beside the published numbers: 10 draws of the labels a cell.

Accuracy of GMNR at 1 to 20 % of the labels on Cora, Citeseer and Genes, of its rivals on Cora, and six
measures on a multi-label set that stands in for the paper's. Prints Markdown.

    python benchmarks/papers_collective.py [--only gmnr rivals several] [--trials 10]
"""

import argparse
from typing import Any

import numpy as np

import querist
from querist.collective.trials import run_trials
from querist.graph import Graph
from querist.metrics import measure

SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10, 0.20)
GMNR: dict[str, tuple[float | None, ...]] = {
    "cora": (0.773, 0.785, 0.797, 0.805, 0.824, 0.827, 0.828, 0.832, 0.835, 0.837, 0.851),
    "citeseer": (None, 0.690, 0.707, 0.710, 0.716, 0.719, 0.721, 0.721, 0.724, 0.726, 0.741),
    "genes": (None, 0.770, 0.813, 0.814, 0.822, 0.827, 0.831, 0.839, 0.836, 0.848, 0.849),
}
FEW = (0.01, 0.02, 0.05, 0.10, 0.20)
RIVALS: dict[str, tuple[str, dict[str, Any], tuple[float | None, ...]]] = {
    "wvRN+RL": ("wvrn", {}, (0.493, 0.573, 0.740, 0.786, 0.812)),
    "ICA, the paper's": ("ica", {"bootstrap": False}, (0.410, 0.442, 0.553, 0.714, 0.809)),
    "ICA, bootstrapped": ("ica", {}, (None,) * 5),
    "semiICA": ("semiica", {}, (0.503, 0.581, 0.729, 0.789, 0.834)),
    "LNP": ("lnp", {}, (0.476, 0.558, 0.742, 0.798, 0.823)),
    "harmonic": ("harmonic", {}, (None,) * 5),
    "scikit-network diffusion": ("diffusion", {}, (None,) * 5),
    "scikit-network PageRank": ("pagerank", {}, (None,) * 5),
}
MEASURES = ("hamming_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1")
SEVERAL: dict[str, tuple[str, dict[str, Any], bool]] = {
    "MRGM, lam_labels 5": ("mrgm", {"lam_labels": 5.0}, False),
    "MRGM": ("mrgm", {}, False),
    "ICML": ("icml", {}, False),
    "ICA, binary relevance": ("ica", {}, False),
    "ICA, binary relevance, 0/1 words and links": ("ica", {}, True),
}


def accuracy_table(data: str, methods: Any, shares: tuple[float, ...], trials: int) -> None:
    graph = querist.datasets.load_graph(data)
    print(f"\n| {data} | {' | '.join(f'{100 * share:g} %' for share in shares)} |")
    print("|---" * (len(shares) + 1) + "|")
    for title, (name, parameters, published) in methods.items():
        cells = []
        for share, number in zip(shares, published, strict=True):
            kind = querist.CLASSIFIERS[name]
            found = run_trials(graph, kind, parameters, measure, labelled=share, trials=trials)
            beside = "" if number is None else f" ({number:.3f})"
            cells.append(f"{found.mean('accuracy'):.3f}{beside}")
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


def several_table(trials: int) -> None:
    raw = querist.datasets.load_graph("dblp_multilabel")
    print(f"\n| dblp_multilabel | labels | {' | '.join(name.replace('_', ' ') for name in MEASURES)} |")
    print("|---" * (len(MEASURES) + 2) + "|")
    for title, (name, parameters, binary) in SEVERAL.items():
        for share in (0.05, 0.5):
            graph = without_counts(raw) if binary else raw
            kind = querist.CLASSIFIERS[name]
            found = run_trials(graph, kind, parameters, measure, labelled=share, trials=trials)
            cells = [f"{found.mean(key):.3f}" for key in MEASURES]
            print(f"| {title} | {100 * share:g} % | {' | '.join(cells)} |", flush=True)


def without_counts(graph: Graph) -> Graph:
    """The same nodes with every weight and every count 1."""
    S, X = graph.adjacency.copy(), graph.attributes.copy()
    S.data, X.data = np.ones_like(S.data), np.ones_like(X.data)
    return Graph(S, graph.nodes, X, None, graph.classes, graph.label_matrix, graph.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["gmnr", "rivals", "several"])
    parser.add_argument("--trials", type=int, default=10)
    options = parser.parse_args()
    if "gmnr" in options.only:
        for data, published in GMNR.items():
            accuracy_table(data, {"GMNR": ("gmnr", {}, published)}, SHARES, options.trials)
    if "rivals" in options.only:
        accuracy_table("cora", RIVALS, FEW, options.trials)
    if "several" in options.only:
        several_table(options.trials)


if __name__ == "__main__":
    main()

"""mrgm15, Table 3 and section 4.5: what readings of the paper reach, 10 draws of the labels, seed 0.

`reached` are the values that the chosen reading gave when it was chosen. Every cell of the rivals on Cora and
of the multi-label table is here. A cell that is not within the tolerance stands in `MISSES` with its
difference, and is checked against that: a miss that grows, or goes, must be noticed.
"""

import numpy as np
import pytest

from querist.experiment import Result, Specification
from querist.experiment.runner import run_here
from querist.graph import Graph
from querist.papers.mrgm15.single import FEW, METHODS, OTHERS

pytestmark = pytest.mark.slow

GMNR = {
    "cora": {0.01: 0.742, 0.02: 0.789, 0.05: 0.821, 0.1: 0.840, 0.2: 0.855},
    "citeseer": {0.01: 0.662, 0.02: 0.697, 0.05: 0.723, 0.1: 0.735, 0.2: 0.747},
    "genes": {0.01: 0.781, 0.02: 0.792, 0.03: 0.821, 0.05: 0.836, 0.1: 0.847, 0.2: 0.855},
}
RIVALS = {
    "wvRN+RL": (0.526, 0.636, 0.745, 0.789, 0.811),
    "ICA": (0.392, 0.427, 0.582, 0.714, 0.818),
    "ICA, bootstrapped": (0.480, 0.580, 0.729, 0.786, 0.827),
    "semiICA": (0.556, 0.620, 0.736, 0.794, 0.838),
    "LNP": (0.398, 0.579, 0.749, 0.801, 0.826),
}
TOGETHER = {"bootstrap": False, "together": True}
NAMES = ("hamming_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1")
SEVERAL = {
    ("mrgm", 0.05): ({"lam_labels": 5.0}, (0.124, 0.136, 0.426, 0.920, 0.786, 0.797)),
    ("mrgm", 0.5): ({"lam_labels": 5.0}, (0.092, 0.082, 0.332, 0.953, 0.838, 0.847)),
    ("icml", 0.05): ({}, (0.171, 0.229, 0.616, 0.861, 0.716, 0.728)),
    ("icml", 0.5): ({}, (0.082, 0.087, 0.357, 0.948, 0.858, 0.865)),
    ("ica", 0.05): (TOGETHER, (0.160, 0.207, 0.609, 0.870, 0.721, 0.740)),
    ("ica", 0.5): (TOGETHER, (0.078, 0.074, 0.332, 0.956, 0.866, 0.874)),
}
MISSES = {
    ("wvRN+RL", 0.02): 0.054,
    ("LNP", 0.01): 0.046,
    ("LNP", 0.02): 0.094,
    ("ica", 0.05, "coverage"): -0.042,
}
"""Found minus reached. The first three hang on the draws: over twelve seeds the means of ten draws spread by
.02 to .04. The last may not."""


def run_trials(graph, method, parameters, labelled, trials=10) -> Result:
    protocol = {"labelled": labelled}
    spec = Specification("collective", graph.name, method, parameters, protocol=protocol, repeats=trials)
    return run_here(spec, graph)[0]


def check(cell, found, reached, tolerance):
    expected, allowed = reached + MISSES.get(cell, 0.0), 0.005 if cell in MISSES else tolerance
    assert found == pytest.approx(expected, abs=allowed + 1e-9), cell


@pytest.mark.parametrize("name", list(GMNR))
def test_gmnr(data, name):
    graph = data(name)
    for labelled, reached in GMNR[name].items():
        found = run_trials(graph, "gmnr", {}, labelled)
        check((name, labelled), found.mean("accuracy"), reached, 0.02)
        assert set(found.values("iterations")) == {10}


def test_more_iterations_are_worse(data):
    """Accuracy peaks near 10 iterations and then decays: the count is part of the method."""
    graph = data("cora")
    ten, fifty = (
        run_trials(graph, "gmnr", {"max_iter": count}, 0.05, trials=3).mean("accuracy") for count in (10, 50)
    )
    assert ten > fifty + 0.02


@pytest.mark.parametrize("title", list(RIVALS))
def test_rivals_on_cora(data, title):
    graph, settings = data("cora"), {**METHODS, **OTHERS}[title]
    parameters = settings.get("parameters", {})
    for labelled, reached in zip(FEW, RIVALS[title], strict=True):
        found = run_trials(graph, settings["method"], parameters, labelled)
        check((title, labelled), found.mean("accuracy"), reached, 0.04)


@pytest.mark.parametrize(("name", "labelled"), list(SEVERAL))
def test_several_labels_a_node(data, name, labelled):
    """mrgm with the paper's weight of the label regulariser, which is that of the network.

    ica sees 0/1 words and links, and the neighbours' labels of all classes.
    """
    graph, (parameters, values) = data("dblp_multilabel"), SEVERAL[name, labelled]
    if name == "ica":
        graph = without_counts(graph)
    trials = 10 if labelled < 0.5 else 2  # with half of the labels, draws hardly differ
    found = run_trials(graph, name, parameters, labelled, trials)
    for key, reached in zip(NAMES, values, strict=True):
        check((name, labelled, key), found.mean(key), reached, 0.02)


def without_counts(graph):
    """The same nodes with every weight and every count 1."""
    S, X = graph.adjacency.copy(), graph.attributes.copy()
    S.data, X.data = np.ones_like(S.data), np.ones_like(X.data)
    return Graph(S, graph.nodes, X, None, graph.classes, graph.label_matrix, graph.name)

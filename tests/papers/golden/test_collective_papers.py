"""mrgm15, Table 3 and section 4.5: what readings of the paper reach, 10 draws of the labels, seed 0.

`reached` are the values that the chosen reading gave when it was chosen; a cell that is not within the
tolerance stands in `MISSES` with its difference. Beside the published numbers of Cora, every cell of a rival
agrees, or stands in `DIFFERS_BY` with what it differs by: a miss that grows, or goes, must be noticed. A run
of every line of the other tables is held to what it gave.
"""

import numpy as np
import pytest

from querist.experiment import Result, Specification
from querist.experiment.runner import run_here
from querist_papers.item import Number
from querist_papers.mrgm15 import published, several
from querist_papers.mrgm15.single import FEW, METHODS, OTHERS
from querist_papers.mrgm15.tasks import dblp_a
from querist_papers.verdicts import AGREES, DIFFERS

GMNR = {
    "cora": {0.01: 0.742, 0.02: 0.789, 0.05: 0.821, 0.1: 0.840, 0.2: 0.855},
    "citeseer": {0.01: 0.662, 0.02: 0.697, 0.05: 0.723, 0.1: 0.735, 0.2: 0.747},
    "genes": {0.01: 0.781, 0.02: 0.792, 0.03: 0.821, 0.05: 0.836, 0.1: 0.847, 0.2: 0.855},
}
RIVALS = {
    "wvRN+RL": (0.526, 0.636, 0.745, 0.789, 0.811),
    "ICA": (0.392, 0.427, 0.582, 0.714, 0.818),
    "ICA, bootstrapped": (0.480, 0.580, 0.729, 0.786, 0.827),
    "semiICA": (0.600, 0.704, 0.784, 0.826, 0.851),
    "LNP": (0.425, 0.619, 0.720, 0.787, 0.821),
}
DIFFERS_BY = {
    ("wvRN+RL", 0.02): 0.117,
    ("ICA", 0.1): 0.034,
    ("semiICA", 0.01): 0.097,
    ("semiICA", 0.02): 0.123,
    ("semiICA", 0.05): 0.055,
    ("semiICA", 0.1): 0.037,
    ("semiICA", 0.2): 0.017,
    ("LNP", 0.02): 0.061,
    ("LNP", 0.05): -0.022,
    ("LNP", 0.1): -0.011,
}
"""Found minus published."""
NAMES = ("hamming_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1")
SEVERAL = {
    ("mrgm", 0.05): ({"lam_labels": 5.0}, (0.124, 0.136, 0.426, 0.920, 0.786, 0.797)),
    ("mrgm", 0.5): ({"lam_labels": 5.0}, (0.092, 0.082, 0.332, 0.953, 0.838, 0.847)),
    ("icml", 0.05): ({}, (0.171, 0.229, 0.616, 0.861, 0.716, 0.728)),
    ("icml", 0.5): ({}, (0.082, 0.087, 0.357, 0.948, 0.858, 0.865)),
}
MISSES = {
    ("wvRN+RL", 0.02): 0.054,
}
"""Found minus reached. It depends on the draws: over twelve seeds the means of ten draws spread by .02 to
.04."""

DBLP_A = {
    "MRGM, one lambda": (0.108, 0.878),
    "MRGM, own lambda": (0.095, 0.895),
    "ICML": (0.117, 0.847),
    "ICA": (0.098, 0.868),
    "ICA, bootstrapped": (0.136, 0.826),
    "semiICA": (0.114, 0.874),
    "wvRN+RL": (0.182, 0.781),
}
"""Figure 2: Hamming loss and average precision of one draw of 5 %."""

GENES = {"wvRN+RL": 0.641, "ICA": 0.721, "semiICA": 0.764, "LNP": 0.673, "GMNR": 0.811}
"""Table 4: accuracy on the first two samples."""


def run_trials(graph, method, parameters, labelled, trials=10) -> Result:
    protocol = {"labelled": labelled}
    spec = Specification("collective", graph.name, method, parameters, protocol=protocol, repeats=trials)
    return run_here(spec, graph)[0]


def check(cell, found, reached, tolerance):
    expected, allowed = reached + MISSES.get(cell, 0.0), 0.005 if cell in MISSES else tolerance
    assert found == pytest.approx(expected, abs=allowed + 1e-9), cell


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("title", list(RIVALS))
def test_rivals_on_cora(data, title):
    graph, settings = data("cora"), {**METHODS, **OTHERS}[title]
    parameters = settings.get("parameters", {})
    for labelled, reached in zip(FEW, RIVALS[title], strict=True):
        found = run_trials(graph, settings["method"], parameters, labelled)
        check((title, labelled), found.mean("accuracy"), reached, 0.04)
        if title in published.TABLE_3_METHODS:
            printed, std = published.TABLE_3["Cora", labelled][published.TABLE_3_METHODS.index(title)]
            number = Number(
                *(published.PAPER, "table3", "Cora", title, "accuracy", printed),
                published_std=std,
                published_n=10,
            ).beside(found)
            by = DIFFERS_BY.get((title, labelled))
            assert number.verdict == (AGREES if by is None else DIFFERS), number
            assert by is None or number.difference == pytest.approx(by, abs=0.003), number


@pytest.mark.slow
@pytest.mark.parametrize(("name", "labelled"), list(SEVERAL))
def test_several_labels_a_node(data, name, labelled):
    """mrgm with the paper's weight of the label regulariser, which is that of the network."""
    graph, (parameters, values) = data("dblp_multilabel"), SEVERAL[name, labelled]
    trials = 10 if labelled < 0.5 else 2  # with half of the labels, draws hardly differ
    found = run_trials(graph, name, parameters, labelled, trials)
    for key, reached in zip(NAMES, values, strict=True):
        check((name, labelled, key), found.mean(key), reached, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("title", list(DBLP_A))
def test_every_line_of_figure_2(data, title):
    data("dblp_multilabel")
    how = several.METHODS[title]
    found = run_trials(dblp_a(), how["method"], how.get("parameters", {}), 0.05, trials=1)
    values = found.mean("hamming_loss"), found.mean("average_precision")
    assert values == pytest.approx(DBLP_A[title], abs=2e-3)


def test_every_method_of_table_4(data):
    graph = data("genes")
    for title, accuracy in GENES.items():
        spec = Specification(
            "mrgm15.sample", "genes", **METHODS[title], protocol={"labelled": 0.05}, repeats=2
        )
        assert run_here(spec, graph)[0].mean("accuracy") == pytest.approx(accuracy, abs=2e-3), title


def test_the_objective_rises_with_the_updates_as_printed_and_falls_when_labels_are_reset(data):
    """Theorem 2 on Cora, where it says the same as Theorem 1; its counterexample is in test_collective.py."""
    graph, how = data("cora"), {"solver": "cg", "solver_tol": 1e-8, "max_iter": 30}
    falls = {}
    for clamp in ("none", "reset"):
        spec = Specification(
            "mrgm15.course", "cora", "gmnr", {**how, "clamp": clamp}, protocol={"labelled": 0.05}, repeats=1
        )
        falls[clamp] = int((np.diff(run_here(spec, graph)[0].curve("objective")) < 0).sum())
    assert falls == {"none": 0, "reset": 14}

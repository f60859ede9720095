"""mrgm15, Table 3 and section 4.5: what readings of the paper reach, within the draws' own spread.

The full protocol is 10 trials at 1 to 20 % on three sets, four rivals and the multi-label table; here are
the cells that fit a minute. `reached` are the values that the chosen reading gave when it was chosen.
"""

import pytest

from querist import CLASSIFIERS
from querist.collective.trials import run_trials
from querist.metrics import measure

GMNR = {
    "cora": {0.01: 0.742, 0.02: 0.789, 0.05: 0.821, 0.1: 0.840, 0.2: 0.855},
    "citeseer": {0.01: 0.662, 0.02: 0.697, 0.05: 0.723, 0.1: 0.735, 0.2: 0.747},
    "genes": {0.03: 0.821, 0.05: 0.836, 0.1: 0.847, 0.2: 0.855},
}
"""Genes at 1 and 2 % spread more between draws of 10 trials than the tolerance."""

RIVALS = {
    "wvrn": ({}, {0.05: 0.745, 0.2: 0.811}),
    "ica": ({"bootstrap": False}, {0.01: 0.392, 0.05: 0.582, 0.2: 0.818}),
    "ica, bootstrapped": ({}, {0.01: 0.480, 0.05: 0.729, 0.2: 0.827}),
    "semiica": ({}, {0.05: 0.736}),
    "lnp": ({}, {0.05: 0.749, 0.2: 0.826}),
}

NAMES = ("hamming_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1")
SEVERAL = {
    ("mrgm", 0.05): (0.124, 0.136, 0.426, 0.920, 0.786, 0.797),
    ("mrgm", 0.5): (0.092, 0.082, 0.332, 0.953, 0.838, 0.847),
    ("icml", 0.05): (0.171, 0.229, 0.616, 0.861, 0.716, 0.728),
}


@pytest.mark.parametrize("name", list(GMNR))
def test_gmnr(data, name):
    graph = data(name)
    for labelled, reached in GMNR[name].items():
        found = run_trials(graph, CLASSIFIERS["gmnr"], {}, measure, labelled=labelled, trials=10)
        assert found.mean("accuracy") == pytest.approx(reached, abs=0.02), labelled
        assert set(found.iterations) == {10}


def test_more_iterations_are_worse(data):
    """Accuracy peaks near 10 iterations and then decays: the count is part of the method."""
    graph, kind = data("cora"), CLASSIFIERS["gmnr"]
    ten, fifty = (
        run_trials(graph, kind, {"max_iter": count}, measure, labelled=0.05, trials=3).mean("accuracy")
        for count in (10, 50)
    )
    assert ten > fifty + 0.02


@pytest.mark.parametrize("name", list(RIVALS))
def test_rivals_on_cora(data, name):
    graph, (parameters, values) = data("cora"), RIVALS[name]
    for labelled, reached in values.items():
        found = run_trials(
            graph, CLASSIFIERS[name.partition(",")[0]], parameters, measure, labelled=labelled, trials=10
        )
        assert found.mean("accuracy") == pytest.approx(reached, abs=0.04), labelled


@pytest.mark.parametrize(("name", "labelled"), list(SEVERAL))
def test_several_labels_a_node(data, name, labelled):
    """mrgm with the paper's weight of the label regulariser, which is that of the network."""
    parameters = {"lam_labels": 5.0} if name == "mrgm" else {}
    found = run_trials(
        data("dblp_multilabel"), CLASSIFIERS[name], parameters, measure, labelled=labelled, trials=2
    )
    means = [found.mean(measure_name) for measure_name in NAMES]
    assert means == pytest.approx(SEVERAL[name, labelled], abs=0.02)

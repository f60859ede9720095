"""Tables I and II of bls19: a quick part of them, within 1.5 points of what the readings reach.

The lambdas are those that held-out draws choose (`tune`, `tune_transductive`). The published values stand
beside; they are not always reached. The whole tables take minutes: benchmarks/budgeted_tables.py.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import querist
from querist.budgeted.experiment import prequential, transductive, tune_transductive
from querist.budgeted.similarity import gram_of, mean_distance

DATA = os.environ.get("QUERIST_DATA")

TABLE_1 = [  # set, scaled, share, reached, published
    ("sonar", False, 0.2, 74.0, 80.06),
    ("ionosphere", False, 0.1, 82.5, 84.27),
    ("wdbc", False, 0.2, 88.8, 90.00),
    ("wdbc", False, 0.1, 85.1, 87.40),
    ("australian", True, 0.2, 85.7, 86.30),
    ("australian", True, 0.1, 85.3, 85.01),
    ("pima_diabetes", False, 0.2, 69.4, 69.95),
    ("fourclass", True, 0.2, 90.4, 89.10),
]

TABLE_2 = [  # set, strategy, share, lambda1, lambda2, reached, published
    ("phishing", "remove", 0.2, 1.0, 0.1, 89.6, 90.95),
    ("phishing", "remove", 0.1, 1.0, 0.1, 89.4, 91.64),
    ("phishing", "projection", 0.2, 1.0, 10.0, 92.7, 92.49),
    ("phishing", "projection", 0.1, 1.0, 10.0, 92.1, 92.08),
    ("a9a", "projection", 0.2, 1.0, 0.1, 82.1, 82.09),
    ("a9a", "projection", 0.1, 1.0, 10.0, 81.8, 81.51),
    ("ijcnn1", "remove", 0.2, 0.01, 0.1, 92.0, 92.66),
    ("w8a", "projection", 0.1, 0.1, 0.1, 97.48, 97.24),
    ("cod_rna", "projection", 0.1, 10.0, 0.1, 85.4, 86.17),
]


def vectors(name, scaled=False):
    if not DATA or not (Path(DATA) / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in QUERIST_DATA ({DATA or 'which is not set'})")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUERIST_DATA", DATA)
        found = querist.load(name)
    X = found.X
    if scaled:
        low, high = X.min(axis=0), X.max(axis=0)
        X = 2 * (X - low) / np.where(high > low, high - low, 1) - 1
    return X, (found.y > 0).astype(np.int64)


@pytest.mark.parametrize(("name", "scaled", "share", "reached", "published"), TABLE_1)
def test_table_1(name, scaled, share, reached, published):
    X, codes = vectors(name, scaled)
    K = gram_of("rbf", mean_distance(X))(X, X)
    chosen = tune_transductive(K, codes, 2, labelled=share)
    found = 100 * np.mean(transductive(K, codes, 2, labelled=share, **chosen))
    assert found == pytest.approx(reached, abs=1.5), f"{chosen}; published {published}"


@pytest.mark.parametrize("share", [0.2, 0.1])
def test_label_propagation_is_poor_on_a_noisy_set(share):
    """Ionosphere: near the majority rate, as the paper says (63.81, 63.92)."""
    X, codes = vectors("ionosphere")
    K = gram_of("rbf", mean_distance(X))(X, X)
    found = 100 * np.mean(transductive(K, codes, 2, method="lp", labelled=share))
    assert found == pytest.approx(63.9, abs=1.5)


@pytest.mark.parametrize(("name", "strategy", "share", "lambda1", "lambda2", "reached", "published"), TABLE_2)
def test_table_2(name, strategy, share, lambda1, lambda2, reached, published):
    X, codes = vectors(name)
    width = mean_distance(X, pairs=10_000)

    def make(seed):
        return querist.STREAMS["bls"](2, strategy=strategy, width=width, lambda1=lambda1, lambda2=lambda2)

    found = prequential(make, X, codes, labelled=share, repeats=2)
    assert 100 * found.mean == pytest.approx(reached, abs=1.5), f"published {published}"


@pytest.mark.parametrize(
    ("name", "share", "published"), [("a9a", 0.2, 78.78), ("electricity", 0.2, 56.90), ("ijcnn1", 0.2, 89.38)]
)
def test_passive_aggressive_column(name, share, published):
    X, codes = vectors(name)
    found = prequential(lambda seed: querist.STREAMS["pa"](2), X, codes, labelled=share, repeats=2)
    assert 100 * found.mean == pytest.approx(published, abs=1.0)


def test_unlabelled_slots_bring_nothing_here_and_labelled_slots_do():
    """The ablation of the readings on ijcnn1, 10 % labels: budgets 150/300, 150/1 and 450/1."""
    X, codes = vectors("ijcnn1")
    width = mean_distance(X, pairs=10_000)

    def accuracy(labelled, unlabelled):
        own = {"lambda1": 0.1, "width": width, "budget_labelled": labelled, "budget_unlabelled": unlabelled}
        return prequential(lambda seed: querist.STREAMS["bls"](2, **own), X[:20_000], codes[:20_000]).mean

    both, few, many = accuracy(150, 300), accuracy(150, 1), accuracy(450, 1)
    assert many > both + 0.005
    assert abs(few - both) < 0.02

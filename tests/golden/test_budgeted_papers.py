"""Tables I and II of bls19: a quick part of them, within 1.5 points of what the readings reach.

The specifications are those of `querist reproduce bls19`, which runs the whole tables. Table I tunes as it
does there; for Table II the lambdas are those that the held-out stream chooses.
"""

import os
from pathlib import Path

import pytest

from querist.experiment import Store, run
from querist.papers.bls19 import static, streams

pytestmark = pytest.mark.slow

DATA = os.environ.get("QUERIST_DATA")

TABLE_1 = [  # set, share, reached
    ("Sonar", 0.2, 74.0),
    ("Ionosphere", 0.1, 82.5),
    ("Wdbc", 0.2, 88.8),
    ("Wdbc", 0.1, 85.1),
    ("Australian", 0.2, 85.7),
    ("Australian", 0.1, 85.3),
    ("Diabetes", 0.2, 69.4),
    ("FourClass", 0.2, 90.4),
]

TABLE_2 = [  # set, strategy, share, lambda1, lambda2, reached
    ("phishing", "remove", 0.2, 1.0, 0.1, 89.6),
    ("phishing", "remove", 0.1, 1.0, 0.1, 89.4),
    ("phishing", "projection", 0.2, 1.0, 10.0, 92.7),
    ("phishing", "projection", 0.1, 1.0, 10.0, 92.1),
    ("a9a", "projection", 0.2, 1.0, 0.1, 82.1),
    ("a9a", "projection", 0.1, 1.0, 10.0, 81.8),
    ("ijcnn1", "remove", 0.2, 0.01, 0.1, 92.0),
    ("w8a", "projection", 0.1, 0.1, 0.1, 97.48),
    ("cod-rna", "projection", 0.1, 10.0, 0.1, 85.4),
]


@pytest.fixture
def per_cent(tmp_path, monkeypatch):
    """Accuracy of a specification, in per cent."""

    def accuracy(spec):
        if not DATA or not (Path(DATA) / f"{spec.dataset}.npz").is_file():
            pytest.skip(f"{spec.dataset}.npz is not in QUERIST_DATA ({DATA or 'which is not set'})")
        monkeypatch.setenv("QUERIST_DATA", DATA)
        (result,) = run([spec], Store(tmp_path))
        return 100 * result.mean("accuracy")

    return accuracy


@pytest.mark.parametrize(("name", "share", "reached"), TABLE_1)
def test_table_1(per_cent, name, share, reached):
    assert per_cent(static.case(name, "BLS, RBF", share)) == pytest.approx(reached, abs=1.5)


@pytest.mark.parametrize("share", [0.2, 0.1])
def test_label_propagation_is_poor_on_a_noisy_set(per_cent, share):
    """Ionosphere: near the majority rate, as the paper says (63.81, 63.92)."""
    assert per_cent(static.case("Ionosphere", "LP", share)) == pytest.approx(63.9, abs=1.5)


@pytest.mark.parametrize(("name", "strategy", "share", "lambda1", "lambda2", "reached"), TABLE_2)
def test_table_2(per_cent, name, strategy, share, lambda1, lambda2, reached):
    method = streams.bls(strategy, lambda1=lambda1, lambda2=lambda2)
    assert per_cent(streams.case(name, method, share, repeats=2)) == pytest.approx(reached, abs=1.5)


@pytest.mark.parametrize(
    ("name", "share", "published"), [("a9a", 0.2, 78.78), ("electricity", 0.2, 56.90), ("ijcnn1", 0.2, 89.38)]
)
def test_passive_aggressive_column(per_cent, name, share, published):
    spec = streams.case(name, streams.METHODS["PA"], share, repeats=2)
    assert per_cent(spec) == pytest.approx(published, abs=1.0)


def test_unlabelled_slots_bring_nothing_here_and_labelled_slots_do(per_cent):
    """The ablation of the readings on ijcnn1, 10 % labels: budgets 150/300, 150/1 and 450/1."""

    def accuracy(labelled, unlabelled):
        sizes = {"budget_labelled": labelled, "budget_unlabelled": unlabelled}
        method = streams.bls("remove", lambda1=0.1, lambda2=0.1, **sizes)
        return per_cent(streams.case("ijcnn1", method, 0.1, repeats=1))

    both, few, many = accuracy(150, 300), accuracy(150, 1), accuracy(450, 1)
    assert many > both + 0.5
    assert abs(few - both) < 2

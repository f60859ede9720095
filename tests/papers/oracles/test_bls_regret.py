"""Theorem 1 of bls19 against vectors that can be written down: a linear kernel, gradients by differences."""

import numpy as np
import pytest

from querist_papers.theory.bls19 import bounds, descent, measured


def test_the_measures_of_a_run_are_those_of_its_weight_vectors():
    rng = np.random.default_rng(2)
    T, d, lambda1 = 12, 4, 0.3
    X = rng.normal(size=(T, d)) / 4
    A = rng.normal(size=(T + 1, T)) * 0.3
    A[5] = A[4]  # a round that changes nothing
    y, c = rng.choice([-1.0, 0.0, 1.0], size=T), rng.choice([0.1, 1.0], size=T)
    found, w = measured(X @ X.T, A, y, c, lambda1), A @ X

    def loss(t, v):
        return lambda1 * v @ v + c[t] / 2 * (v @ X[t] - y[t]) ** 2

    best = np.linalg.solve(2 * lambda1 * T * np.eye(d) + (c[:, None] * X).T @ X, X.T @ (c * y))
    assert found.regret == pytest.approx(np.mean([loss(t, w[t]) - loss(t, best) for t in range(T)]))
    steps, errors = [], []
    for t in range(T):
        h = 1e-6 * np.eye(d)
        gradient = np.array([(loss(t, w[t] + e) - loss(t, w[t] - e)) / 2e-6 for e in h])
        moved = w[t] - w[t + 1]
        eta = float(np.linalg.lstsq(gradient[:, None], moved, rcond=None)[0][0])
        steps.append(max(eta, 0.0))
        errors.append(np.linalg.norm(moved - eta * gradient) / eta if eta > 1e-12 else 0.0)
    assert found.step == pytest.approx(np.mean(steps), rel=1e-5)
    assert found.error == pytest.approx(np.mean(errors), rel=1e-4)
    assert found.radius == pytest.approx(max(*np.linalg.norm(w, axis=1), np.linalg.norm(best)))
    U, step, error = found.radius, found.step, found.error
    assert found.printed == pytest.approx((1.6 * U - 2) ** 2 / 2 * step + 2 * U * error)
    assert found.corrected == pytest.approx((1.6 * U + 2) ** 2 / 2 * step + 2 * U * error)


@pytest.mark.parametrize("lambda1", [0.05, 0.5, 1.0, 4.0])
def test_the_printed_bound_is_refuted_and_the_corrected_one_holds(lambda1):
    found = descent(lambda1)
    assert found.printed == pytest.approx(0) and found.regret > 1e-6
    assert found.regret <= found.corrected
    assert bounds(lambda1, found.radius, found.step, 0.0)[1] == pytest.approx(8 * found.step)

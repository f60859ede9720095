"""The back end on a device, on torch's CPU: against NumPy, against the back end of this process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from querist.datasets import sbm
from querist.errors import InputError
from querist.operator.backend import backend_of
from querist.operator.device.backend import DeviceBackend
from querist.operator.device.blocks import DeviceSpace
from querist.operator.device.choice import chosen_device
from querist.operator.device.matrix import DeviceOperator, compressed, degrees_of
from querist.operator.eigen import solve
from querist.operator.local import LocalSpace
from querist.operator.value import Operator
from querist.progress import silent
from querist.types import Floats

CPU = torch.device("cpu")
DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]


def close(dtype: Any) -> float:
    return 2e-4 if dtype == np.float32 else 1e-10


def graph(n: int = 300, seed: int = 0, weighted: bool = True) -> Any:
    rng = np.random.default_rng(seed)
    half = sp.random_array((n, n), density=0.03, random_state=seed)
    half.data = rng.uniform(0.2, 3, half.data.size) if weighted else np.ones(half.data.size)
    S = sp.csr_array(sp.triu(half, 1) + sp.triu(half, 1).T)
    S.sort_indices()
    return S


def laplacian(S: Any, normalised: bool) -> Floats:
    dense = S.toarray()
    degrees = np.abs(dense).sum(axis=1)
    if not normalised:
        return np.asarray(np.diag(degrees) - dense)
    root = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0.0)
    return np.asarray(np.diag((degrees > 0).astype(float)) - root[:, None] * dense * root)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("columns", [1, 3, 48])
def test_a_product_is_that_of_the_dense_matrix(dtype: Any, normalised: bool, columns: int) -> None:
    S, rng = graph(), np.random.default_rng(1)
    M = DeviceBackend("cpu").laplacian(S, normalised=normalised, dtype=dtype)
    X, Z = (rng.standard_normal((300, columns)) for _ in "ab")
    L = laplacian(S, normalised)
    out = M.space.given(Z).clone()
    M.combine(M.space.given(X), out, scale=0.7, shift=-0.3, previous=0.5)
    np.testing.assert_allclose(out, 0.7 * L @ X - 0.3 * X + 0.5 * Z, atol=10 * close(dtype))
    nothing = torch.full_like(out, torch.nan)  # what is not asked for is not read
    np.testing.assert_allclose(M.combine(M.space.given(X), nothing), L @ X, atol=10 * close(dtype))


def test_a_block_that_does_not_fit_is_refused() -> None:
    M = DeviceBackend("cpu").laplacian(graph())
    with pytest.raises(InputError, match=r"the operator needs \(300, k\)"):
        M.matmat(torch.ones((5, 2), dtype=torch.float64))
    with pytest.raises(InputError, match="give contiguous"):
        M.combine(torch.ones((300, 2), dtype=torch.float64), torch.ones((300, 3), dtype=torch.float64))


def test_half_precision_is_refused() -> None:
    for make in (DeviceBackend("cpu").laplacian, DeviceBackend("cpu").symmetric):
        with pytest.raises(InputError, match="use float32 or float64"):
            make(graph(), dtype=np.float16)


@pytest.mark.parametrize("name", ["cuda:77", "abacus"])
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        chosen_device(name)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_spaces_do_the_same(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from querist.operator.device import blocks

    monkeypatch.setattr(blocks, "PART", 64)
    monkeypatch.setattr(blocks, "CHUNK", 150)
    rng, n = np.random.default_rng(0), 300
    here, there = LocalSpace(n, dtype), DeviceSpace(n, dtype, CPU)
    X, Y, W = (rng.standard_normal((n, k)) for k in (5, 5, 4))
    Z, v, z, values = (
        rng.standard_normal((5, 3)),
        rng.standard_normal(n),
        rng.standard_normal(3),
        rng.random(3),
    )
    v /= np.linalg.norm(v)
    Q = np.linalg.qr(rng.standard_normal((n, 7)))[0]

    def everything(space: Any) -> dict[str, Any]:
        x, y, w = (space.given(A.copy()) for A in (X, Y, W))
        unit, basis = space.given(v), space.basis(9)
        basis.put(0, unit)
        basis.put(1, space.given(Q))
        rest, without = (space.given(W.copy()) for _ in "ab")
        H = basis.inner(6, rest)
        basis.subtract(6, rest, H)
        space.remove(without, unit)
        space.remove(without, space.given(Q[:, :3]))
        divided = space.given(W.copy())
        divided /= space.given(np.arange(1.0, 5.0))
        turned, squares = space.turned(space.given(X.copy()), y, Z, unit, z, values)
        whole, in_place = space.turned(space.given(X.copy()), y, np.eye(5), None, np.zeros(5), np.ones(5))
        combined = basis.combined(6, rng_of(6, 2), space)
        basis.turn(1, 6, rng_of(6, 4))
        q, r = space.reflected(x)
        return {
            "gram": space.gram(x, w),
            "own gram": space.gram(x, x),
            "dot": space.dot(x, y),
            "dots": space.dots(x, y),
            "times": space.array(space.rotated(x, Z)),
            "scaled": space.array(x * space.given(rng_of(5))),
            "beside": space.array(space.beside(x, w)),
            "rotated": space.array(space.rotated(x, Z, unit, z)),
            "turned": space.array(turned),
            "squares": squares,
            "whole": space.array(whole),
            "in place": in_place,
            "residuals": space.residuals(x, y, rng_of(5, 1)[:, 0]),
            "inner": H,
            "subtracted": space.array(rest),
            "removed": space.array(without),
            "divided": space.array(divided),
            "combined": space.array(combined),
            "reflected": space.array(space.rotated(q, r)),
            "turned basis": space.array(basis.combined(5, np.eye(5), space)),
        }

    ours, theirs = everything(here), everything(there)
    for name, expected in ours.items():
        np.testing.assert_allclose(theirs[name], expected, atol=100 * close(dtype), err_msg=name)


def rng_of(*shape: int) -> Floats:
    return np.random.default_rng(9).standard_normal(shape)


def test_a_random_block_follows_its_generator() -> None:
    space = DeviceSpace(50, np.dtype(np.float32), CPU)
    first, again, other = (space.random(np.random.default_rng(seed), 3) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


@pytest.mark.slow
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize(("count", "tol"), [(12, 2e-3), (12, 1e-7), (60, 2e-3)])
def test_pairs_on_a_device_are_those_of_the_dense_solution(
    normalised: bool, count: int, tol: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "DENSE", 100)
    S = sp.csr_array(sbm((500, 500, 500), 0.03, 0.003, seed=0).largest_component().adjacency)
    L = laplacian(S, normalised)
    null = np.sqrt(S.sum(axis=1)) if normalised else np.ones(len(L))
    u = null / np.linalg.norm(null)
    scale = 1.0 if normalised else float(S.sum() / len(L))
    ask = solve.EigenProblem(sp.csr_array(S / scale), u, count, normalised, tol, 0, silent, device="cpu")
    found = solve.chebyshev_pairs(ask)
    values = np.linalg.eigvalsh(L / scale)[1 : count + 1]
    assert found.values.size == count and isinstance(found.vectors, np.ndarray)
    np.testing.assert_allclose(found.values, values, atol=2 * tol)
    errors = L / scale @ found.vectors - found.vectors * found.values
    assert np.linalg.norm(errors, axis=0).max() <= tol * (1 + 1e-3)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-9)


def test_degrees_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    from querist.operator.device import matrix

    S = sp.csr_array(sp.block_diag([graph(40, 1), graph(30, 2), graph(200, 3)]))
    indptr, _, values = compressed(S, CPU)
    for most in (1 << 26, 50):  # all entries at once, and a few rows at a time
        monkeypatch.setattr(matrix, "ENTRIES", most)
        np.testing.assert_allclose(degrees_of(indptr, values), np.abs(S.toarray()).sum(axis=1))
        np.testing.assert_array_equal(degrees_of(indptr, None), np.diff(S.indptr))


def test_entries_of_one_need_not_be_there() -> None:
    S = graph(weighted=False)
    indptr, indices, _ = compressed(S, CPU)
    X = np.random.default_rng(0).standard_normal((300, 4))
    for normalised in (True, False):
        M = DeviceOperator.laplacian(indptr, indices, normalised=normalised)
        expected = Operator.laplacian(S, normalised=normalised).matmat(X)
        np.testing.assert_allclose(M.matmat(M.space.given(X)), expected, atol=1e-12)


@pytest.mark.slow
def test_the_kernel_by_its_interpreter() -> None:
    pytest.importorskip("triton")
    # Triton decides when it is imported whether it interprets: a process of its own.
    script = Path(__file__).with_name("interpreted.py")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "all products agree" in done.stdout


@pytest.mark.parametrize("name", [None, "cpu"])
def test_a_backend_multiplies_by_a_matrix_both_ways(name: str | None) -> None:
    backend, rng = backend_of(name), np.random.default_rng(0)
    A = sp.random_array((7, 5), density=0.4, rng=rng, format="csr")
    X, B, C = backend.matrix(A), rng.random((5, 2)), rng.random((7, 2))
    np.testing.assert_allclose(backend.array(X @ backend.given(B)), A @ B)
    np.testing.assert_allclose(backend.array(X.T @ backend.given(C)), A.T @ C)
    assert X.T.T.shape == (7, 5)
    placed = backend.spread(np.array([4, 1]), backend.given(B[:2]), 6)
    assert (
        backend.array(placed).tolist()
        == np.array([0 * B[0], B[1], *np.zeros((2, 2)), B[0], 0 * B[0]]).tolist()
    )
    both = backend.beside([placed, placed])
    assert both.shape == (6, 4) and backend.space(6).gram(both, both).shape == (4, 4)

"""Semi-supervised kernel least squares on a fixed set: one linear system (bls19 eq. 3-7).

    minimise  |[y; z] - K alpha|^2 + lambda1 alpha'K alpha + lambda2 |z|^2   over alpha and z

The paper gives z by eq. 6 and alpha by eq. 7, each with an inverse inside an inverse. Both are

    (K + D) alpha = [y; 0],   z = -(lambda1/lambda2) alpha_u = f(x_u)/(1 + lambda2),

with `D = lambda1` on labelled points and `lambda1 (1 + 1/lambda2)` on unlabelled ones. So an
unlabelled point is a sample of target 0 and weight `lambda2/(1 + lambda2)`: it shrinks f near
it, and moves no boundary towards a cluster. "K is always of full rank" (III-C) fails for
duplicates; `K + D` always is.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import scipy.linalg

from querist.budgeted import checks
from querist.budgeted.inverse import indefinite, inverted
from querist.errors import check_name
from querist.labels import UNLABELLED
from querist.operator.harmonic import harmonic
from querist.types import Bools, Codes, Floats

MethodName: TypeAlias = Literal["bls", "lp", "rlp"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)


def targets(codes: Codes, n_classes: int) -> Floats:
    """(n, problems) +1 and -1, one column for two classes and one a class above; 0 where unlabelled.

    >>> targets(np.array([0, 1, -1]), 2).ravel()
    array([-1.,  1.,  0.])
    """
    if n_classes == 2:
        return np.where(codes < 0, 0.0, np.where(codes == 1, 1.0, -1.0))[:, None]
    signs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return np.where(codes[:, None] < 0, 0.0, signs)


def decide(scores: Floats) -> Codes:
    """(n,) the class of every row of scores; -1 where all are 0."""
    codes = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.where((scores == 0).all(axis=1), UNLABELLED, codes)


@dataclass(frozen=True)
class ClosedFormSolution:
    """alpha : (n, problems) coefficients; z : (n, problems) labels given to the points, y where labelled."""

    alpha: Floats
    z: Floats


def solve(
    K: Floats, Y: Floats, labelled: Bools, lambda1: float = 1.0, lambda2: float = 0.1
) -> ClosedFormSolution:
    """The minimiser, from the kernel matrix (n, n), targets (n, problems) and who is labelled (n,).

    >>> solve(np.eye(2), np.array([[1.0], [0.0]]), np.array([True, False])).alpha.ravel()
    array([0.5, 0. ])
    """
    lambda1, lambda2 = checks.checked_number("lambda1", lambda1), checks.checked_number("lambda2", lambda2)
    D = np.where(labelled, lambda1, lambda1 * (1 + 1 / lambda2))
    Y = np.where(labelled[:, None], Y, 0.0)
    A = K + np.diag(D)
    try:
        alpha = np.asarray(
            scipy.linalg.cho_solve(scipy.linalg.cho_factor(A, lower=True, overwrite_a=True), Y)
        )
    except np.linalg.LinAlgError:
        raise indefinite(f"lambda1 = {lambda1:g}", "lambda1") from None
    return ClosedFormSolution(alpha, np.where(labelled[:, None], Y, -(lambda1 / lambda2) * alpha))


def transduce(
    K: Floats,
    codes: Codes,
    n_classes: int = 2,
    *,
    method: MethodName = "bls",
    lambda1: float = 1.0,
    lambda2: float = 0.1,
    ridge: float = 1.0,
) -> Codes:
    """(n,) a class for every point of a kernel matrix: by BLS (eq. 6), LP, or RLP with its ridge.

    LP and RLP take the kernel values for weights. -1 where all scores are 0. `codes` are (n,) class codes, -1
    where unlabelled; or (draws, n) draws of two classes, and the result has the same shape.

    >>> K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> transduce(K, np.array([0, -1, 1]), method="lp")
    array([0, 0, 1])
    """
    check_name("method", method, METHODS)
    if codes.ndim == 2:
        return transduce_draws(K, codes, method, lambda1, lambda2, ridge)
    labelled = codes >= 0
    Y = targets(codes, n_classes)
    if method == "bls":
        return decide(solve(K, Y, labelled, lambda1, lambda2).z)
    rows = np.flatnonzero(labelled)
    return decide(harmonic(K, rows, Y[rows], ridge=ridge if method == "rlp" else 0.0))


def transduce_draws(
    K: Floats, draws: Codes, method: MethodName, lambda1: float, lambda2: float, ridge: float
) -> Codes:
    """`transduce` of two classes for many draws of the labelled points: one inverse serves them all.

    With l the labelled rows, `c = lambda1/lambda2` and `B = (K + (lambda1 + c) I)^-1`, Woodbury's identity
    makes eq. 6 `z_u = -c B_ul (I - c B_ll)^-1 y`. RLP is `B_ul B_ll^-1 y` with `B = (L + ridge I)^-1`. LP has
    no inverse to share.

    >>> K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> transduce(K, np.array([[0, -1, 1]])).tolist()
    [[0, 0, 1]]
    """
    if method == "lp":
        return np.array([transduce(K, codes, method="lp") for codes in draws])
    c = lambda1 / lambda2
    B = (
        inverted(K, np.full(K.shape[0], lambda1 + c))
        if method == "bls"
        else inverted(-K, K.sum(axis=1) + ridge, f"ridge = {ridge:g}", "ridge")
    )
    for j in range(B.shape[0]):
        B[j, j + 1 :] = B[j + 1 :, j]
    V = np.column_stack([targets(codes, 2)[:, 0] for codes in draws])
    for t, codes in enumerate(draws):
        rows = np.flatnonzero(codes >= 0)
        inner = B[np.ix_(rows, rows)]
        A = np.eye(rows.size) - c * inner if method == "bls" else inner
        V[rows, t] = scipy.linalg.solve(A, V[rows, t], assume_a="pos")
    scores = B @ V if method == "rlp" else -(B @ V)
    found = [np.where(codes < 0, decide(scores[:, t : t + 1]), codes) for t, codes in enumerate(draws)]
    return np.array(found)

"""The Triton kernel, run by its interpreter, against dense products; started by test_device.py."""

import numpy as np
import scipy.sparse as sp
import torch

from querist.operator.device import kernel
from querist.operator.device.matrix import compressed


def main() -> None:
    rng, n = np.random.default_rng(0), 22
    S = sp.lil_array((n, n))
    S[rng.integers(0, n, 50), rng.integers(0, n, 50)] = rng.standard_normal(50)
    S[7] = S[:, [7]] = 1.5  # a row with an entry in every column
    S[11] = 0.0  # and one with none
    S = sp.csr_array(S)
    device = torch.device("cpu")
    assert kernel.usable(device)
    indptr, indices, values = compressed(S, device)
    centre = rng.random(n)
    cases = [  # precision, columns, entries of a long row, weighted, previous
        (torch.float32, 5, 9, True, 0.3),
        (torch.float32, 48, 64, False, 0.0),
        (torch.float64, 70, 9, True, 0.0),
        (torch.float64, 1, 64, False, 0.3),
    ]
    for number, columns, longest, weighted, previous in cases:
        X, Z = (rng.standard_normal((n, columns)) for _ in "ab")
        dense = S.toarray() if weighted else (S.toarray() != 0)
        expected = (0.7 * centre - 0.2)[:, None] * X - 0.7 * dense @ X + previous * Z
        # What is not asked for is not read.
        out = torch.tensor(Z if previous else np.full_like(Z, np.nan), dtype=number)
        kernel.combine(
            indptr,
            indices,
            values if weighted else None,
            torch.tensor(centre, dtype=number),
            torch.tensor(X, dtype=number),
            out,
            kernel.LongRows(indptr, longest),
            scale=0.7,
            weight=-0.7,
            shift=-0.2,
            previous=previous,
        )
        np.testing.assert_allclose(out, expected, atol=1e-4 if number == torch.float32 else 1e-12)
    wide = sp.csr_array(rng.standard_normal((13, 9)) * (rng.random((13, 9)) < 0.4))
    B, out = rng.standard_normal((9, 6)), torch.empty((13, 6), dtype=torch.float64)
    indptr, indices, values = compressed(wide, device)
    factors = {"scale": 0.0, "weight": 1.0, "shift": 0.0, "previous": 0.0}
    kernel.combine(indptr, indices, values, None, torch.tensor(B), out, kernel.LongRows(indptr, 4), **factors)
    np.testing.assert_allclose(out, wide @ B, atol=1e-12)
    print("all products agree")


if __name__ == "__main__":
    main()

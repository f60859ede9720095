"""Run the hand-written loads over arrays that lie against forbidden memory; a line for every case.

Every array has pages of its own, with one before and one behind that nobody may touch: it begins behind the
first, or ends before the last. Only `out` may be written. A load or store beside an array ends the process;
one that stays on its pages is seen at `MARK`, which fills what the array leaves of them.
A triangle may be written too, but not above its diagonal.

Entries are small whole numbers, so that every sum is exact and an ordinary product in double precision says
what it must be, to the last bit.
"""

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.budgeted.inverse import add_squares_and_multiply
from querist.operator.kernels import combine_rounded_rows, combine_rows, round_rows
from querist.operator.lanes import AHEAD, LARGEST, MOST, halves_are_quick
from querist.operator.narrow import COLUMNS, TOGETHER, add_gram, add_products, subtract_products

WIDTHS = (*range(1, 71), 96, 128, 131, 257)
MARK = 0xA5
FORBIDDEN = 0

_protect = ctypes.CDLL(None, use_errno=True).mprotect
_protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Guarded:
    """A copy of an array between two forbidden pages, against the one behind it or before it."""

    def __init__(self, content: np.ndarray[Any, Any], *, ends: bool) -> None:
        self.size = -(-max(1, content.nbytes) // mmap.PAGESIZE) * mmap.PAGESIZE
        self.pages = mmap.mmap(-1, self.size + 2 * mmap.PAGESIZE)
        self.first = ctypes.addressof(ctypes.c_char.from_buffer(self.pages)) + mmap.PAGESIZE
        for place in (self.first - mmap.PAGESIZE, self.first + self.size):
            protect(place, mmap.PAGESIZE, FORBIDDEN)
        self.all = np.frombuffer(self.pages, np.uint8, self.size, offset=mmap.PAGESIZE)
        self.all[:] = MARK
        begin = self.size - content.nbytes if ends else 0
        end = begin + content.nbytes
        self.beside = self.all[:begin], self.all[end:]
        self.array = self.all[begin:end].view(content.dtype).reshape(content.shape)
        self.array[...] = content

    def allow(self, what: int) -> None:
        protect(self.first, self.size, what)

    def untouched_beside(self) -> bool:
        return all((part == MARK).all() for part in self.beside)


def protect(place: int, size: int, what: int) -> None:
    if _protect(place, size, what):
        raise OSError(ctypes.get_errno(), "mprotect")


def matrices(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Square CSR matrices whose rows and entries lie where a loop may end wrongly."""

    def drawn(n: int, density: float) -> np.ndarray[Any, Any]:
        return rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < density)

    yield "without rows", np.zeros((0, 0))
    yield "without entries", np.zeros((5, 5))
    yield "of one row", np.ones((1, 1))
    mixed = drawn(23, 0.15)
    mixed[[0, 7, 8, 22]] = 0
    yield "with empty rows", mixed
    last = np.zeros((AHEAD + 7, AHEAD + 7))
    last[-1] = 2
    yield "whose last row is full", last
    corner = drawn(23, 0.1)
    corner[:, -1] = 1
    yield "whose rows end at the last", corner


def check(
    label: str, matrix: Any, k: int, dtype: Any, index: Any, ends: bool, rng: np.random.Generator
) -> None:
    n, about = len(matrix), f"a matrix {label}, {dtype.__name__}, {index.__name__}, {k} columns, {ends=}"
    V = sp.csr_array(matrix)
    X, Z, out = (rng.integers(-4, 5, (n, k)).astype(dtype) for _ in range(3))
    centre = rng.integers(-4, 5, n).astype(dtype)
    given = V.indptr.astype(np.int64), V.indices.astype(index), V.data.astype(dtype), centre, X, Z
    inputs = [Guarded(each, ends=ends) for each in given]
    result = Guarded(out, ends=ends)
    for each in inputs:
        each.allow(mmap.PROT_READ)
    arrays = [each.array for each in inputs]
    rows = {(0, n), (max(0, n - 1), n), (n // 3, 2 * n // 3), (n, n)}
    own = (2 * centre[:, None] + 5) * X - 2 * (matrix @ X)
    for previous in (0, 3):
        inputs[-1].allow(mmap.PROT_READ if previous else FORBIDDEN)  # with 0 it is not read
        for first, last in sorted(rows):
            print(f"{about}, rows {first}:{last}, previous {previous}", flush=True)
            result.array[...] = out
            combine_rows(*arrays, result.array, *map(dtype, (2, -1, 5, previous)), first, last)
            expected = out.copy()
            expected[first:last] = (own + previous * Z)[first:last]
            assert np.array_equal(result.array, expected)
            assert result.untouched_beside(), "written beside the block"
    print(f"{about}, in place", flush=True)
    aliased = Guarded(Z, ends=ends)
    combine_rows(*arrays[:-1], aliased.array, aliased.array, *map(dtype, (2, -1, 5, 3)), 0, n)
    assert np.array_equal(aliased.array, own + 3 * Z)
    assert aliased.untouched_beside(), "written beside the block"


def check_rounded(label: str, matrix: Any, k: int, ends: bool, rng: np.random.Generator) -> None:
    """The product that gathers halves, and the rounding before it; what no half can hold is the largest."""
    n = len(matrix)
    print(f"a matrix {label}, halves, {k} columns, {ends=}", flush=True)
    V = sp.csr_array(matrix)
    X, Z = (rng.integers(-1, 2, (n, k)).astype(np.float32) for _ in range(2))
    centre = rng.integers(-4, 5, n).astype(np.float32)
    given = V.indptr.astype(np.int64), V.indices.astype(np.int32), V.data.astype(np.float32), centre, X, Z
    inputs = [Guarded(each, ends=ends) for each in given]
    empty = np.full((n, k), 7, dtype=np.uint16)
    halves, following, result = (Guarded(each, ends=ends) for each in (empty, empty, X))
    for each in inputs:
        each.allow(mmap.PROT_READ)
    *pattern, block, before = (each.array for each in inputs)
    round_rows(block, halves.array, 0, n)
    assert np.array_equal(halves.array.view(np.float16), X * LARGEST)
    halves.allow(mmap.PROT_READ)
    first, last = n // 3, n
    combine_rounded_rows(
        *pattern, halves.array, following.array, block, before, result.array,
        *map(np.float32, (2, -1, 5, 3)), first, last,
    )  # fmt: skip
    expected = X.copy()
    expected[first:] = ((2 * centre[:, None] + 5) * X - 2 * (matrix @ X) + 3 * Z)[first:]
    assert np.array_equal(result.array, expected)
    rounded = np.clip(expected[first:] * np.float32(LARGEST), -MOST, MOST).astype(np.float16)
    assert np.array_equal(following.array[first:].view(np.float16), rounded)
    assert (following.array[:first] == 7).all()
    assert all(each.untouched_beside() for each in (halves, following, result)), "written beside a block"


def check_triangle(b: int, ends: bool, rng: np.random.Generator) -> None:
    """The pass of a replacement (`budgeted/strips.py`)."""
    print(f"a triangle of {b} rows, {ends=}", flush=True)
    H = rng.integers(-4, 5, (b, b)).astype(np.float64)
    h, v, x = (rng.integers(-4, 5, b).astype(np.float64) for _ in range(3))
    inputs = [Guarded(each, ends=ends) for each in (h, v, x)]
    triangle, out = Guarded(H, ends=ends), Guarded(np.full(b, np.nan), ends=ends)
    for each in inputs:
        each.allow(mmap.PROT_READ)
    vectors = [each.array for each in inputs]
    add_squares_and_multiply(triangle.array, b, vectors[0], 2.0, vectors[1], -3.0, vectors[2], out.array)
    lower = np.tril(H + 2 * np.outer(h, h) - 3 * np.outer(v, v))
    assert np.array_equal(triangle.array, lower + np.triu(H, 1))
    assert np.array_equal(out.array, (lower + np.tril(lower, -1).T) @ x)
    assert triangle.untouched_beside() and out.untouched_beside(), "written beside the triangle"


def check_narrow(m: int, n: int, k: int, ends: bool, rng: np.random.Generator) -> None:
    """The products of vectors with a narrow block (`operator/narrow.py`)."""
    print(f"{m} vectors of {n} rows, {k} columns, {ends=}", flush=True)
    V, W, H = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, n), (n, k), (m, k)))
    vectors, block, turn = (Guarded(each, ends=ends) for each in (V, W, H))
    sums, rest = Guarded(H, ends=ends), Guarded(W, ends=ends)
    for each in (vectors, block, turn):
        each.allow(mmap.PROT_READ)
    for first in {0, n // 3, n}:
        sums.array[...], rest.array[...] = H, W
        add_products(vectors.array, block.array, sums.array, m, first, n)
        assert np.array_equal(sums.array, H + V[:, first:] @ W[first:])
        subtract_products(vectors.array, turn.array, rest.array, m, first, n)
        assert np.array_equal(rest.array[first:], W[first:] - V[:, first:].T @ H)
        assert np.array_equal(rest.array[:first], W[:first])
    gram = Guarded(np.zeros((k, k)), ends=ends)
    add_gram(block.array, block.array, gram.array, 0, n)
    assert np.array_equal(gram.array, W.astype(np.float64).T @ W)
    assert all(each.untouched_beside() for each in (sums, rest, gram)), "written beside a block"


def main() -> None:
    rng = np.random.default_rng(0)
    for m in (0, 1, TOGETHER - 1, TOGETHER, 2 * TOGETHER + 5):
        for n in (0, 1, TOGETHER - 1, TOGETHER, 5 * TOGETHER + 3):
            for k in (COLUMNS, 3 * COLUMNS):
                for ends in (True, False):
                    check_narrow(m, n, k, ends, rng)
    for b in WIDTHS:
        for ends in (True, False):
            check_triangle(b, ends, rng)
    for k in WIDTHS if halves_are_quick() else ():
        for label, matrix in matrices(rng):
            for ends in (True, False):
                check_rounded(label, matrix, k, ends, rng)
    for dtype in (np.float32, np.float64):
        for index in (np.int32, np.int64):
            for k in WIDTHS if index == np.int32 else WIDTHS[::6]:
                for label, matrix in matrices(rng):
                    for ends in (True, False):
                        check(label, matrix, k, dtype, index, ends, rng)


if __name__ == "__main__":
    main()

"""Run the hand-written loads over arrays that lie against forbidden memory; a line for every case.

Every array has pages of its own, with one before and one behind that nobody may touch: it begins behind the
first, or ends before the last. Only `out` may be written. A load or store beside an array ends the process;
one that stays on its pages is seen at `MARK`, which fills what the array leaves of them.

Entries are small whole numbers, so that every sum is exact and an ordinary product in double precision says
what it must be, to the last bit.
"""

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.operator.kernels import combine_rows
from querist.operator.lanes import AHEAD

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


def main() -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for index in (np.int32, np.int64):
            for k in WIDTHS if index == np.int32 else WIDTHS[::6]:
                for label, matrix in matrices(rng):
                    for ends in (True, False):
                        check(label, matrix, k, dtype, index, ends, rng)


if __name__ == "__main__":
    main()

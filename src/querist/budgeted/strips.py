"""Four rows of a triangle in vector registers: what the compiler does not do by itself.

Replacing a vector changes all of the inverse and multiplies by it, in one pass (inverse.py). Written as a
loop, every four rows begin with some fifty comparisons, since the compiler cannot know that the rows and the
vectors lie apart, and end with columns one by one. Here they are spelled out in LLVM's own words, as
`querist.operator.lanes` does for a sparse product. The order of every sum is the one that the compiler chose
for registers of 64 bytes, so that results there keep their bits.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from querist.operator.lanes import added, spread

ROWS = 4

LANES = 8
"""Columns at a time: those of a cache line."""

FIRST = 16
"""Rows from which on whole cache lines are taken."""

_WORD, _FLAG, _NUMBER = ir.IntType(64), ir.IntType(32), ir.DoubleType()
_tools: Any = cgutils
_kinds: Any = types


class _Strip:
    """Code of the rows n: `H_nj += hs_n h_j + vs_n v_j`, `out_j += sum_n xs_n H_nj`, `s_n = x.H_n`."""

    def __init__(self, builder: Any, data: Any, columns: Any, i: Any, factors: Any) -> None:
        self.builder, self.i = builder, i
        H, self.h, self.v, self.x, self.out = data
        self.rows = [builder.gep(H, [builder.mul(self.after(n), columns)]) for n in range(ROWS)]
        self.hs, self.vs, self.xs = (
            [builder.extract_value(four, n) for n in range(ROWS)] for four in factors
        )
        self.sums = [_tools.alloca_once(builder, _NUMBER) for _ in range(ROWS)]

    def after(self, n: int) -> Any:
        return self.builder.add(self.i, _WORD(n))

    def place(self, start: Any, j: Any, lanes: int) -> Any:
        return self.builder.bitcast(self.builder.gep(start, [j]), ir.VectorType(_NUMBER, lanes).as_pointer())

    def load(self, start: Any, j: Any, lanes: int) -> Any:
        return self.builder.load(self.place(start, j, lanes), align=8)

    def store(self, value: Any, start: Any, j: Any, lanes: int) -> None:
        self.builder.store(value, self.place(start, j, lanes), align=8)

    def columns(self, j: Any, lanes: int) -> tuple[list[Any], Any]:
        """Change columns j to j + lanes - 1, multiply by them; the new entries, and x."""
        build = self.builder
        h, v, x, out = (self.load(start, j, lanes) for start in (self.h, self.v, self.x, self.out))
        hs, vs, xs = ([spread(build, one, lanes) for one in four] for four in (self.hs, self.vs, self.xs))
        found = [self.load(row, j, lanes) for row in self.rows]
        found = [added(build, row, vn, v) for row, vn in zip(found, vs, strict=True)]
        found = [added(build, row, hn, h) for row, hn in zip(found, hs, strict=True)]
        for n in (1, 0, 3, 2):
            out = added(build, out, found[n], xs[n])
        for value, start in zip((*found, out), (*self.rows, self.out), strict=True):
            self.store(value, start, j, lanes)
        return found, x

    def lines(self, stop: Any) -> None:
        """Columns below `stop` by whole cache lines; a sum a lane, added up at the end."""
        build, nothing = self.builder, ir.Constant(ir.VectorType(_NUMBER, LANES), None)
        sums = [_tools.alloca_once(build, nothing.type) for _ in range(ROWS)]
        for total in sums:
            build.store(nothing, total)
        with _tools.for_range_slice(build, _WORD(0), stop, _WORD(LANES), _WORD) as (j, _):
            rows, x = self.columns(j, LANES)
            for row, total in zip(rows, sums, strict=True):
                build.store(added(build, build.load(total), row, x), total)
        for total, one in zip(sums, self.sums, strict=True):
            build.store(_folded(build, build.load(total), LANES), one)

    def rest(self, start: Any) -> None:
        """Columns from `start` to the diagonal, four by four; their sums are taken one by one."""
        build = self.builder
        # Products that are summed one by one would be taken in lanes, and then added as rounded.
        kind = ir.FunctionType(_NUMBER, [_NUMBER] * 3)
        fused = build.module.declare_intrinsic("llvm.fmuladd", [_NUMBER], kind)
        with _tools.for_range_slice(build, start, self.i, _WORD(ROWS), _WORD) as (j, _):
            rows, x = self.columns(j, ROWS)
            for row, one in zip(rows, self.sums, strict=True):
                total = build.load(one)
                for lane in map(_FLAG, range(ROWS)):
                    a, b = (build.extract_element(part, lane) for part in (row, x))
                    total = build.call(fused, [a, b, total])
                build.store(total, one)

    def diagonal(self) -> None:
        """Columns i to i + 3, of which row n has n + 1; then `out_n += s_n` and what they bring."""
        build, places = self.builder, [self.after(n) for n in range(ROWS)]
        h, v, out = ([build.gep(start, [place]) for place in places] for start in (self.h, self.v, self.out))
        entries: dict[tuple[int, int], Any] = {}
        for n, row in enumerate(self.rows):
            for m in range(n + 1):
                at = build.gep(row, [places[m]])
                pairs = [(self.vs[n], build.load(v[m])), (self.hs[n], build.load(h[m]))]
                entry = build.load(at)
                for factor, value in pairs if n else pairs[::-1]:
                    entry = added(build, entry, factor, value)
                build.store(entry, at)
                entries[n, m] = entries[m, n] = entry
        for n, place in enumerate(out):
            total = build.load(self.sums[n])
            for m in (1, 0, 3, 2) if n else (1, 0, 2, 3):
                total = added(build, total, entries[n, m], self.xs[m])
            build.store(build.fadd(total, build.load(place)), place)


def _folded(builder: Any, lanes: Any, count: int) -> Any:
    """The sum of all lanes: halves are added until one is left."""
    while count > 1:
        count //= 2
        low, high = (
            builder.shuffle_vector(
                lanes,
                ir.Constant(lanes.type, ir.Undefined),
                ir.Constant(ir.VectorType(_FLAG, count), list(range(first, first + count))),
            )
            for first in (0, count)
        )
        lanes = builder.fadd(low, high)
    return builder.extract_element(lanes, _FLAG(0))


def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    blocks = [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args[:5], arguments[:5], strict=True)
    ]
    i, columns = arguments[5], builder.extract_value(blocks[0].shape, 1)
    strip = _Strip(builder, [block.data for block in blocks], columns, i, arguments[6:])
    whole = builder.and_(i, _WORD(-LANES))
    done = builder.select(builder.icmp_signed(">=", i, _WORD(FIRST)), whole, _WORD(0))
    strip.lines(done)
    strip.rest(done)
    strip.diagonal()
    return context.get_dummy_value()


def _four_rows(
    context: Any, H: Any, h: Any, v: Any, x: Any, out: Any, i: Any, hs: Any, vs: Any, xs: Any
) -> Any:
    """Rows i to i + 3 of the lower triangle H, for kernels; i is a multiple of 4.

    `H_nj += hs_n h_j + vs_n v_j`; then `out` grows by these rows times x, and by their transpose times
    `xs`, which is x in these four places. No two of the arrays share memory.
    """
    arrays, four = (H, h, v, x, out), _kinds.UniTuple(types.float64, ROWS)
    if any(array.layout != "C" or array.dtype != types.float64 for array in arrays):
        raise TypingError("a strip needs C-contiguous arrays of float64")
    return types.void(*arrays, types.int64, four, four, four), _code


four_rows: Any = intrinsic(_four_rows)  # mypy would count the context among its arguments

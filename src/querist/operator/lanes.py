"""Rows of a sparse product in vector registers: what the compiler does not find by itself.

`out[i] = a X[i] + previous Z[i] + w sum_p values[p] X[indices[p]]`, a few columns at a time. Written as a
loop over columns inside one over neighbours, the sum goes through memory at every neighbour, since the
compiler cannot know that `out` and `X` lie apart. Here it is spelled out in LLVM's own words: the sum stays
in registers from the first neighbour to the last, and the rows of neighbours `AHEAD` entries later are asked
for meanwhile, so that memory answers while others are added.

Columns are taken in the widest passes that fit (`WIDTHS`); a column's sum is taken in the same order in all.
"""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

AHEAD = 16
"""Entries of the matrix between the one that is added and the one that is asked for."""

LINE = 64
"""Bytes of a cache line."""

WIDTHS = (
    *((LINE, parts) for parts in (8, 4, 3, 2, 1)),
    (LINE // 2, 1),
    (LINE // 4, 1),
    *((1, parts) for parts in (3, 2, 1)),
)
"""Passes, the widest first: the bytes of a register (or one number), and how many registers."""

_WORD, _FLAG, _BYTES = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
_NUMBERS = {types.float32: (ir.FloatType(), 4), types.float64: (ir.DoubleType(), 8)}
_tools: Any = cgutils


class _Rows:
    """Columns `k` to `k + lanes - 1` of a C-contiguous block, `lanes` numbers in one register."""

    def __init__(self, builder: Any, array: Any, k: Any, number: Any, lanes: int, size: int) -> None:
        self.builder, self.k, self.size = builder, k, size
        self.data, self.columns = array.data, builder.extract_value(array.shape, 1)
        self.vector, self.lanes = ir.VectorType(number, lanes), lanes

    def place(self, row: Any, part: int) -> Any:
        """Where part `part` of a row begins."""
        build = self.builder
        first = build.add(build.mul(row, self.columns), build.add(self.k, _WORD(part * self.lanes)))
        return build.gep(self.data, [first])

    def load(self, row: Any, part: int) -> Any:
        pointer = self.builder.bitcast(self.place(row, part), self.vector.as_pointer())
        return self.builder.load(pointer, align=self.size)

    def store(self, value: Any, row: Any, part: int) -> None:
        pointer = self.builder.bitcast(self.place(row, part), self.vector.as_pointer())
        self.builder.store(value, pointer, align=self.size)


def _wide(builder: Any, value: Any) -> Any:
    return value if value.type.width == 64 else builder.sext(value, _WORD)


def spread(builder: Any, value: Any, lanes: int) -> Any:
    """The same number in every lane."""
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    one = builder.insert_element(nothing, value, _FLAG(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_FLAG, lanes), [0] * lanes))


def added(builder: Any, sum_: Any, a: Any, b: Any) -> Any:
    """`sum + a b`."""
    # May become one instruction where the processor has it; it is the same one in every width.
    return builder.fadd(sum_, builder.fmul(a, b, flags=("contract",)), flags=("contract",))


def ask_for(builder: Any, pointer: Any) -> None:
    """Bring a cache line in, without waiting for it."""
    kind = ir.FunctionType(ir.VoidType(), [_BYTES, _FLAG, _FLAG, _FLAG])
    prefetch = _tools.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(prefetch, [builder.bitcast(pointer, _BYTES), _FLAG(0), _FLAG(3), _FLAG(1)])


def _pass(
    builder: Any,
    arrays: Any,
    kind: tuple[Any, int],
    width: tuple[int, int],
    k: Any,
    factors: Any,
    rows: Any,
) -> None:
    """Columns from k on in the registers of one pass, for rows first to last - 1."""
    indptr, indices, values, centre = (array.data for array in arrays[:4])
    (number, item), (size, parts) = kind, width
    scale, w, shift, previous = factors
    lanes = max(1, size // item)
    x, z, out = (_Rows(builder, block, k, number, lanes, item) for block in arrays[4:])
    sums = [_tools.alloca_once(builder, x.vector) for _ in range(parts)]
    final = builder.sub(builder.extract_value(arrays[1].shape, 0), _WORD(1))

    def at(data: Any, place: Any) -> Any:
        return builder.load(builder.gep(data, [place]))

    def ask(p: Any) -> None:
        far = builder.add(p, _WORD(AHEAD))
        far = builder.select(builder.icmp_signed("<", far, final), far, final)
        j = _wide(builder, at(indices, far))
        for part in range(parts):
            if part * size % LINE == 0:
                ask_for(builder, x.place(j, part))

    def add(factor: Any, block: _Rows, row: Any) -> None:
        same = spread(builder, factor, lanes)
        for part, total in enumerate(sums):
            builder.store(added(builder, builder.load(total), same, block.load(row, part)), total)

    with _tools.for_range_slice(builder, *rows, _WORD(1), _WORD) as (i, _):
        for total in sums:
            builder.store(ir.Constant(x.vector, None), total)
        own = builder.fadd(builder.fmul(scale, at(centre, i)), shift)
        with builder.if_then(builder.fcmp_unordered("!=", own, number(0.0))):
            add(own, x, i)
        with builder.if_then(builder.fcmp_unordered("!=", previous, number(0.0))):
            add(previous, z, i)
        end = at(indptr, builder.add(i, _WORD(1)))
        with _tools.for_range_slice(builder, at(indptr, i), end, _WORD(1), _WORD) as (p, _):
            ask(p)
            add(builder.fmul(w, at(values, p)), x, _wide(builder, at(indices, p)))
        for part, total in enumerate(sums):
            out.store(builder.load(total), i, part)


def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    arrays = [
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(signature.args[:7], arguments[:7], strict=True)
    ]
    kind = _NUMBERS[signature.args[4].dtype]
    k, columns = _WORD(0), builder.extract_value(arrays[4].shape, 1)
    for size, parts in WIDTHS:
        width = _WORD(parts * max(1, size // kind[1]))
        whole = builder.mul(builder.sdiv(builder.sub(columns, k), width), width)
        end = builder.add(k, whole)
        with _tools.for_range_slice(builder, k, end, width, _WORD) as (at, _):
            _pass(builder, arrays, kind, (size, parts), at, arguments[7:11], arguments[11:])
        k = end
    return context.get_dummy_value()


def _combine(
    context: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    centre: Any,
    X: Any,
    Z: Any,
    out: Any,
    scale: Any,
    w: Any,
    shift: Any,
    previous: Any,
    first: Any,
    last: Any,
) -> Any:
    """`out = (scale centre + shift) X + previous Z + w V X` in rows first to last - 1, for kernels.

    `out` may be Z, never X. With `previous` 0, Z is not read; where `scale centre + shift` is 0, X is read at
    the entries of V alone, so that V need not be square. All blocks have as many columns; all arrays are
    C-contiguous and, but for the pattern of V, of one dtype, which is also that of the four factors.
    """
    blocks, factors = (values, centre, X, Z, out), (scale, w, shift, previous)
    layouts = {array.layout for array in (indptr, indices, *blocks)}
    kinds = {*(array.dtype for array in blocks), *factors}
    if layouts != {"C"} or len(kinds) > 1 or X.dtype not in _NUMBERS or indptr.dtype != types.int64:
        raise TypingError("a product needs C-contiguous arrays, int64 row pointers and one float dtype")
    word = types.int64
    return types.void(indptr, indices, *blocks, *factors, word, word), _code


combine: Any = intrinsic(_combine)  # mypy would count the context among its arguments

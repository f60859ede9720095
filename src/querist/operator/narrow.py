"""Products of many long vectors with a block of few columns, and its Gram matrix, in vector registers.

A space of vectors V (m, n) makes a block W (n, b) orthogonal to itself by `H = V W` and `W - V'H`, where b is
a few times the numbers of a cache line. BLAS copies what it multiplies into an order of its own; with so few
columns there is little to gain by it. Here a line of W, or of H, meets several numbers of V at once, where
they are, and their sums stay in registers (LLVM's own words: lanes.py).
The Gram matrix of a block is summed in float64 without a copy of it in float64.

A sum over rows is taken in their order, whatever the registers.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from querist.compiled import compiled
from querist.operator.lanes import LINE, added, ask_for, has, spread

COLUMNS = LINE // 4
"""Of a line of float32."""

TOGETHER = 16 if has("avx512f") else 4
"""Sums of a whole line that fit into the registers, and leave room."""

HALF = COLUMNS // 2

PIECE = 512
"""Rows whose lines stay in the innermost cache while vectors pass."""

_WORD = ir.IntType(64)
_NUMBER = ir.FloatType()
_LINES, _DOUBLES = ir.VectorType(_NUMBER, COLUMNS), ir.VectorType(ir.DoubleType(), COLUMNS)


class _Numbers:
    """Numbers, and lines of them, of a C-contiguous array with two axes."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        made = context.make_array(kind)(context, builder, value)
        self.builder, self.data, self.columns = builder, made.data, builder.extract_value(made.shape, 1)

    def place(self, row: Any, column: Any) -> Any:
        build = self.builder
        return build.gep(self.data, [build.add(build.mul(row, self.columns), column)])

    def number(self, row: Any, column: Any) -> Any:
        return self.builder.load(self.place(row, column))

    def line(self, row: Any, column: Any, kind: Any = _LINES) -> Any:
        pointer = self.builder.bitcast(self.place(row, column), kind.as_pointer())
        return self.builder.load(pointer, align=4)

    def put(self, value: Any, row: Any, column: Any) -> None:
        pointer = self.builder.bitcast(self.place(row, column), value.type.as_pointer())
        self.builder.store(value, pointer, align=4)


def _halved(kind: Any) -> Any:
    return ir.VectorType(kind.element, HALF)


def _arrays(context: Any, builder: Any, signature: Any, arguments: Any) -> list[_Numbers]:
    """The arrays, which are the first three arguments."""
    given = zip(signature.args[:3], arguments[:3], strict=True)
    return [_Numbers(context, builder, kind, value) for kind, value in given]


def _summed(builder: Any, first: Any, last: Any, count: int, step: Any, kind: Any = _LINES) -> list[Any]:
    """`count` lines of zeros, changed by `step(i, sums)` for i from first to last - 1, in registers."""
    before = builder.block
    head, body, after = (builder.append_basic_block(name) for name in ("head", "body", "after"))
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(_WORD)
    sums = [builder.phi(kind) for _ in range(count)]
    builder.cbranch(builder.icmp_signed("<", i, last), body, after)
    builder.position_at_end(body)
    changed = step(i, sums)
    following = builder.add(i, _WORD(1))
    ends = builder.block
    builder.branch(head)
    i.add_incoming(first, before)
    i.add_incoming(following, ends)
    for total, new in zip(sums, changed, strict=True):
        total.add_incoming(ir.Constant(kind, None), before)
        total.add_incoming(new, ends)
    builder.position_at_end(after)
    return sums


def _checked(*arrays: Any) -> None:
    if any(each.layout != "C" or each.dtype != types.float32 or each.ndim != 2 for each in arrays):
        raise TypingError("narrow products need C-contiguous float32 arrays with two axes")


def _adding(count: int) -> Any:
    def add_inner(context: Any, V: Any, W: Any, out: Any, j: Any, k: Any, first: Any, last: Any) -> Any:
        """`out[j + q, k:] += V[j + q, first:last] W[first:last, k:]`, `count` vectors, a line of columns."""
        _checked(V, W, out)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v, w, to = _arrays(context, builder, signature, arguments)
            j, k, first, last = arguments[3:]
            rows = [builder.add(j, _WORD(q)) for q in range(count)]

            def step(i: Any, sums: list[Any]) -> list[Any]:
                line = w.line(i, k)
                return [
                    added(builder, total, spread(builder, v.number(row, i), COLUMNS), line)
                    for total, row in zip(sums, rows, strict=True)
                ]

            sums = _summed(builder, first, last, count, step)
            for total, row in zip(sums, rows, strict=True):
                to.put(builder.fadd(to.line(row, k), total), row, k)
            return context.get_dummy_value()

        word = types.int64
        return types.void(V, W, out, word, word, word, word), code

    return intrinsic(add_inner)


def _subtracting(count: int) -> Any:
    def subtract(context: Any, V: Any, H: Any, W: Any, m: Any, k: Any, i: Any) -> Any:
        """`W[i + q, k:] -= V[:m, i + q]' H[:m, k:]`, `count` rows, a line of columns."""
        _checked(V, H, W)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            v, h, w = _arrays(context, builder, signature, arguments)
            m, k, i = arguments[3:]
            rows = [builder.add(i, _WORD(q)) for q in range(count)]

            def step(j: Any, sums: list[Any]) -> list[Any]:
                line = h.line(j, k)
                # Every vector is another stream: more than the processor follows by itself.
                ask_for(builder, v.place(j, builder.add(i, _WORD(2 * COLUMNS))))
                return [
                    added(builder, total, spread(builder, v.number(j, row), COLUMNS), line)
                    for total, row in zip(sums, rows, strict=True)
                ]

            sums = _summed(builder, _WORD(0), m, count, step)
            for total, row in zip(sums, rows, strict=True):
                w.put(builder.fsub(w.line(row, k), total), row, k)
            return context.get_dummy_value()

        word = types.int64
        return types.void(V, H, W, word, word, word), code

    return intrinsic(subtract)


def _gram(context: Any, X: Any, Y: Any, out: Any, j: Any, k: Any, first: Any, last: Any) -> Any:
    """`out[j:, k:] += X[first:last, j:]' Y[first:last, k:]` in float64, half a line by a line."""
    _checked(X, Y)
    if out.layout != "C" or out.dtype != types.float64:
        raise TypingError("a Gram matrix is a C-contiguous float64 array")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, to = _arrays(context, builder, signature, arguments)
        j, k, first, last = arguments[3:]

        def step(i: Any, sums: list[Any]) -> list[Any]:
            line = builder.fpext(y.line(i, k), _DOUBLES)
            own = builder.fpext(x.line(i, j, _halved(_LINES)), _halved(_DOUBLES))
            factors = (builder.extract_element(own, ir.IntType(32)(q)) for q in range(HALF))
            return [
                added(builder, total, spread(builder, factor, COLUMNS), line)
                for total, factor in zip(sums, factors, strict=True)
            ]

        for q, total in enumerate(_summed(builder, first, last, HALF, step, _DOUBLES)):
            row = builder.add(j, _WORD(q))
            to.put(builder.fadd(to.line(row, k, _DOUBLES), total), row, k)
        return context.get_dummy_value()

    word = types.int64
    return types.void(X, Y, out, word, word, word, word), code


add_gram_of_half: Any = intrinsic(_gram)
add_several, add_one = _adding(TOGETHER), _adding(1)
subtract_several, subtract_one = _subtracting(TOGETHER), _subtracting(1)


@compiled
def add_products(V: Any, W: Any, out: Any, m: int, first: int, last: int) -> None:
    """`out += V[:m, first:last] W[first:last]`; all float32, with whole lines of columns."""
    for begin in range(first, last, PIECE):
        end = min(begin + PIECE, last)
        for k in range(0, W.shape[1], COLUMNS):
            whole = m - m % TOGETHER
            for j in range(0, whole, TOGETHER):
                add_several(V, W, out, j, k, begin, end)
            for j in range(whole, m):
                add_one(V, W, out, j, k, begin, end)


@compiled
def add_gram(X: Any, Y: Any, out: Any, first: int, last: int) -> None:
    """`out += X[first:last]' Y[first:last]` in float64; X and Y float32, with whole lines of columns."""
    for j in range(0, X.shape[1], HALF):
        for k in range(0, Y.shape[1], COLUMNS):
            add_gram_of_half(X, Y, out, j, k, first, last)


@compiled
def subtract_products(V: Any, H: Any, W: Any, m: int, first: int, last: int) -> None:
    """`W[first:last] -= V[:m, first:last]' H[:m]`; all float32, with whole lines of columns."""
    whole = last - (last - first) % TOGETHER
    for k in range(0, W.shape[1], COLUMNS):
        for i in range(first, whole, TOGETHER):
            subtract_several(V, H, W, m, k, i)
        for i in range(whole, last):
            subtract_one(V, H, W, m, k, i)


def fits(W: np.ndarray) -> bool:
    """Whether the block has whole lines of float32."""
    return bool(W.ndim == 2 and W.dtype == np.float32 and W.shape[1] % COLUMNS == 0 and W.flags.c_contiguous)

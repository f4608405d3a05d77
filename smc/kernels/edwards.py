"""Kernels on the points of Ed25519: many products at once, for base oblivious transfer.

The curve is -x^2 + y^2 = 1 + d x^2 y^2 over 2^255 - 19. A field element is five words of 51 bits and a little more, a
point (X, Y, Z, T) with x = X / Z, y = Y / Z, T = X Y / Z. Formulas: Hisil, Wong, Carter, Dawson, "Twisted Edwards
Curves Revisited" (ASIACRYPT 2008), complete on this curve. Points of 32 bytes (RFC 8032) are four words.

Nothing branches or indexes on a secret: every table is read as a whole, and one inversion serves all points. Points are
taken to be on the curve: who uses these kernels has checked those of the peer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

_I64, _I128 = ir.IntType(64), ir.IntType(128)
_ELEMENT = types.UniTuple(types.uint64, 5)
_BITS = (1 << 51) - 1
_P = 2**255 - 19


def _limbs(value: int) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(value >> 51 * i & _BITS) for i in range(5))


MASK = np.uint64(_BITS)
ZERO, ONE = np.uint64(0), np.uint64(1)
_FOUR_P = (np.uint64(4 * (_BITS - 18)), *[np.uint64(4 * _BITS)] * 4)
_D = -121665 * pow(121666, -1, _P) % _P
_D1, _D2, _ROOT = _limbs(_D), _limbs(2 * _D % _P), _limbs(pow(2, (_P - 1) // 4, _P))  # d, 2 d, a root of -1
_UNIT, _NONE = _limbs(1), _limbs(0)
WINDOWS = 64  # of four bits, of a scalar


def _multiplication(module: ir.Module) -> ir.Function:
    """Return the function that multiplies field elements: one for all its calls, or compiling would take long."""
    name = "smc_field_product"
    if name in module.globals:
        return module.globals[name]
    kind = ir.FunctionType(ir.LiteralStructType([_I64] * 5), [_I64] * 10)
    function = ir.Function(module, kind, name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    words = [builder.zext(word, _I128) for word in function.args]
    a, b = words[:5], words[5:]
    folded = [builder.mul(word, ir.Constant(_I128, 19)) for word in b]
    result, carry = [], ir.Constant(_I128, 0)
    for k in range(5):
        value = carry
        for i in range(5):
            value = builder.add(value, builder.mul(a[i], b[k - i] if i <= k else folded[5 + k - i]))
        result.append(builder.and_(builder.trunc(value, _I64), ir.Constant(_I64, _BITS)))
        carry = builder.lshr(value, ir.Constant(_I128, 51))
    low = builder.add(builder.zext(result[0], _I128), builder.mul(carry, ir.Constant(_I128, 19)))
    result[0] = builder.and_(builder.trunc(low, _I64), ir.Constant(_I64, _BITS))
    result[1] = builder.add(result[1], builder.trunc(builder.lshr(low, ir.Constant(_I128, 51)), _I64))
    builder.ret(cgutils.pack_struct(builder, result))
    return function


@intrinsic
def _times(typing: Any, left: Any, right: Any) -> Any:
    """Multiply field elements, of words below 2^54; those of the result are below 2^51 + 2^13."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = [word for x in arguments for word in cgutils.unpack_tuple(builder, x, 5)]
        result = builder.call(_multiplication(builder.module), words)
        return context.make_tuple(builder, signature.return_type, cgutils.unpack_tuple(builder, result, 5))

    return _ELEMENT(_ELEMENT, _ELEMENT), code


@intrinsic
def _opaque(typing: Any, word: Any) -> Any:
    """Return a word of which the compiler knows nothing: of a mask it would see that it is zero or ones, and branch."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.asm(ir.FunctionType(_I64, [_I64]), "", "=r,0", arguments, side_effect=True)

    return types.uint64(types.uint64), code


@njit
def _plus(a, b):  # type: ignore[no-untyped-def]
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]


@njit
def _minus(a, b):  # type: ignore[no-untyped-def]
    """Subtract a product."""
    return (
        a[0] + _FOUR_P[0] - b[0], a[1] + _FOUR_P[1] - b[1], a[2] + _FOUR_P[2] - b[2],
        a[3] + _FOUR_P[3] - b[3], a[4] + _FOUR_P[4] - b[4],
    )  # fmt: skip


@njit
def _power(a, times):  # type: ignore[no-untyped-def]
    """Square so many times."""
    for _ in range(times):
        a = _times(a, a)
    return a


@njit
def _to_the_250(a):  # type: ignore[no-untyped-def]
    """Return a^(2^250 - 1) and a^11."""
    a2 = _times(a, a)
    a9 = _times(a, _power(a2, 2))
    a11 = _times(a9, a2)
    b5 = _times(_times(a11, a11), a9)  # 2^5 - 1
    b10 = _times(_power(b5, 5), b5)
    b20 = _times(_power(b10, 10), b10)
    b40 = _times(_power(b20, 20), b20)
    b50 = _times(_power(b40, 10), b10)
    b100 = _times(_power(b50, 50), b50)
    b200 = _times(_power(b100, 100), b100)
    return _times(_power(b200, 50), b50), a11


@njit
def _inverse(a):  # type: ignore[no-untyped-def]
    power, a11 = _to_the_250(a)
    return _times(_power(power, 5), a11)


@njit
def _canonical(a):  # type: ignore[no-untyped-def]
    """Return the four words of the number below 2^255 - 19."""
    a0, a1, a2, a3, a4 = _times(a, _UNIT)
    for _ in range(2):
        a1, a0 = a1 + (a0 >> np.uint64(51)), a0 & MASK
        a2, a1 = a2 + (a1 >> np.uint64(51)), a1 & MASK
        a3, a2 = a3 + (a2 >> np.uint64(51)), a2 & MASK
        a4, a3 = a4 + (a3 >> np.uint64(51)), a3 & MASK
        a0, a4 = a0 + np.uint64(19) * (a4 >> np.uint64(51)), a4 & MASK
    q = (a0 + np.uint64(19)) >> np.uint64(51)  # 1 where the number is 2^255 - 19 or more
    q = (a1 + q) >> np.uint64(51)
    q = (a2 + q) >> np.uint64(51)
    q = (a3 + q) >> np.uint64(51)
    q = (a4 + q) >> np.uint64(51)
    a0 += np.uint64(19) * q
    a1, a0 = a1 + (a0 >> np.uint64(51)), a0 & MASK
    a2, a1 = a2 + (a1 >> np.uint64(51)), a1 & MASK
    a3, a2 = a3 + (a2 >> np.uint64(51)), a2 & MASK
    a4, a3 = a4 + (a3 >> np.uint64(51)), a3 & MASK
    a4 &= MASK
    return (
        a0 | a1 << np.uint64(51),
        a1 >> np.uint64(13) | a2 << np.uint64(38),
        a2 >> np.uint64(26) | a3 << np.uint64(25),
        a3 >> np.uint64(39) | a4 << np.uint64(12),
    )


@njit
def _differs(a, b):  # type: ignore[no-untyped-def]
    """Return 1 where field elements differ, else 0; `b` is a product."""
    w = _canonical(_minus(a, b))
    rest = w[0] | w[1] | w[2] | w[3]
    return (rest | (ZERO - rest)) >> np.uint64(63)


@njit
def _choose(bit, a, b):  # type: ignore[no-untyped-def]
    """Return b where the bit is 1, else a, without a branch."""
    m = _opaque(ZERO - bit)
    return (
        a[0] ^ (m & (a[0] ^ b[0])), a[1] ^ (m & (a[1] ^ b[1])), a[2] ^ (m & (a[2] ^ b[2])),
        a[3] ^ (m & (a[3] ^ b[3])), a[4] ^ (m & (a[4] ^ b[4])),
    )  # fmt: skip


@njit
def _twice(p):  # type: ignore[no-untyped-def]
    x, y, z, _ = p
    a, b, c = _times(x, x), _times(y, y), _times(z, z)
    s = _plus(x, y)
    h, g = _plus(a, b), _minus(a, b)
    e, f = _minus(h, _times(s, s)), _plus(_plus(c, c), g)
    return _times(e, f), _times(g, h), _times(f, g), _times(e, h)


@njit
def _sum(p, q):  # type: ignore[no-untyped-def]
    a = _times(_minus(p[1], p[0]), _minus(q[1], q[0]))
    b = _times(_plus(p[1], p[0]), _plus(q[1], q[0]))
    c, d = _times(_times(p[3], q[3]), _D2), _times(p[2], q[2])
    d = _plus(d, d)
    e, f, g, h = _minus(b, a), _minus(d, c), _plus(d, c), _plus(b, a)
    return _times(e, f), _times(g, h), _times(f, g), _times(e, h)


@njit
def _load(points, i):  # type: ignore[no-untyped-def]
    """Decompress row i of `points`, u64[n, 4]."""
    w0, w1, w2, w3 = points[i, 0], points[i, 1], points[i, 2], points[i, 3]
    y = (
        w0 & MASK,
        (w0 >> np.uint64(51) | w1 << np.uint64(13)) & MASK, (w1 >> np.uint64(38) | w2 << np.uint64(26)) & MASK,
        (w2 >> np.uint64(25) | w3 << np.uint64(39)) & MASK, (w3 >> np.uint64(12)) & MASK,
    )  # fmt: skip
    yy = _times(y, y)
    u, v = _times(_minus(yy, _UNIT), _UNIT), _plus(_times(yy, _D1), _UNIT)  # x^2 = u / v
    v3 = _times(_times(v, v), v)
    power, _ = _to_the_250(_times(_times(_times(v3, v3), v), u))  # u v^7
    x = _times(_times(_times(u, v3), _power(power, 2)), _times(_times(_times(v3, v3), v), u))
    x = _choose(_differs(_times(v, _times(x, x)), u), x, _times(x, _ROOT))
    flip = (_canonical(x)[0] & ONE) ^ w3 >> np.uint64(63)
    x = _choose(flip, x, _times(_minus(_NONE, x), _UNIT))
    return x, y, _UNIT, _times(x, y)


@njit
def _keep(room, i, p):  # type: ignore[no-untyped-def]
    """Write a point as row i of `room`, u64[n, 20]."""
    for k in range(4):
        for j in range(5):
            room[i, 5 * k + j] = p[k][j]


@njit
def _kept(room, i):  # type: ignore[no-untyped-def]
    return (
        (room[i, 0], room[i, 1], room[i, 2], room[i, 3], room[i, 4]),
        (room[i, 5], room[i, 6], room[i, 7], room[i, 8], room[i, 9]),
        (room[i, 10], room[i, 11], room[i, 12], room[i, 13], room[i, 14]),
        (room[i, 15], room[i, 16], room[i, 17], room[i, 18], room[i, 19]),
    )


@njit
def _multiples(room, first, p):  # type: ignore[no-untyped-def]
    """Write 0 p .. 15 p from row `first` on."""
    q = _NONE, _UNIT, _UNIT, _NONE
    for i in range(16):
        _keep(room, first + i, q)
        q = _sum(q, p)


@njit
def _multiple(room, first, scalars, i, window, out):  # type: ignore[no-untyped-def]
    """Return the multiple that a window of scalar i names, reading all sixteen."""
    digit = scalars[i, window >> 4] >> np.uint64(4 * (window & 15)) & np.uint64(15)
    for j in range(20):
        out[j] = ZERO
    for k in range(16):
        other = digit ^ np.uint64(k)
        mask = _opaque(((other | (ZERO - other)) >> np.uint64(63)) - ONE)
        for j in range(20):
            out[j] |= mask & room[first + k, j]
    return (
        (out[0], out[1], out[2], out[3], out[4]), (out[5], out[6], out[7], out[8], out[9]),
        (out[10], out[11], out[12], out[13], out[14]), (out[15], out[16], out[17], out[18], out[19]),
    )  # fmt: skip


@njit
def _compress(room, points):  # type: ignore[no-untyped-def]
    """Write the points of `room`, u64[n, 20], as `points`, u64[n, 4]. Spoils T: there go products of all Z before."""
    count = room.shape[0]
    product = _UNIT
    for i in range(count):
        for j in range(5):
            room[i, 15 + j] = product[j]
        product = _times(product, _kept(room, i)[2])
    inverse = _inverse(product)
    for i in range(count - 1, -1, -1):
        x, y, z, before = _kept(room, i)
        here = _times(inverse, before)
        inverse = _times(inverse, z)
        odd = _canonical(_times(x, here))[0] & ONE
        w = _canonical(_times(y, here))
        points[i, 0], points[i, 1], points[i, 2], points[i, 3] = w[0], w[1], w[2], w[3] | odd << np.uint64(63)


def multiply_base(base, scalars, room, work, out):  # type: ignore[no-untyped-def]
    """Set out[i] = scalars[i] * base, u64[n, 4] each.

    `base` u64[1, 4]; `room` u64[n, 20] and `work` u64[64 * 16 + 1, 20] are scratch.
    """
    p = _load(base, 0)
    for window in range(WINDOWS):
        _multiples(work, 16 * window, p)
        p = _twice(_twice(_twice(_twice(p))))
    for i in range(scalars.shape[0]):
        q = _NONE, _UNIT, _UNIT, _NONE
        for window in range(WINDOWS):
            q = _sum(q, _multiple(work, 16 * window, scalars, i, window, work[16 * WINDOWS]))
        _keep(room, i, q)
    _compress(room, out)


def add_point(points, base, room, out):  # type: ignore[no-untyped-def]
    """Set out[i] = points[i] + base, u64[n, 4] each; `base` u64[1, 4], `room` u64[n, 20]."""
    p = _load(base, 0)
    for i in range(points.shape[0]):
        _keep(room, i, _sum(_load(points, i), p))
    _compress(room, out)

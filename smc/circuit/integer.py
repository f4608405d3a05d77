"""Integers of a fixed width as wires, with Python's operators."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import overload

from smc.circuit import prefix, ripple
from smc.circuit.carry_save import product_rows, square_row, sum_row, sum_rows
from smc.circuit.graph import ONE, ZERO, Graph
from smc.circuit.wire import Wire, all_of, mux

HALVED = 20  # least width at which products of halves take fewer gates


class Integer:
    """Integer of `len(x)` bits, least bit first, unsigned or signed in two's complement; any width from 0 up.

    Widths and signs of results (a result is signed if an operand is signed):

    * `a + b`, `a - b`, `-a`, `a & b`, `a | b`, `a ^ b`: the wider operand's width, modulo 2^width; the narrower one is
      extended first (with its sign if it is signed). `wide_add` and `wide_subtract` are one bit wider, hence exact.
    * `a * b`: exact, `len(a) + len(b)` bits; `multiply` computes fewer.
    * `a << n`, `a >> n`, `~a`: the width of a; `>>` of a signed integer repeats the sign. n may be an Integer.
    * comparisons: exact on the values, whatever the widths and signs; the result is a wire.

    A Python int takes the other operand's width in the first group, where it must fit as a signed or an unsigned
    number. Elsewhere it takes its own least width.

    AND gates for operands of n bits in the form "size" of the builder: + and - take n - 1, wide_add n, comparison n,
    equality n - 1, a product 2n^2 - n or fewer (see `multiply`), a shift by a k-bit Integer at most kn. The depth of +
    - < is n, of a product 2n, of equality log n. In the form "depth" (see `prefix` and `carry_save`) + and - take about
    n log2 n ANDs at depth log2 n, comparison 2.5 n at depth log2 n + 1, a product 2n^2 + 2n log2 n at depth 2 log2 n +
    2.
    """

    def __init__(self, graph: Graph, wires: Sequence[Wire], signed: bool = False) -> None:
        self.graph = graph
        self.wires = tuple(wires)
        self.signed = signed

    @classmethod
    def constant(cls, graph: Graph, value: int, width: int | None = None) -> Integer:
        """Return a public integer, signed if it is negative.

        Args:
            graph: Graph of the circuit.
            value: The integer.
            width: Number of bits. None: the least width that holds the value.

        Raises:
            ValueError: The value does not fit the width.
        """
        value = operator.index(value)
        least = value.bit_length() if value >= 0 else (~value).bit_length() + 1
        if width is None:
            width = least
        elif least > width:
            raise ValueError(f"{value} does not fit {width} bits")
        return cls(graph, [Wire(graph, value >> i & 1) for i in range(width)], signed=value < 0)

    def __len__(self) -> int:
        return len(self.wires)

    def __iter__(self) -> Iterator[Wire]:
        return iter(self.wires)

    @overload
    def __getitem__(self, index: int) -> Wire: ...
    @overload
    def __getitem__(self, index: slice) -> Integer: ...
    def __getitem__(self, index: int | slice) -> Wire | Integer:
        """Return one wire, or the unsigned integer of a slice of the wires."""
        if isinstance(index, slice):
            return Integer(self.graph, self.wires[index])
        return self.wires[index]

    def __repr__(self) -> str:
        return f"Integer({'signed' if self.signed else 'unsigned'}, {len(self)} bits)"

    def __bool__(self) -> bool:
        raise TypeError("an Integer has no value while its circuit is built; choose with select")

    def as_signed(self) -> Integer:
        """Return the integer of these bits read in two's complement."""
        return Integer(self.graph, self.wires, signed=True)

    def as_unsigned(self) -> Integer:
        """Return the integer of these bits read as an unsigned number."""
        return Integer(self.graph, self.wires)

    def extend(self, width: int) -> Integer:
        """Return this value in more bits, extended by zeros, or by the sign if it is signed.

        Raises:
            ValueError: `width` is less than the present width.
        """
        if width < len(self):
            raise ValueError(f"cannot extend {len(self)} bits to {width}; resize would cut them")
        return self.resize(width)

    def resize(self, width: int) -> Integer:
        """Return this value modulo 2^width: truncated or extended."""
        return self._of([*self.wires[:width], *[self._filler()] * (width - len(self))])

    def __add__(self, other: Integer | int) -> Integer:
        a, b = self._modular(other)
        add = prefix.add if self.graph.form == "depth" else ripple.add
        return Integer(self.graph, add(a.wires, b.wires, self._zero()), a.signed or b.signed)

    def __sub__(self, other: Integer | int) -> Integer:
        a, b = self._modular(other)
        subtract = prefix.subtract if self.graph.form == "depth" else ripple.subtract
        return Integer(self.graph, subtract(a.wires, b.wires, self._zero()), a.signed or b.signed)

    def __rsub__(self, other: int) -> Integer:
        return self._same_width(other) - self

    def __neg__(self) -> Integer:
        return 0 - self

    def wide_add(self, other: Integer | int) -> Integer:
        """Return a + b exactly: one bit wider than the wider operand, two if that is unsigned and the other signed."""
        a, b = self.aligned(other)
        return a.extend(len(a) + 1) + b.extend(len(a) + 1)

    def wide_subtract(self, other: Integer | int) -> Integer:
        """Return a - b exactly: signed, of the width of `wide_add`."""
        a, b = self.aligned(other)
        return (a.extend(len(a) + 1) - b.extend(len(a) + 1)).as_signed()

    def __mul__(self, other: Integer | int) -> Integer:
        b = self._any_width(other)
        return multiply(self, b, len(self) + len(b))

    def __and__(self, other: Integer | int) -> Integer:
        a, b = self._modular(other)
        return Integer(self.graph, [x & y for x, y in zip(a, b, strict=True)], a.signed or b.signed)

    def __or__(self, other: Integer | int) -> Integer:
        a, b = self._modular(other)
        return Integer(self.graph, [x | y for x, y in zip(a, b, strict=True)], a.signed or b.signed)

    def __xor__(self, other: Integer | int) -> Integer:
        a, b = self._modular(other)
        return Integer(self.graph, [x ^ y for x, y in zip(a, b, strict=True)], a.signed or b.signed)

    def __invert__(self) -> Integer:
        return self._of([~wire for wire in self])

    __radd__, __rmul__, __rand__, __ror__, __rxor__ = __add__, __mul__, __and__, __or__, __xor__

    def __eq__(self, other: Integer | int) -> Wire:  # type: ignore[override]
        a, b = self.aligned(other)
        same = [x == y for x, y in zip(a, b, strict=True)]
        return all_of(same) if same else Wire(self.graph, ONE)

    def __ne__(self, other: Integer | int) -> Wire:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: Integer | int) -> Wire:
        a, b = self.aligned(other)
        x, y = a.wires, b.wires
        if a.signed and len(a):
            # The top bit weighs -2^(n-1): exchange the top bits and compare as unsigned numbers.
            x, y = (*x[:-1], y[-1]), (*y[:-1], x[-1])
        less = prefix.less if self.graph.form == "depth" else ripple.less
        return less(x, y, self._zero())

    def __gt__(self, other: Integer | int) -> Wire:
        return self._any_width(other) < self

    def __le__(self, other: Integer | int) -> Wire:
        return ~(self > other)

    def __ge__(self, other: Integer | int) -> Wire:
        return ~(self < other)

    def __lshift__(self, amount: Integer | int) -> Integer:
        if isinstance(amount, Integer):
            return _barrel(self, amount, left=True)
        return self._of([*[self._zero()] * _distance(amount, len(self)), *self.wires][: len(self)])

    def __rshift__(self, amount: Integer | int) -> Integer:
        if isinstance(amount, Integer):
            return _barrel(self, amount, left=False)
        distance = _distance(amount, len(self))
        return self._of([*self.wires[distance:], *[self._filler()] * distance])

    def aligned(self, other: Integer | int) -> tuple[Integer, Integer]:
        """Return both operands with unchanged values, in a common width and signedness."""
        a, b = self, self._any_width(other)
        if a.signed != b.signed:
            a, b = (x if x.signed else x.extend(len(x) + 1).as_signed() for x in (a, b))
        width = max(len(a), len(b))
        return a.extend(width), b.extend(width)

    def _any_width(self, other: Integer | int) -> Integer:
        return other if isinstance(other, Integer) else Integer.constant(self.graph, other)

    def _same_width(self, value: int) -> Integer:
        constant = Integer.constant(self.graph, value, len(self))
        return constant.as_signed() if self.signed else constant.as_unsigned()

    def _modular(self, other: Integer | int) -> tuple[Integer, Integer]:
        b = other if isinstance(other, Integer) else self._same_width(other)
        width = max(len(self), len(b))
        return self.extend(width), b.extend(width)

    def _of(self, wires: Sequence[Wire]) -> Integer:
        return Integer(self.graph, wires, self.signed)

    def _zero(self) -> Wire:
        return Wire(self.graph, ZERO)

    def _filler(self) -> Wire:
        return self.wires[-1] if self.signed and self.wires else self._zero()


def total(plus: Sequence[Integer], width: int, minus: Sequence[Integer] = ()) -> Integer:
    """Return the sum of `plus` minus the sum of `minus`, modulo 2^width.

    The form "size" adds column by column with full adders (see `carry_save`), then signed integers and differences. The
    form "depth" uses a carry-save tree, then one adder.

    Args:
        plus: Integers to add, at least one; any widths and signs.
        width: Bits of the result.
        minus: Integers to subtract; none by default.

    Returns:
        The sum; signed if one of the integers is.

    Examples:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> builder.output(total([builder.input(4), builder.input(4)], 6, minus=[builder.input(4)]))
        >>> builder.build().output_widths
        (6,)
    """
    graph, signed = plus[0].graph, any(value.signed for value in (*plus, *minus))
    if graph.form == "depth":
        first, second = (Integer(graph, row, signed) for row in sum_rows(graph, plus, minus, width))
        return first + second
    added, taken = (_joined(graph, values, width) for values in (plus, minus))
    result = added[0]
    for value in added[1:]:
        result = result + value
    for value in taken:
        result = result - value
    return Integer(graph, result.wires, signed)


def _joined(graph: Graph, values: Sequence[Integer], width: int) -> list[Integer]:
    """Return values of equal sum: the unsigned ones added up, then the signed ones, whose signs would fill many
    columns.
    """
    unsigned = [value for value in values if not value.signed]
    first = [Integer(graph, sum_row(graph, unsigned, width))] if unsigned else []
    return [*first, *[value.resize(width) for value in values if value.signed]]


def multiply(a: Integer, b: Integer | int, width: int) -> Integer:
    """Return the lowest `width` bits of a * b; higher columns are not computed.

    The schoolbook method takes 2n^2 - n ANDs for all 2n bits of an n x n product, n^2 - n + 1 for the lower n bits, and
    n^2 - n for a square. All 2n bits of a long product come from three products of half the length (Karatsuba, Ofman,
    Soviet Physics Doklady 7, 1963; in circuits: Henecka et al., "TASTY", CCS 2010): 1,698 ANDs for 32 bits, 5,525 for
    64. The form "depth" sums the rows as `total` does. This costs about one adder of 2n (or n) bits more and has depth
    about 2 log2 n + 2.

    Args:
        a: One factor.
        b: The other factor; an int is a constant of the least width that holds it.
        width: Bits of the product; `len(a) + len(b)` hold all of it.

    Returns:
        The product; signed if a factor is.

    Examples:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> builder.output(multiply(builder.input(4), builder.input(4), 8))
        >>> builder.build().and_count  # 2 n^2 - n
        28
    """
    b = b if isinstance(b, Integer) else Integer.constant(a.graph, b)
    if a.graph.form == "depth":
        first, second = (Integer(a.graph, row, a.signed or b.signed) for row in product_rows(a.graph, a, b, width))
        return first + second
    square = a.signed == b.signed and _nodes(a) == _nodes(b)
    if width >= len(a) + len(b) and min(_secret_bits(a), _secret_bits(b)) >= HALVED:
        return _halved(a, b).resize(width)
    return Integer(a.graph, square_row(a.graph, a, width), a.signed) if square else _schoolbook(a, b, width)


def _halved(a: Integer, b: Integer) -> Integer:
    """Return the product from products of halves: (2^k q + p)(2^k s + r) needs pr, qs and (p + q)(r + s) only."""
    signed, (short, long) = a.signed or b.signed, sorted((a, b), key=len)
    if 4 * len(long) > 5 * len(short):  # cut the longer factor only
        low, high = short * long[: len(short)], short * _above(long, len(short))
        return Integer(a.graph, [*low[: len(short)], *_above(low, len(short)).wide_add(high)], signed)
    half = len(long) // 2
    (p, q), (r, s) = ((x[:half], _above(x, half)) for x in (a, b))
    low, high, mixed = p * r, q * s, p.wide_add(q) * r.wide_add(s)
    ends = [*low, *high]
    middle = (mixed - low - high).resize(len(ends) - half)
    return Integer(a.graph, [*ends[:half], *(Integer(a.graph, ends[half:]) + middle)], signed)


def _above(x: Integer, place: int) -> Integer:
    return Integer(x.graph, x.wires[place:], x.signed)


def _nodes(x: Integer) -> list[int]:
    return [wire.node for wire in x]


def _secret_bits(x: Integer) -> int:
    """Return the width, or 0 if a bit is constant or occurs twice: such numbers suit the schoolbook method better."""
    return len(x) if len(set(_nodes(x))) == len(x) and not any(wire.is_constant for wire in x) else 0


def _schoolbook(a: Integer, b: Integer, width: int) -> Integer:
    secret = [sum(not wire.is_constant for wire in x) for x in (a, b)]
    # every row costs an addition unless its digit is the constant 0
    rows, row = (a, b) if secret[0] < secret[1] else (b, a)
    signed = a.signed or b.signed
    rest = Integer(a.graph, [], row.signed)
    low: list[Wire] = []
    for i, digit in enumerate(rows.wires[:width]):
        room = min(len(row) + 1, width - i)
        term = Integer(a.graph, [digit & wire for wire in row], row.signed).resize(room)
        negative = rows.signed and i == len(rows) - 1  # the sign digit weighs -2^i
        rest = rest.resize(room)
        rest = rest - term if negative else rest + term
        low.append(rest[0])
        rest = Integer(a.graph, rest.wires[1:], row.signed)
    return Integer(a.graph, [*low, *rest], signed).resize(width)


def select(condition: Wire, if_true: Integer | int, if_false: Integer | int) -> Integer:
    """Return `if_true` where the condition is 1, else `if_false`; one AND a bit.

    Args:
        condition: Wire that selects.
        if_true: Result if the wire is 1; an int is a constant.
        if_false: Result if the wire is 0; an int is a constant.

    Returns:
        Integer wide enough for both, signed if one of them is.

    Examples:
        >>> from smc.circuit import Builder
        >>> builder = Builder()
        >>> x, y = builder.input(8), builder.input(8)
        >>> builder.output(select(x < y, y, x))  # the greater one
        >>> builder.build().and_count
        16
    """
    first = if_true if isinstance(if_true, Integer) else Integer.constant(condition.graph, if_true)
    a, b = first.aligned(if_false)
    return Integer(a.graph, [mux(condition, x, y) for x, y in zip(a, b, strict=True)], a.signed)


def concatenate(low: Integer | Wire, *more: Integer | Wire) -> Integer:
    """Return one unsigned integer of all the wires, the first part in the lowest bits.

    Args:
        low: The part for the lowest bits.
        more: Further parts, each above the one before.
    """
    parts = [[part] if isinstance(part, Wire) else list(part) for part in (low, *more)]
    return Integer(low.graph, [wire for part in parts for wire in part])


def _distance(amount: int, width: int) -> int:
    if amount < 0:
        raise ValueError(f"cannot shift by {amount}, a negative number of places")
    return min(amount, width)


def _barrel(x: Integer, amount: Integer, left: bool) -> Integer:
    for i, bit in enumerate(amount):
        distance = min(1 << i, len(x))
        x = select(bit, x << distance if left else x >> distance, x)
    return x

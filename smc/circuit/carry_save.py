"""Carry-save sums of many integers: two rows that remain to be added, computed column by column in parallel.

A full adder turns three wires of one column into two: their sum in the column and their carry in the next column. It
costs one AND; the sum is XOR alone and adds no depth. The adders are repeated until no column has more than two wires.
This is the tree of Wallace, "A suggestion for a fast multiplier" (IEEE Trans. EC-13, 1964) and Dadda, "Some schemes for
parallel multipliers" (Alta Frequenza 34, 1965); for XOR shares: Schneider, Zohner, "GMW vs. Yao?" (FC 2013). Each adder
takes the wires of its column that are ready first (Stelling, Martel, Oklobdzija, Ravi, "Optimal circuits for parallel
multipliers", IEEE Trans. Computers 47, 1998).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import Protocol

from smc.circuit.graph import ZERO, Graph
from smc.circuit.ripple import majority
from smc.circuit.wire import Wire, parity

CarrySavePair = tuple[list[Wire], list[Wire]]


class Number(Protocol):
    """Number as wires, least bit first; the last wire of a signed number has a negative weight."""

    @property
    def wires(self) -> Sequence[Wire]:
        """The bits as wires, least bit first."""

    @property
    def signed(self) -> bool:
        """True if the bits are in two's complement."""


def sum_rows(graph: Graph, plus: Sequence[Number], minus: Sequence[Number], width: int) -> CarrySavePair:
    """Return two rows of `width` wires whose sum is the sum of `plus` minus the sum of `minus`, modulo 2^width.

    This costs about one AND for every wire of the summands, except two of each column. For m summands of one width the
    depth is ceil(log2 m).

    Args:
        graph: Graph that holds all the wires.
        plus: Numbers to add, of any widths and signs.
        minus: Numbers to subtract.
        width: Wires of each row; higher columns are not computed.
    """
    return _summed(graph, plus, minus, width).rows()


def sum_row(graph: Graph, values: Sequence[Number], width: int) -> list[Wire]:
    """Return the sum modulo 2^width by full adders, and by a half adder where two wires of a column remain.

    Counting the ones among n bits takes n - H(n) ANDs, where H(n) is the number of ones of n in binary. No circuit
    takes fewer (Boyar, Peralta, "Tight bounds for the multiplicative complexity of symmetric functions", Theoretical
    Computer Science 396, 2008).

    Args:
        graph: Graph that holds all the wires.
        values: Numbers to add, of any widths and signs.
        width: Wires of the sum; higher columns are not computed.

    Returns:
        The wires of the sum, least bit first.
    """
    return _summed(graph, values, (), width).row()


def product_rows(graph: Graph, a: Number, b: Number, width: int) -> CarrySavePair:
    """Return two rows of `width` wires whose sum is a * b modulo 2^width.

    The products of all pairs of bits are summed as in `sum_rows`. Products of a sign bit and another bit count negative
    (Baugh, Wooley, IEEE Trans. Computers C-22, 1973).

    Args:
        graph: Graph that holds all the wires.
        a: One factor.
        b: The other factor; a square (equal wires) takes fewer gates.
        width: Wires of each row; higher columns are not computed.
    """
    return _product(graph, a, b, width).rows()


def square_row(graph: Graph, a: Number, width: int) -> list[Wire]:
    """Return a * a modulo 2^width, summed as in `sum_row`; n^2 - n ANDs for n bits of a.

    Args:
        graph: Graph that holds all the wires.
        a: The number to square.
        width: Wires of the result, least bit first; higher columns are not computed.
    """
    return _product(graph, a, a, width).row()


def _product(graph: Graph, a: Number, b: Number, width: int) -> _Columns:
    columns = _Columns(graph, width)
    x, y = _trimmed(a), _trimmed(b)
    square = [wire.node for wire in x] == [wire.node for wire in y] and a.signed == b.signed
    for i, left in enumerate(x):
        # in a square each product of two different bits occurs twice: count it once, in the next column
        others = range(i + 1) if square else range(len(y))
        for j in others:
            place = i + j + (square and i != j)
            if place < width:
                columns.put(left & y[j], place, _is_sign(x, a.signed, i) ^ _is_sign(y, b.signed, j))
    return columns


def _summed(graph: Graph, plus: Sequence[Number], minus: Sequence[Number], width: int) -> _Columns:
    columns = _Columns(graph, width)
    for values, negative in ((plus, False), (minus, True)):
        for value in values:
            for place, wire in enumerate(value.wires):
                columns.put(wire, place, negative ^ _is_sign(value.wires, value.signed, place))
    return columns


def _trimmed(value: Number) -> Sequence[Wire]:
    """Return the wires without repeated sign bits: each would cost a row of products."""
    wires = value.wires
    while value.signed and len(wires) > 1 and wires[-1].node == wires[-2].node:
        wires = wires[:-1]
    return wires


def _is_sign(wires: Sequence[Wire], signed: bool, place: int) -> bool:
    return signed and place == len(wires) - 1


class _Columns:
    """Sum of wires of different weights, modulo 2^width."""

    def __init__(self, graph: Graph, width: int) -> None:
        self._graph = graph
        self._columns: list[list[Wire]] = [[] for _ in range(width)]
        self._constant = 0

    def put(self, wire: Wire, place: int, negative: bool) -> None:
        """Add a wire times 2^place to the sum, or subtract it.

        Args:
            wire: The wire.
            place: Index of the column; the wire has the weight 2^place.
            negative: Whether to subtract.
        """
        if place >= len(self._columns):
            return
        if negative:  # -w = (1 - w) - 1
            wire = ~wire
            self._constant -= 1 << place
        if wire.is_constant:
            self._constant += wire.node << place
        else:
            self._columns[place].append(wire)

    def rows(self) -> CarrySavePair:
        """Return the two rows of the sum, filled up with zeros."""
        rows: CarrySavePair = ([], [])
        carries: list[Wire] = []
        for place in range(len(self._columns)):
            column, carries = self._column(place, carries), []
            if len(column) % 2 and len(column) > 2 and column[0].depth < column[-1].depth:
                # Half adder: an even number of wires leaves two, including the latest one, which therefore delays no
                # carry.
                a, b, *column = column
                insort(column, a ^ b, key=_depth)
                carries.append(a & b)
            _reduce(column, carries)
            zeros = [Wire(self._graph, ZERO)] * 2
            for row, wire in zip(rows, [*column, *zeros], strict=False):
                row.append(wire)
        return rows

    def row(self) -> list[Wire]:
        """Return the sum as one wire for each column; carries propagate from column to column."""
        result: list[Wire] = []
        carries: list[Wire] = []
        for place in range(len(self._columns)):
            column, carries = self._column(place, carries), []
            _reduce(column, carries)
            if len(column) == 2:
                carries.append(column[0] & column[1])
            result.append(parity(column) if column else Wire(self._graph, ZERO))
        return result

    def _column(self, place: int, carries: list[Wire]) -> list[Wire]:
        """Return the wires of column number `place`, with the constant's and the carries, sorted by AND depth."""
        constant = Wire(self._graph, self._constant >> place & 1)
        return sorted([*[constant] * constant.node, *carries, *self._columns[place]], key=_depth)


def _reduce(column: list[Wire], carries: list[Wire]) -> None:
    """Reduce a sorted column to at most two wires and append its carries; one AND for every two wires removed."""
    while len(column) > 2:
        a, b, c = column[:3]
        del column[:3]
        insort(column, a ^ b ^ c, key=_depth)
        carries.append(majority(a, b, c))


def _depth(wire: Wire) -> int:
    return wire.depth

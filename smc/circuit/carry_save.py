"""Sums of many integers as two that are still to be added: the carries of the columns run in parallel, not along them.

A full adder makes two wires of three wires of one column: their sum there and the carry in the next column, one AND
(the XOR that makes the sum costs nothing, and no depth). Repeated until no column has more than two, that is the tree
of Wallace, "A suggestion for a fast multiplier" (IEEE Trans. EC-13, 1964) and Dadda, "Some schemes for parallel
multipliers" (Alta Frequenza 34, 1965); for XOR shares: Schneider, Zohner, "GMW vs. Yao?" (FC 2013). Each adder here
takes those wires of its column that are ready first (Stelling, Martel, Oklobdzija, Ravi, "Optimal circuits for
parallel multipliers", IEEE Trans. Computers 47, 1998).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from typing import TYPE_CHECKING

from smc.circuit.graph import ZERO, Graph
from smc.circuit.ripple import majority
from smc.circuit.wire import Wire

if TYPE_CHECKING:
    from smc.circuit.integer import Integer

Rows = tuple[list[Wire], list[Wire]]


def sum_rows(graph: Graph, plus: Sequence[Integer], minus: Sequence[Integer], width: int) -> Rows:
    """Two rows of `width` wires whose sum is that of `plus` less that of `minus`, modulo 2^width.

    About an AND for every wire of the summands but two of each column; m summands of one width are ceil(log2 m) deep.
    """
    columns = _Columns(graph, width)
    for values, negative in ((plus, False), (minus, True)):
        for value in values:
            for place, wire in enumerate(value):
                columns.put(wire, place, negative ^ _is_sign(value, place))
    return columns.rows()


def product_rows(a: Integer, b: Integer, width: int) -> Rows:
    """Two rows of `width` wires whose sum is a * b modulo 2^width: all products of two bits, summed as in `sum_rows`.

    Products of a sign and another bit count negative (Baugh, Wooley, IEEE Trans. Computers C-22, 1973).
    """
    columns = _Columns(a.graph, width)
    a, b = _trimmed(a), _trimmed(b)
    for i, x in enumerate(a):
        for j, y in enumerate(b.wires[: max(width - i, 0)]):
            columns.put(x & y, i + j, _is_sign(a, i) ^ _is_sign(b, j))
    return columns.rows()


def _trimmed(value: Integer) -> Integer:
    """The same value without repetitions of its sign: each would cost a row of products."""
    while value.signed and len(value) > 1 and value[-1].node == value[-2].node:
        value = value.resize(len(value) - 1)
    return value


def _is_sign(value: Integer, place: int) -> bool:
    return value.signed and place == len(value) - 1


class _Columns:
    """A sum of wires of different weights, modulo 2^width."""

    def __init__(self, graph: Graph, width: int) -> None:
        self._graph = graph
        self._columns: list[list[Wire]] = [[] for _ in range(width)]
        self._constant = 0

    def put(self, wire: Wire, place: int, negative: bool) -> None:
        """Add the wire times 2^place, or subtract it."""
        if place >= len(self._columns):
            return
        if negative:  # -w = (1 - w) - 1
            wire = ~wire
            self._constant -= 1 << place
        if wire.is_constant:
            self._constant += wire.node << place
        else:
            self._columns[place].append(wire)

    def rows(self) -> Rows:
        """At most two wires a column, filled up with zeros."""
        rows: Rows = ([], [])
        carries: list[Wire] = []
        for place, wires in enumerate(self._columns):
            constant = Wire(self._graph, self._constant >> place & 1)
            column = sorted([*[constant] * constant.node, *carries, *wires], key=_depth)
            carries = []
            if len(column) % 2 and len(column) > 2 and column[0].depth < column[-1].depth:
                # A half adder: an even number leaves two wires, the latest one among them, which thus delays no carry.
                a, b, *column = column
                insort(column, a ^ b, key=_depth)
                carries.append(a & b)
            while len(column) > 2:
                a, b, c, *column = column
                insort(column, a ^ b ^ c, key=_depth)
                carries.append(majority(a, b, c))
            zeros = [Wire(self._graph, ZERO)] * 2
            for row, wire in zip(rows, [*column, *zeros], strict=False):
                row.append(wire)
        return rows


def _depth(wire: Wire) -> int:
    return wire.depth

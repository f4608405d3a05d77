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
from typing import Protocol

from smc.circuit.graph import ZERO, Graph
from smc.circuit.ripple import majority
from smc.circuit.wire import Wire

CarrySavePair = tuple[list[Wire], list[Wire]]


class Number(Protocol):
    """Wires, least bit first; if it is signed the last one weighs negative."""

    @property
    def wires(self) -> Sequence[Wire]:
        """The bits."""

    @property
    def signed(self) -> bool:
        """True if they are in two's complement."""


def sum_rows(graph: Graph, plus: Sequence[Number], minus: Sequence[Number], width: int) -> CarrySavePair:
    """Return two rows of `width` wires whose sum is that of `plus` less that of `minus`, modulo 2^width.

    About an AND for every wire of the summands but two of each column; m summands of one width are ceil(log2 m) deep.
    """
    columns = _Columns(graph, width)
    for values, negative in ((plus, False), (minus, True)):
        for value in values:
            for place, wire in enumerate(value.wires):
                columns.put(wire, place, negative ^ _is_sign(value.wires, value.signed, place))
    return columns.rows()


def product_rows(graph: Graph, a: Number, b: Number, width: int) -> CarrySavePair:
    """Return two rows of `width` wires whose sum is a * b modulo 2^width: all products of two bits, summed as in
    `sum_rows`.

    Products of a sign and another bit count negative (Baugh, Wooley, IEEE Trans. Computers C-22, 1973).
    """
    columns = _Columns(graph, width)
    x, y = _trimmed(a), _trimmed(b)
    for i, left in enumerate(x):
        for j, right in enumerate(y[: max(width - i, 0)]):
            columns.put(left & right, i + j, _is_sign(x, a.signed, i) ^ _is_sign(y, b.signed, j))
    return columns.rows()


def _trimmed(value: Number) -> Sequence[Wire]:
    """Return the wires without repetitions of the sign: each would cost a row of products."""
    wires = value.wires
    while value.signed and len(wires) > 1 and wires[-1].node == wires[-2].node:
        wires = wires[:-1]
    return wires


def _is_sign(wires: Sequence[Wire], signed: bool, place: int) -> bool:
    return signed and place == len(wires) - 1


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

    def rows(self) -> CarrySavePair:
        """Return at most two wires a column, filled up with zeros."""
        rows: CarrySavePair = ([], [])
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

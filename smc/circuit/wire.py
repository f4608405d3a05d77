"""Wire: one bit of a circuit under construction, with the operators of Boolean algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from smc.circuit.graph import ONE, Graph

T = TypeVar("T")


class Wire:
    """One bit of a circuit. `&`, `|`, `^`, `~` and `==`, `!=` make gates; the other operand may be 0, 1, False or True.

    A wire has no value while the circuit is being built. Used in an `if`, it raises TypeError.
    """

    __slots__ = ("graph", "node")

    def __init__(self, graph: Graph, node: int) -> None:
        self.graph = graph
        self.node = node

    @property
    def is_constant(self) -> bool:
        """True if the value is the constant 0 or 1."""
        return self.node <= ONE

    @property
    def depth(self) -> int:
        """Number of AND gates on the longest path from an input to this wire."""
        return self.graph.depth[self.node]

    def __xor__(self, other: Wire | int) -> Wire:
        return Wire(self.graph, self.graph.xor(self.node, self._operand(other)))

    def __and__(self, other: Wire | int) -> Wire:
        return Wire(self.graph, self.graph.conjoin(self.node, self._operand(other)))

    def __or__(self, other: Wire | int) -> Wire:
        return self ^ other ^ (self & other)

    def __invert__(self) -> Wire:
        return Wire(self.graph, self.graph.xor(self.node, ONE))

    __rxor__, __rand__, __ror__ = __xor__, __and__, __or__

    def __eq__(self, other: Wire | int) -> Wire:  # type: ignore[override]
        return ~(self ^ other)

    def __ne__(self, other: Wire | int) -> Wire:  # type: ignore[override]
        return self ^ other

    def __bool__(self) -> bool:
        raise TypeError("a wire has no value while its circuit is built; choose with mux or select")

    def __repr__(self) -> str:
        return f"Wire({self.node})"

    def _operand(self, other: Wire | int) -> int:
        if isinstance(other, Wire):
            if other.graph is not self.graph:
                raise ValueError("these wires belong to two different builders")
            return other.node
        if isinstance(other, int) and other in (0, 1):
            return int(other)
        raise TypeError(f"a wire cannot be combined with {other!r}, only with a wire, 0 or 1")


def mux(condition: Wire, if_true: Wire, if_false: Wire) -> Wire:
    """Return `if_true` where the condition is 1, else `if_false`; one AND.

    Args:
        condition: Wire that selects.
        if_true: Result if the wire is 1.
        if_false: Result if the wire is 0.
    """
    return if_false ^ (condition & (if_true ^ if_false))


def all_of(wires: Sequence[Wire]) -> Wire:
    """Return whether all of the wires (at least one) are 1; n - 1 ANDs in a balanced tree."""
    return balanced(Wire.__and__, wires)


def any_of(wires: Sequence[Wire]) -> Wire:
    """Return whether any of the wires (at least one) is 1; n - 1 ANDs in a balanced tree."""
    return ~all_of([~wire for wire in wires])


def parity(wires: Sequence[Wire]) -> Wire:
    """Return the XOR of the wires (at least one)."""
    return balanced(Wire.__xor__, wires)


def balanced(join: Callable[[T, T], T], items: Sequence[T]) -> T:
    """Join all items, neighbour with neighbour, in a tree ceil(log2 n) deep.

    Args:
        join: Associative function of two neighbours, the earlier one first.
        items: The items, at least one.
    """
    row = list(items)
    while len(row) > 1:
        odd = row[len(row) & ~1 :]
        row = [join(a, b) for a, b in zip(row[::2], row[1::2], strict=False)] + odd
    return row[0]

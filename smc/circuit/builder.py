"""Circuit builder: declare inputs, combine wires with operators, declare outputs, get a netlist."""

from __future__ import annotations

from collections.abc import Sequence

from smc.circuit.compile import compile_graph
from smc.circuit.graph import Graph
from smc.circuit.integer import Integer
from smc.circuit.netlist import Netlist
from smc.circuit.wire import Wire
from smc.recipes import Form


class Builder:
    """Circuit under construction.

    Constants are folded, equal gates are shared, and gates that no output needs are dropped. `form` selects the goal of
    integer arithmetic: "size" saves AND gates, "depth" saves levels of AND gates (rounds, on shared bits).

    Examples:
        >>> builder = Builder()
        >>> x, y = builder.input(32), builder.input(32)
        >>> builder.output(x < y)
        >>> builder.build().and_count
        32
    """

    def __init__(self, form: Form = "size") -> None:
        self.graph = Graph(form)
        self._inputs: list[list[int]] = []
        self._outputs: list[list[int]] = []

    def input(self, width: int, signed: bool = False) -> Integer:
        """Return the next input argument.

        Args:
            width: Number of bits, 0 or more.
            signed: True: the bits are read in two's complement. Default: an unsigned number.
        """
        nodes = [self.graph.leaf() for _ in range(width)]
        self._inputs.append(nodes)
        return Integer(self.graph, [Wire(self.graph, node) for node in nodes], signed)

    def constant(self, value: int, width: int | None = None) -> Integer:
        """Return a public integer, signed if it is negative.

        Args:
            value: The integer.
            width: Number of bits. None: the least width that holds the value.

        Raises:
            ValueError: The value does not fit the width.
        """
        return Integer.constant(self.graph, value, width)

    def integer(self, wires: Sequence[Wire], signed: bool = False) -> Integer:
        """Return an integer made of wires.

        Args:
            wires: The bits, least bit first; wires of this builder.
            signed: True: the bits are read in two's complement. Default: an unsigned number.
        """
        return Integer(self.graph, wires, signed)

    def output(self, value: Integer | Wire | Sequence[Wire]) -> None:
        """Declare the next output argument.

        Raises:
            ValueError: The wires belong to another builder.
        """
        wires = [value] if isinstance(value, Wire) else list(value)
        if any(wire.graph is not self.graph for wire in wires):
            raise ValueError("these wires belong to another builder")
        self._outputs.append([wire.node for wire in wires])

    def build(self) -> Netlist:
        """Return the netlist of all inputs and outputs declared so far."""
        return compile_graph(self.graph, self._inputs, self._outputs)

"""Gates of a circuit under construction: flat lists, folded and shared as gates are added.

A node is an int. Nodes 0 and 1 are the constants; the others are inputs and gates in the order of their creation. The
operands of a gate always have smaller numbers than the gate, so the lists are in topological order.
"""

from __future__ import annotations

from smc.recipes import Form

LEAF, XOR, AND = 0, 1, 2
ZERO, ONE = 0, 1


class Graph:
    """XOR and AND gates over nodes; NOT is XOR with the constant one.

    `kind[n]` is LEAF, XOR or AND; `left[n]` and `right[n]` are the operands of a gate; `depth[n]` is the number of AND
    gates on the longest path to the node. If the value of a new gate exists already (a constant, an operand, an equal
    gate), adding it returns the existing node.
    """

    def __init__(self, form: Form = "size") -> None:
        self.form = form
        self.kind = bytearray((LEAF, LEAF))
        self.left = [ZERO, ONE]
        self.right = [ZERO, ONE]
        self.depth = [0, 0]
        self._xors: dict[tuple[int, int], int] = {}
        self._ands: dict[tuple[int, int], int] = {}
        self._complement = {ZERO: ONE, ONE: ZERO}

    def __len__(self) -> int:
        return len(self.kind)

    def leaf(self) -> int:
        """Return a new input node."""
        node = len(self.kind)
        return self._add(LEAF, node, node, 0)

    def xor(self, a: int, b: int) -> int:
        """Return the node of a ^ b, which may be an existing node.

        Args:
            a: First operand, a node.
            b: Second operand, a node.
        """
        if a > b:
            a, b = b, a
        if a == b:
            return ZERO
        if a == ZERO:
            return b
        if self._complement.get(b) == a:
            return ONE
        if a == ONE and b in self._complement:
            return self._complement[b]
        node = self._xors.get((a, b))
        if node is None:
            node = self._xors[a, b] = self._add(XOR, a, b, max(self.depth[a], self.depth[b]))
            if a == ONE:
                self._complement[b], self._complement[node] = node, b
        return node

    def conjoin(self, a: int, b: int) -> int:
        """Return the node of a & b, which may be an existing node.

        Args:
            a: First operand, a node.
            b: Second operand, a node.
        """
        if a > b:
            a, b = b, a
        if a in (b, ONE):
            return b
        if a == ZERO or self._complement.get(b) == a:
            return ZERO
        node = self._ands.get((a, b))
        if node is None:
            node = self._ands[a, b] = self._add(AND, a, b, max(self.depth[a], self.depth[b]) + 1)
        return node

    def _add(self, kind: int, left: int, right: int, depth: int) -> int:
        self.kind.append(kind)
        self.left.append(left)
        self.right.append(right)
        self.depth.append(depth)
        return len(self.kind) - 1

"""Finished circuit: layers of gates over numbered slots, as arrays that every executor walks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from smc.circuit.stars import Stars, in_stars
from smc.primitives.arrays import Gates
from smc.primitives.bits import BitMatrix

FIRST_INPUT = 2  # slot of the first input bit, after the two constants


@dataclass(frozen=True, eq=False)
class Layer:
    """One level of AND gates and the XOR gates before it; rows are (out, left, right), int32[n, 3] in C order.

    XOR rows must be executed in order; a row may overwrite a slot that it reads. AND rows may be executed all at once
    (read every operand, then write every result), or in order in batches of any size: no later AND of the layer reads
    the slot of a result.
    """

    xors: Gates = field(repr=False)
    ands: Gates = field(repr=False)


@dataclass(frozen=True, eq=False)
class Netlist:
    """Circuit as arrays.

    Slot 0 holds the constant 0 and slot 1 the constant 1. Input bits are loaded into slots 2, 3, ... in order. All
    other values are in slots that are reused after the last reader. `outputs`, int32, lists the slots that hold the
    output bits at the end, one output argument after the other. Its entries may repeat, or be inputs or constants.
    """

    input_widths: tuple[int, ...]
    output_widths: tuple[int, ...]
    slots: int
    layers: tuple[Layer, ...] = field(repr=False)
    outputs: NDArray[np.int32] = field(repr=False)

    @property
    def and_count(self) -> int:
        """Number of AND gates: the size of the circuit, because XOR is nearly free."""
        return sum(len(layer.ands) for layer in self.layers)

    @property
    def xor_count(self) -> int:
        """Number of XOR gates, including NOT."""
        return sum(len(layer.xors) for layer in self.layers)

    @property
    def gate_count(self) -> int:
        """Number of all gates."""
        return self.and_count + self.xor_count

    @property
    def depth(self) -> int:
        """Number of AND gates on the longest path from an input to an output: the rounds of an interactive protocol."""
        return sum(len(layer.ands) > 0 for layer in self.layers)

    @cached_property
    def program(self) -> Gates:
        """All gates in the order of execution, int32[gates, 4]: kind (1 for AND), out, left, right."""
        parts = [(kind, rows) for layer in self.layers for kind, rows in ((0, layer.xors), (1, layer.ands))]
        empty = np.empty((0, 4), dtype=np.int32)
        return np.concatenate([empty, *(np.insert(rows, 0, kind, axis=1) for kind, rows in parts)])

    @cached_property
    def ands_before(self) -> NDArray[np.int64]:
        """Number of AND gates before each position of the program, int64[gates + 1]."""
        return np.concatenate([[0], np.cumsum(self.program[:, 0], dtype=np.int64)])

    @cached_property
    def stars(self) -> Stars:
        """AND gates grouped in stars, for executors that save work on common operands."""
        return in_stars([(layer.xors, layer.ands) for layer in self.layers], self.slots)

    def digest(self) -> str:
        """Return SHA-256 of the whole structure in hexadecimal: equal for equal netlists, on any machine."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        layout = [self.slots, len(self.layers), len(self.input_widths), *self.input_widths]
        layout += [len(self.output_widths), *self.output_widths]
        layout += [len(rows) for layer in self.layers for rows in (layer.xors, layer.ands)]
        state = hashlib.sha256(np.array(layout, dtype="<i8").tobytes())
        for layer in self.layers:
            state.update(layer.xors.astype("<i4").tobytes())
            state.update(layer.ands.astype("<i4").tobytes())
        state.update(self.outputs.astype("<i4").tobytes())
        return state.hexdigest()


def evaluate(netlist: Netlist, inputs: Sequence[BitMatrix]) -> list[BitMatrix]:
    """Return the outputs for clear inputs; the reference for every other executor.

    Args:
        netlist: The circuit.
        inputs: uint8[width, batch] of 0 and 1 for every input argument, least bit first. The batch may have more
            dimensions; it is 1 if the circuit has no input arguments.

    Returns:
        uint8[width, batch] of 0 and 1 for every output argument.

    Raises:
        ValueError: The widths are not those of the circuit.

    Examples:
        >>> from smc.circuit import Builder
        >>> from smc.primitives.bits import from_integers, to_integers
        >>> builder = Builder()
        >>> builder.output(builder.input(8) + builder.input(8))
        >>> (sums,) = evaluate(builder.build(), [from_integers([3, 40], 8), from_integers([4, 2], 8)])
        >>> to_integers(sums)
        [7, 42]
    """
    widths = tuple(len(bits) for bits in inputs)
    if widths != netlist.input_widths:
        raise ValueError(f"the circuit takes inputs of {netlist.input_widths} bits, got {widths}")
    batch = inputs[0].shape[1:] if inputs else (1,)
    instances = math.prod(batch)
    state = np.zeros((netlist.slots, -(-instances // 8)), dtype=np.uint8)  # eight instances a byte
    state[1] = 255
    if inputs:
        bits = np.concatenate(inputs).astype(np.uint8, copy=False).reshape(sum(widths), instances)
        state[FIRST_INPUT : FIRST_INPUT + sum(widths)] = np.packbits(bits, axis=1)
    slots = list(state)  # one view each: indexing the array for every gate takes longer than the gate
    for layer in netlist.layers:
        for out, left, right in layer.xors.tolist():
            np.bitwise_xor(slots[left], slots[right], slots[out])
        state[layer.ands[:, 0]] = state[layer.ands[:, 1]] & state[layer.ands[:, 2]]
    ends = np.cumsum(netlist.output_widths, dtype=np.int64)
    outputs = np.unpackbits(state[netlist.outputs], axis=1, count=instances).reshape(len(netlist.outputs), *batch)
    return np.split(outputs, ends)[:-1]

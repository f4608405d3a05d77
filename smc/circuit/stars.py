"""AND gates grouped in stars: gates anywhere in the circuit with one operand in common, the centre.

A choice by one bit between two words of w bits is a star of w gates; a row of a product is another. Where AND gates are
made from oblivious transfers, a star takes as many of them as one gate. The centre of a gate is chosen greedily: the
operand that most gates have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from smc.primitives.arrays import Gates

MOST = 64  # most gates of a star: the bits that the kernels take of a key
_ODD = (
    # multiplier modulo 2^32: breaks ties between equally frequent operands without preferring the first or the last
    0x9E3779B1
)

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Stars:
    """AND gates of a netlist in its order, layer by layer, and their stars by the layer of their first gate.

    `centres` int32[stars]: the slot of each star's centre in that layer. `sizes` int64[stars]: its number of gates.
    `gates` int32[gates, 2]: rows of (out, slot of the other operand). `star` int64[gates]: the star of each gate.
    `leaf` int64[gates]: the gate's position in its star. Stars `star_ends[i]` to `star_ends[i + 1]` - 1 begin in layer
    i. The gates of layer i are `gate_ends[i]` to `gate_ends[i + 1]` - 1.
    """

    centres: NDArray[np.int32] = field(repr=False)
    sizes: Places = field(repr=False)
    gates: Gates = field(repr=False)
    star: Places = field(repr=False)
    leaf: Places = field(repr=False)
    star_ends: tuple[int, ...] = field(repr=False)
    gate_ends: tuple[int, ...] = field(repr=False)


def in_stars(layers: Sequence[tuple[Gates, Gates]], slots: int) -> Stars:
    """Return the AND gates of layers in stars: groups with one operand in common.

    Args:
        layers: The XOR gates and the AND gates of each layer, int32[g, 3] of (out, left, right), see `netlist.Layer`.
        slots: Number of slots that the gates read and write.
    """
    counts = [len(ands) for _, ands in layers]
    ands = np.concatenate([np.zeros((0, 3), dtype=np.int32), *(ands for _, ands in layers)])
    layer = np.repeat(np.arange(len(layers)), counts)
    operands = _operands(layers, slots)
    centre = _centres(operands)
    order = np.argsort(centre, kind="stable")
    leaf = _within_runs(centre[order]) % MOST
    first = np.flatnonzero(leaf == 0)
    by_layer = np.argsort(layer[order[first]], kind="stable")
    number = np.empty_like(by_layer)
    number[by_layer] = np.arange(len(first))
    star, leaves = np.empty((2, len(ands)), dtype=np.int64)
    star[order], leaves[order] = number[np.cumsum(leaf == 0) - 1], leaf
    begins = order[first[by_layer]]  # first gate of each star
    left = operands[:, 0] == centre
    return Stars(
        centres=np.where(left, ands[:, 1], ands[:, 2])[begins],
        sizes=np.diff(first, append=len(ands))[by_layer],
        gates=np.stack([ands[:, 0], np.where(left, ands[:, 2], ands[:, 1])], axis=1),
        star=star,
        leaf=leaves,
        star_ends=(0, *np.cumsum(np.bincount(layer[begins], minlength=len(layers))).tolist()),
        gate_ends=(0, *np.cumsum(counts, dtype=np.int64).tolist()),
    )


def _operands(layers: Sequence[tuple[Gates, Gates]], slots: int) -> Places:
    """Return an index for each value that the AND gates read, int64[gates, 2]; a slot holds several values in turn."""
    rows = [part for layer in layers for part in layer]
    gates = np.concatenate([np.zeros((0, 3), dtype=np.int32), *rows]).astype(np.int64)
    counts = np.array([len(part) for part in rows], dtype=np.int64)
    span = len(gates) + 1
    # Slots and times of writing; all slots are written at time 0. The AND gates of a layer read before any of them
    # writes.
    written = np.sort(np.concatenate([np.arange(slots) * span, gates[:, 0] * span + np.arange(1, span)]))
    is_and = np.repeat(np.arange(len(rows)) % 2 == 1, counts)
    time = np.repeat(np.cumsum(counts) - counts, counts)[is_and]
    return np.searchsorted(written, gates[is_and, 1:] * span + time[:, None], side="right")


def _centres(operands: Places) -> Places:
    """Return for each gate the operand that is its centre, of operands int64[gates, 2].

    In each round, a value becomes the centre of its gates if every other operand of these gates occurs less often.
    """
    wires, numbers = np.unique(operands, return_inverse=True)
    numbers = numbers.reshape(operands.shape)
    among_equals = np.arange(len(wires), dtype=np.int64) * _ODD % (1 << 32)
    centre = np.empty(len(operands), dtype=np.int64)
    left = np.arange(len(operands))
    while len(left):
        a, b = numbers[left].T
        degree = np.bincount(a, minlength=len(wires)) + np.bincount(b[a != b], minlength=len(wires))
        weight = (degree << 32) + among_equals
        greater = np.where(weight[a] > weight[b], a, b)
        taken = (np.bincount(greater, minlength=len(wires)) == degree)[greater]
        centre[left[taken]] = wires[greater[taken]]
        left = left[~taken]
    return centre


def _within_runs(numbers: Places) -> Places:
    """Return the position of each item in its run of equal numbers."""
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    return np.arange(len(numbers)) - np.repeat(first, np.diff(first, append=len(numbers)))

"""Walk over a netlist, shared by garbler and evaluator.

Both cut batch and circuit by public values only (the netlist's shape and the batch size), so they make and consume
tables in one order. They process some instances at a time, so that the live labels stay in the cache. For these
instances they walk the circuit piece by piece, with one message of tables for each piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Netlist
from smc.circuit.netlist import FIRST_INPUT
from smc.hashing import Blocks

LIVE_LABELS = 1 << 16  # slots times instances processed at once: 1 MiB of labels, half a second-level cache
ROWS = 1 << 15  # most table rows (AND gates times instances) of a message


@dataclass(frozen=True)
class Piece:
    """Gates `start` .. `stop` - 1 of a program, `ands` of them AND gates, for some instances."""

    program: NDArray[np.int32]
    start: int
    stop: int
    ands: int
    instances: int

    @property
    def rows(self) -> int:
        """Number of rows of the garbled table: one for each AND gate of each instance."""
        return self.ands * self.instances

    @property
    def stride(self) -> int:
        """Distance of consecutive AND gates' hash numbers: `instances`, rounded up to a multiple of 4 if 4 or more."""
        return self.instances if self.instances < 4 else -(-self.instances // 4) * 4

    @property
    def numbers(self) -> int:
        """Number of hash numbers that the piece takes."""
        return self.ands * self.stride


def pieces(netlist: Netlist, instances: int) -> Iterator[Piece]:
    """Yield the whole program for instances processed together, in pieces of at most `ROWS` rows.

    Args:
        netlist: The circuit.
        instances: Number of instances worked on together, from 1 to `ROWS`.
    """
    program, before = netlist.program, netlist.ands_before
    start, end = 0, len(program)
    while start < end:
        stop = int(np.searchsorted(before, before[start] + ROWS // instances, side="right")) - 1
        yield Piece(program, start, stop, int(before[stop] - before[start]), instances)
        start = stop


def chunks(netlist: Netlist, batch: int) -> Iterator[slice]:
    """Yield ranges of instances that are processed together.

    Args:
        netlist: The circuit; its slots limit the size of a range.
        batch: Number of instances.
    """
    size = max(1, min(batch, ROWS, LIVE_LABELS // netlist.slots))
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))


def schedule(netlist: Netlist, batch: int) -> Iterator[tuple[slice, Iterator[Piece]]]:
    """Yield all pieces of work on a batch, in order.

    Args:
        netlist: The circuit.
        batch: Number of instances.

    Yields:
        A range of instances worked on together, and the pieces of their circuit.
    """
    for part in chunks(netlist, batch):
        yield part, pieces(netlist, part.stop - part.start)


def walk(
    netlist: Netlist, inputs: Sequence[Blocks], batch: int, true_label: Blocks, run: Callable[[Blocks, Piece], None]
) -> Blocks:
    """Walk the gates of a netlist, from labels of the inputs to labels of the outputs.

    Args:
        netlist: The circuit.
        inputs: Labels of each input argument, uint64[width, batch, 2].
        batch: Number of instances.
        true_label: Label of the constant 1, uint64[2]; that of 0 is 0.
        run: Called as run(state, piece) for consecutive gates. It evaluates them in place on state,
            uint64[slots, 2 * instances].

    Returns:
        Labels of the outputs, uint64[outputs, batch, 2].
    """
    outputs = np.empty((len(netlist.outputs), batch, 2), dtype=np.uint64)
    for part, work in schedule(netlist, batch):
        size = part.stop - part.start
        state = np.empty((netlist.slots, 2 * size), dtype=np.uint64)
        state[0] = 0
        state[1] = np.tile(true_label, size)
        slot = FIRST_INPUT
        for labels in inputs:
            state[slot : slot + len(labels)].reshape(-1, size, 2)[:] = labels[:, part]
            slot += len(labels)
        for piece in work:
            run(state, piece)
        outputs[:, part] = state[netlist.outputs].reshape(-1, size, 2)
    return outputs

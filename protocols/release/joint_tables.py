"""Secret tables of joint counts: added once, then compared with public estimates, or opened with noise.

Ideal functionality. Inputs: from each party the cells of some tables, counts of its own rows. The sums stay secret. The
functionality then computes the distance of each table from public estimates of its cells, which also stays secret, or
opens cells with noise. Leakage: sizes, estimates, laws of noise. Security is that of the engine.

The distance of a table with sums n_i from estimates e_i is sum |n_i - e_i|, with e_i = k - 1/2 for a whole k. So n_i -
e_i = z + 1/2 with z = n_i - k, and its absolute value is 1/2 more than z if z >= 0, else 1/2 more than -1 - z: the bits
of z, inverted if z is negative. No number is negated. The caller adds half the number of cells, which is public. One
row more or less changes one cell by 1, hence the distance of each table by 1 at most, whatever the estimates are. A
replaced row changes two cells, and the distance by 2 at most.

Cost of a cell of w bits: w ANDs to add, once. For each comparison w ANDs for the difference and about w + 1 for the
sum. The netlists have the form "size" on every engine, because the batches are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs, summands
from smc.circuit import Builder, Integer, Netlist
from smc.engines import Bits, Engine
from smc.primitives import bits as bitpack

TOGETHER = 8  # numbers added up by one netlist

Numbers = NDArray[np.int64]


class JointTables:
    """Secret sums of both parties' counts, table by table."""

    def __init__(self, engine: Engine, own: NDArray[np.integer], sizes: Sequence[int], max_rows: int) -> None:
        """Add both parties' counts; the sums stay secret.

        Args:
            engine: Engine of this party. The peer must pass equal public arguments.
            own: This party's counts, int[cells], one table after the other; private.
            sizes: Number of cells of each table; public.
            max_rows: Greatest number of rows of a party; public.

        Raises:
            InputError: A count is negative or does not fit the bits of the bound.
        """
        self._engine = engine
        width = max(1, max_rows.bit_length())
        counts = summands(engine, own, width, "the count")
        size = max(1, engine.comfortable // (2 * width))
        with engine.session.phase("counts"):
            parts = []
            for start in range(0, max(1, len(counts)), size):
                parts += engine.run(_sum_netlist(width), *both_inputs(engine, counts[start : start + size], width))
        self._cells = Bits.join(parts)
        self._most = 2 * max_rows
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    def secrets(self, tables: Sequence[int]) -> Bits:
        """Return the secret cells of some tables, one table after the other: [bits, cells]."""
        return self._cells.take(self._places(tables))

    def distances(self, tables: Sequence[int], estimates: Sequence[Numbers]) -> Bits:
        """Return the distance of each table from its estimates, less half its number of cells: secret, [bits, tables].

        Args:
            tables: Indices of the tables to compare, one at least; public.
            estimates: Estimates of each of these tables, rounded down, int64[cells], from 0 to 2 max_rows; public.
        """
        engine, places = self._engine, self._places(tables)
        greatest = max(int(one.sum()) + one.size for one in estimates) + self._most
        width = self._cells.width
        lows = Bits.join([engine.constant(bitpack.from_integers(np.concatenate(estimates) + 1, width + 1))])
        sizes = np.diff(self._starts)[list(tables)]
        parts = []
        size = max(1, engine.comfortable // (2 * width))
        for start in range(0, len(places), size):
            some = slice(start, start + size)
            parts += engine.run(_difference_netlist(width), self._cells.take(places[some]), lows.take(some))
        return totals(engine, Bits.join(parts), sizes, greatest.bit_length())

    def _places(self, tables: Sequence[int]) -> Numbers:
        return np.concatenate([np.arange(self._starts[table], self._starts[table + 1]) for table in tables])


def totals(engine: Engine, numbers: Bits, sizes: NDArray[np.integer], most_bits: int) -> Bits:
    """Return the sums of groups of secret numbers, which stay secret, [bits, groups].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        numbers: Secret numbers from 0 up, [width, numbers], one group after the other.
        sizes: Size of each group, int[groups], 1 at least; public.
        most_bits: Bits that hold every sum; public.
    """
    while sizes.max() > 1:
        together = min(TOGETHER, int(sizes.max()))
        parts = -(-sizes // together)  # parts of each group
        first = np.repeat(np.cumsum(sizes) - sizes, parts) + together * _within(parts)
        end = np.repeat(np.cumsum(sizes), parts)
        none = engine.constant(np.zeros((numbers.width, 1), dtype=np.uint8))
        padded, absent = Bits.join([numbers, none]), numbers.batch
        inputs = [padded.take(np.where(first + i < end, first + i, absent)) for i in range(together)]
        (numbers,) = engine.run(_total_netlist(numbers.width, together, most_bits), *inputs)
        sizes = parts
    return numbers


def _within(parts: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the position of each item in its group, 0, 1, ...; `parts` has the group sizes."""
    found: Numbers = np.arange(int(parts.sum())) - np.repeat(np.cumsum(parts) - parts, parts)
    return found


@lru_cache(maxsize=16)
def _sum_netlist(width: int) -> Netlist:
    builder = Builder("size")
    builder.output(builder.input(width).wide_add(builder.input(width)))
    return builder.build()


@lru_cache(maxsize=16)
def _difference_netlist(width: int) -> Netlist:
    """Build number - k without its sign bit; all bits are inverted if it is negative."""
    builder = Builder("size")
    number, k = builder.input(width), builder.input(width + 1)
    difference = number.resize(width + 1) - k  # from -2^width up to 2^width - 1: the top bit is the sign
    builder.output(Integer(difference.graph, [wire ^ difference[-1] for wire in difference[:-1]]))
    return builder.build()


@lru_cache(maxsize=64)
def _total_netlist(width: int, many: int, most_bits: int) -> Netlist:
    builder = Builder("size")
    left = [builder.input(width) for _ in range(many)]
    while len(left) > 1:
        pairs = [one.wide_add(other) for one, other in zip(left[::2], left[1::2], strict=False)]
        left = [one[:most_bits] for one in pairs] + left[len(left) - len(left) % 2 :]
    builder.output(left[0])
    return builder.build()

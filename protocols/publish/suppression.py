"""Circuits of joint full-domain generalisation: the rows of both parties in classes with fewer than k.

The result depends on whether a class has k rows, and on its number of rows if it has fewer. So each party enters
min(own rows, k) for a class, which has as many bits as k. The sum of these is below k if and only if the sum of the
rows is. An empty class adds 0, so all possible classes are summed instead of those that occur. SPAN classes are summed
in one instance of a circuit, then SPAN such sums, and so on, all nodes of a height in one batch.

Cost of a class, k of w bits: 2 w input bits, and about 4 w + 1 ANDs: a sum, a comparison, a mask, and a part of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from smc.circuit import Builder, Form, Netlist, total
from smc.engines import Bits, Engine
from smc.primitives import bits as bitpack

SPAN = 32  # numbers summed by one instance


@lru_cache(maxsize=32)
def small_netlist(k: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns the number of rows in classes with fewer than k rows of both parties.

    The inputs are the rows of party 0 in SPAN classes, then those of party 1, each at most k.

    Args:
        k: Fewest rows of both parties in a class.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    width = k.bit_length()
    left, right = ([builder.input(width) for _ in range(SPAN)] for _ in (0, 1))
    rows = []
    for a, b in zip(left, right, strict=True):
        both = a.wide_add(b)
        small = both < k
        rows.append(builder.integer([wire & small for wire in both.wires[:width]]))
    builder.output(total(rows, (SPAN * (k - 1)).bit_length() or 1))
    return builder.build()


@lru_cache(maxsize=32)
def sum_netlist(width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns the sum of SPAN numbers.

    Args:
        width: Bits of each number.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(total([builder.input(width) for _ in range(SPAN)], width + SPAN.bit_length()))
    return builder.build()


@lru_cache(maxsize=32)
def at_most_netlist(width: int, most: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether a number is at most `most`.

    Args:
        width: Bits of the number.
        most: Greatest allowed number; public.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(builder.input(width) <= most)
    return builder.build()


@lru_cache(maxsize=32)
def together_netlist(width: int, most: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether the sum of a number of party 0 and one of party 1 is at most `most`.

    Args:
        width: Bits of each number.
        most: Greatest allowed sum; public.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(builder.input(width).wide_add(builder.input(width)) <= most)
    return builder.build()


@lru_cache(maxsize=32)
def published_netlist(k: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether both parties have k or more rows of a class together.

    The inputs are the rows of party 0 and of party 1, each cut to at most k.

    Args:
        k: Fewest rows of both parties in a class.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    width = k.bit_length()
    builder.output(builder.input(width).wide_add(builder.input(width)) >= k)
    return builder.build()


def small_rows(engine: Engine, k: int, tables: Sequence[Indices]) -> Bits:
    """Return the secret number of both parties' rows in classes with fewer than k, one for each table.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        k: Fewest rows of both parties in a class; public.
        tables: This party's rows in every possible class of a node, int64[classes] for each node; private. The lengths
            are public.
    """
    width = k.bit_length()
    netlist = small_netlist(k, engine.form)
    lengths = np.array([-(-len(table) // SPAN) for table in tables])
    capped = [np.minimum(np.pad(table, (0, -len(table) % SPAN)), k) for table in tables]
    columns = np.concatenate(capped).reshape(-1, SPAN)
    size = max(1, engine.comfortable // (4 * width * SPAN))
    parts = []
    for start in range(0, len(columns), size):
        part = columns[start : start + size]
        flat = bitpack.from_integers(part.T.reshape(-1).astype(np.uint64), width)
        sides = [
            side.take(slice(i * len(part), (i + 1) * len(part))) for side in engine.both(flat) for i in range(SPAN)
        ]
        parts += engine.run(netlist, *sides)
    sums = Bits.join(parts)
    while lengths.max() > 1:
        starts = np.cumsum(lengths) - lengths
        lengths = -(-lengths // SPAN)
        node = np.repeat(np.arange(len(lengths)), lengths)
        place = np.arange(len(node)) - (np.cumsum(lengths) - lengths)[node]
        first = starts[node] + place * SPAN
        ends = np.append(starts[1:], sums.batch)[node]
        zero = engine.constant(np.zeros((sums.width, 1), dtype=np.uint8))
        padded = Bits.join([sums, zero])
        inputs = [padded.take(np.where(first + i < ends, first + i, sums.batch)) for i in range(SPAN)]
        (sums,) = engine.run(sum_netlist(sums.width, engine.form), *inputs)
    return sums

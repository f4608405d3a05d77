"""Private decisions on scores: whether the area under the ROC curve is large enough, or the larger of two.

Ideal functionality. Inputs: from each party its rows by label (0, 1) and bin of the score, int64[2, bins]. Output to
both: one bit. Leakage: the number of bins and the bound on rows. With p_b rows of label 1 in bin b, P in all, m_b and M
of label 0, and M_b those in bins below, the area of the binned scores is (Hanley, McNeil, Radiology 143, 1982; equal
scores count a half)

    AUC = S / (2 P M),    S = sum_b p_b (2 M_b + m_b)

S is a sum over bins of products of two sums, and each party adds up its own summands: one circuit for all bins as a
batch, exact, in whole numbers. `at_least` opens whether S d >= 2 c P M for AUC >= c / d, `larger` whether S P' M' > S'
P M. Without a row of either label there is no area, and the result is False.

Cost of counts of N bits in all: about 4 N^2 ANDs a bin, and some products of 2 N bits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs, summands
from protocols.opened import index_below
from smc.circuit import Builder, Form, Netlist, all_of, any_of
from smc.engines import Bits, Choice, Engine
from smc.engines.words import MAX_WIDTH
from smc.errors import InputError


def check_rows(max_rows: int) -> None:
    """Raise InputError if the pairs of rows up to this bound do not fit a word."""
    if 2 * (max_rows.bit_length() + 1) + 2 > MAX_WIDTH:
        raise InputError("max_rows: pairs of so many rows do not fit 64 bits: at most 1,073,741,823")


@lru_cache(maxsize=16)
def _product_netlist(width: int, form: Form) -> Netlist:
    """Build the circuit of a bin: inputs p and 2 M + m of party 0, of party 1; output the product of the sums."""
    builder = Builder(form)
    (left_p, left_m), (right_p, right_m) = ([builder.input(width), builder.input(width + 1)] for _ in range(2))
    builder.output(left_p.wide_add(right_p) * left_m.wide_add(right_m))
    return builder.build()


@lru_cache(maxsize=16)
def _least_netlist(width: int, numerator: int, denominator: int, form: Form) -> Netlist:
    """Build the circuit of `at_least` for a fraction: inputs P and M of party 0, of party 1, S; output a bit."""
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(2)] for _ in range(2))
    area = builder.input(2 * width + 3)
    positives, negatives = (a.wide_add(b) for a, b in zip(left, right, strict=True))
    pairs = positives * negatives
    builder.output([(area * denominator >= pairs * (2 * numerator)) & any_of(pairs.wires)])
    return builder.build()


@lru_cache(maxsize=16)
def _larger_netlist(width: int, form: Form) -> Netlist:
    """Build the circuit of `larger`: inputs P, M, P', M' of party 0, of party 1, S, S'; output a bit."""
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(4)] for _ in range(2))
    areas = [builder.input(2 * width + 3) for _ in range(2)]
    totals = [a.wide_add(b) for a, b in zip(left, right, strict=True)]
    first, second = totals[0] * totals[1], totals[2] * totals[3]
    known = all_of([any_of(first.wires), any_of(second.wires)])
    builder.output([(areas[0] * second > areas[1] * first) & known])
    return builder.build()


def _areas(engine: Engine, tables: Indices, width: int) -> tuple[list[Bits], list[Bits]]:
    """Return the secret S of each table, and each party's rows by table and label, from own int64[tables, 2, bins]."""
    count, _, bins = tables.shape
    below = 2 * (tables[:, 0].cumsum(axis=1) - tables[:, 0]) + tables[:, 0]
    words, size = engine.words, 2 * width + 3
    positives = both_inputs(engine, summands(engine, tables[:, 1].reshape(-1), width, "the number of rows"), width)
    beaten = both_inputs(engine, summands(engine, below.reshape(-1), width + 1, "the number of rows"), width + 1)
    with engine.session.phase("bins"):
        netlist = _product_netlist(width, engine.form)
        (products,) = engine.run(netlist, positives[0], beaten[0], positives[1], beaten[1])
    with engine.session.phase("sums"):
        ((terms,),) = words.select([Choice(products, [[1 << i for i in range(products.width)]])], size)
        sums = words.bits(words.total(terms, np.arange(count * bins).reshape(count, bins), size))
    totals = tables[:, ::-1].sum(axis=2).reshape(-1)  # P, M of each table
    sides = both_inputs(engine, summands(engine, totals, width, "the number of rows"), width)
    rows = [side.take(slice(i, i + 1)) for side in sides for i in range(2 * count)]
    return [sums.take(slice(i, i + 1)) for i in range(count)], rows


def at_least(engine: Engine, table: Indices, numerator: int, denominator: int, max_rows: int) -> bool:
    """Open whether the area under the ROC curve is at least numerator / denominator.

    Args:
        engine: The engine of this session.
        table: This party's rows by label (0, 1) and bin of the score, the lowest bin first, int64[2, bins]; private.
        numerator: Numerator of the limit, 0 or more; public.
        denominator: Denominator of the limit, above 0; public.
        max_rows: Upper bound on the rows of a party, at most 2^30 - 1; public.

    Returns:
        True if the area is large enough, False without a row of either label; both parties learn it.

    Raises:
        InputError: A number of rows does not fit the bits of `max_rows`.
        ProtocolError: The opened value is not a bit.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> table = np.array([[3, 2, 0], [0, 1, 4]])  # of both: 92 of 100 pairs are in order, 8 are ties
        >>> [run_local(lambda s: at_least(make_engine(s, "clear"), table, c, 100, 99))[0] for c in (96, 97)]
        [True, False]
    """
    width = max_rows.bit_length()
    areas, rows = _areas(engine, table[None], width)
    netlist = _least_netlist(width, numerator, denominator, engine.form)
    with engine.session.phase("test"):
        (opened,) = engine.reveal(*engine.run(netlist, *rows, *areas))
    return bool(index_below(opened, 2, "whether the area is large enough")[0])


def larger(engine: Engine, first: Indices, second: Indices, max_rows: int) -> bool:
    """Open whether the area under the ROC curve of the first scores is larger than that of the second scores.

    Args:
        engine: The engine of this session.
        first: This party's rows by label (0, 1) and bin of the first score, int64[2, bins]; private.
        second: This party's rows by label and bin of the second score, int64[2, bins]; private. Its bins may be others.
        max_rows: Upper bound on the rows of a party, at most 2^30 - 1; public.

    Returns:
        True if the first area is larger, False if either score lacks a label; both parties learn it.

    Raises:
        InputError: A number of rows does not fit the bits of `max_rows`.
        ProtocolError: The opened value is not a bit.
    """
    width, bins = max_rows.bit_length(), max(first.shape[1], second.shape[1])
    padded = np.stack([np.pad(table, ((0, 0), (0, bins - table.shape[1]))) for table in (first, second)])
    areas, rows = _areas(engine, padded, width)
    with engine.session.phase("test"):
        (opened,) = engine.reveal(*engine.run(_larger_netlist(width, engine.form), *rows, *areas))
    return bool(index_below(opened, 2, "which area is larger")[0])

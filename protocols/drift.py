"""Test of homogeneity: whether two tables differ in a column by Pearson's chi-square; opens one bit for each column.

Ideal functionality. Inputs: from each party its rows by value, for several columns. Output to both: for each column
whether chi-square of the table of party by value is above its quantile. Leakage: the numbers of values, the bound on
rows, the level. Paper: Pearson (Philosophical Magazine 50, 1900). With x_v rows of party 0, y_v of party 1, X,
Y in all, n = X + Y,

    chi^2 = n^2 / (X Y) (T - X^2 / n),    T = sum_v x_v x_v / (x_v + y_v)

so that chi^2 > q means n^2 T > n X^2 + q X Y. One circuit divides for all values of all columns as one batch: x / (x +
y) is truncated to F fraction bits, so T is too small by less than X e, e = 2^-F. So a 1 is always right, except for the
2^-17 by which the quantile is rounded. A 0 is wrong only if

    chi^2 - q <= e n^2 / Y + 2^-17          (below 2^-12 n / Y: F = N + 12, N the bits of n's bound)

An empty table never differs. q has one degree of freedom less than the number of values with a row. That number stays
secret, and chooses q in the circuit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs, checked
from protocols.opened import index_below
from protocols.significance import critical_values, entry_of
from smc.circuit import Builder, Form, Integer, Netlist, any_of, concatenate, total
from smc.circuit import fraction as cut_fraction
from smc.engines import Bits, Choice, Engine
from smc.engines.words import MAX_WIDTH
from smc.errors import InputError
from smc.primitives import bits as bitpack

QUANTILE_BITS = 16


def check_rows(max_rows: int) -> None:
    """Raise InputError if the test's fractions do not fit a 64-bit word for tables of up to `max_rows` rows."""
    if _whole(max_rows) + 1 > MAX_WIDTH:
        raise InputError("max_rows: fractions of so many rows do not fit 64 bits: at most 16,777,215")


def _fraction(max_rows: int) -> int:
    return max_rows.bit_length() + 1 + 12


def _whole(max_rows: int) -> int:
    return max_rows.bit_length() + 1 + _fraction(max_rows)


@lru_cache(maxsize=16)
def _value_netlist(width: int, fraction: int, form: Form) -> Netlist:
    """Build the circuit of a value: inputs x, y; outputs x floor(2^fraction x / (x + y)), and whether x + y > 0."""
    builder = Builder(form)
    x, y = builder.input(width), builder.input(width)
    n = x.wide_add(y)
    builder.output(x * cut_fraction(x.extend(width + 1), n, fraction))
    builder.output([any_of(n.wires)])
    return builder.build()


@lru_cache(maxsize=16)
def _test_netlist(width: int, fraction: int, values: int, level: float, form: Form) -> Netlist:
    """Build the circuit of a column: inputs X, Y, 2^fraction T, and whether each value has a row; output a bit."""
    builder = Builder(form)
    x, y, t = builder.input(width), builder.input(width), builder.input(width + 1 + fraction)
    present = [builder.input(1) for _ in range(values)]
    quantiles = [round(value * (1 << QUANTILE_BITS)) for value in critical_values(level, 2, values)]
    quantile = entry_of(total(present, values.bit_length()) - 1, quantiles)
    n = x.wide_add(y)
    zeros = Integer.constant(builder.graph, 0, QUANTILE_BITS)
    least = concatenate(zeros, n * x * x).wide_add(x * y * quantile)
    shifted = concatenate(Integer.constant(builder.graph, 0, fraction), least)
    builder.output([concatenate(zeros, n * n * t) > shifted])
    return builder.build()


def differ(engine: Engine, columns: Sequence[Indices], level: float, max_rows: int) -> list[bool]:
    """Open for each column whether the parties' tables differ in it.

    Args:
        engine: The engine of this session.
        columns: This party's rows by value, int64[values] for each column; private.
        level: Chance to report a difference between tables that are alike, above 0 and below 1; public.
        max_rows: Upper bound on the rows of a party; public.

    Returns:
        One bool a column, True if the tables differ; both parties learn it.

    Raises:
        InputError: A number of rows is negative or does not fit the bits of `max_rows`.
        ProtocolError: An opened value is not a bit.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> columns = ([np.array([9, 1]), np.array([5, 5])], [np.array([2, 8]), np.array([5, 5])])
        >>> run_local(lambda s: differ(make_engine(s, "clear"), columns[s.party], 0.05, 50))[0]
        [True, False]
    """
    width, fraction, words, session = max_rows.bit_length(), _fraction(max_rows), engine.words, engine.session
    sizes, whole = [len(column) for column in columns], _whole(max_rows)
    totals = np.array([column.sum() for column in columns], dtype=np.int64)
    inputs = both_inputs(engine, checked(np.concatenate([*columns, totals]), width, "the number of rows"), width)
    cells, ends = sum(sizes), np.cumsum(sizes)
    with session.phase("values"):
        parts = [side.take(slice(0, cells)) for side in inputs]
        products, present = engine.run(_value_netlist(width, fraction, engine.form), *parts)
    members = np.full((len(sizes), max(sizes)), -1)
    for row, size, end in zip(members, sizes, ends, strict=True):
        row[:size] = np.arange(end - size, end)
    with session.phase("sums"):
        ((terms,),) = words.select([Choice(products, [[1 << i for i in range(products.width)]])], whole)
        sums = words.bits(words.total(terms, members, whole))
    with session.phase("test"):
        # Position `cells` is a value without rows: it fills up the columns with fewer values than the widest.
        present = Bits.join([present, engine.constant(bitpack.from_integers(np.zeros(1, dtype=np.uint64), 1))])
        lines = [present.take(np.where(places < 0, cells, places)) for places in members.T]
        rows = [side.take(slice(cells, None)) for side in inputs]
        netlist = _test_netlist(width, fraction, max(sizes), level, engine.form)
        (opened,) = engine.reveal(*engine.run(netlist, *rows, sums, *lines))
    return [bool(bit) for bit in index_below(opened, 2, "whether tables differ")]

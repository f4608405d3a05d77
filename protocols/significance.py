"""Significance tests decided in secret: whether a statistic of both parties' rows exceeds a public quantile.

Ideal functionality. Inputs: each party's own counts, or sums, of its rows. Output to both: one bit, whether the
statistic of the sums is above the quantile. Leakage: nothing else; sizes, bounds and the quantile are public. Security
is that of the engine; no statistic and no sum is opened. The exact statistic would reveal facts about the peer's
counts; the decision reveals at most one bit.

*Chi-square* of a table n(i, j) with row sums r(i), column sums c(j), N rows in all (Pearson 1900):

    X^2 = N (sum_i (1 / r(i)) sum_j n(i, j)^2 / c(j) - 1),

where empty rows and columns are left out. Both quotients are rounded down to F fraction bits. A row's inner sum is too
small by at most C 2^-F for C columns, and is divided by r(i) >= 1. So for R rows the sum is too small by at most R (C +
1) 2^-F, and X^2 by N times that, which is below `ERROR` by the choice of F. An opened 1 is always right. An opened 0 is
wrong only if X^2 is above the quantile by less than `ERROR`. The degrees of freedom are (R' - 1)(C' - 1), where R' and
C' count the rows and columns that are not empty: the circuit selects their quantile, and they stay secret.

*Trend* (Cochran 1954, Armitage 1955) of a yes or no over groups with public scores t(j). With R yes among N rows, A the
sum of t over the yes, B and C the sums of t and of t^2 over all rows,

    N (N A - R B)^2 / (R (N - R) (N C - B^2)) > z^2,

in integers, exact. With two groups it is the test of two proportions, which is chi-square of two rows and columns.

*Welch's t* (Welch 1947) of two means, of values that are integers from 0 up: with n, s, q the number of rows, their sum
and that of their squares, V = n q - s^2, E1 = n2^2 V1 / (n1 - 1), E2 = n1^2 V2 / (n2 - 1),

    t^2 = (n2 s1 - n1 s2)^2 / (E1 + E2),   degrees of freedom  (E1 + E2)^2 / (E1^2 / (n1 - 1) + E2^2 / (n2 - 1)).

E1 and E2 are rounded up, so t^2 is too small by a factor of at least 1 - 2 / (E1 + E2). For the degrees of freedom
their upper `DIGITS` bits are used; they are rounded down to one of `DEGREES`, where the quantile is greater. With fewer
than two rows in a group the answer is no.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs, summands
from protocols.quantiles import FRACTION, chi2_quantile, t_quantile
from smc.circuit import (
    Builder,
    Form,
    Integer,
    Netlist,
    Wire,
    any_of,
    concatenate,
    decode,
    normalise,
    pick,
    quotient,
    select,
    total,
)
from smc.engines import Bits, Engine

ERROR = Fraction(1, 1 << 10)  # largest error of a chi-square statistic
DIGITS = 24
DEGREES = (*range(1, 13), 14, 16, 18, 20, 25, 30, 40, 60, 100, 200, 1000)


def fraction_bits(rows: int, columns: int, bound: int) -> int:
    """Return the number F of fraction bits of each quotient in the chi-square statistic.

    Args:
        rows: Number of rows of the contingency table.
        columns: Number of columns of the contingency table.
        bound: Upper bound on the rows of data of a party.
    """
    return (2 * bound * rows * (columns + 1) * ERROR.denominator // ERROR.numerator).bit_length()


def chi2_exceeds(engine: Engine, table: NDArray[np.int64], level: float, bound: int) -> bool:
    """Open whether the chi-square statistic of the sum of both tables is above its quantile.

    Args:
        engine: The engine of this session.
        table: This party's counts, int64[rows, columns]; private.
        level: Chance to report a dependence between rows and columns that are independent, above 0 and below 1; public.
        bound: Upper bound on the rows of data of a party; public.

    Returns:
        True if the statistic is above the quantile; both parties learn it.

    Raises:
        InputError: A count or a sum of counts is negative, or does not fit the bits of `bound`.
    """
    rows, columns = table.shape
    ratios, everyone, margins = chi2_ratios(engine, table[None], bound)
    with engine.session.phase("decision"):
        netlist = _exceeds_netlist(
            rows, columns, everyone.width, fraction_bits(rows, columns, bound), level, engine.form
        )
        lines = [margins.take(slice(place, place + 1)) for place in range(margins.batch)]
        (opened,) = engine.reveal(*engine.run(netlist, ratios, everyone, *lines))
    return bool(opened[0, 0])


def chi2_ratios(engine: Engine, tables: NDArray[np.int64], bound: int) -> tuple[Bits, Bits, Bits]:
    """Compute for each table the sum over i of sum_j n(i, j)^2 / (c(j) r(i)), secret.

    Chi-square is N times this sum less 1. Empty rows change nothing, so smaller tables may be padded with them.

    Args:
        engine: The engine of this session.
        tables: This party's counts, int64[tables, rows, columns]; private.
        bound: Upper bound on the rows of data of a party in one table; public.

    Returns:
        The sums with `fraction_bits` fraction bits, [width, tables]; N of each table, [width, tables]; the margins,
        which are c(j) of all tables, then r(i), [width, tables (columns + rows)].

    Raises:
        InputError: A count or a sum of counts is negative, or does not fit the bits of `bound`.
    """
    number, rows, columns = tables.shape
    width, fraction = bound.bit_length(), fraction_bits(rows, columns, bound)
    parts = [tables.ravel(), tables.sum(axis=1).ravel(), tables.sum(axis=2).ravel(), tables.sum(axis=(1, 2))]
    counts = summands(engine, np.concatenate(parts), width, "the count")
    with engine.session.phase("counts"):
        (sums,) = engine.run(_sum_netlist(width, engine.form), *both_inputs(engine, counts, width))
    cells, by_column, by_row, everyone = np.split(np.arange(counts.size), np.cumsum([part.size for part in parts])[:-1])
    with engine.session.phase("quotients"):
        of_column = np.repeat(by_column.reshape(number, 1, columns), rows, axis=1).ravel()
        netlist = _square_netlist(width + 1, fraction, engine.form)
        (shares,) = engine.run(netlist, sums.take(cells), sums.take(of_column))
        netlist = _row_netlist(columns, width + 1, fraction, engine.form)
        places = np.arange(tables.size).reshape(-1, columns)
        (ratios,) = engine.run(netlist, *[shares.take(line) for line in places.T], sums.take(by_row))
        netlist = _total_netlist(rows, fraction + 1, engine.form)
        lines = np.arange(number * rows).reshape(number, rows)
        (totals,) = engine.run(netlist, *[ratios.take(line) for line in lines.T])
    return totals, sums.take(everyone), sums.take(np.concatenate([by_column, by_row]))


@lru_cache(maxsize=32)
def _sum_netlist(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(builder.input(width).wide_add(builder.input(width)))
    return builder.build()


@lru_cache(maxsize=32)
def _square_netlist(width: int, fraction: int, form: Form) -> Netlist:
    """Build n^2 / c with F fraction bits, from n and c >= n; 0 for an empty column."""
    builder = Builder(form)
    count, of_column = builder.input(width), builder.input(width)
    scaled = concatenate(builder.constant(0, fraction), count * count)
    builder.output(select(any_of(of_column.wires), quotient(scaled, of_column, width + fraction), 0))
    return builder.build()


@lru_cache(maxsize=32)
def _row_netlist(columns: int, width: int, fraction: int, form: Form) -> Netlist:
    """Build the sum over a row of n^2 / c, divided by r(i), which is never less than that sum; 0 for an empty row."""
    builder = Builder(form)
    shares = [builder.input(width + fraction) for _ in range(columns)]
    summed, of_row = total(shares, width + fraction), builder.input(width)
    builder.output(select(any_of(of_row.wires), quotient(summed, of_row, fraction + 1), 0))
    return builder.build()


@lru_cache(maxsize=32)
def _total_netlist(terms: int, width: int, form: Form) -> Netlist:
    builder = Builder(form)
    builder.output(total([builder.input(width) for _ in range(terms)], width + terms.bit_length()))
    return builder.build()


@lru_cache(maxsize=32)
def _exceeds_netlist(rows: int, columns: int, width: int, fraction: int, level: float, form: Form) -> Netlist:
    """Build N (sum - 1) > quantile, from the sum of ratios, N, and the margins: columns, then rows."""
    builder = Builder(form)
    summed = builder.input(fraction + 1 + rows.bit_length())
    everyone, *margins = (builder.input(width) for _ in range(1 + columns + rows))
    degrees = (_present(margins[:columns]) - 1) * (_present(margins[columns:]) - 1)
    scaled = [-(-(value.numerator << fraction) // value.denominator) for value in critical_values(level, rows, columns)]
    chosen = entry_of(degrees, scaled)
    builder.output(everyone * summed > concatenate(builder.constant(0, fraction), everyone).wide_add(chosen))
    return builder.build()


def _present(numbers: Sequence[Integer]) -> Integer:
    """Return the number of integers that are not 0."""
    graph = numbers[0].graph
    return total([Integer(graph, [any_of(number.wires)]) for number in numbers], len(numbers).bit_length())


def entry_of(index: Integer, entries: Sequence[int]) -> Integer:
    """Return the public entry at a secret index: fewer than 2^m ANDs for an index of m bits, whatever the entries.

    Args:
        index: The index, an unsigned integer below the number of entries.
        entries: Integers, 0 or more; public.
    """
    places = decode(index[: max(1, (len(entries) - 1).bit_length())])[: len(entries)]
    return pick(places, [Integer.constant(index.graph, entry) for entry in entries])


def critical_values(level: float, rows: int, columns: int) -> list[Fraction]:
    """Return the quantile for 0, 1, ..., (rows - 1)(columns - 1) degrees of freedom; it is 0 for 0.

    Args:
        level: Probability that chi-square exceeds the quantile, above 0 and below 1.
        rows: Number of rows of the table.
        columns: Number of columns of the table.
    """
    return [Fraction(0), *(chi2_quantile(level, degrees) for degrees in range(1, (rows - 1) * (columns - 1) + 1))]


def trend_exceeds(sums: Sequence[Integer], squared: Fraction, sign: int) -> Wire:
    """Return the wire that is 1 if the trend's statistic is above `squared` and has the sign.

    Args:
        sums: Number of rows, of yes, the sum of the scores over the yes, the sums of scores and of their squares over
            all rows: unsigned integers of a circuit.
        squared: The square of the quantile, z^2; public.
        sign: 1 for a positive trend only, -1 for a negative one only, 0 for either; public.
    """
    everyone, yes, of_yes, scores, squares = sums
    difference = (everyone * of_yes).wide_subtract(yes * scores)
    variance = (everyone * squares).wide_subtract(scores * scores).as_unsigned()
    top = everyone * (difference * difference).as_unsigned() * squared.denominator
    bottom = yes * everyone.wide_subtract(yes).as_unsigned() * variance * squared.numerator
    return _of_sign(top > bottom, difference, sign)


def welch_exceeds(first: Sequence[Integer], second: Sequence[Integer], level: float, sign: int) -> Wire:
    """Return the wire that is 1 if the size of Welch's t is above its two-sided quantile and t has the sign.

    Args:
        first: Number of rows, sum and sum of squares of the first group, unsigned integers of a circuit.
        second: Number of rows, sum and sum of squares of the second group.
        level: Probability that the absolute value exceeds the quantile if the means are equal; public.
        sign: 1 if the first mean must be larger, -1 if it must be smaller, 0 for either; public.
    """
    (n1, s1, q1), (n2, s2, q2) = first, second
    first_share, second_share = _share(n1, s1, q1, n2), _share(n2, s2, q2, n1)
    difference = (n2 * s1).wide_subtract(n1 * s2)
    chosen = _critical(first_share, second_share, n1, n2, level)
    exceeds = (difference * difference).as_unsigned() * (1 << FRACTION) > first_share.wide_add(second_share) * chosen
    return _of_sign(exceeds & (n1 >= 2) & (n2 >= 2), difference, sign)


def _share(rows: Integer, added: Integer, squares: Integer, others: Integer) -> Integer:
    """Return others^2 (rows squares - added^2) / (rows - 1), rounded down, plus 1: E of the module's first lines."""
    spread = (rows * squares).wide_subtract(added * added).as_unsigned()
    top = others * others * spread
    return quotient(top, (rows - 1), len(top)).wide_add(1)


def _critical(share: Integer, other: Integer, n1: Integer, n2: Integer, level: float) -> Integer:
    """Return the square of the quantile for Welch's degrees of freedom, with `FRACTION` fraction bits."""
    _, shift = normalise(share | other)
    width = max(len(share), len(other))
    tops = [(term.extend(width) << shift)[width - min(DIGITS, width) :] for term in (share, other)]
    parts = [quotient(top * top, rows - 1, 2 * len(top)) for top, rows in zip(tops, (n1, n2), strict=True)]
    summed, bottom = tops[0].wide_add(tops[1]), parts[0].wide_add(parts[1])
    square = summed * summed
    reached = [square >= bottom * degrees for degrees in DEGREES[1:]]
    # A degree is reached only if all smaller ones are. So this is the one-hot position of the last one reached.
    places = [~reached[0], *(now & ~after for now, after in pairwise(reached)), reached[-1]]
    squares = [math.ceil(t_quantile(level, degrees) ** 2 * (1 << FRACTION)) for degrees in DEGREES]
    return pick(places, [Integer.constant(share.graph, value) for value in squares])


def _of_sign(exceeds: Wire, difference: Integer, sign: int) -> Wire:
    """Return the bit `exceeds` if the difference has this sign, or if `sign` is 0; else 0."""
    if sign == 0:
        return exceeds
    return exceeds & (difference[-1] if sign < 0 else ~difference[-1])

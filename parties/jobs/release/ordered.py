"""Columns with ordered values as bins with edges, and columns of two values, one of which is positive."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from parties.base.text import listed, quoted
from parties.jobs.release.values import read
from parties.tables.delimited import MISSING
from parties.tables.types import FLAGS, IntegerType, NumberType, OrderedType, exactly, type_of
from smc.errors import InputError

MOST_BINS = 256


def two_values(key: str, column: str, values: Sequence[str], positive_value: str | None, what: str) -> tuple[int, int]:
    """Return the indices of the negative and the positive value of a column with two values.

    Args:
        key: Name of the setting, for the message.
        column: Name of the column.
        values: Values in the schema.
        positive_value: The positive value; None to recognise "yes" and similar words.
        what: The thing that needs two values, for the message.

    Raises:
        InputError: The column does not have two values besides a missing one, or neither is the positive value.
    """
    two = [value for value in values if value != MISSING]
    if len(two) != 2:
        counted = "1 value" if len(two) == 1 else f"{len(two)} values"
        raise InputError(
            f"{key}: {quoted(column)} has {counted} ({listed(two[:5])}{', ...' * (len(two) > 5)}), {what} "
            "needs two values, yes and no; leave other values out with --where"
        )
    if positive_value is None:
        yes = [value for value in two if value.lower() in FLAGS["yes"]]
        no = [value for value in two if value.lower() in FLAGS["no"]]
        if not (yes and no):
            raise InputError(f"{key}_value: name the value of {quoted(column)} that means yes: {listed(two, 2)}")
        positive_value = yes[0]
    elif positive_value not in two:
        raise InputError(f"{key}_value: {quoted(positive_value)} is not a value of {quoted(column)}: {listed(two, 2)}")
    return values.index(two[1 - two.index(positive_value)]), values.index(positive_value)


def ordered_bins(key: str, name: str, values: Sequence[str]) -> tuple[tuple[int, ...], tuple[Fraction, ...], str]:
    """Return the indices of a column's bins in their order, their edges (one more), and the unit of the edges.

    A missing value is in no bin.

    Args:
        key: Name of the setting, for the message.
        name: Name of the column.
        values: Values in the schema.

    Raises:
        InputError: The values have no order, or there are too many bins.
    """
    indices, edges, unit = _ordered(key, name, values)
    if len(indices) > MOST_BINS:
        raise InputError(
            f"{key}: {quoted(name)} has {len(indices)} bins, more than {MOST_BINS}; give the column edges or a wider "
            f"width in the schema"
        )
    return indices, edges, unit


def _ordered(key: str, name: str, values: Sequence[str]) -> tuple[tuple[int, ...], tuple[Fraction, ...], str]:
    column = type_of(values)
    if column is None:
        ordered = read(name, values, "an order", key).ordered
        numbers = [number for number, _ in ordered]
        last = numbers[-1] + (numbers[-1] - numbers[-2] if len(numbers) > 1 else 1)
        return tuple(index for _, index in ordered), (*numbers, last), name
    if not isinstance(column, OrderedType):
        raise InputError(
            f"{key}: {quoted(name)} is a {column.type}, which has no order; name an integer, real or date column "
            "of the schema"
        )
    indices = tuple(range(len(column.labels)))
    if not isinstance(column, NumberType):
        return indices, tuple(map(Fraction, range(len(indices) + 1))), "bins"
    low, cuts, unit = exactly(column.low), column.cuts, exactly(column.unit)
    if cuts.grid is not None:
        return indices, tuple(low + index * unit for index in range(len(indices) + 1)), name
    inner, high = [exactly(edge) for edge in cuts.numbers], exactly(column.high)
    whole = isinstance(column, IntegerType) or high <= inner[-1]
    return indices, (low, *inner, high + (unit if whole else 0)), name

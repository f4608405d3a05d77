"""Columns whose values have an order, as bins with edges; and columns of two values, of which one is meant."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from parties.base.text import listed, quoted
from parties.jobs.release.values import read
from parties.tables.delimited import MISSING
from parties.tables.types import FLAGS, IntegerType, NumberType, OrderedType, exactly, type_of
from smc.errors import InputError

MOST_BINS = 256


def two_values(key: str, column: str, values: Sequence[str], wanted: str | None, what: str) -> tuple[int, int]:
    """Return the places of the other value of a column of two, and of the one that is wanted: yes, unless it is named.

    `InputError` if there are not two, besides a missing one; `what` says of which the second is a value.
    """
    two = [value for value in values if value != MISSING]
    if len(two) != 2:
        counted = "1 value" if len(two) == 1 else f"{len(two)} values"
        raise InputError(
            f"{key}: {quoted(column)} has {counted} ({listed(two[:5])}{', ...' * (len(two) > 5)}), {what} "
            "has two: yes, or no; --where leaves others out"
        )
    if wanted is None:
        yes = [value for value in two if value.lower() in FLAGS["yes"]]
        no = [value for value in two if value.lower() in FLAGS["no"]]
        if not (yes and no):
            raise InputError(f"{key}_value: say which value of {quoted(column)} means yes: {listed(two, 2)}")
        wanted = yes[0]
    elif wanted not in two:
        raise InputError(f"{key}_value: {quoted(wanted)} is no value of {quoted(column)}: {listed(two, 2)}")
    return values.index(two[1 - two.index(wanted)]), values.index(wanted)


def ordered_bins(key: str, name: str, values: Sequence[str]) -> tuple[tuple[int, ...], tuple[Fraction, ...], str]:
    """Return the places of a column's bins in their order, their edges (one more), and the unit of these.

    `InputError` names the setting `key` if they have no order, or are too many. A missing value is in no bin.
    """
    places, edges, unit = _ordered(key, name, values)
    if len(places) > MOST_BINS:
        raise InputError(
            f"{key}: {quoted(name)} has {len(places)} bins, at most {MOST_BINS} are counted: give it edges or a width "
            "in the schema"
        )
    return places, edges, unit


def _ordered(key: str, name: str, values: Sequence[str]) -> tuple[tuple[int, ...], tuple[Fraction, ...], str]:
    column = type_of(values)
    if column is None:
        ordered = read(name, values, "an order", key).ordered
        numbers = [number for number, _ in ordered]
        last = numbers[-1] + (numbers[-1] - numbers[-2] if len(numbers) > 1 else 1)
        return tuple(place for _, place in ordered), (*numbers, last), name
    if not isinstance(column, OrderedType):
        raise InputError(
            f"{key}: {quoted(name)} is a {column.type}: integers, reals and dates of the schema have an order"
        )
    places = tuple(range(len(column.labels)))
    if not isinstance(column, NumberType):
        return places, tuple(map(Fraction, range(len(places) + 1))), "bins"
    low, cuts, unit = exactly(column.low), column.cuts, exactly(column.unit)
    if cuts.grid is not None:
        return places, tuple(low + place * unit for place in range(len(places) + 1)), name
    inner, high = [exactly(edge) for edge in cuts.numbers], exactly(column.high)
    whole = isinstance(column, IntegerType) or high <= inner[-1]
    return places, (low, *inner, high + (unit if whole else 0)), name

"""Common type of a column from two parties' proposals. Both parties compute the same type."""

from __future__ import annotations

from typing import Any

from parties.base.text import quoted
from parties.tables.types import (
    STRIDE,
    CategoryType,
    ColumnType,
    DateType,
    FlagType,
    NumberType,
    TimeType,
    exactly,
    read_type,
)
from smc.errors import InputError

MOST_EDGES = 12  # of both together; beyond, the coarser party's


def merge_types(ours: ColumnType, theirs: ColumnType) -> ColumnType:
    """Return a type for the cells of both columns: wider bounds, all edges or the coarser ones, all values.

    Args:
        ours: Type in this party's proposal.
        theirs: Type in the peer's proposal.

    Raises:
        InputError: The types contradict each other.
    """
    if ours == theirs and ours.categories == theirs.categories:
        return ours
    both = sorted((ours, theirs), key=lambda column: repr(column.public()))
    match both:
        case [NumberType() as a, NumberType() as b]:
            fields = _numbers(a, b)
        case [DateType() as a, DateType() as b]:
            fields = _dates(a, b)
        case [CategoryType() as a, CategoryType() as b]:
            fields = _categories(a, b)
        case [TimeType() as a, TimeType() as b]:
            fields = {"type": "time", "edges": _edges(a.edges, b.edges) or None}
        case [FlagType(), FlagType()]:
            fields = {"type": "flag"}
        case _:
            raise InputError(
                f"our schema has type {quoted(ours.type)}, the peer's {quoted(theirs.type)}; write one type into "
                f"both schemas, and merge again"
            )
    fields = {name: value for name, value in fields.items() if value is not None}
    return read_type(fields | ({"missing": True} if ours.missing or theirs.missing else {}))


def _numbers(a: NumberType, b: NumberType) -> dict[str, Any]:
    steps = [number for column in (a, b) if (number := column.step) is not None]
    widths = [column.width for column in (a, b) if column.width is not None]
    edges = _edges(a.edges, b.edges)
    return {
        "type": "integer" if a.type == b.type == "integer" else "real",
        "low": min(a.low, b.low),
        "high": max(a.high, b.high),
        "step": min(steps, key=exactly) if steps else None,
        "edges": edges or None,
        "width": max(widths, key=exactly) if widths and not edges else None,
    }


def _dates(a: DateType, b: DateType) -> dict[str, Any]:
    if (a.age_at is None) != (b.age_at is None):
        raise InputError("one schema has ages, the other days; agree on one of them")
    if a.age_at is not None and b.age_at is not None:
        widths = [column.width for column in (a, b) if column.width is not None]
        edges = _edges(a.edges, b.edges)
        ages = {"edges": edges} if edges else {"width": max(widths)}
        return {"type": "date", "age_at": max(a.age_at, b.age_at), **ages}
    lows, highs = ([day for day in days if day is not None] for days in ((a.low, b.low), (a.high, b.high)))
    coarser = max(a.granularity, b.granularity, key=lambda name: STRIDE[name])
    return {"type": "date", "low": min(lows), "high": max(highs), "granularity": coarser}


def _categories(a: CategoryType, b: CategoryType) -> dict[str, Any]:
    """Return all values and groups; of two prefixes the shorter one."""
    lengths = [column.prefix for column in (a, b) if column.prefix is not None]
    prefix = min(lengths, default=None)
    groups: dict[str, set[str]] = {}
    for column in (a, b):
        for label, members in column.groups.items():
            groups.setdefault(label, set()).update(text[:prefix] for text in members)
    grouped = {text for members in groups.values() for text in members}
    values = {text[:prefix]: None for column in (a, b) for text in column.values}
    others = sorted({column.other for column in (a, b) if column.other is not None})
    return {
        "type": "category",
        "values": tuple(text for text in values if text not in grouped and text not in others),
        "groups": {label: tuple(sorted(members)) for label, members in sorted(groups.items())} or None,
        "prefix": prefix,
        "other": others[0] if others else None,
    }


def _edges(a: tuple[Any, ...] | None, b: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """Return the union of both lists of edges if it is small, else the shorter list; or the only list."""
    if a is None or b is None:
        return a or b or ()
    union = tuple(sorted({*a, *b}))
    return union if len(union) <= MOST_EDGES else min(a, b, key=lambda edges: (len(edges), edges))

"""An operator's changes to a proposed schema: columns to leave out, other types, values and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

from parties.alone.preparing.columns import TableProfile
from parties.alone.preparing.fitting import misfits
from parties.alone.preparing.mapping import column_settings
from parties.alone.preparing.proposing import (
    AGES,
    FREE_TEXT,
    RARE,
    ColumnProposal,
    TableProposal,
    as_category,
    lacks_some,
)
from parties.base.settings import at_key
from parties.base.text import quoted
from parties.tables.schema import Schema
from parties.tables.spellings import composed
from parties.tables.types import ColumnType, Domain, KeyType, read_type, type_of
from smc.errors import InputError

PROPOSED, OUT = "", "out"
TYPES = {  # types of a schema, with their names on the page
    PROPOSED: "as proposed",
    OUT: "left out",
    "category": "category",
    "flag": "yes or no",
    "integer": "whole numbers",
    "real": "decimal numbers",
    "date": "dates",
    "age": "ages, from dates of birth",
    "time": "times of the day",
    "key": "key",
    "text": "free text",
}
MEANS = {
    "category": "Each value is counted separately. Separate the values by commas. Without a list, the values of at "
    f"least {RARE} rows are taken, and one value stands for all others; the peer sees these values.",
    "yes or no": "Known spellings are yes, y, true, t, 1 and no, n, false, f, 0.",
    "numbers": "Low and high are public bounds, from general knowledge. Numbers beyond them belong to the first or the "
    "last range. Width is the width of a range; without a width, each number is counted separately.",
    "dates": "Low and high are days such as 2024-01-31. Width is day, week, month, quarter or year. The default "
    "is the proposed width, or month.",
    "ages": "Years of age on the first of January of this year, or on the day in low. Width is in years; without a "
    f"width, ranges begin at {', '.join(map(str, AGES))}.",
    "times of the day": "Width is in hours; without a width, each hour is counted separately.",
    "key": "The column identifies rows or people. No question counts its values.",
    "free text": "The column is left out. To use it, group its texts before, or choose category.",
}


@dataclass(frozen=True)
class Wish:
    """The operator's changes to a column, as typed: one of `TYPES`, bounds, the width of its ranges, its values."""

    type: str = PROPOSED
    low: str = ""
    high: str = ""
    width: str = ""
    values: str = ""

    @property
    def is_empty(self) -> bool:
        """True if the operator has changed nothing of this column."""
        return self == Wish()


Reading: TypeAlias = Callable[[Wish, ColumnType | None], dict[str, Any]]  # reader of the fields of a type


def overruled(table: TableProfile, proposal: TableProposal, wishes: Mapping[str, Wish]) -> TableProposal:
    """Return a proposal with the operator's changes. Raise InputError if one is unfit, or no target or column is left.

    Args:
        table: Profile of the raw table.
        proposal: The proposal before the changes.
        wishes: Requested changes by column name.
    """
    looks = {column.name: column for column in table.columns}
    mapping, columns, target = dict(proposal.mapping), [], proposal.schema.target
    for before in proposal.columns:
        wish = wishes.get(before.name, Wish())
        column = before if wish.is_empty else _column(table, before, wish, before.name == target)
        if column.domain and column.domain != before.domain:
            settings, remarks = column_settings(looks[column.name], table, composed(column.name), column.domain)
            column = replace(column, remarks=(*remarks, *misfits(looks[column.name], table, column.domain)))
            mapping[composed(column.name)] = settings
        columns.append(column)
    attributes = {composed(column.name): column.domain for column in columns if column.domain}
    if target is not None and target not in attributes:
        raise InputError(f"{target}: the target cannot be left out")
    if not attributes:
        raise InputError("every column is left out; include at least one")
    keys = tuple(column.name for column in columns if column.domain is not None and not column.domain)
    mapping = {name: spelling for name, spelling in mapping.items() if name in attributes and spelling}
    return replace(proposal, schema=Schema(attributes, target, keys), columns=tuple(columns), mapping=mapping)


def _column(table: TableProfile, column: ColumnProposal, wish: Wish, is_target: bool) -> ColumnProposal:
    if wish.type in (OUT, "text"):
        aside = "left out by its operator" if wish.type == OUT else FREE_TEXT
        return replace(column, domain=None, aside=aside, remarks=())
    if wish.type == "key":
        return replace(column, domain=Domain(KeyType()), aside="", remarks=())
    look = next((look for look in table.columns if look.name == column.name), None)
    if look is None:
        raise InputError(f"{column.name}: {column.aside}")
    before = type_of(column.domain or ())
    name = wish.type or (before.type if before is not None else "category")
    if name == "date" and wish.type == "" and getattr(before, "age_at", None) is not None:
        name = "age"
    with at_key(column.name):
        if name == "category" and wish == Wish(wish.type):
            fields, _ = as_category(look, table, is_target)
        else:
            fields = _FIELDS[name](wish, before)
        fields |= {"missing": True} if lacks_some(look, table) else {}
        return replace(column, domain=Domain(read_type(fields)), aside="", remarks=())


def _kept(before: ColumnType | None, name: str) -> dict[str, Any]:
    if before is None or (before.type != name and {before.type, name} != {"integer", "real"}):
        return {}
    return before.model_dump(exclude_unset=True, exclude={"type", *(["step"] if before.type != name else [])})


def _number(name: str) -> Reading:
    def fields_of(wish: Wish, before: ColumnType | None) -> dict[str, Any]:
        _only(wish, "low", "high", "width")
        fields = _kept(before, name)
        for key in ("low", "high", "width"):
            if text := getattr(wish, key):
                fields[key] = _read(int if name == "integer" else float, key, text, "a number")
        fields.pop("edges", None)  # the edges of the proposed bounds
        _bounded(fields)
        return {**fields, "type": name}

    return fields_of


def _date(wish: Wish, before: ColumnType | None) -> dict[str, Any]:
    _only(wish, "low", "high", "width")
    fields = {key: value for key, value in _kept(before, "date").items() if key in ("low", "high", "granularity")}
    for key in ("low", "high"):
        if text := getattr(wish, key):
            fields[key] = _read(date.fromisoformat, key, text, "a day such as 2024-01-31")
    if wish.width:
        fields["granularity"] = wish.width
    _bounded(fields)
    return {**fields, "type": "date"}


def _age(wish: Wish, before: ColumnType | None) -> dict[str, Any]:
    _only(wish, "low", "width")
    at: date = getattr(before, "age_at", None) or date(date.today().year, 1, 1)
    if wish.low:
        at = _read(date.fromisoformat, "low", wish.low, "a day such as 2024-01-31")
    ranges = {"width": _read(int, "width", wish.width, "a number of years")} if wish.width else {"edges": list(AGES)}
    return {"type": "date", "age_at": at, **ranges}


def _time(wish: Wish, before: ColumnType | None) -> dict[str, Any]:
    _only(wish, "width")
    if not wish.width:
        return {"type": "time"}
    hours = _read(int, "width", wish.width, "a number of hours")
    if not 1 <= hours <= 12:
        raise InputError(f"width: must be 1 to 12 hours, not {hours}")
    return {"type": "time", "edges": [f"{hour:02}:00" for hour in range(hours, 24, hours)]}


def _flag(wish: Wish, before: ColumnType | None) -> dict[str, Any]:
    _only(wish)
    return {"type": "flag"}


def _category(wish: Wish, before: ColumnType | None) -> dict[str, Any]:
    _only(wish, "values")
    return {"type": "category", "values": [value.strip() for value in wish.values.split(",") if value.strip()]}


_FIELDS: dict[str, Reading] = {
    "category": _category,
    "flag": _flag,
    "integer": _number("integer"),
    "real": _number("real"),
    "date": _date,
    "age": _age,
    "time": _time,
}


def _only(wish: Wish, *keys: str) -> None:
    """Raise InputError if the wish has a field other than `keys`, which are the fields of its type."""
    for key in ("low", "high", "width", "values"):
        if getattr(wish, key) and key not in keys:
            raise InputError(f"{key}: does not apply to this type; leave it empty, or choose another type")


def _bounded(fields: Mapping[str, object]) -> None:
    if missing := [key for key in ("low", "high") if key not in fields]:
        raise InputError(f"{missing[0]} is missing: public bounds are never taken from the rows")


def _read(reader: Callable[[str], Any], key: str, text: str, what: str) -> Any:
    try:
        return reader(text)
    except ValueError:
        raise InputError(f"{key} must be {what}, not {quoted(text, 40)}") from None

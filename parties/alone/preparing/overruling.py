"""What an operator overrules of a proposal: columns that are left out, and numbers with other types and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from parties.alone.preparing.proposing import ColumnProposal, TableProposal
from parties.base.text import quoted
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.types import Domain, NumberType, read_type, type_of
from smc.errors import InputError

PROPOSED, OUT = "", "out"
TYPES = {PROPOSED: "as proposed", OUT: "left out", "integer": "whole numbers", "real": "decimal numbers"}


@dataclass(frozen=True)
class Wish:
    """What is wanted of a column, as it was typed: one of `TYPES`, bounds, and the width of its ranges."""

    type: str = PROPOSED
    low: str = ""
    high: str = ""
    width: str = ""

    @property
    def is_empty(self) -> bool:
        """True if nothing is overruled."""
        return self == Wish()


def overruled(proposal: TableProposal, wishes: Mapping[str, Wish]) -> TableProposal:
    """Return the proposal with the columns as wished. `InputError` names the column that cannot be so."""
    columns = tuple(_column(column, wishes.get(column.name, Wish())) for column in proposal.columns)
    attributes = {column.name: column.domain for column in columns if column.domain}
    target = proposal.schema.target
    if target is not None and target not in attributes:
        raise InputError(f"{target}: the target cannot be left out")
    if not attributes:
        raise InputError("no column is left: take one back")
    keys = tuple(column.name for column in columns if column.domain is not None and not column.domain)
    mapping = {name: spelling for name, spelling in proposal.mapping.items() if name in attributes}
    return replace(proposal, schema=Schema(attributes, target, keys), columns=columns, mapping=mapping)


def _column(column: ColumnProposal, wish: Wish) -> ColumnProposal:
    if wish.is_empty:
        return column
    if wish.type == OUT:
        return replace(column, domain=None, aside="left out by its operator", remarks=())
    before = type_of(column.domain or ())
    fields: dict[str, object] = {"missing": True} if MISSING in (column.domain or ()) else {}
    if isinstance(before, NumberType):
        fields |= before.model_dump(exclude_unset=True, exclude={"type"})
    name = wish.type or (before.type if isinstance(before, NumberType) else "")
    if name not in ("integer", "real"):
        raise InputError(f"{column.name}: only numbers have bounds and a width: choose whole or decimal numbers")
    for key in ("low", "high", "width"):
        if text := getattr(wish, key):
            fields[key] = _number(column.name, key, text, name)
    if wish.width or wish.type or wish.low or wish.high:
        fields.pop("edges", None)  # they were for the bounds that were proposed
    if missing := [key for key in ("low", "high") if key not in fields]:
        raise InputError(f"{column.name}: {missing[0]} is missing: public bounds are never taken from the rows")
    try:
        return replace(column, domain=Domain(read_type({**fields, "type": name})), aside="")
    except InputError as error:
        raise InputError(f"{column.name}: {error}") from None


def _number(column: str, key: str, text: str, name: str) -> int | float:
    try:
        return int(text) if name == "integer" else float(text)
    except ValueError:
        raise InputError(f"{column}: {key} must be a number, not {quoted(text, 40)}") from None

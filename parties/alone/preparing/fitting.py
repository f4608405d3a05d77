"""A raw table under a schema that exists: which of its columns is which attribute, and which spellings are meant."""

from __future__ import annotations

import unicodedata
from typing import Any

from parties.alone.preparing.profile import ColumnProfile, TableProfile
from parties.alone.preparing.proposing import ColumnProposal, TableProposal, holds
from parties.base.text import listed, quoted
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.types import CategoryType, FlagType, OrderedType, type_of
from smc.errors import InputError


def fit(table: TableProfile, schema: Schema) -> TableProposal:
    """Return the schema as it is and this table's mapping to it. `InputError` if no attribute has a column."""
    by_name = {column.name: column for column in table.columns}
    folded = {_folded(name): name for name in by_name}
    proposals, mapping, lacking = [], {}, []
    for attribute, categories in schema.attributes.items():
        name = attribute if attribute in by_name else folded.get(_folded(attribute))
        if name is None:
            lacking.append(attribute)
            continue
        settings, remarks = _fit(by_name[name], attribute, categories, table)
        if settings:
            mapping[attribute] = settings
        proposals.append(ColumnProposal(name, holds(by_name[name]), categories, remarks=tuple(remarks)))
    if not proposals:
        raise InputError(
            f"{table.place.label}: no column is called like an attribute of the schema; it has "
            f"{listed(by_name)}, and the schema {listed(schema.attributes)}"
        )
    used = {proposal.name for proposal in proposals}
    asides = [
        ColumnProposal(c.name, holds(c), aside="the schema does not ask for it")
        for c in table.columns
        if c.name not in used
    ]
    remarks = [f"no column is called {quoted(name)}: say which it is, as columns.{name}.column" for name in lacking]
    return TableProposal(schema, (*proposals, *asides), tuple(remarks), mapping)


def _folded(text: str) -> str:
    """Return the letters and digits of a name, without case and accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def _fit(
    column: ColumnProfile, attribute: str, categories: tuple[str, ...], table: TableProfile
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings of a column that is an attribute, and what its operator should see to."""
    settings: dict[str, Any] = {} if column.name == attribute else {"column": column.name}
    remarks: list[str] = []
    kind = type_of(categories)
    if column.form not in ("", table.spelling.dates):
        settings["dates"] = column.form
    if isinstance(kind, OrderedType):
        if kind.reads != {"integer": "number", "real": "number"}.get(column.reads, column.reads):
            remarks.append(f"the schema says {kind.type}s, and these are {holds(column)}")
        unknown: list[str] = []
    else:
        known = kind.texts if isinstance(kind, CategoryType | FlagType) else {text: text for text in categories}
        prefix = kind.prefix if isinstance(kind, CategoryType) else None
        codes = {"", MISSING, *table.spelling.missing}
        seen = [text for text in column.counts or column.frequent if text not in codes]
        unknown = [text for text in seen if text[:prefix] not in known]
        folded = {_folded(text): label for text, label in known.items()}
        values = {text: folded[_folded(text)] for text in unknown if _folded(text) in folded}
        if values:
            settings["values"] = values
        unknown = [text for text in unknown if text not in values]
        if unknown and not (isinstance(kind, CategoryType) and kind.other is not None):
            remarks.append(f"{listed(unknown, 5)}: not in the schema; say what is meant, as columns.{attribute}.values")
    if column.rows < table.rows and MISSING not in categories:
        remarks.append("some rows have no value, and the schema does not list '?'")
    return settings, remarks

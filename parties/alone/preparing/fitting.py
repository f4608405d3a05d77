"""A raw table under a schema that exists: which of its columns is which attribute."""

from __future__ import annotations

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.mapping import NUMBERS, column_settings, named_alike, unique
from parties.alone.preparing.proposing import KEY, ColumnProposal, TableProposal, holds, is_key, like_codes
from parties.base.text import listed, quoted
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.toml_text import toml_key
from parties.tables.types import NumberType, OrderedType, type_of
from smc.errors import InputError


def fit(table: TableProfile, schema: Schema) -> TableProposal:
    """Return the schema as it is and this table's mapping to it. `InputError` if no attribute has a column."""
    by_name = {column.name: column for column in table.columns}
    alike = unique(by_name, named_alike)
    proposals, mapping, lacking = [], {}, []
    for attribute, categories in schema.attributes.items():
        name = attribute if attribute in by_name else alike.get(named_alike(attribute))
        if name is None:
            lacking.append(attribute)
            continue
        settings, remarks = column_settings(by_name[name], table, attribute, categories)
        if settings:
            mapping[attribute] = settings
        remarks += misfits(by_name[name], table, categories)
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
    remarks = [
        f"no column is called {quoted(name)}: say which it is, as columns.{toml_key(name)}.column" for name in lacking
    ]
    return TableProposal(schema, (*proposals, *asides), (*table.remarks, *remarks), mapping)


def misfits(column: ColumnProfile, table: TableProfile, categories: tuple[str, ...]) -> list[str]:
    """Return what no mapping can help."""
    kind, remarks = type_of(categories), [*column.remarks]
    reads = "number" if column.reads in NUMBERS else column.reads
    if isinstance(kind, OrderedType) and kind.reads != reads:
        remarks.append(f"the schema says {kind.type}s, and these are {holds(column)}")
    if isinstance(kind, NumberType):
        remarks += like_codes(column)
    if is_key(column):
        remarks.append(f"{KEY}: is it an identifier, which the schema would count?")
    if column.rows < table.rows and MISSING not in categories:
        remarks.append("some rows have no value, and the schema does not list '?'")
    return remarks

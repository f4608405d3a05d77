"""Mapping of a raw table to an existing schema: a column for each attribute."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.mapping import NUMBERS, column_settings, named_alike, spelled_alike, unique
from parties.alone.preparing.profile import FEW
from parties.alone.preparing.proposing import KEY, ColumnPair, ColumnProposal, TableProposal, holds, is_key, like_codes
from parties.alone.preparing.readings import Chooser, Question
from parties.base.text import instead, listed, quoted
from parties.tables import schema as schemas
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.spellings import look_alike
from parties.tables.toml_text import toml_key, toml_lines
from parties.tables.types import CategoryType, NumberType, OrderedType, type_of
from smc.errors import InputError

NONE = "none of them"
SAME, PROPOSED, DIFFER, OURS, THEIRS = "same", "proposed pair", "values differ", "only ours", "only theirs"
UNIT = 20  # numbers within this part of a range from its lower bound may have another unit


def fit(
    table: TableProfile, schema: Schema, given: Mapping[str, str] | None = None, ask: Chooser | None = None
) -> TableProposal:
    """Return the mapping of a table to an existing schema.

    Args:
        table: Profile of the raw table.
        schema: The schema, which stays unchanged.
        given: Columns that the operator names, by attribute.
        ask: Callback that chooses the column of an attribute without a likely one; None leaves a comment instead.

    Raises:
        InputError: No column fits any attribute, or `given` names a missing attribute or column.
    """
    given = {} if given is None else given
    names = [column.name for column in table.columns]
    for attribute, own in given.items():
        if attribute not in schema.attributes:
            raise InputError(f"--column: the schema has no {quoted(attribute)}{instead(attribute, schema.attributes)}")
        if own not in names:
            raise InputError(f"--column: there is no column {quoted(own)}{instead(own, names)}")
    by_name = {column.name: column for column in table.columns}
    alike = unique(by_name, named_alike)
    named = {name: name if name in by_name else alike.get(named_alike(name)) for name in schema.attributes}
    named = {name: None if column in given.values() else column for name, column in named.items()} | {**given}
    free = {name: column for name, column in by_name.items() if name not in named.values()}
    lacking = {name: schema.attributes[name] for name, column in named.items() if column is None}
    likely = _likely(lacking, free)
    proposals, mapping, stubs, pairs = [], {}, list[str](), list[ColumnPair]()
    for attribute, categories in schema.attributes.items():
        name = named[attribute] or likely.get(attribute)
        if name is None:
            fits = [c.name for c in free.values() if c.name not in likely.values() and _is_of(c, categories)]
            if ask is not None and fits:
                options = {text: holds(free[text]) for text in fits} | {NONE: "leave a comment"}
                answer = ask(Question(table.place.label, attribute, options, "--column"))
                name = answer if answer in free else None
                likely |= {} if name is None else {attribute: name}
        if name is None:
            example = toml_lines({attribute: {"column": (fits or ["NAME"])[0]}}).strip()
            more = f"  # or {listed(fits[1:])}" if fits[1:] else ""
            stubs.append(f"# {example}{more}")
            pairs.append(ColumnPair("", attribute, THEIRS, (f"may be {listed(fits)}",) if fits else ()))
            continue
        settings, remarks = column_settings(by_name[name], table, attribute, categories)
        faults = misfits(by_name[name], table, categories)
        differs = "values" in settings or len(remarks) + len(faults) > len(by_name[name].remarks)
        state = PROPOSED if name != attribute and attribute not in given else DIFFER if differs else SAME
        pairs.append(ColumnPair(name, attribute, state, (*remarks, *faults)))
        if attribute in likely and ask is None:
            remarks = [
                f"mapped to attribute {quoted(attribute)}: if that is wrong, correct "
                f"columns.{toml_key(attribute)}.column",
                *remarks,
            ]
        if settings:
            mapping[attribute] = settings
        proposals.append(ColumnProposal(name, holds(by_name[name]), categories, remarks=(*remarks, *faults)))
    if not proposals:
        raise InputError(
            f"{table.place.label}: no column has the name of an attribute of the schema; the table has "
            f"{listed(by_name)}, and the schema {listed(schema.attributes)}"
        )
    used = {proposal.name for proposal in proposals}
    asides = [
        ColumnProposal(c.name, holds(c), aside="the schema has no attribute for it")
        for c in table.columns
        if c.name not in used
    ]
    remarks = [
        f"no column is called {quoted(name)}: give --column {shlex.quote(f'{name}=COLUMN')}, "
        f"or set columns.{toml_key(name)}.column to its column"
        for name in lacking
        if name not in likely
    ]
    pairs += [ColumnPair(column.name, "", OURS) for column in asides]
    found = (*proposals, *asides)
    return TableProposal(schema, found, (*table.remarks, *remarks), mapping, tuple(stubs), tuple(pairs))


def peer_schema(text: str, schema_file: Path) -> Schema:
    """Return the schema in a pasted text.

    Args:
        text: The content of the peer's schema file; empty for the file that both parties agreed on.
        schema_file: That file.

    Raises:
        InputError: The text or the file is not a schema.
    """
    return schemas.parsed(text, Path("the peer's schema")) if text.strip() else schemas.load(schema_file)


def _likely(lacking: Mapping[str, tuple[str, ...]], free: Mapping[str, ColumnProfile]) -> dict[str, str]:
    """Return the likely column of each attribute: the only one with a similar name and its kind, or with its values.

    `lacking` has the categories of each attribute without a column, `free` the columns without an attribute.
    """
    pairs = [pair for pair in look_alike(lacking, free) if _is_of(free[pair[1]], lacking[pair[0]])]
    pairs += [
        (attribute, name)
        for attribute, categories in lacking.items()
        for name, column in free.items()
        if _share_values(column, categories)
    ]
    pairs = [*dict.fromkeys(pairs)]
    firsts, seconds = Counter(attribute for attribute, _ in pairs), Counter(name for _, name in pairs)
    return {attribute: name for attribute, name in pairs if firsts[attribute] == seconds[name] == 1}


def _is_of(column: ColumnProfile, categories: tuple[str, ...]) -> bool:
    """Return True if a column is of the attribute's kind: numbers, dates, times, or a few texts."""
    kind = type_of(categories)
    reads = "number" if column.reads in NUMBERS else column.reads
    return reads == kind.reads if isinstance(kind, OrderedType) else column.distinct <= FEW


def _share_values(column: ColumnProfile, categories: tuple[str, ...]) -> bool:
    """Return True if a text column and an attribute share most values, ignoring capitals and accents."""
    kind = type_of(categories)
    known = [*kind.texts] if isinstance(kind, CategoryType) else [*categories] if kind is None else []
    theirs = {spelled_alike(text) for text in known if text != MISSING}
    ours = {spelled_alike(text) for text in column.counts if text not in ("", MISSING)}
    return column.reads == "text" and len(ours & theirs) > max(1, len(ours | theirs) / 2)


def misfits(column: ColumnProfile, table: TableProfile, categories: tuple[str, ...]) -> list[str]:
    """Return remarks on problems of a column that no mapping can solve, one line each.

    Args:
        column: Profile of the raw column.
        table: Profile of the raw table.
        categories: Values of the attribute in the schema.
    """
    kind, remarks = type_of(categories), [*column.remarks]
    reads = "number" if column.reads in NUMBERS else column.reads
    if isinstance(kind, OrderedType) and kind.reads != reads:
        remarks.append(f"the schema has type {kind.type}, but the column holds {holds(column)}")
    if isinstance(kind, NumberType):
        remarks += like_codes(column)
        reach = (kind.high - kind.low) / UNIT
        if reads == "number" and column.rows and (column.high < kind.low + reach or column.low > kind.high):
            spread = f"{column.low:.10g} to {column.high:.10g}, but the schema has {kind.low:.10g} to {kind.high:.10g}"
            remarks.append(f"{spread}: another unit? --derive with the form scale changes it")
    if is_key(column):
        remarks.append(f"{KEY}: is it an identifier? then it must not be an attribute of the schema")
    if column.rows < table.rows and MISSING not in categories:
        remarks.append("some rows have no value, and the schema does not list '?'")
    return remarks

"""Spelling of single columns for readers without a schema: from settings, or from the party's table at the place."""

from __future__ import annotations

from typing import Any

from parties.base.text import quoted
from parties.sources.mapping import PLAIN, ColumnRule, day_of, number_of, rules
from parties.sources.settings import SPELLED, FormatSettings, PlaceSettings, SourceSettings, TableSettings
from parties.tables import schema
from parties.tables.delimited import MISSING
from smc.errors import InputError

OF_DAYS = ("dates", "last_year")


def formats_of(place: PlaceSettings) -> dict[str, SourceSettings]:
    """Return the spellings of the columns that differ from the spelling of their place, by column name.

    Raises:
        InputError: The party's table cannot be mapped to its schema, or reads a column in two ways.
    """
    mapped = {} if place.party_table is None else _of_table(place.party_table)
    return mapped | {**place.formats}


def read_text(text: str, own: SourceSettings) -> str | None:
    """Return a cell as a publication reads it in SQL: a day as YYYY-MM-DD, a number with a point; None if missing.

    A text that is neither a day nor a number of the column's spelling is returned unchanged.

    Args:
        text: The cell, without spaces around it.
        own: Spelling of the column.
    """
    if text in ("", MISSING, *own.missing):
        return None
    spelling = own.spelling(PLAIN)
    if own.dates is not None:
        day = day_of(text, spelling.dates, spelling.last_year)
        return text if day is None else day.isoformat()
    number = None if spelling == PLAIN else number_of(text, spelling)
    return text if number is None else f"{number:.15g}"


def _of_table(table: TableSettings) -> dict[str, SourceSettings]:
    if not table.columns and all(getattr(table.format, name) == getattr(PLAIN, name) for name in OF_DAYS):
        return {}
    public = schema.load(table.schema_file)
    formats: dict[str, SourceSettings] = {}
    for rule in rules(table.columns, public, [*public.attributes], table.format):
        own = _of_rule(rule, table.format)
        if formats.setdefault(rule.column, own) != own:
            raise InputError(
                f"columns: two attributes read the column {quoted(rule.column)} in different ways; a publication "
                "needs one; set columns.NAME.format in the plan"
            )
    return {name: own for name, own in formats.items() if own != SourceSettings()}


def _of_rule(rule: ColumnRule, table: FormatSettings) -> SourceSettings:
    reads = None if rule.ranges is None else rule.ranges.reads
    fields: dict[str, Any] = {}
    if reads == "number":
        names = tuple(name for name in SPELLED if name not in OF_DAYS)
        fields = {name: own for name in names if (own := getattr(rule.spelling, name)) != getattr(table, name)}
    elif reads == "date" and rule.dates != PLAIN.dates:
        names = OF_DAYS if "%y" in rule.dates else ("dates",)
        fields = {name: own for name in names if (own := getattr(rule.spelling, name)) != getattr(PLAIN, name)}
    texts = () if rule.missing is None else (text for text, index in rule.texts.items() if index == rule.missing)
    fields["missing"] = tuple(text for text in texts if text != MISSING and text not in table.missing)
    return SourceSettings(**fields)

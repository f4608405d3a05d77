"""How one column of a raw table is spelled where it becomes an attribute: `columns.NAME` of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from parties.alone.preparing.profile import ColumnProfile, TableProfile
from parties.base.text import listed
from parties.tables.delimited import MISSING
from parties.tables.spellings import canonical, composed, readings, unaccented
from parties.tables.toml_text import toml_key
from parties.tables.types import CategoryType, FlagType, OrderedType, type_of, unusable

NUMBERS = ("integer", "real")


def column_settings(
    column: ColumnProfile, table: TableProfile, attribute: str, categories: tuple[str, ...]
) -> tuple[dict[str, Any], list[str]]:
    """Return what `columns.ATTRIBUTE` says of a column, and what its operator should see to.

    Days have a form of their own; words among numbers or days mean no value; of values, other capitals and accents are
    another spelling.
    """
    settings: dict[str, Any] = {} if column.name == attribute else {"column": column.name}
    remarks = []
    kind = type_of(categories)
    settings |= spelled(column, table)
    codes = {"", MISSING, *table.spelling.missing}
    if isinstance(kind, OrderedType):
        words = [text for text in column.odd if text not in codes and not unusable(text)]
        if words and MISSING in categories:
            settings["values"] = dict.fromkeys(words, MISSING)
            remarks.append(f"{listed(words, 3)}: taken for a missing value")
        elif words:
            remarks.append(f"{listed(words, 3)}: means no value, and the schema does not list '?'")
        return settings, remarks
    known = kind.texts if isinstance(kind, CategoryType | FlagType) else {text: text for text in categories}
    prefix = kind.prefix if isinstance(kind, CategoryType) else None
    seen = [text for text in column.counts or column.frequent if text not in codes and not unusable(text)]
    meant, same = canonical(seen, known), readings([*known])
    unknown = [text for text in seen if text[:prefix] not in known and text not in same]
    folded = unique(known, spelled_alike)
    values = {text: known[meant[text]] for text in unknown if meant[text] in known}
    values = {text: known[folded[key]] for text in unknown if (key := spelled_alike(text)) in folded} | values
    if values:
        settings["values"] = values
    unknown = [text for text in unknown if text not in values]
    if unknown and not (isinstance(kind, CategoryType) and kind.other is not None):
        remarks.append(
            f"{listed(unknown, 5)}: not in the schema; say what is meant, as columns.{toml_key(attribute)}.values"
        )
    return settings, remarks


def spelled(column: ColumnProfile, table: TableProfile) -> dict[str, Any]:
    """Return the spelling of a column's cells, where it is not the table's."""
    keys: tuple[str, ...] = ()
    if column.reads == "date" and column.form:
        keys = ("dates", "last_year") if "%y" in column.form else ("dates",)
    elif column.reads in NUMBERS:
        keys = (*(("decimal", "thousands") if column.is_marked else ()), "negative", "drop")
    own = column.spelling.model_copy(update={} if column.parted else {"thousands": ""})
    if not column.parted and own.decimal == table.spelling.decimal:
        own = own.model_copy(update={"thousands": table.spelling.thousands})
    settings = {key: getattr(own, key) for key in keys if getattr(own, key) != getattr(table.spelling, key)}
    if "drop" in settings:
        settings["drop"] = list(settings["drop"])
    return settings


def unique(texts: Iterable[str], key: Callable[[str], str]) -> dict[str, str]:
    """Return texts by a key, but for those that share it."""
    by_key: dict[str, list[str]] = {}
    for text in texts:
        by_key.setdefault(key(text), []).append(text)
    return {key: alike[0] for key, alike in by_key.items() if len(alike) == 1}


def spelled_alike(text: str) -> str:
    """Return a value without capitals and accents. Its marks stay: `A+` is not `A-`."""
    return unaccented(composed(text).casefold())


def named_alike(text: str) -> str:
    """Return the letters and digits of a column's name, without capitals and accents."""
    return "".join(letter for letter in spelled_alike(text) if letter.isalnum())

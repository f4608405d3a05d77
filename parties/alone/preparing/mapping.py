"""Settings `columns.NAME` in party.toml that map one column of a raw table to an attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.readings import PLAIN, Choices
from parties.base.text import listed
from parties.sources.settings import SourceSettings
from parties.tables.delimited import MISSING
from parties.tables.spellings import canonical, composed, look_alike, readings, unaccented
from parties.tables.toml_text import toml_key
from parties.tables.types import CategoryType, FlagType, OrderedType, type_of, unusable

NUMBERS = ("integer", "real")
TRUTHS = (  # words for yes, and for no, in programs and languages
    {*("yes", "y", "true", "t", "1", "ja", "j", "wahr", "oui", "o", "vrai", "si", "s", "sim", "vero", "tak", "da")},
    {*("no", "n", "false", "f", "0", "nein", "falsch", "non", "faux", "nao", "falso", "nie", "nee", "ne")},
)


def column_settings(
    column: ColumnProfile, table: TableProfile, attribute: str, categories: tuple[str, ...]
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings `columns.ATTRIBUTE` that map a raw column to an attribute, and remarks for the operator.

    The settings have the column's name, the format of its cells, the texts that mean no value, and the values that seem
    to be values of the schema in another spelling.

    Args:
        column: Profile of the raw column.
        table: Profile of the raw table.
        attribute: Name of the attribute in the schema.
        categories: Values of the attribute in the schema.
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
            told = [text for text in words if text not in column.spelling.missing]  # others have a remark already
            remarks += [f"{listed(told, 3)}: read as a missing value"] if told else []
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
    unknown = [text for text in unknown if text not in values]
    has_other = isinstance(kind, CategoryType) and kind.other is not None
    rest = [text for text in known if text not in {*seen, *values} and known[text] not in values.values()]
    likely = {} if has_other else likely_pairs(unknown, rest)
    if len(unknown) == len(rest) == 1 < len(seen) and not has_other:
        likely = {unknown[0]: rest[0]}  # all other values have their pairs
    if likely:
        pairs = listed([f"{text} = {known[meant]}" for text, meant in likely.items()])
        remarks.append(f"{pairs}: read as one value; if that is wrong, correct columns.{toml_key(attribute)}.values")
        values |= {text: known[meant] for text, meant in likely.items()}
        unknown = [text for text in unknown if text not in likely]
    if values:
        settings["values"] = values
    if unknown and not has_other:
        remarks.append(
            f"{listed(unknown, 5)}: not in the schema; map each to a value of the schema in "
            f"columns.{toml_key(attribute)}.values"
        )
    return settings, remarks


def likely_pairs(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """Pair texts of two lists: words for yes and no, nearly equal texts, a text with its first letter, the last two.

    Args:
        ours: Texts of the table.
        theirs: Texts of the schema.
    """
    if truths := _truths(ours, theirs):
        return truths
    pairs = dict(look_alike(ours, theirs))
    for one in ours:
        starts = [other for other in theirs if _begins(one, other)]
        again = [text for text in ours if starts and _begins(text, starts[0])]
        if one not in pairs and len(starts) == len(again) == 1 and starts[0] not in pairs.values():
            pairs[one] = starts[0]
    rest = [text for text in ours if text not in pairs], [text for text in theirs if text not in pairs.values()]
    if pairs and len(rest[0]) == len(rest[1]) == 1:
        pairs[rest[0][0]] = rest[1][0]
    return pairs


def _truths(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """Return their word for each of our words if both lists are a word for yes and a word for no; else no words."""
    sides = [{index: text for text in side for index in _truth(text)} for side in (ours, theirs)]
    if not len(ours) == len(theirs) == len(sides[0]) == len(sides[1]) == len(TRUTHS):
        return {}
    return {sides[0][index]: sides[1][index] for index in range(len(TRUTHS))}


def _truth(text: str) -> list[int]:
    return [index for index, words in enumerate(TRUTHS) if spelled_alike(text) in words]


def _begins(one: str, other: str) -> bool:
    short, long = sorted((spelled_alike(one), spelled_alike(other)), key=len)
    return len(short) == 1 < len(long) and short.isalpha() and long.startswith(short)


def spelled(column: ColumnProfile, table: TableProfile) -> dict[str, Any]:
    """Return the format settings of a column that differ from its table's.

    Args:
        column: Profile of the raw column.
        table: Profile of the raw table.
    """
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


def column_formats(table: TableProfile, choices: Choices) -> dict[str, SourceSettings]:
    """Return the spellings, by column name, that differ from the table's. Dates other than ISO are always included.

    Args:
        table: Profile of the raw table.
        choices: Readings that the operator gave.
    """
    ours = replace(
        table, spelling=table.spelling.model_copy(update={"dates": PLAIN.dates, "last_year": PLAIN.last_year})
    )
    formats = {}
    for column in table.columns:
        codes = dict.fromkeys((*column.spelling.missing, *choices.codes(column.name)))
        missing = tuple(code for code in codes if code not in table.spelling.missing)
        formats[column.name] = SourceSettings(**spelled(column, ours), missing=missing)
    return {name: own for name, own in formats.items() if own != SourceSettings()}


def unique(texts: Iterable[str], key: Callable[[str], str]) -> dict[str, str]:
    """Return a mapping from keys to texts, without keys that several texts share.

    Args:
        texts: The texts.
        key: Function from a text to its key.
    """
    by_key: dict[str, list[str]] = {}
    for text in texts:
        by_key.setdefault(key(text), []).append(text)
    return {key: alike[0] for key, alike in by_key.items() if len(alike) == 1}


def spelled_alike(text: str) -> str:
    """Return a value in small letters without accents. Other marks stay: `A+` differs from `A-`."""
    return unaccented(composed(text).casefold())


def named_alike(text: str) -> str:
    """Return the letters and digits of a column's name, without capitals and accents."""
    return "".join(letter for letter in spelled_alike(text) if letter.isalnum())

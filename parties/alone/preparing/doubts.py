"""Remarks on columns that may be misread: unknown spellings of numbers or days, similar values, broken letters."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable
from datetime import timedelta

from parties.alone.preparing.columns import ColumnProfile
from parties.alone.preparing.deriving import DAY_NAME
from parties.alone.preparing.readings import CODE, EXCEL_DAYS
from parties.alone.preparing.spellings import NO_VALUE
from parties.base.text import listed, quoted
from parties.sources.mapping import EXCEL_EPOCH, MONTHS
from parties.sources.settings import EXCEL
from parties.tables.delimited import MISSING
from parties.tables.spellings import composed, unaccented
from parties.tables.toml_text import toml_key
from parties.tables.types import FlagType

RANGE = re.compile(r"[<>\u2264\u2265]?=?\s*\d+\s*(?:[-\u2013]\s*\d+|\+)?|\d{8,}")
LIKE_LATIN = str.maketrans(  # Cyrillic and Greek letters that look Latin
    "АВЕКМНОРСТХаеорсухіѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧο‐‑‒–—−’‘´`“”„", "ABEKMHOPCTXaeopcyxisABEZHIKMNOPTYXo------''''\"\"\""
)
ENTITY = re.compile(r"&(?:#\d+|[a-zA-Z]+);")
ZERO = re.compile(r"0\d")
MOST_CODED = 20  # a column of at most this many values may have codes of five digits
YEARS = 3000  # smaller whole numbers may be years


def doubts(column: ColumnProfile) -> list[str]:
    """Return remarks on a column whose kind may have been misjudged, or whose texts need attention."""
    if column.reads == "integer":
        return _days_as_numbers(column)
    if column.reads == "real" and (text := next(filter(ZERO.match, column.frequent), None)):
        return [f"{quoted(text)} has a leading zero: are these numbers, or days and months, or codes?"]
    if column.reads != "text":
        return []
    texts = [text for text in column.counts or column.frequent if text not in ("", MISSING, *NO_VALUE)]
    return [*_unread(texts), *_alike(column.name, texts), *_broken(texts)]


def _days_as_numbers(column: ColumnProfile) -> list[str]:
    is_moment = column.low > 190_001_010_000 and column.high < 21_001_231_235_959
    if column.low > YEARS and (DAY_NAME.search(column.name) or is_moment):
        return ["are these dates or times written as numbers? if so, export them as 2024-01-31"]
    if EXCEL_DAYS[0] <= column.low and column.high <= EXCEL_DAYS[1] and column.distinct > MOST_CODED:
        first, last = (EXCEL_EPOCH + timedelta(int(day)) for day in (column.low, column.high))
        name = shlex.quote(f"{column.name}={EXCEL}")
        return [f"if these are Excel's day numbers, they mean {first} to {last}: --reading {name}"]
    return []


def _unread(texts: list[str]) -> list[str]:
    """Return a remark if at least half of the texts look like numbers or days in an unknown spelling."""
    plain = any(re.fullmatch(r"-?\d+([.,]\d+)?", text) for text in texts)
    if not texts or any(CODE.fullmatch(text) and len(text) != 8 for text in texts):
        return []
    like = [text for text in texts if _is_like_number(text) and (plain or not RANGE.fullmatch(text))]
    if len(like) < len(texts) / 2:
        return []
    example = next((text for text in like if not text.isdecimal() or not text.isascii()), like[0])
    return [f"read as texts, such as {quoted(example)}: if they are numbers or days, write them as 12.5 or 2024-01-31"]


def _is_like_number(text: str) -> bool:
    digits = sum(letter.isdigit() for letter in text)
    letters = re.findall(r"[^\W\d_]+", text)
    if any(word.lower() in MONTHS for word in letters):
        return digits > 0
    return re.match(r"\W*\d", text) is not None and digits >= len("".join(letters)) and (digits > 1 or not letters)


def _alike(name: str, texts: Iterable[str]) -> list[str]:
    """Return remarks on texts of a column that differ only in capitals, accents, quotes or look-alike letters."""
    flags = {text.casefold(): meaning for text, meaning in FlagType().texts.items()}
    texts, groups, merged = list(texts), dict[str, set[str]](), list[str]()
    are_flags = {text.casefold() for text in texts} <= flags.keys()
    for text in texts:
        plain = composed(text)
        if plain != unicodedata.normalize("NFC", text):
            merged.append(f"{quoted(text)} is read as {quoted(plain)}")
        key = unaccented(plain.translate(LIKE_LATIN)).casefold().strip("'\"")
        groups.setdefault(flags[key] if are_flags else key, set()).add(plain)
    alike = [value for group in groups.values() if len(group) > 1 for value in sorted(group)]
    if not alike:
        return merged[:3]
    return [
        *merged[:3],
        f"{listed(alike, 4)} look alike: are they one value? map them with columns.{toml_key(name)}.values",
    ]


def _broken(texts: Iterable[str]) -> list[str]:
    """Return a remark on texts that a program has decoded wrongly, or left with HTML entities such as `&amp;`."""
    found = [text for text in texts if "\ufffd" in text or ENTITY.search(text) or _is_mojibake(text)]
    return [f"{listed(found, 3)}: broken letters; export the table again as UTF-8"] if found else []


def _is_mojibake(text: str) -> bool:
    try:
        return text.encode("cp1252").decode("utf-8") != text
    except UnicodeError:
        return False

"""Spellings of one value: composed letters, 1.0 for 1, True for true.

Proposing, merging and reading use this one rule.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from parties.tables.delimited import MISSING

INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]")  # joiners have a meaning, and stay
FLOAT_OF_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)\.0")  # as programs write a column of whole numbers with gaps
DECIMAL = re.compile(r"[+-]?[0-9]+\.[0-9]*")
MOST_PAIRS = 100_000  # most pairs of texts that are compared letter by letter; if there are more, only equal texts pair
TRUTH = {"true", "false"}
SIGNS = "+-<>=.,%"  # signs that distinguish values: A+ from A-, 1.5 from 15


def composed(text: str) -> str:
    """Return a name or value in composed letters (NFC), without invisible letters or spaces around it.

    Other spaces become one plain space.
    """
    if text.isascii() and "  " not in text and "\t" not in text:
        return text.strip()
    return " ".join(INVISIBLE.sub("", unicodedata.normalize("NFC", text)).split())


def unaccented(text: str) -> str:
    """Return a text without accents."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def canonical(values: Iterable[str], peers: Iterable[str] = ()) -> dict[str, str]:
    """Return each value of a column with its canonical spelling.

    1.0 becomes 1 only if all decimals of the column end in .0 and none of them also occurs without it: in a column with
    250.1, 250 and 250.0 may be codes. True becomes true in a column of truth values. The peer's column must fit too.

    Args:
        values: The values of one table.
        peers: The values of the other table's column, if known.
    """
    spelled = {value: composed(value) for value in values}
    words = {text for text in spelled.values() if text != MISSING}
    decimals = {text for text in words if DECIMAL.fullmatch(text)}
    peers = {composed(text) for text in peers}
    if decimals and _are_whole(decimals, words) and _are_whole(filter(DECIMAL.fullmatch, peers), peers):
        return {value: text[:-2] if text in decimals else text for value, text in spelled.items()}
    if words and {text.casefold() for text in (*words, *peers) if text != MISSING} <= TRUTH:
        return {value: text.casefold() for value, text in spelled.items()}
    return spelled


def readings(categories: Sequence[str]) -> Mapping[str, str]:
    """Return the other spellings of a column's categories, each with its category by `canonical`."""
    known = {*categories}
    words = known - {MISSING}
    others: dict[str, str] = {}
    decimals = {text for text in words if DECIMAL.fullmatch(text)}
    is_whole = _are_whole(decimals, words)
    has_truth = bool(words) and {text.casefold() for text in words} <= TRUTH
    for category in categories:
        spelled = [unicodedata.normalize(form, category) for form in ("NFC", "NFD")]
        if is_whole and FLOAT_OF_WHOLE.fullmatch(whole := category if category in decimals else f"{category}.0"):
            spelled += [whole, whole[:-2]]
        if has_truth and category != MISSING:
            spelled += [category.casefold(), category.capitalize(), category.upper()]
        others |= {text: category for text in spelled if text not in known}
    return others


def _are_whole(decimals: Iterable[str], words: Container[str]) -> bool:
    """Return True if all texts are whole numbers written with `.0`, and none of them is among `words` without it."""
    return all(FLOAT_OF_WHOLE.fullmatch(text) and text[:-2] not in words for text in decimals)


def distance(one: str, other: str) -> int:
    """Return the least number of letters to insert, delete, replace or swap with the next, to turn one into the other.

    Args:
        one: A text.
        other: The other text.
    """
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            steps = [rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b)]
            if i > 1 and j > 1 and (a, one[i - 2]) == (other[j - 2], b):
                steps.append(rows[-2][j - 2] + 1)
            row.append(min(steps))
        rows.append(row)
    return rows[-1][-1]


def look_alike(ours: Iterable[str], theirs: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of texts that may mean one thing: equal but for marks, or with a typing error.

    A text that is like several others is in no pair. Texts of fewer than five letters must be equal but for capitals,
    accents and marks. Digits must be equal: `grade 1` is not `grade 2`.

    Args:
        ours: Values of this party.
        theirs: Values of the peer.
    """
    sides = [{text: _plain(text) for text in dict.fromkeys(side)} for side in (ours, theirs)]
    is_short = len(sides[0]) * len(sides[1]) <= MOST_PAIRS
    near: list[tuple[str, str]] = []
    by_digits: dict[str, list[tuple[str, str]]] = {}
    for text, plain in sides[1].items():
        by_digits.setdefault(_digits(plain) if is_short else plain, []).append((text, plain))
    for text, plain in sides[0].items():
        for other, plain_other in by_digits.get(_digits(plain) if is_short else plain, ()):
            shorter, longer = sorted((len(plain), len(plain_other)))
            most = 0 if shorter < 5 else 1 if shorter < 9 else 2
            if plain and longer - shorter <= most and distance(plain, plain_other) <= most:
                near.append((text, other))
    firsts, seconds = Counter(a for a, _ in near), Counter(b for _, b in near)
    return [(a, b) for a, b in near if firsts[a] == seconds[b] == 1]


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if letter.isalnum() or letter in SIGNS)


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())

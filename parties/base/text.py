"""Texts in messages: escaped texts of other people, quoted and listed values, near misses."""

from __future__ import annotations

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

JOINERS = "\u200c\u200d"
# letters that look Latin: Cyrillic, Greek, Armenian, Cherokee
TWINS = frozenset(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u0501\u04bb\u04cf\u051b\u051d\u0491"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0406\u0408\u0405\u04ae\u04c0"
    "\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03c7\u03f2\u03f3"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0585\u0570\u057d\u0578\u0581\u054d\u0555\u13aa\u13a1\u13a2\u13d2\u13b3\u13a0\u13da\u13c3"
)
_WORDS = re.compile(r"[^\W_][^\s\W_]*|.", re.DOTALL)
_FINGERPRINT = re.compile(r"(?:[0-9A-F]{2}:?){31}[0-9A-F]{2}", re.IGNORECASE)


def canonical_fingerprint(text: str) -> str | None:
    """Return a whole fingerprint in the spelling of `identity.fingerprint`; None if the text is not a fingerprint."""
    return bytes.fromhex(text.replace(":", "")).hex(":").upper() if _FINGERPRINT.fullmatch(text) else None


def quoted(text: str, limit: int = 60) -> str:
    """Return a value for a message: quoted and on one line.

    Args:
        text: The value.
        limit: Number of characters shown.
    """
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV; None is an empty field."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def parts_of(text: str) -> list[str]:
    """Return the parts of a text between commas, without space around them and without empty ones."""
    return [part for item in text.split(",") if (part := item.strip())]


def listed(values: Iterable[str], limit: int = 8) -> str:
    """Return the first values for a message, and their number if some are omitted.

    Args:
        values: The values.
        limit: Number of values shown.
    """
    names = [quoted(value) for value in values]
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest known word; empty if none is near.

    Args:
        word: The unknown word.
        known: The known words.
    """
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.65)
    return f" (did you mean {quoted(folded[near[0]])}?)" if near else ""


def instead(name: str, known: Iterable[str]) -> str:
    """Return the alternatives to a name that does not exist: ` (did you mean 'x'?); there are 'x', 'y'`.

    All messages of the form `there is no column 'z'` end like this; `; there is none` without known names.

    Args:
        name: The unknown name.
        known: The known names.
    """
    names = list(known)
    return f"{did_you_mean(name, names)}; there are {listed(names)}" if names else "; there is none"


def printable(text: str) -> str:
    """Return the text on one line: control characters and line breaks as escapes, everything else unchanged.

    U+FFFE and U+FFFF are escaped too: they are not characters, and XML forbids them.
    """
    if text.isascii() and text.isprintable():
        return text
    control = ("Cc", "Cs", "Zl", "Zp")
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in control or c in "\ufffe\uffff" else c
        for c in text
    )


def visible(text: str) -> str:
    """Return texts of other people in `printable` form, with escapes for invisible marks and look-alike letters.

    Joiners that belong to the spelling of a script stay. Invisible marks can turn the direction of the text around them
    and make a line read as another one (Boucher and Anderson, "Trojan Source", 2021). Three groups make
    one word look like another: letters of another script that look Latin; mathematical and full-width letters; and
    marks over a letter that no script combines with it. Unassigned code points are escaped too.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_seen, _marked(unicodedata.normalize("NFC", text))))


def is_marked(text: str) -> bool:
    """Return whether `visible` would escape a character of a text other than a line break."""
    lines = unicodedata.normalize("NFC", " ".join(text.splitlines()))
    return visible(lines) != lines


def _seen(character: str) -> str:
    """Return a character, or its escape if it is invisible, unassigned or a control character; an escape stays."""
    if len(character) > 1 or character in JOINERS or unicodedata.category(character) not in ("Cf", "Cn"):
        return printable(character)
    return _escape(character)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _marked(text: str) -> Iterator[str]:
    """Yield each character, or its escape if it may be mistaken for another."""
    has_latin = any(_is_latin(character) for character in text)
    last = ""
    for word in _WORDS.findall(text):
        is_mixed = any(map(_is_latin, word))
        is_twin = len(word) > 1 and all(character in TWINS for character in word)
        for character in word:
            combines = unicodedata.category(character) in ("Mn", "Me") and _is_plain(last)
            twin = character in TWINS and (is_mixed or (is_twin and has_latin))
            yield _escape(character) if combines or twin or _is_styled(character) else character
            last = last if combines else character


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN ")


def _is_plain(base: str) -> bool:
    """Return whether a character could be one code point together with marks over it, if a script combined them."""
    return not base or unicodedata.name(base, "").startswith(("LATIN ", "GREEK ", "CYRILLIC ", "DIGIT ", "SPACE"))


def _is_styled(character: str) -> bool:
    """Return whether a character is an ASCII letter or digit in another form: mathematical, full-width, in a circle."""
    folded = unicodedata.normalize("NFKC", character)
    return not character.isascii() and folded.isascii() and folded.isalnum() and unicodedata.category(character) != "No"

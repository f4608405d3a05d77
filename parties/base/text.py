"""Words for messages: others' text made visible, values quoted and listed, near misses named."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator

JOINERS = "\u200c\u200d"
# Letters that look Latin: Cyrillic, Greek, Armenian, Cherokee.
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
    """Return a whole fingerprint, however spelled, as `identity.fingerprint` writes it; None if it is none."""
    return bytes.fromhex(text.replace(":", "")).hex(":").upper() if _FINGERPRINT.fullmatch(text) else None


def quoted(text: str, limit: int = 60) -> str:
    """Return a value for a message: in quotes, on one line, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def listed(values: Iterable[str], limit: int = 8) -> str:
    """Return the first values for a message, and how many there are if that is not all."""
    names = [quoted(value) for value in values]
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest known word, or nothing if none is near."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.65)
    return f" (did you mean {quoted(folded[near[0]])}?)" if near else ""


def instead(name: str, known: Iterable[str]) -> str:
    """Return what there is instead of a name that is not there: ` (did you mean 'x'?); there are 'x', 'y'`.

    One ending for all messages of the kind `there is no column 'z'`; `; there is none` if nothing is known.
    """
    names = list(known)
    return f"{did_you_mean(name, names)}; there are {listed(names)}" if names else "; there is none"


def printable(text: str) -> str:
    """Return the text on one line: control characters and line breaks as escapes, everything else as it is.

    So are U+FFFE and U+FFFF, which stand for no character and which XML forbids.
    """
    control = ("Cc", "Cs", "Zl", "Zp")
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in control or c in "\ufffe\uffff" else c
        for c in text
    )


def visible(text: str) -> str:
    """Do as `printable`, and escape numbers of no character, marks that are not seen and what reads as another letter.

    But for joiners that are part of how scripts are written. Marks that are not seen turn the direction of the text
    around them and make a line read as another one (Boucher and Anderson, "Trojan Source", 2021). Letters of another
    script that look Latin, mathematical and full-width letters, and marks over a letter that belong to no letter of a
    script make one word read as another. For text that others wrote.
    """
    return "".join(map(_seen, _marked(unicodedata.normalize("NFC", text))))


def is_marked(text: str) -> bool:
    """Return whether `visible` marks anything in a text but line breaks."""
    lines = unicodedata.normalize("NFC", " ".join(text.splitlines()))
    return visible(lines) != lines


def _seen(character: str) -> str:
    """Return a character, or the escape that `_marked` or `printable` has made of it."""
    if len(character) > 1 or character in JOINERS or unicodedata.category(character) not in ("Cf", "Cn"):
        return printable(character)
    return _escape(character)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _marked(text: str) -> Iterator[str]:
    """Yield each character, or its escape if it may stand for another."""
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
    """Return whether marks over a character would be part of it, as one number, if a script had the two together."""
    return not base or unicodedata.name(base, "").startswith(("LATIN ", "GREEK ", "CYRILLIC ", "DIGIT ", "SPACE"))


def _is_styled(character: str) -> bool:
    """Return whether a character is an ASCII letter or digit in another form: mathematical, full-width, in a circle."""
    folded = unicodedata.normalize("NFKC", character)
    return not character.isascii() and folded.isascii() and folded.isalnum() and unicodedata.category(character) != "No"

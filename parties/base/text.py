"""Words for messages: others' text made visible, values quoted and listed, near misses named."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

JOINERS = "\u200c\u200d"
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
    """Do as `printable`, and escape numbers of no character and marks that are not seen.

    But for those that are part of how scripts are written. Such marks turn the direction of the text around them and
    make a line read as another one (Boucher and Anderson, "Trojan Source", 2021). For text that others wrote.
    """
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cf", "Cn") and c not in JOINERS else c
        for c in printable(text)
    )

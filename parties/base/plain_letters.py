"""ASCII replacements of branches, bars and dashes, for a terminal or a file whose encoding lacks them."""

from __future__ import annotations

import codecs

PLAIN_LETTERS = "smc-plain-letters"  # the name of the error handler
_FORMS = {
    **dict.fromkeys("─╌╴╶–—−", "-"),
    **dict.fromkeys("│├┤┬┼╷╵", "|"),
    **dict.fromkeys("└┴┘┐┌╰╯╭╮", "`"),
    **dict.fromkeys("━═", "="),
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
}


def plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement of characters that an encoding lacks: their form in ASCII, or their code point."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    forms = (_FORMS.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters)
    return "".join(forms), error.end


codecs.register_error(PLAIN_LETTERS, plain)

"""Normal forms of keys: public rules by which two spellings of one key become one text.

A form is a list of steps, such as `accents+case+spaces` for a name or `date:dmy` for a birth date. Both parties apply
it to their own cells, and the steps are part of the agreed job. Every form begins with Unicode NFC and without outer
spaces. A cell that is empty in its normal form is missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise

from smc.errors import InputError

MISSING = frozenset({"", "?"})  # cells without a value
ORDERS = {"ymd", "dmy", "mdy"}  # of year, month and day in a date without a four-digit year in front


class UnreadableError(ValueError):
    """A cell that a step cannot read."""


def _accents(text: str) -> str:
    letters = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _digits(text: str) -> str:
    return "".join(str(unicodedata.digit(letter)) for letter in text if letter.isdigit())


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())


def _initials(text: str) -> str:
    return "".join(word[0] for word in re.findall(r"\w+", text))


SOUNDS = {
    letter: code for code, letters in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1) for letter in letters
}


def _soundex(text: str) -> str:
    """Return the American Soundex code: h and w do not separate letters of one code, vowels do."""
    letters = [letter for letter in _accents(text).casefold() if letter.isalpha()]
    if not letters:
        return ""
    heard = [letters[0], *(letter for letter in letters[1:] if letter not in "hw")]
    codes = [SOUNDS.get(letter, 0) for letter in heard]
    kept = [str(code) for before, code in pairwise(codes) if code and code != before]
    return "".join((letters[0].upper(), *kept))[:4].ljust(4, "0")


def _year(text: str) -> str:
    years = re.findall(r"\d{4}", text)
    if len(years) != 1:
        raise UnreadableError
    return str(years[0])


def _date(order: str) -> Callable[[str], str]:
    from datetime import date

    def read(text: str) -> str:
        parts = re.findall(r"\d+", _ascii(text))
        if len(parts) == 1 and len(parts[0]) == 8:
            (whole,) = parts
            widths = [4 if part == "y" else 2 for part in order]
            parts = [whole[sum(widths[:i]) : sum(widths[: i + 1])] for i in range(3)]
        if len(parts) != 3 or re.search(r"[^\d\s./:T-]", text):
            raise UnreadableError
        named = dict(zip("ymd" if len(parts[0]) == 4 else order, parts, strict=True))
        if len(named["y"]) != 4:
            raise UnreadableError
        try:
            return date(int(named["y"]), int(named["m"]), int(named["d"])).isoformat()
        except ValueError:
            raise UnreadableError from None

    return read


def _ascii(text: str) -> str:
    return "".join(str(unicodedata.digit(letter)) if letter.isdigit() else letter for letter in text)


def _phone(country: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        import phonenumbers

        try:
            number = phonenumbers.parse(text, country)
        except phonenumbers.NumberParseException:
            raise UnreadableError from None
        if not phonenumbers.is_possible_number(number):
            raise UnreadableError
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)

    return read


PLAIN: dict[str, tuple[Callable[[str], str], str]] = {  # steps without an argument, and their effect
    "accents": (_accents, "marks of letters are dropped: Zoë = Zoe"),
    "case": (str.casefold, "capitals are small letters: ZOE = zoe, Straße = strasse"),
    "spaces": (lambda text: " ".join(text.split()), "spaces in a row are one"),
    "letters": (_letters, "only letters and digits stay: O'Neil-Smith = ONeilSmith"),
    "digits": (_digits, "only digits stay, in any script: 12-34 = 1234"),
    "zeros": (lambda text: text.lstrip("0"), "leading zeros are dropped: 0012 = 12"),
    "soundex": (_soundex, "the sound of a name in English: Robert = Rupert = R163"),
    "year": (_year, "the year of a date: 1990-02-01 = 1990"),
    "initials": (_initials, "the first letter of each word: Ada Lovelace = AL"),
}
WITH_ARGUMENT = {
    "date": "date:dmy, date:mdy or date:ymd: 1.2.1990 = 1990-02-01",
    "phone": "phone:COUNTRY, such as phone:CH: 079 123 45 67 = +41791234567",
}


@dataclass(frozen=True)
class Form:
    """The normal form of a column: its steps, in the order in which they are applied."""

    text: str
    steps: tuple[Callable[[str], str], ...]

    @classmethod
    def of(cls, text: str) -> Form:
        """Return the form that a text such as `accents+case` names.

        Raises:
            InputError: A step does not exist, or lacks its argument.

        Examples:
            >>> Form.of("accents+case+spaces").normal("  Zoë  MÜLLER")
            'zoe muller'
            >>> Form.of("date:dmy").normal("1.2.1990")
            '1990-02-01'
        """
        return cls(text, tuple(_step(name.strip()) for name in text.split("+")))

    @property
    def needs(self) -> tuple[str, ...]:
        """The optional packages that its steps import."""
        return ("phonenumbers",) if "phone:" in self.text else ()

    def normal(self, cell: str | None) -> str | None:
        """Return the normal form of a cell; None if it is missing, "?", or empty in its normal form.

        Raises:
            UnreadableError: A step cannot read the cell.
            ImportError: A step needs a library that is not installed.
        """
        if cell is None or (text := unicodedata.normalize("NFC", cell).strip()) in MISSING:
            return None
        for step in self.steps:
            text = step(text)
        return unicodedata.normalize("NFC", text).strip() or None


AS_WRITTEN = Form("", ())


def table_versions(forms: Iterable[Form]) -> dict[str, str]:
    """Return the versions of the packages behind some forms. With other versions, equal cells may become other keys.

    A package that is not installed has no version. The version of Unicode is left out: Unicode promises that NFC, NFD
    and case folding of an assigned character never change (Unicode Character Encoding Stability Policies).
    """
    packages = sorted({package for form in forms for package in form.needs})
    return {package: version(package) for package in packages if find_spec(package) is not None}


def _step(name: str) -> Callable[[str], str]:
    kind, colon, argument = name.partition(":")
    if not colon and kind in PLAIN:
        return PLAIN[kind][0]
    if kind == "date" and argument in ORDERS:
        return _date(argument)
    if kind == "phone" and re.fullmatch("[A-Z]{2}", argument):
        return _phone(argument)
    if kind in WITH_ARGUMENT:
        raise InputError(f"forms: write {kind} as {WITH_ARGUMENT[kind].partition(': ')[0]}, not '{name}'")
    known = ", ".join([*PLAIN, *(f"{one}:..." for one in WITH_ARGUMENT)])
    raise InputError(f"forms: there is no step '{name}'; name some of {known}")


def normal_column(form: Form, cells: Iterable[str | None]) -> tuple[list[str | None], int]:
    """Return the normal forms of a column's cells, and the number of cells that the form cannot read.

    Args:
        form: The form.
        cells: The cells; None if one is missing. Unreadable cells become None.
    """
    normal: dict[str | None, str | None] = {}
    unreadable: set[str | None] = set()
    out, count = [], 0
    for cell in cells:
        if cell not in normal:
            try:
                normal[cell] = form.normal(cell)
            except UnreadableError:
                normal[cell] = None
                unreadable.add(cell)
        count += cell in unreadable
        out.append(normal[cell])
    return out, count

"""Readings of a raw column: ways to read its cells as numbers, dates or times, and the choice among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from parties.alone.preparing.spellings import CLOCKS, DATES
from parties.base.text import did_you_mean, quoted
from parties.sources.mapping import TIME, clock_pattern, day_of, number_of
from parties.sources.settings import EXCEL, FormatSettings, day_and_clock, is_encoding
from smc.errors import InputError

MOST = 0.8  # least share of a sample that fits a reading: other texts may be codes for a missing value
CODE = re.compile(r"0\d{2,}|\+\d{8,}")  # digits that are not a number: a postcode, a padded code, a telephone number
SIGN = re.compile(r"[(\u2212\u2013]|-$")  # marks of a negative number, other than a `-` before it
CURRENCY = re.compile(
    r"(?:\b[A-Z]{1,2})?[€$£¥₹₽₩₺₪₫₴₦]|\bS?Fr\b\.?|\bRs\b\.?|\bkr\b\.?|(?<=\d) ?zł|(?<=\d) ?Kč|"
    r"\b(?:EUR|USD|CHF|GBP|JPY|SEK|NOK|DKK|PLN|CZK|HUF|RON|INR|CNY|AUD|CAD|BRL|TRY|ZAR|MXN)\b"
)
NO_CENTS = re.compile(r"(?<=\d)[.,][-\u2013\u2014]{1,2}(?=$|\s)")
_WORD = r"(?:[^\W\d_]{2,10}|[hdglmstyLVW])[²³23]?\.?"
UNIT = re.compile(rf"(?<=[\d.,])\s*((?:[%‰°]|°[CFK]|{_WORD})(?:/{_WORD})?)$")
NO_UNITS = re.compile(r"(?:k|m|mn|bn|mio|mrd|tsd|mill?|million|billion|lakh|crore|cr|dr|am|pm|st|nd|rd|th|er)\.?", re.I)
LIMIT = re.compile(r"^(?:[<>≤≥]=?|~|ca\.)\s*|\s*\+$")  # marks of an inexact number
MOST_UNITS = 3  # a column with more units has codes
SPACES = (" ", "\u00a0", "\u202f", "\u2009", "\u2007", "'", "\u2019")  # spaces and apostrophes between thousands
DURATION = re.compile(r"(?!24:00)\d+:[0-5]\d(?::[0-5]\d)?")  # or a time of the day, if it is below 24 hours
_LETTERS = r"[^\W\d_]{3,10}"
DAYLIKE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{8}(?!\d)|"
    rf"\d{{1,2}}\.?[ .-]?{_LETTERS}\.?[ .-]?\d{{2,4}}|{_LETTERS} \d{{1,2}}, \d{{4}}"
)
COMPACT = "%Y%m%d"  # texts of this form are whole numbers, too
ORDERS = {"d": "day-first", "m": "month-first", "b": "month-first", "B": "month-first", "Y": "year-first"}
ORDERS["y"] = ORDERS["Y"]

EXCEL_DAYS = 20_000, 60_000  # Excel's numbers of days of 1954 to 2064
CODES = "missing:"  # begins a reading that names texts without a value
FORMS = ("day-first", "month-first", "year-first", "decimal-point", "decimal-comma")
_OTHERS = re.compile(rf"until-\d{{4}}|missing:.+|value|text|number|{EXCEL}")

PLAIN = FormatSettings()


@dataclass(frozen=True)
class Reading:
    """One way to read a column: the kind of its cells, and their spelling. `name` is its name in `--reading`."""

    kind: str  # "real", "date" or "time"
    name: str
    spelling: FormatSettings = PLAIN

    def value(self, text: str) -> str | None:
        """Return a text's value in standard spelling, such as 2024-01-31 or 12.5; None if the text does not fit."""
        if self.kind == "date":
            day = day_of(text, self.spelling.dates, self.spelling.last_year)
            return None if day is None else day.isoformat()
        if self.kind == "time":
            return text if re.fullmatch(TIME, text) else None
        number = number_of(text, self.spelling)
        return None if number is None else f"{number:.15g}"


@dataclass(frozen=True)
class Question:
    """A question to the operator: which reading of a column or file (`column` "*") is right? The first is likely.

    `options` maps the names of the readings for `--reading` to descriptions. With the flag `--column`, the question is
    which of the table's columns is the attribute `column`, and `options` has the columns. With the flag `--table`, the
    question is which sheet of a workbook has the rows.
    """

    place: str
    column: str
    options: Mapping[str, str]
    flag: str = "--reading"

    @property
    def where(self) -> str:
        """The subject of the question: a file's encoding, a table's column, an attribute, or a workbook's sheet."""
        if self.flag == "--table":
            return f"{self.place}, sheet"
        kind = "column" if self.flag == "--reading" else "attribute"
        return f"{self.place}, encoding" if self.column == "*" else f"{self.place}, {kind} {quoted(self.column)}"

    @property
    def heading(self) -> str:
        """The line above the options at a terminal."""
        number = len(self.options)
        return f"{self.where} can be " + (f"read in {number} ways:" if self.flag == "--reading" else "one of these:")

    @property
    def remedy(self) -> str:
        """The flags that answer the question, with the first option as an example."""
        first = next(iter(self.options))
        return f"--table '{first}'" if self.flag == "--table" else f"{self.flag} '{self.column}={first}', or --guess"

    @property
    def text(self) -> str:
        """The question in one line."""
        return f"{self.where}: {' or '.join(f'{name} ({meaning})' for name, meaning in self.options.items())}"


Chooser: TypeAlias = Callable[[Question], str]


def refuse(question: Question) -> NoReturn:
    """Raise InputError for a question, naming the flag that would answer it."""
    first = next(iter(question.options))
    raise InputError(f"{question.text}: choose with --reading '{question.column}={first}', or give --guess")


def guess(question: Question) -> str:
    """Return the first option of a question, as `--guess` does."""
    return next(iter(question.options))


@dataclass(frozen=True)
class Choices:
    """Readings that the operator gave by column (`*` = every column), and the callback that chooses the others."""

    given: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ask: Chooser = refuse

    def of(self, column: str) -> list[str]:
        """Return the names of readings that the operator gave for a column, or for all columns."""
        return [*self.given.get(column, ()), *self.given.get("*", ())]

    def codes(self, column: str) -> list[str]:
        """Return the texts that the operator declared to mean no value in a column."""
        return [code for name in self.of(column) if name.startswith(CODES) for code in name[len(CODES) :].split(",")]

    def choose(self, question: Question) -> str:
        """Return the operator's option, or the answer of `ask`. Raise InputError if a given order does not fit."""
        named = [name for name in self.of(question.column) if name in question.options]
        asks_for_form = question.column != "*" and not question.options.keys().isdisjoint(FORMS)
        if not named and asks_for_form and (unfit := self._orders(question.column)):
            flags = " or ".join(f"--reading '{question.column}={name}'" for name in question.options)
            raise InputError(f"{question.text}: '{unfit[0]}' does not fit all cells; give {flags}")
        return named[0] if named else self.ask(question)

    def remembered(self) -> Choices:
        """Return choices that ask each question only once."""
        answers: dict[tuple[str, ...], str] = {}

        def ask(question: Question) -> str:
            key = question.place, question.column, *question.options
            if key not in answers:
                answers[key] = self.ask(question)
            return answers[key]

        return Choices(self.given, ask)

    def _orders(self, column: str) -> list[str]:
        return [name for name in self.given.get(column, ()) if name in FORMS]

    def check(self, place: str, columns: Sequence[str]) -> None:
        """Raise InputError if the operator gave a reading for a column that the table lacks.

        Args:
            place: Name of the table, for the error.
            columns: Names of its columns.
        """
        for name in self.given:
            if name != "*" and name not in columns:
                raise InputError(f"{place}: --reading: there is no column {quoted(name)}{did_you_mean(name, columns)}")


REFUSE, GUESS = Choices(), Choices(ask=guess)


def given(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the readings in texts such as `born=day-first`, by column.

    Raises:
        InputError: A text has no `=`, or an unknown reading.
    """
    by_column: dict[str, list[str]] = {}
    for text in texts:
        column, mark, name = text.rpartition("=")
        if not mark or not column or not name:
            raise InputError(f"--reading {text}: write COLUMN=READING, such as 'born=day-first'")
        if name not in FORMS and not _OTHERS.fullmatch(name) and not (column == "*" and is_encoding(name)):
            known = f"{', '.join(FORMS)}, until-YEAR, missing:CODE, value, number, text, {EXCEL}"
            raise InputError(f"--reading {text}: the reading is not one of {known}; for a file, '*=ENCODING'")
        by_column.setdefault(column, []).append(name)
    return by_column


def readings(texts: Sequence[str], table: FormatSettings, can_be_days: bool = True) -> list[Reading]:
    """Return all readings under which most texts of a sample are numbers, days or times; empty for a column of text.

    Args:
        texts: Sample of the cells.
        table: The table's spelling. Settings that it has explicitly exclude other readings.
        can_be_days: False to read texts as numbers only.
    """
    if not texts:
        return []
    days = _dates(texts, table) if can_be_days else []
    if [day.spelling.dates for day in days] == [COMPACT] and all(
        _is_recent(text) for text in texts if re.fullmatch("[0-9]+", text)
    ):
        return days
    if numbers := _numbers(texts, table):
        return numbers
    if days or not can_be_days:
        return days
    time = Reading("time", "time")
    are_durations = any(DURATION.fullmatch(text) and time.value(text) is None for text in texts)
    return [time] if _fits(time, texts) and not are_durations else []


def _is_recent(text: str) -> bool:
    return int(text) == 0 or 1900 <= int(text[:4]) <= 2100


def _fits(reading: Reading, texts: Sequence[str]) -> bool:
    needed, fitting = MOST * len(texts), 0
    for remaining, text in zip(range(len(texts) - 1, -1, -1), texts, strict=True):
        fitting += reading.value(text) is not None
        if fitting + remaining < needed:
            return False
    return fitting >= needed


def _numbers(texts: Sequence[str], table: FormatSettings) -> list[Reading]:
    if any(CODE.fullmatch(text) for text in texts):
        return []
    negative = next(
        (mark for mark, pattern in _NEGATIVE.items() if any(re.fullmatch(pattern, t) for t in texts if SIGN.search(t))),
        "-",
    )
    words = {word for text in texts for word in (*CURRENCY.findall(text), *NO_CENTS.findall(text))}
    if len(units := units_of(texts)) <= MOST_UNITS:
        words |= units
    drop = tuple(sorted(map(str.strip, words), key=lambda word: (-len(word), word)))
    mark = next(
        (
            space
            for space in SPACES
            if any(re.search(rf"\d{space}\d\d\d(?!\d)", text) for text in texts if space in text)
        ),
        "",
    )
    cents = {word[0] for text in texts for word in NO_CENTS.findall(text)}  # decimal mark of texts such as `12,-`
    found = []
    for decimal, other in ((".", ","), (",", ".")):
        if cents and decimal not in cents:
            continue
        fields: dict[str, Any] = {"decimal": decimal, "thousands": mark or other, "negative": negative, "drop": drop}
        fields |= {key: getattr(table, key) for key in fields if key in table.model_fields_set}
        if fields["decimal"] != decimal:
            continue
        reading = Reading("real", f"decimal-{'point' if decimal == '.' else 'comma'}", PLAIN.model_copy(update=fields))
        if _fits(reading, texts):
            found.append(reading)
    # Both readings fit only if one mark separates groups of three everywhere. It is more often a thousands mark.
    found.sort(key=lambda reading: not any(reading.spelling.thousands in text for text in texts))
    return found


_NEGATIVE = {
    "()": r"[^\d(]*\(.*\d.*\)[^\d)]*",
    "\u2212": ".*\u2212.*",
    "\u2013": r"\D*\u2013\s?[\d.,].*",
    "behind": r".*\d-",
}


def units_of(texts: Sequence[str]) -> set[str]:
    """Return the units or currencies behind the numbers of a sample."""
    found = {match[1] for text in texts if (match := UNIT.search(text)) and not CURRENCY.fullmatch(match[1])}
    return {unit for unit in found if not NO_UNITS.fullmatch(unit)}


def in_several_units(texts: Sequence[str], reading: Reading) -> list[str]:
    """Return an example of each unit or currency, and of a number without unit, if a sample has several units.

    Args:
        texts: Sample of the cells.
        reading: Reading of the cells as numbers.
    """
    examples: dict[str, str] = {}
    signs = {word for text in texts for word in CURRENCY.findall(text)}
    for text in texts:
        if reading.value(text) is not None:
            unit = UNIT.search(text)
            words = [*CURRENCY.findall(text), *([unit[1]] if unit else [])]
            examples.setdefault(words[0].strip() if words else "", text)
    if len(signs) == 1 and len(examples) == 2 and examples.keys() == {"", *signs}:
        return []  # one currency, and amounts without it
    return [*examples.values()] if len(examples) > 1 else []


def beyond_limits(texts: Sequence[str], reading: Reading) -> dict[str, str]:
    """Return texts such as `10+` or `<5` in a sample, each with its number (10, 5).

    Args:
        texts: Cells of the sample.
        reading: Reading of the column's numbers.
    """
    bare = {text: LIMIT.sub("", text).strip() for text in texts if reading.value(text) is None}
    return {text: value for text, of in bare.items() if of != text and (value := reading.value(of)) is not None}


def like_versions(texts: Sequence[str], reading: Reading) -> list[str]:
    """Return two texts such as `1.1` and `1.10`, which are one number but two versions; else an empty list.

    Args:
        texts: Cells of the column.
        reading: Reading of the column's numbers; it has the decimal mark.
    """
    mark, known = reading.spelling.decimal, {*texts}
    return next(
        ([text[:-1], text] for text in texts if text[-1] == "0" and mark in text[:-2] and text[:-1] in known), []
    )


def _dates(texts: Sequence[str], table: FormatSettings) -> list[Reading]:
    if table.dates == EXCEL:
        return as_excel_days(texts)
    rests = [text[match.end() :] for text in texts if (match := DAYLIKE.match(text))]
    if not rests or len(rests) < MOST * len(texts):
        return []
    clock = max(CLOCKS, key=lambda clock: _count(clock, rests))
    if _count(clock, rests) < MOST * len(texts):
        return []
    forms = [table.dates] if "dates" in table.model_fields_set else [form + clock for form in DATES]
    spellings = [PLAIN.model_copy(update={"dates": form, "last_year": table.last_year}) for form in forms]
    found = [Reading("date", order(spelling.dates), spelling) for spelling in spellings]
    return [reading for reading in found if _fits(reading, texts)]


def as_excel_days(texts: Sequence[str]) -> list[Reading]:
    """Return the reading of numbers as days that Excel counts, if most texts are then days of 1954 to 2064."""
    reading = Reading("date", EXCEL, PLAIN.model_copy(update={"dates": EXCEL}))
    first, last = EXCEL_DAYS
    found = [text for text in texts if re.fullmatch(r"\d{5}(\.\d+)?", text) and first <= float(text) <= last]
    return [reading] if texts and len(found) >= MOST * len(texts) else []


def _count(clock: str, rests: Sequence[str]) -> int:
    pattern = re.compile(clock_pattern(clock))
    return sum(pattern.fullmatch(rest) is not None for rest in rests)


def order(form: str) -> str:
    """Return the name of a date form's order, such as "day-first", from the form's first part."""
    if form == EXCEL:
        return EXCEL
    return ORDERS[day_and_clock(form)[0].lstrip()[1]]

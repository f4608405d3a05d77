"""Rules from the cells of each column to categories: a table's settings, checked against the public schema."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from parties.base.text import did_you_mean, instead, listed, quoted
from parties.sources.settings import EXCEL, ColumnSettings, FormatSettings, day_and_clock
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema
from parties.tables.spellings import readings, unaccented
from parties.tables.toml_text import toml_key
from parties.tables.types import CategoryType, FlagType, Number, OrderedType, days_of, type_of
from smc.errors import InputError

if TYPE_CHECKING:  # slow to load
    import numpy as np
    from numpy.typing import NDArray

NUMBER = r"^[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,2})?$"  # text of a number


TIME = r"([01]?[0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])([.][0-9]{1,6})?)?"
_YEAR = "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_MONTHS = (  # in English, German, Italian, French, Spanish, Portuguese and Dutch: no word is two months
    "january jan januar jänner jän gennaio gen janvier janv enero ene janeiro januari",
    "february feb februar febbraio février févr fév febrero fevereiro fev februari",
    "march mar märz mrz mär marzo mars março maart mrt",
    "april apr aprile avril avr abril abr",
    "may mai maggio mag mayo maio mei",
    "june jun juni giugno giu juin junio junho",
    "july jul juli luglio lug juillet juil julio julho",
    "august aug agosto ago août augustus",
    "september sep sept settembre set sett septembre septiembre setembro",
    "october oct oktober okt ottobre ott octobre octubre outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez dicembre dic décembre déc diciembre dezembro",
)
MONTHS = {
    spelled: month
    for month, words in enumerate(_MONTHS, 1)
    for word in words.split()
    for spelled in (word, unaccented(word))
}
_MONTH = f"((?i:{'|'.join(sorted(MONTHS, key=len, reverse=True))}))[.]?"
_NAMES = {"b": _MONTH, "B": _MONTH}
_PARTS = {  # parts of a day; leading zeros may be missing if there are separators
    True: {
        "d": "(0?[1-9]|[12][0-9]|3[01])",
        "m": "(0?[1-9]|1[0-2])",
        "j": "([0-9]{1,3})",
        "y": "([0-9]{2})",
        "Y": _YEAR,
        **_NAMES,
    },
    False: {"d": "([0-9]{2})", "m": "([0-9]{2})", "j": "([0-9]{3})", "y": "([0-9]{2})", "Y": _YEAR, **_NAMES},
}
_CLOCK = {  # parts of a time of day
    "H": "(?:[01]?[0-9]|2[0-3])",
    "I": "(?:0?[1-9]|1[0-2])",
    "M": "(?:[0-5][0-9])",
    "S": "(?:[0-5][0-9])",
    "f": "(?:[0-9]{1,9})",
    "p": "(?:[aApP][.]?[mM][.]?)",
    "z": r"(?:[zZ]|[+-][0-9]{2}(?::?[0-9]{2})?)?(?: ?[A-Z]{3,4})?(?:\[[A-Za-z_/+-]+\])?",
}
_FRACTION = "(?:[.,][0-9]{1,9})?"  # a fraction of zeros may be left out

EXCEL_EPOCH = date(1899, 12, 30)  # day 0 of Excel's count, which has a day too many before 1900-03-01
EXCEL_PATTERN = r"(6[1-9]|[7-9][0-9]|[1-9][0-9]{2,5})(?:[.][0-9]+)?"  # the fraction is the time of day

PLAIN = FormatSettings()


@cache
def day_pattern(form: str) -> str:
    """Return the regular expression of a date form's day, with a group for each part, for Python and SQL."""
    if form == EXCEL:
        return EXCEL_PATTERN
    day, clock = day_and_clock(form)
    parts = _PARTS[re.search("%[Ymdyj]%[Ymdyj]", day) is None]
    return _pattern(day.rstrip(" T"), parts) + clock_pattern(day[len(day.rstrip(" T")) :] + clock)


def clock_pattern(clock: str) -> str:
    """Return the regular expression of a time of day that follows a day, without groups.

    A cell may lack the seconds, or the time: programs leave out zeros.
    """
    if not clock.strip():
        return re.escape(clock)
    minutes, has_seconds, rest = clock.partition(":%S")
    pieces = re.split("[.,]%f", rest)
    seconds = f"(?::{_CLOCK['S']}{_FRACTION if len(pieces) > 1 else ''})?" if has_seconds else ""
    return f"(?:{_pattern(minutes, _CLOCK)}{seconds}{_pattern(pieces[-1], _CLOCK)})?"


def _pattern(form: str, parts: Mapping[str, str]) -> str:
    return "".join(
        parts[piece[1]] if piece.startswith("%") else re.escape(piece) for piece in re.split("(%.)", form) if piece
    )


def day_of(text: str, form: str, last_year: int) -> date | None:
    """Return the day that a text spells; None if the text has another form.

    Args:
        text: The text.
        form: Form of the dates.
        last_year: Last year that a year of two digits may stand for.
    """
    if (match := re.fullmatch(day_pattern(form), text)) is None:
        return None
    if form == EXCEL:
        return EXCEL_EPOCH + timedelta(int(match[1]))
    part = dict(zip(day_codes(form), match.groups(), strict=True))
    year = int(part["Y"]) if "Y" in part else last_year - (last_year - int(part["y"])) % 100
    try:
        if "j" not in part:
            name = part.get("b") or part.get("B")
            month = MONTHS[name.lower()] if name else int(part["m"])
            return date(year, month, int(part["d"]))
        day = date(year, 1, 1) + timedelta(int(part["j"]) - 1)
    except (ValueError, OverflowError):
        return None
    return day if day.year == year else None


@cache
def day_codes(form: str) -> tuple[str, ...]:
    """Return the codes of the day in a date form, such as ("d", "m", "Y"), in the form's order."""
    return tuple(re.findall("%(.)", day_and_clock(form)[0]))


@cache
def number_pattern(decimal: str, thousands: str) -> str:
    """Return the regular expression of numbers, with groups of three digits between thousands marks.

    Args:
        decimal: Decimal mark.
        thousands: Thousands mark.
    """
    if (decimal, thousands) == (".", ""):
        return NUMBER
    point, mark = re.escape(decimal), re.escape(thousands)
    parted = f"|[1-9][0-9]{{0,2}}({mark}[0-9]{{3}}){{1,12}}" if thousands else ""  # 0.500 is not 500
    parted += "|[1-9][0-9]?(,[0-9]{2}){1,9},[0-9]{3}" if thousands == "," else ""  # 12,34,567 as in India
    whole = f"([0-9]{{1,40}}{parted})({point}[0-9]{{0,40}})?"
    return rf"^[+-]?({whole}|{point}[0-9]{{1,40}})([eE][+-]?[0-9]{{1,2}})?$"


MINUS = ("\u2212", "\u2013")  # signs of a negative number other than `-`
SIGNED = {"()": r"^\((.*)\)$", "behind": "^(.*)-$"}  # patterns of negative numbers, with a group for the absolute value


def number_of(text: str, spelling: FormatSettings) -> float | None:
    """Return the number that a text spells, or None if it spells no number.

    Args:
        text: The text.
        spelling: Decimal mark, thousands mark and further marks of numbers.
    """
    for word in spelling.drop:
        text = text.replace(word, "")
    if spelling.drop:
        text = text.strip()
    if spelling.negative in MINUS:
        text = text.replace(spelling.negative, "-")
    elif spelling.negative in SIGNED:
        text = re.sub(SIGNED[spelling.negative], r"-\1", text)
    if re.match(number_pattern(spelling.decimal, spelling.thousands), text) is None:
        return None
    return float(text.replace(spelling.thousands, "").replace(spelling.decimal, "."))


@dataclass(frozen=True)
class Ranges:
    """The map from the number x of a cell to a category: index `places[i]` if edges[i-1] <= x < edges[i].

    With a `grid` (low, step) and no edges, the index is `places[i]` if low + i * step is nearest to x. `reads` is the
    meaning of x: a "number", the days since 1970 of a "date", or the seconds of a "time" of day.
    """

    edges: tuple[Number, ...]
    places: tuple[int, ...]
    reads: str = "number"
    grid: tuple[Number, Number] | None = None

    def place(self, x: Number) -> int:
        """Return the index of a number's category. Numbers beyond the ends belong to the first or the last."""
        if self.grid is None:
            return self.places[bisect_right(self.edges, x)]
        low, step = self.grid
        nearest = math.floor((float(x) - low) / step + 0.5)
        return self.places[min(max(nearest, 0), len(self.places) - 1)]


@dataclass(frozen=True)
class ColumnRule:
    """The rule that maps the cells of one column to category indices of an attribute.

    First the cell's text without spaces around it is looked up in `texts`. Then its first `prefix` letters are looked
    up in `starts`. Then `ranges` place the cell's number. `missing` is the index of a cell without a value; None if the
    schema has no such category. `other` is the index of any other text; None if such texts are not in the schema.
    `spelling` and `dates` define the spelling of numbers and days.
    """

    attribute: str
    column: str
    categories: tuple[str, ...] = ()
    texts: Mapping[str, int] = field(default_factory=dict)
    ranges: Ranges | None = None
    missing: int | None = None
    spelling: FormatSettings = PLAIN
    dates: str = "%Y-%m-%d"
    prefix: int | None = None
    starts: Mapping[str, int] = field(default_factory=dict)
    other: int | None = None

    def code(self, text: str) -> int | None:
        """Return the category index of a cell's text ("" = no value); None if the text is not in the schema."""
        if (index := self.texts.get(text)) is not None:
            return index
        if self.prefix is not None and (index := self.starts.get(text[: self.prefix])) is not None:
            return index
        if not text:
            return self.missing
        if self.ranges is not None and (x := self.number(text)) is not None:
            return self.ranges.place(x)
        return self.other

    @property
    def takes_numbers(self) -> bool:
        """True if `ranges` alone decide the category of every cell that is a number."""
        return self.ranges is not None and self.ranges.reads == "number" and not any(map(is_number, self.texts))

    def place(self, x: NDArray[np.floating], places: NDArray[np.int64]) -> None:
        """Write the category index of each numeric cell; NaN is a missing value, and -1 means that it has no category.

        All other indices equal those of `Ranges.place`. The rule must have `takes_numbers`.

        Args:
            x: The cells' numbers.
            places: Filled in: the category index of each cell.
        """
        import numpy as np

        from smc.kernels import place

        assert self.ranges is not None
        numbers, missing = np.ascontiguousarray(x, dtype=np.float64), -1 if self.missing is None else self.missing
        if self.ranges.grid is not None:
            place(
                numbers, np.array([*self.ranges.grid, len(self.ranges.places) - 1], dtype=np.float64), missing, places
            )
            return
        edges = np.array(self.ranges.edges, dtype=np.float64)
        np.take(np.array(self.ranges.places), np.searchsorted(edges, numbers, side="right"), out=places)
        places[np.isnan(numbers)] = missing

    def number(self, text: str) -> Number | None:
        """Return a cell's text as a number, or as days or seconds if the ranges read these; None for another text."""
        assert self.ranges is not None
        match self.ranges.reads:
            case "date":
                return None if (day := day_of(text, self.dates, self.spelling.last_year)) is None else days_of(day)
            case "time":
                if (clock := re.fullmatch(TIME, text)) is None:
                    return None
                return int(clock[1]) * 3600 + int(clock[2]) * 60 + int(clock[4] or 0)
        return number_of(text, self.spelling)

    def complaint(self, text: str | None) -> str:
        """Return an error text for a value outside the schema; `text` None stands for a missing value."""
        if text is None or text in ("", MISSING):
            return "no value, and the schema does not list '?' (missing) for this attribute"
        if self.ranges is not None:
            wanted = f"date of the form {self.dates}" if self.ranges.reads == "date" else self.ranges.reads
            return f"{quoted(text)} is not a {wanted}"
        meant = {**self.starts, **self.texts}.items()
        others = readings(self.categories)
        allowed = [
            known for known, index in meant if (index != self.missing or known == MISSING) and known not in others
        ]
        hint = did_you_mean(text, allowed)
        by_hand = f"or what columns.{toml_key(self.attribute)}.values maps to them"
        return f"{quoted(text)} is not in the schema{hint}; allowed: {listed(allowed)}, {by_hand}"


def is_number(text: str) -> bool:
    """Return True if any engine reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def rules(
    columns: Mapping[str, ColumnSettings], schema: Schema, names: Sequence[str], spelling: FormatSettings = PLAIN
) -> list[ColumnRule]:
    """Return the rules that map cells of the named attributes to the schema, in that order.

    Args:
        columns: Settings of the columns in party.toml.
        schema: The public schema.
        names: Names of the attributes.
        spelling: Format of the table, the default of each column.

    Raises:
        InputError: The settings of any attribute do not fit the schema; the message names the key under `columns`.
    """
    for name, settings in columns.items():
        is_key = settings.model_fields_set == {"column"} and not did_you_mean(name, schema.attributes)
        if name not in schema.attributes and not is_key:
            there = instead(name, schema.attributes)
            as_key = f"; if it is a key of smc align, set derived.{toml_key(name)} instead" if settings.column else ""
            raise InputError(f"columns: {quoted(name)} is not an attribute of the schema{there}{as_key}")
    mapped = {
        name: _rule(name, categories, columns.get(name, ColumnSettings()), spelling)
        for name, categories in schema.attributes.items()
    }
    return [mapped[name] for name in names]


def _rule(name: str, categories: tuple[str, ...], settings: ColumnSettings, spelling: FormatSettings) -> ColumnRule:
    index = {category: i for i, category in enumerate(categories)}

    def place(category: str, key: str) -> int:
        if category not in index:
            hint = did_you_mean(category, categories)
            raise InputError(
                f"columns.{toml_key(name)}.{key}: {quoted(category)} is not a category of the schema{hint}; "
                f"it has {listed(categories)}"
            )
        return index[category]

    column, spelling = type_of(categories), settings.spelling(spelling)
    missing = index.get(MISSING) if settings.missing is None else place(settings.missing, "missing")
    given = {raw: place(category, "values") for raw, category in settings.values.items()}
    texts = {normalize(form, raw): index for form in ("NFC", "NFD") for raw, index in given.items()} | given
    if column is not None and settings.edges is not None:
        raise InputError(
            f"columns.{toml_key(name)}.edges: the schema already sets the ranges of this column; remove edges"
        )
    ranges = _given_ranges(name, index, settings.edges)
    prefix, starts = None, dict[str, int]()
    if isinstance(column, OrderedType):
        cuts = column.cuts
        places = tuple(range(len(cuts.labels)))
        ranges = Ranges(cuts.numbers, places[::-1] if cuts.falling else places, column.reads, cuts.grid)
    elif isinstance(column, CategoryType | FlagType):
        known = {text: index[category] for text, category in column.texts.items()}
        if isinstance(column, CategoryType) and column.prefix is not None:
            prefix, starts = column.prefix, known
        else:
            texts = {text: known[value] for text, value in readings([*known]).items()} | known | texts
    elif ranges is None:
        texts = {text: index[value] for text, value in readings(categories).items()} | index | texts
    if missing is not None:
        texts = dict.fromkeys(filter(None, spelling.missing), missing) | texts | {MISSING: missing}
    other = column.other if isinstance(column, CategoryType) else None
    return ColumnRule(
        name,
        settings.column or name,
        categories,
        texts,
        ranges,
        missing,
        spelling,
        spelling.dates,
        prefix,
        starts,
        None if other is None else index[other],
    )


def _given_ranges(name: str, index: Mapping[str, int], edges: Sequence[Number] | None) -> Ranges | None:
    """Return the ranges of an attribute whose `edges` the party's settings give; None without edges.

    `index` has the index of each category of the schema.
    """
    if edges is None:
        return None
    places = tuple(place for category, place in index.items() if category != MISSING)
    if not places:
        raise InputError(
            f"columns.{toml_key(name)}.edges: the attribute has no category for a range, only '?'; remove edges"
        )
    if len(edges) != len(places) - 1:
        raise InputError(
            f"columns.{toml_key(name)}.edges: {len(edges)} edges, but the {len(places)} categories other than '?' "
            f"need {len(places) - 1}"
        )
    return Ranges(tuple(edges), places)

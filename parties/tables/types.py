"""Types of columns in a public schema, and the categories by which each is counted.

    [attributes.age]
    type = "integer"
    low = 0
    high = 110
    edges = [18, 40, 65]     # "under 18", "18 to 39", "40 to 64", "65 and over"
    missing = true           # and "?"

A type gives the meaning of the cells in public terms, and the categories: by `edges`, a `width`, `groups`, a `prefix`
or a `granularity`. Numbers beyond the bounds belong to the first or the last range. Types with ordered cells are read
as numbers (dates as days since 1970-01-01, times as seconds of the day) and compared with `cuts`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, StringConstraints, model_validator

from parties.base.settings import Settings, validated
from parties.base.text import did_you_mean, listed, printable, quoted
from parties.tables.delimited import MISSING
from smc.errors import InputError

MOST_CATEGORIES = 1 << 16  # of one column: a peer proposes schemas, too
MOST_NUMBERS = 20_000  # of one column, each counted by itself: beyond, they are rounded to a coarser step
MOST_IN_ALL = 1 << 18  # of all columns of a schema
LARGEST = 10**15
MOST_DECIMALS = 12
EPOCH = date(1970, 1, 1)
DAY = 24 * 3600
Number: TypeAlias = int | float


def as_text(value: object) -> object:
    """Return a whole number as its decimal digits, as elsewhere in a schema file, and any other value unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _usable(text: str) -> str:
    if (problem := unusable(text)) is not None:
        raise ValueError(f"{quoted(text)} {problem}")
    return text


def unusable(text: str) -> str | None:
    """Return the reason why no cell could equal this name or value, or None."""
    if not text:
        return "is empty (a missing value is written '?')"
    if text != text.strip():
        return "has space around it"
    if printable(text) != text:
        return "contains a control character"
    return None


def _increasing(numbers: tuple[Any, ...]) -> tuple[Any, ...]:
    for lower, upper in pairwise(numbers):
        if lower >= upper:
            raise ValueError(f"must increase, but {upper} follows {lower}")
    return numbers


def _seconds(value: object) -> object:
    if isinstance(value, str):
        hours, _, rest = value.partition(":")
        minutes, _, seconds = rest.partition(":")
        parts = [hours, minutes or "0", seconds or "0"]
        if all(part.isascii() and part.isdigit() for part in parts):
            hour, minute, second = map(int, parts)
            if hour < 24 and minute < 60 and second < 60:
                return hour * 3600 + minute * 60 + second
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < DAY:
        return value
    raise ValueError(f'must be a time such as "06:30", not {value}')


def _day(value: object) -> object:
    """Return a day such as 2026-01-31, which TOML writes without quotes and JSON with quotes."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = date.fromisoformat(value)
    if type(value) is date and 1000 <= value.year <= 9000:
        return value
    raise ValueError(f"must be a day such as 2026-01-31, of a year from 1000 to 9000, not {str(value)[:60]}")


def _pairs(value: object) -> object:
    """Return groups as a table. In JSON they are pairs, because their order matters."""
    return dict(value) if isinstance(value, list) and all(isinstance(p, list) and len(p) == 2 for p in value) else value


def _listed(groups: Mapping[str, Sequence[str]]) -> list[list[Any]]:
    return [[label, list(members)] for label, members in groups.items()]


def _short(number: Number) -> Number:
    """Return the number. Raise ValueError if it has too many digits, because a peer could send a huge number."""
    if abs(number) > LARGEST or exactly(number).denominator > 10**MOST_DECIMALS:
        raise ValueError(
            f"must be at most {LARGEST:.0e} in size and have at most {MOST_DECIMALS} decimals, not {number}"
        )
    return number


Text: TypeAlias = Annotated[str, StringConstraints(max_length=1000), BeforeValidator(as_text), AfterValidator(_usable)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Field(max_length=MOST_CATEGORIES)]
Whole: TypeAlias = Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
Decimal: TypeAlias = Annotated[
    Whole | Annotated[float, Field(strict=True, allow_inf_nan=False)],
    Field(union_mode="left_to_right"),
    AfterValidator(_short),
]
Day: TypeAlias = Annotated[date, BeforeValidator(_day), PlainSerializer(date.isoformat, when_used="json")]
Moment: TypeAlias = Annotated[int, BeforeValidator(_seconds), PlainSerializer(lambda second: clock(second))]
Granularity: TypeAlias = Literal["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True)
class Cuts:
    """The map from an ordered cell's number x to a category: label i if numbers[i-1] <= x < numbers[i].

    With a `grid` (low, step) the category is the nearest of low, low + step, ...; `numbers` are not listed then. Labels
    are in the order of the numbers, or in the reverse order if `falling`.
    """

    labels: tuple[str, ...]
    numbers: tuple[Number, ...] = ()
    grid: tuple[Number, Number] | None = None
    falling: bool = False


class ColumnType(Settings, ABC):
    """Base class of the types of columns. With `missing`, cells without a value are the category `?`.

    `reads` is the sort of cell that the type expects: "text", "number", "date" or "time".
    """

    type: str
    missing: bool = False
    reads: ClassVar[str] = "text"

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories in public order, `?` for a missing value last."""
        return (*self.labels, *([MISSING] if self.missing and MISSING not in self.labels else []))

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Categories of the column, without the one for missing values."""

    def public(self) -> dict[str, Any]:
        """Return the type as plain JSON, without defaults."""
        return self.model_dump(mode="json", exclude_defaults=True) | {"type": self.type}


class CategoryType(ColumnType):
    """Texts. A cell is a value, is in a group, or is `other` if that is given.

    With a `prefix` only that number of first letters counts: the chapter of a code, the region of a postcode.
    """

    type: Literal["category"] = "category"
    values: Texts = ()
    groups: Annotated[dict[Text, Texts], BeforeValidator(_pairs), PlainSerializer(_listed, when_used="json")] = Field(
        default_factory=dict
    )
    prefix: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    other: Text | None = None

    @model_validator(mode="after")
    def _each_once(self) -> CategoryType:
        if not self.labels:
            raise ValueError("a category needs values, or groups")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("a value or group is listed twice; remove one")
        known = [*self.values, *(text for group in self.groups.values() for text in group)]
        if len(known) > len(set(known)):
            twice = next(text for text, times in Counter(known).items() if times > 1)
            raise ValueError(f"{quoted(twice)} is in two groups; keep it in one")
        if self.prefix is not None and (long := [text for text in known if len(text) > self.prefix]):
            raise ValueError(f"prefix: {quoted(long[0])} is longer than the {self.prefix} letters that are compared")
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """Values, groups, and the category of everything else."""
        return (*self.values, *self.groups, *([] if self.other is None else [self.other]))

    @property
    def texts(self) -> dict[str, str]:
        """Texts of cells or their prefixes, with the category of each."""
        members = {text: label for label, group in self.groups.items() for text in group}
        return {text: text for text in self.values} | members


class FlagType(ColumnType):
    """Yes or no, with the usual spellings of programs and languages. The table's owner maps other spellings."""

    type: Literal["flag"] = "flag"

    @property
    def labels(self) -> tuple[str, ...]:
        """Categories: yes, then no."""
        return tuple(FLAGS)

    @property
    def texts(self) -> dict[str, str]:
        """Accepted spellings, with the category of each."""
        return {
            spelled: label
            for label, words in FLAGS.items()
            for word in words
            for spelled in (word, word.capitalize(), word.upper())
        }


FLAGS = {"yes": ("yes", "y", "true", "t", "1"), "no": ("no", "n", "false", "f", "0")}


class OrderedType(ColumnType):
    """Type of a column of ordered cells, which are cut into ranges."""

    @property
    @abstractmethod
    def cuts(self) -> Cuts:
        """Ranges of the column, with their ends."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Ranges, in the order of their cells."""
        return self.cuts.labels

    @property
    def starts(self) -> tuple[str, ...]:
        """Start of each range but the first, as text."""
        return self.labels[1:]


class NumberType(OrderedType):
    """Numbers between public bounds, in ranges by `edges` or `width`, or rounded to `low`, `low` + `unit`, ..."""

    reads = "number"
    low: Decimal
    high: Decimal
    step: Annotated[Decimal, Field(gt=0)] | None = None
    edges: Annotated[tuple[Decimal, ...], AfterValidator(_increasing), Field(min_length=1)] | None = None
    width: Annotated[Decimal, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _countable(self) -> NumberType:
        if self.low >= self.high:
            raise ValueError(f"low must be below high, and {self.low} is not below {self.high}")
        if self.edges is not None and self.width is not None:
            raise ValueError("edges and width exclude each other; remove one")
        if self.edges is not None and not (self.low < self.edges[0] and self.edges[-1] <= self.high):
            raise ValueError(f"edges must lie between {self.low} and {self.high}")
        span = exactly(self.high) - exactly(self.low)
        if self.edges is None and span / exactly(self.width or self.unit) >= MOST_CATEGORIES:
            raise ValueError(f"more than {MOST_CATEGORIES} categories; give edges, or a larger width or step")
        return self

    @property
    @abstractmethod
    def unit(self) -> Number:
        """Smallest distance between two numbers of the column."""

    @property
    def cuts(self) -> Cuts:
        """Ranges between the edges, or each number alone."""
        low, high = exactly(self.low), exactly(self.high)
        if self.edges is not None:
            edges = [exactly(edge) for edge in self.edges]
        elif self.width is not None:
            edges = list(_between(low, high, exactly(self.width)))
        else:
            unit = exactly(self.unit)
            count = int((high - low) / unit) + 1
            return Cuts(tuple(decimal_text(low + place * unit) for place in range(count)), grid=(self.low, self.unit))
        return Cuts(range_labels(edges, 1 if self._whole else None), tuple(_plain(edge) for edge in edges))

    @property
    def starts(self) -> tuple[str, ...]:
        """Start of each range but the first: an edge; without edges, each number but the least."""
        cuts = self.cuts
        return tuple(decimal_text(exactly(edge)) for edge in cuts.numbers) or cuts.labels[1:]

    def numeric(self) -> NumberType:
        """Return the column with each number as a category, rounded to a step if there are too many."""
        fields = self.model_dump(exclude_unset=True, exclude={"edges", "width"})
        span = exactly(self.high) - exactly(self.low)
        if span / exactly(self.unit) >= MOST_NUMBERS:
            fields["step"] = usual_step(span)
        return validated(type(self), fields)

    @property
    def rounding(self) -> str | None:
        """Words for the numbers to which cells are rounded, such as `multiple of 5`; None if cells are not rounded."""
        low, step = exactly(self.low), exactly(self.unit)
        if self.edges is not None or self.width is not None or (self._whole and step == 1):
            return None
        if low % step == 0:
            return f"multiple of {decimal_text(step)}"
        return f"of {', '.join(decimal_text(low + place * step) for place in range(3))}, …"

    @property
    def _whole(self) -> bool:
        return isinstance(self, IntegerType)


class IntegerType(NumberType):
    """Whole numbers."""

    type: Literal["integer"] = "integer"
    low: Whole
    high: Whole
    step: Annotated[Whole, Field(gt=0)] | None = None
    edges: Annotated[tuple[Whole, ...], AfterValidator(_increasing), Field(min_length=1)] | None = None
    width: Annotated[Whole, Field(gt=0)] | None = None

    @property
    def unit(self) -> Number:
        """Step between two numbers; 1 by default."""
        return self.step or 1


class RealType(NumberType):
    """Decimal numbers."""

    type: Literal["real"] = "real"

    @property
    def unit(self) -> Number:
        """Step; by default the power of ten that makes 1,000 to 10,000 steps between the bounds."""
        if self.step is not None:
            return self.step
        return usual_step(exactly(self.high) - exactly(self.low))


class DateType(OrderedType):
    """Days from `low` to `high`, counted by a granularity; or ages in years on the day `age_at`, in ranges."""

    type: Literal["date"] = "date"
    reads = "date"
    low: Day | None = None
    high: Day | None = None
    granularity: Granularity = "month"
    age_at: Day | None = None
    edges: Annotated[tuple[Whole, ...], AfterValidator(_increasing), Field(min_length=1)] | None = None
    width: Annotated[Whole, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _either_form(self) -> DateType:
        if self.age_at is None:
            if self.edges is not None or self.width is not None:
                raise ValueError("edges and width are for ages: give age_at, or a granularity")
            if self.low is None or self.high is None or self.low >= self.high:
                raise ValueError("a date needs low and high, the earlier day first")
            if (self.high - self.low).days / SHORTEST[self.granularity] >= MOST_CATEGORIES:
                raise ValueError(f"more than {MOST_CATEGORIES} categories; give a coarser granularity")
        elif "granularity" in self.model_fields_set or self.low is not None or self.high is not None:
            raise ValueError("age_at excludes granularity, low and high, because ages are in years; remove them")
        elif (self.edges is None) == (self.width is None):
            raise ValueError("age_at needs either edges or a width, in years; give one")
        elif not all(0 < age < OLDEST for age in self.edges or (self.width or 1,)):
            raise ValueError(f"edges and width of age_at must be ages from 1 to {OLDEST - 1} years")
        return self

    @property
    def cuts(self) -> Cuts:
        """Periods from the lower to the upper bound; or ranges of ages, which fall as days rise."""
        if self.age_at is not None:
            ages = self._ages
            labels = range_labels([Fraction(age) for age in ages], 1)
            days = [days_of(_years_before(self.age_at, age)) + 1 for age in ages]  # born by then: as old, or older
            return Cuts(labels, tuple(reversed(days)), falling=True)
        assert self.low is not None
        assert self.high is not None
        starts = [start := period_start(self.low, self.granularity)]
        while (start := period_start(start + timedelta(days=STRIDE[self.granularity]), self.granularity)) <= self.high:
            starts.append(start)
        return Cuts(
            tuple(_period(start, self.granularity) for start in starts), tuple(days_of(start) for start in starts[1:])
        )

    @property
    def starts(self) -> tuple[str, ...]:
        """Start of each range but the first: an age in years, or the label of a period such as "2024-05"."""
        return self.labels[1:] if self.age_at is None else tuple(map(str, self._ages))

    @property
    def _ages(self) -> tuple[int, ...]:
        return self.edges or tuple(range(self.width or 1, OLDEST, self.width or 1))


SHORTEST = {"day": 1, "week": 7, "month": 28, "quarter": 90, "year": 365}  # days
STRIDE = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}  # days from a period's start into the next one
OLDEST = 130  # years


class TimeType(OrderedType):
    """Times of the day, by the hour or between edges such as "06:30"."""

    type: Literal["time"] = "time"
    reads = "time"
    edges: Annotated[tuple[Moment, ...], AfterValidator(_increasing), Field(min_length=1)] | None = None

    @property
    def cuts(self) -> Cuts:
        """Hours, or the parts of the day between the edges."""
        if self.edges is None:
            return Cuts(tuple(f"{hour:02}:00" for hour in range(24)), tuple(hour * 3600 for hour in range(1, 24)))
        words = [clock(edge) for edge in self.edges]
        inner = [f"{start} to before {end}" for start, end in pairwise(words)]
        return Cuts((f"before {words[0]}", *inner, f"{words[-1]} and after"), self.edges)

    @property
    def starts(self) -> tuple[str, ...]:
        """Start of each range but the first, such as 06:30."""
        return tuple(clock(int(edge)) for edge in self.cuts.numbers)


class KeyType(ColumnType):
    """Key that tells rows or persons apart. It is never an attribute and never counted."""

    type: Literal["key"] = "key"

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty: a key column has no categories."""
        return ()


TYPES: dict[str, type[ColumnType]] = {
    kind.model_fields["type"].default: kind
    for kind in (CategoryType, FlagType, IntegerType, RealType, DateType, TimeType, KeyType)
}


class Domain(tuple[str, ...]):
    """Categories of a column in public order, with their type. Equal domains have equal categories and equal types."""

    column: ColumnType

    def __new__(cls, column: ColumnType) -> Domain:
        """Create the domain of a type; its categories follow from the type."""
        domain = super().__new__(cls, column.categories)
        domain.column = column
        return domain

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.column == other.column and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple(self), self.column.type))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.column,)


def type_of(values: Sequence[str]) -> ColumnType | None:
    """Return the type of a column's categories; None for a plain list."""
    return values.column if isinstance(values, Domain) else None


def ranges_as_classes(name: str, values: Sequence[str]) -> list[str]:
    """Return a remark, in a list, that a numeric target's classes are ranges; an empty list for other columns.

    Args:
        name: Name of the target.
        values: Its values in the schema.
    """
    kind = type_of(values)
    if not isinstance(kind, NumberType) or kind.cuts.grid is not None:
        return []
    return [
        f"{quoted(name)} is a number, and its {len(kind.labels)} ranges are the classes: for the number itself "
        "smc regress --method least-squares, or smc boost --objective squared"
    ]


def rounded_numbers(name: str, values: Sequence[str]) -> list[str]:
    """Return a remark, in a list, that a column's numbers are rounded before counting; empty for other columns.

    Args:
        name: Name of the column.
        values: Its values in the schema.
    """
    kind = type_of(values)
    if not isinstance(kind, NumberType) or kind.rounding is None:
        return []
    return [f"Each number of {name} counts as the nearest {kind.rounding}."]


def read_type(fields: Mapping[str, Any]) -> ColumnType:
    """Return the type of a table in a schema file or in the peer's schema.

    Raises:
        InputError: A key is wrong; the message names it.
    """
    name = fields.get("type")
    if name == "text":
        raise InputError("free text is never counted: leave the column out, or list its words as groups of a category")
    if not isinstance(name, str) or name not in TYPES:
        problem = "is missing (values are a list)" if name is None else f"{quoted(str(name))} is none"
        hint = did_you_mean(str(name), TYPES) if name is not None else ""
        raise InputError(f"type: {problem}{hint}; there are {listed([*TYPES])}")
    return validated(TYPES[name], fields)


def exactly(number: Number) -> Fraction:
    """Return the exact value of a number's shortest decimal text."""
    return Fraction(repr(number))


def usual_step(span: Fraction) -> Number:
    """Return the power of ten that cuts a span into 1,000 to 10,000 steps."""
    return _plain(Fraction(10) ** math.floor(math.log10(float(span) / 1000)))


def decimal_text(number: Fraction) -> str:
    """Return a number with finitely many decimals as text, without an exponent."""
    digits = 0
    while (number * 10**digits).denominator > 1 and digits < 400:
        digits += 1
    whole = abs(int(number * 10**digits))
    text = str(whole).rjust(digits + 1, "0")
    return ("-" if number < 0 else "") + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)


def range_labels(edges: Sequence[Fraction], unit: Number | None) -> tuple[str, ...]:
    """Return descriptions of the ranges between edges.

    Args:
        edges: The edges, in order.
        unit: Step of the numbers, for ranges such as "18 to 39"; None for "18 to under 40".
    """
    words = [decimal_text(edge) for edge in edges]
    if unit is None:
        inner = [f"{low} to under {high}" for low, high in pairwise(words)]
    else:
        lasts = [decimal_text(edge - exactly(unit)) for edge in edges]
        inner = [low if low == last else f"{low} to {last}" for low, last in zip(words, lasts[1:], strict=False)]
    return (f"under {words[0]}", *inner, f"{words[-1]} and over")


def days_of(day: date) -> int:
    """Return a day as the number of days since 1970-01-01."""
    return (day - EPOCH).days


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else float(number)


def _between(low: Fraction, high: Fraction, width: Fraction) -> Iterable[Fraction]:
    """Yield the edges of ranges of one width, above the lower bound and up to the upper one; at least one."""
    edge = low + width
    yield edge
    while (edge := edge + width) <= high:
        yield edge


def _years_before(day: date, years: int) -> date:
    try:
        return day.replace(year=day.year - years)
    except ValueError:  # the 29th of February
        return date(day.year - years, 2, 28)


def period_start(day: date, granularity: Granularity) -> date:
    """Return the first day of the period that contains a day.

    Args:
        day: The day.
        granularity: Length of a period, such as a month.
    """
    match granularity:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        case "year":
            return date(day.year, 1, 1)


def _period(start: date, granularity: Granularity) -> str:
    match granularity:
        case "day":
            return start.isoformat()
        case "week":
            year, week, _ = start.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return f"{start:%Y-%m}"
        case "quarter":
            return f"{start.year}-Q{(start.month + 2) // 3}"
        case "year":
            return f"{start.year}"


def clock(second: int) -> str:
    """Return a second of the day as hours and minutes, with seconds if there are some."""
    hours, rest = divmod(second, 3600)
    return f"{hours:02}:{rest // 60:02}" + (f":{rest % 60:02}" if rest % 60 else "")

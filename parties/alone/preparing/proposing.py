"""Proposal of a public schema, the table's mapping to it, and remarks, from the profile of a raw table.

The schema reveals the target's values, other values of ten or more rows, and rounded bounds of numbers and dates, but
no frequencies. The operator can correct every guess in the files.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.deriving import BIRTH, offers
from parties.alone.preparing.doubts import doubts
from parties.alone.preparing.leaks import in_ranges, leak
from parties.alone.preparing.mapping import column_settings
from parties.alone.preparing.spellings import NO_VALUE
from parties.base.text import listed, quoted
from parties.sources.mapping import day_of, number_of
from parties.tables.delimited import MISSING
from parties.tables.schema import Schema, value_order
from parties.tables.spellings import canonical, composed
from parties.tables.toml_text import toml_key
from parties.tables.types import (
    EPOCH,
    STRIDE,
    Domain,
    Granularity,
    KeyType,
    NumberType,
    days_of,
    decimal_text,
    exactly,
    period_start,
    ranges_as_classes,
    read_type,
    type_of,
    unusable,
)
from smc.errors import InputError

MOST_VALUES = 64  # most values of a category column
MOST_CODES = 5  # most distinct negative numbers that may mean no value
FEW_NUMBERS = 16  # whole numbers over a smaller span are counted one by one
AGES = (18, 40, 65, 80)  # starts of the ranges of ages
RARE = 10  # least number of rows of a value that the schema may reveal
RANGES = 6  # approximate number of ranges of a number column
LONG = 30  # letters: a column of longer texts on average is free text
LONGEST = 200  # letters of the longest public value
FREE_TEXT = "free text: group its values, or leave the column out"
OTHER = "other"
LONG_CODE = 100_000  # a number of six digits or more may name a row
KEY = "nearly one value a row"
# Span in days up to which dates are counted by the first period, with bounds rounded to the second.
PERIODS: tuple[tuple[float, Granularity, Granularity], ...] = (
    (90, "week", "month"),
    (500, "month", "quarter"),
    (2200, "quarter", "year"),
    (math.inf, "year", "year"),
)
EARLIEST, LATEST = (days_of(day) for day in (date(1850, 1, 1), date(2150, 12, 31)))
IDENTIFIER = re.compile(
    r"(^|[_\W])(id|key|nr|no|num|number|nummer|uuid|code)$|(Nr|ID|Id|Nummer|Key)$|^(n[°º]|№)", re.IGNORECASE
)

CODE = re.compile(  # names of columns whose whole numbers are codes, so that their sums have no meaning
    r"(^|[_\W])((zip|post|postal|plz|fips|icd)([_\W]?code)?|postleitzahl|zipcode|code)$|(Code|Plz|PLZ|Zip)$",
    re.IGNORECASE,
)

PERSON = re.compile(
    r"((patient|person|subject|member|customer|client|user|insured|household|kunde)(e?n|s)?[\W_]*"
    r"(id|key|nr|no|num|number|nummer|code|hash|pseudonym)?|^pid)$",
    re.IGNORECASE,
)
FEWEST, MOST = 20, 20  # least number of people that a column names; more rows than this per value indicate a category


@dataclass(frozen=True)
class ColumnProposal:
    """Proposal for a column: `domain` has its categories, empty for a key, and `holds` describes its cells.

    `domain` is None if the column is left out; `aside` is the reason.
    """

    name: str
    holds: str
    domain: tuple[str, ...] | None = None
    aside: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnPair:
    """A column of ours beside an attribute of the peer's schema, "" if it has no pair; `state` tells how they fit."""

    ours: str
    theirs: str
    state: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableProposal:
    """A proposed schema, the proposals for each column, and remarks on several columns."""

    schema: Schema
    columns: tuple[ColumnProposal, ...]
    remarks: tuple[str, ...] = ()
    mapping: dict[str, dict[str, Any]] = field(default_factory=dict)  # `[tables.NAME.columns]`
    stubs: tuple[str, ...] = ()  # comments in `mapping`: attributes whose column the operator must name
    pairs: tuple[ColumnPair, ...] = ()  # columns and attributes side by side, if the schema is the peer's


def propose(
    table: TableProfile, target: str | None = None, exclude: Sequence[str] = (), today: date | None = None
) -> TableProposal:
    """Return a proposed schema for a raw table. Raise InputError if the target or all columns cannot be attributes.

    Args:
        table: Profile of the raw table.
        target: Name of the class column; None for no target.
        exclude: Names of columns to leave out.
        today: Date whose year sets the reference day of ages, 1 January. None: the present date.
    """
    year = (today or date.today()).year
    proposals = [
        ColumnProposal(column.name, holds(column), aside="left out by --exclude")
        if column.name in exclude
        else _propose(column, table, target, year)
        for column in table.columns
    ]
    offered = offers(table) | {column.name: _doubled(column) for column in table.columns if names_people(column)}
    proposals = [
        replace(p, remarks=(*p.remarks, offered[p.name])) if p.name in offered and p.name not in exclude else p
        for p in proposals
    ]
    proposals += [ColumnProposal(name, "-", aside=why) for name, why in table.unfit.items()]
    attributes: dict[str, tuple[str, ...]] = {composed(p.name): p.domain for p in proposals if p.domain}
    named, target = target, None if target is None else composed(target)
    keys = tuple(p.name for p in proposals if p.domain is not None and not p.domain)
    if target is not None and target not in attributes:
        why = next(p.aside for p in proposals if p.name == named)
        raise InputError(f"{table.place.label}: column {quoted(target)} cannot be the target: {why}")
    if not attributes:
        raise InputError(f"{table.place.label}: no other column can be an attribute; include more columns")
    schema = Schema(attributes, target, keys)
    mapping = {
        name: column_settings(c, table, name, attributes[name])[0]
        for c in table.columns
        if (name := composed(c.name)) in attributes
    }
    mapping = {name: settings for name, settings in mapping.items() if settings}
    return TableProposal(schema, tuple(proposals), (*table.remarks, *_twins(table, attributes)), mapping)


def _propose(column: ColumnProfile, table: TableProfile, target: str | None, year: int) -> ColumnProposal:
    """Return the proposal for one column; `year` is the reference year of ages."""
    text = holds(column)
    is_target = column.name == target
    if problem := unusable(column.name):
        return ColumnProposal(column.name, text, aside=f"its name {problem}")
    if not column.distinct and table.rows:
        return ColumnProposal(column.name, text, aside="it is empty")
    if not column.distinct:
        return ColumnProposal(
            column.name, text, (MISSING,), remarks=("the table has no row: take the values from the peer's schema",)
        )
    if broken := next((word for word in column.odd if word and unusable(word)), None):
        return ColumnProposal(column.name, text, aside=f"its cell {quoted(broken)} {unusable(broken)}")
    missing = lacks_some(column, table)
    if is_key(column) and not is_target:
        undo = "" if column.reads == "text" else "; if it measures something, give it low, high and edges in the schema"
        doubled = column.rows - column.distinct
        twice = (_doubled(column),) if doubled else ()
        return ColumnProposal(
            column.name,
            text,
            Domain(KeyType()),
            remarks=(*column.remarks, f"{KEY}: taken for a key{undo}", *twice, *doubts(column)),
        )
    if is_key(column) and (column.reads == "text" or IDENTIFIER.search(column.name)):
        return ColumnProposal(column.name, text, aside=f"{KEY}: it identifies rows")
    try:
        fields, remarks = _fields(column, table, is_target, year)
        domain = _domain(fields | ({"missing": True} if missing else {}))
    except InputError as error:
        return ColumnProposal(column.name, text, aside=str(error))
    if not is_target and column.reads == "integer" and _is_nearly_unique(column):
        remarks = [*remarks, f"{KEY}: if it identifies rows, --exclude leaves it out"]
    remarks = [*remarks, *doubts(column)]
    if is_target and is_key(column):
        remarks = [*remarks, f"{KEY}: is it an identifier instead of a target?"]
    if is_target:
        remarks = [*remarks, *_rare_classes(column, domain), *ranges_as_classes(column.name, domain)]
        if column.reads == "integer" and type_of(domain) is None and len(domain) > FEW_NUMBERS:
            remarks.append(
                f"each of its {len(domain)} numbers is a class: smc regress --method least-squares takes numbers"
            )
    if missing and is_target:
        remarks = [*remarks, "rows without a value of the target are a class of their own, '?'"]
    remarks = [
        *column.remarks,
        *remarks,
        *_words(column, domain),
        *column_settings(column, table, composed(column.name), domain)[1],
    ]
    if column.distinct == 1:
        remarks = [*remarks, "it has one value only; the peer's table may have others"]
        if missing and column.reads == "text":
            name = f"columns.{toml_key(column.name)}.missing"
            remarks = [*remarks, f"if an empty cell means no, add a value for no to the schema, and set {name} to it"]
    known = leak(column.counts if column.reads == "text" else in_ranges(column.counts, _order(column)))
    if not is_target and known.is_one:
        of = f"{quoted(target or '')} = {quoted(known.label)}"
        remarks = [*remarks, f"almost decides {of} by itself: was its value known before the outcome?"]
    return ColumnProposal(column.name, text, domain, remarks=tuple(remarks))


def _order(column: ColumnProfile) -> Callable[[str], float | None]:
    """Return a function from the text of a number, date or time to a number; other texts give None."""
    if column.reads != "date":
        return lambda text: number_of(text.replace(":", ""), column.spelling)  # 07:30 as 730

    def days(text: str) -> float | None:
        day = day_of(text, column.form, column.spelling.last_year)
        return None if day is None else days_of(day)

    return days


def _words(column: ColumnProfile, domain: tuple[str, ...]) -> list[str]:
    """Return a remark on values such as `NA` that usually mean no value, but are categories here."""
    words = [value for value in domain if value in NO_VALUE]
    if not words:
        return []
    name = f"columns.{toml_key(column.name)}.values"
    return [f"{listed(words)}: a value like the others; if it means no value, map it to '?' with {name}"]


def _domain(fields: dict[str, Any]) -> tuple[str, ...]:
    """Return the categories of a type; a plain tuple for a category type with `values` alone."""
    if fields["type"] == "category" and fields.keys() <= {"type", "values", "missing"}:
        return (*fields["values"], *([MISSING] if "missing" in fields else []))
    return Domain(read_type(fields))


def holds(column: ColumnProfile) -> str:
    """Return a description of a column's contents for the operator."""
    about = f"{column.distinct:,}" if column.counts else f"about {column.distinct:,}"
    match column.reads:
        case "text":
            return f"text, {about} values"
        case "date":
            low, high = (EPOCH + timedelta(days=int(day)) for day in (column.low, column.high))
            return f"dates as {column.form}, {low} to {high}"
        case "time":
            return "times of the day"
        case _:
            words = "whole numbers" if column.reads == "integer" else "numbers"
            return f"{words}, {_short(column.low)} to {_short(column.high)}"


def _short(number: float) -> str:
    return f"{number:.10g}"


def is_key(column: ColumnProfile) -> bool:
    """Return True if a column seems to identify rows: nearly all cells differ, and are short texts or whole numbers.

    Numbers identify rows if the column's name indicates it, if they nearly fill a range, or if all are 100,000 or more.
    """
    if column.reads not in ("text", "integer") or not _is_nearly_unique(column):
        return False
    if column.reads == "text":
        return column.length <= LONG
    is_dense = column.high - column.low < 1.5 * column.distinct
    return (
        is_dense
        or column.low >= LONG_CODE
        or IDENTIFIER.search(column.name) is not None
        or PERSON.search(column.name) is not None
    )


def _is_nearly_unique(column: ColumnProfile) -> bool:
    return column.rows > 50 and column.distinct >= 0.9 * column.rows


def names_people(column: ColumnProfile) -> bool:
    """Return True if a column seems to name a person who may have several rows."""
    is_name = PERSON.search(column.name) is not None and column.reads in ("text", "integer")
    return is_name and max(FEWEST, column.rows / MOST) < column.distinct < 0.9 * column.rows


def _doubled(column: ColumnProfile) -> str:
    return (
        f"{column.rows - column.distinct:,} rows repeat a value of {quoted(column.name)}: if it names people, "
        f"give --person {shlex.quote(f'{column.name}=1')}"
    )


def _fields(column: ColumnProfile, table: TableProfile, is_target: bool, year: int) -> tuple[dict[str, Any], list[str]]:
    """Return a column's type as fields of a schema file, and remarks. Raise InputError if no type fits.

    Ages are those in `year`.
    """
    match column.reads:
        case "text":
            return as_category(column, table, is_target)
        case "date":
            fields, remarks = _date(column, year)
            return fields, [*remarks, *_after_today(column)]
        case "time":
            return {"type": "time", "edges": ["06:00", "12:00", "18:00"]}, []
    if column.reads == "integer" and is_target and column.distinct <= MOST_VALUES:
        return as_category(column, table, is_target)
    coded = column.reads == "integer" and not is_target and CODE.search(column.name) is not None
    if coded and (column.distinct <= MOST_VALUES or len({len(text) for text in column.counts}) == 1):
        try:
            fields, remarks = as_category(column, table, is_target)
        except InputError:
            pass
        else:
            return fields, [
                *remarks,
                "by its name a code: if it measures something, give it low, high and edges in the schema",
            ]
    fields, remarks = _number(column)
    if coded:
        remarks.append("by its name a code: its mean has no meaning; --exclude leaves it out")
    return fields, remarks


def lacks_some(column: ColumnProfile, table: TableProfile) -> bool:
    """Return True if some rows have no value in a column.

    Args:
        column: Profile of the raw column.
        table: Profile of the raw table.
    """
    return column.rows < table.rows or bool(column.odd) or not _codes(table).isdisjoint(column.counts)


def _codes(table: TableProfile) -> set[str]:
    return {"", MISSING, *table.spelling.missing}


def as_category(column: ColumnProfile, table: TableProfile, is_target: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the type of a column of categories, and remarks for the operator. Raise InputError if values are unfit.

    The type lists the values of 10 or more rows. If there are many values, it lists their first letters instead.

    Args:
        column: Profile of the raw column.
        table: Profile of the raw table.
        is_target: Whether the column is the target, whose values are all listed.
    """
    if column.length > LONG and not column.counts:
        raise InputError(FREE_TEXT)
    if not column.counts:
        raise InputError(
            f"about {column.distinct:,} different texts, more than {MOST_VALUES}: group them, or leave the column out"
        )
    codes = _codes(table) - ({"-"} if "+" in column.counts else set())
    rows = {value: sum(of.values()) for value, of in column.counts.items() if value not in codes}
    words = [value for value in column.counts if value in codes - {"", MISSING}]
    remarks = [f"{listed(words)}: read as a missing value, as among numbers or days"] if words else []
    prefix = None
    if len(rows) > MOST_VALUES:
        prefix, rows = _beginnings(rows)
        remarks.append(f"counted by the first {prefix} letter{'s' if prefix > 1 else ''}")
    by_spelling = Counter[str]()
    for value, meant in canonical(rows).items():
        by_spelling[meant] += rows[value]
    rows = dict(by_spelling)
    often = {value for value, number in rows.items() if number >= RARE or is_target}
    if max(map(len, often), default=0) > LONGEST:
        raise InputError(f"texts of more than {LONGEST} letters: group them, or leave the column out")
    if problems := [value for value in often if unusable(value)]:
        raise InputError(
            f"the value {quoted(problems[0])} {unusable(problems[0])}; mend the cells, or leave the column out"
        )
    fields: dict[str, Any] = {"type": "category", "values": sorted(often, key=value_order)}
    if prefix is not None:
        fields["prefix"] = prefix
    if rare := len(rows.keys() - often - {OTHER}):
        fields |= {"values": sorted(often - {OTHER}, key=value_order), "other": OTHER}  # a cell `other` belongs to them
        remarks.append(f"{rare} value{'s' if rare > 1 else ''} of fewer than {RARE} rows: counted as {quoted(OTHER)}")
    if not often:
        raise InputError(f"no value occurs in {RARE} rows or more")
    return fields, remarks


def _rare_classes(column: ColumnProfile, domain: tuple[str, ...]) -> list[str]:
    """Return a remark on target classes of fewer than ten rows, with a type that groups them."""
    rows = {value: sum(of.values()) for value, of in column.counts.items()}
    few = [value for value in domain if value != MISSING and value in rows and rows[value] < RARE]
    often = [value for value in domain if value != MISSING and value not in few and value != OTHER]
    if not few or type_of(domain) is not None:  # a type has put rare values into ranges or groups already
        return []
    if column.reads == "integer" and len(numbers := _often(column)) > 1:
        width = max(nice(Fraction(numbers[-1] - numbers[0], RANGES)), Fraction(1))
        grouped = f'type = "integer", low = {numbers[0]}, high = {numbers[-1]}, width = {_plain(width)}'
    else:
        grouped = f'type = "category", values = [{", ".join(map(quoted, often))}], other = "{OTHER}"'
    whole = "{ " + grouped + (", missing = true" if MISSING in domain else "") + " }"
    return [
        f"{listed(few, 5)}: fewer than {RARE} rows each, but the schema shows them to the peer; group them, as {whole}"
    ]


def _beginnings(rows: dict[str, int]) -> tuple[int, dict[str, int]]:
    """Return the longest prefix length that gives few enough values, and the rows by prefix.

    Raise InputError if no length does.
    """
    for length in (5, 4, 3, 2, 1):
        short: dict[str, int] = {}
        for value, number in rows.items():
            start = value[:length].strip()
            short[start] = short.get(start, 0) + number
        if 1 < len(short) <= MOST_VALUES:
            return length, short
    raise InputError(f"{len(rows)} different values, more than {MOST_VALUES}: group them, or leave the column out")


def _date(column: ColumnProfile, year: int) -> tuple[dict[str, Any], list[str]]:
    """Return a date type whose granularity gives some ten periods, and remarks. Dates of birth become ages.

    Dates outside 1850 to 2150, such as 9999-12-31, do not move the bounds: they join the first or last period.
    """
    first, last = max(column.low, EARLIEST), min(column.high, LATEST)
    if first > last or (first == last and column.distinct > 1):
        raise InputError("days that are not from 1850 to 2150")
    remarks = (
        [] if (first, last) == (column.low, column.high) else ["some days are of other centuries: are they codes?"]
    )
    low, high = (EPOCH + timedelta(days=int(day)) for day in (first, last))
    if last - first > 50 * 365 and BIRTH.search(column.name):
        at = date(year, 1, 1)  # public: it must not follow from the newest birth
        return {"type": "date", "age_at": at, "edges": list(AGES)}, [*remarks, f"becomes the age on {at}"]
    granularity, wider = next(steps for most, *steps in PERIODS if last - first <= most)
    start = period_start(low - timedelta(days=1), wider)  # the period before, if the first day begins one
    end = period_start(period_start(high + timedelta(days=1), wider) + timedelta(days=STRIDE[wider]), wider)
    return {"type": "date", "low": start, "high": end - timedelta(days=1), "granularity": granularity}, remarks


def _after_today(column: ColumnProfile) -> list[str]:
    return ["some days are after today"] if days_of(date.today()) < column.high <= LATEST else []


def _number(column: ColumnProfile) -> tuple[dict[str, Any], list[str]]:
    """Return a number type with bounds rounded outwards and ranges of equal round width, and remarks."""
    whole = column.reads == "integer"
    smallest = Fraction(1) if whole else Fraction(1, 10**column.decimals)
    low, high = round_out(column.low, column.high, smallest)
    fields: dict[str, Any] = {"type": column.reads, "low": _plain(low), "high": _plain(high)}
    remarks = like_codes(column)
    if not whole and (high - low) / smallest < 10_000:
        fields["step"] = _plain(smallest)
    if whole and column.high - column.low < FEW_NUMBERS and len(often := _often(column)) > 1:
        if (often[0], often[-1]) == (column.low, column.high):
            return fields | {"low": often[0], "high": often[-1]}, remarks
        return fields | {"edges": [*range(often[0] + 1, often[-1] + 1)]}, remarks  # the end ranges have rare numbers
    inner_low, inner_high = exactly(column.inner[0]), exactly(column.inner[1])
    width = nice(max((inner_high - inner_low) / RANGES, smallest))
    edge = (math.floor(inner_low / width) + 1) * width
    edges = []
    while edge < max(inner_high, inner_low + width) and edge < high:
        if edge > low:
            edges.append(_plain(edge))
        edge += width
    fields["edges"] = edges or [_plain(Fraction(math.ceil((low + high) / 2 / smallest)) * smallest)]
    spread = 5 * (column.inner[1] - column.inner[0])
    ends = {"greatest": column.high > column.inner[1] + spread, "least": column.low < column.inner[0] - spread}
    if not remarks:
        remarks += [
            f"its {end} number is far from the others: is it a code for a missing value?"
            for end, is_far in ends.items()
            if is_far
        ]
    kind = read_type(fields)
    assert isinstance(kind, NumberType)
    numbers = kind.numeric()
    if exactly(numbers.unit) > smallest:
        remarks.append(f"in sums and means each number counts as the nearest {numbers.rounding}")
    return fields, remarks


def like_codes(column: ColumnProfile) -> list[str]:
    """Return notes on whole numbers that may be codes for a missing value.

    They are the last numbers below a power of ten after a gap (95 to 99, 995 to 999), a 0 before a gap, or at most
    five negative numbers of which the greatest is -9 or more.
    """
    numbers = sorted(_whole_numbers(column))
    if len(numbers) < 3:
        return []
    gaps = [after - before for before, after in pairwise(numbers)]
    wide = 2 * median(sorted(gaps)[:-1])
    low = sum(number < 0 for number in numbers)
    if not low and numbers[0] == 0 and gaps[0] >= max(5 * wide, 10):
        low = 1
    codes = [numbers[:low]] if 0 < low <= MOST_CODES and numbers[low - 1] >= -9 and len(numbers) >= 2 * low + 2 else []
    end = 10 ** len(str(numbers[-1]))
    if numbers[-1] >= 7 and end - numbers[-1] <= (3 if end == 10 else 4):
        after = (i for i in range(1, len(numbers)) if numbers[i] >= end - 5 and gaps[i - 1] >= wide)
        codes += [numbers[first:] for first in after][:1]
    return [
        f"{listed(map(str, some))} at its end, after a gap: codes for a missing value? --reading "
        f"{shlex.quote(f'{column.name}=missing:{joined}')} makes them missing"
        for some in codes
        if (joined := ",".join(map(str, some)))
    ]


def _often(column: ColumnProfile) -> list[int]:
    """Return, in order, the whole numbers that ten or more rows have, so the schema may reveal them."""
    return sorted(number for number, rows in _whole_numbers(column).items() if rows >= RARE)


def _whole_numbers(column: ColumnProfile) -> Counter[int]:
    """Return the number of rows by value, for a column of few whole numbers; empty for any other column."""
    rows: Counter[int] = Counter()
    if column.reads == "integer":
        for text, of in column.counts.items():
            if text not in column.codes and (number := number_of(text, column.spelling)) is not None:
                rows[int(number)] += sum(of.values())
    return rows


def round_out(low: float, high: float, smallest: Fraction) -> tuple[Fraction, Fraction]:
    """Return public bounds of a column of numbers, rounded outwards to multiples of a round step.

    A bound equals the extreme value only if that is 0. If no number is below 0, no bound is below 0; likewise above 0.

    Args:
        low: Smallest number of the column.
        high: Largest number of the column.
        smallest: Smallest possible step of the bounds.
    """
    first, last = exactly(low), exactly(high)
    step = max(nice(max(last - first, smallest) / 10), smallest)
    below, above = (math.ceil(first / step) - 1) * step, (math.floor(last / step) + 1) * step
    return (max(below, Fraction(0)) if first >= 0 else below), (min(above, Fraction(0)) if last <= 0 else above)


def nice(number: Fraction) -> Fraction:
    """Return the smallest number 1, 2 or 5 times a power of ten that is at least the given positive number."""
    power = Fraction(10) ** math.floor(math.log10(number))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= number)


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(decimal_text(number))


def _twins(table: TableProfile, attributes: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield remarks on columns with equal counts by class, value for value: they may have the same content."""
    seen: dict[tuple[Any, ...], str] = {}
    for column in table.columns:
        if column.name not in attributes or column.name in table.derived or len(column.counts) < 2:
            continue
        shape = tuple(sorted(tuple(sorted(of.items())) for of in column.counts.values()))
        if shape in seen:
            yield f"{listed([seen[shape], column.name])} have equal counts: do they hold the same content?"
        else:
            seen[shape] = column.name

"""Column rules as SQL: from a column of any type to a category index, for every engine that sqlglot supports.

The text of a cell is its value without spaces around it. A whole number's text is its decimal digits, even in a
floating-point column. The engine writes other numbers. Truth values are `true` and `false`; dates are `2024-01-31`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp

from parties.sources.mapping import (
    EXCEL_EPOCH,
    MINUS,
    MONTHS,
    SIGNED,
    TIME,
    ColumnRule,
    Ranges,
    clock_pattern,
    day_codes,
    day_pattern,
    is_number,
    number_pattern,
)
from parties.sources.settings import EXCEL, SPELLED, FormatSettings, day_and_clock
from parties.tables.types import DAY, days_of
from smc.errors import InputError

SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())  # all that `str.strip` drops
DUCKDB_LAST_YEAR = 2068  # last year that a two-digit year stands for in DuckDB
_EXACT = 2**53  # whole floating-point numbers below this are exact


class Cell:
    """A column with its rule and type, and SQL for its text, number and category index. `lists`: the engine is DuckDB.

    Raises:
        InputError: The type cannot hold categories; the message does not name the column.
    """

    def __init__(self, rule: ColumnRule, dtype: dt.DataType, lists: bool) -> None:
        self._rule = rule
        self._type = dtype
        self._lists = lists
        self.column = exp.column(rule.column, quoted=True)
        if isinstance(dtype, dt.Array | dt.Map | dt.Struct | dt.Binary | dt.JSON | dt.Interval | dt.GeoSpatial):
            raise InputError(f"a column of type {dtype} holds no categories: turn it into text or numbers in a view")
        if rule.ranges is not None:
            self._check_reads(rule.ranges.reads)

    def _check_reads(self, reads: str) -> None:
        """Raise InputError unless the column's type fits the ranges: numbers, days or times."""
        match reads:
            case "number":
                fits = self._is_number or self._type.is_string()
            case "date":
                fits = self._type.is_date() or self._type.is_timestamp() or (self._type.is_string() and self._lists)
            case _:
                fits = self._type.is_time() or self._type.is_timestamp() or (self._type.is_string() and self._lists)
        if not fits:
            raise InputError(
                f"ranges need {reads}s, and the column is of type {self._type}: make a view with a column of {reads}s"
            )

    @property
    def text(self) -> exp.Expr:
        """Text of the cell; NULL for NULL."""
        text = exp.cast(self.column.copy(), "TEXT")
        if self._type.is_floating() or self._type.is_decimal():
            whole = exp.TryCast if self._lists else exp.Cast  # DuckDB may cast a NaN of a Parquet file
            number = whole(this=self.column.copy(), to=exp.DataType.build("BIGINT"))
            digits = exp.cast(number, "TEXT")
            return exp.case().when(self._is_whole, digits).else_(text)
        return exp.Trim(this=text, expression=exp.Literal.string(SPACE)) if self._is_text else text

    @property
    def index(self) -> exp.Expr:
        """Index of the category; NULL if the value is not in the schema."""
        parts = [*self._looked_up(), *self._ranged(), *self._missing(), *self._others()]
        return exp.Coalesce(this=parts[0], expressions=parts[1:]) if parts else exp.Null()

    @property
    def raw_text(self) -> exp.Expr | None:
        """Text as stored, for `ColumnRule.code`; None unless the column holds texts."""
        return exp.cast(self.column.copy(), "TEXT") if self._type.is_string() else None

    @property
    def meaning(self) -> tuple[Any, ...]:
        """Everything that decides the category index, except the column's name: columns with equal values share SQL."""
        rule = self._rule
        spelled = tuple(getattr(rule.spelling, name) for name in SPELLED)
        lookups = tuple(rule.texts.items()), rule.prefix, tuple(rule.starts.items())
        return self._type, *lookups, rule.ranges, rule.missing, rule.other, spelled, rule.dates

    @property
    def exact(self) -> exp.Expr:
        """The column for DuckDB, with texts compared letter by letter, whatever collation the column has."""
        if not self._type.is_string():
            return self.column.copy()
        return exp.Collate(this=exp.cast(self.column.copy(), "TEXT"), expression=exp.to_identifier("C", quoted=True))

    def named(self, column: str) -> Cell:
        """Return this cell with its rule applied to another column."""
        return Cell(replace(self._rule, column=column), self._type, self._lists)

    @property
    def number(self) -> exp.Expr | None:
        """Number of the cell for `ColumnRule.place`; None unless the column is numeric and the rule takes numbers."""
        if not (self._is_number and self._rule.takes_numbers):
            return None
        return self.column.copy() if self._type.is_floating() else exp.cast(self.column.copy(), "DOUBLE")

    @property
    def _is_number(self) -> bool:
        return self._type.is_integer() or self._type.is_floating() or self._type.is_decimal()

    @property
    def _is_text(self) -> bool:
        return not (self._is_number or self._type.is_boolean())

    @property
    def _is_whole(self) -> exp.Expr:
        small = exp.Between(this=self.column.copy(), low=_number(-_EXACT), high=_number(_EXACT))
        return small.and_(exp.func("FLOOR", self.column.copy()).eq(self.column.copy()))

    @property
    def _is_nan(self) -> exp.Expr:
        """SQL condition that a floating-point number is NaN: a comparison, because NaN equals NaN in SQL.

        DuckDB needs ISNAN, as it may decide a comparison by the bounds of a Parquet column, which omit NaN.
        """
        if self._lists:
            return exp.IsNan(this=self.column.copy())
        return self.column.copy().eq(exp.cast(exp.Literal.string("NaN"), "DOUBLE"))

    def _looked_up(self) -> list[exp.Expr]:
        texts = dict(self._rule.texts)
        if self._is_text and self._rule.missing is not None:
            texts[""] = self._rule.missing
        if self._rule.prefix is not None:
            start = exp.Substring(this=self.text, start=_number(1), length=_number(self._rule.prefix))
            by_start = self._choose(start, self._rule.starts)
            return [self._choose(self.text, texts), by_start] if texts else [by_start]
        if self._type.is_integer():  # compared as integers
            whole = {int(text): i for text, i in texts.items() if re.fullmatch(r"0|-?[1-9][0-9]{0,19}", text)}
            return [_choose(self.column.copy(), {_number(key): i for key, i in whole.items()})] if whole else []
        if self._is_number:  # a word is not the text of a number
            texts = {text: index for text, index in texts.items() if is_number(text)}
        if not texts:
            return []
        if not self._is_text:
            return [self._choose(self.text, texts)]
        # Few cells have spaces around them, and trimming all cells would take most of the time.
        return [self._choose(exp.cast(self.column.copy(), "TEXT"), texts), self._choose(self.text, texts)]

    def _choose(self, text: exp.Expr, indices: Mapping[str, int]) -> exp.Expr:
        if not self._lists:
            return _choose(text, {exp.Literal.string(key): index for key, index in indices.items()})
        # DuckDB evaluates an expression of functions alone once for each entry of a column's dictionary.
        keys = exp.Array(expressions=[exp.Literal.string(key) for key in indices])
        numbers = exp.Array(expressions=[_number(index) for index in indices.values()])
        place = exp.Anonymous(this="list_position", expressions=[keys, text])
        return exp.Anonymous(this="list_extract", expressions=[numbers, place])

    def _ranged(self) -> list[exp.Expr]:
        ranges = self._rule.ranges
        if ranges is None:
            return []
        x = self._days() if ranges.reads == "date" else self._seconds() if ranges.reads == "time" else self._x(ranges)
        place = _nearest(x, ranges) if ranges.grid else _between(x, ranges, 0, len(ranges.edges))
        ranged = exp.case()
        if self._type.is_floating():
            ranged = ranged.when(self._is_nan, exp.Null())
        return [ranged.when(x.copy().is_(exp.Null()).not_(), place)]

    def _x(self, ranges: Ranges) -> exp.Expr:
        if self._type.is_string():
            return number_in(self.text, self._rule.spelling)
        if self._type.is_integer() and ranges.grid is None and all(isinstance(edge, int) for edge in ranges.edges):
            return self.column
        return exp.cast(self.column.copy(), "DOUBLE")

    def _days(self) -> exp.Expr:
        day: exp.Expr = self.column.copy()
        if self._type.is_string():
            return days_in(self.text, self._rule.dates, self._rule.spelling.last_year)
        return _since_epoch(day)

    def _seconds(self) -> exp.Expr:
        clock: exp.Expr = self.column.copy()
        if self._type.is_string():
            clock = _time_in(self.text)
        return _seconds_of(clock)

    def _missing(self) -> list[exp.Expr]:
        if self._rule.missing is None:
            return []
        absent: exp.Condition = self.column.copy().is_(exp.Null())
        if self._type.is_floating():
            absent = absent.or_(self._is_nan)
        return [exp.case().when(absent, _number(self._rule.missing))]

    def _others(self) -> list[exp.Expr]:
        if self._rule.other is None:
            return []
        present: exp.Condition = self.column.copy().is_(exp.Null()).not_()
        if self._is_text:
            present = present.and_(self.text.neq(exp.Literal.string("")))
        return [exp.case().when(present, _number(self._rule.other))]

    def complaint(self, text: str | None) -> str:
        """Return an error text for a value that the rule maps to no category."""
        return self._rule.complaint(None if self._type.is_floating() and text and text.casefold() == "nan" else text)


def number_in(text: exp.Expr, spelling: FormatSettings) -> exp.Expr:
    """Return the SQL expression of the number that a text spells, or NULL: `mapping.number_of` in SQL.

    Args:
        text: Expression of the text.
        spelling: Decimal mark, thousands mark and further marks of numbers.
    """
    text = signed_text(text, spelling)
    pattern = number_pattern(spelling.decimal, spelling.thousands)
    is_number = exp.RegexpLike(this=text, expression=exp.Literal.string(pattern))
    return exp.case().when(is_number, exp.cast(unmarked(text, spelling).copy(), "DOUBLE"))


def unmarked(text: exp.Expr, spelling: FormatSettings) -> exp.Expr:
    """Return the SQL expression of a number's text without thousands marks, and with a decimal point.

    Args:
        text: Expression of the text.
        spelling: Decimal mark and thousands mark.
    """
    for mark, meant in ((spelling.thousands, ""), (spelling.decimal, ".")):
        if mark and mark != meant:
            text = _replaced(text, mark, meant)
    return text


def signed_text(text: exp.Expr, spelling: FormatSettings) -> exp.Expr:
    """Return the SQL expression of a number's text without units and currencies, and with `-` before a negative number.

    Args:
        text: Expression of the text.
        spelling: Texts to drop, and the spelling of negative numbers.
    """
    for word in spelling.drop:
        text = _replaced(text, word, "")
    if spelling.drop:
        text = exp.Trim(this=text, expression=exp.Literal.string(SPACE))
    if spelling.negative in MINUS:
        text = _replaced(text, spelling.negative, "-")
    elif spelling.negative in SIGNED:
        pattern, minus = exp.Literal.string(SIGNED[spelling.negative]), exp.Literal.string(r"-\1")
        text = exp.RegexpReplace(this=text, expression=pattern, replacement=minus)
    return text


def days_in(text: exp.Expr, form: str, last_year: int) -> exp.Expr:
    """Return the SQL expression, for DuckDB, of a text's days since 1970-01-01; NULL for a text of another form.

    Args:
        text: Expression of the text.
        form: Form of the dates.
        last_year: Last year that a year of two digits may stand for.
    """
    pattern, codes = day_pattern(form), day_codes(form)
    if form == EXCEL:
        count = exp.cast(exp.func("SPLIT_PART", text.copy(), exp.Literal.string("."), _number(1)), "BIGINT")
        since = exp.Sub(this=count, expression=_number(-days_of(EXCEL_EPOCH)))
        return exp.case().when(_matches(text, pattern), since)
    only, clock = day_and_clock(form)
    is_day = _matches(text, pattern)

    def part(code: str) -> exp.Expr:
        group = _number(codes.index(code) + 1)
        return exp.Anonymous(this="regexp_extract", expressions=[text.copy(), exp.Literal.string(pattern), group])

    day: exp.Expr = text.copy()
    name = next((code for code in "bB" if code in codes), None)
    if name is not None or ("y" in codes and last_year != DUCKDB_LAST_YEAR):
        if "y" in codes:
            two_digits = exp.TryCast(this=part("y"), to=exp.DataType.build("INT"))
            past = exp.Mod(
                this=exp.Paren(this=exp.Sub(this=_number(last_year), expression=two_digits)), expression=_number(100)
            )
            year: exp.Expr = exp.cast(exp.Paren(this=exp.Sub(this=_number(last_year), expression=past)), "TEXT")
        else:
            year = part("Y")
        month = part("m") if name is None else _month(part(name))
        dash = exp.Literal.string("-")
        day, only = exp.Concat(expressions=[year, dash, month, dash.copy(), part("d")]), "%Y-%m-%d"
    elif clock:  # engines know fewer times of day than day_pattern
        bare = only.rstrip(" T")
        inner, only = exp.Literal.string(f"^(.*?){clock_pattern(only[len(bare) :] + clock)}$"), bare
        day = exp.Anonymous(this="regexp_extract", expressions=[day, inner, _number(1)])
    day = exp.Anonymous(this="try_strptime", expressions=[day, exp.Literal.string(only)])
    if "j" in codes:  # day 366 of a year of 365 days would belong to the next year
        year = exp.cast(part("Y"), "INT")
        is_day = is_day.and_(exp.Anonymous(this="year", expressions=[day.copy()]).eq(year))
    return _since_epoch(exp.case().when(is_day, day))


def _month(name: exp.Expr) -> exp.Expr:
    names, numbers = (
        exp.Array(expressions=[exp.Literal.string(str(x)) for x in of]) for of in zip(*MONTHS.items(), strict=True)
    )
    place = exp.Anonymous(this="list_position", expressions=[names, exp.Lower(this=name)])
    return exp.Anonymous(this="list_extract", expressions=[numbers, place])


def seconds_in(text: exp.Expr) -> exp.Expr:
    """Return the SQL expression, for DuckDB, of a time's seconds since midnight; NULL for another text."""
    return _seconds_of(_time_in(text))


def _time_in(text: exp.Expr) -> exp.Expr:
    return exp.case().when(_matches(text, TIME), exp.TryCast(this=text.copy(), to=exp.DataType.build("TIME")))


def _seconds_of(clock: exp.Expr) -> exp.Expr:
    hour, minute, second = (
        exp.Mul(this=_floor(exp.Extract(this=exp.var(part), expression=clock.copy())), expression=_number(seconds))
        for part, seconds in (("HOUR", 3600), ("MINUTE", 60), ("SECOND", 1))
    )
    seconds = exp.Paren(this=exp.Add(this=exp.Add(this=hour, expression=minute), expression=second))
    return exp.case().when(exp.Between(this=seconds, low=_number(0), high=_number(DAY - 1)), seconds.copy())


def _since_epoch(day: exp.Expr) -> exp.Expr:
    epoch = exp.cast(exp.Literal.string("1970-01-01"), "DATE")
    return exp.DateDiff(this=exp.cast(day, "DATE"), expression=epoch, unit=exp.var("DAY"))


def _replaced(text: exp.Expr, word: str, meant: str) -> exp.Expr:
    return exp.func("REPLACE", text, exp.Literal.string(word), exp.Literal.string(meant))


def _between(x: exp.Expr, ranges: Ranges, first: int, last: int) -> exp.Expr:
    """Return the category index of a number between edges `first` and `last`, by binary search."""
    if first == last:
        return _number(ranges.places[first])
    middle = (first + last) // 2
    below = exp.LT(this=x.copy(), expression=_number(ranges.edges[middle]))
    return exp.case().when(below, _between(x, ranges, first, middle)).else_(_between(x, ranges, middle + 1, last))


def _nearest(x: exp.Expr, ranges: Ranges) -> exp.Expr:
    """Return the index of the grid number nearest to x: `Ranges.place` in SQL."""
    assert ranges.grid is not None
    low, step = ranges.grid
    steps = exp.Div(this=exp.Paren(this=exp.Sub(this=x.copy(), expression=_number(low))), expression=_double(step))
    bounded = exp.func(
        "LEAST",
        exp.func("GREATEST", exp.Add(this=steps, expression=_double(0.5)), _double(0)),
        _double(len(ranges.places) - 1),
    )
    return _floor(bounded)


def _matches(text: exp.Expr, pattern: str) -> exp.Condition:
    return exp.RegexpLike(this=text, expression=exp.Literal.string(f"^{pattern}$"))


def _floor(number: exp.Expr) -> exp.Expr:
    return exp.cast(exp.func("FLOOR", number), "BIGINT")


def _double(number: float) -> exp.Expr:
    return exp.cast(_number(number), "DOUBLE")


def _choose(value: exp.Expr, indices: Mapping[Any, int]) -> exp.Case:
    case = exp.Case(this=value)
    for key, index in indices.items():
        case = case.when(key, _number(index), copy=False)
    return case


def _number(value: float) -> exp.Expr:
    return exp.Paren(this=exp.convert(value)) if value < 0 else exp.convert(value)

"""Derived columns, which are computed from other columns of the same row: the SQL of each form in `forms`.

A row that lacks one of the values has no result. A cell of another kind than the form takes is an error, like a value
outside the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp

from parties.base.text import instead, quoted
from parties.sources.expressions import Cell, days_in, number_in
from parties.sources.forms import FORMS, VAST, Argument, in_order
from parties.sources.mapping import ColumnRule
from parties.sources.opened import RowQuery
from parties.sources.settings import DerivedSettings, FormatSettings
from parties.tables.delimited import MISSING
from parties.tables.unfit import NoColumnError
from smc.errors import InputError

SHOWN = 60  # letters of a cell in an error
YEAR, MONTH = 512, 32  # factors above the largest 32 * month + day (415), and above the largest day (31)
EPOCH = exp.cast(exp.Literal.string("1970-01-01"), "DATE")
RESULTS = {"integer": (dt.int64, "BIGINT"), "real": (dt.float64, "DOUBLE"), "text": (dt.string, "TEXT")}


def with_derived(rows: RowQuery, derived: Mapping[str, DerivedSettings], spelling: FormatSettings) -> RowQuery:
    """Return the rows with the derived columns appended.

    Args:
        rows: Rows with the columns that are read.
        derived: Declarations by the name of the new column.
        spelling: The spelling of the table's cells.

    Raises:
        InputError: A name exists already, or a column is missing or of another type.
    """
    names = {name.casefold(): name for name in rows.types}
    for name in in_order({name: settings.reads for name, settings in derived.items()}):
        where = f"{rows.engine.place}: derived.{name}"
        settings = derived[name]
        if (other := names.get(name.casefold())) is not None:
            raise InputError(f"{where}: the table has a column {quoted(other)} already; give another name")
        names[name.casefold()] = name
        source = _Source(rows, settings, spelling, where)
        form = FORMS[settings.form]
        kinds = [*form.takes, *["constant"] * len(settings.arguments)]
        values = [source.value(kind, value) for kind, value in zip(kinds, settings.arguments, strict=False)]
        dtype, sort = RESULTS[form.result]
        cell = exp.cast(SQL[settings.form](*values), sort).as_(name, quoted=True)
        query = exp.Select().select("*", cell).from_(rows.query.subquery("t"))
        rows = replace(rows, query=query, types={**rows.types, name: dtype})
    return rows


class _Source:
    """SQL of the arguments of one derived column."""

    def __init__(self, rows: RowQuery, settings: DerivedSettings, spelling: FormatSettings, where: str) -> None:
        self._rows, self._settings, self._spelling, self._where = rows, settings, spelling, where

    def value(self, kind: str, value: Argument) -> exp.Expr | Argument:
        """Return an argument: for a date, day, number or text, the SQL of the column or day `value`; else `value`."""
        if kind not in ("date", "day", "number", "text"):
            return value
        if not isinstance(value, str):
            return exp.cast(exp.Literal.string(str(value)), "DATE")
        if value not in self._rows.types:
            day = "; write a day as 2026-01-01" if kind == "day" else ""
            there = instead(value, self._rows.types)
            raise NoColumnError(f"{self._where}: there is no column {quoted(value)}{there}{day}")
        try:
            text = Cell(ColumnRule(value, value), self._rows.types[value], self._rows.engine.lists).text
        except InputError as error:
            raise InputError(f"{self._where}: column {quoted(value)}: {error}") from None
        return self._text(value, text) if kind == "text" else self._read(value, kind, text)

    def _read(self, name: str, kind: str, text: exp.Expr) -> exp.Expr:
        """Return the SQL of a cell, which is `text` as a text: as a number if `kind` is number, else as a day."""
        dtype, column = self._rows.types[name], exp.column(name, quoted=True)
        if dtype.is_string() and self._rows.engine.lists:
            return self._parsed(name, kind, self._text(name, text))
        if kind == "number" and (dtype.is_integer() or dtype.is_floating() or dtype.is_decimal()):
            x = exp.cast(column, "DOUBLE")
            least, most = _of(-VAST), _of(VAST)
            inside = exp.Between(this=x, low=exp.cast(least, "DOUBLE"), high=exp.cast(most, "DOUBLE"))  # not NaN either
            return exp.case().when(inside, x.copy())
        if kind != "number" and (dtype.is_date() or dtype.is_timestamp()):
            day = exp.cast(column, "DATE")
            ends = (exp.cast(exp.Literal.string(end), "DATE") for end in ("0001-01-01", "9999-12-31"))
            return exp.case().when(exp.Between(this=day, low=next(ends), high=next(ends)), day.copy())
        wanted = "numbers" if kind == "number" else "dates"
        raise InputError(
            f"{self._where}: is computed from column {quoted(name)} of type {dtype}; "
            f"give a column of {wanted}, or turn it into {wanted} in a view"
        )

    def _text(self, name: str, text: exp.Expr) -> exp.Expr:
        """Return a column's text; NULL for a text that means a missing value."""
        spelled = self._settings.columns.get(name)
        words = ["", MISSING, *self._spelling.missing, *(spelled.missing if spelled is not None else ())]
        words += ("nan", "NaN") if self._rows.types[name].is_floating() else ()
        absent = exp.In(this=text, expressions=[exp.Literal.string(word) for word in dict.fromkeys(words)])
        return exp.case().when(absent, exp.Null()).else_(text.copy())

    def _parsed(self, name: str, kind: str, text: exp.Expr) -> exp.Expr:
        """Return the SQL that reads a text of column `name`: as a number if `kind` is number, else as a day.

        Any other text makes DuckDB fail with an error that quotes it.
        """
        spelled = self._settings.columns.get(name)
        spelling = self._spelling if spelled is None else spelled.spelling(self._spelling)
        if kind == "number":
            wanted, number, sort = "number", number_in(text, spelling), "DOUBLE"
            value = number
        else:
            wanted, sort = f"date of the form {spelling.dates}", "DATE"
            number = days_in(text, spelling.dates, spelling.last_year)
            value = exp.Add(this=EPOCH.copy(), expression=exp.cast(number, "INT"))
        where = self._where.removeprefix(f"{self._rows.engine.place}: ")
        keys = f"missing or {'decimal' if kind == 'number' else 'dates'} in {where}.columns.{name}"
        words = f"{where}: column {quoted(name)} has '", f"', which is not a {wanted}; set {keys}"
        start = exp.Substring(this=text.copy(), start=_of(1), length=_of(SHOWN))
        message = [exp.Literal.string(words[0]), start, exp.Literal.string(words[1])]
        complaint = exp.Anonymous(this="error", expressions=[exp.Concat(expressions=message)])
        known = exp.case().when(text.copy().is_(exp.Null()), exp.Null())
        known = known.when(number.copy().is_(exp.Null()).not_(), value)
        return exp.Paren(this=known.else_(exp.cast(complaint, sort)))


def _of(value: float) -> exp.Expr:
    return exp.Paren(this=exp.convert(value)) if value < 0 else exp.convert(value)


def _part(day: exp.Expr, part: str) -> exp.Expr:
    return exp.cast(exp.Extract(this=exp.var(part), expression=day.copy()), "BIGINT")


def _plus(*parts: exp.Expr) -> exp.Expr:
    total, *others = parts
    for part in others:
        total = exp.Add(this=total, expression=part)
    return exp.Paren(this=total)


def _times(number: exp.Expr, factor: float) -> exp.Expr:
    return exp.Mul(this=number, expression=_of(factor))


def _since(day: exp.Expr, start: exp.Expr) -> exp.Expr:
    return exp.DateDiff(this=day.copy(), expression=start.copy(), unit=exp.var("DAY"))


def _whole(first: exp.Expr, last: exp.Expr, size: int) -> exp.Expr:
    difference = exp.Paren(this=exp.Sub(this=last, expression=first))
    times = exp.Div(this=exp.cast(exp.func("ABS", difference), "DOUBLE"), expression=exp.cast(_of(size), "DOUBLE"))
    return exp.Mul(this=exp.func("SIGN", difference.copy()), expression=exp.func("FLOOR", times))


def _ends(day: exp.Expr, year: int) -> exp.Expr:
    return _plus(_times(_part(day, "YEAR"), year), _times(_part(day, "MONTH"), MONTH), _part(day, "DAY"))


def _years(start: exp.Expr, end: exp.Expr) -> exp.Expr:
    return _whole(_ends(start, YEAR), _ends(end, YEAR), YEAR)


def _months(start: exp.Expr, end: exp.Expr) -> exp.Expr:
    return _whole(_ends(start, 12 * MONTH), _ends(end, 12 * MONTH), MONTH)


def _quarter(day: exp.Expr) -> exp.Expr:
    third = exp.Div(this=exp.cast(_plus(_part(day, "MONTH"), _of(2)), "DOUBLE"), expression=exp.cast(_of(3), "DOUBLE"))
    return exp.func("FLOOR", third)


def _weekday(day: exp.Expr) -> exp.Expr:
    """Return 1 for Monday to 7 for Sunday: 1970-01-01 was a Thursday, and no day lies 800,000 days before it."""
    days = _plus(_since(day, EPOCH), _of(7 * 120_000 + 3))
    return _plus(exp.Mod(this=days, expression=_of(7)), _of(1))


def _scaled(number: exp.Expr, factor: float, offset: float = 0.0) -> exp.Expr:
    return _plus(exp.Mul(this=number, expression=_double(factor)), _double(offset))


def _double(number: float) -> exp.Expr:
    return exp.cast(_of(number), "DOUBLE")


def _flag(number: exp.Expr, least: float) -> exp.Expr:
    yes, no = exp.Literal.string("yes"), exp.Literal.string("no")
    known = exp.case().when(exp.GTE(this=number, expression=_double(least)), yes)
    return known.when(number.copy().is_(exp.Null()).not_(), no)


def _ranges(number: exp.Expr, *names_and_edges: str | float) -> exp.Expr:
    *names, last = names_and_edges[::2]
    known = exp.case()
    for name, edge in zip(names, names_and_edges[1::2], strict=True):
        below = exp.LT(this=number.copy(), expression=_double(float(edge)))
        known = known.when(below, exp.Literal.string(str(name)))
    return known.when(number.copy().is_(exp.Null()).not_(), exp.Literal.string(str(last)))


def _first(text: exp.Expr, letters: int) -> exp.Expr:
    return exp.Substring(this=text, start=_of(1), length=_of(letters))


def _replace(text: exp.Expr, *words: str) -> exp.Expr:
    known = exp.case()
    for word, meant in zip(words[::2], words[1::2], strict=True):
        known = known.when(text.copy().eq(exp.Literal.string(word)), exp.Literal.string(meant))
    return known.else_(text)


def _join(one: exp.Expr, other: exp.Expr, separator: str) -> exp.Expr:
    parts = [one.copy(), exp.Literal.string(separator), other.copy()]
    absent = exp.or_(one.is_(exp.Null()), other.is_(exp.Null()))
    return exp.case().when(absent, exp.Null()).else_(exp.Concat(expressions=parts))


SQL: dict[str, Callable[..., exp.Expr]] = {
    "days": lambda start, end: _since(end, start),
    "months": _months,
    "years": _years,
    "age": _years,
    "year": lambda day: _part(day, "YEAR"),
    "quarter": _quarter,
    "month": lambda day: _part(day, "MONTH"),
    "weekday": _weekday,
    "scale": _scaled,
    "flag": _flag,
    "ranges": _ranges,
    "first": _first,
    "replace": _replace,
    "join": _join,
}

"""Rules as SQL: from a column of some type to a category index, for any engine that sqlglot writes for.

Text is a cell's value without space around it. Whole numbers are their decimal digits, whichever type holds them (so
that a column of whole numbers may be floating-point in one place and not in another); other numbers are spelled as
the engine does; truth values are `true` and `false`; dates are `2024-01-31`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp

from parties.sources.mapping import NUMBER, ColumnRule
from smc.errors import InputError

SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())  # all that `str.strip` drops
_EXACT = 2**53  # whole floating-point numbers below are known to the last digit


class Cell:
    """A column of the table with its type, and what can be said of it in SQL. `lists` if the engine is DuckDB.

    `InputError` (without the place) if the type holds no categories.
    """

    def __init__(self, rule: ColumnRule, dtype: dt.DataType, lists: bool) -> None:
        self._rule = rule
        self._type = dtype
        self._lists = lists
        self._column = exp.column(rule.column, quoted=True)
        if isinstance(dtype, dt.Array | dt.Map | dt.Struct | dt.Binary | dt.JSON | dt.Interval | dt.GeoSpatial):
            raise InputError(f"a column of type {dtype} holds no categories: turn it into text or numbers in a view")
        if rule.edges is not None and not (self._is_number or dtype.is_string()):
            raise InputError(f"`edges` need numbers, and the column is of type {dtype}")

    @property
    def text(self) -> exp.Expr:
        """The cell's text; NULL of NULL."""
        text = exp.cast(self._column.copy(), "TEXT")
        if self._type.is_floating() or self._type.is_decimal():
            digits = exp.cast(exp.cast(self._column.copy(), "BIGINT"), "TEXT")
            return exp.case().when(self._is_whole, digits).else_(text)
        return exp.Trim(this=text, expression=exp.Literal.string(SPACE)) if self._is_text else text

    @property
    def index(self) -> exp.Expr:
        """The category's index; NULL if the value is not in the schema."""
        parts = [*self._looked_up(), *self._ranged(), *self._missing()]
        return exp.Coalesce(this=parts[0], expressions=parts[1:]) if parts else exp.Null()

    @property
    def _is_number(self) -> bool:
        return self._type.is_integer() or self._type.is_floating() or self._type.is_decimal()

    @property
    def _is_text(self) -> bool:
        return not (self._is_number or self._type.is_boolean())

    @property
    def _is_whole(self) -> exp.Expr:
        """True if a number is whole, and known exactly. NaN and infinity are not."""
        small = exp.Between(this=self._column.copy(), low=_number(-_EXACT), high=_number(_EXACT))
        return small.and_(exp.func("FLOOR", self._column.copy()).eq(self._column.copy()))

    @property
    def _is_nan(self) -> exp.Expr:
        """True if a floating-point number is none; in SQL one NaN equals another."""
        return self._column.copy().eq(exp.cast(exp.Literal.string("NaN"), "DOUBLE"))

    def _looked_up(self) -> list[exp.Expr]:
        texts = dict(self._rule.texts)
        if self._is_text and self._rule.missing is not None:
            texts[""] = self._rule.missing
        if self._type.is_integer():  # compared as what they are
            whole = {int(text): i for text, i in texts.items() if re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text)}
            return [_choose(self._column.copy(), {_number(key): i for key, i in whole.items()})] if whole else []
        if not texts:
            return []
        if not self._is_text:
            return [self._choose(self.text, texts)]
        # Few cells have space around them, and dropping it takes longer than all else.
        return [self._choose(exp.cast(self._column.copy(), "TEXT"), texts), self._choose(self.text, texts)]

    def _choose(self, text: exp.Expr, indices: Mapping[str, int]) -> exp.Expr:
        """Return the index of a text, NULL if it has none."""
        if not self._lists:
            return _choose(text, {exp.Literal.string(key): index for key, index in indices.items()})
        # DuckDB looks up each entry of a column's dictionary once if it is asked by functions alone.
        keys = exp.Array(expressions=[exp.Literal.string(key) for key in indices])
        numbers = exp.Array(expressions=[_number(index) for index in indices.values()])
        place = exp.Anonymous(this="list_position", expressions=[keys, text])
        return exp.Anonymous(this="list_extract", expressions=[numbers, place])

    def _ranged(self) -> list[exp.Expr]:
        edges = self._rule.edges
        if edges is None:
            return []
        if self._type.is_string():
            is_number = exp.RegexpLike(this=self.text, expression=exp.Literal.string(NUMBER))
            number: exp.Expr = exp.case().when(is_number, exp.cast(self.text, "DOUBLE"))
        elif self._type.is_integer() and all(isinstance(edge, int) for edge in edges):
            number = self._column
        else:
            number = exp.cast(self._column.copy(), "DOUBLE")
        ranged = exp.case()
        if self._type.is_floating():
            ranged = ranged.when(self._is_nan, exp.Null())
        for edge, index in zip(edges, self._rule.ranges, strict=False):
            ranged = ranged.when(exp.LT(this=number.copy(), expression=_number(edge)), _number(index))
        present = number.copy().is_(exp.Null()).not_()
        return [ranged.when(present, _number(self._rule.ranges[-1]))]

    def _missing(self) -> list[exp.Expr]:
        if self._rule.missing is None:
            return []
        absent: exp.Condition = self._column.copy().is_(exp.Null())
        if self._type.is_floating():
            absent = absent.or_(self._is_nan)
        return [exp.case().when(absent, _number(self._rule.missing))]

    def complaint(self, text: str | None) -> str:
        """Return what is wrong with a value that has no index, given as text."""
        return self._rule.complaint(None if self._type.is_floating() and text and text.casefold() == "nan" else text)


def _choose(value: exp.Expr, indices: Mapping[Any, int]) -> exp.Case:
    case = exp.Case(this=value)
    for key, index in indices.items():
        case = case.when(key, _number(index), copy=False)
    return case


def _number(value: float) -> exp.Expr:
    """Return a number as it is written, negative ones in brackets."""
    return exp.Paren(this=exp.convert(value)) if value < 0 else exp.convert(value)

"""Masks: replacements of a column's values, computed in the source's database.

    mask = "default"                                                       # xxxx, 0, 1900-01-01 or false, by type
    mask = "email"                                                         # ann@example.org: axxx@xxxx.xxx
    mask = { kind = "custom", padding = "xxxx-xxxx-xxxx-x", last = 3 }     # 4000-1234-5678-9815: xxxx-xxxx-xxxx-x815
    mask = { kind = "custom", first = 1, padding = "...", last = 1 }
    mask = { kind = "random", characters = "0123456789", length = 8 }      # other ones each time
    mask = { kind = "random", low = 1, high = 100 }                        # an integer

A missing value stays missing. A value no longer than the visible part of a custom mask becomes the padding alone. A
mask is not encryption: the visible part can be linked to other columns; an e-mail's first letter is one of a name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp
from pydantic import BeforeValidator, Field, model_validator

from parties.alone.publish.reading import cell_text, require
from parties.base.settings import Count, Settings
from parties.sources.opened import RowQuery

TEXT = "xxxx"
EMAIL = "xxx@xxxx.xxx"
NEEDED: dict[str, set[str]] = {"default": set(), "email": set(), "custom": {"padding"}}
ALLOWED: dict[str, set[str]] = {"default": set(), "email": set(), "custom": {"first", "padding", "last"}}


class MaskPlan(Settings):
    """Settings of the mask of a column."""

    kind: Literal["default", "email", "random", "custom"]
    first: Count | None = None
    padding: str | None = None
    last: Count | None = None
    characters: Annotated[str, Field(min_length=2)] | None = None
    length: Annotated[int, Field(strict=True, ge=1, le=64)] | None = None
    low: Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | None = None
    high: Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | None = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> MaskPlan:
        fields_set = set(self.model_dump(exclude_none=True)) - {"kind"}
        if self.kind == "random":
            if fields_set != {"characters", "length"} and fields_set != {"low", "high"}:
                raise ValueError("a random mask needs characters and length, or low and high")
            if self.low is not None and self.high is not None and self.low >= self.high:
                raise ValueError(f"low must be below high, and {self.low} is not below {self.high}")
            return self
        if surplus := sorted(fields_set - ALLOWED[self.kind]):
            raise ValueError(f"the mask {self.kind} has no {surplus[0]}")
        if missing := sorted(NEEDED[self.kind] - fields_set):
            raise ValueError(f"the mask {self.kind} needs {missing[0]}")
        return self


def _kind(value: object) -> object:
    return {"kind": value} if isinstance(value, str) else value


Mask: TypeAlias = Annotated[MaskPlan, BeforeValidator(_kind)]


def cell(rows: RowQuery, name: str, mask: MaskPlan | None) -> exp.Expr:
    """Return the SQL expression of a column, masked if it has a mask.

    Args:
        rows: the source
        name: the column
        mask: its mask; None: in clear
    """
    return exp.column(name, quoted=True) if mask is None else masked(rows, name, mask)


def masked(rows: RowQuery, name: str, mask: MaskPlan) -> exp.Expr:
    """Return the SQL expression of a masked column; a missing value, also an empty text, is NULL.

    Args:
        rows: the source
        name: the column
        mask: its mask

    Raises:
        InputError: the column does not exist, or does not hold single values
    """
    require(rows, [name])
    text = cell_text(rows, name)
    masked_value = _SHOWN[mask.kind](mask, text, rows.types[name])
    value: exp.Condition = exp.column(name, quoted=True)
    if rows.types[name].is_string():
        value = exp.Nullif(this=value, expression=exp.Literal.string(""))
    return exp.case().when(value.is_(exp.Null()).not_(), masked_value)


def _default(_: MaskPlan, __: exp.Expr, dtype: dt.DataType) -> exp.Expr:
    if dtype.is_numeric():
        return exp.cast(exp.Literal.number(0), _number_of(dtype))
    if dtype.is_boolean():
        return exp.false()
    if dtype.is_date():
        return exp.cast(exp.Literal.string("1900-01-01"), "DATE")
    if dtype.is_timestamp():
        return exp.cast(exp.Literal.string("1900-01-01 00:00:00"), "TIMESTAMP")
    return exp.Literal.string(TEXT)


def _number_of(dtype: dt.DataType) -> str:
    return "DOUBLE" if dtype.is_floating() else "DECIMAL" if dtype.is_decimal() else "BIGINT"


def _email(_: MaskPlan, text: exp.Expr, __: dt.DataType) -> exp.Expr:
    return _joined(exp.Left(this=text, expression=exp.Literal.number(1)), exp.Literal.string(EMAIL))


def _custom(mask: MaskPlan, text: exp.Expr, _: dt.DataType) -> exp.Expr:
    first, last = mask.first or 0, mask.last or 0
    padding = exp.Literal.string(mask.padding or "")
    parts: list[exp.Expr] = [padding]
    if first:
        parts.insert(0, exp.Left(this=text.copy(), expression=exp.Literal.number(first)))
    if last:
        parts.append(exp.Right(this=text.copy(), expression=exp.Literal.number(last)))
    long = exp.GT(this=exp.Length(this=text.copy()), expression=exp.Literal.number(first + last))
    return exp.case().when(long, _joined(*parts)).else_(padding.copy())


def _random(mask: MaskPlan, _: exp.Expr, __: dt.DataType) -> exp.Expr:
    if mask.characters is None or mask.length is None:
        assert mask.low is not None
        assert mask.high is not None
        return exp.Add(this=_below(mask.high - mask.low + 1), expression=exp.Paren(this=exp.convert(mask.low)))
    characters, length_one = exp.Literal.string(mask.characters), exp.Literal.number(1)
    letters = [
        exp.Substring(
            this=characters.copy(),
            start=exp.Add(this=exp.cast(_below(len(mask.characters)), "INT"), expression=length_one.copy()),
            length=length_one.copy(),
        )
        for _ in range(mask.length)
    ]
    return _joined(*letters)


def _below(number: int) -> exp.Expr:
    product = exp.Mul(this=exp.Rand(), expression=exp.Literal.number(number))
    return exp.cast(exp.Floor(this=product), "BIGINT")


def _joined(*parts: exp.Expr) -> exp.Expr:
    return exp.Concat(expressions=list(parts), safe=False, coalesce=False) if len(parts) > 1 else parts[0]


_SHOWN: dict[str, Any] = {"default": _default, "email": _email, "custom": _custom, "random": _random}

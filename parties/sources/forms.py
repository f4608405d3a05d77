"""Forms of derived columns: their arguments and the types of their results. `derived` has their SQL.

[tables.patients.derived]
days_in = { days = ["admitted", "left"] }
age = { age = ["born", 2026-01-01] }
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Literal, TypeAlias

from parties.base.text import did_you_mean, quoted
from parties.tables.delimited import MISSING
from parties.tables.types import unusable
from smc.errors import InputError

Argument: TypeAlias = "str | int | float | date"
NUMBERS = ("factor", "offset", "threshold", "edge")
VAST = 1e100  # a greater absolute value is a missing value, so that no engine overflows


@dataclass(frozen=True)
class Form:
    """A form of derived columns, such as `age`.

    `takes` has the kind of each argument: "date", "number" and "text" are columns; "day" is a date column or a fixed
    day. All other kinds are constants, numbers if in `NUMBERS`. The last `repeated` arguments may be given
    several times, and the last `optional` arguments may be left out.
    """

    takes: tuple[str, ...]
    result: Literal["integer", "real", "text"]
    repeated: int = 0
    optional: int = 0


FORMS = {
    "days": Form(("day", "day"), "integer"),
    "months": Form(("day", "day"), "integer"),
    "years": Form(("day", "day"), "integer"),
    "age": Form(("day", "day"), "integer"),
    "year": Form(("date",), "integer"),
    "quarter": Form(("date",), "integer"),
    "month": Form(("date",), "integer"),
    "weekday": Form(("date",), "integer"),
    "scale": Form(("number", "factor", "offset"), "real", optional=1),
    "flag": Form(("number", "threshold"), "text"),
    "ranges": Form(("number", "word", "edge", "word"), "text", repeated=2),
    "first": Form(("text", "count"), "text"),
    "replace": Form(("text", "word", "word"), "text", repeated=2),
    "join": Form(("text", "text", "separator"), "text"),
}


def parsed(text: str) -> tuple[str, dict[str, list[Argument]]]:
    """Return the name and the declaration of a text such as `age=age born 2026-01-01`.

    Raises:
        InputError: The text is not NAME=FORM COLUMN ..., or there is no such form.
    """
    name, mark, words = text.partition("=")
    try:
        form, *arguments = shlex.split(words)
    except ValueError:
        form, arguments = "", []
    if not (mark and name.strip() and arguments):
        raise InputError("write NAME=FORM COLUMN ..., such as 'age=age born 2026-01-01'")
    if form not in FORMS:
        raise InputError(_unknown(form))
    return name.strip(), {form: list(arguments)}


def _unknown(form: str) -> str:
    return f"{quoted(form)} is not a form{did_you_mean(form, FORMS)}; the forms are {', '.join(FORMS)}"


def checked_form(form: str, arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Return the arguments of a form, each checked and converted to its kind.

    Args:
        form: The name of the form.
        arguments: Its arguments, as TOML or the command line has them.

    Raises:
        ValueError: The form does not exist, or an argument is missing, superfluous or of another kind.
    """
    if (shape := FORMS.get(form)) is None:
        raise ValueError(_unknown(form))
    least = len(shape.takes) - shape.optional
    more = len(arguments) - len(shape.takes)
    fits = (more % shape.repeated == 0 if shape.repeated else more == 0) if more > 0 else len(arguments) >= least
    if not fits:
        raise ValueError(f"{form}: takes {_shape(shape)}, not {len(arguments)} values")
    kinds = [*shape.takes, *shape.takes[len(shape.takes) - shape.repeated :] * max(more, 0)][: len(arguments)]
    known = tuple(_constant(form, kind, value) for kind, value in zip(kinds, arguments, strict=True))
    if not columns_of(form, known):
        raise ValueError(f"{form}: names no column; one of its values must be a column")
    edges = [value for kind, value in zip(kinds, known, strict=True) if kind == "edge"]
    if any(low >= high for low, high in pairwise(edges)):  # type: ignore[operator]
        raise ValueError("ranges: the edges must increase, such as 18.5, then 25")
    words = [value for kind, value in zip(kinds, known, strict=True) if kind == "word"]
    named = words[::2] if form == "replace" else words if form == "ranges" else []
    if twice := next((word for word in named if named.count(word) > 1), None):
        raise ValueError(f"{form}: {quoted(str(twice))} stands twice; keep one")
    return known


def _shape(form: Form) -> str:
    some = form.takes[len(form.takes) - form.repeated :] if form.repeated else ()
    last = form.takes[len(form.takes) - form.optional :] if form.optional else ()
    given = form.takes[: len(form.takes) - form.optional]
    return f"{', '.join(given)}{''.join(f', maybe an {kind}' for kind in last)}{' and so on' if some else ''}"


def _constant(form: str, kind: str, value: Argument) -> Argument:
    text = value.strip() if isinstance(value, str) else str(value)
    is_text = isinstance(value, str) and text and not unusable(text)
    if kind == "day" and type(value) is date:
        return value
    if kind == "day" and is_text and (day := _day(text)) is not None:
        return day
    if kind in (*NUMBERS, "count"):
        number = _number(text)
        if number is None or not abs(number) < VAST or (kind == "count" and not (number % 1 == 0 < number <= 1000)):
            wanted = "a number" if number is None else f"a number between {-VAST:g} and {VAST:g}"
            wanted = "a whole number from 1 to 1,000" if kind == "count" else wanted
            raise ValueError(f"{form}: must be {wanted}, not {quoted(text)}")
        return int(number) if number % 1 == 0 and abs(number) < 2**53 else number
    if kind == "separator" and isinstance(value, str) and not unusable(f"a{value}a"):
        return value
    if kind == "word" and is_text and text != MISSING:
        return text
    if kind not in ("word", "separator") and is_text:
        return text
    wanted = {"word": "a text", "separator": "a text"}.get(kind, f"the name of a column of {kind}s")
    raise ValueError(f"{form}: must be {wanted}, not {quoted(text)}")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def columns_of(form: str, arguments: Sequence[Argument]) -> dict[str, str]:
    """Return the columns that a declaration reads, each with its kind: "date", "number" or "text".

    Args:
        form: The name of the form.
        arguments: Its arguments.
    """
    kinds = {"date": "date", "day": "date", "number": "number", "text": "text"}
    of = zip(FORMS[form].takes, arguments, strict=False)
    return {value: kinds[kind] for kind, value in of if kind in kinds and isinstance(value, str)}


def in_order(reads: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of derived columns, sorted so that each comes after the columns that it reads.

    Args:
        reads: The columns that each derived column reads, by its name.

    Raises:
        ValueError: The columns read each other in a circle.
    """
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            circle = " reads ".join((*above[above.index(name) :], name))
            raise ValueError(f"{name}: {circle}, in a circle; name a column of the source")
        if name not in order:
            for column in reads[name]:
                if column in reads:
                    visit(column, (*above, name))
            order.append(name)

    for name in reads:
        visit(name, ())
    return order

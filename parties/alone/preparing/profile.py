"""What the columns of a raw table hold: three queries over all of them at once, in a DuckDB of our own.

A database of others is asked once, for all rows.

All of it is private, and for this party's operator only.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from parties.alone.preparing.spelling import (
    CODE,
    COMMA,
    MOST,
    NO_VALUE,
    POINT,
    TIME,
    date_form,
    decimal_mark,
    share,
    spelling_of,
)
from parties.base.text import instead, quoted
from parties.sources.databases import Scratch
from parties.sources.mapping import NUMBER
from parties.sources.opened import RowQuery
from parties.sources.opening import open_rows
from parties.sources.settings import FormatSettings, PlaceSettings, TableSettings
from parties.tables.delimited import MISSING
from parties.tables.types import DAY
from smc.errors import InputError

FREQUENT = 60  # values of a column that are looked at to find out what it holds
FEW = 400  # values of a column that are all counted, by classes of the target
KEYLIKE = 0.5  # of the rows: of so many different values by an estimate, which errs by a fifth, they are counted
ODD = 200  # texts among numbers; a column of more different ones is none of numbers
SEPARATOR = "\x1f"


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds. `reads` is "text", "integer", "real", "date" or "time"; `form` is that of its dates.

    `rows` have a value, of about `distinct` ones; `frequent` are the most frequent. Ordered columns lie from `low` to
    `high`, the middle 98 % from `inner[0]` to `inner[1]`, as numbers of `parties.tables.types`; `odd` are their texts
    that are none; `parted` if thousands have a mark. `counts` are rows by value and class of the target, of columns
    with few values.
    """

    name: str
    reads: str
    rows: int
    distinct: int
    frequent: tuple[str, ...] = ()
    length: float = 0.0
    form: str = ""
    low: float = 0.0
    high: float = 0.0
    inner: tuple[float, float] = (0.0, 0.0)
    decimals: int = 0
    odd: tuple[str, ...] = ()
    parted: bool = False
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class TableProfile:
    """A table's columns, how its cells are spelled, and its number of rows."""

    place: PlaceSettings
    spelling: FormatSettings
    rows: int
    columns: tuple[ColumnProfile, ...]
    unfit: dict[str, str]


def profile(place: PlaceSettings, target: str | None = None) -> TableProfile:
    """Look at all columns of a place, or of a party's table as it chooses its rows.

    `InputError` if it cannot be read, has no rows, or lacks the target.
    """
    spelled = _with_spelling(place)
    with open_rows(spelled) as rows:
        return profile_rows(rows, target, spelled)


def _with_spelling(place: PlaceSettings) -> PlaceSettings:
    """Return the place with the spelling that its CSV files are found to have, unless it says one."""
    if "format" in place.model_fields_set:
        return place
    if not isinstance(place, TableSettings) or place.query is None:
        return place.model_copy(update={"format": spelling_of(place)})
    spellings = {
        name: spelling_of(PlaceSettings(source=file.source, table=file.table))
        for name, file in place.files.items()
        if file.format is None
    }
    first = next(iter(spellings.values()), FormatSettings())
    if all(spelling == first for spelling in spellings.values()):  # then the table says it, for all of them
        return place.model_copy(update={"format": first})
    files = {name: place.files[name].model_copy(update={"format": spelling}) for name, spelling in spellings.items()}
    return place.model_copy(update={"files": place.files | files})


def profile_rows(rows: RowQuery, target: str | None, place: PlaceSettings) -> TableProfile:
    """Look at all columns of rows, see `profile`; `place` says how they are spelled, and bounds the memory."""
    label = rows.engine.place
    unfit = {name: str(why) for name in rows.types if name and (why := rows.unfit(name)) is not None}
    folded = [name.casefold() for name in rows.types]
    for name in rows.types:
        if folded.count(name.casefold()) > 1:
            unfit[name] = "another column's name differs only in case: rename one"
    names = [name for name in rows.types if name and name not in unfit]
    if target is not None and target not in names:
        if len(rows.types) == 1:
            only = quoted(next(iter(rows.types)))
            raise InputError(
                f"{label}: there is no column {quoted(target)}, and {only} is the only one: is it a table?"
            )
        raise InputError(f"{label}: there is no column {quoted(target)}{instead(target, names)}")
    if not names:
        raise InputError(f"{label}: there is no column that could be an attribute")
    with ExitStack() as stack:
        engine = rows.engine
        if not isinstance(engine, Scratch):
            engine = Scratch(label, place.memory, place.threads)
            stack.callback(engine.close)
        _take(rows, names, engine)
        ask = engine.backend.raw_sql
        days = {i for i, name in enumerate(names) if rows.engine.lists or not rows.types[name].is_string()}
        with engine.reporting():
            return _profile(place, ask, names, None if target is None else names.index(target), unfit, days)


def _take(rows: RowQuery, names: Sequence[str], engine: Scratch) -> None:
    """Put the columns' texts into a table of our own, in one query: c0, c1, ... A moment is the day that it is on."""
    texts = [rows.types[name].is_string() for name in names]
    query = rows.select(names) if all(texts) and engine is rows.engine else rows.spelled(names)
    cells = [
        f"SUBSTR(c{i}, 1, 10) AS c{i}"
        if rows.types[name].is_timestamp()
        # What has been spelled has no space around it; few cells of a file have, and plain spaces are most of it.
        else f"TRIM(c{i}) AS c{i}"
        if texts[i]
        else f"c{i}"
        for i, name in enumerate(names)
    ]
    ask = engine.backend.raw_sql
    if engine is rows.engine:
        with engine.reporting():
            ask(f"CREATE TEMPORARY TABLE raw AS SELECT {', '.join(cells)} FROM ({engine.sql(query)})")
        return
    with engine.reporting():
        ask(f"CREATE TEMPORARY TABLE raw ({', '.join(f'c{i} VARCHAR' for i in range(len(names)))})")
    for batch in rows.engine.batches(query):
        with engine.reporting():
            engine.backend.con.register("batch", batch)
            ask(f"INSERT INTO raw SELECT {', '.join(cells)} FROM batch")
            engine.backend.con.unregister("batch")


def _profile(
    place: PlaceSettings, ask: Any, names: list[str], target: int | None, unfit: dict[str, str], days: Container[int]
) -> TableProfile:
    cells = [f"NULLIF(c{i}, '')" for i in range(len(names))]
    expressions = [
        f"approx_count_distinct({c}), COUNT({c}), approx_top_k({c}, {FREQUENT}), AVG(LENGTH({c}))" for c in cells
    ]
    total, *facts = ask(f"SELECT COUNT(*), {', '.join(expressions)} FROM raw").fetchone()
    if not total:
        raise InputError(f"{place.label}: there are no rows")
    first = [
        ColumnProfile(
            name, "text", facts[4 * i + 1], facts[4 * i], tuple(facts[4 * i + 2] or ()), facts[4 * i + 3] or 0
        )
        for i, name in enumerate(names)
    ]
    samples = [[text for text in column.frequent if text not in (*NO_VALUE, MISSING)] for column in first]
    spelling = place.format
    mark = spelling.decimal if "decimal" in spelling.model_fields_set else decimal_mark(samples)
    columns = [_reading(column, samples[i], mark, i in days) for i, column in enumerate(first)]
    columns = _measured(ask, columns, cells, mark)
    columns = _counted(ask, columns, cells, target)
    columns = _told_apart(ask, columns, cells)
    missing = _missing(columns)
    forms = [column.form for column in columns if column.reads == "date"]
    fields = {
        "decimal": mark,
        "thousands": _parting(mark) if any(column.parted for column in columns) else "",
        "dates": max(forms, key=forms.count) if forms else "%Y-%m-%d",
        "missing": missing,
    }
    fields = {key: value for key, value in fields.items() if key not in spelling.model_fields_set}
    return TableProfile(place, spelling.model_copy(update=fields), total, tuple(columns), unfit)


def _reading(column: ColumnProfile, texts: Sequence[str], mark: str, can_be_days: bool) -> ColumnProfile:
    """Return the column with what its cells are, by a sample of them. Texts that are days only DuckDB reads as such."""
    numbers = [text for text in texts if (COMMA if mark == "," else POINT).fullmatch(text)]
    if len(numbers) >= MOST * len(texts) and numbers and not any(CODE.fullmatch(text) for text in numbers):
        return replace(column, reads="real")
    if not can_be_days:
        return column
    days = [text for text in texts if re.match(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}", text)]
    if len(days) >= MOST * len(texts) and days and (form := date_form(days)) is not None:
        return replace(column, reads="date", form=form)
    return replace(column, reads="time") if share(texts, TIME) >= MOST else column


def _measured(ask: Any, columns: list[ColumnProfile], cells: list[str], mark: str) -> list[ColumnProfile]:
    """Return the columns with the bounds of those that have an order; numbers without decimals become integers."""
    expressions, places = [], []
    for place, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        if column.reads == "text":
            continue
        x = _number(column, cell, mark)
        fraction = f"CASE WHEN {x} <> FLOOR({x}) THEN LENGTH(SPLIT_PART({cell}, '{mark}', 2)) END"
        decimals = f"MAX({fraction})" if column.reads == "real" else "0"  # 3.0 is whole: programs write it so
        odd = f"approx_top_k(CASE WHEN {x} IS NULL THEN {cell} END, {ODD})"
        parted = f"BOOL_OR({x} IS NOT NULL AND CONTAINS({cell}, '{_parting(mark)}'))"
        expressions.append(
            f"MIN({x}), MAX({x}), quantile_cont({x}, [0.01, 0.99]), {decimals}, {odd}, COUNT({x}), {parted}"
        )
        places.append(place)
    if not expressions:
        return columns
    facts = ask(f"SELECT {', '.join(expressions)} FROM raw").fetchone()
    measured = list(columns)
    for number, place in enumerate(places):
        low, high, inner, decimals, odd, count, parted = facts[7 * number : 7 * number + 7]
        column = columns[place]
        exact = column.reads != "real" or (count and max(abs(low), abs(high)) < 2**53)  # not so NaN, and long codes
        if not exact or not count or count < column.rows * MOST / 2 or len(odd or ()) == ODD:  # a misleading sample
            measured[place] = replace(column, reads="text")
            continue
        whole = column.reads == "real" and not decimals
        measured[place] = replace(
            column,
            reads="integer" if whole else column.reads,
            low=low,
            high=high,
            inner=tuple(inner),
            decimals=decimals or 0,
            odd=_odd(column, odd or (), mark),
            parted=column.reads == "real" and parted,
        )
    return measured


def _odd(column: ColumnProfile, texts: Sequence[str], mark: str) -> tuple[str, ...]:
    """Return texts that are none of the column's, without space around them, which whoever reads the cells drops."""
    bare = dict.fromkeys(text.strip() for text in texts)
    return tuple(text for text in bare if text != MISSING and not _is_ordered(column, text, mark))


def _number(column: ColumnProfile, cell: str, mark: str) -> str:
    """Return the SQL for the number that an ordered cell is, NULL if it is none."""
    match column.reads:
        case "date":
            return f"DATE_DIFF('day', DATE '1970-01-01', CAST(try_strptime({cell}, '{column.form}') AS DATE))"
        case "time":
            time = f"CAST(EPOCH(TRY_CAST({cell} AS TIME)) AS BIGINT) % {DAY}"  # that of a day alone is 0
            return f"CASE WHEN REGEXP_FULL_MATCH(TRIM({cell}), '{TIME.pattern}') THEN {time} END"
        case _:
            number = f"REPLACE(REPLACE({cell}, '{_parting(mark)}', ''), '{mark}', '.')"
            return f"CASE WHEN REGEXP_MATCHES({number}, '{NUMBER}') THEN TRY_CAST({number} AS DOUBLE) END"


def _is_ordered(column: ColumnProfile, text: str, mark: str) -> bool:
    """Return whether a text is what the ordered column holds."""
    match column.reads:
        case "date":
            return date_form([text], [column.form]) is not None
        case "time":
            return TIME.fullmatch(text) is not None
        case _:
            return re.match(NUMBER, text.replace(_parting(mark), "").replace(mark, ".")) is not None


def _parting(mark: str) -> str:
    """Return the mark between thousands where this one stands before the decimals."""
    return "." if mark == "," else ","


def _counted(ask: Any, columns: list[ColumnProfile], cells: list[str], target: int | None) -> list[ColumnProfile]:
    """Return the columns with the counts of those that have few values, by classes if the target has few."""
    few = [place for place, column in enumerate(columns) if column.distinct <= FEW]
    classes = f"COALESCE({cells[target]}, '')" if target is not None and target in few else "''"
    pairs = [f"histogram(COALESCE({cells[place]}, '') || chr(31) || {classes})" for place in few]
    counted = list(columns)
    for place, histogram in zip(few, ask(f"SELECT {', '.join(pairs)} FROM raw").fetchone() if few else (), strict=True):
        counts: dict[str, dict[str, int]] = {}
        for text, rows in histogram.items():
            value, _, label = text.rpartition(SEPARATOR)
            counts.setdefault(value, {})[label] = rows
        counted[place] = replace(columns[place], counts=counts, distinct=len(counts.keys() - {""}))
    return counted


def _told_apart(ask: Any, columns: list[ColumnProfile], cells: list[str]) -> list[ColumnProfile]:
    """Return the columns with exact numbers of values where nearly every row may have its own: an estimate errs."""
    many = [i for i, column in enumerate(columns) if not column.counts and column.distinct > KEYLIKE * column.rows]
    counts = [f"COUNT(DISTINCT {cells[i]})" for i in many]
    exact = dict(zip(many, ask(f"SELECT {', '.join(counts)} FROM raw").fetchone() if many else (), strict=True))
    return [replace(column, distinct=exact.get(i, column.distinct)) for i, column in enumerate(columns)]


def _missing(columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Return the texts that mean no value: known ones, and those that stand among numbers or dates of two columns."""
    odd = [text for column in columns for text in set(column.odd)]
    seen = {text for column in columns for text in (*column.frequent, *column.counts)}
    codes = {text for text in odd if odd.count(text) > 1 or text in NO_VALUE} | seen & set(NO_VALUE)
    return tuple(sorted(codes - {"", MISSING}))

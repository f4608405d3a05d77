"""What the columns of a raw table hold: a few queries over all of them at once, in a DuckDB of our own.

A database of others is asked once, for all rows. Columns that the source declares as numbers or days are measured as
they are; only texts are looked at as texts.

All of it is private, and for this party's operator only.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import ibis.expr.datatypes as dt

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
from parties.sources.expressions import Cell
from parties.sources.mapping import NUMBER, ColumnRule
from parties.sources.opened import RowQuery
from parties.sources.opening import open_rows
from parties.sources.settings import FormatSettings, PlaceSettings, TableSettings
from parties.tables.delimited import MISSING
from parties.tables.spellings import composed
from parties.tables.types import DAY
from smc.errors import InputError

FREQUENT = 60  # values of a column that are looked at to find out what it holds
FEW = 400  # values of a column that are all counted, by classes of the target
KEYLIKE = 0.5  # of the rows: of so many different values by an estimate, which errs by a fifth, they are counted
ODD = 200  # texts among numbers; a column of more different ones is none of numbers
HEAD = 10_000  # rows of which declared columns' texts are looked at
SAMPLED = 1 << 20  # rows: of more, the middle of a column is that of about so many
FINEST = 12  # decimals: more say no more of a column
VAST = 1e100  # numbers beyond stand for something else


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
class _Cell:
    """A column of the table `raw` in SQL. `text` is NULL of an empty cell; `value` tells as many values apart.

    Of a column that is `declared` as "real" or "date", `number` is NULL of what is none, and `place` how many decimals
    its type has, if it says so.
    """

    value: str
    text: str
    declared: str = ""
    number: str = ""
    place: int | None = None


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
    folded = [composed(name).casefold() for name in rows.types]
    for name in rows.types:
        if folded.count(composed(name).casefold()) > 1:
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
        cells = _take(rows, names, engine)
        ask = engine.backend.raw_sql
        days = {i for i, name in enumerate(names) if rows.engine.lists or not rows.types[name].is_string()}
        with engine.reporting():
            return _profile(place, ask, names, cells, None if target is None else names.index(target), unfit, days)


def _take(rows: RowQuery, names: Sequence[str], engine: Scratch) -> list[_Cell]:
    """Make `raw` with the columns c0, c1, ..., in one query: texts, and numbers and days that are declared.

    It is a table of our own, or a view of files that have types. A moment is the day that it is on.
    """
    ours = engine is rows.engine
    cells = [_cell(i, rows.types[name], ours) for i, name in enumerate(names)]
    texts = [rows.types[name].is_string() for name in names]
    as_they_are = [name for name, cell in zip(names, cells, strict=True) if cell.declared]
    query = rows.select(names) if all(texts) and ours else rows.spelled(names, as_they_are)
    kinds = [
        _kept_as(rows.types[name]) if cell.declared else "VARCHAR" for name, cell in zip(names, cells, strict=True)
    ]
    columns = [
        # A NaN is no value. DuckDB compares by a file's bounds of a column, which leave it out.
        f"CASE WHEN NOT ISNAN(c{i}) THEN CAST(c{i} AS {kinds[i]}) END AS c{i}"
        if rows.types[name].is_floating()
        else f"CAST(c{i} AS {kinds[i]}) AS c{i}"
        if cell.declared
        else f"SUBSTR(c{i}, 1, 10) AS c{i}"
        if rows.types[name].is_timestamp()
        # What has been spelled has no space around it; few cells of a file have, and plain spaces are most of it.
        else f"TRIM(c{i}) AS c{i}"
        if texts[i]
        else f"c{i}"
        for i, (name, cell) in enumerate(zip(names, cells, strict=True))
    ]
    ask = engine.backend.raw_sql
    if ours:
        with engine.reporting():
            kind = "TABLE" if all(texts) else "VIEW"
            ask(f"CREATE TEMPORARY {kind} raw AS SELECT {', '.join(columns)} FROM ({engine.sql(query)})")
        return cells
    with engine.reporting():
        ask(f"CREATE TEMPORARY TABLE raw ({', '.join(f'c{i} {kind}' for i, kind in enumerate(kinds))})")
    for batch in rows.engine.batches(query):
        with engine.reporting():
            engine.backend.con.register("batch", batch)
            ask(f"INSERT INTO raw SELECT {', '.join(columns)} FROM batch")
            engine.backend.con.unregister("batch")
    return cells


def _kept_as(dtype: dt.DataType) -> str:
    """Return DuckDB's type for what is declared."""
    if dtype.is_date() or dtype.is_timestamp():
        return "DATE"
    if isinstance(dtype, dt.Decimal):
        return f"DECIMAL({dtype.precision}, {dtype.scale})"
    return "FLOAT" if dtype.is_float32() else "DOUBLE" if dtype.is_floating() else "HUGEINT"


def _cell(i: int, dtype: dt.DataType, ours: bool) -> _Cell:
    """Return how a column of some type stands in `raw`; as text, unless it is declared as something that has an order.

    Of the databases of others days are texts, which may be later than Python knows.
    """
    c = f"c{i}"
    text = Cell(ColumnRule(c, c), dtype, lists=True).text.sql("duckdb")
    if dtype.is_floating():
        # Floats of 32 bits are the decimal numbers that they are written as.
        number = f"CAST(CAST({c} AS VARCHAR) AS DOUBLE)" if dtype.is_float32() else c
        return _Cell(c, text, "real", f"CASE WHEN ABS({c}) < {VAST} THEN {number} END")
    if dtype.is_integer():
        return _Cell(c, text, "real", f"CAST({c} AS DOUBLE)", 0)
    if ours and isinstance(dtype, dt.Decimal) and dtype.precision is not None and dtype.scale is not None:
        return _Cell(c, text, "real", f"CAST({c} AS DOUBLE)", dtype.scale)
    if ours and (dtype.is_date() or (isinstance(dtype, dt.Timestamp) and dtype.timezone is None)):
        known = f"ISFINITE({c}) AND YEAR({c}) BETWEEN 1 AND 9999"
        return _Cell(c, f"CAST({c} AS VARCHAR)", "date", f"CASE WHEN {known} THEN {_since_epoch(c)} END")
    return _Cell(f"NULLIF({c}, '')", f"NULLIF({c}, '')")


def _profile(
    place: PlaceSettings,
    ask: Any,
    names: list[str],
    cells: list[_Cell],
    target: int | None,
    unfit: dict[str, str],
    days: Container[int],
) -> TableProfile:
    sizes = [f"approx_count_distinct({c.value}), COUNT({c.value})" for c in cells]
    total, *facts = ask(f"SELECT COUNT(*), {', '.join([*sizes, *_samples(cells, declared=False)])} FROM raw").fetchone()
    head = f"(SELECT * FROM raw LIMIT {HEAD})"
    looked_at = iter(facts[2 * len(cells) :]), iter(_one(ask, _samples(cells, declared=True), head))
    first = [
        ColumnProfile(
            name,
            cell.declared or "text",
            facts[2 * i + 1],
            facts[2 * i],
            tuple(next(looked_at[bool(cell.declared)]) or ()),
            next(looked_at[bool(cell.declared)]) or 0,
            "%Y-%m-%d" if cell.declared == "date" else "",
            decimals=next(looked_at[1]) or 0 if cell.declared else 0,
        )
        for i, (name, cell) in enumerate(zip(names, cells, strict=True))
    ]
    samples = [
        [text for text in column.frequent if text not in (*NO_VALUE, MISSING)] if column.reads == "text" else []
        for column in first
    ]
    spelling = place.format
    mark = spelling.decimal if "decimal" in spelling.model_fields_set else decimal_mark(samples)
    columns = [
        _reading(column, samples[i], mark, i in days) if column.reads == "text" else column
        for i, column in enumerate(first)
    ]
    columns = _measured(ask, columns, cells, mark, total)
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


def _one(ask: Any, expressions: Sequence[str], rows: str = "raw") -> Sequence[Any]:
    """Return the one line that these are, nothing of none."""
    return ask(f"SELECT {', '.join(expressions)} FROM {rows}").fetchone() if expressions else ()


def _samples(cells: Sequence[_Cell], declared: bool) -> list[str]:
    """Return what is asked of the columns that are declared, or of the others, about their texts."""
    return [
        f"approx_top_k({cell.text}, {FREQUENT}), AVG(LENGTH({cell.text}))"
        + (f", {_decimals(cell.number, cell, '.', 'TRUE')}" if declared else "")
        for cell in cells
        if bool(cell.declared) == declared
    ]


def _decimals(x: str, cell: _Cell, mark: str, where: str) -> str:
    """Return the SQL for the most decimals of a column where a condition holds; NULL if all numbers are whole.

    3.0 is whole: programs write it so.
    """
    if cell.declared == "date":
        return "0"
    if cell.place is not None:
        return f"CASE WHEN BOOL_OR({x} <> FLOOR({x})) THEN {cell.place} END"
    return f"MAX(CASE WHEN {where} AND {x} <> FLOOR({x}) THEN LENGTH(SPLIT_PART({cell.text}, '{mark}', 2)) END)"


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


def _measured(ask: Any, columns: list[ColumnProfile], cells: list[_Cell], mark: str, total: int) -> list[ColumnProfile]:
    """Return the columns with the bounds of those that have an order; numbers without decimals become integers."""
    places = [place for place, column in enumerate(columns) if column.reads != "text"]
    numbers = {place: cells[place].number or _number(columns[place], cells[place].text, mark) for place in places}
    facts = _one(ask, [_measure(columns[place], cells[place], numbers[place], mark) for place in places])
    sample = f"raw USING SAMPLE {100 * SAMPLED / total} PERCENT (bernoulli, 1)" if total > SAMPLED else "raw"
    middles = _one(ask, [f"quantile_cont({x}, [0.01, 0.99])" for x in numbers.values()], sample)
    measured = list(columns)
    for number, place in enumerate(places):
        low, high, decimals, odd, count, parted = facts[6 * number : 6 * number + 6]
        column = columns[place]
        exact = column.reads != "real" or (count and max(abs(low), abs(high)) < 2**53)  # not so NaN, and long codes
        if not exact or not count or count < column.rows * MOST / 2 or len(odd or ()) == ODD:  # a misleading sample
            measured[place] = replace(column, reads="text", form="")
            continue
        decimals = max(decimals or 0, column.decimals)
        whole = column.reads == "real" and not decimals
        measured[place] = replace(
            column,
            reads="integer" if whole else column.reads,
            low=low,
            high=high,
            inner=tuple(middles[number] or (low, high)),
            decimals=decimals,
            odd=_odd(column, odd or (), mark),
            parted=column.reads == "real" and parted,
        )
    return measured


def _measure(column: ColumnProfile, cell: _Cell, x: str, mark: str) -> str:
    """Return the SQL for the bounds of an ordered column, its decimals, texts that are no numbers, how many are."""
    decimals, parted, odd = "0", "FALSE", f"approx_top_k(CASE WHEN {x} IS NULL THEN {cell.text} END, {ODD})"
    if cell.place is not None:
        odd = "NULL"
    if not cell.declared:
        parted = f"BOOL_OR({x} IS NOT NULL AND CONTAINS({cell.text}, '{_parting(mark)}'))"
    if column.reads == "real" and column.decimals < FINEST:  # of what is declared those of some rows are known
        where = f"{cell.value} <> ROUND({cell.value}, {column.decimals})" if cell.declared else "TRUE"
        decimals = _decimals(cell.value if cell.declared else x, cell, mark, where)
    return f"MIN({x}), MAX({x}), {decimals}, {odd}, COUNT({x}), {parted}"


def _odd(column: ColumnProfile, texts: Sequence[str], mark: str) -> tuple[str, ...]:
    """Return texts that are none of the column's, without space around them, which whoever reads the cells drops."""
    bare = dict.fromkeys(text.strip() for text in texts)
    return tuple(text for text in bare if text != MISSING and not _is_ordered(column, text, mark))


def _number(column: ColumnProfile, cell: str, mark: str) -> str:
    """Return the SQL for the number that an ordered cell is, NULL if it is none."""
    match column.reads:
        case "date":
            return _since_epoch(f"CAST(try_strptime({cell}, '{column.form}') AS DATE)")
        case "time":
            time = f"CAST(EPOCH(TRY_CAST({cell} AS TIME)) AS BIGINT) % {DAY}"  # that of a day alone is 0
            return f"CASE WHEN REGEXP_FULL_MATCH(TRIM({cell}), '{TIME.pattern}') THEN {time} END"
        case _:
            number = f"REPLACE(REPLACE({cell}, '{_parting(mark)}', ''), '{mark}', '.')"
            return f"CASE WHEN REGEXP_MATCHES({number}, '{NUMBER}') THEN TRY_CAST({number} AS DOUBLE) END"


def _since_epoch(day: str) -> str:
    return f"DATE_DIFF('day', DATE '1970-01-01', {day})"


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


def _counted(ask: Any, columns: list[ColumnProfile], cells: list[_Cell], target: int | None) -> list[ColumnProfile]:
    """Return the columns with the counts of those that have few values, by classes if the target has few."""
    few = [place for place, column in enumerate(columns) if column.distinct <= FEW]
    label = cells[target].text if target is not None and target in few else "''"
    counts: dict[int, dict[str, dict[str, int]]] = {place: {} for place in few}
    queries = [
        f"SELECT {place}, COALESCE({cells[place].text}, ''), COALESCE(y, ''), n "
        f"FROM (SELECT c{place}, {label} AS y, COUNT(*) AS n FROM raw GROUP BY ALL)"
        for place in few
    ]
    for place, text, of, rows in sorted(ask(" UNION ALL ".join(queries)).fetchall()) if few else ():
        classes = counts[place].setdefault(text, {})
        classes[of] = classes.get(of, 0) + rows
    return [
        replace(column, counts=counts[place], distinct=len(counts[place].keys() - {""})) if place in counts else column
        for place, column in enumerate(columns)
    ]


def _told_apart(ask: Any, columns: list[ColumnProfile], cells: list[_Cell]) -> list[ColumnProfile]:
    """Return the columns with exact numbers of values where nearly every row may have its own: an estimate errs.

    Of numbers with decimals nobody asks. One column at a time: what is told apart takes memory.
    """
    return [
        replace(
            column,
            distinct=ask(
                f"SELECT COUNT(*) FROM (SELECT DISTINCT {c.value} AS c FROM raw) WHERE c IS NOT NULL"
            ).fetchone()[0],
        )
        if column.reads in ("text", "integer") and not column.counts and column.distinct > KEYLIKE * column.rows
        else column
        for column, c in zip(columns, cells, strict=True)
    ]


def _missing(columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Return the texts that mean no value: known ones, and those that stand among numbers or dates of two columns."""
    odd = [text for column in columns for text in set(column.odd)]
    seen = {text for column in columns for text in (*column.frequent, *column.counts)}
    codes = {text for text in odd if odd.count(text) > 1 or text in NO_VALUE} | seen & set(NO_VALUE)
    return tuple(sorted(codes - {"", MISSING}))

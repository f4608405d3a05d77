"""Profiling of a raw table's columns, by a few queries over all columns at once in a temporary DuckDB.

The rows of a database are fetched once. A *declared* column has a numeric or date type in its source, so its values
are used directly; the kind of a text column is found from its texts. The tables in DuckDB are *pieces* of `PIECE`
columns each, because one statement over all columns of a wide table is slow. Profiles are private.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from itertools import combinations, groupby
from typing import Any

import ibis.expr.datatypes as dt
import sqlglot.expressions as exp

from parties.alone.preparing.columns import ColumnProfile, TableProfile
from parties.alone.preparing.deriving import BIRTH, DAY_NAME, backwards, declaration, spelled_briefly, spelled_out
from parties.alone.preparing.readings import (
    COMPACT,
    LIMIT,
    MOST,
    REFUSE,
    Choices,
    Question,
    Reading,
    as_excel_days,
    beyond_limits,
    in_several_units,
    like_versions,
    readings,
)
from parties.alone.preparing.spelling import drop_non_rows, spelling_of
from parties.alone.preparing.spellings import NO_VALUE
from parties.base.text import instead, listed, quoted
from parties.sources.databases import Scratch
from parties.sources.delimited import sql_literal
from parties.sources.derived import with_derived
from parties.sources.expressions import Cell, days_in, number_in, seconds_in
from parties.sources.forms import VAST
from parties.sources.mapping import ColumnRule, number_of
from parties.sources.opened import RowQuery, narrowed
from parties.sources.opening import open_rows
from parties.sources.settings import EXCEL, SPELLED, DerivedSettings, FormatSettings, PlaceSettings, TableSettings
from parties.tables.delimited import MISSING
from parties.tables.spellings import composed
from parties.tables.types import EPOCH, days_of
from smc.errors import InputError

FREQUENT = 60  # most frequent values of a column, from which its readings are found
FEW = 400  # all values of a column with at most this many are counted, by target class
KEYLIKE = 0.5  # distinct values by the estimate (error: a fifth) per row, above which they are counted exactly
ODD = 200  # distinct texts that are not numbers: a column with this many is not a column of numbers
HEAD = 10_000  # first rows, from which the frequent values of declared columns are taken
SAMPLED = 1 << 20  # the middle 98 % of a column are estimated from about this many rows
FINEST = 12  # largest number of decimals that is determined
AT_ONCE = 32  # expressions of a query: DuckDB's time to plan it grows with the square of their number
COLUMNS = 8  # number columns in a query
PIECE = 512  # columns of a table in DuckDB: each statement reads the names of all its columns
LONG = 10_000  # rows; DuckDB counts the cells of a shorter table faster as lines than column by column
EXAMPLES = 3  # cells in a question
SENTINEL = re.compile(r"-(9+|8+|7+)|(9{3,}|8{3,}|7{3,})")  # numbers, without decimal mark, that often mean no value
DAY_CODES = {  # days that often mean no value
    *("0001-01-01", "1111-11-11", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01"),
    *("1970-01-01", "2099-12-31", "2999-12-31", "3000-01-01", "9999-01-01", "9999-12-31"),
}


@dataclass(frozen=True)
class _Cell:
    """SQL for a column of a piece. `text` is NULL for an empty cell; `value` has as many distinct values as `text`.

    For a column `declared` as "real" or "date", `number` is the cell as a number, NULL if out of range. `place` is
    the number of decimals, if the type fixes it.
    """

    value: str
    text: str
    declared: str = ""
    number: str = ""
    place: int | None = None
    is_moment: bool = False


def profile(
    place: PlaceSettings,
    target: str | None = None,
    choices: Choices = REFUSE,
    derived: Mapping[str, DerivedSettings] | None = None,
) -> TableProfile:
    """Return the profile of all columns of a place. A party's table has only the rows that it does not leave out.

    Args:
        place: File or database table with the rows.
        target: Name of the class column; None for no target.
        choices: Decides between several readings of a column.
        derived: Columns to compute; None for those of the party's table.

    Raises:
        InputError: The place cannot be read, lacks the target or usable columns, or has several readings.
    """
    choices = choices.remembered()
    derived = place.derives if derived is None else derived
    spelled, remarks = _with_spelling(place, choices)
    spelled = spelled.model_copy(update={"derived": {}}) if place.derives else spelled
    if not derived:
        with open_rows(spelled) as rows:
            table = profile_rows(rows, target, spelled, choices)
        return replace(table, remarks=(*remarks, *table.remarks))
    with open_rows(spelled) as rows:  # finds the spelling of the columns that derived columns read
        source = profile_rows(rows, None, spelled, choices)
    form = spelled.format.model_copy(update={"drop_rows": source.spelling.drop_rows})
    spelled = spelled.model_copy(update={"format": form})
    with open_rows(spelled) as rows:
        table = profile_derived(rows, source, derived, target, spelled, choices)
    return replace(table, remarks=(*remarks, *source.remarks))


def profile_derived(
    rows: RowQuery,
    source: TableProfile,
    derived: Mapping[str, DerivedSettings],
    target: str | None,
    place: PlaceSettings,
    choices: Choices,
) -> TableProfile:
    """Return the profile of all columns of a query's rows, with columns that are computed from them.

    Args:
        rows: The rows.
        source: Profile of the rows without the computed columns.
        derived: The columns to compute.
        target: Name of the class column; None for no target.
        place: Format of the cells, and memory limit.
        choices: Decides between several readings of a column.
    """
    declared = spelled_out(derived, source)
    table = profile_rows(with_derived(rows, declared, place.format), target, place, choices)
    columns = tuple(
        replace(c, remarks=(f"computed: {declaration(derived[c.name])}", *backwards(c, derived[c.name]), *c.remarks))
        if c.name in derived
        else c
        for c in table.columns
    )
    return replace(table, columns=columns, derived=spelled_briefly(declared, table.spelling))


def _with_spelling(place: PlaceSettings, choices: Choices) -> tuple[PlaceSettings, list[str]]:
    """Return the place with the detected format of its CSV files, unless its settings have one; and remarks.

    `choices` decide what the files leave open.
    """
    if "format" in place.model_fields_set:
        return place, []
    if not isinstance(place, TableSettings) or place.query is None:
        spelling, remarks = spelling_of(place, choices)
        return place.model_copy(update={"format": spelling}), remarks
    spellings = {
        name: spelling_of(PlaceSettings(source=file.source, table=file.table), choices)[0]
        for name, file in place.files.items()
        if file.format is None
    }
    first = next(iter(spellings.values()), FormatSettings())
    if all(spelling == first for spelling in spellings.values()):  # one format of the table serves all files
        return place.model_copy(update={"format": first}), []
    files = {name: place.files[name].model_copy(update={"format": spelling}) for name, spelling in spellings.items()}
    return place.model_copy(update={"files": place.files | files}), []


def profile_rows(rows: RowQuery, target: str | None, place: PlaceSettings, choices: Choices = REFUSE) -> TableProfile:
    """Return the profile of a query's rows. Raise InputError if the target is missing or no column can be an attribute.

    Args:
        rows: The rows.
        target: Name of the class column; None for no target.
        place: Format of the cells, and memory limit.
        choices: Decides between several readings of a column.
    """
    label = rows.engine.place
    choices.check(label, [*rows.types])
    unfit = {name: str(why) for name in rows.types if name and (why := rows.unfit(name)) is not None}
    folded = {name: composed(name).casefold() for name in rows.types}
    alike = Counter(folded.values())
    for name in rows.types:
        if alike[folded[name]] > 1:
            unfit[name] = "another column's name differs only in case: rename one"
    names = [name for name in rows.types if name and name not in unfit]
    if target is not None and target not in names:
        if len(rows.types) == 1:
            only = quoted(next(iter(rows.types)))
            raise InputError(
                f"{label}: there is no column {quoted(target)}, and {only} is the only column; check that the file "
                f"is a table"
            )
        raise InputError(f"{label}: there is no column {quoted(target)}{instead(target, names)}")
    if not names:
        first, why = next(iter(unfit.items()), ("", "a column needs a name"))
        raise InputError(f"{label}: no column can be an attribute, such as {quoted(first)}: {why}")
    with ExitStack() as stack:
        engine = rows.engine
        if not isinstance(engine, Scratch):
            engine = Scratch(label, place.memory, place.threads)
            stack.callback(engine.close)
        chosen = None if target is None else names.index(target)
        cells, pieces = _take(rows, names, engine, chosen)
        ask = engine.backend.raw_sql
        days = {i for i, name in enumerate(names) if rows.engine.lists or not rows.types[name].is_string()}
        with engine.reporting():
            pieces.make(0)
            is_raw = engine is rows.engine and all(rows.types[name].is_string() for name in names)
            dropped, remarks = drop_non_rows(ask, [*rows.types], names, place) if is_raw else ((), ())
            total = pieces.rows(0)
            pieces.make_others(dropped, total)
            table = _Looker(place, ask, names, cells, days, choices).table(chosen, unfit, total)
        if dropped:
            table = replace(
                table, spelling=table.spelling.model_copy(update={"drop_rows": (*place.format.drop_rows, *dropped)})
            )
        return replace(table, remarks=(*remarks, *table.remarks))


def _take(rows: RowQuery, names: Sequence[str], engine: Scratch, target: int | None) -> tuple[list[_Cell], _Pieces]:
    """Return the SQL of the columns c0, c1, ..., and the pieces that will hold them.

    A piece is a table in DuckDB, or a view of a file with typed columns. A timestamp becomes its day.
    """
    ours = engine is rows.engine
    cells = [_cell(i, rows.types[name], ours) for i, name in enumerate(names)]
    texts = [rows.types[name].is_string() for name in names]
    as_they_are = [name for name, cell in zip(names, cells, strict=True) if cell.declared]

    def query(places: Sequence[int]) -> exp.Select:
        some = [names[place] for place in places]
        few = replace(rows, query=narrowed(rows.query, some))
        cells = few.select(some) if all(texts) and ours else few.spelled(some, as_they_are)
        for place, cell in zip(places, cells.selects, strict=True):
            cell.set("alias", exp.to_identifier(f"c{place}"))
        return cells

    kinds = [
        _kept_as(rows.types[name]) if cell.declared else "VARCHAR" for name, cell in zip(names, cells, strict=True)
    ]
    columns = [
        # NaN is a missing value. DuckDB decides comparisons by a file's bounds of a column, which omit NaN.
        f"CASE WHEN NOT ISNAN(c{i}) THEN CAST(c{i} AS {kinds[i]}) END AS c{i}"
        if rows.types[name].is_floating()
        else f"CAST(c{i} AS {kinds[i]}) AS c{i}"
        if cell.declared
        else f"SUBSTR(c{i}, 1, 10) AS c{i}"
        if rows.types[name].is_timestamp()
        # Corrected cells have no spaces around them. Few cells of a file have some, mostly plain spaces.
        else f"TRIM(c{i}) AS c{i}"
        if texts[i]
        else f"c{i}"
        for i, (name, cell) in enumerate(zip(names, cells, strict=True))
    ]
    ask = engine.backend.raw_sql
    if ours:
        kind = "TABLE" if all(texts) or engine.reads_slowly else "VIEW"
        return cells, _Pieces(engine, lambda places: f"({engine.sql(query(places))})", columns, target, kind)
    with engine.reporting():
        ask(f"CREATE TEMPORARY TABLE whole ({', '.join(f'c{i} {kind}' for i, kind in enumerate(kinds))})")
    for batch in rows.engine.batches(query(range(len(names)))):
        with engine.reporting():
            engine.backend.con.register("batch", batch)
            ask(f"INSERT INTO whole SELECT {', '.join(columns)} FROM batch")
            engine.backend.con.unregister("batch")
    return cells, _Pieces(engine, lambda places: "whole", [f"c{i}" for i in range(len(names))], target, "VIEW")


@dataclass(frozen=True)
class _Pieces:
    """The tables `raw0`, `raw1`, ... in DuckDB: each has `PIECE` columns, the table's first column and the target."""

    engine: Scratch
    source: Callable[[Sequence[int]], str]  # the rows with some of the columns, in SQL
    columns: Sequence[str]  # in SQL
    target: int | None
    kind: str

    def make(self, piece: int, dropped: Sequence[str] = ()) -> None:
        """Create a piece without the rows whose first cell is in `dropped`."""
        first, wide = piece * PIECE, len(self.columns) > PIECE
        places = dict.fromkeys([*range(first, min(first + PIECE, len(self.columns)))])
        places |= dict.fromkeys([0, *([] if self.target is None else [self.target])])
        sql = f"SELECT {', '.join(self.columns[place] for place in places)} FROM {self.source([*places])}"
        if dropped:
            sql = f"SELECT * FROM ({sql}) WHERE COALESCE(c0 NOT IN ({', '.join(map(sql_literal, dropped))}), TRUE)"
        self.engine.backend.raw_sql(f"CREATE TEMPORARY {'TABLE' if wide else self.kind} raw{piece} AS {sql}")

    def rows(self, piece: int) -> int:
        return int(self.engine.backend.raw_sql(f"SELECT COUNT(*) FROM raw{piece}").fetchone()[0])

    def make_others(self, dropped: Sequence[str], total: int) -> None:
        """Create all pieces except the first. Raise InputError unless each has `total` rows."""
        for piece in range(1, -(-len(self.columns) // PIECE)):
            self.make(piece, dropped)
            if self.rows(piece) != total:
                raise InputError(f"{self.engine.place}: the rows changed while they were read; prepare them again")


def _kept_as(dtype: dt.DataType) -> str:
    if dtype.is_date() or dtype.is_timestamp():
        return "DATE"
    if isinstance(dtype, dt.Decimal):
        return f"DECIMAL({dtype.precision}, {dtype.scale})"
    return "FLOAT" if dtype.is_float32() else "DOUBLE" if dtype.is_floating() else "HUGEINT"


def _cell(i: int, dtype: dt.DataType, ours: bool) -> _Cell:
    """Return the SQL of column `i` in a piece: as text, unless its type is a number or a date.

    Dates from a database (`ours` is False) are texts, because they may be later than Python's last year.
    """
    c = f"c{i}"
    text = _text_template(dtype).replace(CELL, c)
    if dtype.is_floating():
        # A float of 32 bits stands for its shortest decimal text.
        number = f"CAST(CAST({c} AS VARCHAR) AS DOUBLE)" if dtype.is_float32() else c
        return _Cell(c, text, "real", f"CASE WHEN ABS({c}) < {VAST} THEN {number} END")
    if dtype.is_integer():
        return _Cell(c, text, "real", f"CAST({c} AS DOUBLE)", 0)
    if ours and isinstance(dtype, dt.Decimal) and dtype.precision is not None and dtype.scale is not None:
        return _Cell(c, text, "real", f"CAST({c} AS DOUBLE)", dtype.scale)
    if ours and (dtype.is_date() or (isinstance(dtype, dt.Timestamp) and dtype.timezone is None)):
        known = f"ISFINITE({c}) AND YEAR({c}) BETWEEN 1 AND 9999"
        number = f"CASE WHEN {known} THEN {_since_epoch(c)} END"
        return _Cell(c, f"CAST({c} AS VARCHAR)", "date", number, is_moment=dtype.is_timestamp())
    return _Cell(f"NULLIF({c}, '')", f"NULLIF({c}, '')")


class _Looker:
    """Profiler of the columns in the pieces.

    Here and below, `ask` runs a query, `total` is the number of rows of the table, and `samples` has the most frequent
    texts of each column.
    """

    def __init__(
        self,
        place: PlaceSettings,
        ask: Callable[[str], Any],
        names: Sequence[str],
        cells: list[_Cell],
        days: Container[int],
        choices: Choices,
    ) -> None:
        self._place, self._ask, self._names, self._cells, self._days = place, ask, names, cells, days
        self._choices = choices
        self._today = days_of(date.today())

    def table(self, target: int | None, unfit: dict[str, str], total: int) -> TableProfile:
        """Return the profile of the table; `unfit` has the columns that are left out, with the reason."""
        ask, cells = self._ask, self._cells
        first = self._first()
        samples = [
            [text for text in column.frequent if text not in (*NO_VALUE, MISSING)] if column.reads == "text" else []
            for column in first
        ]
        options = {
            place: found
            for place, texts in enumerate(samples)
            if "text" not in self._choices.of(self._names[place])
            and (found := self._readings(self._names[place], texts, place in self._days))
        }
        columns = self._read(first, options, samples)
        columns = _measured(ask, columns, cells, total)
        columns = self._again(columns, total)
        columns = _counted(ask, columns, cells, target, total)
        columns = _told_apart(ask, columns, cells)
        spelling = _common(columns, self._place.format)
        return TableProfile(self._place, spelling, total, tuple(columns), unfit, self._empty_rows(columns, total))

    def _empty_rows(self, columns: Sequence[ColumnProfile], total: int) -> tuple[str, ...]:
        """Return a remark if rows have no value at all; tables of several pieces are not checked."""
        if any(column.rows == total for column in columns) or len(columns) > PIECE:
            return ()
        empty = " AND ".join(f"{cell.value} IS NULL" for cell in self._cells)
        rows = self._ask(f"SELECT COUNT(*) FROM raw0 WHERE {empty}").fetchone()[0]
        return (f"{rows:,} row{'s have' if rows > 1 else ' has'} no value at all, but count as rows: remove them",) * (
            rows > 0
        )

    def _readings(self, name: str, texts: Sequence[str], can_be_days: bool) -> list[Reading]:
        """Return the possible readings of a column with these texts.

        If `can_be_days`, numbers may be Excel's days if the column's name or the operator says so.
        """
        found = readings(texts, self._place.format, can_be_days)
        is_given = EXCEL in self._choices.of(name)
        if can_be_days and (is_given or DAY_NAME.search(name)) and (days := as_excel_days(texts)):
            found = days if is_given else [*found[:1], *days]
        return found

    def _first(self) -> list[ColumnProfile]:
        """Return first profiles of the columns: numbers of rows and values, and the most frequent texts."""
        cells = self._cells
        sizes = _one(
            self._ask,
            [
                (i, part)
                for i, c in enumerate(cells)
                for part in (f"approx_count_distinct({c.value})", f"COUNT({c.value})")
            ],
        )
        head = f"(SELECT * FROM {RAW} LIMIT {HEAD})"
        looked_at = [
            iter(_one(self._ask, _samples(cells, declared=declared), head if declared else RAW))
            for declared in (False, True)
        ]
        return [
            ColumnProfile(
                name,
                cell.declared or "text",
                sizes[2 * i + 1],
                sizes[2 * i],
                tuple(next(looked_at[bool(cell.declared)]) or ()),
                next(looked_at[bool(cell.declared)]) or 0,
                "%Y-%m-%d" if cell.declared == "date" else "",
                decimals=next(looked_at[1]) or 0 if cell.declared else 0,
            )
            for i, (name, cell) in enumerate(zip(self._names, cells, strict=True))
        ]

    def _read(
        self, columns: list[ColumnProfile], options: dict[int, list[Reading]], samples: Sequence[Sequence[str]]
    ) -> list[ColumnProfile]:
        """Return the profiles under those of each column's `options` that fit the most cells.

        The operator chooses if several readings do.
        """
        fitting, deciding = self._fitting(columns, options, samples)
        sole = {place: fit[0] for place, fit in fitting.items() if len(fit) == 1}
        marks: set[str] = {
            r.spelling.decimal for place, r in sole.items() if r.kind == "real" and _has_mark(samples[place])
        }
        forms: set[str] = {reading.spelling.dates for reading in sole.values() if reading.kind == "date"}
        read = list(columns)
        for place, fit in fitting.items():
            chosen, remarks = fit[0], []
            if len(fit) > 1:
                chosen, remark = self._choose(
                    columns[place].name, fit, [*samples[place], *deciding.get(place, ())], marks, forms
                )
                remarks = [remark]
            if chosen.kind == "real":
                numbers = self._as_numbers(columns[place].name, chosen, samples[place])
                if numbers is None:
                    continue
                chosen = numbers
            remarks += _changes(columns[place].name, chosen, samples[place])
            read[place] = replace(
                columns[place],
                reads=chosen.kind,
                form=chosen.spelling.dates if chosen.kind == "date" else "",
                spelling=chosen.spelling,
                remarks=tuple(remarks),
            )
        return read

    def _as_numbers(self, name: str, reading: Reading, texts: Sequence[str]) -> Reading | None:
        """Return a reading as numbers, after questions on units, versions and limits; None if the column stays text."""
        if several := in_several_units(texts, reading):
            examples = [f"{quoted(text)} is {reading.value(text)}" for text in several]
            if self._stays_text(name, {"text": f"{listed(several)} stay texts", "number": ", ".join(examples)}):
                return None
        if versions := like_versions(texts, reading) if len(texts) < FREQUENT else []:
            stay = f"{listed(versions)} stay two values"
            if self._stays_text(name, {"number": f"{listed(versions)} are one number", "text": stay}):
                return None
        beyond = beyond_limits(texts, reading)
        if beyond and not self._choices.codes(name):
            listing = ", ".join([f"{quoted(text)} is {value}" for text, value in beyond.items()][:EXAMPLES])
            options = {
                f"missing:{','.join(beyond)}": "they mean no value",
                "number": listing,
                "text": f"{listed([*beyond])} stay texts",
            }
            answer = self._choices.choose(Question(self._place.label, name, options))
            if answer == "text":
                return None
            marks = {mark.strip() for text in beyond for mark in LIMIT.findall(text)}
            drop = tuple(sorted({*reading.spelling.drop, *marks}, key=lambda word: (-len(word), word)))
            means = {"drop": drop} if answer == "number" else {"missing": tuple(beyond)}
            reading = replace(reading, spelling=reading.spelling.model_copy(update=means))
        return reading

    def _stays_text(self, name: str, options: Mapping[str, str]) -> bool:
        return self._choices.choose(Question(self._place.label, name, options)) == "text"

    def _fitting(
        self, columns: list[ColumnProfile], options: dict[int, list[Reading]], samples: Sequence[Sequence[str]]
    ) -> tuple[dict[int, list[Reading]], dict[int, list[str]]]:
        """Return, by column index, those of its `options` that fit the most cells, and cells on which these differ.

        Of readings that agree on all cells, only the first is returned.
        """
        fitting, deciding = (
            {place: _agreeing(of, samples[place]) for place, of in options.items()},
            dict[int, list[str]](),
        )
        several = {  # cells outside the sample may decide
            place: of for place, of in options.items() if len(of) > 1 and columns[place].distinct > FREQUENT / 2
        }
        numbers = {
            place: [_number(reading.kind, reading.spelling, self._cells[place].text) for reading in of]
            for place, of in several.items()
        }
        cells = self._cells
        facts = iter(_of_numbers(self._ask, numbers, lambda place, found: _compared(cells[place].text, found)))
        for place, of in several.items():
            counts = [next(facts) for _ in of]
            differs = {pair: next(facts) for pair in combinations(range(len(of)), 2)}
            deciding[place] = [text for text in differs.values() if text is not None]
            best = [i for i, count in enumerate(counts) if count == max(counts)]
            kept = [i for n, i in enumerate(best) if all(differs[j, i] is not None for j in best[:n])]
            fitting[place] = [of[i] for i in kept]
        return fitting, deciding

    def _choose(
        self, name: str, fit: Sequence[Reading], texts: Sequence[str], marks: set[str], forms: set[str]
    ) -> tuple[Reading, str]:
        """Return one of several readings: given by the operator, used in other columns, or asked for; and a remark.

        `marks` and `forms` are the decimal marks and forms of dates that other columns use.
        """
        by_name = {reading.name: reading for reading in fit}
        texts = [text for text in texts if len({reading.value(text) for reading in fit}) > 1][:EXAMPLES] or texts[:1]
        examples = [", ".join(f"{quoted(text)} is {r.value(text)}" for text in texts) for r in fit]
        question = Question(self._place.label, name, dict(zip(by_name, examples, strict=True)))
        others = [r for r in fit if (r.spelling.decimal in marks if r.kind == "real" else r.spelling.dates in forms)]
        if len(others) == len({r.kind for r in fit}) == 1 and not by_name.keys() & set(self._choices.of(name)):
            chosen, why = others[0], ", as in other columns"
        else:
            chosen, why = by_name[self._choices.choose(question)], ""
        text = texts[0]
        rest = listed([key for key in by_name if key != chosen.name])
        return chosen, f"read as {chosen.name}{why}: {quoted(text)} is {chosen.value(text)}; {rest} fits too"

    def _again(self, columns: list[ColumnProfile], total: int) -> list[ColumnProfile]:
        """Return the profiles, with the century of two-digit years and the codes for missing values decided."""
        again = {}
        known = [c.high for c in columns if c.reads == "date" and c.high <= self._today and not BIRTH.search(c.name)]
        for place, column in enumerate(columns):
            if column.reads == "date" and "%y" in column.form:
                changed = self._century(column, self._cells[place], max(known, default=self._today))
            elif column.reads in ("integer", "real"):
                changed = self._codes(self._other_marks(column))
            elif column.reads == "date" and not self._cells[place].is_moment:
                changed = self._codes(column)
            else:
                changed = column
            if changed is not column:
                again[place] = changed
        changed_columns = [again.get(place, column) for place, column in enumerate(columns)]
        return _measured(self._ask, changed_columns, self._cells, total, again)

    def _other_marks(self, column: ColumnProfile) -> ColumnProfile:
        others = FormatSettings(decimal="," if column.spelling.decimal == "." else ".")
        texts = tuple(text for text in column.odd if number_of(text, others) is not None)
        if not texts:
            return column
        options = {
            "number": f"{listed(texts, EXAMPLES)}: missing, because the decimal mark differs from the other numbers'",
            "text": "all cells stay texts",
        }
        if self._choices.choose(Question(self._place.label, column.name, options)) == "text":
            return replace(column, reads="text", spelling=FormatSettings(), odd=())
        remark = f"{listed(texts, EXAMPLES)}: read as missing, because the decimal mark differs from the other numbers'"
        spelling = column.spelling.model_copy(update={"missing": (*column.spelling.missing, *texts)})
        return replace(column, spelling=spelling, remarks=(*column.remarks, remark))

    def _century(self, column: ColumnProfile, cell: _Cell, latest: float) -> ColumnProfile:
        """Return the profile with the century of its two-digit years decided, by a question if dates lie after today.

        Years of birth may also end before the widest gap between them. No birth is later than `latest`, the latest
        other date of the table.
        """
        year = _year(self._today)
        past, future = f"until-{year}", f"until-{column.spelling.last_year}"
        if given := [name for name in self._choices.of(column.name) if re.fullmatch(r"until-\d{4}", name)]:
            name = given[0]
        elif "last_year" in self._place.format.model_fields_set:
            return column
        elif BIRTH.search(column.name):
            ends = self._ends_of_births(column, cell, year, _year(latest))
            name = next(iter(ends))
            if len(ends) > 1:
                name = self._choices.choose(Question(self._place.label, column.name, ends))
            elif name == past and column.high <= self._today:
                return column
        elif column.high <= self._today:
            return column
        else:
            newest = EPOCH + timedelta(days=int(column.high))
            options = {past: f"the latest of its days becomes {newest.year - 100}", future: f"it is {newest}"}
            name = self._choices.choose(Question(self._place.label, column.name, options))
        last_year = int(name[6:])
        remark = f"two-digit years are {last_year - 99} to {last_year}: --reading '{column.name}={name}'"
        return replace(
            column,
            spelling=column.spelling.model_copy(update={"last_year": last_year}),
            remarks=(*column.remarks, remark),
        )

    def _ends_of_births(self, column: ColumnProfile, cell: _Cell, year: int, latest: int) -> dict[str, str]:
        """Return the readings of two-digit years of birth: the last year is this one, or that before the widest gap."""
        x = _number(column.reads, column.spelling, cell.text)
        raw = f"raw{self._names.index(column.name) // PIECE}"
        sql = f"SELECT DISTINCT YEAR(DATE '1970-01-01' + CAST({x} AS INT)) % 100 AS y FROM {raw} WHERE {x} IS NOT NULL"
        used = sorted(row[0] for row in self._ask(sql).fetchall())
        widest = max(range(len(used)), key=lambda i: (used[(i + 1) % len(used)] - used[i] - 1) % 100)
        ends = dict.fromkeys((year, year - (year - used[widest]) % 100))
        years = {end: sorted(end - (end - two_digits) % 100 for two_digits in used) for end in ends}
        if years[year] == years[[*ends][-1]]:
            ends.popitem()
        elif years[year][-1] > latest:
            ends.pop(year)
        return {f"until-{end}": f"births of {years[end][0]} to {years[end][-1]}" for end in ends}

    def _codes(self, column: ColumnProfile) -> ColumnProfile:
        """Return the profile, with suspicious numbers or dates as missing values if the operator decides so."""
        kind = "days" if column.reads == "date" else "numbers"
        if not (codes := self._choices.codes(column.name)):
            if not (codes := _sentinels(column)):
                return column
            missing = f"missing:{','.join(codes)}"
            options = {"value": f"they are {kind} like the others", missing: "they mean no value"}
            if self._choices.choose(Question(self._place.label, column.name, options)) != missing:
                remark = f"{listed(codes)}: read as {kind}; --reading '{column.name}={missing}' makes them missing"
                return replace(column, remarks=(*column.remarks, remark))
        present = [text for text in codes if text not in column.odd]
        remark = f"{listed(codes)}: read as a missing value"
        without = (*dict.fromkeys((*column.spelling.missing, *codes)),)
        spelling = column.spelling.model_copy(update={"missing": without})
        return replace(column, codes=tuple(present), spelling=spelling, remarks=(*column.remarks, remark))


def _year(day: float) -> int:
    return (EPOCH + timedelta(days=int(day))).year


def _compared(text: str, numbers: Sequence[str]) -> list[str]:
    """Return SQL expressions: the number of cells that each reading fits, and a cell on which each two differ."""
    counts = [f"COUNT({x})" for x in numbers]
    return [*counts, *(f"MIN({text}) FILTER ({x} <> {y})" for x, y in combinations(numbers, 2))]


def _agreeing(candidates: Sequence[Reading], texts: Sequence[str]) -> list[Reading]:
    values = {tuple(reading.value(text) for text in texts): reading for reading in reversed(candidates)}
    fits = {values[key]: sum(value is not None for value in key) for key in values}
    return [reading for reading in candidates if fits.get(reading) == max(fits.values())]


def _has_mark(texts: Sequence[str]) -> bool:
    return any("." in text or "," in text for text in texts)


def _sentinels(column: ColumnProfile) -> list[str]:
    """Return frequent values that may mean no value: 999, -88 and alike, or days such as 1900-01-01.

    They lie far from the other numbers, or are the most frequent value.
    """
    if column.reads == "date":
        return _day_codes(column)
    numbers = [(text, number) for text in column.frequent if (number := _plain_number(column, text)) is not None]
    others = [number for text, number in numbers if not _is_sentinel(text) and text != "99"]
    if len(others) < 2:
        return []
    low, high = min(others), max(others)
    gap = max((high - low) / 20, 1)
    return [
        text
        for text, number in numbers[: EXPECTED if column.distinct > FEW else FREQUENT]
        if (_is_sentinel(text) or text == "99" == column.frequent[0])
        and (
            number < low - 10 * gap or number < 0 <= low
            if number < 0
            else number < low - gap
            or number > high + 10 * gap
            or (text == column.frequent[0] and column.distinct > FREQUENT)
        )
    ]


def _is_sentinel(text: str) -> bool:
    return SENTINEL.fullmatch(re.sub("[.,]", "", text)) is not None


def _day_codes(column: ColumnProfile) -> list[str]:
    """Return the days in `DAY_CODES` that lie far from the other days, or are the most frequent day."""
    reading = Reading("date", "", column.spelling)
    days = {text: day for text in column.frequent if (day := reading.value(text)) is not None}
    others = [days_of(date.fromisoformat(day)) for day in days.values() if day not in DAY_CODES]
    if len(others) < 2:
        return []
    low, high = min(others), max(others)
    gap = max((high - low) / 20, 366)
    return [
        text
        for text, day in days.items()
        if day in DAY_CODES
        and (
            not low - gap <= days_of(date.fromisoformat(day)) <= high + gap
            or (text == column.frequent[0] and column.distinct > FREQUENT)
        )
    ]


EXPECTED = 10  # codes are searched among this many most frequent numbers


def _plain_number(column: ColumnProfile, text: str) -> float | None:
    value = Reading("real", "", column.spelling).value(text)
    return None if value is None else float(value)


def _changes(name: str, reading: Reading, texts: Sequence[str]) -> list[str]:
    """Return remarks on cells of column `name` that a reading changes, each with an example of these texts."""
    spelling = reading.spelling
    if reading.kind == "date":
        clock = re.search("%[HI]", spelling.dates)
        notes = ["the time of the day is dropped, only the day is kept"] if clock else []
        notes += ["each day is that of its own time zone"] if "%z" in spelling.dates else []
        return (
            [*notes, f"8 digits are read as days; --reading '{name}=text' keeps them"]
            if spelling.dates == COMPACT
            else notes
        )
    if reading.kind != "real":
        return []
    examples = [
        next((text for text in texts if spelling.thousands and spelling.thousands in text), None),
        next((text for text in texts if spelling.negative != "-" and (reading.value(text) or "")[:1] == "-"), None),
        next((text for text in texts if any(word in text for word in spelling.drop)), None),
        next((text for text in texts if "e" in text.lower()), None),
    ]
    known = dict.fromkeys(text for text in examples if text is not None and reading.value(text) is not None)
    return [f"{quoted(text)} is read as {reading.value(text)}" for text in known]


def _common(columns: Sequence[ColumnProfile], given: FormatSettings) -> FormatSettings:
    """Return the spelling that most columns have, as the table's format; settings in `given` stay."""
    numbers = [c.spelling for c in columns if c.reads in ("integer", "real") and c.is_marked]
    decimals: list[str] = [spelling.decimal for spelling in numbers]
    decimal = max(".,", key=decimals.count) if decimals else "."
    marks = [c.spelling.thousands for c in columns if c.parted and c.spelling.decimal == decimal]
    forms = [column.form for column in columns if column.reads == "date"]
    fields = {
        "decimal": decimal,
        "thousands": max(marks, key=marks.count) if marks else "",
        "dates": max(forms, key=forms.count) if forms else "%Y-%m-%d",
        "missing": _missing(columns),
    }
    fields = {key: value for key, value in fields.items() if key not in given.model_fields_set}
    return given.model_copy(update=fields)


RAW = "{raw}"  # placeholder in SQL for the name of a piece


def _one(ask: Callable[[str], Any], parts: Sequence[tuple[int, str]], rows: str = RAW) -> Sequence[Any]:
    """Return the values of SQL expressions, by queries of `AT_ONCE`; `parts` has each with its column's index."""
    return [
        fact
        for raw, some in _batches(parts)
        for fact in ask(f"SELECT {', '.join(some)} FROM {rows.replace(RAW, raw)}").fetchone()
    ]


def _of_numbers(
    ask: Callable[[str], Any], numbers: Mapping[int, Sequence[str]], part: Callable[[int, Sequence[str]], Sequence[str]]
) -> list[Any]:
    """Return the values of the expressions `part(index, names)`, where `names` stand for the SQL in `numbers[index]`.

    A subquery defines the names, so the SQL of each number is written once.
    """
    facts: list[Any] = []
    for piece, of in groupby(numbers, lambda place: place // PIECE):
        places = [*of]
        for start in range(0, len(places), COLUMNS):
            some = places[start : start + COLUMNS]
            names = {place: [f"x{place}_{i}" for i in range(len(numbers[place]))] for place in some}
            inner = [f"{x} AS {name}" for p in some for x, name in zip(numbers[p], names[p], strict=True)]
            parts = [text for place in some for text in part(place, names[place])]
            rows = f"(SELECT {', '.join([*(f'c{place}' for place in some), *inner])} FROM raw{piece})"
            facts += ask(f"SELECT {', '.join(parts)} FROM {rows}").fetchone()
    return facts


def _batches(parts: Sequence[tuple[int, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield lists of `AT_ONCE` expressions or fewer, each with the name of the piece that has their columns."""
    for piece, of in groupby(parts, lambda part: part[0] // PIECE):
        texts = [text for _, text in of]
        for start in range(0, len(texts), AT_ONCE):
            yield f"raw{piece}", texts[start : start + AT_ONCE]


def _samples(cells: Sequence[_Cell], declared: bool) -> list[tuple[int, str]]:
    """Return the expressions on the texts of the declared columns, or of the others: most frequent, mean length."""
    return [
        (i, part)
        for i, cell in enumerate(cells)
        if bool(cell.declared) == declared
        for part in (
            f"approx_top_k({cell.text}, {FREQUENT})",
            f"AVG(LENGTH({cell.text}))",
            *([_decimals(cell.number, cell, ".", "TRUE")] if declared else ()),
        )
    ]


def _decimals(x: str, cell: _Cell, mark: str, where: str) -> str:
    """Return the SQL for a column's largest number of decimals where a condition holds; NULL if all are whole.

    `x` is the SQL of the number in a cell, `mark` its decimal mark.

    3.0 is whole, because programs write whole numbers so.
    """
    if cell.declared == "date":
        return "0"
    if cell.place is not None:
        return f"CASE WHEN BOOL_OR({x} <> FLOOR({x})) THEN {cell.place} END"
    plain = f"LENGTH(SPLIT_PART({cell.text}, '{mark}', 2))"
    small = f"GREATEST(LENGTH(RTRIM(SPLIT_PART(PRINTF('%.{FINEST}f', {x}), '.', 2), '0')), 1)"
    digits = f"CASE WHEN CONTAINS(LOWER({cell.text}), 'e') THEN {small} ELSE {plain} END"
    return f"MAX(CASE WHEN {where} AND {x} <> FLOOR({x}) THEN {digits} END)"


def _measured(
    ask: Callable[[str], Any],
    columns: Sequence[ColumnProfile],
    cells: Sequence[_Cell],
    total: int,
    only: Container[int] | None = None,
) -> list[ColumnProfile]:
    """Return the profiles, with bounds for numbers, dates and times; numbers without decimals become integers.

    Args:
        ask: Runs a query.
        columns: Profiles of the columns of all pieces.
        cells: SQL of the columns.
        total: Number of rows.
        only: Indices of the columns to measure; None for all.
    """
    places = [p for p, column in enumerate(columns) if column.reads != "text" and (only is None or p in only)]
    numbers = {place: _number_of(columns[place], cells[place]) for place in places}
    is_large = total > SAMPLED

    def parts(place: int, x: Sequence[str]) -> tuple[str, ...]:
        return (*_measure(columns[place], cells[place], x[0]), "NULL" if is_large else _middle(x[0]))

    facts = _of_numbers(ask, {place: [x] for place, x in numbers.items()}, parts)
    if is_large:
        sample = f"{RAW} USING SAMPLE {100 * SAMPLED / total} PERCENT (bernoulli, 1)"
        facts[7::8] = _one(ask, [(place, _middle(x)) for place, x in numbers.items()], sample)
    measured = list(columns)
    for number, place in enumerate(places):
        low, high, decimals, odd, count, parted, marked, middle = facts[8 * number : 8 * number + 8]
        column = columns[place]
        is_number = column.reads in ("integer", "real")
        exact = not is_number or (count and max(abs(low), abs(high)) < 2**53)  # not so NaN, and long codes
        if not exact or not count or count < column.rows * MOST / 2 or len(odd or ()) == ODD:  # a misleading sample
            measured[place] = replace(column, reads="text", form="", remarks=(), spelling=FormatSettings())
            continue
        decimals = max(decimals or 0, column.decimals)
        measured[place] = replace(
            column,
            reads=("real" if decimals else "integer") if is_number else column.reads,
            low=low,
            high=high,
            inner=tuple(middle or (low, high)),
            decimals=decimals,
            odd=_odd(column, odd or ()),
            parted=bool(is_number and parted),
            is_marked=bool(is_number and (parted or marked)),
        )
    return measured


def _middle(x: str) -> str:
    return f"quantile_cont({x}, [0.01, 0.99])"


def _measure(column: ColumnProfile, cell: _Cell, x: str) -> tuple[str, ...]:
    """Return SQL expressions of a column: bounds, decimals, texts that do not fit, number of fits, and marks.

    `x` is the SQL of the number or day in a cell.
    """
    decimals, parted, marked = "0", "FALSE", "FALSE"
    odd = f"approx_top_k(CASE WHEN {x} IS NULL THEN {cell.text} END, {ODD})"
    if cell.place is not None and not column.codes:
        odd = "NULL"
    mark = column.spelling.decimal
    if not cell.declared and column.reads in ("integer", "real"):
        known = f"{x} IS NOT NULL"
        thousands = column.spelling.thousands
        parted = f"BOOL_OR({known} AND CONTAINS({cell.text}, {sql_literal(thousands)}))" if thousands else "FALSE"
        marked = f"BOOL_OR({known} AND CONTAINS({cell.text}, {sql_literal(mark)}))"
    if column.reads in ("integer", "real") and column.decimals < FINEST:  # some decimals of declared columns are known
        where = f"{cell.value} <> ROUND({cell.value}, {column.decimals})" if cell.declared else "TRUE"
        decimals = _decimals(cell.value if cell.declared else x, cell, mark, where)
    return f"MIN({x})", f"MAX({x})", decimals, odd, f"COUNT({x})", parted, marked


def _odd(column: ColumnProfile, texts: Sequence[str]) -> tuple[str, ...]:
    bare = dict.fromkeys(text.strip() for text in texts)
    kind = "real" if column.reads == "integer" else column.reads
    reading = Reading(kind, "", column.spelling)
    return tuple(text for text in bare if text != MISSING and (text in column.codes or reading.value(text) is None))


def _number_of(column: ColumnProfile, cell: _Cell) -> str:
    """Return the SQL for a cell as a number (a date as days); NULL for a text of another kind or a missing value."""
    x = cell.number or _number(column.reads, column.spelling, cell.text)
    if column.codes:
        x = f"CASE WHEN {cell.text} NOT IN ({', '.join(map(sql_literal, column.codes))}) THEN {x} END"
    return x


def _number(kind: str, spelling: FormatSettings, text: str) -> str:
    """Return the SQL for the number or day (`kind`) in a text, as `ColumnRule` reads it; NULL for another text."""
    return _number_template(kind, *(getattr(spelling, name) for name in SPELLED)).replace(CELL, text)


CELL = "the_text_of_a_cell"


@cache
def _number_template(kind: str, *spelled: Any) -> str:
    """Return the SQL of `_number` with the placeholder `CELL` for the text; cached by spelling."""
    spelling = FormatSettings.model_construct(**dict(zip(SPELLED, spelled, strict=True)))
    cell = exp.column(CELL)
    match kind:
        case "date":
            number = days_in(cell, spelling.dates, spelling.last_year)
        case "time":
            number = seconds_in(cell)
        case _:
            number = number_in(cell, spelling)
    return number.sql("duckdb")


@cache
def _text_template(dtype: dt.DataType) -> str:
    """Return the SQL of a cell's text with the placeholder `CELL` for the column; cached by type."""
    return Cell(ColumnRule(CELL, CELL), dtype, lists=True).text.sql("duckdb").replace(f'"{CELL}"', CELL)


def _since_epoch(day: str) -> str:
    return f"DATE_DIFF('day', DATE '1970-01-01', {day})"


def _counted(
    ask: Any, columns: list[ColumnProfile], cells: list[_Cell], target: int | None, total: int
) -> list[ColumnProfile]:
    """Return the profiles, with counts for columns of few values, by target class if the target has few."""
    few = [place for place, column in enumerate(columns) if column.distinct <= FEW]
    label = cells[target].text if target is not None and target in few else "''"
    counts: dict[int, dict[str, dict[str, int]]] = {place: {} for place in few}
    if total > LONG:
        parts = [
            (
                place,
                f"SELECT {place}, COALESCE({cells[place].text}, ''), COALESCE(y, ''), n "
                f"FROM (SELECT c{place}, {label} AS y, COUNT(*) AS n FROM {RAW} GROUP BY ALL)",
            )
            for place in few
        ]
        queries = [" UNION ALL ".join(some).replace(RAW, raw) for raw, some in _batches(parts)]
    else:
        queries = [_as_lines(piece, [*places], cells, label) for piece, places in groupby(few, lambda i: i // PIECE)]
    for place, text, of, rows in sorted(line for query in queries for line in ask(query).fetchall()):
        classes = counts[place].setdefault(text, {})
        classes[of] = classes.get(of, 0) + rows
    return [
        replace(column, counts=counts[place], distinct=len(counts[place].keys() - {""})) if place in counts else column
        for place, column in enumerate(columns)
    ]


def _as_lines(piece: int, places: Sequence[int], cells: Sequence[_Cell], label: str) -> str:
    """Return the SQL that counts the values of the columns `places` of a piece by class, whose SQL is `label`.

    It makes a line of each cell first.
    """
    texts = ", ".join(f"COALESCE({cells[place].text}, '') AS c{place}" for place in places)
    names = ", ".join(f"c{place}" for place in places)
    lines = f"UNPIVOT (SELECT {texts}, COALESCE({label}, '') AS y FROM raw{piece}) ON {names} INTO NAME c VALUE text"
    return f"SELECT CAST(SUBSTR(c, 2) AS INT), text, y, COUNT(*) FROM ({lines}) GROUP BY ALL"


def _told_apart(ask: Any, columns: list[ColumnProfile], cells: list[_Cell]) -> list[ColumnProfile]:
    """Return the profiles, with the exact number of values if over half of the rows may differ.

    Columns of decimals keep the estimate. Columns are counted one at a time, to save memory.
    """
    return [
        replace(
            column,
            distinct=ask(
                f"SELECT COUNT(*) FROM (SELECT DISTINCT {c.value} AS c FROM raw{i // PIECE}) WHERE c IS NOT NULL"
            ).fetchone()[0],
        )
        if column.reads in ("text", "integer") and not column.counts and column.distinct > KEYLIKE * column.rows
        else column
        for i, (column, c) in enumerate(zip(columns, cells, strict=True))
    ]


def _missing(columns: Sequence[ColumnProfile]) -> tuple[str, ...]:
    """Return the texts that mean no value: known ones, or texts among the numbers or dates of two columns."""
    odd = [text for column in columns for text in {*column.odd} - {*column.codes}]
    codes = {text for text in odd if odd.count(text) > 1 or text in NO_VALUE}
    return tuple(sorted(codes - {"", MISSING}))

"""Derived columns: each form against Python's own dates, numbers and texts, in files and in databases."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.base.settings import validated
from parties.sources import TableSettings, open_rows, open_table
from parties.sources.cells import cells_at
from parties.sources.derived import SQL
from parties.sources.forms import FORMS, parsed
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from smc.errors import InputError
from tests.support.mysql import MySqlServer
from tests.support.postgres import Server

AT = date(2026, 1, 1)
DERIVED: dict[str, dict[str, Any]] = {
    "d_days": {"days": ["a", "b"]},
    "d_months": {"months": ["a", "b"]},
    "d_years": {"years": ["a", "b"]},
    "d_age": {"age": ["a", AT]},
    "d_until": {"days": ["2000-02-29", "b"]},
    "d_year": {"year": "a"},
    "d_quarter": {"quarter": "a"},
    "d_month": {"month": ["a"]},
    "d_weekday": {"weekday": "a"},
    "d_scaled": {"scale": ["x", 2.54, -1]},
    "d_unit": {"scale": ["x", 1000]},
    "d_flag": {"flag": ["x", 18.5]},
    "d_ranges": {"ranges": ["x", "thin", 18.5, "usual", 25, "heavy"]},
    "d_first": {"first": ["t", 2]},
    "d_replaced": {"replace": ["t", "ab", "AB", "é", "e"]},
    "d_joined": {"join": ["t", "u", "-"]},
    "d_old": {"flag": ["d_age", 65]},  # reads another
}
Row = tuple[date | None, date | None, float | None, str | None, str | None]


def whole_months(start: date, end: date) -> int:
    """Count anniversaries one by one; a day that a month lacks is the first of the next."""
    if end < start:
        return -whole_months(end, start)
    months = 0
    while True:
        year, month = divmod(start.year * 12 + start.month - 1 + months + 1, 12)
        try:
            anniversary = date(year, month + 1, start.day)
        except ValueError:
            if year > 9999:
                return months
            anniversary = date(year, month + 2, 1)  # not in December, which has 31 days
        if anniversary > end:
            return months
        months += 1


def whole_years(start: date, end: date) -> int:
    """Return the age as usually written in Python."""
    if end < start:
        return -whole_years(end, start)
    return end.year - start.year - ((end.month, end.day) < (start.month, start.day))


def expected(row: Row) -> dict[str, Any]:
    a, b, x, t, u = row
    both = None if a is None or b is None else (a, b)
    return {
        "d_days": both and (both[1] - both[0]).days,
        "d_months": both and whole_months(*both),
        "d_years": both and whole_years(*both),
        "d_age": None if a is None else whole_years(a, AT),
        "d_until": None if b is None else (b - date(2000, 2, 29)).days,
        "d_year": None if a is None else a.year,
        "d_quarter": None if a is None else 1 + (a.month - 1) // 3,
        "d_month": None if a is None else a.month,
        "d_weekday": None if a is None else a.isoweekday(),
        "d_scaled": None if x is None else x * 2.54 - 1,
        "d_unit": None if x is None else x * 1000,
        "d_flag": None if x is None else "yes" if x >= 18.5 else "no",
        "d_ranges": None if x is None else "thin" if x < 18.5 else "usual" if x < 25 else "heavy",
        "d_first": None if t is None else t[:2],
        "d_replaced": None if t is None else {"ab": "AB", "é": "e"}.get(t, t),
        "d_joined": None if t is None or u is None else f"{t}-{u}",
        "d_old": None if a is None else "yes" if whole_years(a, AT) >= 65 else "no",
    }


def declared(source: str, derived: Mapping[str, Any] = DERIVED, **more: Any) -> TableSettings:
    return validated(TableSettings, {"source": source, "schema": "schema.toml", "derived": derived, **more})


def computed(table: TableSettings, order: str = "n") -> list[dict[str, Any]]:
    names = [order, *table.derived]
    with open_rows(table) as rows:
        batches = [batch.to_pylist() for batch in rows.engine.batches(rows.select(names))]
    lines = [dict(zip(names, line.values(), strict=True)) for batch in batches for line in batch]
    lines.sort(key=lambda line: int(line[order]))
    return [{name: line[name] for name in table.derived} for line in lines]


def close(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    return ours.keys() == theirs.keys() and all(
        value == (pytest.approx(theirs[key], abs=1e-9) if isinstance(theirs[key], float) else theirs[key])
        for key, value in ours.items()
    )


def frame(lines: Iterable[Row]) -> pa.Table:
    kinds = {"a": pa.date32(), "b": pa.date32(), "x": pa.float64(), "t": pa.string(), "u": pa.string()}
    columns = dict(zip(kinds, zip(*lines, strict=True), strict=True))
    return pa.table(
        {"n": range(len(columns["a"]))} | {name: pa.array(cells, kinds[name]) for name, cells in columns.items()}
    )


EDGES: list[Row] = [
    (date(2000, 2, 29), date(2001, 2, 28), 18.5, "abc", "z"),
    (date(2000, 2, 29), date(2001, 3, 1), 18.499999999, "ab", "z"),
    (date(2001, 3, 1), date(2000, 2, 29), 25.0, "AB", "Z"),  # capitals are other letters
    (date(2023, 1, 31), date(2023, 2, 28), -3.5, "é", None),
    (date(2023, 1, 31), date(2023, 3, 1), None, "x'y", "1"),
    (date(2023, 3, 31), date(2023, 2, 28), 1e99, None, "1"),
    (date(1969, 12, 31), date(1970, 1, 1), 0.0, "ünö", "ß"),
    (date(1800, 1, 1), date(2200, 12, 31), 24.999, "a", "b"),
    (None, date(2020, 5, 5), None, None, None),
    (date(2020, 5, 5), None, 7.0, "ab", "ab"),
]

DAYS = st.dates(date(1700, 1, 1), date(2300, 12, 31))
TEXTS = st.text("abAB é'ßü1-", min_size=1, max_size=4).map(str.strip).filter(lambda text: text not in ("", "-"))
ROWS = st.tuples(
    DAYS | st.none(),
    DAYS | st.none(),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)) | st.sampled_from([18.5, 25.0]) | st.none(),
    TEXTS | st.none(),
    TEXTS | st.none(),
)


@settings(max_examples=6, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=80))
def test_every_form_is_what_python_computes(tmp_path_factory: pytest.TempPathFactory, lines: list[Row]) -> None:
    folder = tmp_path_factory.mktemp("forms")
    lines = [*EDGES, *lines]
    pyarrow.parquet.write_table(frame(lines), folder / "rows.parquet")
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow("nabxtu")
        for n, (a, b, x, t, u) in enumerate(lines):
            days = [f"{a:%d.%m.}{a.year:04}" if a else "k.A.", f"{b:%m/%d/}{b.year:04}" if b else ""]
            writer.writerow([n, *days, "?" if x is None else repr(x).replace(".", ","), t or "", u or "k.A."])
    spelled = DERIVED | {
        name: form | {"columns": {"b": {"dates": "%m/%d/%Y"}}}
        for name, form in DERIVED.items()
        if "b" in next(iter(form.values()))
    }
    written = {"separator": ";", "decimal": ",", "dates": "%d.%m.%Y", "missing": ["k.A."]}
    table = declared(str(folder / "rows.csv"), spelled, format=written)
    wanted = [expected(line) for line in lines]
    for found in (computed(declared(str(folder / "rows.parquet"))), computed(table)):
        assert all(map(close, found, wanted)), next(
            pair for pair in zip(found, wanted, lines, strict=True) if not close(*pair[:2])
        )


@given(DAYS, DAYS)
def test_references_agree_with_dateutil(start: date, end: date) -> None:
    """Up to the 28th, all conventions are one; dateutil lets a later day fall on the last of a short month."""
    start, end = start.replace(day=min(start.day, 28)), end.replace(day=min(end.day, 28))
    delta = relativedelta(end, start)
    assert whole_months(start, end) == delta.years * 12 + delta.months
    assert whole_years(start, end) == delta.years


def test_postgres_computes_the_same(postgres: Server) -> None:
    with postgres.connect() as admin:
        admin.execute("CREATE TABLE derived (n int, a date, b timestamp, x float8, t text, u varchar(9))")
        with admin.cursor() as cursor:
            cursor.executemany("INSERT INTO derived VALUES (%s, %s, %s, %s, %s, %s)", list(enumerated()))
    assert all(map(close, computed(declared(postgres.url(), table="derived")), map(expected, EDGES)))


def test_mysql_computes_the_same(mysql: MySqlServer) -> None:
    connection = mysql.connect()
    with connection.cursor() as cursor:
        fields = "n int, a date, b datetime, x double, t text, u varchar(9)"
        cursor.execute(f"CREATE TABLE derived ({fields}) CHARACTER SET utf8mb4")
        cursor.executemany("INSERT INTO derived VALUES (%s, %s, %s, %s, %s, %s)", list(enumerated()))
    connection.close()
    assert all(map(close, computed(declared(mysql.url(), table="derived")), map(expected, EDGES)))


def test_spark_computes_the_same(spark: Any, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(frame(EDGES), tmp_path / "rows.parquet")
    found = computed(declared("spark://local", table=str(tmp_path / "rows.parquet")))
    assert all(map(close, found, map(expected, EDGES)))


def enumerated() -> Iterable[tuple[Any, ...]]:
    return ((n, *line) for n, line in enumerate(EDGES))


RAW = "id;born;admitted;left;kg;ward\n1;31.12.1960;01.02.2024;10.02.2024;70,5;A1\n2;k.A.;05.02.2024;;;B\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "raw.csv").write_text(RAW, encoding="utf-8")
    return tmp_path / "raw.csv"


def spelled(raw: Path, derived: Mapping[str, Any], **more: Any) -> TableSettings:
    written = {"separator": ";", "decimal": ",", "dates": "%d.%m.%Y", "missing": ["k.A."]}
    return declared(str(raw), derived, format=written, **more)


def test_a_job_counts_them_as_any_column(raw: Path) -> None:
    days = Domain(read_type({"type": "integer", "low": 0, "high": 30, "edges": [7], "missing": True}))
    schema = Schema({"stay": days, "wing": ("A", "B")}, "wing")
    derived = {"stay": {"days": ["admitted", "left"]}, "wing": {"first": ["ward", 1]}}
    with open_table(spelled(raw, derived), schema, "wing") as source:
        assert source.check() == 2
        lines = source.distinct().tolist()
    assert sorted(lines) == [[1, 0, 1], [2, 1, 1]]


def test_all_readers_of_own_rows_see_them(raw: Path) -> None:
    table = spelled(raw, {"age": {"age": ["born", AT]}})
    assert cells_at(table).values["age"] == ["65", "?"]


def test_rows_are_chosen_before(raw: Path) -> None:
    table = spelled(raw, {"born_in": {"year": "born"}}, where="id = '1'")
    assert computed(table, "id") == [{"born_in": 1960}]


def test_the_version_covers_them(raw: Path) -> None:
    states = {spelled(raw, {"n": {"first": ["ward", letters]}}, version="1").state for letters in (1, 2)}
    assert len(states) == 2


@pytest.mark.parametrize(
    ("derived", "words"),
    [
        ({"x": {"age": ["bron", AT]}}, "derived.x: there is no column 'bron' (did you mean 'born'?)"),
        ({"Ward": {"year": "born"}}, "derived.Ward: the table has a column 'ward' already"),
        ({"x": {"year": "admitted"}, "X": {"year": "born"}}, "the table has a column 'x' already"),
        ({"x": {"year": "ward"}}, "derived.x: column 'ward' has 'A1', which is not a date of the form %d.%m.%Y"),
        ({"x": {"flag": ["ward", 1]}}, "derived.x: column 'ward' has 'A1', which is not a number"),
        ({"x": {"weekday": "y"}, "y": {"year": "born"}}, "column 'y' of type int64; give a column of dates"),
        ({"x": {"join": ["y", "ward", "-"]}, "y": {"join": ["x", "ward", "-"]}}, "x reads y reads x, in a circle"),
        ({"x": {"year": "x"}}, "x reads x, in a circle"),
        ({"x": {"age": ["born"]}}, "age: takes day, day, not 1 values"),
        ({"x": {"age": [AT, AT]}}, "age: names no column"),
        ({"x": {"aeg": ["born", AT]}}, "'aeg' is not a form (did you mean 'age'?)"),
        ({"x": {"year": "born", "month": "born"}}, "must have one form"),
        ({"x": {}}, "must have one form"),
        ({"x": {"scale": ["kg", "many"]}}, "scale: must be a number, not 'many'"),
        ({"x": {"scale": ["kg", True]}}, "scale: must be a number, not 'True'"),
        ({"x": {"first": ["ward", 0]}}, "must be a whole number from 1 to 1,000, not '0'"),
        ({"x": {"ranges": ["kg", "a", 2, "b", 1, "c"]}}, "the edges must increase"),
        ({"x": {"ranges": ["kg", "a", 2]}}, "ranges: takes number, word, edge, word and so on, not 3 values"),
        ({"x": {"flag": ["kg"]}}, "flag: takes number, threshold, not 1 values"),
        ({"x": {"scale": ["kg"]}}, "scale: takes number, factor, maybe an offset, not 1 values"),
        ({"x": {"scale": ["kg", "1e308"]}}, "scale: must be a number between -1e+100 and 1e+100, not '1e308'"),
        ({"x": {"age": ["born", "01.01.2026"]}}, "'01.01.2026'; there are "),
        ({"x": {"age": ["born", "01.01.2026"]}}, "; write a day as 2026-01-01"),
        ({"x": {"ranges": ["kg", "a", 2, "a"]}}, "ranges: 'a' stands twice"),
        ({"x": {"year": 7}}, "year: must be the name of a column of dates, not '7'"),
        ({"x": {"year": "born", "columns": {"left": {}}}}, "columns: 'left' is not a column that year reads"),
        ({" x": {"year": "born"}}, "the name has space around it"),
    ],
)
def test_a_bad_declaration_is_one_clear_line(raw: Path, derived: Mapping[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:  # noqa: PT012
        table = spelled(raw, derived)
        with open_rows(table) as rows:
            list(rows.engine.batches(rows.select([*rows.types])))
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert str(error.value).count("raw.csv") <= 1


def test_text_is_no_date_in_a_database(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"flag": [True]}), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="column 'flag' of type boolean; give a column of numbers"):
        open_rows(declared(str(tmp_path / "rows.parquet"), {"x": {"scale": ["flag", 2]}}))


def test_numbers_that_are_none_have_no_result(tmp_path: Path) -> None:
    x = [float("nan"), float("inf"), -1e300, 2.0]
    pyarrow.parquet.write_table(pa.table({"n": range(4), "x": x}), tmp_path / "rows.parquet")
    found = computed(declared(str(tmp_path / "rows.parquet"), {"y": {"scale": ["x", 1e50]}}))
    assert [line["y"] for line in found] == [None, None, None, 2e50]


def test_the_command_line_names_the_same_forms() -> None:
    name, form = parsed("stay in days=days 'day of admission' 2026-01-01")
    assert (name, form) == ("stay in days", {"days": ["day of admission", "2026-01-01"]})
    assert set(FORMS) == set(SQL) == {form for declared in DERIVED.values() for form in declared}
    for text in ("age", "age=", "=age born 2026-01-01", "age=age 'born"):
        with pytest.raises(InputError, match="write NAME=FORM"):
            parsed(text)
    with pytest.raises(InputError, match="the forms are days"):
        parsed("age=aeg born 2026-01-01")


def test_days_of_other_calendars_are_one_day_later() -> None:
    """The references themselves: the 31st of January and a short February."""
    assert whole_months(date(2023, 1, 31), date(2023, 2, 28)) == 0
    assert whole_months(date(2023, 1, 31), date(2023, 3, 1)) == 1
    assert whole_years(date(2000, 2, 29), date(2001, 2, 28)) == 0
    assert date(2000, 2, 29) + timedelta(366) == date(2001, 3, 1)

"""Raw cells under typed columns: DuckDB and the reader without an engine agree with pandas, whatever the spelling."""

from __future__ import annotations

import datetime
import gzip
import math
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import ibis.expr.datatypes as dt
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot.expressions as exp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parties.sources import opening, queried
from parties.sources.expressions import Cell
from parties.sources.mapping import ColumnRule, Ranges, rules
from parties.sources.opening import open_table
from parties.sources.settings import FormatSettings, TableSettings
from parties.tables.schema import Schema
from parties.tables.types import Domain, days_of, read_type
from smc.errors import InputError
from tests.support.plain_rows import plain_rows

TARGET = ("a", "b")
DAY = datetime.date(2024, 2, 29)


def columns_of(
    path: Path, spelling: dict[str, Any], mapping: dict[str, Any], **types: dict[str, Any]
) -> list[list[str]]:
    """Return the categories of each row of a file with a last column `y`, rows sorted, by both readers alike."""
    schema = Schema({**{name: Domain(read_type(fields)) for name, fields in types.items()}, "y": TARGET})
    table = TableSettings(source=str(path), schema=Path("s.toml"), format=spelling, columns=mapping)
    expected = plain_rows(table, rules(table.columns, schema, [*types, "y"], table.format))
    for size in (0, 1 << 20):  # by an engine, and in memory
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(opening, "SMALL", size)
            with open_table(table, schema, "y") as source:
                source.check()
                queried = source.distinct()
        assert sorted(queried.tolist()) == expected
    domains = [*schema.attributes.values()]
    lines = [[domain[place] for domain, place in zip(domains, line, strict=False)] for line in queried.tolist()]
    return sorted(line for line, times in zip(lines, queried[:, -1], strict=True) for _ in range(times))


def test_a_german_export(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    text = (
        "Fall;Alter;Gewicht;geboren;Uhr;PLZ;Raucher;y\r\n"
        "1;17;1.082,5;31.12.2000;06:29;01067;Ja;a\r\n"
        '2;"18";70,0;1.1.1950;06:30:00;10115;nein;b\r\n'
        "3;k.A.;-;29.02.1960; 23:59 ;99999;NEIN;a\r\n"
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = columns_of(
        path,
        {"separator": ";", "decimal": ",", "thousands": ".", "dates": "%d.%m.%Y", "missing": ["k.A.", "-"]},
        {"Raucher": {"values": {"Ja": "yes", "nein": "no", "NEIN": "no"}}},
        Alter={"type": "integer", "low": 0, "high": 100, "edges": [18], "missing": True},
        Gewicht={"type": "real", "low": 0, "high": 2000, "edges": [70, 1000], "missing": True},
        geboren={"type": "date", "age_at": "2026-01-01", "edges": [65]},
        Uhr={"type": "time", "edges": ["06:30"]},
        PLZ={"type": "category", "values": ["0", "1"], "prefix": 1, "other": "else"},
        Raucher={"type": "flag"},
    )
    assert found == [
        ["18 and over", "70 to under 1000", "65 and over", "06:30 and after", "1", "no", "b"],
        ["?", "?", "65 and over", "06:30 and after", "else", "no", "a"],
        ["under 18", "1000 and over", "under 65", "before 06:30", "0", "yes", "a"],
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, packed: bool) -> None:
    word = "Gyn\u00e4" if encoding == "latin-1" else "Gyn\u00e4\u20ac\u201c"
    data = f"{word},y\n{word},a\nx,b\n".encode(encoding)
    path = tmp_path / "x.csv"
    path.write_bytes(gzip.compress(data) if packed else data)
    found = columns_of(path, {"encoding": encoding}, {}, **{word: {"type": "category", "values": [word, "x"]}})
    assert found == sorted([[word, "a"], ["x", "b"]])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(
    st.lists(st.decimals(-200, 300, places=2, allow_nan=False, allow_infinity=False), min_size=1, max_size=20),
    st.lists(st.integers(-99, 199), min_size=1, max_size=6, unique=True),
    st.sampled_from(".,"),
)
def test_numbers_fall_where_pandas_puts_them(tmp_path: Path, cells: list[Any], edges: list[int], mark: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x;y\n" + "".join(f"{str(cell).replace('.', mark)};a\n" for cell in cells))
    fields = {"type": "real", "low": -100, "high": 200, "edges": sorted(edges)}
    found = columns_of(path, {"separator": ";", "decimal": mark}, {}, x=fields)
    bins = [-np.inf, *sorted(edges), np.inf]
    places = pandas.cut([float(cell) for cell in cells], bins, right=False, labels=False)
    labels = read_type(fields).categories
    assert found == sorted([labels[place], "a"] for place in places)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.lists(st.decimals(-3, 14, places=1, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_each_number_by_itself_is_the_nearest_within_the_bounds(tmp_path: Path, cells: list[Any]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{cell},a\n" for cell in cells))
    found = columns_of(path, {}, {}, x={"type": "real", "low": 0, "high": 10, "step": 0.1})
    wanted = [f"{min(max(cell, 0), 10):f}".rstrip("0").rstrip(".") or "0" for cell in cells]
    assert found == sorted([text if text != "-0" else "0", "a"] for text in wanted)


DIGITS = st.text("0123456789", min_size=1, max_size=4)
FORMS = ["%d.%m.%Y", "%Y-%m-%d", "%d.%m.%y", "%d%m%y", "%Y%m%d", "%Y-%j", "%j/%Y", "%m/%d/%Y", "%d %m %Y", "%Y年%m-%d"]


@pytest.fixture(scope="module")
def indices() -> Any:
    """What DuckDB makes of texts by a rule."""
    connection = duckdb.connect()

    def ask(rule: ColumnRule, texts: list[str]) -> list[int | None]:
        rows = [list(range(len(texts))), texts]
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT unnest(?::INT[]) i, unnest(?::VARCHAR[]) x", rows)
        query = exp.Select().select(Cell(rule, dt.string, True).index).from_("t").order_by("i")
        return [line[0] for line in connection.execute(query.sql("duckdb")).fetchall()]

    return ask


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FORMS), st.lists(st.tuples(DIGITS, DIGITS, DIGITS), min_size=1, max_size=20), st.dates())
@example("%d.%m.%Y", [("1", "1", "50"), ("1", "1", "0000"), ("29", "2", "2023"), ("29", "2", "0004")], DAY)
@example("%Y-%j", [("2023", "366", ""), ("2024", "366", ""), ("2023", "000", ""), ("9999", "367", "")], DAY)
@example("%d%m%y", [("10120", "", ""), ("010120", "", ""), ("01", "01", "69"), ("01", "01", "68")], DAY)
def test_odd_days_are_the_same_to_both_readers(
    indices: Any, form: str, odd: list[tuple[str, str, str]], day: datetime.date
) -> None:
    texts = []
    for parts in odd:
        pieces = iter(parts)
        texts.append(re.sub("%.", lambda _, pieces=pieces: next(pieces), form))
    edges = (-700_000, -400_000, -14_600, 0, 7_000, 14_000, 21_000, 1_000_000, 2_000_000)
    rule = ColumnRule("x", "x", ranges=Ranges(edges, tuple(range(10)), "date"), dates=form)
    assert indices(rule, texts) == [rule.code(text) for text in texts]
    if "%y" not in form:  # what is a day at all
        own = ColumnRule("x", "x", ranges=Ranges((days_of(day),), (0, 1), "date"), dates=form)
        whole = day.strftime(form.replace("%Y", f"{day.year:04}"))
        before = "" if day == datetime.date.min else day - datetime.timedelta(1)
        around = [whole] + ([before.strftime(form.replace("%Y", f"{before.year:04}"))] if before else [])
        assert indices(own, around) == [own.code(text) for text in around] == [1, 0][: len(around)]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.from_regex(r"T?[0-9]{1,4}(:[0-9]{1,3}){0,3}([.,][0-9]{0,9})?(Z|[+]01:00| PM)?", fullmatch=True), min_size=1
    )
)
@example(["24:00", "24:00:00", "0600", "6:00", "06", "06:5", "06:00Z", "T06:00", "06:00:60", "23:59:59.9999999"])
@example(["06:30", "6:30:00", "23:59:59.999999", "00:00", "0:00"])
def test_odd_times_are_the_same_to_both_readers(indices: Any, texts: list[str]) -> None:
    rule = ColumnRule("x", "x", ranges=Ranges((1, 6 * 3600, 23_400, 86_399), tuple(range(5)), "time"))
    codes = [rule.code(text) for text in texts]
    assert indices(rule, texts) == codes
    for text, code in zip(texts, codes, strict=True):
        if re.fullmatch("[0-9]{2}:[0-9]{2}(:[0-9]{2})?", text):  # as Python reads it, too
            with suppress(ValueError):
                at = datetime.time.fromisoformat(text)
                assert code == sum(at >= datetime.time(*edge) for edge in ((0, 0, 1), (6,), (6, 30), (23, 59, 59)))


def test_typed_cells_of_parquet(tmp_path: Path) -> None:
    frame = pandas.DataFrame(
        {
            "day": [datetime.date(2024, 3, 31), datetime.date(2024, 4, 1)],
            "at": [datetime.datetime(2024, 1, 1, 5, 59, 59, 900_000), datetime.datetime(2024, 1, 1, 6)],
            "y": ["a", "b"],
        }
    )
    frame.to_parquet(tmp_path / "x.parquet")
    schema = Schema(
        {
            "day": Domain(
                read_type({"type": "date", "low": "2024-01-01", "high": "2024-12-31", "granularity": "quarter"})
            ),
            "at": Domain(read_type({"type": "time", "edges": ["06:00"]})),
            "y": TARGET,
        }
    )
    table = TableSettings(source=str(tmp_path / "x.parquet"), schema=Path("s.toml"))
    with open_table(table, schema, "y") as source:
        assert source.check() == 2
        assert sorted(source.distinct().tolist()) == [[0, 0, 0, 1], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("fields", "cell", "complaint"),
    [
        (
            {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
            "31.02.2024",
            "is not a date of the form %d.%m.%Y",
        ),
        ({"type": "integer", "low": 0, "high": 9, "edges": [5]}, "five", "'five' is not a number"),
        ({"type": "time"}, "24:01", "'24:01' is not a time"),
        ({"type": "flag"}, "maybe", "'maybe' is not in the schema"),
        ({"type": "flag"}, "", "no value, and the schema does not list '?'"),
    ],
)
def test_cells_that_are_not_of_the_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], cell: str, complaint: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"x,y\n{cell},a\n")
    schema = Schema({"x": Domain(read_type(fields)), "y": TARGET})
    table = TableSettings(source=str(path), schema=Path("s.toml"), format=FormatSettings(dates="%d.%m.%Y"))
    wrong = plain_rows(table, rules(table.columns, schema, ["x", "y"], table.format))
    assert isinstance(wrong, str)
    assert complaint in wrong
    for size in (0, 1 << 20):
        monkeypatch.setattr(opening, "SMALL", size)
        with open_table(table, schema, "y") as source, pytest.raises(InputError) as error:
            source.check()
        assert complaint in str(error.value)


def test_a_table_may_not_say_ranges_that_the_schema_says(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y\n1,a\n")
    schema = Schema({"x": Domain(read_type({"type": "integer", "low": 0, "high": 9, "edges": [5]})), "y": TARGET})
    table = TableSettings(source=str(path), schema=Path("s.toml"), columns={"x": {"edges": [5]}})
    with pytest.raises(
        InputError,
        match=r"columns\.x\.edges: the schema already sets the ranges of this column; "
        r"remove edges",
    ):
        open_table(table, schema, "y")


def test_whole_cells_are_looked_up_before_their_beginnings(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y\nI10,a\nk.A.,a\nBerlin,b\nk.x,b\n999,b\n")
    fields = {"type": "category", "values": ["I1", "be"], "prefix": 2, "other": "else", "missing": True}
    found = columns_of(path, {"missing": ["k.A.", "999"]}, {"x": {"values": {"Berlin": "be"}}}, x=fields)
    assert found == sorted([["I1", "a"], ["?", "a"], ["be", "b"], ["else", "b"], ["?", "b"]])


def test_a_missing_code_beside_no_number_in_a_column_of_numbers(tmp_path: Path) -> None:
    """NaN is no value, though the bounds that a Parquet file has of its columns leave it out."""
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "rows.parquet"
    columns = {"x": [float("nan"), 0.0, -99.0, 1.25], "y": ["a", "a", "b", "b"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    real = Domain(read_type({"type": "real", "low": 0, "high": 2, "step": 0.25, "missing": True}))
    schema = Schema({"x": real, "y": TARGET})
    table = TableSettings.model_validate({"source": str(path), "schema": "s.toml", "format": {"missing": ["-99"]}})
    with open_table(table, schema, "y") as source:
        source.check()
        found = [[real[place], TARGET[label]] for place, label, _ in source.distinct().tolist()]
    assert sorted(found) == [["0", "a"], ["1.25", "b"], ["?", "a"], ["?", "b"]]


NUMBERS = st.one_of(
    st.sampled_from([None, math.nan, math.inf, -math.inf, -0.0, 0.0, 0.005, 0.015, -3.0, 9.995, 10.0, 1e300, 5e-324]),
    st.integers(-50, 1050).map(lambda units: units / 100),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.sampled_from([" a", "b", "a"])), min_size=1, max_size=60), st.booleans())
def test_numbers_that_are_counted_first_are_placed_as_each_row_is(
    tmp_path: Path, cells: list[tuple[float | None, str]], by_edges: bool
) -> None:
    real = {"type": "real", "low": 0, "high": 10, "missing": True} | (
        {"edges": [0.015, 3]} if by_edges else {"step": 0.01}
    )
    schema = Schema({"x": Domain(read_type(real)), "y": TARGET})
    schema = schema if by_edges else schema.numeric(["x"])
    table = TableSettings(source=str(tmp_path / "n.parquet"), schema=Path("s.toml"))
    numbers, labels = zip(*cells, strict=True)
    pq.write_table(pa.table({"x": pa.array(numbers, pa.float64()), "y": labels}), table.source)
    (rule, _) = rules({}, schema, ["x", "y"])
    assert rule.ranges is not None
    known = Counter(
        (
            rule.missing if number is None or math.isnan(number) else rule.ranges.place(min(max(number, -1e9), 1e9)),
            TARGET.index(label.strip()),
        )
        for number, label in cells
    )
    for repeated in (0, 1 << 40):
        with pytest.MonkeyPatch.context() as patch, open_table(table, schema, "y") as source:
            patch.setattr(queried, "REPEATED", repeated)
            assert source.check() == len(cells)
            assert {(int(x), int(y)): int(n) for x, y, n in source.distinct()} == known


def test_texts_that_are_counted_first_are_those_of_the_same_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column may declare that capitals do not matter; to a schema they do."""
    with duckdb.connect(str(tmp_path / "n.duckdb")) as database:
        database.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE, y VARCHAR)")
        database.execute("INSERT INTO t VALUES ('p', 'a'), ('P', 'a'), ('p', 'a')")
    monkeypatch.setattr(queried, "REPEATED", 0)
    table = TableSettings(source=str(tmp_path / "n.duckdb"), schema=Path("s.toml"))
    with (
        open_table(table, Schema({"x": ("p", "q"), "y": TARGET}), "y") as source,
        pytest.raises(InputError, match="'P' is not in the schema"),
    ):
        source.check()

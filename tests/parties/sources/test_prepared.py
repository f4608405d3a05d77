"""A raw table is prepared wherever it is: the same proposal from files, a query and databases, which then reads it."""

from __future__ import annotations

import json
import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.alone.preparing import profile as profiles
from parties.alone.preparing.readings import GUESS
from parties.cli import run
from parties.party_file import load
from parties.sources.opening import open_rows, open_table
from parties.sources.settings import PlaceSettings
from parties.tables import schema as schemas
from tests.support.postgres import Server

ROWS = 300
PLACES = ("parquet", "folder", "duckdb", "query", "postgres", "spark")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> pa.Table:
    """Typed columns with gaps."""
    draw = random.Random(1)
    return pa.table(
        {
            "id": pa.array(range(ROWS)),
            "age": pa.array([draw.choice([None, *[draw.randint(1, 90)] * 9]) for _ in range(ROWS)], pa.int32()),
            "kg": pa.array([round(draw.uniform(40, 120), 1) for _ in range(ROWS)]),
            "born": pa.array([date(1950, 1, 1) + timedelta(days=draw.randint(0, 20_000)) for _ in range(ROWS)]),
            "at": pa.array([datetime(2024, 1, 1) + timedelta(hours=draw.randint(0, 5000)) for _ in range(ROWS)]),
            "ill": pa.array([draw.choice([True, False]) for _ in range(ROWS)]),
            "sex": pa.array([draw.choice(["m", "f", " f"]) for _ in range(ROWS)]),
            "outcome": pa.array([draw.choice(["yes", "no"]) for _ in range(ROWS)]),
        }
    )


def arguments(kind: str, raw: pa.Table, folder: Path, request: pytest.FixtureRequest) -> list[str]:
    """What to prepare, after it has been put there."""
    match kind:
        case "parquet":
            pq.write_table(raw, folder / "visits.parquet")
            return [str(folder / "visits.parquet")]
        case "folder":
            (folder / "visits").mkdir()
            pq.write_table(raw, folder / "visits" / "part.parquet")
            return [str(folder / "visits")]
        case "duckdb" | "query":
            with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
                connection.register("raw", raw)
                connection.execute("CREATE TABLE visits AS SELECT * FROM raw; CREATE TABLE other (a INT)")
            if kind == "duckdb":
                return [str(folder / "clinic.duckdb"), "--table", "visits"]
            (folder / "party.toml").write_text(
                '[tables.visits]\nsource = "clinic.duckdb"\nschema = "schema.toml"\nquery = "SELECT * FROM visits"\n'
            )
            return ["--config", str(folder / "party.toml"), "--table", "visits"]
        case "postgres":
            server: Server = request.getfixturevalue("postgres")
            fill(server, raw)
            return [server.url(), "--table", "visits"]
        case _:
            session: Any = request.getfixturevalue("spark")
            session.createDataFrame(raw.to_pandas()).write.mode("overwrite").parquet(str(folder / "visits"))
            return ["spark://local", "--table", str(folder / "visits")]


def fill(server: Server, raw: pa.Table) -> None:
    kinds = "id int, age int, kg float8, born date, at timestamp, ill boolean, sex text, outcome text"
    with server.connect() as admin:
        admin.execute(f"DROP TABLE IF EXISTS visits; CREATE TABLE visits ({kinds})")
        with admin.cursor() as cursor, cursor.copy("COPY visits FROM STDIN") as copy:
            for row in raw.to_pylist():
                copy.write_row(tuple(row.values()))


@pytest.mark.parametrize("kind", PLACES)
def test_the_proposal_and_the_counts_are_those_of_the_file(
    kind: str, raw: pa.Table, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(raw, tmp_path / "known.parquet")
    known = ["prepare", str(tmp_path / "known.parquet"), "--target", "outcome", "--out", str(tmp_path / "known")]
    assert run([*known, "--table", "visits"]) == 0
    words = arguments(kind, raw, tmp_path, request)
    capsys.readouterr()
    assert run(["prepare", *words, "--target", "outcome", "--out", str(tmp_path / "out"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    schema = schemas.load(tmp_path / "out" / "schema.toml")
    assert schema.digest() == schemas.load(tmp_path / "known" / "schema.toml").digest() == found["digest"]
    assert {"age", "kg", "born", "at", "ill", "sex"} <= set(schema.attributes)
    assert schema.keys == ("id",)
    counts = []
    for folder in ("known", "out"):
        (table,) = load(tmp_path / folder / "party.toml").tables.values()
        with open_table(table, schema, "outcome") as source:
            assert source.check() == ROWS
            counts.append(sorted(map(tuple, source.distinct().tolist())))
    assert counts[0] == counts[1]


ODD = [None, 0.0, -0.0, 1e-3, -7.25, float("nan"), float("inf"), 123456.0]


@st.composite
def declared_tables(draw: st.DrawFn) -> pa.Table:
    """A table of declared types: most cells usual, a few of them odd."""
    rows = draw(st.integers(40, 70))
    decimals = draw(st.integers(0, 5))

    def cells(usual: st.SearchStrategy[Any], odd: list[Any]) -> list[Any]:
        column = draw(st.lists(usual, min_size=rows, max_size=rows))
        for place in draw(st.lists(st.integers(0, rows - 1), max_size=4)):
            column[place] = draw(st.sampled_from(odd))
        return column

    reals = st.integers(-99_999, 99_999).map(lambda units: units / 10**decimals)
    days = st.dates(date(1900, 1, 1), date(2100, 1, 1))
    far = [None, date(1, 1, 1), date(9999, 12, 31)]
    cents = st.integers(-9999, 9999).map(lambda units: Decimal(units).scaleb(-2))
    moments = [None if day is None else datetime(day.year, day.month, day.day, 13) for day in cells(days, far[:1])]
    return pa.table(
        {
            "real": pa.array(cells(reals, ODD)),
            "single": pa.array(cells(reals, ODD[:-1]), pa.float32()),
            "whole": pa.array(cells(st.integers(-(10**6), 10**6), [None, 0, -1]), pa.int64()),
            "code": pa.array(cells(st.integers(2**62, 2**63 - 1), [None, 1]), pa.int64()),
            "few": pa.array(cells(st.integers(0, 5), [None, 200]), pa.uint8()),
            "cents": pa.array(cells(cents, [None, Decimal("0.00")]), pa.decimal128(10, 2)),
            "day": pa.array(cells(days, far)),
            "moment": pa.array(moments, pa.timestamp("us")),
            "flag": pa.array(cells(st.booleans(), [None])),
            "text": pa.array(cells(st.sampled_from(["a", " b", "", "1,5", "-"]), [None])),
            "none": pa.array([None] * rows, pa.float64()),
        }
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8, deadline=None)
@given(declared_tables(), st.sampled_from([None, "few", "text"]))
def test_declared_columns_are_what_their_texts_are(tmp_path: Path, table: pa.Table, target: str | None) -> None:
    """The same rows as texts, as a source of texts spells them, have the same profile, however few of them are seen."""
    found = []
    for name in ("declared", "texts"):
        place = PlaceSettings(source=str(tmp_path / f"{name}.parquet"))
        if name == "declared":
            pq.write_table(table, place.source)
            with open_rows(place) as rows:
                query = rows.engine.sql(rows.spelled(table.column_names))
                texts = rows.engine.backend.raw_sql(query).to_arrow_table().rename_columns(table.column_names)
            day = pc.utf8_slice_codeunits(texts["moment"].cast(pa.string()), 0, 10)
            texts = texts.set_column(table.column_names.index("moment"), "moment", day)
            for number, real in ((0, "real"), (1, "single")):  # NaN is no value
                cells = [None if text == "nan" else text for text in texts[real].to_pylist()]
                texts = texts.set_column(number, real, pa.array(cells, pa.string()))
            pq.write_table(texts, tmp_path / "texts.parquet")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(profiles, "HEAD", 3)
            found.append(profiles.profile(place, target, GUESS))
    declared, as_texts = found
    assert (declared.rows, declared.spelling) == (as_texts.rows, as_texts.spelling)
    for column, as_text in zip(declared.columns, as_texts.columns, strict=True):
        assert column.counts == as_text.counts
        assert (column.rows, column.distinct) == (as_text.rows, as_text.distinct)
        assert column.form == as_text.form
        if as_text.reads == "text" and column.reads != "text":
            assert column.name != "text"  # what is declared needs no majority to be it
            continue
        for field in ("reads", "low", "high", "inner", "decimals", "parted"):
            assert getattr(column, field) == getattr(as_text, field), (column.name, field)
        assert sorted(column.odd) == sorted(as_text.odd)


def test_the_middle_of_many_rows_is_that_of_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "many.parquet")
    duckdb.sql(f"COPY (SELECT i::DOUBLE / 4 AS x FROM range(40000) t(i)) TO '{path}' (FORMAT parquet)")
    monkeypatch.setattr(profiles, "SAMPLED", 20_000)
    (column,) = profiles.profile(PlaceSettings(source=path)).columns
    assert (column.low, column.high, column.decimals) == (0, 9999.75, 2)
    assert column.inner != (99.9975, 9899.7525)  # of all rows
    assert column.inner == pytest.approx((100, 9900), abs=60)


def test_days_that_a_database_holds_as_text_are_not_proposed_as_days(
    postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could not read them by that."""
    with postgres.connect() as admin:
        admin.execute("DROP TABLE IF EXISTS texts; CREATE TABLE texts (day text, n text, y text)")
        admin.execute(
            "INSERT INTO texts SELECT '01.01.' || 2000 + i % 9, i % 40 || ',5', i % 2 FROM generate_series(1, 99) i"
        )
    words = [postgres.url(), "--table", "texts", "--target", "y", "--out", str(tmp_path / "out")]
    assert run(["prepare", *words]) == 0
    (table,) = load(tmp_path / "out" / "party.toml").tables.values()
    schema = schemas.load(table.schema_file)
    assert not isinstance(schema.attributes["day"], type(schema.attributes["n"]))
    with open_table(table, schema, "y") as source:
        assert source.check() == 99


def test_a_table_of_ones_own_gets_its_mapping_where_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits = "".join(f"{i};{i % 70},5;{i // 2 % 2}\n" for i in range(200))
    (tmp_path / "visits.csv").write_text("person;age;out\n" + visits)
    (tmp_path / "people.csv").write_text("id|sex\n" + "".join(f"{i}|{'mf'[i % 2]}\n" for i in range(200)))
    config = tmp_path / "party.toml"
    before = (
        '[tables.visits]\nquery = "SELECT v.*, p.sex FROM visits v JOIN people p ON v.person = p.id"\n'
        'schema = "agreed.toml"  # a remark of mine\nwhere = "sex = \'m\'"\n[tables.visits.files]\n'
        'visits = "visits.csv"\npeople = { source = "people.csv", format = { separator = "|" } }\n'
    )
    config.write_text(before)
    assert run(["prepare", "--config", str(config), "--target", "out", "--exclude", "person"]) == 0
    assert config.read_text().startswith(before)
    (table,) = load(config).tables.values()
    assert (table.format.separator, table.format.decimal) == (";", ",")
    with open_table(table, schemas.load(tmp_path / "agreed.toml"), "out") as source:
        assert source.check() == 100
    capsys.readouterr()
    assert run(["prepare", "--config", str(config), "--target", "out"]) == 2
    assert "tables.visits already has format; give --force" in capsys.readouterr().err
    assert run(["prepare", "--config", str(config), "--target", "out", "--force"]) == 0
    assert config.read_text().startswith(before)
    assert run(["prepare", "--config", str(config), "--target", "out", "--out", str(tmp_path / "elsewhere")]) == 0
    (table,) = load(tmp_path / "elsewhere" / "party.toml").tables.values()
    with open_table(table, schemas.load(tmp_path / "elsewhere" / "schema.toml"), "out") as source:
        assert source.check() == 100


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--out", "x"], "give either RAW, a file or the URL of a database, or --config"),
        (["a.csv", "--config", "party.toml", "--out", "x"], "give either RAW"),
        (["postgresql://h/d", "--out", "x"], "name the `table`"),
        (["mongodb://h/d", "--table", "a", "--out", "x"], "cannot read from mongodb://"),
        (["a.csv"], "--out is missing"),
        (["nowhere.csv", "--out", "x"], "there is no such file"),
        (["--config", "party.toml", "--table", "b"], "there is no table 'b'"),
    ],
)
def test_what_is_refused(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a,b\n1,2\n")
    Path("party.toml").write_text('[tables.a]\nsource = "a.csv"\nschema = "s.toml"\n')
    assert run(["prepare", *words]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert len(error.splitlines()) == 1
    assert not Path("x").exists()

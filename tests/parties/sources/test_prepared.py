"""A raw table is prepared wherever it is: the same proposal from files, a query and databases, which then reads it."""

from __future__ import annotations

import json
import random
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parties.cli import run
from parties.party_file import load
from parties.sources.opening import open_table
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
    assert "tables.visits has format already: take it out" in capsys.readouterr().err
    assert run(["prepare", "--config", str(config), "--target", "out", "--out", str(tmp_path / "elsewhere")]) == 0
    (table,) = load(tmp_path / "elsewhere" / "party.toml").tables.values()
    with open_table(table, schemas.load(tmp_path / "elsewhere" / "schema.toml"), "out") as source:
        assert source.check() == 100


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--out", "x"], "give RAW, a file or a database's URL, or --config"),
        (["a.csv", "--config", "party.toml", "--out", "x"], "one of the two"),
        (["postgresql://h/d", "--out", "x"], "say which `table`"),
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

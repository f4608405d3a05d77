"""Tables that are a query over files or a database, with a condition and consent; and what no query may do."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest
import sqlglot
import sqlglot.expressions as exp
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from pydantic import ValidationError

from parties.base.files import check_outputs
from parties.commands import check
from parties.commands.own_table import on_table
from parties.commands.rows import left_out_phrase
from parties.jobs.kinds.id3 import Id3
from parties.node import settings
from parties.party_file import files_of
from parties.sources import TableSettings, open_table
from parties.sources.databases import Scratch
from parties.sources.opened import narrowed
from parties.sources.source import LeftOut
from parties.sources.sql import checked_condition, checked_query
from parties.tables.schema import Schema
from parties.tables.unfit import UnfitError
from smc.errors import InputError
from tests.support.postgres import Server

SCHEMA = Schema({"sex": ("f", "m"), "year": ("2020", "2021", "2022"), "?": ("?",)}, "sex")
JOIN = "SELECT v.year, p.sex, v.agreed FROM visits AS v JOIN people p ON v.person = p.id"
NAMED = ("visits", "people")


def settings_of(**given: Any) -> TableSettings:
    return TableSettings.model_validate({"schema": "schema.toml", **given})


def counted(**given: Any) -> tuple[Counter[tuple[str, str]], tuple[int, int]]:
    """How often each (year, sex) is counted, and how many rows are left out."""
    with open_table(settings_of(**given), SCHEMA, "sex", ["year"]) as source:
        assert source.check() == source.distinct()[:, -1].sum()
        years, sexes = SCHEMA.attributes["year"], SCHEMA.attributes["sex"]
        lines = source.distinct().tolist()
        return Counter({(years[year], sexes[sex]): n for year, sex, n in lines}), source.left_out()[:2]


def refused(**given: Any) -> str:
    with pytest.raises(InputError) as caught:
        counted(**given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def expected(frame: pandas.DataFrame) -> Counter[tuple[str, str]]:
    return Counter(zip(frame["year"].astype(str), frame["sex"], strict=True))


@pytest.fixture(scope="module")
def visits() -> pandas.DataFrame:
    rng = np.random.default_rng(5)
    agreed = rng.choice(["yes", "no", "Yes", " TRUE ", "", "perhaps", "YES!"], 300)
    return pandas.DataFrame(
        {"person": rng.integers(0, 40, 300), "year": rng.integers(2020, 2023, 300), "agreed": agreed}
    )


@pytest.fixture(scope="module")
def people() -> pandas.DataFrame:
    return pandas.DataFrame({"id": range(30), "sex": ["f", "m", "m"] * 10})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, visits: pandas.DataFrame, people: pandas.DataFrame) -> Any:
    """Three kinds of files, one with a format of its own."""
    folder = tmp_path_factory.mktemp("it's [files]*")
    visits.to_csv(folder / "visits.csv", sep=";", index=False, encoding="utf-16")
    people.to_parquet(folder / "people.parquet")
    with duckdb.connect(str(folder / "clinic.duckdb")) as database:
        database.register("frame", people)
        database.execute("CREATE TABLE people AS FROM frame; CREATE VIEW visits AS SELECT * FROM people")
    return {
        "visits": {"source": str(folder / "visits.csv"), "format": {"separator": ";", "encoding": "utf-16"}},
        "people": str(folder / "people.parquet"),
    }


@pytest.fixture(scope="module")
def joined(visits: pandas.DataFrame, people: pandas.DataFrame) -> pandas.DataFrame:
    return visits.merge(people, left_on="person", right_on="id")


def agree(frame: pandas.DataFrame) -> pandas.Series:
    return frame["agreed"].str.strip().isin(["yes", "Yes", "TRUE"])


def test_a_join_of_files(files: Any, joined: pandas.DataFrame) -> None:
    assert counted(query=JOIN, files=files) == (expected(joined), (0, 0))


def test_rows_are_left_out(files: Any, joined: pandas.DataFrame) -> None:
    kept = joined["year"] > 2020
    table = {"query": JOIN, "files": files, "where": "CAST(year AS INT) > 2020"}
    assert counted(**table) == (expected(joined[kept]), ((~kept).sum(), 0))
    agreed = agree(joined)
    assert counted(**table, consent="agreed") == (
        expected(joined[kept & agreed]),
        ((~kept).sum(), (kept & ~agreed).sum()),
    )
    said = {"column": "agreed", "yes": ["perhaps"]}
    assert counted(**table, consent=said)[0] == expected(joined[kept & (joined["agreed"] == "perhaps")])


def test_without_a_query(files: Any, visits: pandas.DataFrame) -> None:
    columns = {"sex": {"column": "agreed", "values": {"yes": "f", "Yes": "f", "TRUE": "m"}}}
    found, left_out = counted(**files["visits"], consent="agreed", columns=columns)
    assert sum(found.values()) == agree(visits).sum()
    assert left_out == (0, (~agree(visits)).sum())


def test_nothing_said_is_no_consent(tmp_path: Path) -> None:
    """NULL of whichever type, and a condition that is neither true nor false."""
    frame = pandas.DataFrame(
        {"sex": ["f"] * 4, "year": [2020] * 4, "b": [True, False, None, True], "n": [1, 0, None, 1]}
    )
    frame.astype({"b": "boolean", "n": "Int64"}).to_parquet(tmp_path / "x.parquet")
    for consent in ("b", "n"):
        found, left_out = counted(source=str(tmp_path / "x.parquet"), consent=consent, where="n >= 0 OR n IS NULL")
        assert (sum(found.values()), left_out) == (2, (0, 2))
    assert counted(source=str(tmp_path / "x.parquet"), consent="b", where="n >= 0")[1] == (1, 1)


def test_a_duckdb_file_is_asked(files: Any, people: pandas.DataFrame) -> None:
    source = str(Path(files["people"]).with_name("clinic.duckdb"))
    found, _ = counted(source=source, query="SELECT p.sex, '2020' AS year FROM people p JOIN visits USING (id)")
    assert found == expected(people.assign(year=2020))
    # A view of the file that has the name of another file of the query is still what it was there.
    two = {"people": {"source": source, "table": "visits"}, "visits": {"source": source, "table": "people"}}
    found, _ = counted(files=two, query="SELECT a.sex, 2020 AS year FROM people a JOIN visits b ON a.id = b.id")
    assert found == expected(people.assign(year=2020))


def test_with_hides_a_file(files: Any, people: pandas.DataFrame) -> None:
    query = "WITH people AS (SELECT sex, 2021 AS year FROM people WHERE id < 6) SELECT * FROM people"
    assert counted(files=files, query=query)[0] == expected(people[:6].assign(year=2021))


def test_what_is_wrong_is_one_line(files: Any) -> None:
    assert "there is no table 'peopel' to read (did you mean 'people'?)" in refused(
        files=files, query="SELECT * FROM peopel"
    )
    assert "query: Binder Error" in refused(files=files, query="SELECT nothing FROM visits")
    assert "query: two columns are 'Sex'" in refused(files=files, query="SELECT sex, 1 AS Sex FROM people")
    assert "query: not valid SQL in line 2" in refused(files=files, query="SELECT *\nFROM visits WHERE (year = 1")
    assert "where: Binder Error" in refused(files=files, query=JOIN, where="nothing = 1")
    assert "where: a condition must not contain SELECT" in refused(files=files, query=JOIN, where="year IN (SELECT 1)")
    assert "consent: there is no column 'agred' (did you mean 'agreed'?)" in refused(
        files=files, query=JOIN, consent="agred"
    )
    assert "a query needs names" in refused(source=files["people"], query="SELECT 1")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "source: is missing; name a file or the URL of a database"),
        ({"files": {"a": "x"}}, "write one"),
        ({"files": {"a": "x"}, "query": "SELECT 1", "source": "y"}, "cannot be combined with `source`"),
        ({"files": {"a b": "x"}, "query": "SELECT 1"}, "a name of letters"),
        ({"files": {"a": "x", "A": "x"}, "query": "SELECT 1"}, "differ only in case"),
        ({"files": {"a": "postgresql://x/y"}, "query": "SELECT 1"}, "not a URL"),
        ({"source": "x", "table": "t", "query": "SELECT 1"}, "cannot be combined with `query`"),
        ({"source": "x", "consent": {"column": "a", "yes": ["?"]}}, "never a consent"),
        ({"source": "x", "consent": {"column": "a", "yes": []}}, "at least 1"),
    ],
)
def test_nonsense(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        settings_of(**given)


def test_no_cell_is_written_down(files: Any) -> None:
    with pytest.raises(UnfitError) as caught:
        counted(files=files, query="SELECT CAST(agreed AS INT) AS year, 'f' AS sex FROM visits")
    assert "Could not convert string" in str(caught.value)
    assert "convert" not in caught.value.loggable


def test_commands_do_not_overlook_consent(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("sex,y,agreed\nf,a,yes\nm,b,no\nf,b,\nm,a,YES\n")
    (tmp_path / "schema.toml").write_text('target = "y"\n[attributes]\nsex = ["f", "m"]\ny = ["a", "b"]\n')
    table = settings_of(source=str(tmp_path / "x.csv"), schema=tmp_path / "schema.toml", consent="agreed")
    task, rows, _ = Id3.alone(on_table(Id3.Settings(), None, False, {"t": table}), 0)
    assert rows.level(task.states.beginning, True).classes.tolist() == [[2, 0]]


def test_smc_check_tells_how_many_are_left_out(files: Any, joined: pandas.DataFrame, tmp_path: Path) -> None:
    """As the documentation has it, from `party.toml`; a long query is no path that is in the way of others."""
    schema_file = tmp_path / "schema.toml"
    schema_file.write_text('target = "sex"\n[attributes]\nsex = ["f", "m"]\nyear = ["2020", "2021", "2022"]\n')
    visits = json.dumps(files["visits"]["source"])
    (tmp_path / "party.toml").write_text(
        f"""[tables.patients]
        query = \"\"\"{JOIN} {"-- and so on" * 100}
        \"\"\"
        schema = "schema.toml"
        where = "CAST(year AS INT) > 2020"
        consent = "agreed"
        [tables.patients.files]
        visits = {{ source = {visits}, format = {{ separator = ";", encoding = "utf-16" }} }}
        people = {json.dumps(files["people"])}
        """
    )
    file = settings.load(tmp_path / "party.toml")
    (told,) = check._tables(file)
    kept = joined[joined["year"] > 2020]
    refused = (~agree(kept)).sum()
    assert told.ok, told.text
    assert told.text.startswith(f"{len(kept) - refused:,} rows fit")
    assert told.text.endswith(f"; left out: {len(joined) - len(kept)} by `where`, {refused} without consent")
    check_outputs({"--out": tmp_path / "new.csv"}, files_of(tmp_path / "party.toml"))


def test_how_many_are_left_out_is_told_in_words() -> None:
    assert left_out_phrase(LeftOut()) == ""
    assert left_out_phrase(LeftOut(1200, 3)) == "; left out: 1,200 by `where`, 3 without consent"


# Attacks: whatever reads, writes, calls out, names what is not named, has no end or is another each time.

EVIL_CALLS = [
    "getenv('HOME')",
    "read_text('/etc/passwd')",
    "pg_read_file('/etc/passwd')",
    "pg_read_binary_file('x')",
    "lo_import('/etc/passwd')",
    "lo_export(1, '/tmp/x')",
    "load_file('/etc/passwd')",
    "query_to_xml('SELECT 1', true, true, '')",
    "dblink_exec('host=x', 'y')",
    "current_setting('data_directory')",
    "set_config('role', 'x', false)",
    "pg_sleep(1000)",
    "sleep(1000)",
    "nextval('s')",
    "reflect('java.lang.Runtime', 'getRuntime')",
    "java_method('java.lang.System', 'exit', 1)",
    "sys_exec('sh')",
    "random()",
    "uuid()",
    "schema_of_csv('x')",
    "main.lower('x')",
    "evil.f('x')",
]
EVIL_TABLES = [
    "'/etc/passwd'",
    '"/etc/passwd"',
    "`/etc/passwd`",
    "csv.`/etc/passwd`",
    'parquet."/x/y"',
    "read_csv('/etc/passwd')",
    "read_csv_auto('x')",
    "read_parquet(['x'])",
    "read_blob('x')",
    "glob('*')",
    "sniff_csv('x')",
    "query('SELECT 1')",
    "query_table('x')",
    "postgres_scan('', '', '')",
    "sqlite_scan('x', 'y')",
    "dblink('x', 'SELECT 1') AS t(a int)",
    "pg_ls_dir('/')",
    "pg_catalog.pg_authid",
    "pg_shadow",
    "pg_hba_file_rules",
    "information_schema.tables",
    "mysql.user",
    "duckdb_settings()",
    "generate_series(1, 1000000000000)",
    "visits TABLESAMPLE SYSTEM (1 PERCENT)",
    "(INSERT INTO visits VALUES (1) RETURNING *)",
]
EVIL_WHOLES = [
    "",
    "   ",
    "PRAGMA database_list",
    "COPY visits TO '/tmp/x'",
    "ATTACH '/tmp/x' AS y",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '1TB'",
    "CREATE TABLE x AS SELECT 1",
    "DROP TABLE visits",
    "INSERT INTO visits SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "CALL f()",
    "EXPORT DATABASE 'x'",
    "VALUES (1)",
    "TABLE visits",
    "SELECT 1; DROP TABLE visits",
    "SELECT 1;;",
    "SELECT * INTO x FROM visits",
    "SELECT * INTO OUTFILE '/tmp/x' FROM visits",
    "SELECT * FROM visits FOR UPDATE",
    "WITH x AS (DELETE FROM visits RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE visits SET a = 1 RETURNING *) SELECT * FROM x",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    'WITH "/etc/passwd" AS (SELECT 1) SELECT * FROM "/etc/passwd"',
    "SELECT * FROM visits LIMIT 10",
    "SELECT ?",
    "SELECT 'abc",
    "SELECT 1 /* x",
    "SELECT " + "(" * 4000 + "1" + ")" * 4000,
    "SELECT CAST(a AS regclass) FROM visits",
]
DIALECTS = ["duckdb", "postgres", "spark", "mysql"]


def assert_refused(text: str, dialect: str, named: Any) -> None:
    with pytest.raises(InputError) as caught:
        checked_query(text, dialect, "place", named)
    assert str(caught.value).startswith("place: query: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_attacks(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    named = NAMED if dialect == "duckdb" else None
    for whole in EVIL_WHOLES:
        assert_refused(whole, dialect, named)
    for table in EVIL_TABLES:
        assert_refused(f"SELECT * FROM {table}", dialect, named)
    for call in EVIL_CALLS:
        assert_refused(f"SELECT {call} AS a FROM visits", dialect, named)
        with pytest.raises(InputError, match="place: where: "):
            checked_condition(f"{call} = 'x'", dialect, "place")
    assert not caplog.records


WRAPS = [
    "SELECT {} AS a FROM visits",
    "SELECT a FROM visits WHERE b = {}",
    "SELECT a FROM visits ORDER BY {}",
    "SELECT a FROM visits JOIN people ON a = {}",
    "SELECT a FROM visits GROUP BY {}",
    "SELECT CASE WHEN {} = 1 THEN 2 END FROM visits",
    "SELECT row_number() OVER (PARTITION BY {}) FROM visits",
    "SELECT a FROM visits UNION ALL SELECT {}",
    "WITH x AS (SELECT {} AS a) SELECT a FROM x",
    "SELECT coalesce(a, {}) FROM visits",
    "SELECT a FROM visits WHERE b IN (SELECT {})",
    "SELECT /* ' */ {} -- x\n FROM visits",
]
FROMS = [
    "SELECT * FROM {}",
    "SELECT * FROM visits, {}",
    "SELECT * FROM visits WHERE a IN (SELECT a FROM {})",
    "SELECT (SELECT max(a) FROM {}) FROM visits",
    "WITH x AS (SELECT * FROM {}) SELECT * FROM x",
    "SELECT * FROM (WITH x AS (SELECT 1) SELECT 1) AS y CROSS JOIN {}",
    "SELECT * FROM visits UNION ALL SELECT * FROM {}",
]


@given(
    st.sampled_from(DIALECTS), st.sampled_from(EVIL_CALLS), st.lists(st.sampled_from(["lower({})", "({})", "1 + {}"]))
)
@limits(max_examples=60)
def test_calls_are_found_wherever_they_hide(dialect: str, call: str, inside: list[str]) -> None:
    for wrap in inside:
        call = wrap.format(call)
    for wrap in WRAPS:
        assert_refused(wrap.format(call), dialect, NAMED if dialect == "duckdb" else None)


@given(st.sampled_from(DIALECTS), st.sampled_from(EVIL_TABLES), st.sampled_from(FROMS))
@limits(max_examples=60)
def test_tables_are_found_wherever_they_hide(dialect: str, table: str, outer: str) -> None:
    assert_refused(outer.format(table), dialect, NAMED if dialect == "duckdb" else None)


_PIECES = """
SELECT FROM visits * ( ) WITH x AS , ' " ; 1 -- /* WHERE = UNION JOIN ON a COPY PRAGMA $$ \\ \0 é ORDER LIMIT :: @ CASE
"""


@given(
    st.sampled_from(DIALECTS), st.lists(st.sampled_from(_PIECES.split()), max_size=25) | st.text(max_size=40).map(list)
)
@limits(max_examples=200)
def test_any_text_is_understood_or_refused_in_a_line(dialect: str, pieces: list[str]) -> None:
    text = "SELECT " + " ".join(pieces)
    try:
        query = checked_query(text, dialect, "place", NAMED)
    except InputError:
        assert_refused(text, dialect, NAMED)
    else:  # what runs is understood to be the same again
        text = query.sql(dialect=dialect)
        assert "--" not in text or "'" in text
        assert checked_query(text, dialect, "place", NAMED).sql(dialect=dialect) == text


def test_the_engine_is_confined_beside(files: Any) -> None:
    """If the check overlooked something, DuckDB itself could not reach it."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as other:
        other.write(b"a\n1\n")
        other.flush()
        engine = Scratch("x", "300MB", 1)
        assert engine.backend.raw_sql(f"SELECT * FROM '{other.name}'").fetchall() == [(1,)]
        engine.confine()
        for evil in (
            f"SELECT * FROM '{other.name}'",
            f"COPY (SELECT 1) TO '{other.name}'",
            f"ATTACH '{other.name}.db'",
            "INSTALL httpfs",
            "SET enable_external_access = true",
            "SELECT * FROM other",
        ):
            with pytest.raises(duckdb.Error):
                engine.backend.raw_sql(evil)
        engine.close()
        chosen = open_table(settings_of(query=JOIN, files=files), SCHEMA, "sex", ["year"])
        with chosen as source, pytest.raises(duckdb.PermissionException):
            source._engine.backend.raw_sql(f"SELECT * FROM '{other.name}'")  # type: ignore[attr-defined]


@given(
    st.sampled_from(["=", "<", ">=", "<>"]),
    st.integers(2019, 2023),
    st.sampled_from(["AND", "OR", "AND NOT", "OR NOT"]),
)
@limits(max_examples=15)
def test_conditions_agree_with_sqlite(files: Any, joined: pandas.DataFrame, sign: str, year: int, join: str) -> None:
    where = f"CAST(year AS INTEGER) {sign} {year} {join} sex = 'f'"
    with sqlite3.connect(":memory:") as database:
        joined[["year", "sex"]].to_sql("t", database, index=False)
        kept = pandas.read_sql(f"SELECT * FROM t WHERE {where}", database)
    found, left_out = counted(query=JOIN, files=files, where=where)
    assert (found, left_out) == (expected(kept), (len(joined) - len(kept), 0))


def test_databases_that_are_not_read() -> None:
    for scheme, name in [("mssql", "SQL Server"), ("oracle", "Oracle"), ("bigquery", "BigQuery")]:
        told = refused(source=f"{scheme}://me:secret@host/db", query="SELECT 1")
        assert told == f"{scheme}://host/db: {name} is not read yet: export the table as Parquet"


# A database in its own dialect.


def test_postgres(
    postgres: Server, visits: pandas.DataFrame, people: pandas.DataFrame, joined: pandas.DataFrame
) -> None:
    with postgres.connect() as admin:
        admin.execute("CREATE SCHEMA IF NOT EXISTS q; CREATE TABLE q.visits (person int, year int, agreed text)")
        admin.execute("CREATE TABLE q.people (id int, sex varchar(3)); CREATE ROLE asker LOGIN; ")
        admin.execute("GRANT USAGE ON SCHEMA q TO asker; GRANT SELECT ON ALL TABLES IN SCHEMA q TO asker")
        admin.execute("ALTER ROLE asker PASSWORD 'secret-7'")
        with admin.cursor() as cursor:
            cursor.executemany("INSERT INTO q.visits VALUES (%s, %s, %s)", visits.astype(object).values.tolist())
            cursor.executemany("INSERT INTO q.people VALUES (%s, %s)", people.astype(object).values.tolist())
    source, query = (
        postgres.url("asker", "secret-7"),
        JOIN.replace("visits AS", "q.visits AS").replace("people p", "q.people p"),
    )
    assert counted(source=source, query=query) == (expected(joined), (0, 0))
    kept, agreed = joined["year"] > 2020, agree(joined)
    assert counted(source=source, query=query, where="year > 2020", consent="agreed") == (
        expected(joined[kept & agreed]),
        ((~kept).sum(), (kept & ~agreed).sum()),
    )
    with_columns = (
        "SELECT date_part('year', make_date(year, 1, 1))::int AS year, sex FROM q.visits, q.people WHERE id = person"
    )
    assert counted(source=source, query=with_columns)[0] == expected(joined)
    assert "two columns are 'sex'" in refused(source=source, query="SELECT sex, sex FROM q.people")
    assert 'relation "nothing" does not exist' in refused(source=source, query="SELECT * FROM nothing")
    assert 'where: column "nothing" does not exist' in refused(source=source, query=query, where="nothing = 1")
    assert "one of the database system" in refused(source=source, query="SELECT * FROM pg_settings")


@pytest.mark.slow
def test_spark(spark: Any, visits: pandas.DataFrame, people: pandas.DataFrame, joined: pandas.DataFrame) -> None:
    spark.createDataFrame(visits).createOrReplaceGlobalTempView("visits")
    spark.createDataFrame(people).createOrReplaceGlobalTempView("people")
    query = JOIN.replace("visits AS", "global_temp.visits AS").replace("people p", "global_temp.people p")
    agreed = agree(joined)
    assert counted(source="spark://local", query=query, consent="agreed") == (
        expected(joined[agreed]),
        (0, (~agreed).sum()),
    )
    assert "two columns are 'sex'" in refused(source="spark://local", query="SELECT sex, sex FROM global_temp.people")
    assert "query: " in refused(source="spark://local", query="SELECT * FROM parquet.x")


@pytest.mark.parametrize(
    ("text", "narrow"),
    [
        ("SELECT a AS x, b AS y, c FROM t WHERE a > 1", "SELECT b AS y, c FROM t WHERE a > 1"),
        ("SELECT DISTINCT a AS x, b AS y, c FROM t", None),
        ("SELECT b AS y, c, COUNT(*) AS n FROM t GROUP BY ALL", None),
        ("SELECT *, b AS y FROM t", None),
        ("SELECT b AS y, c FROM t UNION ALL SELECT c, b FROM t", None),
    ],
)
def test_a_query_is_narrowed_only_if_its_rows_stay(text: str, narrow: str | None) -> None:
    query = sqlglot.parse_one(text, dialect="duckdb")
    assert isinstance(query, exp.Query)
    assert narrowed(query, ["c", "y"]).sql("duckdb") == (narrow or text)
    assert query.sql("duckdb") == text

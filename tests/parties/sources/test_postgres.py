"""PostgreSQL: a real server, asked by a role that may only read."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ibis
import numpy as np
import pytest

from parties.alone.publish import reading
from parties.sources import PlaceSettings, TableSettings, databases, from_frame, open_rows, open_table
from parties.sources.source import Source
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.tree import Open
from smc.errors import InputError
from tests.support import typed
from tests.support.agreement import (
    SCHEMA,
    TARGET,
    Sample,
    assert_same_counts,
    assert_same_level,
    full,
    merged,
    path,
    random_tree,
    tree_of,
)
from tests.support.postgres import Server

PASSWORD = "p@ss:w/rd%"
ENCODED = "p%40ss%3Aw%2Frd%25"


@pytest.fixture(scope="module")
def server(postgres: Server, rows: Sample) -> Server:
    """A database of its own with the samples in it, and the role `reader`, which may read them and do nothing else."""
    from psycopg import sql

    def fill(connection: Any, table: Any, columns: dict[str, str], lines: list[tuple[Any, ...]]) -> None:
        fields = sql.SQL(", ").join(
            sql.SQL("{} " + kind).format(sql.Identifier(name)) for name, kind in columns.items()
        )
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, fields))
        with connection.cursor() as cursor, cursor.copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
            for line in lines:
                copy.write_row(line)

    kinds = {
        "code": "int",
        "Geschlecht": "smallint",
        "yes": "boolean",
        "half": "float8",
        "price": "numeric(10, 2)",
        "day": "date",
        "age": "int",
        "bmi": "float8",
        "cost": "numeric(10, 2)",
        "text": "varchar(9)",
        "class": "letter",
    }
    with postgres.connect() as admin:
        admin.execute("CREATE DATABASE samples")
    server = Server(postgres.folder, "samples")
    with server.connect() as admin:
        admin.execute("REVOKE ALL ON DATABASE samples FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC")
        admin.execute("CREATE SCHEMA \"my.schema\"; CREATE TYPE letter AS ENUM ('a', 'b')")
        lines = [tuple(cell if cell.strip() else None for cell in row) for row in rows.rows]
        fill(admin, sql.Identifier("my.schema", 'vis."its'), dict.fromkeys(rows.columns, "text"), lines)
        frame = typed.table(typed.every_value())
        lines = [tuple(x.strip() if name == "class" else x for name, x in row.items()) for row in frame.to_pylist()]
        fill(admin, sql.Identifier("typed"), kinds, lines)
        admin.execute("CREATE TABLE secret (a int)")
        admin.execute(sql.SQL("CREATE ROLE reader LOGIN PASSWORD {}").format(PASSWORD))
        admin.execute(
            'GRANT CONNECT ON DATABASE samples TO reader; GRANT USAGE ON SCHEMA public, "my.schema" TO reader'
        )
        admin.execute('GRANT SELECT ON ALL TABLES IN SCHEMA "my.schema" TO reader; GRANT SELECT ON typed TO reader')
    return server


def opened(url: str, table: str | None, schema: Schema = SCHEMA, target: str = TARGET, **more: Any) -> Source:
    settings = TableSettings.model_validate({"source": url, "schema": "schema.toml", "table": table, **more})
    return open_table(settings, schema, target)


def visits(server: Server) -> Source:
    return opened(server.url("reader", ENCODED), 'my.schema.vis."its')


@pytest.mark.parametrize("few", [0, 1 << 40])
def test_rows_come_in_pieces(server: Server, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.sources.queried.FEW", few)
    columns = {name: column.model_dump(exclude_unset=True) for name, column in typed.COLUMNS.items()}
    monkeypatch.setattr("parties.sources.databases.BATCH", 7)
    settings = TableSettings.model_validate(
        {"source": server.url("reader", ENCODED), "schema": "schema.toml", "table": "typed", "columns": columns}
    )
    with open_table(settings, typed.SCHEMA, typed.TARGET, streamed=True) as source:
        assert source.check() == len(typed.every_value())
        lines = merged(source.batches())
        assert lines == sorted(source.distinct().tolist())
        assert lines == sorted(typed.counts(typed.every_value()).distinct().tolist())


def test_a_reader_counts_the_same(server: Server, rows: Sample) -> None:
    with visits(server) as source:
        assert source.check() == len(rows.rows)
        assert_same_counts(source, rows.counts)
        assert tree_of(source, SCHEMA, TARGET) == tree_of(rows.counts, SCHEMA, TARGET)
        known = source.fingerprint(b"key")
    settings = TableSettings.model_validate({"source": str(rows.csv), "schema": "schema.toml"})
    with open_table(settings, SCHEMA, TARGET) as source:
        assert source.fingerprint(b"key") == known


def test_the_password_may_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with opened(server.url("reader"), "typed", Schema({"day": ("1969-12-31", "2024-02-29", "?")}), "day") as source:
        assert source.check() == len(typed.every_value())


def test_typed_columns(server: Server) -> None:
    columns = {name: column.model_dump(exclude_unset=True) for name, column in typed.COLUMNS.items()}
    with opened(server.url("reader", ENCODED), "typed", typed.SCHEMA, typed.TARGET, columns=columns) as source:
        assert_same_counts(source, typed.counts(typed.every_value()), typed.SCHEMA, typed.TARGET)


def test_text_means_the_same_where_backslashes_escape(server: Server) -> None:
    """A schema's value is text, no SQL, whatever the role's settings say of backslashes."""
    value = "\\' OR true --"
    with server.connect() as admin:
        admin.execute("CREATE TABLE spelt (a text); GRANT SELECT ON spelt TO reader")
        admin.execute("INSERT INTO spelt VALUES (%s), ('b'), ('b')", [value])
        admin.execute("ALTER ROLE reader SET standard_conforming_strings = off")
        try:
            with opened(server.url("reader", ENCODED), "spelt", Schema({"a": (value, "b")}), "a") as source:
                assert source.level(Open(), attributes=True).classes.tolist() == [[1, 2]]
        finally:
            admin.execute("ALTER ROLE reader RESET standard_conforming_strings")


def test_an_ibis_table(server: Server, rows: Sample) -> None:
    with server.connect() as connection:
        table = ibis.postgres.from_connection(connection).table('vis."its', database=("samples", "my.schema"))
        assert_same_level(from_frame(table.filter(table.id != ""), SCHEMA, TARGET), rows.counts, Open())


def test_two_threads_read_one_table(server: Server, rows: Sample) -> None:
    tree = random_tree(random.Random(1), (3, 4, 3, 6, 3, 1), 3, leaves=0.1)
    with visits(server) as one, visits(server) as other, ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda source: [assert_same_level(source, rows.counts, tree) for _ in range(3)], (one, other)))


def test_a_deep_and_a_wide_level(server: Server) -> None:
    names = [f"a{i}" for i in range(64)]
    with server.connect() as admin:
        admin.execute(
            f"CREATE TABLE deep AS SELECT {', '.join(f'(random() < 0.02)::int AS {n}' for n in names)}, 0 AS t "
            "FROM generate_series(1, 200)"
        )
        cells = admin.execute("SELECT * FROM deep").fetchall()
        admin.execute("GRANT SELECT ON deep TO reader")
    values = np.array(cells)
    schema = Schema({**dict.fromkeys(names, ("0", "1")), "t": ("0", "1")}, "t")
    expected = RowCounts((2,) * 64, 2, values[:, :-1], values[:, -1])
    with opened(server.url("reader", ENCODED), "deep", schema, "t") as source:
        assert_same_level(source, expected, path(60, 2))
        assert_same_level(source, expected, full(12, 2))


def test_what_is_wrong_is_one_line_without_the_password(server: Server) -> None:
    good = server.url("reader", ENCODED)
    cases = [
        (server.url("reader", "wr%40ng"), "typed", "password authentication failed"),
        (server.url("nobody", ENCODED), "typed", "password authentication failed"),
        (server.url("reader", ENCODED, database="nowhere"), "typed", "does not exist"),
        (f"postgresql://reader:{ENCODED}@127.0.0.1:1/postgres", "typed", "127.0.0.1"),
        (f"postgresql://reader:{PASSWORD}@127.0.0.1:1/postgres", "typed", "not a valid URL"),
        (good, None, "name the `table`"),
        (good, "type", "there is no such table (did you mean 'typed'?)"),
        (good, "typed", "column 'y': there is no such column"),
        (good, "secret", "column 'y'"),
    ]
    for url, table, complaint in cases:
        with pytest.raises(InputError) as caught, opened(url, table) as source:
            source.check()
        message = str(caught.value)
        assert complaint in message
        assert message.startswith("postgresql://")
        assert not [part for part in ("\n", PASSWORD, ENCODED, "wr@ng", "w/rd") if part in message]


def test_a_table_that_may_not_be_read(server: Server) -> None:
    schema = Schema({"a": ("1",)}, "a")
    with opened(server.url("reader", ENCODED), "secret", schema, "a") as source, pytest.raises(InputError) as caught:
        source.check()
    assert "permission denied for table secret" in str(caught.value)


def test_rows_that_come_while_a_job_runs(server: Server) -> None:
    """Values outside the schema are refused in every level that would count them; good ones are counted."""
    schema = Schema({"a": ("1", "2"), "t": ("x", "y")}, "t")
    with server.connect() as admin:
        admin.execute("CREATE TABLE growing (a int, t text); GRANT SELECT ON growing TO reader")
        with opened(server.url("reader", ENCODED), "growing", schema, "t", max_rows=2) as source:
            assert source.check() == 0
            admin.execute("INSERT INTO growing VALUES (1, 'x')")
            assert source.level(Open(), attributes=True).classes.tolist() == [[1, 0]]
            admin.execute("INSERT INTO growing VALUES (3, 'y')")
            with pytest.raises(InputError, match="column 'a': '3' is not in the schema"):
                source.level(Open(), attributes=True)
            admin.execute("UPDATE growing SET a = 2; INSERT INTO growing VALUES (1, 'x')")
            with pytest.raises(InputError, match="3 rows, more than 2"):
                source.check()


def test_a_connection_that_breaks(server: Server) -> None:
    with visits(server) as source:
        source.check()
        with server.connect() as admin:
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
        with pytest.raises(InputError, match=r"terminat|closed|lost"):
            source.level(Open(), attributes=True)


def test_rows_come_in_batches(server: Server, rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distinct texts and how often each occurs, as they are read for publishing; few lines at a time."""
    monkeypatch.setattr(databases, "BATCH", 2)
    place = {"source": server.url("reader", ENCODED), "table": 'my.schema.vis."its'}
    found = open_rows(PlaceSettings.model_validate(place))
    texts = reading.texts(found, [TARGET])
    counted = Counter(cell.strip() or "?" for cell in rows.columns[TARGET])
    assert dict(zip(map(texts.values[0].__getitem__, texts.codes[0]), texts.counts.tolist(), strict=True)) == counted
    found.engine.close()

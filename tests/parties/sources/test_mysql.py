"""MySQL: a real MariaDB server, asked by a user who may only read, with the modes and collations that differ most."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from parties.alone.publish import reading
from parties.sources import ColumnSettings, PlaceSettings, TableSettings, databases, open_rows, open_table
from parties.sources.source import Source
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.tree import Open
from smc.errors import InputError
from tests.support import typed
from tests.support.agreement import (
    SCHEMA,
    TARGET,
    Sample,
    assert_same_counts,
    assert_same_level,
    random_tree,
    tree_of,
)
from tests.support.mysql import MySqlServer

PASSWORD = "p@ss:w/rd%"
ENCODED = "p%40ss%3Aw%2Frd%25"
SLOPPY = "SET GLOBAL sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE'"


@pytest.fixture(scope="module")
def server(mysql: MySqlServer, rows: Sample) -> MySqlServer:
    """The server with the samples in it, and the user `reader`, who may read them and do nothing else."""

    def fill(table: str, columns: dict[str, str], lines: list[tuple[Any, ...]]) -> None:
        fields = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
        connection = mysql.connect()
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {table} ({fields}) CHARACTER SET utf8mb4")  # its collation ignores case
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(columns))})", lines)
        connection.close()

    kinds = {
        "code": "int",
        "Geschlecht": "tinyint unsigned",
        "yes": "boolean",
        "half": "double",
        "price": "decimal(10, 2)",
        "day": "date",
        "age": "int unsigned",
        "bmi": "double",
        "cost": "decimal(10, 2)",
        "text": "varchar(9)",
        "class": "enum('a', 'b')",
    }
    mysql.run("CREATE DATABASE `my.schema`")
    lines = [tuple(cell if cell.strip() else None for cell in row) for row in rows.rows]
    fill('`my.schema`.`vis."its`', dict.fromkeys(rows.columns, "text"), lines)
    fill("typed", kinds, [tuple(row.values()) for row in typed_rows()])
    mysql.run(
        "CREATE TABLE secret (a int)",
        SLOPPY,
        f"CREATE USER reader@localhost IDENTIFIED BY '{PASSWORD}'",
        "GRANT SELECT ON `my.schema`.* TO reader@localhost",
        "GRANT SELECT ON clinic.typed TO reader@localhost",
    )
    return mysql


def typed_rows() -> list[dict[str, Any]]:
    """Every value of the typed table that MySQL can hold: neither NaN nor infinity, and no age below 0."""
    lines = typed.table(FITTING).to_pylist()
    return [{name: x.strip() if name == "class" else x for name, x in line.items()} for line in lines]


def fits(line: dict[str, Any]) -> bool:
    finite = all(line[name] is None or abs(line[name]) < 1e308 for name in ("half", "bmi"))
    return finite and (line["age"] is None or line["age"] >= 0)


FITTING = [
    places
    for places, line in zip(typed.every_value(), typed.table(typed.every_value()).to_pylist(), strict=True)
    if fits(line)
]


def opened(url: str, table: str | None, schema: Schema = SCHEMA, target: str = TARGET, **more: Any) -> Source:
    settings = TableSettings.model_validate({"source": url, "schema": "schema.toml", "table": table, **more})
    return open_table(settings, schema, target)


def visits(server: MySqlServer) -> Source:
    return opened(server.url("reader", ENCODED), 'my.schema.vis."its')


def counted(server: MySqlServer, schema: dict[str, tuple[str, ...]], **more: Any) -> Counter[tuple[str, ...]]:
    """How often each of the combinations is counted; the last column is the target."""
    *_, target = schema
    with opened(server.url(), schema=Schema(schema, target), target=target, **{"table": None, **more}) as source:
        lines = source.distinct().tolist()
    values = list(schema.values())
    return Counter({tuple(v[i] for v, i in zip(values, line, strict=False)): line[-1] for line in lines})


def test_a_reader_counts_the_same(server: MySqlServer, rows: Sample) -> None:
    with visits(server) as source:
        assert source.check() == len(rows.rows)
        assert_same_counts(source, rows.counts)
        assert tree_of(source, SCHEMA, TARGET) == tree_of(rows.counts, SCHEMA, TARGET)
        known = source.fingerprint(b"key")
    settings = TableSettings.model_validate({"source": str(rows.csv), "schema": "schema.toml"})
    with open_table(settings, SCHEMA, TARGET) as source:
        assert source.fingerprint(b"key") == known


def test_typed_columns(server: MySqlServer) -> None:
    """BOOLEAN is a number there: the rest is as in all engines."""
    own = {**typed.COLUMNS, "yes": ColumnSettings(values={"1": "true", "0": "false"})}
    columns = {name: column.model_dump(exclude_unset=True) for name, column in own.items()}
    with opened(server.url("reader", ENCODED), "typed", typed.SCHEMA, typed.TARGET, columns=columns) as source:
        assert_same_counts(source, typed.counts(FITTING), typed.SCHEMA, typed.TARGET)


def test_text_is_compared_by_its_letters(server: MySqlServer) -> None:
    """Not as the column's collation does: here, in publishing, in conditions and in consent."""
    cells = ["a", "A", "ä", "Ä", "a", "ss", "ß"]
    server.run(
        "CREATE TABLE letters (x varchar(9) COLLATE utf8mb4_general_ci, ok varchar(9) CHARACTER SET "
        "latin1 COLLATE latin1_swedish_ci, t char(1)) CHARACTER SET utf8mb4",
        *(f"INSERT INTO letters VALUES ('{cell}', 'yes', 't')" for cell in cells),
        "INSERT INTO letters VALUES ('a', 'yes ', 't'), ('a', 'yEs', 't'), ('a', 'yés', 't')",
    )
    schema = {"x": tuple(dict.fromkeys(cells)), "t": ("t",)}
    by_letter = Counter((cell, "t") for cell in cells)
    assert counted(server, schema, table="letters") == by_letter + Counter({("a", "t"): 3})
    assert counted(server, schema, table="letters", consent="ok") == by_letter + Counter({("a", "t"): 1})
    assert counted(server, schema, table="letters", where="x = 'A'") == {("A", "t"): 1}
    assert counted(server, schema, table="letters", where="ok LIKE 'yE_' OR ok = 'yes '").total() == 2
    either = """SELECT x, t, CONCAT('\\\\', "x") AS slash FROM letters WHERE ok = "no" || x = "ss" """
    assert counted(server, schema | {"slash": ("\\x",)}, query=either) == {("ss", "t", "\\x"): 1}
    with open_rows(PlaceSettings.model_validate({"source": server.url(), "table": "letters"})) as rows:
        texts = reading.texts(rows, ["x"])
    assert sorted(texts.values[0]) == sorted(set(cells))
    with opened(server.url(), "letters", Schema({"t": ("t",)}, "t"), "t") as source:
        assert len(source.baskets("x")) == len(set(cells))


def test_cells_that_other_databases_do_not_have(server: MySqlServer) -> None:
    server.run(
        "CREATE TABLE odd (d date, s datetime, t time, y year, b bit(3), u bigint unsigned, p set('a', 'b'), c int)",
        "SET sql_mode = ''",
    )
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute(
            "INSERT INTO odd VALUES "
            "('0000-00-00', '0000-00-00', '23:59:59', 2020, b'101', 900000000000000000, 'a,b', 1), "
            "('2024-02-29', '2024-02-29 12:30:00', '00:00:00', 1999, b'001', 7, '', 1)"
        )
    dates = {"d": ("2024-02-29", "?"), "s": ("2024-02-29 12:30:00", "?"), "y": ("1999", "2020"), "c": ("1",)}
    expected = {("2024-02-29", "2024-02-29 12:30:00", "1999", "1"): 1, ("?", "?", "2020", "1"): 1}
    assert counted(server, dates, table="odd") == expected
    rest = {"b": ("1", "5"), "u": ("7", "900000000000000000"), "p": ("a,b", "?"), "c": ("1",)}
    expected = {("1", "7", "?", "1"): 1, ("5", "900000000000000000", "a,b", "1"): 1}
    assert counted(server, rest, table="odd") == expected
    connection.close()


def test_times_of_the_day_are_no_durations(server: MySqlServer) -> None:
    clock = Domain(read_type({"type": "time", "edges": ["06:00", "18:00"], "missing": True}))
    schema = {"t": clock, "c": ("1",)}
    server.run(
        "CREATE TABLE clock (t time(3), c int)",
        "INSERT INTO clock VALUES ('05:59:59.999', 1), ('06:00', 1), ('23:59:59.999', 1), ('00:00', 1), (NULL, 1)",
    )
    before, day, evening, missing = clock
    expected = {(before, "1"): 2, (day, "1"): 1, (evening, "1"): 1, (missing, "1"): 1}
    assert counted(server, schema, table="clock") == expected
    for duration in ("24:00:00", "-00:00:01"):
        server.run(f"UPDATE clock SET t = '{duration}' WHERE t IS NULL OR t < 0 OR t >= '24:00:00'")
        with pytest.raises(InputError, match="is not a time"):
            counted(server, schema, table="clock")


def test_nothing_can_be_written_and_no_file_be_read(server: MySqlServer) -> None:
    with open_rows(PlaceSettings.model_validate({"source": server.url(), "table": "typed"})) as rows:
        for command in ("INSERT INTO secret VALUES (1)", "CREATE TABLE more (a int)", "DROP TABLE secret"):
            with pytest.raises(InputError, match="READ ONLY"), rows.engine.reporting():
                rows.engine._fetch(command)
        with pytest.raises(InputError), rows.engine.reporting():
            rows.engine._fetch("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE secret")


def test_two_threads_read_one_table(server: MySqlServer, rows: Sample) -> None:
    tree = random_tree(random.Random(1), (3, 4, 3, 6, 3, 1), 3, leaves=0.1)
    with visits(server) as one, visits(server) as other:
        threads = [threading.Thread(target=assert_same_level, args=(s, rows.counts, tree)) for s in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert_same_level(one, rows.counts, Open())


def test_the_password_may_come_from_elsewhere(
    server: MySqlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema({"day": ("1969-12-31", "2024-02-29", "?")}, "day")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    with opened(server.url("reader", ""), "typed", schema, "day") as source:
        assert source.check() == len(FITTING)
    monkeypatch.delenv("MYSQL_PWD")
    (tmp_path / ".my.cnf").write_text(f'[client]\npassword = "{PASSWORD}"\n')
    with opened(server.url("reader", ""), "typed", schema, "day") as source:
        assert source.check() == len(FITTING)


def test_what_is_wrong_is_one_line_without_the_password(
    server: MySqlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    good = server.url("reader", ENCODED)
    cases = [
        (server.url("reader", "wr%40ng"), "typed", "Access denied"),
        (server.url("nobody", ENCODED), "typed", "Access denied"),
        (server.url("reader", ENCODED, database="nowhere"), "typed", "nowhere"),
        (f"mysql://reader:{ENCODED}@127.0.0.1:1/clinic", "typed", "127.0.0.1"),
        (f"mysql://reader:{PASSWORD}@127.0.0.1:1/clinic", "typed", "not a valid URL"),
        (f"mysql://reader:{ENCODED}@127.0.0.1", "typed", "not a valid URL"),
        (server.url("reader", ENCODED, more="&init_command=x"), "typed", "the option 'init_command' is not known"),
        (server.url("reader", ENCODED, more="&ssl_mode=VERIFY_IDENTITI"), "typed", "'VERIFY_IDENTITY'"),
        (  # this server has no certificate
            server.url("reader", ENCODED, more="&ssl_mode=REQUIRED"),
            "typed",
            "the server gave a connection without it",
        ),
        (good, None, "name the `table`"),
        (good, "type", "there is no such table (did you mean 'typed'?)"),
        (good, "typed", "column 'y': there is no such column"),
        (good, "secret", "there is no such table"),
    ]
    for url, table, complaint in cases:
        with pytest.raises(InputError) as caught, opened(url, table) as source:
            source.check()
        message = str(caught.value)
        assert complaint in message
        assert message.startswith("mysql://")
        assert not [part for part in ("\n", PASSWORD, ENCODED, "wr@ng", "w/rd") if part in message]


def test_rows_come_in_batches(server: MySqlServer, rows: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distinct texts and how often each occurs, as they are read for publishing; few lines at a time."""
    monkeypatch.setattr(databases, "BATCH", 2)
    place = {"source": server.url("reader", ENCODED), "table": 'my.schema.vis."its'}
    with open_rows(PlaceSettings.model_validate(place)) as found:
        texts = reading.texts(found, [TARGET])
    counted = Counter(cell.strip() or "?" for cell in rows.columns[TARGET])
    assert dict(zip(map(texts.values[0].__getitem__, texts.codes[0]), texts.counts.tolist(), strict=True)) == counted

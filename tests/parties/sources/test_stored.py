"""smc publish --into: recoded rows as a table of DuckDB and PostgreSQL are those that a file would have."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pytest

from parties import cli
from parties.alone.publish.recoding.anonymising import anonymised, cells_of
from parties.alone.publish.settings import load
from parties.alone.publish.storing import store
from parties.sources.databases import Scratch
from smc.errors import InputError
from tests.support.postgres import Server

Ask: TypeAlias = Callable[[str], Sequence[tuple[Any, ...]]]

PLAN = """
source = "{source}"
table = "people"
max_suppressed = 0.2
algorithm = "{algorithm}"
[columns]
name = {{ role = "identifier", mask = {{ kind = "custom", first = 1, padding = "." }} }}
zip = {{ role = "quasi-identifier", prefixes = [3, 1] }}
age = {{ role = "quasi-identifier", ranges = [5, 20] }}
"Job title" = {{ role = "sensitive" }}
visits = {{ role = "other" }}
[[models]]
model = "k-anonymity"
k = 3
"""


def people(execute: Callable[[str], Any]) -> None:
    """Random rows: some equal, some with values missing or with space around them."""
    draw = random.Random(4)
    execute('CREATE TABLE people (name TEXT, zip TEXT, age INTEGER, "Job title" TEXT, visits INTEGER)')
    lines = []
    for i in range(200):
        code = draw.choice(["'5371'", "'5372'", "' 5372'", "'5490'", "''", "NULL"])
        age, job = draw.choice(["20", "21", "33", "47", "NULL"]), draw.choice(["'it''s'", "'b'"])
        lines.append(f"('n{i}', {code}, {age}, {job}, {draw.randrange(5)})")
    execute(f"INSERT INTO people VALUES {', '.join(lines)}")


@pytest.fixture(params=["duckdb", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Ask]:
    """A source with the people, and what asks its database."""
    monkeypatch.chdir(tmp_path)
    if request.param == "duckdb":
        with duckdb.connect("people.duckdb") as connection:
            people(connection.execute)

        def ask(sql: str) -> Sequence[tuple[Any, ...]]:
            with duckdb.connect("people.duckdb", read_only=True) as connection:
                return connection.execute(sql).fetchall()

        return "people.duckdb", ask
    server: Server = request.getfixturevalue("postgres")
    with server.connect() as connection:
        for table in ("people", "published", "later"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        people(connection.execute)

    def ask_server(sql: str) -> Sequence[tuple[Any, ...]]:
        with server.connect() as connection:
            return list(connection.execute(sql).fetchall())

    return server.url(), ask_server


def plan(source: str, algorithm: str) -> None:
    Path("publish.toml").write_text(PLAN.format(source=source, algorithm=algorithm))


def smc(*arguments: str) -> int:
    return cli.run(["publish", *arguments])


@pytest.mark.parametrize("algorithm", ["flash", "mondrian", "mondrian-relaxed"])
def test_a_table_has_the_rows_of_a_file(place: tuple[str, Ask], algorithm: str, capsys: Any) -> None:
    source, ask = place
    plan(source, algorithm)
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.parquet", "--recoding", "r.json") == 0
    assert smc("anonymise", "--plan", "publish.toml", "--into", "published") == 0
    assert "written: table published" in capsys.readouterr().err
    filed, stored = duckdb.sql("SELECT * FROM 'out.parquet'").fetchall(), ask("SELECT * FROM published")
    assert len(filed) > 150
    assert {row[0] for row in stored} == {"n."}
    if algorithm == "mondrian-relaxed":  # of equal rows those that happen to come first are in a class
        assert Counter(row[:4] for row in filed) == Counter(row[:4] for row in stored)
    else:
        assert Counter(filed) == Counter(stored)
    order = [row[4] for row in ask("SELECT * FROM people")]
    assert [row[4] for row in stored] != order[: len(stored)]
    assert smc("apply", "--recoding", "r.json", "--data", source, "--table", "people", "--into", "later") == 0
    assert Counter(ask("SELECT zip, age FROM later")) == Counter((row[1], row[2]) for row in filed)


def test_nothing_is_overwritten_and_nothing_is_left_half_made(place: tuple[str, Ask], capsys: Any) -> None:
    source, ask = place
    plan(source, "mondrian")
    before = ask("SELECT * FROM people")
    assert smc("anonymise", "--plan", "publish.toml", "--into", "people") == 2
    error = capsys.readouterr().err
    assert "already exists" in error
    assert error.count("\n") == 1
    assert ask("SELECT * FROM people") == before
    with ExitStack() as opened:
        settings = load(Path("publish.toml"))
        rows, cells = cells_of(settings, opened)
        partition = anonymised(cells, settings, settings.check()).partition
        counts = np.append(cells.counts[:-1], cells.counts[-1] + 1)
        fewer = replace(cells, counts=counts), replace(partition, counts=counts)
        with pytest.raises(InputError, match="the rows changed while they were published"):
            store(rows, "published", ["zip"], *fewer, {})
    with pytest.raises(Exception, match="published"):
        ask("SELECT * FROM published")


def test_a_file_has_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("zip,age,Job title,visits,name\n" + "1,2,b,3,x\n" * 5 + "1,2,c,3,y\n" * 5)
    plan("people.csv", "flash")
    Path("publish.toml").write_text(Path("publish.toml").read_text().replace('table = "people"', ""))
    assert smc("anonymise", "--plan", "publish.toml", "--into", "published") == 2
    assert "a table is made in a database, and this is a file: write a file instead" in capsys.readouterr().err
    for arguments in ([], ["--out", "x.csv", "--into", "x"]):
        assert smc("anonymise", "--plan", "publish.toml", *arguments) == 2
        assert "give either --out, a file, or --into" in capsys.readouterr().err


def test_what_does_not_fit_in_memory_goes_to_disk() -> None:
    engine = Scratch("x", "20MB", 1)
    engine.backend.raw_sql("CREATE TEMPORARY TABLE t AS SELECT random() AS a, random() AS b FROM range(1500000)")
    assert engine.backend.raw_sql("SELECT count(*) FROM t WHERE a >= 0").fetchone() == (1500000,)
    engine.close()

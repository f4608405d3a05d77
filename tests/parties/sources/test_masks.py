"""Masks where the rows live: the same on every engine, and views that the owner's own database makes of them."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import ibis.expr.datatypes as dt
import pytest
import sqlglot.expressions as exp
from hypothesis import given
from hypothesis import strategies as st

from parties import cli
from parties.alone.publish.masks import MaskPlan, masked
from parties.sources.databases import Scratch
from parties.sources.opened import RowQuery
from tests.support.postgres import Server

LETTERS = string.ascii_letters + string.digits + string.punctuation + " čß世"
CREATE = """
CREATE TABLE cards (
    card TEXT, mail TEXT, born DATE, balance DOUBLE PRECISION, active BOOLEAN, points INTEGER, pin TEXT, grade INTEGER,
    "odd ""name" TEXT, hidden TEXT
);
INSERT INTO cards VALUES
    ('4000-1234-5678-9815', 'ann@example.org', DATE '1979-01-21', 12.5, TRUE, 7, '1234', 3, 'Müller', 'h1'),
    ('815', 'b', DATE '1980-02-03', -1, FALSE, 8, '5678', 4, 'x', 'h2'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""
COLUMNS = """
[columns.card]
role = "identifier"
mask = { kind = "custom", padding = "xxxx-xxxx-xxxx-x", last = 3 }
unmask = ["cashier", "auditor"]
[columns.mail]
role = "identifier"
mask = "email"
unmask = ["auditor"]
[columns.born]
role = "quasi-identifier"
mask = "default"
[columns.balance]
role = "sensitive"
mask = "default"
[columns.active]
role = "other"
mask = "default"
[columns.points]
role = "other"
[columns.pin]
role = "identifier"
mask = { kind = "random", characters = "0123456789", length = 6 }
[columns.grade]
role = "other"
mask = { kind = "random", low = -1, high = 4 }
[columns.'odd "name']
role = "other"
mask = { kind = "custom", first = 1, padding = "'", last = 1 }
[columns.hidden]
role = "identifier"
"""
MASKED = [
    ("xxxx-xxxx-xxxx-x815", "axxx@xxxx.xxx", date(1900, 1, 1), 0, False, 7, "M'r"),
    ("xxxx-xxxx-xxxx-x", "bxxx@xxxx.xxx", date(1900, 1, 1), 0, False, 8, "'"),
    (None, None, None, None, None, None, None),
]


def smc(*arguments: str) -> int:
    return cli.run(["publish", *arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("cards.duckdb") as connection:
        connection.execute(CREATE)
    plan("cards.duckdb")
    return tmp_path


def plan(source: str, table: str = "cards") -> None:
    Path("publish.toml").write_text(f'source = "{source}"\ntable = "{table}"\n{COLUMNS}')


def statement(capsys: Any, *more: str) -> str:
    capsys.readouterr()
    assert smc("view", "--plan", "publish.toml", *more) == 0
    return str(capsys.readouterr().out)


def check(rows: list[tuple[Any, ...]]) -> None:
    """All but the random columns are as expected; those are within their bounds, and missing where they were."""
    rows = sorted(rows, key=lambda row: (row[5] is None, row[5]))
    assert [(*row[:6], row[8]) for row in rows] == MASKED
    for row in rows[:2]:
        assert re.fullmatch("[0-9]{6}", row[6])
        assert -1 <= row[7] <= 4
    assert rows[2][6] is rows[2][7] is None


@pytest.mark.usefixtures("folder")
def test_a_view_of_duckdb(capsys: Any) -> None:
    made = statement(capsys, "--name", "masked")
    cashiers = statement(capsys, "--name", "for cashiers", "--role", "cashier")
    with duckdb.connect("cards.duckdb") as connection:
        connection.execute(made)
        check(connection.execute("SELECT * FROM masked").fetchall())
        # A condition sees the mask, and not what is behind it.
        assert connection.execute("SELECT count(*) FROM masked WHERE mail = 'ann@example.org'").fetchone() == (0,)
        connection.execute(cashiers)
        seen = connection.execute('SELECT card, mail FROM "for cashiers" ORDER BY points').fetchall()
    assert seen == [("4000-1234-5678-9815", "axxx@xxxx.xxx"), ("815", "bxxx@xxxx.xxx"), (None, None)]


def left_out(source: str) -> list[str]:
    """A party.toml that leaves out all rows but the first; the flags that name it."""
    text = f'[tables.cards]\nschema = "schema.toml"\nsource = "{source}"\ntable = "cards"\n'
    Path("party.toml").write_text(text + 'consent = { column = "hidden", yes = ["h1"] }\nwhere = "points < 9"\n')
    return ["--config", "party.toml"]


@pytest.mark.usefixtures("folder")
def test_a_view_shows_no_row_that_is_left_out(capsys: Any) -> None:
    made = statement(capsys, "--name", "masked", "--role", "cashier", *left_out("cards.duckdb"))
    with duckdb.connect("cards.duckdb") as connection:
        connection.execute(made)
        assert connection.execute("SELECT card FROM masked").fetchall() == [("4000-1234-5678-9815",)]


@pytest.mark.usefixtures("folder")
def test_a_view_names_nobody_who_has_objected(capsys: Any) -> None:
    """Whoever may read the database's catalogue reads the definition of a view."""
    flags = left_out("cards.duckdb")
    with Path("party.toml").open("a") as file:
        file.write('objections = { column = "mail", file = "objections.txt" }\n')
    Path("objections.txt").write_text("ann@example.org\n")
    assert smc("view", "--plan", "publish.toml", "--name", "masked", *flags) == 2
    assert "would name the people who have objected" in capsys.readouterr().err


def test_a_view_of_postgresql(postgres: Server, folder: Path, capsys: Any) -> None:
    import psycopg

    with postgres.connect() as connection:
        connection.execute("CREATE SCHEMA shop")
        connection.execute("SET search_path TO shop")
        connection.execute(CREATE)
        connection.execute("CREATE ROLE cashier LOGIN PASSWORD 'secret'")
        connection.execute("GRANT USAGE ON SCHEMA shop TO cashier")
        plan(postgres.url(), "shop.cards")
        connection.execute(statement(capsys, "--name", "masked"))
        check(connection.execute("SELECT * FROM masked").fetchall())
        connection.execute(statement(capsys, "--name", "for cashiers", "--role", "cashier"))
        with psycopg.connect(postgres.url("cashier", "secret")) as cashier:
            rows = cashier.execute('SELECT card, mail FROM shop."for cashiers"').fetchall()
            assert sorted(rows, key=str)[0] == ("4000-1234-5678-9815", "axxx@xxxx.xxx")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                cashier.execute("SELECT mail FROM shop.cards")
        assert smc("mask", "--plan", "publish.toml", "--out", "masked.parquet") == 0
        check(duckdb.sql("SELECT * FROM 'masked.parquet'").fetchall())
        made = statement(capsys, "--name", "agreed", "--role", "cashier", *left_out(postgres.url()))
        assert "security_barrier" in made
        connection.execute(made)
        assert connection.execute("SELECT card FROM agreed").fetchall() == [("4000-1234-5678-9815",)]


@pytest.mark.usefixtures("folder")
def test_masked_rows_in_a_file() -> None:
    assert smc("mask", "--plan", "publish.toml", "--out", "masked.parquet") == 0
    check(duckdb.sql("SELECT * FROM 'masked.parquet'").fetchall())
    assert "hidden" not in duckdb.sql("SELECT * FROM 'masked.parquet'").columns


@pytest.mark.campaign
def test_spark_masks_alike(spark: Any, folder: Path) -> None:
    duckdb.connect("cards.duckdb", read_only=True).execute("COPY cards TO 'cards.parquet'")
    plan("spark://local", str(folder / "cards.parquet"))
    assert smc("mask", "--plan", "publish.toml", "--out", "masked.parquet") == 0
    check(duckdb.sql("SELECT * FROM 'masked.parquet'").fetchall())


@pytest.fixture(scope="module")
def engine() -> Iterator[Scratch]:
    made = Scratch("test", "200MB", 1)
    yield made
    made.close()


@given(st.text(alphabet=LETTERS, max_size=12), st.integers(0, 4), st.integers(0, 4))
def test_no_more_is_left_than_was_said(engine: Scratch, text: str, first: int, last: int) -> None:
    mask = MaskPlan(kind="custom", first=first, padding="#", last=last)
    query = exp.Select().select(exp.Literal.string(text).as_("x"))
    rows = RowQuery(engine, query, {"x": dt.string})
    value = text.strip()
    expected = value[:first] + "#" + value[len(value) - last :] if len(value) > first + last else "#"
    found = engine.text(exp.Select().select(masked(rows, "x", mask)).from_(query.subquery("t")))
    assert found == (None if text == "" else expected)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ('"emai"', "must be 'default', 'email', 'random' or 'custom', not 'emai' (did you mean 'email'?)"),
        ('{ kind = "custom" }', "the mask custom needs padding"),
        ('{ kind = "email", last = 2 }', "the mask email has no last"),
        ('{ kind = "random", low = 1 }', "a random mask needs characters and length, or low and high"),
        ('{ kind = "random", low = 2, high = 2 }', "low must be below high, and 2 is not below 2"),
        ('"email"\npseudonym = "randomised"', "a column has a mask or a pseudonym, not both"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_masks_that_are_refused(mask: str, expected: str, capsys: Any) -> None:
    text = f'source = "cards.duckdb"\n[columns.mail]\nrole = "identifier"\nmask = {mask}\n'
    Path("publish.toml").write_text(text)
    assert smc("mask", "--plan", "publish.toml", "--out", "masked.csv") == 2
    assert expected in one_line(capsys)


@pytest.mark.usefixtures("folder")
def test_views_that_are_refused(capsys: Any) -> None:
    def refused(expected: str, *arguments: str) -> None:
        assert smc(*arguments) == 2
        assert expected in one_line(capsys)

    view = ["view", "--plan", "publish.toml", "--name", "v"]
    refused("nothing for a role 'cashir' (did you mean 'cashier'?)", *view, "--role", "cashir")
    for path in ("cards.duckdb", "publish.toml"):
        refused(f"--out: {path} is an input", *view, "--out", path)
        refused(f"--out: {path} is an input", "mask", "--plan", "publish.toml", "--out", path)
    Path("cards.csv").write_text("mail\na@b\n")
    duckdb.sql("COPY (SELECT 'a@b' AS mail) TO 'cards.parquet'")
    for path in ("cards.csv", "cards.parquet"):
        Path("publish.toml").write_text(f'source = "{path}"\n[columns.mail]\nrole = "identifier"\nmask = "email"\n')
        refused("a file cannot have a view", *view)
    Path("publish.toml").write_text(
        'source = "cards.csv"\nmodels = [{ model = "k-anonymity", k = 2 }]\n'
        '[columns.mail]\nrole = "quasi-identifier"\nmask = "email"\n'
    )
    refused("a column that models use cannot be masked", "anonymise", "--plan", "publish.toml", "--out", "out.csv")


def one_line(capsys: Any) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return str(lines[0])

"""smc publish pseudonyms and its keys: joins survive, only the key restores, subjects are forgotten, all on record."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from parties import cli
from smc.errors import InputError

PLAN = """
source = "visits.csv"
{more}
[columns]
patient = {{ role = "identifier", pseudonym = "deterministic" }}
mail = {{ role = "identifier", pseudonym = "randomised" }}
name = {{ role = "identifier" }}
region = {{ role = "quasi-identifier" }}
visit = {{ role = "other" }}
"""
# Of the values that become pseudonyms each has a letter that no pseudonym has, so none stands in one by chance.
VISITS = [
    {"patient": p, "mail": m, "name": f"name of {p}", "region": r, "visit": str(i), "unnamed": "u"}
    for i, (p, m, r) in enumerate(
        [
            ("ann lee", "ann@x.org", "North"),
            ("bob ray", "", "South"),
            ("ann lee", "ann@x.org", "North"),
            ("čert", "c@y.org", "?"),
        ]
    )
]
KEYS = ["--master", "master.key", "--keys", "keys.db"]
FORCED = ("--force", "--out")


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan()
    store("visits.csv", VISITS)
    assert smc("keys", *KEYS) == 0


def store(path: str, rows: list[dict[str, str]]) -> None:
    with Path(path).open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def plan(more: str = "") -> None:
    Path("publish.toml").write_text(PLAN.format(more=more))


def smc(*arguments: str) -> int:
    return cli.run(["publish", *arguments])


def published(out: str = "out.csv") -> list[dict[str, str]]:
    assert smc("pseudonyms", "--plan", "publish.toml", *KEYS, *FORCED, out) == 0
    return stored(out)


def stored(path: str) -> list[dict[str, str]]:
    if path.endswith(".parquet"):
        return pyarrow.parquet.read_table(path).to_pylist()
    with Path(path).open(newline="") as stream:
        return sorted(csv.DictReader(stream), key=lambda row: row.get("visit", ""))


def restore(*more: str, data: str = "out.csv", out: str = "restored.csv") -> int:
    columns = ["--column", "patient", "--column", "mail"]
    return smc("restore", "--data", data, *KEYS, *columns, "--purpose", "recall", *FORCED, out, *more)


def records(capsys: Any) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert smc("records", *KEYS, "--json") == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def complaint(capsys: Any) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return str(lines[0])


def test_there_and_back(capsys: Any) -> None:
    rows = published()
    assert list(rows[0]) == ["patient", "mail", "region", "visit"]
    assert [(row["region"], row["visit"]) for row in rows] == [(row["region"], row["visit"]) for row in VISITS]
    assert rows[0]["patient"] == rows[2]["patient"]  # joins and groups survive
    assert len({row["patient"] for row in rows}) == 3
    assert rows[0]["mail"] != rows[2]["mail"]
    assert rows[1]["mail"] == ""
    text = Path("out.csv").read_text()
    assert not any(value in text for row in VISITS for value in (row["patient"], "@", row["name"]))
    assert {row["patient"] for row in published("again.csv")} == {row["patient"] for row in rows}
    assert restore() == 0
    names = ("patient", "mail", "region", "visit")
    assert stored("restored.csv") == [{name: row[name] for name in names} for row in VISITS]
    last = records(capsys)[-1]
    assert last["what"] == "pseudonyms restored"
    assert last["fields"]["purpose"] == "recall"
    assert last["fields"]["columns"] == {"patient": "patient", "mail": "mail"}
    assert last["fields"]["rows"] == 4


def test_parquet() -> None:
    found = {row["visit"]: row for row in published("out.parquet")}
    assert found["0"]["patient"] == found["2"]["patient"]
    assert found["1"]["mail"] is None
    assert restore(data="out.parquet", out="restored.parquet") == 0
    assert {row["visit"]: row["patient"] for row in stored("restored.parquet")}["3"] == "čert"


@pytest.mark.parametrize("source", ["visits.parquet", "visits.duckdb"])
def test_rows_of_other_sources_get_the_same_pseudonyms(source: str) -> None:
    expected = {row["visit"]: row["patient"] for row in published()}
    rows = pyarrow.Table.from_pylist(VISITS)
    if source.endswith(".parquet"):
        pyarrow.parquet.write_table(rows, source)
    else:
        with duckdb.connect(source) as connection:
            connection.execute("CREATE TABLE visits AS SELECT * FROM rows")
        source += '"\ntable = "visits'
    text = Path("publish.toml").read_text()
    Path("publish.toml").write_text(text.replace("visits.csv", source))
    assert {row["visit"]: row["patient"] for row in published("other.csv")} == expected


def test_columns_of_one_key_join(capsys: Any) -> None:
    store("doctors.csv", [{"seen": "ann lee"}, {"seen": "dan"}])
    Path("doctors.toml").write_text(
        'source = "doctors.csv"\n[columns]\n'
        'seen = { role = "identifier", pseudonym = "deterministic", key = "patient" }'
    )
    assert smc("pseudonyms", "--plan", "doctors.toml", *KEYS, "--out", "doctors-out.csv") == 0
    joined = {row["seen"] for row in stored("doctors-out.csv")} & {row["patient"] for row in published()}
    assert len(joined) == 1
    arguments = ["restore", "--data", "doctors-out.csv", *KEYS, "--purpose", "x", *FORCED, "back.csv", "--column"]
    assert smc(*arguments, "seen=patient") == 0
    assert {row["seen"] for row in stored("back.csv")} == {"ann lee", "dan"}
    capsys.readouterr()
    assert smc(*arguments, "seen") == 2
    assert "there is no key 'seen'; there are 'mail', 'patient'" in complaint(capsys)
    Path("doctors.toml").write_text(Path("doctors.toml").read_text().replace("deterministic", "randomised"))
    assert smc("pseudonyms", "--plan", "doctors.toml", *KEYS, *FORCED, "doctors-out.csv") == 2
    assert "the key 'patient' is for deterministic pseudonyms, not randomised ones" in complaint(capsys)


def test_few_values_are_named(capsys: Any) -> None:
    rows = [{"region": "North" if i % 3 else "South", "person": f"p{i}"} for i in range(30)]
    store("few.csv", rows)
    column = '{{ role = "identifier", pseudonym = "{}" }}'.format
    text = f'source = "few.csv"\n[columns]\nperson = {column("deterministic")}\nregion = '
    Path("few.toml").write_text(text + column("deterministic"))
    capsys.readouterr()
    assert smc("pseudonyms", "--plan", "few.toml", *KEYS, *FORCED, "few-out.csv") == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning")]
    assert len(warnings) == 1
    assert "region: only 2 values in 30 rows, the most frequent in 67% of them" in warnings[0]
    Path("few.toml").write_text(text + column("randomised").replace(" }", ', key = "other" }'))
    assert smc("pseudonyms", "--plan", "few.toml", *KEYS, *FORCED, "few-out.csv") == 0
    assert "warning" not in capsys.readouterr().err


def test_rotation(capsys: Any) -> None:
    old = published("old.csv")
    assert smc("rotate", *KEYS, "--column", "patient", "--new-master", "new.key") == 0
    assert stat.S_IMODE(Path("new.key").stat().st_mode) == 0o600
    capsys.readouterr()
    assert restore(data="old.csv") == 2
    assert "encrypted with another master key" in complaint(capsys)
    os.replace("new.key", "master.key")
    new = published("new.csv")
    assert not {row["patient"] for row in old} & {row["patient"] for row in new}
    for data in ("old.csv", "new.csv"):  # old and new pseudonyms in one table, too
        assert restore(data=data) == 0
        assert [row["patient"] for row in stored("restored.csv")] == ["ann lee", "bob ray", "ann lee", "čert"]
    whats = [record["what"] for record in records(capsys)]
    assert whats == ["keys made", "column key rotated", "master key rotated", *2 * ["pseudonyms restored"]]


def test_a_forgotten_subject(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plan('subject = "name"')
    rows = published()
    assert rows[0]["patient"] == rows[2]["patient"]
    assert restore() == 0
    assert [row["patient"] for row in stored("restored.csv")] == ["ann lee", "bob ray", "ann lee", "čert"]
    content = Path("keys.db").read_bytes()
    with closing(sqlite3.connect("keys.db")) as connection:
        all_keys = [key for (key,) in connection.execute("SELECT wrapped FROM subjects")]
    assert all(key in content for key in all_keys)
    monkeypatch.setattr("sys.stdin", io.StringIO("name of ann lee\n"))
    assert smc("forget", *KEYS, "--subject", "-") == 0
    with closing(sqlite3.connect("keys.db")) as connection:
        left = [key for (key,) in connection.execute("SELECT wrapped FROM subjects")]
    assert len(left) == 2
    content = Path("keys.db").read_bytes()
    assert [key in content for key in all_keys] == [key in left for key in all_keys]  # overwritten in the file, too
    capsys.readouterr()
    assert restore() == 0
    assert "4 cells of forgotten subjects are empty" in capsys.readouterr().err
    assert [row["patient"] for row in stored("restored.csv")] == ["", "bob ray", "", "čert"]
    erased = [record for record in records(capsys) if record["what"] == "subject forgotten"]
    assert [record["fields"] for record in erased] == [{}]
    assert smc("forget", *KEYS, "--subject", "name of ann lee") == 2
    assert "has no key of this person" in complaint(capsys)
    again = published("again.csv")  # of one who comes again, nothing can be linked
    assert again[0]["patient"] not in {row["patient"] for row in rows}
    assert again[1]["patient"] == rows[1]["patient"]


def test_subjects_share_no_pseudonym() -> None:
    plan('subject = "visit"')
    assert len({row["patient"] for row in published()}) == 4


def test_rows_of_nobody(capsys: Any) -> None:
    plan('subject = "mail"')
    capsys.readouterr()
    assert smc("pseudonyms", "--plan", "publish.toml", *KEYS, "--out", "out.csv") == 2
    assert "a row has no person in the subject column 'mail'" in complaint(capsys)
    assert not Path("out.csv").exists()
    with closing(sqlite3.connect("keys.db")) as connection:
        assert connection.execute("SELECT count(*) FROM subjects").fetchone() == (0,)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("UPDATE records SET fields = replace(fields, 'recall', 'x') WHERE number = 2", "record 2 was changed"),
        ("UPDATE records SET mac = 'é' WHERE number = 2", "record 2 was changed or removed"),
        ("DELETE FROM records WHERE number = 2", "record 2 was changed or removed"),
        ("DELETE FROM records WHERE number = 3", "records at the end were removed or added"),
        ("DELETE FROM records", "records at the end were removed or added"),
        ("DELETE FROM head", "records at the end were removed or added"),
    ],
)
def test_changed_records_show(change: str, expected: str, capsys: Any) -> None:
    published()
    assert restore() == restore() == 0
    assert len(records(capsys)) == 3
    with closing(sqlite3.connect("keys.db")) as connection, connection:
        connection.execute(change)
    assert smc("records", *KEYS) == 2
    assert expected in complaint(capsys)


def test_no_line_to_read(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, io.StringIO("\n")):
        monkeypatch.setattr("sys.stdin", stream)
        assert smc("forget", *KEYS, "--subject", "-") == 2
        assert "standard input is empty or closed; write the subject to it" in complaint(capsys)


def test_keys_that_cannot_be_made_leave_no_master(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, master: bytes) -> None:
        raise InputError(f"{path}: no space")

    monkeypatch.setattr("parties.alone.publish.keys.keyring.make_keyring", full)
    assert smc("keys", "--master", "new.key", "--keys", "new.db") == 2
    assert not Path("new.key").exists()
    assert smc("keys", "--master", "master.key", "--keys", "new.db") == 2
    assert Path("master.key").exists()


def test_keys_of_a_damaged_file(capsys: Any) -> None:
    with closing(sqlite3.connect("keys.db")) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')")
    with closing(sqlite3.connect("keys.db")) as connection, connection:
        connection.execute("UPDATE own SET wrapped = NULL")
    assert smc("records", *KEYS) == 2
    assert "not a file that smc publish keys wrote, or damaged since" in complaint(capsys)


@pytest.mark.parametrize("path", ["master.key", "keys.db"])
def test_keys_that_others_read(path: str, capsys: Any) -> None:
    Path(path).chmod(0o640)
    capsys.readouterr()
    assert smc("pseudonyms", "--plan", "publish.toml", *KEYS, "--out", "out.csv") == 2
    assert complaint(capsys) == f"smc: {path} can be read by other users; run: chmod 600 {path}"
    assert not Path("out.csv").exists()


def test_what_is_refused(capsys: Any) -> None:
    published()
    capsys.readouterr()

    def refused(expected: str, *arguments: str) -> None:
        before = {path.name: path.read_bytes() for path in Path().iterdir()}
        assert smc(*arguments) == 2
        assert expected in complaint(capsys)
        assert {path.name: path.read_bytes() for path in Path().iterdir()} == before

    plain = ["pseudonyms", "--plan", "publish.toml", *KEYS, "--out"]
    for path in ("visits.csv", "publish.toml", "keys.db", "master.key"):
        refused(f"--out: {path} is an input of this command and would be overwritten", *plain, path)
    refused("keys.db exists already", "keys", *KEYS)
    refused("keys.db exists already", "keys", "--master", "other.key", "--keys", "keys.db")
    refused("cannot write nowhere/keys.db", "keys", "--master", "other.key", "--keys", "nowhere/keys.db")
    refused("has no key of this person", "forget", *KEYS, "--subject", "ann lee")
    refused("give --column, --new-master, or both", "rotate", *KEYS)
    refused("there is no key 'patien' (did you mean 'patient'?)", "rotate", *KEYS, "--column", "patien")
    refused("master.key exists already", "rotate", *KEYS, "--new-master", "master.key")
    refused("not a master key", "records", "--master", "keys.db", "--keys", "keys.db")
    refused("not a file that smc publish keys wrote", "records", "--master", "master.key", "--keys", "master.key")
    refused("cannot read nothing.db", "records", "--master", "master.key", "--keys", "nothing.db")
    back = ["restore", *KEYS, "--out", "back.csv", "--column", "patient"]
    refused("'ann lee' is not a pseudonym of this key", *back, "--purpose", "x", "--data", "visits.csv")
    refused("--purpose: is empty", *back, "--purpose", " ", "--data", "out.csv")
    refused("--out: out.csv is an input", *back, "--purpose", "x", "--data", "out.csv", "--out", "out.csv")
    with closing(sqlite3.connect("keys.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("parties.alone.publish.keys.key_file.WAIT", 0.01)
            assert smc("records", *KEYS) == 2
    assert "keys.db cannot be used: another command uses it" in complaint(capsys)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (
            'role = "sensitive", pseudonym = "deterministic"',
            "only an identifier can have a pseudonym; the role of this column is sensitive",
        ),
        ('role = "identifier", key = "x"', "a key needs a pseudonym"),
        ('role = "identifier", pseudonym = "deterministc"', "did you mean 'deterministic'?"),
        ('role = "identifier"', "no column becomes a pseudonym"),
    ],
)
def test_plans_that_are_refused(column: str, expected: str, capsys: Any) -> None:
    Path("publish.toml").write_text(f'source = "visits.csv"\n[columns]\npatient = {{ {column} }}')
    capsys.readouterr()
    assert smc("pseudonyms", "--plan", "publish.toml", *KEYS, "--out", "out.csv") == 2
    assert expected in complaint(capsys)


def test_a_plan_that_leaves_no_column_is_refused(capsys: Any) -> None:
    Path("publish.toml").write_text('source = "visits.csv"\n[columns]\npatient = { role = "identifier" }')
    capsys.readouterr()
    assert smc("mask", "--plan", "publish.toml", "--out", "out.csv") == 2
    assert "the plan drops every column; give one a pseudonym" in complaint(capsys)
    assert not Path("out.csv").exists()

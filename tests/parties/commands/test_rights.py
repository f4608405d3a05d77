"""What people ask of a table, and breaches of it: answered, and on record without a name of theirs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.cli import run
from parties.commands import rights
from parties.commands.log_writing import Append
from parties.link.identity import create
from parties.node import settings
from parties.node.governance import breaches
from parties.node.records import audit, database
from parties.operator.interface import AuditEntry
from parties.sources import open_table
from parties.tables import schema

ROWS = 'who,age,outcome,note\n7,30,good,likes tea\n8,41,bad,\n7,31,bad,"a ""quote"""\nö\'x,50,good,-\n'


@pytest.fixture
def party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A party with a table, a list of objections and no node yet."""
    monkeypatch.chdir(tmp_path)
    create("anna", ["localhost"], tmp_path / "keys")
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "objections.txt").write_text("# by letter\n9")
    (tmp_path / "schema.toml").write_text('target = "outcome"\n[attributes]\noutcome = ["good", "bad"]\n')
    file = tmp_path / "party.toml"
    file.write_text(
        """[link]
        identity = "keys/anna.key"
        certificate = "keys/anna.crt"
        listen = "127.0.0.1:0"
        [controller]
        name = "Clinic *A*"
        contact = "privacy@clinic-a.example"
        [tables.patients]
        source = "rows.csv"
        schema = "schema.toml"
        where = "CAST(age AS INT) > 35"
        objections = { column = "who", file = "objections.txt" }
        [tables.patients.rights]
        contact = "privacy@clinic-a.example"
        subjects = ["patients since 2020"]
        """
    )
    return file


def entries(kind: str) -> list[AuditEntry]:
    with database.reading(Path("state") / database.FILE_NAME) as connection:
        assert all(word not in str(row) for row in database.rows(connection) for word in ("ö'x", "tea"))
        return [audit.entry(row) for row in database.rows_of(connection, kind)]


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(list(words)) == code, capsys.readouterr().err
    streams = capsys.readouterr()
    return streams.err if code else streams.out


def objected(file: Path) -> int:
    """How many rows of the table are left out because of the list."""
    table = settings.load(file).tables["patients"]
    with open_table(table, schema.load(table.schema_file), "outcome", ["outcome"]) as source:
        return source.left_out().objections


def test_a_person_is_given_all_rows_and_the_log_no_name(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also rows that no job counts, and columns that no schema has; a file that only its owner reads."""
    said(capsys, "rights", "access", "--table", "patients", "--person", "7", "--case", "2026-1", "--out", "a.json")
    answer = json.loads(Path("a.json").read_text())
    reference = [row for row in csv.reader(ROWS.splitlines()[1:]) if row[0] == "7"]
    assert [list(row) for row in answer["rows"]] == reference
    assert answer["columns"] == ROWS.splitlines()[0].split(",")
    assert Path("a.json").stat().st_mode & 0o077 == 0
    said(capsys, "rights", "access", "--table", "patients", "--person", "ö'x", "--out", "a.csv", "--format", "csv")
    assert Path("a.csv").read_text() == "who,age,outcome,note\nö'x,50,good,-\n"
    fields = [(entry.fields["what"], entry.fields["table"], entry.fields["case"]) for entry in entries("rights")]
    assert fields == [("access", "patients", "2026-1"), ("access", "patients", "")]


def test_an_objection_leaves_rows_out_from_then_on(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["rights", "object", "--table", "patients", "--person", "ö'x"]
    said(capsys, *command, "--case", "2026-2")
    assert Path("objections.txt").read_text() == "# by letter\n9\nö'x\n"
    assert objected(party) == 1
    assert "already on" in said(capsys, *command, code=2)
    said(capsys, *command, "--withdraw")
    assert Path("objections.txt").read_text() == "# by letter\n9\n"
    assert objected(party) == 0
    assert "is not on" in said(capsys, *command, "--withdraw", code=2)
    assert [entry.fields["what"] for entry in entries("rights")] == ["objection", "objection withdrawn"]


def test_an_objection_says_how_many_rows_are_the_persons_and_is_kept_all_the_same(
    party: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(person: str, rows: str = "rows.csv") -> tuple[Any, str]:
        party.write_text(party.read_text().replace("rows.csv", rows))
        said(capsys, *command, person)
        assert run([*command, person, "--withdraw", "--json"]) == 0
        return json.loads(capsys.readouterr().out)["rows"], Path("objections.txt").read_text()

    command = ["rights", "object", "--table", "patients", "--person"]
    assert [told(person)[0] for person in ("7", "8", "70")] == [2, 1, 0]  # also rows that `where` leaves out
    assert run([*command, "70"]) == 0
    assert (
        "no row of the table is of this person now; check the spelling in its column 'who'" in capsys.readouterr().err
    )
    assert told("5", "gone.csv")[0] is None
    assert Path("objections.txt").read_text() == "# by letter\n9\n70\n"


def test_two_who_object_at_once_are_both_on_the_list(
    party: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second command goes through while the first one is about to write."""
    words, appending = ["rights", "object", "--table", "patients", "--person"], rights.appending

    @contextmanager
    def after_another(file: settings.NodeFile) -> Iterator[Append]:
        monkeypatch.setattr(rights, "appending", appending)
        said(capsys, *words, "8")
        with appending(file) as append:
            yield append

    monkeypatch.setattr(rights, "appending", after_another)
    said(capsys, *words, "7")
    assert Path("objections.txt").read_text() == "# by letter\n9\n8\n7\n"
    assert len(entries("rights")) == 2


def test_no_answer_takes_the_place_of_a_file(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where party.toml is not named."""
    Path("there.json").write_text("{}")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    for name in ("rows.csv", "party.toml", "objections.txt", "there.json"):
        text = said(
            capsys, "rights", "access", "--table", "patients", "--person", "7", "--out", name, "--format", "csv", code=2
        )
        assert name in text
    assert {path: path.read_bytes() for path in before} == before


def test_what_was_done_where_rows_live_is_noted(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "rights", "done", "rectification", "--table", "patients", "--case", "2026-3")
    (line,) = json.loads(said(capsys, "rights", "list", "--json"))
    assert {name: line[name] for name in ("what", "table", "case")} == {
        "what": "rectification",
        "table": "patients",
        "case": "2026-3",
    }
    assert "2026-3" in said(capsys, "rights", "list")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["object", "--table", "patient", "--person", "7"], "no table 'patient' (did you mean 'patients'?)"),
        (["object", "--table", "patients", "--person", "# 7"], "must be one line"),
        (["object", "--table", "patients", "--person", " "], "must be one line"),
        (["object", "--table", "patients", "--person", "\u200b"], "must be one line"),
        *[
            (["object", "--table", "patients", "--person", f"a{mark}b"], "must be one line")
            for mark in "\n\r\x1c\x85\u2028\u2029"
        ],
        (["access", "--table", "patients", "--person", "7", "--column", "whom", "--out", "x"], "no column 'whom'"),
        (["access", "--table", "patients", "--person", "7", "--out", "rows.csv"], "rows.csv"),
    ],
)
def test_wrong_input_is_a_line_and_nothing_is_written(
    party: Path, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    text = said(capsys, "rights", *words, "--config", str(party), code=2)
    assert complaint in text
    assert text.count("\n") == 1
    assert {path: path.read_bytes() for path in before} == before
    assert not Path("x").exists()


def test_a_breach_from_the_first_hour_to_its_end(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    since = (datetime.now(UTC) - timedelta(hours=70, minutes=30)).isoformat()
    words = ["found", "a laptop is lost", "--table", "patients", "--known", since]
    breach = json.loads(said(capsys, "breach", *words, "--json"))
    name, state = breach["breach"], breach["state"]
    assert state in ("2 hours left to tell the authority", "1 hours left to tell the authority")
    due = datetime.fromisoformat(breach["due"]) - datetime.fromisoformat(breach["known"])
    assert due == timedelta(days=3)
    said(capsys, "breach", "note", name[:4], "the disk was encrypted")
    said(capsys, "breach", "draft", name, "--out", "notice.md")
    notice = Path("notice.md").read_text()
    assert "Clinic \\*A\\*" in notice  # no markup of others
    for part in ("a laptop is lost", "patients since 2020", "the disk was encrypted", "TODO"):
        assert part in notice
    assert "party.toml" in said(capsys, "breach", "draft", name, "--out", "party.toml", code=2)
    assert "open, the authority was told" in said(capsys, "breach", "told", name, "authority", "by its form")
    assert "closed" in said(capsys, "breach", "close", name, "found again")
    assert "is closed" in said(capsys, "breach", "note", name, "more", code=2)
    assert [entry.fields["step"] for entry in entries("breach")] == ["found", "noted", "authority told", "closed"]
    assert name in said(capsys, "breach", "list")
    assert "there is no breach" in said(capsys, "breach", "note", "zz", "x", code=2)
    assert "in the future" in said(capsys, "breach", "found", "x", "--known", "2999-01-01", code=2)


@pytest.mark.parametrize(
    ("hours", "step", "state"),
    [
        (0, None, "72 hours left to tell the authority"),
        (71, None, "1 hours left to tell the authority"),
        (73, None, "LATE by 1 hours"),
        (100, "authority told", "open, the authority was told"),
        (100, "closed", "closed"),
    ],
)
def test_the_clock(hours: int, step: Any, state: str) -> None:
    known = datetime(2026, 3, 28, 12, tzinfo=UTC)  # summer time begins meanwhile: hours are hours
    breach = breaches.Breach("ab", known, [], [("", "found", "x"), *([("", step, "")] if step else [])])
    assert breach.state(known + timedelta(hours=hours)) == state

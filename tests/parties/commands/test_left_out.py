"""What a table of party.toml leaves out, opt-outs above all, no command publishes, blurs or compares."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from parties.cli import run
from parties.link import identity

ROWS = [("kept", "yes"), ("kept", "yes"), ("kept", " TRUE "), ("optout", "no"), ("optout", ""), ("young", "yes")] * 5
LEFT = "left out: 5 by `where`, 10 without consent"
PLAN = """
source = "own.csv"
[columns.name]
role = "quasi-identifier"
[columns.agreed]
role = "other"
[[models]]
model = "k-anonymity"
k = 2
"""
BLUR = '[columns]\nage = { noise = "none" }\nname = { noise = "none" }\n'


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    identity.create("own", [], tmp_path)
    with Path("own.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("name", "age", "agreed"))
        writer.writerows((name, 10 if name == "young" else 30, agreed) for name, agreed in ROWS)
    Path("schema.toml").write_text(
        'target = "name"\n[attributes]\nname = ["kept", "optout", "young"]\nage = ["10", "30"]\n'
    )
    return tmp_path


def party(table: str, more: str = "") -> None:
    link = '[link]\nidentity = "own.key"\ncertificate = "own.crt"\n'
    Path("party.toml").write_text(f'{link}[tables.people]\nschema = "schema.toml"\n{table}\n{more}')


CHOSEN = 'source = "own.csv"\nconsent = "agreed"\nwhere = "CAST(age AS INT) >= 18"\n'


def names(path: str) -> set[str]:
    with Path(path).open(newline="") as stream:
        return {row["name"] for row in csv.DictReader(stream)}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (PLAN, ["publish", "anonymise", "--force", "--plan", "plan.toml", "--out", "out.csv"]),
        (PLAN, ["publish", "mask", "--force", "--plan", "plan.toml", "--out", "out.csv"]),
        ("", ["publish", "table", "--force", "--data", "own.csv", "--by", "name", "--base", "5", "--out", "out.csv"]),
        (BLUR, ["blur", "--force", "--plan", "plan.toml", "--data", "own.csv", "--out", "out.csv"]),
    ],
)
def test_no_opt_out_is_published(plan: str, words: list[str], capsys: Any) -> None:
    Path("plan.toml").write_text(plan)
    party(CHOSEN)
    assert run([*words, "--config", "party.toml"]) == 0
    assert LEFT in capsys.readouterr().err
    assert names("out.csv") - {"Total"} == {"kept"}
    Path("party.toml").write_text(Path("party.toml").read_text().replace('"own.csv"', f'"{Path.cwd()}/./own.csv"'))
    assert run([*words, "--config", "party.toml"]) == 0
    assert names("out.csv") - {"Total"} == {"kept"}
    assert run(words) == 0
    assert "optout" in names("out.csv")


def test_a_comparison_and_a_score(capsys: Any) -> None:
    party(CHOSEN)
    Path("synthetic.csv").write_text("name,age\n" + "kept,30\n" * 20)
    words = ["compare", "--data", "own.csv", "--synthetic", "synthetic.csv", "--schema", "schema.toml", "--json"]
    assert run([*words, "--config", "party.toml"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["rows"]["own"] == 15
    assert LEFT in shown.err
    by_table = ["compare", "--synthetic", "synthetic.csv", "--config", "party.toml", "--json"]
    assert run(by_table) == 0
    again = capsys.readouterr()
    assert (again.out, LEFT in again.err) == (shown.out, True)
    party('query = "SELECT * FROM people WHERE agreed = \'yes\'"\n[tables.people.files]\npeople = "own.csv"\n')
    assert run(by_table) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["own"] == 15


def test_what_is_not_clear_is_refused(capsys: Any) -> None:
    words = ["publish", "table", "--data", "own.csv", "--by", "name", "--out", "out.csv", "--config", "party.toml"]
    words.append("--force")
    party('query = "SELECT * FROM people WHERE agreed = \'yes\'"\n[tables.people.files]\npeople = "own.csv"\n')
    assert run(words) == 2
    assert "tables.people reads it by a `query`" in capsys.readouterr().err
    other = '[tables.adults]\nschema = "schema.toml"\nsource = "own.csv"\nwhere = "age = \'30\'"\n'
    party(CHOSEN, other)
    assert run(words) == 2
    assert "tables.people, tables.adults leave out different rows" in capsys.readouterr().err
    assert not Path("out.csv").exists()


def test_a_joint_command_reads_no_opt_out(capsys: Any) -> None:
    """A file that a table leaves rows out of is no other file than the table's."""
    party(CHOSEN)
    identity.create("theirs", [], Path.cwd())
    link = ["--connect", "127.0.0.1:1", "--wait", "0.2", "--peer", "theirs.crt", "--config", "party.toml"]
    words = ["release", "count", "--exact", "--data", "./own.csv", "--schema", "schema.toml", *link]
    assert run(words) == 2
    assert "tables.people leaves out rows of own.csv; give --table people" in capsys.readouterr().err
    party('source = "own.csv"\n')
    assert run(words) == 3


def test_no_opt_out_gets_a_pseudonym() -> None:
    pseudonyms = '[columns.name]\nrole = "identifier"\npseudonym = "deterministic"\n[columns.age]\nrole = "other"\n'
    Path("plan.toml").write_text(f'source = "own.csv"\n{pseudonyms}')
    party(CHOSEN)
    secrets = ["--master", "master.key", "--keys", "keys.db"]
    assert run(["publish", "keys", *secrets]) == 0
    words = ["publish", "pseudonyms", "--force", "--plan", "plan.toml", *secrets, "--out", "out.csv"]
    assert run([*words, "--config", "party.toml"]) == 0
    assert len(names("out.csv")) == 1
    assert run(words) == 0
    assert len(names("out.csv")) == 3

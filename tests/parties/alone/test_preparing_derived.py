"""Derived columns in `smc prepare`: written, offered, and refused in one line."""

from __future__ import annotations

import random
import re
import shlex
import tomllib
from datetime import date, timedelta
from pathlib import Path

import pytest

from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import propose
from parties.base.settings import validated
from parties.cli import run
from parties.party_file import load
from parties.sources.cells import cells_at
from parties.sources.forms import FORMS
from parties.sources.opening import open_table
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import schema as schemas

ROWS = 300
STAY = ("--derive", "stay=days admitted left")


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """An export with two forms of days, words among them, and a patient in several rows."""
    draw = random.Random(5)
    lines = ["patient;born;admitted;left;weight kg;ward;outcome"]
    for row in range(ROWS):
        born = date(1935, 1, 1) + timedelta(draw.randrange(26_000))
        admitted = date(2024, 1, 1) + timedelta(draw.randrange(600))
        left = admitted + timedelta(row % 30)
        leaves = "still here" if row % 50 == 7 else f"{left:%m/%d/%Y}"
        weight = f"{draw.uniform(50, 99):.1f}".replace(".", ",")
        ward = f"{draw.choice('ABC')}{draw.randrange(3)}"
        outcome = draw.choice(["good", "bad"])
        lines.append(f"P{row // 3};{born:%d.%m.%Y};{admitted:%d.%m.%Y};{leaves};{weight};{ward};{outcome}")
    (tmp_path / "raw.csv").write_text("\n".join([*lines, "Total;;;;;;"]) + "\n", encoding="utf-8")
    return tmp_path / "raw.csv"


def prepare(raw: Path, *more: str, target: str = "outcome") -> int:
    return run(["prepare", str(raw), "--target", target, "--out", str(raw.parent / "out"), *more])


def test_a_duration_is_declared_with_the_spelling_of_its_columns(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(raw, *STAY, "--derive", "grams=scale 'weight kg' 1000", "--derive", "old=flag age 65",
                   "--derive", "age=age born admitted") == 0, capsys.readouterr().err  # fmt: skip
    out = raw.parent / "out"
    table = load(out / "party.toml").tables["raw"]
    agreed = schemas.load(out / "schema.toml")
    assert {"stay", "grams", "old", "age"} <= {*agreed.attributes}
    written = tomllib.loads((out / "party.toml").read_text(encoding="utf-8"))["tables"]["raw"]["derived"]
    assert written["stay"] == {
        "days": ["admitted", "left"],
        "columns": {"left": {"dates": "%m/%d/%Y", "missing": ["still here"]}},
    }
    assert written["grams"] == {"scale": ["weight kg", 1000]}
    with open_table(table, agreed, "outcome") as source:
        assert source.check() == ROWS
    stays = cells_at(table).values["stay"]
    assert stays == ["?" if row % 50 == 7 else str(row % 30) for row in range(ROWS)]


def test_the_documents_list_every_form_and_their_example_runs(raw: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "tables-schema.md").read_text(encoding="utf-8")
    section = page.partition("## Derived columns")[2]
    assert {form for line in re.findall(r"(?m)^\| (`.*?) \|", section) for form in re.findall("`([a-z]+)`", line)} == {
        *FORMS
    }
    line = re.search(r"\$  smc (prepare visits.csv .*)", section)
    assert line is not None
    words = shlex.split(line[1])
    words[1], words[words.index("--out") + 1] = str(raw), str(raw.parent / "out")
    assert run(words) == 0
    table = load(raw.parent / "out" / "party.toml").tables["raw"]
    assert [*table.derived] == ["stay", "age"]
    declared = tomllib.loads(re.sub("(?m)^    ", "", section[section.index("    [tables") : section.index("| form")]))
    form = table.format.model_dump(exclude_unset=True)
    by_hand = {"source": str(raw), "schema": "s.toml", "format": form} | declared["tables"]["visits"]
    by_hand["derived"]["stay"]["columns"] = {"left": {"dates": "%m/%d/%Y", "missing": ["still here"]}}
    by_hand["derived"]["obese"] = {"flag": ["weight kg", 90]}
    cells = cells_at(validated(TableSettings, by_hand)).values
    assert set(cells["obese"]) == {"yes", "no"}
    assert cells["stay"] == cells_at(table).values["stay"]


def test_a_derived_column_can_be_the_target(raw: Path) -> None:
    assert prepare(raw, *STAY, "--derive", "long=flag stay 14", target="long") == 0
    assert schemas.load(raw.parent / "out" / "schema.toml").target == "long"


def test_the_look_offers_what_it_takes(raw: Path) -> None:
    proposal = propose(profile(PlaceSettings(source=str(raw)), "outcome"), "outcome")
    remarks = {column.name: "; ".join(column.remarks) for column in proposal.columns}
    offered = [found for text in remarks.values() for found in re.findall(r"--derive '[^']*'", text)]
    assert offered == ["--derive 'age=age born admitted'", "--derive 'admitted_to_left=days admitted left'"]
    assert "200 rows repeat a value of 'patient'" in remarks["patient"]
    assert prepare(raw, *(word for text in offered for word in shlex.split(text))) == 0
    known = schemas.load(raw.parent / "out" / "schema.toml").attributes
    assert {"age", "admitted_to_left"} <= {*known}
    again = propose(profile(load(raw.parent / "out" / "party.toml").tables["raw"], "outcome"), "outcome")
    assert not any("--derive" in remark for column in again.columns for remark in column.remarks)


def test_force_keeps_declarations_and_replaces_one(raw: Path) -> None:
    assert prepare(raw, *STAY) == 0
    config = raw.parent / "out" / "party.toml"
    again = ["prepare", "--config", str(config), "--target", "outcome", "--force", "--derive"]
    assert run([*again, "wing=first ward 1"]) == 0
    assert run([*again, "stay=months admitted left"]) == 0
    derived = load(config).tables["raw"].derived
    assert {name: column.form for name, column in derived.items()} == {"stay": "months", "wing": "first"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stay=days admited left", "derived.stay: there is no column 'admited' (did you mean 'admitted'?)"),
        ("stay=days ward left", "derived.stay: column 'ward' holds text, not dates"),
        ("Ward=first ward 1", "the table has a column 'ward' already"),
        ("a=flag b 1", "derived.a: there is no column 'b'"),
        ("a=flag a 1", "a reads a, in a circle"),
        ("stay", "write NAME=FORM COLUMN"),
        ("stay=day admitted left", "'day' is not a form (did you mean 'days'?)"),
        ("stay=days admitted", "days: takes day, day, not 1 values"),
    ],
)
def test_a_bad_declaration_is_one_line(raw: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(raw, "--derive", text) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert words in error
    assert not (raw.parent / "out" / "party.toml").exists()


def test_a_name_is_declared_once(raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepare(raw, *STAY, *STAY) == 2
    assert "'stay' is declared already" in capsys.readouterr().err


def test_a_measure_of_different_numbers_is_no_key(tmp_path: Path) -> None:
    draw = random.Random(4)
    incomes = draw.sample(range(8_000, 90_000), 400)
    lines = [f"{number},{i},{number},{'yn'[i % 2]}" for i, number in enumerate(incomes)]
    (tmp_path / "a.csv").write_text("income,row,case_id,out\n" + "\n".join(lines) + "\n")
    proposal = propose(profile(PlaceSettings(source=str(tmp_path / "a.csv")), "out"), "out")
    assert proposal.schema.keys == ("row", "case_id")
    assert "income" in proposal.schema.attributes
    assert any("nearly one value a row: if it identifies rows" in remark for remark in proposal.columns[0].remarks)


def test_one_word_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("hello\n")
    assert run(["prepare", str(tmp_path / "a.csv"), "--out", str(tmp_path / "out")]) == 2
    assert "the file is one line, 'hello', without rows" in capsys.readouterr().err


def test_a_line_with_the_separator_is_a_remark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\na;b\n" + "1;x\n" * 20)
    assert (
        "the first line, 'sep=;', names the separator: left out"
        in profile(PlaceSettings(source=str(tmp_path / "a.csv"))).remarks
    )

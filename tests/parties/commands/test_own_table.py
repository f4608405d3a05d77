"""The rows that a command reads: those of the file's table, unless something nearer says otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.refused import refused

DAYS = '[tables.days]\nsource = "days.csv"\nschema = "days.toml"\nmax_rows = 2\n'
NONE = DAYS.replace("days.", "none.")
ID3 = '[id3]\ndata = "{0}.csv"\nschema = "{0}.toml"\n'
MORE = '[tables.more]\nsource = "more.csv"\nschema = "more.toml"\n'
NODE = ", which only a node keeps; propose a job with smc submit"
BOUND = "days.csv: 2 rows, more than 1, the agreed bound (max_rows)"
READ = "--identity is missing"  # what is asked for once the rows were read

CASES = [
    (DAYS, "", READ),
    (DAYS.replace("2", "1"), "", BOUND),
    (DAYS + "[id3]\nmax_rows = 1\n", "", BOUND),
    (DAYS, "--max-rows 1", BOUND),
    (DAYS, "--schema more.toml", "days.csv, column 'town': there is no such column"),
    (
        NONE,
        "--data more.csv",
        "--schema is missing: give the flag, or your rows as [tables.NAME] in --config "
        "(with --data its schema is not read)",
    ),
    (NONE, "--data more.csv --schema more.toml", READ),
    (NONE + ID3.format("more"), "", READ),
    (DAYS + ID3.format("none"), "--table days", READ),
    (DAYS + MORE, "--table more", READ),
    (DAYS + MORE, "", "--config: has several tables, 'days', 'more'; choose one with --table"),
    (DAYS, "--table day", "--table: there is no table 'day' (did you mean 'days'?); there are 'days'"),
    ("", "--table days", "--table: there is no table 'days'; there is none"),
    (DAYS, "--table days --data more.csv", "--table: --data already names the rows; give one of them"),
    ("", "", "--data is missing: give the flag, or your rows as [tables.NAME] in --config"),
    (DAYS + 'columns.wind.column = "b"\n', "", "days.csv, column 'b' (attribute 'wind'): there is no such column"),
    (DAYS + 'consent = "agreed"\n', "", "days.csv: consent: there is no column 'agreed'"),
    (DAYS + "budget.epsilon = 1\n", "", "tables.days: has a budget" + NODE),
    (DAYS.replace("source", "sorce"), "", "party.toml: tables.days.sorce: unknown key (did you mean 'source'?)"),
]


@pytest.mark.parametrize(("file", "flags", "message"), CASES, ids=[f"{file} {flags}" for file, flags, _ in CASES])
def test_whose_rows_are_read(
    file: str,
    flags: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("party.toml").write_text(file)
    for name, column in (("days", "wind"), ("more", "town")):
        Path(f"{name}.csv").write_text(f"{column},play\na,yes\nb,no\n")
        Path(f"{name}.toml").write_text(f'target = "play"\n[attributes]\n{column} = ["a", "b"]\nplay = ["yes", "no"]\n')
    schema = [] if file or "--schema" in flags else ["--schema", "days.toml"]
    words = ["id3", "--plain", "--config", "party.toml", "--connect", "127.0.0.1:9", *schema, *flags.split()]
    told = refused(words, capsys)
    assert re.sub(rf"^smc: |{re.escape(str(tmp_path))}/", "", told).startswith(message), told

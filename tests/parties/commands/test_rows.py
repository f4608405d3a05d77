"""Rows that a command is given: what is wrong with where they are is said of the flag that said so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.refused import refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("publish plan --data _ --out plan.toml", "--data: must not be empty"),
        ("publish plan --data rows.csv --out plan.toml --table _", "--table: must not be empty"),
        ("publish table --data _ --by sex --out t.csv", "--data: must not be empty"),
        ("publish apply --recoding no.json --out late.csv --data _", "--data: must not be empty"),
        ("publish apply --recoding no.json --out late.csv --data rows.csv --public _", "--public: must not be empty"),
        ("blur --plan blur.toml --data _ --out out.csv", "--data: must not be empty"),
        ("blur attack --plan blur.toml --data rows.csv --truth _", "--truth: must not be empty"),
    ],
)
def test_an_empty_place(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("age,sex\n40,m\n")
    Path("blur.toml").write_text('[columns]\nage = { noise = "uniform", low = 0, high = 100, privacy = 0.5 }\n')
    assert refused(["" if word == "_" else word for word in words.split()], capsys) == f"smc: {message}\n"

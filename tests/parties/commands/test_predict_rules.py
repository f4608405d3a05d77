"""`smc predict --rules`: which rules speak of own rows, and hold there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parties import cli

RULES = {
    "sets": [],
    "rules": [
        {"if": ["town=a"], "then": ["ill=yes"]},
        {"if": ["town=b", "age=old"], "then": ["ill=no"]},
        {"if": ["ill=maybe"], "then": ["town=a"]},
    ],
}
ROWS = "town,age,ill\na,old,yes\na,young,no\nb,old,no\nb,young,no\n"


def asked(folder: Path, rules: object, *flags: str, rows: str = ROWS) -> int:
    (folder / "rules.json").write_text(json.dumps(rules))
    (folder / "rows.csv").write_text(rows)
    return cli.run(["predict", "--rules", str(folder / "rules.json"), "--data", str(folder / "rows.csv"), *flags])


def test_a_line_a_row_and_how_often_they_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, RULES) == 0
    shown = capsys.readouterr()
    assert shown.out == "1\n1\n2\n\n"
    assert "if town=b and age=old then ill=no" in shown.err
    assert asked(tmp_path, RULES, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fire"] == [[1], [1], [2], []]
    assert [(rule["rows"], rule["right"]) for rule in document["rules"]] == [(2, 1), (1, 1), (0, 0)]
    assert document["rules"][1]["if"] == ["town=b", "age=old"]
    assert asked(tmp_path, RULES, "--score") == 0
    assert "50.0%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rules", "flags", "rows", "message"),
    [
        ({"rules": []}, [], ROWS, "has no rules to apply"),
        ({"tree": {}}, [], ROWS, "this is a tree, not a file of rules: give a file that smc rules --out wrote"),
        ({"rules": [{"if": ["town"], "then": ["ill=no"]}]}, [], ROWS, "each must have 'if', texts column=value"),
        ({"rules": [3]}, [], ROWS, "each must have 'if'"),
        (RULES, [], "town,age\na,old\n", "the header lacks the column 'ill'"),
        (RULES, ["--model", "model.json"], ROWS, "give exactly one of --tree, --model and --rules"),
    ],
)
def test_what_cannot_be_applied_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rules: Any, flags: list[str], rows: str, message: str
) -> None:
    assert asked(tmp_path, rules, *flags, rows=rows) == 2
    assert message in capsys.readouterr().err

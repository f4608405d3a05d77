"""`smc predict` by a model of a target of numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties import cli

MODEL = {
    "target": "cost",
    "least": 0.0,
    "greatest": 100.0,
    "intercept": 10.0,
    "columns": {
        "town": {"weights": {"north": 1.5, "south": -20.0}},
        "age": {"weight": 2.0, "middle": 40.0, "least": 20.0, "greatest": 60.0},
    },
}
ROWS = "town,age,cost\nnorth,50,30\nsouth,40,?\nnorth,99,100\n"  # 31.5, -10, 51.5


def asked(folder: Path, model: object, *flags: str, rows: str = ROWS) -> int:
    (folder / "model.json").write_text(json.dumps(model))
    (folder / "rows.csv").write_text(rows)
    return cli.run(["predict", "--model", str(folder / "model.json"), "--data", str(folder / "rows.csv"), *flags])


def test_numbers_within_the_bounds_and_how_far_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, MODEL) == 0
    shown = capsys.readouterr()
    assert shown.out == "31.5\n0\n51.5\n"
    assert "root of the mean square error 34.3111, R2 0.0390: 2 rows" in shown.err
    assert asked(tmp_path, MODEL, "--score", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"rmse": pytest.approx(34.3111, abs=1e-4), "r2": pytest.approx(0.0390, abs=1e-4), "rows": 2}


def test_without_numbers_to_compare_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "town,age\nnorth,50\n"
    assert asked(tmp_path, MODEL, "--json", rows=rows) == 0
    assert json.loads(capsys.readouterr().out) == {"predictions": [31.5]}
    assert asked(tmp_path, MODEL, "--score", rows=rows) == 2
    assert "the rows have no column 'cost' with numbers" in capsys.readouterr().err


def test_a_model_without_bounds_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(tmp_path, {name: value for name, value in MODEL.items() if name != "least"}) == 2
    assert "neither classes nor bounds" in capsys.readouterr().err


def test_a_model_that_is_given_as_a_tree_is_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.json"
    model.write_text(json.dumps(MODEL))
    assert cli.run(["predict", "--tree", str(model), "--data", "x.csv"]) == 2
    assert f"--tree: {model} is a model, not a tree; give it with --model" in capsys.readouterr().err
    model.write_text("{}")
    assert cli.run(["predict", "--tree", str(model), "--data", "x.csv"]) == 2
    assert "is a model" not in capsys.readouterr().err

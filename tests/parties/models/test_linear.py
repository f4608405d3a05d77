"""A linear classifier by its definition, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parties.models import scored
from parties.models.load import load_model
from parties.sources.delimited import csv_columns as columns
from smc.errors import InputError

GOOD: dict[str, Any] = {
    "target": "play",
    "classes": ["yes", "no"],
    "intercept": -0.5,
    "columns": {
        "wind": {"weights": {"weak": -1.0, "strong": 0.75}},
        "hours": {"weight": 0.5, "middle": 2.0, "least": 0.0, "greatest": 4.0},
    },
}


def loaded(tmp_path: Path, **change: Any) -> Any:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(GOOD | change))
    return load_model(path)


@pytest.mark.parametrize("piece", [1, scored.PIECE])
def test_a_row_is_of_the_second_class_above_zero(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scored, "PIECE", piece)
    lines = ["strong,4", "strong,2", "strong,9", "weak,4", "strong,?", "strong,1.5", "strong,1.6", "weak,-3"]
    (tmp_path / "rows.csv").write_text("wind,hours\n" + "\n".join(lines) + "\n")
    model, rows = loaded(tmp_path), columns(tmp_path / "rows.csv")
    assert model.scores(rows) == pytest.approx([1.25, 0.25, 1.25, -0.5, 0.25, 0, 0.05, -2.5])
    assert model.predict(rows) == ["no", "no", "no", "yes", "no", "yes", "no", "yes"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("week,1", r"does not know 'week' \(did you mean 'weak'\?\)"),
        ("weak,one", "'one' is not a number"),
        ("weak,nan", "not a number"),
    ],
)
def test_a_cell_that_the_model_does_not_know(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(f"wind,hours\n{line}\n")
    with pytest.raises(InputError, match=f"line 2.*{message}"):
        loaded(tmp_path).predict(columns(tmp_path / "rows.csv"))


def test_the_first_line_with_an_unknown_cell_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("wind,hours\nweak,1\nweak,one\nweek,two\n")
    with pytest.raises(InputError, match=r"line 3, column 'hours': 'one' is not a number"):
        loaded(tmp_path).predict(columns(tmp_path / "rows.csv"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 1}, "no target"),
        ({"columns": []}, "no columns"),
        ({"classes": ["yes"]}, "classes"),
        ({"classes": ["yes", 1]}, "classes"),
        ({"intercept": "1"}, "intercept"),
        ({"intercept": True}, "intercept"),
        ({"columns": {"wind": {"weights": {}}}}, "columns.wind"),
        ({"columns": {"wind": {"weights": {"weak": "1"}}}}, "columns.wind"),
        ({"columns": {"hours": {"weight": 0.5, "middle": 2.0, "least": 0.0}}}, "columns.hours"),
        ({"columns": {"hours": 1}}, "columns.hours"),
    ],
)
def test_a_file_that_is_no_model(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"not a linear model: .*{message}"):
        loaded(tmp_path, **change)

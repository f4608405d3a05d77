"""Naive Bayes by its definition, and files that are no model."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.cli import run
from parties.models.bayes import NaiveBayesModel
from parties.models.load import load_model
from parties.sources.delimited import csv_columns as columns
from parties.tables.delimited import Columns
from smc.errors import InputError

GOOD: dict[str, Any] = {
    "target": "play",
    "classes": {"yes": 9, "no": 5},
    "columns": {"wind": {"weak": [6, 2], "strong": [3, 3]}, "rain": {"no": [8, 1], "much": [1, 4]}},
}


@given(st.lists(st.lists(st.integers(0, 20), min_size=2, max_size=2), min_size=5, max_size=5))
def test_the_class_is_the_most_likely(lines: list[list[int]]) -> None:
    first, *tables = lines
    x_lines, y_lines = (dict(zip("01", part, strict=True)) for part in (tables[:2], tables[2:]))
    model = NaiveBayesModel("c", {"a": first[0], "b": first[1]}, {"x": x_lines, "y": y_lines})
    for x in (0, 1):
        for y in (0, 1):
            likely = [
                math.prod(
                    [
                        first[c] + 1,
                        (tables[x][c] + 1) / (tables[0][c] + tables[1][c] + 2),
                        (tables[2 + y][c] + 1) / (tables[2][c] + tables[3][c] + 2),
                    ]
                )
                for c in (0, 1)
            ]
            found = model.predict(rows_of({"x": [str(x)], "y": [str(y)]}))
            assert abs(likely[0] - likely[1]) < 1e-9 * max(likely) or found == ["ab"[likely.index(max(likely))]]


def rows_of(values: dict[str, list[str]]) -> Columns:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rows.csv"
        lines = [",".join(values), *(",".join(line) for line in zip(*values.values(), strict=True))]
        path.write_text("\n".join(lines) + "\n")
        return columns(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": 1}, "no target"),
        ({"columns": {}}, "no columns"),
        ({"classes": []}, "classes"),
        ({"classes": {"yes": -1, "no": 1}}, "classes"),
        ({"classes": {"yes": True, "no": 1}}, "classes"),
        ({"columns": {"wind": {"weak": [1]}}}, "columns.wind"),
        ({"columns": {"wind": {"weak": [1, 2.5]}}}, "columns.wind"),
        ({"columns": {"wind": {}}}, "columns.wind"),
    ],
)
def test_a_file_that_is_no_model(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(InputError, match=f"not a naive Bayes model: .*{message}"):
        load_model(path)


@pytest.mark.parametrize("content", [{"bytes": 5, "columns": ["wind"]}, {}, [], 1])
def test_a_file_of_something_else_is_not_taken_for_a_naive_bayes_model(content: Any, tmp_path: Path) -> None:
    (tmp_path / "cost.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"cost\.json: not a known kind of model; give a file of"):
        load_model(tmp_path / "cost.json")


def test_a_tree_is_given_as_such(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(json.dumps({"tree": {"class": "yes"}}))
    with pytest.raises(InputError, match=r"tree\.json: this is a tree; use --tree"):
        load_model(tmp_path / "tree.json")


def test_what_is_wrong_with_the_command_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.json").write_text(json.dumps(GOOD))
    (tmp_path / "rows.csv").write_text("wind,rain\nweek,no\n")
    model, rows = str(tmp_path / "model.json"), str(tmp_path / "rows.csv")
    for words, message in (
        (["--model", model, "--data", rows], "the model does not know 'week' (did you mean 'weak'?)"),
        (["--data", rows], "give exactly one of --tree, --model and --rules"),
        (["--tree", model, "--model", model, "--data", rows], "give exactly one of --tree, --model and --rules"),
        (["--model", rows, "--data", rows], "this is a CSV file, not a model: give a file of a model that smc wrote"),
    ):
        assert run(["predict", *words]) == 2
        told = capsys.readouterr().err
        assert message in told
        assert told.count("\n") == 1


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"target": "\\ud800", "classes": {"a": 1}, "columns": {}}')
    with pytest.raises(InputError, match="unpaired surrogate"):
        load_model(path)

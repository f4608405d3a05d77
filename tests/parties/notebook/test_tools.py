"""The tools for own rows as functions: what the command prints and writes, for frames in place of files."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.cli import run
from parties.notebook import attack, blur, local, publish
from smc.errors import InputError

pandas = pytest.importorskip("pandas")
DRAW = np.random.default_rng(1)
ROWS = pandas.DataFrame(
    {"id": range(80), "zip": DRAW.integers(100, 140, 80), "age": DRAW.integers(18, 90, 80), "sex": ["f", "m"] * 40}
)
PLAN = '[columns]\nage = { noise = "uniform", privacy = 0.5, low = 18, high = 90 }\nsex = { noise = "none" }\n'


def test_a_tool_is_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    ROWS.to_csv(path, index=False)
    asked: dict[str, Any] = {"columns": "zip,age,sex", "row": "id", "threshold": 2.0}
    found = attack.link(published=ROWS, known=ROWS, tolerance=["age=1"], **asked)
    words = [word for key, value in asked.items() for word in (f"--{key}", str(value))]
    files = ["--published", str(path), "--known", str(path), "--out", str(out), "--tolerance", "age=1"]
    assert run(["attack", "link", *files, *words, "--json"]) == 0
    assert found.document == json.loads(capsys.readouterr().out)
    assert found.output == out.read_text()
    assert isinstance(found.frame(), pandas.DataFrame)
    assert found.frame().equals(pandas.read_csv(out))
    with pytest.raises(InputError, match="give rows as a data frame, and no out"):
        attack.link(published=path, known=path, columns="zip,age").frame()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_gap_or_a_truth_value_changes_no_cell(library: str) -> None:
    """pandas turns a column of whole numbers into fractions if a cell is missing; 20.0 would be nobody's age."""
    frames = pytest.importorskip(library)
    published = frames.DataFrame({"age": [*range(20, 60)], "well": ["True", "False"] * 20})
    known = pandas.DataFrame({"age": [*range(20, 60), None], "well": [True, False] * 20 + [True]})[:-1]
    known = known[::-1] if library == "pandas" else frames.DataFrame(known.to_dict("list"))
    assert str(known["age"].dtype).lower() == "float64"
    assert attack.link(published=published, known=known, columns="age,well").document["linked"] == 40


def test_rows_are_blurred(tmp_path: Path) -> None:
    (tmp_path / "blur.toml").write_text(PLAN)
    rows = blur(plan=tmp_path / "blur.toml", data=ROWS[["age", "sex"]]).frame()
    assert (rows.sex == ROWS.sex).all()
    assert (rows.age != ROWS.age).any()
    assert blur.__doc__ is not None
    assert "data: Rows: a file" in blur.__doc__


def test_tools_are_listed_and_explained() -> None:
    assert {"anonymise", "check", "plan"} <= set(dir(publish))
    assert {"decode", "plan", "report"} <= set(dir(local))
    assert "known" in inspect.signature(attack.link).parameters
    assert "Find people in published rows" in attack.link.__doc__


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"published": ROWS}, "attack link: Missing option '--known'"),
        ({"published": ROWS, "known": ROWS, "colums": "age"}, "colums: is no argument of attack link.*'columns'"),
        ({"published": ROWS, "known": ROWS, "columns": "height"}, "'height'"),
        ({"published": ROWS, "known": ROWS, "threshold": "high"}, "threshold"),
        ({"published": ROWS, "known": ROWS, "columns": True}, "columns: needs a value, not True"),
    ],
)
def test_what_is_wrong_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        attack.link(**given)
    with pytest.raises(AttributeError, match="attack has no 'lnk'"):
        attack.lnk  # noqa: B018

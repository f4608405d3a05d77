"""A Parquet file where a command takes a CSV file: the same rows mean the same, in the same order."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parties.cli import run
from parties.sources.cells import cells
from parties.tables import schema
from parties.tables.example import demo
from parties.tables.rows import encoded
from parties.tables.schema import Schema
from smc.errors import InputError


def parquet(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def as_parquet(csv: Path, path: Path) -> Path:
    found = cells(csv).values
    return parquet(path, **{name: [None if cell == "?" else cell for cell in column] for name, column in found.items()})


def test_cells_are_spelled_as_in_a_csv_file(tmp_path: Path) -> None:
    path = parquet(
        tmp_path / "x.parquet",
        text=[" a ", "", None],
        whole=[3, -1, None],
        floating=pa.array([3.0, 2.5, None]),
        truth=[True, False, None],
        day=[datetime.date(2026, 1, 31), None, None],
    )
    assert cells(path).values == {
        "text": ["a", "?", "?"],
        "whole": ["3", "-1", "?"],
        "floating": ["3", "2.5", "?"],
        "truth": ["true", "false", "?"],
        "day": ["2026-01-31", "?", "?"],
    }


def test_rows_keep_their_order(tmp_path: Path) -> None:
    numbers = np.random.default_rng(3).permutation(300_000)  # several row groups, several threads
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"n": numbers}), path, row_group_size=20_000)
    assert cells(path).values["n"] == [str(number) for number in numbers]


def test_the_bundled_rows_as_parquet_give_the_same_table(tmp_path: Path) -> None:
    agreed = schema.load(demo().schema)
    target = agreed.choose_target()
    path = as_parquet(demo().clinic_a, tmp_path / "a.parquet")
    ours, theirs = (encoded(cells(file, 99), agreed, target) for file in (path, demo().clinic_a))
    assert np.array_equal(ours.rows, theirs.rows)
    assert np.array_equal(ours.classes, theirs.classes)
    proposals = [schema.propose(cells(file), target).schema for file in (path, demo().clinic_a)]
    assert proposals[0].digest() == proposals[1].digest()


def test_what_is_wrong_is_told_with_its_row_or_column(tmp_path: Path) -> None:
    agreed = Schema({"a": ("x", "y"), "b": ("1", "2")})
    path = parquet(tmp_path / "x.parquet", a=["x", "y", "z"], b=[1, 2, 1])
    with pytest.raises(InputError, match=r"x\.parquet, row 3, column 'a': 'z' is not in the schema"):
        encoded(cells(path, 9), agreed, "b")
    with pytest.raises(InputError, match=r"x\.parquet: more than 2 rows, the agreed bound"):
        encoded(cells(path, 2), agreed, "b")
    with pytest.raises(InputError, match=r"lacks the column 'c'.*; there are 'a', 'b'"):
        encoded(cells(path, 9), Schema({"c": ("x",), "b": ("1", "2")}), "b")
    nested = parquet(tmp_path / "n.parquet", a=[["x"], ["y"]], b=[1, 2])
    with pytest.raises(InputError, match=r"n\.parquet, column 'a': a column of type .* holds no categories"):
        encoded(cells(nested, 9), agreed, "b")
    found = schema.propose(cells(nested))
    assert list(found.schema.attributes) == ["b"]
    assert "left out column 'a': a column of type" in found.notes[0]
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"broken\.parquet: "):
        cells(broken)


def test_commands_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = as_parquet(demo().clinic_a, tmp_path / "a.parquet")
    out = tmp_path / "schema.toml"
    assert run(["schema", "--data", str(path), "--target", "play", "--out", str(out)]) == 0
    tree = tmp_path / "tree.json"
    branches = {"weak": {"class": "yes"}, "strong": {"class": "no"}}
    found = {"attribute": "wind", "branches": branches}
    tree.write_text(json.dumps({"schema_digest": "0" * 64, "target": "play", "tolerance": 0.1, "tree": found}))
    capsys.readouterr()
    printed = []
    for file in (path, demo().clinic_a):
        assert run(["predict", "--tree", str(tree), "--data", str(file)]) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1]
    assert printed[0].out.splitlines()

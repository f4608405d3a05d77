"""Exported queries, run by DuckDB, say of all rows what `smc predict` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from parties import cli
from tests.support import deployed

pytestmark = pytest.mark.slow


def asked(
    folder: Path, capsys: pytest.CaptureFixture[str], *flags: str, typed: str = "all_varchar = true"
) -> list[Any]:
    """The predictions of the exported query."""
    assert cli.run(["export", "--model", str(folder / "model.json"), "--to", "sql", *flags]) == 0
    query = capsys.readouterr().out
    with duckdb.connect() as base:
        base.execute(f"CREATE TABLE rows AS SELECT * FROM read_csv('{folder / 'rows.csv'}', {typed})")
        return [row[-1] for row in base.execute(query).fetchall()]


@pytest.mark.parametrize(("name", "kind"), deployed.LEARNT)
def test_categories(name: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = deployed.frame(name)
    model, table = deployed.written(tmp_path, deployed.learnt(rows, deployed.DATA[name], kind), rows)
    assert asked(tmp_path, capsys) == deployed.said(model, table)


@pytest.mark.parametrize("kind", ["tree", "boosted", "linear", "number"])
def test_raw_cells(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ranges, days, texts and missing values, of a table that is text and of one that has the schema's types."""
    document = deployed.typed_tree() if kind == "tree" else deployed.typed_model(kind)
    model, _ = deployed.written(tmp_path, document, deployed.typed_rows())
    config = deployed.configured(tmp_path)
    flag = "--tree" if kind == "tree" else "--model"
    assert cli.run(["predict", flag, str(model), "--config", str(config), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["predictions"]
    assert len(set(expected)) > 1
    by_table = asked(tmp_path, capsys, "--config", str(config))
    types = "types = {'age': 'BIGINT', 'pay': 'DOUBLE', 'came': 'DATE', 'town': 'VARCHAR'}"
    by_schema = asked(tmp_path, capsys, "--schema", str(tmp_path / "schema.toml"), typed=types)
    exact = expected if kind != "number" else pytest.approx(expected, rel=1e-5)
    assert by_table == exact
    assert by_schema == exact


def test_rows_that_a_table_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = deployed.typed_rows(40).assign(agreed=["yes", "no", None, " true"] * 10)
    model, _ = deployed.written(tmp_path, deployed.typed_model("linear"), rows)
    config = deployed.configured(tmp_path)
    config.write_text(config.read_text() + 'consent = "agreed"\nwhere = "TRY_CAST(age AS INT) >= 40 OR age IS NULL"\n')
    assert cli.run(["predict", "--model", str(model), "--config", str(config), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["predictions"]
    assert 0 < len(expected) < 20
    assert asked(tmp_path, capsys, "--config", str(config)) == expected


def test_unknown_values_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = deployed.typed_rows(3).assign(town=["a", "b", None], age=["30", "31", "32"], pay=["1", "2", "3"])
    deployed.written(tmp_path, deployed.typed_model("linear"), rows)
    assert asked(tmp_path, capsys)[1:] == [None, None]


def test_equal_votes_follow_the_earliest_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = [{"class": label} for label in "cabba"]
    document = {"schema_digest": "0" * 64, "target": "t", "tolerance": 0.5, "trees": trees}
    model, table = deployed.written(tmp_path, document, deployed.typed_rows(2))
    assert asked(tmp_path, capsys) == deployed.said(model, table) == ["a", "a"]


def test_other_databases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.written(tmp_path, deployed.typed_model("boosted"), deployed.typed_rows(2))
    deployed.configured(tmp_path)
    flags = ["--to", "sql", "--schema", str(tmp_path / "schema.toml"), "--rows", 'my "rows']
    for dialect, words in (("postgres", '"my ""rows"'), ("mysql", '`my "rows`'), ("spark", '`my "rows`')):
        assert cli.run(["export", "--model", str(tmp_path / "model.json"), *flags, "--dialect", dialect]) == 0
        assert f"FROM {words}" in capsys.readouterr().out


def test_what_does_not_fit_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = deployed.written(tmp_path, deployed.typed_tree(), deployed.typed_rows(2))
    config = deployed.configured(tmp_path)
    for flags, words in (
        (["--table", "rows"], "--config, which is missing"),
        (["--schema", str(config), "--config", str(config)], "give one of the two"),
    ):
        assert cli.run(["export", "--model", str(model), "--to", "sql", *flags]) == 2
        assert words in capsys.readouterr().err
    assert cli.run(["export", "--model", str(model), "--to", "onnx"]) == 2
    assert "--out is missing" in capsys.readouterr().err

"""`smc export --to onnx`: models that onnxruntime reads say what `smc predict` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas
import pytest

from parties import cli
from tests.support import deployed

pytestmark = pytest.mark.slow


def asked(model: Path, rows: Any, output: str = "label") -> list[Any]:
    """What the exported model says of the columns that it asks for."""
    out = model.with_suffix(".onnx")
    assert cli.run(["export", "--model", str(model), "--to", "onnx", "--out", str(out)]) == 0
    names = {prop.key: prop.value for prop in onnx.load(out).metadata_props}["attributes"].splitlines()
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    said: list[Any] = session.run([output], {"X": rows[names].to_numpy(dtype=np.str_)})[0].tolist()
    return said


@pytest.mark.parametrize(("name", "kind"), deployed.LEARNT)
def test_real_tables(name: str, kind: str, tmp_path: Path) -> None:
    rows = deployed.frame(name)
    model, table = deployed.written(tmp_path, deployed.learnt(rows, deployed.DATA[name], kind), rows)
    expected = deployed.said(model, table)
    assert len(set(expected)) > 1
    assert asked(model, rows) == expected


@pytest.mark.parametrize("kind", ["boosted", "linear", "number"])
def test_numbers(kind: str, tmp_path: Path) -> None:
    """Numbers as text, on edges and beyond them, and missing ones; a column of categories that is not known."""
    rows = deployed.typed_rows().drop(columns="came").replace("", "?")
    rows["town"] = rows.town.replace({"b": "else", "c": "else"})
    document = deployed.typed_model(kind)
    if kind == "boosted":
        age, pay = document["columns"]["age"], document["columns"]["pay"]
        rows.loc[:2, "age"] = [str(edge) for edge in age["edges"][:3]]
        rows.loc[:4, "pay"] = [*map(str, pay["edges"]), *pay["values"]]
    model, table = deployed.written(tmp_path, document, rows)
    expected = deployed.said(model, table)
    assert len(set(expected)) > 1
    rows = pandas.concat([rows, rows[:1].assign(town="b")])
    if kind == "number":
        *numbers, unknown = asked(model, rows, "number")
        assert [f"{number:.6g}" for number in numbers] == expected
        assert np.isnan(unknown)
    else:
        assert asked(model, rows) == [*expected, ""]


def test_equal_votes_follow_the_earliest_tree(tmp_path: Path) -> None:
    trees = [{"class": label} for label in "cabba"]
    document = {"schema_digest": "0" * 64, "target": "t", "tolerance": 0.5, "trees": trees}
    rows = deployed.typed_rows(2)
    model, _ = deployed.written(tmp_path, document, rows)
    assert asked(model, rows) == ["a", "a"]


def test_only_what_it_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = deployed.written(tmp_path, deployed.typed_model("linear"), deployed.typed_rows(2))
    deployed.configured(tmp_path)
    words = ["export", "--model", str(model), "--to", "onnx", "--schema", str(tmp_path / "schema.toml")]
    assert cli.run([*words, "--out", str(tmp_path / "x")]) == 2
    assert "remove --schema" in capsys.readouterr().err

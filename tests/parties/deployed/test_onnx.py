"""`smc export --to onnx`: a tree that onnxruntime reads says what `smc predict` says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from parties import cli
from tests.support import deployed
from tests.support.onnx_runs import run


def test_a_tree(tmp_path: Path) -> None:
    rows = deployed.frame("house-votes-84")
    model, table = deployed.written(tmp_path, deployed.learnt(rows, "class", "tree"), rows)
    out = tmp_path / "tree.onnx"
    assert cli.run(["export", "--model", str(model), "--to", "onnx", "--out", str(out)]) == 0
    read = onnx.load(out)
    names = next(prop.value for prop in read.metadata_props if prop.key == "attributes").split("\n")
    assert run(read, rows[names].to_numpy(dtype=np.str_)) == deployed.said(model, table)


def test_only_a_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = deployed.written(tmp_path, deployed.typed_model("linear"), deployed.typed_rows(2))
    assert cli.run(["export", "--model", str(model), "--to", "onnx", "--out", str(tmp_path / "x")]) == 2
    assert "only a single tree" in capsys.readouterr().err

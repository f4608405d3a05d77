"""A linear classifier between two processes: both have the same weights, and classify their own rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from parties import cli
from tests.support.processes import Processes

SCHEMA = '[attributes]\ntown = ["north", "mid", "south"]\nage = [20, 40, 60, 80]\nend = ["good", "bad"]\n'


def table(seed: int) -> str:
    """Ends are bad in the south, and the more so with age."""
    rng = np.random.default_rng(seed)
    towns, ages = rng.integers(3, size=600), rng.integers(4, size=600)
    bad = towns + ages / 2 + rng.normal(size=600) / 4 > 1.9
    names, ends = ("north", "mid", "south"), ("good", "bad")
    cells = zip(towns, ages, bad.astype(int), strict=True)
    return "town,age,end\n" + "".join(f"{names[t]},{20 * a + 20},{ends[b]}\n" for t, a, b in cells)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    running = Processes(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text(table(seed))
    try:
        yield running
    finally:
        running.stop()


def test_two_processes_learn_one_classifier(processes: Processes, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--schema", "schema.toml", "--target", "end", "--numeric", "age", "--epsilon", "4", "--max-rows", "1000"]
    common += ["--steps", "12"]
    left, right = processes.pair(
        ["regress", "joint", "--data", "a.csv", *common, "--out", "model.json", "--svg", "model.svg", "--json"],
        ["regress", "joint", "--data", "b.csv", *common, "--out", "b.json"],
    )
    assert (left.code, right.code) == (0, 0), left.err + right.err
    document = json.loads((processes.directory / "model.json").read_text())
    assert json.loads((processes.directory / "b.json").read_text()) == document
    assert json.loads(left.out)["intercept"] == document["intercept"]
    assert "step 12 of 12" not in left.out
    assert document["rows"] == pytest.approx(1200, abs=150)
    assert "town = south" in right.out
    assert "no budget is kept" in right.err
    assert "What speaks for end = bad" in (processes.directory / "model.svg").read_text()
    for name in "ab":
        words = [
            "predict",
            "--model",
            processes.directory / "model.json",
            "--data",
            processes.directory / f"{name}.csv",
        ]
        assert cli.run([*map(str, words), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["accuracy"] > 0.8

"""The program in docs/synthesis.md does what it says, with the rows that a generator makes."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from protocols.synthesis.marginals import Measurement
from protocols.synthesis.relaxed_projection import RelaxedProjection
from tests.support.places import ROOT

pytestmark = pytest.mark.slow


def test_everything_on_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Play follows from the wind, in the counts, in the rows and in the tree's rules."""
    both = Measurement(("wind", "play"), np.array([[80, 3], [2, 70]]), 3.0)
    made = RelaxedProjection(size=50, steps=100).generate({"wind": 2, "sky": 3, "play": 2}, [both], 150, 1)
    with (tmp_path / "synthetic.csv").open("w", newline="") as file:
        csv.writer(file).writerows([made, *zip(*(column.tolist() for column in made.values()), strict=True)])
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "synthesis.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    exec(program, found)
    features, classes = found["features"], found["classes"]
    for name in ("tree", "bayes", "logistic"):
        assert found[name].score(features, classes) > 0.9  # type: ignore[attr-defined]
    assert len(found["clusters"].cluster_centers_) == 3  # type: ignore[attr-defined]
    assert "wind_" in capsys.readouterr().out

"""The figures of docs/local.md are what the program reckons."""

from __future__ import annotations

import re
import shlex

import pytest

from parties import cli
from parties.alone.local import advice
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "local.md").read_text()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0, 5.0, 6.0])
def test_variances_of_a_mean(epsilon: float) -> None:
    (row,) = re.findall(rf"^\| {epsilon:g} \|(.*)\|$", PAGE, re.MULTILINE)
    shown = [float(cell) for cell in row.split("|")]
    kinds = advice.of_numbers(-1.0, 1.0, epsilon, 1e-6)
    assert list(kinds) == ["mean", "piecewise", "laplace", "gauss"]
    assert [made.variance for made in kinds.values()] == pytest.approx(shown, rel=6e-3, abs=5e-3)


def test_the_advice_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (command, shown) = re.search(r"\$ (smc local plan .*)\n((?:    .*\n|\n)+)", PAGE).groups()  # type: ignore[union-attr]
    assert cli.run(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out.split() == shown.split()

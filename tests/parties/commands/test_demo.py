"""smc demo: how a party that fails is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parties import cli
from parties.base.settings import merge
from parties.commands.demo import _forecast
from parties.commands.two_processes import finish
from parties.jobs.tree.settings import Id3Settings
from parties.tables import example
from smc.errors import LinkError


def test_a_party_that_fails_is_told_in_its_own_words() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('a remark\\nsmc: cannot write tree.svg')"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with pytest.raises(LinkError, match=r"^clinic-a failed: cannot write tree\.svg$"):
        finish(process, "clinic-a")


def test_a_demo_that_takes_minutes_is_foretold(tmp_path: Path) -> None:
    """A private-key operation for each AND gate: the forecast is what stands before the run."""
    demo = {"schema": example.demo().schema, "plain": True, "max_rows": 7, "engine": "gmw"}
    slow, quick, cut = (
        _forecast(merge(Id3Settings(), demo | {"ot": ot, "shards": shards}), tmp_path)
        for ot, shards in (("trapdoor", None), ("extension", None), ("trapdoor", 2))
    )
    assert slow > 20 * quick
    assert cut < 0.7 * slow


@pytest.mark.slow  # five processes
def test_three_clinics_and_two_universities_find_the_tree_of_two_clinics(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trees = []
    for more in ([], ["--holders", "3"]):
        assert cli.run(["demo", "--engine", "gmw", *more]) == 0
        trees.append(capsys.readouterr().out.partition("target play:")[2].partition("cost of")[0])
    assert "humidity" in trees[0]
    assert trees[0] == trees[1]


@pytest.mark.parametrize("number", [1, 15])
def test_a_demo_gives_each_clinic_a_row(capsys: pytest.CaptureFixture[str], number: int) -> None:
    assert cli.run(["demo", "--holders", str(number)]) == 2
    assert capsys.readouterr().err == "smc: --holders: must be 2 to 14, so that each clinic has a row\n"

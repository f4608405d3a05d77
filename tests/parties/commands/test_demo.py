"""smc demo: how a party that fails is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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

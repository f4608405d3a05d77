"""`make quick` runs what is not marked as slow, and does not even import the rest."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.places import ROOT

pytestmark = pytest.mark.slow


def test_the_makefile_names_the_mark_and_no_tests() -> None:
    text = (ROOT / "Makefile").read_text()
    assert re.search(r'^quick: lint\n\t\$\(PYTEST\) -m "not slow"$', text, re.MULTILINE)
    assert "tests/parties" not in text


@pytest.mark.parametrize("module", ["bench.test_survey", "link.test_tls", "node.budget.test_account"])
@pytest.mark.parametrize("chosen", ["slow", "not slow"])
def test_slow_files_and_folders_are_left_out_before_they_are_imported(module: str, chosen: str) -> None:
    code = "import sys, pytest; pytest.main(sys.argv[1:]); print(*sys.modules)"
    folder = "tests/parties/" + module.rpartition(".")[0].replace(".", "/")
    command = [sys.executable, "-c", code, "-n0", "--collect-only", "-q", "-m", chosen, folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (f"tests.parties.{module}" in done.stdout.splitlines()[-1].split()) is (chosen == "slow"), done.stdout

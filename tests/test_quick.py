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


def test_what_starts_programs_is_slow_and_what_stands_beside_it_is_not() -> None:
    words = [sys.executable, "-m", "pytest", "-n0", "--collect-only", "tests/parties/commands/test_kinds.py"]
    found = {}
    for chosen in ("slow", "not slow"):
        done = subprocess.run([*words, "-m", chosen], cwd=ROOT, capture_output=True, text=True, check=True)
        found[chosen] = {line.split("::")[1].partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    assert "test_both_get_the_result" in found["slow"]
    assert found["not slow"]
    assert not found["slow"] & found["not slow"]

"""`make quick` runs what is not marked as slow, without importing the rest; `make test` has short forms."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.places import ROOT
from tests.support.short import is_taken

pytestmark = pytest.mark.slow


def test_the_makefile_names_the_mark_and_no_tests() -> None:
    text = (ROOT / "Makefile").read_text()
    assert re.search(r'^quick: lint\n\t\$\(PYTEST\) -m "not slow"$', text, re.MULTILINE)
    assert "tests/parties" not in text


@pytest.mark.parametrize("chosen", ["slow", "not slow"])
def test_slow_files_and_folders_are_left_out_before_they_are_imported(chosen: str) -> None:
    code = "import sys, pytest; pytest.main(sys.argv[1:]); print(*sys.modules)"
    modules = ("bench.test_survey", "link.test_tls", "node.budget.test_account")
    folders = ["tests/parties/" + module.rpartition(".")[0].replace(".", "/") for module in modules]
    command = [sys.executable, "-c", code, "-n0", "--collect-only", "-q", "-m", chosen, *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = {f"tests.parties.{module}" for module in modules} & set(done.stdout.splitlines()[-1].split())
    assert len(imported) == (len(modules) if chosen == "slow" else 0), done.stdout


def test_what_starts_programs_is_slow_and_what_stands_beside_it_is_not() -> None:
    words = [sys.executable, "-m", "pytest", "-n0", "--collect-only", "tests/parties/commands/test_kinds.py"]
    found = {}
    for chosen in ("slow", "not slow"):
        done = subprocess.run([*words, "-m", chosen], cwd=ROOT, capture_output=True, text=True, check=True)
        found[chosen] = {line.split("::")[1].partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    assert "test_both_get_the_result" in found["slow"]
    assert found["not slow"]
    assert not found["slow"] & found["not slow"]


@pytest.mark.parametrize("share", range(1, 8))
def test_a_short_form_meets_every_value(share: int) -> None:
    places = [place for place in range(share * share) if is_taken(place, share)]
    assert len(places) == share
    assert {place // share for place in places} == set(range(share))
    assert {place % share for place in places} == set(range(share))

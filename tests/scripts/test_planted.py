"""The planted bugs: all can be planted, a few are each time, and `make campaign` plants them all."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from scripts.planted import ROOT, Bug, bugs, main, tried

TAILS = "tests/protocols/release/test_tails.py"
QUICKEST = "protocols/release/tails.py"  # by its tests
NO_BUG = Bug("protocols/release/tails.py", "PRECISION = 256", "PRECISION = 257", (TAILS,))


@pytest.mark.parametrize("file", sorted({bug.file for bug in bugs()}))
def test_the_source_has_the_lines(file: str) -> None:
    """A line that was changed has to be changed in `scripts/planted_bugs.py`, too: the bug that was meant is known."""
    text = (ROOT / file).read_text()
    program = ast.dump(ast.parse(text))
    for bug in bugs():
        if bug.file == file:
            assert bug.fits(ROOT), bug
            assert ast.dump(ast.parse(text.replace(bug.old, bug.new))) != program, bug


def test_none_is_planted_twice() -> None:
    assert len({(bug.file, bug.old, bug.new) for bug in bugs()}) == len(bugs()) > 200


@pytest.mark.slow
def test_a_bug_is_caught() -> None:
    outcome, said = tried(next(bug for bug in bugs() if bug.file == QUICKEST))
    assert outcome == "caught", said
    assert said.startswith("FAILED tests/")


@pytest.mark.slow
def test_what_is_no_bug_lives_and_what_is_no_program_is_not_planted(capsys: pytest.CaptureFixture[str]) -> None:
    assert tried(NO_BUG)[0] == "LIVES"
    assert tried(replace(NO_BUG, new="PRECISION = "))[0] == "not planted"
    assert tried(replace(NO_BUG, old="PRECISION"))[0] == "not planted"
    assert main(["no bug has these words"]) == 0
    assert capsys.readouterr().out == "0 of 0 caught\n"


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("bug", bugs(), ids=str)
def test_every_bug_is_caught(bug: Bug) -> None:
    outcome, said = tried(bug)
    assert outcome == "caught", said

"""A command that is refused: how it is told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from parties.cli import run


def refused(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line on standard error with which `smc` refuses these words as wrong input; it prints nothing else."""
    assert run(list(words)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("smc: ")
    assert told.err.count("\n") == 1
    assert "Traceback" not in told.err
    return told.err

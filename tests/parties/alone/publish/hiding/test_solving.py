"""Standard output holds the results alone, whatever a solver's C++ prints."""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from pathlib import Path

import pytest

from parties import cli
from parties.alone.publish.hiding.solving import aside

C = ctypes.CDLL(None)
# HiGHS 1.12 (SciPy 1.17) prints a line of this table at threshold 7, though it is told to print nothing.
TALKATIVE = [[0, 95, 72, 217, 50], [36, 0, 18, 0, 28], [2, 36, 4, 0, 1], [8, 24, 7, 0, 40]]


def say(text: str) -> None:
    """As C does: into a buffer, past Python."""
    C.puts(text.encode())


def test_a_solver_that_prints_leaves_json_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cells = [(f"r{i}", f"c{j}", n) for i, line in enumerate(TALKATIVE) for j, n in enumerate(line)]
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{row},{column}\n" * n for row, column, n in cells))
    words = [str(tmp_path / "x.csv"), "--by", "a", "--across", "b", "--threshold", "7"]
    assert cli.run(["publish", "table", "--data", *words, "--out", str(tmp_path / "out.csv"), "--json"]) == 0
    C.fflush(None)
    assert json.loads(capfd.readouterr().out)["by_the_rules"] > 0


def test_what_c_prints_goes_to_standard_error_and_nothing_before_or_after_does(
    capfd: pytest.CaptureFixture[str],
) -> None:
    say("before")
    with aside():
        say("within")
    say("after")
    C.fflush(None)
    assert capfd.readouterr() == ("before\nafter\n", "within\n")


def test_threads_may_overlap(capfd: pytest.CaptureFixture[str]) -> None:
    inside, go = threading.Event(), threading.Event()

    def first() -> None:
        with aside():
            inside.set()
            go.wait(10)
            say("first")

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with aside(), pytest.raises(ZeroDivisionError):
        raise ZeroDivisionError
    with aside():
        say("second")
    go.set()
    thread.join(10)
    say("out")
    C.fflush(None)
    out, err = capfd.readouterr()
    assert (out, sorted(err.split())) == ("out\n", ["first", "second"])


def test_without_standard_output_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with aside():
        pass

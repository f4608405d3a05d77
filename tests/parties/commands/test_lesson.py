"""smc lesson: two processes over gRPC, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties.cli import run
from parties.commands import two_processes
from smc.errors import InputError


def test_two_processes_print_their_views(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lesson", "transfer", "--toy", "--left", "7,8,9,10", "--right", "2,", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    a, b = (document["parties"][name] for name in ("party-0", "party-1"))
    assert [step["values"]["a2"] for step in b["result"] if "a2" in step["values"]] == [8]
    assert a["cost"]["bytes_sent"] == b["cost"]["bytes_received"] > 0
    assert f"{a['cost']['bytes_sent']} B sent" in a["result"][-1]["values"]["total"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["and", "--toy"], "--toy belongs to smc lesson transfer: remove it"),
        (["shares", "--ot", "iknp"], "--ot belongs to smc lesson and: remove it"),
        (["transfer", "--bits", "512"], "512 bits: give 2048 to 8192, or add --toy"),
        (["garbled", "--left", "2"], "the input is 2: give 0 or 1"),
        (["id3", "--left", "missing.csv"], "missing.csv"),
        (["transfer", "--toy", "--right", "5"], "party 1 needs one choice from 1 to 4"),
    ],
)
def test_a_lesson_that_cannot_be(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lesson", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert problem in lines[-1]
    assert "Traceback" not in "".join(lines)


def test_a_party_that_dies_before_it_connects_ends_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that waits for it is not waited for."""
    monkeypatch.setattr(two_processes, "GRACE", 0.5)
    waiting = ["run", "parties.lesson.shares:shares", "1", "--engine", "yao"]
    with pytest.raises(InputError, match=r"^b failed: "):
        two_processes.run_both(tmp_path, ("a", "b"), (waiting, ["run", "nowhere:none", "1"]), "waiting")

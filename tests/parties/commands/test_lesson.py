"""smc lesson: two processes over gRPC, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties.cli import run
from parties.commands import two_processes
from parties.link import identity
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
        (["id3", "--left", "{tmp}/other.csv"], "other.csv"),
        (["transfer", "--toy", "--right", "5"], "--right: give one choice from 1 to 4"),
    ],
)
def test_a_lesson_that_cannot_be(
    arguments: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.csv").write_text("outlook,wind,play\nsunny,weak,yes\n")  # lacks columns of the peer's table
    assert run(["lesson", *(word.replace("{tmp}", str(tmp_path)) for word in arguments)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert problem in lines[-1]
    assert "Traceback" not in "".join(lines)


def test_a_party_that_dies_before_it_connects_ends_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that waits for it is not waited for."""
    monkeypatch.setattr(two_processes, "GRACE", 0.5)
    waiting = ["run", "parties.lesson.shares:shares", "1", "--engine", "yao"]
    with pytest.raises(InputError, match=r"^b failed: "):
        two_processes.run_both(tmp_path, ("a", "b"), (waiting, ["nonsense"]), "waiting")


@pytest.mark.parametrize("role", ["--listen", "--connect"])
def test_a_lesson_of_one_process_ends_in_one_line(
    role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second process never comes, as if it had gone."""
    for name in "ab":
        identity.create(name, ["127.0.0.1"], tmp_path)
    link = ["--identity", f"{tmp_path}/a.key", "--certificate", f"{tmp_path}/a.crt", "--peer", f"{tmp_path}/b.crt"]
    address = "127.0.0.1:0" if role == "--listen" else "127.0.0.1:9"
    lesson = ["run", "parties.lesson.shares:shares", "1", "--engine", "yao", *link, role, address, "--wait", "1"]
    assert run(lesson) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("smc: ")
    assert "Traceback" not in "".join(lines)

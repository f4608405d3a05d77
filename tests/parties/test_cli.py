"""What a command loads before it has called its peer, and that nothing is lost by leaving quickly."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import pytest

from parties.cli import COMMANDS, cli, run

ROOT = Path(__file__).resolve().parents[2]
SLOW = {"numpy", "numba", "llvmlite", "rich", "matplotlib", "smc.engines", "smc.session"}


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def loaded_by(code: str) -> set[str]:
    done = python(f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)")
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_loads_no_command() -> None:
    loaded = loaded_by("from parties.cli import run\nrun(['--help'])")
    assert not loaded & (SLOW | {"grpc", "pydantic", "cryptography"})
    assert "click" in loaded


def test_what_the_protocol_needs_is_loaded_after_the_peer_is_called() -> None:
    loaded = loaded_by("import parties.commands.questions, parties.link.opening")
    assert not loaded & SLOW
    assert {"grpc", "pydantic"} <= loaded


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_list_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(cli.get_command(click.Context(cli), name), click.Command)
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert f"  {name} " in shown
    assert COMMANDS[name][1] in " ".join(shown.split())
    assert run([name, "--help"]) == 0


def test_all_output_is_written_and_the_code_is_kept() -> None:
    script = (
        "import sys\nfrom parties import cli\ncli.run = lambda _: print('x' * 200_000) or 7\ncli.main(sys.argv[1:])"
    )
    done = python(script)
    assert (done.returncode, done.stdout, done.stderr) == (7, "x" * 200_000 + "\n", "")


def test_missing_streams_are_no_reason_to_fail() -> None:
    script = "import sys\nfrom parties import cli\nsys.stdout = sys.stderr = None\ncli.run = lambda _: 5\ncli.main()"
    assert python(script).returncode == 5


def test_the_time_of_connecting_can_be_used_once_by_each_party(parties) -> None:  # type: ignore[no-untyped-def]
    called: list[str] = []
    listening, address = parties.listen(lambda link: None, meanwhile=lambda: called.append("alice"))
    dialling = parties.connect(address, lambda link: None, meanwhile=lambda: called.append("bob"))
    assert (listening.outcome(), dialling.outcome()) == (None, None)
    assert sorted(called) == ["alice", "bob"]


def test_it_is_used_once_although_the_first_call_finds_nobody(parties) -> None:  # type: ignore[no-untyped-def]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    called: list[threading.Thread] = []
    dialling = parties.connect(
        f"127.0.0.1:{port}", lambda link: "met", meanwhile=lambda: called.append(threading.current_thread())
    )
    time.sleep(0.2)
    listening, _ = parties.listen(lambda link: "met", listen=f"127.0.0.1:{port}")
    assert (listening.outcome(), dialling.outcome()) == ("met", "met")
    assert called == [dialling]


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_meanwhile_ends_the_party_that_had_it(parties, failing: int) -> None:  # type: ignore[no-untyped-def]
    def fail() -> None:
        raise ValueError("no such module")

    changes = [{"wait": 0.5}, {"wait": 0.5}]
    changes[failing]["meanwhile"] = fail  # type: ignore[assignment]
    listening, address = parties.listen(lambda link: None, **changes[0])
    dialling = parties.connect(address, lambda link: None, **changes[1])
    outcome = listening.outcome(), dialling.outcome()
    assert isinstance(outcome[failing], ValueError)
    assert isinstance(outcome[1 - failing], Exception)


def test_loading_may_take_longer_than_the_wait(parties) -> None:  # type: ignore[no-untyped-def]
    listening, address = parties.listen(lambda link: "met", meanwhile=lambda: time.sleep(0.6), wait=0.3)
    dialling = parties.connect(address, lambda link: "met", meanwhile=lambda: time.sleep(0.6), wait=0.3)
    assert (listening.outcome(), dialling.outcome()) == ("met", "met")

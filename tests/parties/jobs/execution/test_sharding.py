"""Shards as processes with connections of their own: what is left of a run when some are killed."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from parties.base.address import Address
from parties.base.token_key import TokenError
from parties.jobs.execution import shard_processes
from parties.jobs.execution.shard_processes import Order, Processes, _context, _Dead, door, serve
from parties.link import opening
from parties.link.identity import Identity
from protocols.cost_model import with_tree
from protocols.id3 import Tree, id3
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError, LinkError, MachineError
from smc.local import run_local
from smc.session import Session
from tests.support.links import Parties
from tests.support.places import ENVIRONMENT, ROOT
from tests.support.ports import free_port
from tests.support.sharded_tree import PROBLEM, PROFILE, program, rows
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow  # nodes' shards are killed in tests/conformance

Kills = dict[tuple[int, int], int]  # of a party's shard: at which of its tasks


def killing(monkeypatch: pytest.MonkeyPatch, kills: Kills) -> list[int]:
    """Kill these processes, and list them: just before they are given an odd task, or in the middle of an even one.

    A task of number 0 is to begin.
    """
    given, begun = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    answers, spawn, killed = Processes._answers, Processes._spawn, list[int]()

    def kill(shards: Processes, number: int) -> None:
        if number in shards.pids:  # else the session has ended in the meantime
            killed.append(shards.pids[number])
            os.kill(killed[-1], signal.SIGKILL)

    def watched(shards: Processes, numbers: Sequence[int], tasks: Any) -> Any:
        for number in numbers:
            place = shards.session.party, number
            given[place] += 1
            if given[place] == kills.get(place):
                if given[place] % 2:
                    kill(shards, number)
                else:
                    threading.Timer(0.02, kill, (shards, number)).start()
        return answers(shards, numbers, tasks)

    def spawned(shards: Processes, number: int, *arguments: Any, **named: Any) -> Any:
        place, line = (shards.session.party, number), spawn(shards, number, *arguments, **named)
        begun[place] += 1
        if kills.get(place) == 0 and begun[place] == 1:
            kill(shards, number)
        return line

    monkeypatch.setattr(Processes, "_answers", watched)
    monkeypatch.setattr(Processes, "_spawn", spawned)
    return killed


@pytest.mark.parametrize("steps", [range(2, 3), pytest.param(range(1, 100), marks=pytest.mark.campaign)], ids=str)
def test_killed_processes_cost_nothing_but_time(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, steps: range
) -> None:
    """kill -9 of a shard of each party at every one of its tasks, or in the middle of it: till there are no more."""

    def clear(session: Session) -> Tree:
        return id3(engine_of(session, Profile("clear")), PROBLEM, rows(session.party))

    expected = run_local(clear)[0]
    counted = forecast(lambda engine: with_tree(engine, PROBLEM, expected), PROFILE)
    for step in steps:
        with monkeypatch.context() as patched:
            killed = killing(patched, {(0, 0): step, (1, 1): step + 1, (step % 2, 2): 0})
            (left, cost), (right, _) = parties.run(program, program)
        assert left == right == expected
        assert cost.bits_opened == counted.costs[0].bits_opened
        assert multiprocessing.active_children() == []
        if len(killed) == 1:
            break
        assert len(killed) == 3 or len(steps) > 1
    assert len(killed) == 1 or len(steps) == 1


def test_what_has_ended_is_not_killed_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was nobody's child here, who would keep the number from others."""
    shards = object.__new__(Processes)
    shards._processes, shards._ports = {0: _context().Process(target=os.getpid)}, {}
    shards._processes[0].start()
    assert wait([shards._processes[0].sentinel], PATIENCE)
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    shards._end(0)
    assert killed == []


def test_shards_listen_on_the_ports_that_are_named(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where somebody else listens on one of them the next is taken; too few are one line, and the job ends."""
    first = next(port for port in iter(free_port, 0) if port % 8 == 0)
    taken = list[int]()
    take = shard_processes._take

    def noted(host: str, ports: range) -> int:
        taken.append(take(host, ports))
        return taken[-1]

    monkeypatch.setattr(shard_processes, "_take", noted)
    with socket.create_server(("127.0.0.1", first + 1)):
        (left, _), (right, _) = parties.run(program, program, shard_ports=range(first, first + 4))
        assert left == right
        assert taken == [first, first + 2, first + 3]
        ours, _ = parties.run(program, program, shard_ports=range(first, first + 3))
    assert type(ours) is MachineError
    assert str(ours).startswith(f"link.shard_ports: all of {first}-{first + 2} are in use")
    assert not shard_processes._taken


def test_a_peer_hears_nothing_of_where_it_has_us_dial(parties: Parties, monkeypatch: pytest.MonkeyPatch) -> None:
    """Party 0 says where its shards are met: it could say where something of ours is, and ask what that is."""
    banners: list[socket.socket] = []

    def elsewhere(shards: Processes, numbers: Sequence[int]) -> list[Any]:
        (listener := socket.create_server(("127.0.0.1", 0))).settimeout(PATIENCE)
        banners.append(listener)
        threading.Thread(target=_greet, args=(listener,), daemon=True).start()
        return [(_Dead(LinkError("")), door(Address("", listener.getsockname()[1]))) for _ in numbers]

    told, reason = list[str](), opening._public_reason

    def public(error: BaseException) -> str:
        told.append(reason(error))
        return told[-1]

    monkeypatch.setattr(Processes, "_listening", elsewhere)
    monkeypatch.setattr(opening, "_public_reason", public)
    _, ours = parties.run(program, program)
    for listener in banners:
        listener.close()
    assert isinstance(ours, LinkError)
    assert re.match(r"shard 1 of 3 has failed twice; its last error: the program at .* does not use TLS", str(ours))
    assert len(told) == 2
    assert "TLS" not in "".join(told)


@pytest.mark.parametrize(("shards_at", "dialled"), [((), False), (("127.0.0.2",), False), (("127.0.0.3",), True)])
def test_a_peer_has_us_dial_no_host_but_its_own_and_those_we_name(
    parties: Parties, monkeypatch: pytest.MonkeyPatch, shards_at: tuple[str, ...], dialled: bool
) -> None:
    """One line says what was asked for and how it is permitted; the peer hears neither."""
    came: list[int] = []
    with socket.create_server(("127.0.0.3", 0)) as listener:

        def count() -> None:
            with suppress(OSError):
                while True:
                    listener.accept()[0].close()
                    came.append(1)

        threading.Thread(target=count, daemon=True).start()
        place = Address("127.0.0.3", listener.getsockname()[1])
        elsewhere = lambda _, numbers: [(_Dead(LinkError("")), door(place)) for _ in numbers]  # noqa: E731
        monkeypatch.setattr(Processes, "_listening", elsewhere)
        monkeypatch.setattr(shard_processes, "WAIT_SECONDS", 3.0)  # for one who hangs up at once
        theirs, ours = parties.run(program, program, shards_at=shards_at)
    assert bool(came) == dialled
    if not dialled:
        assert str(ours) == (
            "link.shards_at: the peer's shard has the address 127.0.0.3, which is not the host of the session, so it "
            "was not dialled; if this host is the peer's, add the host or its network to link.shards_at"
        )
        assert type(ours) is MachineError
        assert "127.0.0.3" not in str(theirs)
        assert "an error in its own input" in str(theirs)


def test_what_is_wrong_before_there_are_rows_is_the_machines(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is taken, for instance: nothing is charged for it. A token that is away is waited for."""
    own, peer = identities["alice"], identities["bob"]
    ours, theirs = (who.certificate.public_bytes(Encoding.PEM) for who in (own, peer))
    order = Order(own.key_pem, None, ours, theirs, "127.0.0.1:0", None, None, {}, {}, Profile("mixed"), {})
    here, there = multiprocessing.Pipe()
    cases = [(InputError("taken"), MachineError), (TokenError("away"), TokenError), (LinkError("lost"), LinkError)]
    for error, told in cases:
        monkeypatch.setattr(shard_processes, "open_link", Mock(side_effect=error))
        serve(there, order)
        assert type(here.recv().error) is told


def _greet(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            connection.sendall(b"SSH-2.0-inside\r\n")
            connection.close()


BEGINNING = """
from parties.jobs.execution.shard_processes import Processes

if __name__ == "__main__":
    shards = object.__new__(Processes)
    shards._processes = {}
    line = shards._begin(0, None)  # it is told nothing, and ends
    shards._processes[0].join(60)
    assert shards._processes[0].exitcode == 1
"""


UNTOLD = """
import os
from multiprocessing import forkserver
from parties.jobs.execution.shard_processes import _context

if __name__ == "__main__":
    process = _context().Process(target=os.getpid)
    process.start()
    process.join()
    for some in (b"", bytes([128, 4, 149]), b"rows"):  # as of a process that was killed before, and amid, and another's
        status, told = forkserver.connect_to_new_process([])
        os.write(told, some)
        os.close(told)
        while os.read(status, 8):  # its number, how it ended, the end
            pass
    print("all ended")
"""


def test_a_fork_that_is_never_told_its_task_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "untold.py").write_text(UNTOLD)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "untold.py")], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("all ended\n", "")


def test_no_module_of_the_working_directory_is_loaded(tmp_path: Path) -> None:
    """Where commands are typed there may be files by anybody, with names that Python's own modules have."""
    (tmp_path / "begin.py").write_text(BEGINNING)
    (data := tmp_path / "data").mkdir()
    for name in ("selectors", "signal", "parties"):
        (data / f"{name}.py").write_text(f"open('loaded {name}', 'x')")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "begin.py")]
    done = subprocess.run(command, cwd=data, env=environment, check=False, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, sorted(data.glob("loaded *"))) == (0, []), done.stderr

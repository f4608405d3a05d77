"""What the link does when the process of the peer is killed, frozen, busy or interrupted."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from parties.link.frames import MAX_FRAME_BYTES
from smc.errors import LinkError
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

CHILD = """if True:
    import ctypes, sys, time
    from pathlib import Path
    from parties.link.identity import load_certificate, load_identity
    from parties.link.opening import open_link
    from parties.link.options import LinkOptions
    from smc.errors import SmcError
    own, peer, side, address, keepalive, body = sys.argv[1:]
    identity = load_identity(Path(own + ".key"), Path(own + ".crt"))
    tell = lambda text: print(text, flush=True)
    options = LinkOptions(
        identity, load_certificate(Path(peer)), **{side: address}, on_listening=tell, keepalive=float(keepalive),
        wait=60, timeout=60,
    )
    try:
        if side == "connect":
            tell("dialling")
        with open_link(options, {"protocol": "test", "tolerance": 0.001}) as link:
            channel = link.channel
            exec(body)
    except SmcError as error:
        sys.exit(f"{type(error).__name__}: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted here")
    """


def child(parties, own, peer, side, address, body, keepalive=10.0):
    """A party in a process of its own."""
    identity = parties.identities[own]
    arguments = [identity.key_path.with_suffix(""), parties.identities[peer].certificate_path, side, address]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *map(str, arguments), str(keepalive), body],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def dialling_child(parties, address, body, keepalive=10.0) -> Iterator[subprocess.Popen[str]]:
    process = child(parties, "bob", "alice", "connect", address, body, keepalive)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


@contextmanager
def listening_child(parties, body, keepalive=10.0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = child(parties, "alice", "bob", "listen", "127.0.0.1:0", body, keepalive)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("at", ["receiving", "in the middle of a message", "sending"])
def test_killed_dialler_is_noticed_at_once(parties, at):
    def program(link):
        assert bytes(link.channel.receive("ready", 5)) == b"ready"
        os.kill(process.pid, signal.SIGKILL)
        if at == "sending":
            while True:
                link.channel.send("flood", bytes(1024 * 1024))
        link.channel.receive("next", 1 if at == "receiving" else 64 * 1024 * 1024)

    body = "channel.send('ready', b'ready')\n"
    body += "channel.send('next', bytes(1 << 26))\n" if "middle" in at else ""
    body += "time.sleep(60)"
    listening, address = parties.listen(program, timeout=30.0)
    with dialling_child(parties, address, body) as process:
        error = listening.outcome()
    assert isinstance(error, LinkError)
    assert f"lost the peer bob at step '{'flood' if at == 'sending' else 'next'}'" in str(error)


def test_killed_listener_is_noticed_at_once(parties):
    def program(link):
        link.channel.receive("ready", 5)
        os.kill(process.pid, signal.SIGKILL)
        link.channel.receive("next", 1)

    with listening_child(parties, "channel.send('ready', b'ready'); time.sleep(60)") as (process, address):
        error = parties.connect(address, program, timeout=30.0).outcome()
    assert isinstance(error, LinkError)
    assert "lost the peer alice at step 'next'" in str(error)


@pytest.mark.parametrize("frozen", ["dialler", "listener"])
def test_frozen_peer_is_found_by_keepalive(parties, frozen):
    def program(link):
        link.channel.receive("ready", 5)
        os.kill(process.pid, signal.SIGSTOP)
        link.channel.receive("next", 1)

    body = "channel.send('ready', b'ready'); time.sleep(60)"
    if frozen == "dialler":
        party, address = parties.listen(program, keepalive=0.4, timeout=60.0)
        with dialling_child(parties, address, body) as process:
            error = party.outcome()
    else:
        with listening_child(parties, body) as (process, address):
            error = parties.connect(address, program, keepalive=0.4, timeout=60.0).outcome()
    assert isinstance(error, LinkError)
    assert "at step 'next'" in str(error)
    assert str(error).startswith("lost the peer")


def test_busy_peer_that_holds_the_interpreter_is_not_taken_for_dead(parties):
    def program(link):
        return bytes(link.channel.receive("late", 4))

    listening, address = parties.listen(program, keepalive=0.3, timeout=20.0)
    hold = "ctypes.PyDLL(None).usleep(1_500_000); channel.send('late', b'late')"
    with dialling_child(parties, address, hold, keepalive=0.3):
        assert listening.outcome() == b"late"


def test_interrupted_peer_says_so_and_exits_without_noise(parties):
    def program(link):
        link.channel.receive("ready", 5)
        time.sleep(0.3)  # until it waits in turn
        process.send_signal(signal.SIGINT)
        link.channel.receive("next", 1)

    listening, address = parties.listen(program)
    body = "channel.send('ready', b'ready'); channel.receive('never', 1)"
    with dialling_child(parties, address, body) as process:
        error = listening.outcome()
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert "bob gave up at step 'never': interrupted" in str(error)
    assert (stdout, stderr) == ("dialling\n", "interrupted here\n")


@pytest.mark.parametrize("side", ["listening", "dialling"])
def test_interrupted_while_the_peer_has_not_come(parties, side):
    if side == "listening":
        with listening_child(parties, "") as (process, _):
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=PATIENCE)
    else:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            with dialling_child(parties, f"127.0.0.1:{nobody.getsockname()[1]}", "") as process:
                assert process.stdout.readline() == "dialling\n"
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (stdout, stderr) == ("", "interrupted here\n")


def test_no_library_writes_to_the_terminal(parties):
    """Strangers, garbage and an untrusted dialler, and then nothing but our one line."""
    with listening_child(parties, "channel.receive('x', 1)") as (process, address):
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as stranger:
            stranger.sendall(os.urandom(500))
        assert isinstance(parties.connect(address, lambda link: None, own="mallory").outcome(), LinkError)
        with parties.rogue(address) as peer:
            peer.hello()
            peer.raw(bytes(MAX_FRAME_BYTES + 1))
            stdout, stderr = process.communicate(timeout=PATIENCE)
    assert stdout == ""
    assert stderr.startswith("LinkError: lost the peer bob at step 'x'")
    assert stderr.count("\n") == 1

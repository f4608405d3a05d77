"""What the link does when the peer dies, stops, gives up, floods, or says what no honest party says."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from parties.link.channel import GrpcChannel
from parties.link.frames import CHUNK_BYTES, MAX_FRAME_BYTES
from parties.link.outbox import Outbox, OutboxClosedError, OutboxStuckError
from proto.exchange_pb2 import ABORT, DATA, GOODBYE, HELLO, Hello
from smc.errors import InputError, JobMismatchError, LinkError, ProtocolError

ROOT = Path(__file__).resolve().parents[3]

CHILD = """if True:
    import ctypes, sys, time
    from pathlib import Path
    from parties.identity import load_certificate, load_identity
    from parties.link.opening import open_link
    from parties.link.options import LinkOptions
    from smc.errors import SmcError
    own, peer, side, address, keepalive, body = sys.argv[1:]
    identity = load_identity(Path(own + ".key"), Path(own + ".crt"))
    tell = lambda text: print(text, flush=True)
    options = LinkOptions(
        identity, load_certificate(Path(peer)), **{side: address}, on_listening=tell, keepalive=float(keepalive),
        wait=10, timeout=10,
    )
    try:
        if side == "connect":
            tell("dialling")
        with open_link(options, {"protocol": "test", "delta": 0.001}) as link:
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
        env={**os.environ, "PYTHONPATH": str(ROOT)},
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
        process.communicate(timeout=10)


@contextmanager
def listening_child(parties, body, keepalive=10.0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = child(parties, "alice", "bob", "listen", "127.0.0.1:0", body, keepalive)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate(timeout=10)


# -- the peer dies, stops, or gives up ---------------------------------------------------------------------------


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
        error = listening.outcome(15)
    assert isinstance(error, LinkError)
    assert f"lost the peer bob at step '{'flood' if at == 'sending' else 'next'}'" in str(error)


def test_killed_listener_is_noticed_at_once(parties):
    def program(link):
        link.channel.receive("ready", 5)
        os.kill(process.pid, signal.SIGKILL)
        link.channel.receive("next", 1)

    with listening_child(parties, "channel.send('ready', b'ready'); time.sleep(60)") as (process, address):
        error = parties.connect(address, program, timeout=30.0).outcome(15)
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
            error = party.outcome(15)
    else:
        with listening_child(parties, body) as (process, address):
            error = parties.connect(address, program, keepalive=0.4, timeout=60.0).outcome(15)
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
        stdout, stderr = process.communicate(timeout=5)
    assert "bob gave up at step 'never': interrupted" in str(error)
    assert (stdout, stderr) == ("dialling\n", "interrupted here\n")


@pytest.mark.parametrize("side", ["listening", "dialling"])
def test_interrupted_while_the_peer_has_not_come(parties, side):
    if side == "listening":
        with listening_child(parties, "") as (process, _):
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=5)
    else:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            with dialling_child(parties, f"127.0.0.1:{nobody.getsockname()[1]}", "") as process:
                assert process.stdout.readline() == "dialling\n"
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate(timeout=5)
    assert (stdout, stderr) == ("", "interrupted here\n")


def test_no_library_writes_to_the_terminal(parties):
    """Strangers, garbage and an untrusted dialler, and then nothing but our one line."""
    with listening_child(parties, "channel.receive('x', 1)") as (process, address):
        host, port = address.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as stranger:
            stranger.sendall(os.urandom(500))
        assert isinstance(parties.connect(address, lambda link: None, own="mallory").outcome(), LinkError)
        with parties.rogue(address) as peer:
            peer.hello()
            peer.raw(bytes(MAX_FRAME_BYTES + 1))
            stdout, stderr = process.communicate(timeout=10)
    assert stdout == ""
    assert stderr.startswith("LinkError: lost the peer bob at step 'x'")
    assert stderr.count("\n") == 1


SECRET = "salary 123456"


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ProtocolError("frame 7 is odd"), "ProtocolError: frame 7 is odd"),
        (KeyboardInterrupt(), "interrupted"),
        (InputError(SECRET), "an error in its own input"),
        (ValueError(SECRET), "internal error"),
        (LinkError("two\nlines"), "LinkError: two lines"),
    ],
)
@pytest.mark.parametrize("failing", [0, 1])
def test_reason_of_giving_up_reaches_the_peer_but_no_secret(parties, failure, reason, failing):
    def program(link):
        link.channel.send("first", b"1")
        link.channel.receive("first", 1)
        if link.party == failing:
            raise failure
        link.channel.receive("next", 1)

    outcome = parties.run(program, program)
    assert outcome[failing] is failure
    name = ("alice", "bob")[failing]
    assert str(outcome[1 - failing]) == f"{name} gave up at step 'first': {reason}"
    assert type(outcome[1 - failing]) is LinkError


@pytest.mark.parametrize("failing", [0, 1])
def test_giving_up_stops_a_peer_that_only_sends(parties, failing):
    def program(link):
        if link.party == failing:
            raise ValueError
        for _ in range(500):
            link.channel.send("flood", bytes(1024 * 1024))
        link.channel.receive("end", 1)

    error = parties.run(program, program)[1 - failing]
    assert isinstance(error, LinkError)


# -- deadlines and back-pressure ---------------------------------------------------------------------------------


@pytest.mark.parametrize("waiting", [0, 1])
def test_silent_peer_is_an_error_that_names_it_step_and_seconds(parties, waiting):
    ready = threading.Event()

    def program(link):
        if link.party == waiting:
            try:
                link.channel.receive("answer", 1)
            finally:
                ready.set()
        assert ready.wait(10)
        link.channel.receive("more", 1)

    outcome = parties.run(program, program, timeout=0.4)
    names = ("alice", "bob")
    assert str(outcome[waiting]) == f"{names[1 - waiting]} was silent for 0.4 s at step 'answer'"
    assert isinstance(outcome[1 - waiting], LinkError)


def test_sender_to_a_peer_that_does_not_read_blocks_and_then_fails_with_bounded_memory(parties):
    stop = threading.Event()
    sent = 0
    process = psutil.Process()

    def left(link):
        nonlocal sent
        before = process.memory_info().rss
        try:
            for _ in range(1000):
                link.channel.send("flood", bytes(1024 * 1024))
                sent += 1
        finally:
            left.grown = process.memory_info().rss - before
            stop.set()

    def right(link):
        assert stop.wait(10)

    error = parties.run(left, right, timeout=0.5, buffer=4 * 1024 * 1024, goodbye=0.5)[0]
    assert str(error) == "bob took nothing for 0.5 s at step 'flood'"
    assert 4 <= sent < 64
    assert left.grown < 128 * 1024 * 1024


def test_slow_reader_is_waited_for_longer_than_the_timeout_while_it_reads(parties):
    def left(link):
        for _ in range(24):
            link.channel.send("flood", bytes(1024 * 1024))

    def right(link):
        for _ in range(24):
            time.sleep(0.05)
            link.channel.receive("flood", 1024 * 1024)

    assert parties.run(left, right, timeout=0.6, buffer=1024 * 1024) == (None, None)


def test_outbox_bounds_bytes_admits_one_large_message_and_closes():
    outbox = Outbox(10)
    outbox.admit(0.01)
    for _ in range(3):
        outbox.append(b"12345")
    with pytest.raises(OutboxStuckError):
        outbox.admit(0.01)
    assert next(outbox) == b"12345"
    with pytest.raises(OutboxStuckError):
        outbox.admit(0.01)
    assert next(outbox) == b"12345"
    outbox.admit(0.01)
    outbox.close()
    with pytest.raises(OutboxClosedError):
        outbox.admit(0.01)
    assert list(outbox) == [b"12345"]


def test_outbox_discards_on_demand():
    outbox = Outbox(10)
    outbox.append(b"gone")
    outbox.close(discard=True)
    assert list(outbox) == []


# -- a trusted peer that says what no honest party says ----------------------------------------------------------


def data(sequence, payload=b"abcd", **fields):
    return {"sequence": sequence, "kind": DATA, "step": "x", "payload": payload, **fields}


CHUNK = bytes(CHUNK_BYTES)


@pytest.mark.parametrize(
    ("size", "frames", "message"),
    [
        (4, [data(1, b"abc")], "sent 3 bytes at step 'x', expected 4"),
        (4, [data(1, b"")], "sent 0 bytes at step 'x', expected 4"),
        (4, [data(1, b"abcde")], "sent 5 bytes at step 'x', expected 4"),
        (4, [data(1, CHUNK, more=True)], "more bytes at step 'x' than the 4 that were due"),
        (CHUNK_BYTES + 1, [data(1, CHUNK)], f"sent {CHUNK_BYTES} bytes at step 'x', expected {CHUNK_BYTES + 1}"),
        (CHUNK_BYTES + 1, [data(1, CHUNK, more=True), data(2, b"")], f"sent {CHUNK_BYTES} bytes"),
        (CHUNK_BYTES + 1, [data(1, CHUNK, more=True), data(2, b"ab")], f"sent {CHUNK_BYTES + 2} bytes"),
        (CHUNK_BYTES + 1, [data(1, CHUNK, more=True), data(2, CHUNK, more=True)], "than the 1 that were due"),
        (CHUNK_BYTES + 1, [data(1, b"", more=True)], "a piece of 0 bytes"),
        (CHUNK_BYTES + 1, [data(1, CHUNK, more=True), data(2, b"a", step="y")], "at step 'y' while this party is"),
        (4, [data(0)], "frame 0 where frame 1 was due"),
        (4, [data(2)], "frame 2 where frame 1 was due"),
        (2 * CHUNK_BYTES, [data(1, CHUNK, more=True), data(1, CHUNK)], "frame 1 where frame 2 was due"),
        (4, [data(1, step="y")], "the peer is at step 'y' while this party is at step 'x'"),
        (4, [data(1, step="y" * 1000)], "unreadable step label"),
        (4, [data(1, step="x\n\x1b[2J")], "unreadable step label"),
        (4, [data(1, kind=77)], "unknown kind 77"),
        (4, [data(1, kind=0)], "unknown kind 0"),
        (4, [data(1, kind=HELLO)], "sent HELLO at step 'x', expected DATA"),
        (4, [data(1, kind=GOODBYE)], "ended the session while this party is at step 'x'"),
    ],
)
def test_wrong_frames_are_protocol_errors(parties, size, frames, message):
    listening, address = parties.listen(lambda link: link.channel.receive("x", size))
    with parties.rogue(address) as peer:
        peer.hello()
        for frame in frames:
            peer.frame(**frame)
        error = listening.outcome()
        reply = peer.read()
    assert type(error) is ProtocolError
    assert message in str(error)
    assert reply.kind == ABORT
    assert message in reply.payload.decode()


@pytest.mark.parametrize("noise", [b"\xff" * 40, b"\x08", b"\x1a\x02\xff\xfe", b"GET / HTTP/1.1", b""])
def test_bytes_that_are_no_frame(parties, noise):
    listening, address = parties.listen(lambda link: link.channel.receive("x", 1))
    with parties.rogue(address) as peer:
        peer.hello()
        peer.raw(noise)
        assert type(listening.outcome()) is ProtocolError


def test_frame_above_the_limit_is_refused_by_grpc(parties):
    listening, address = parties.listen(lambda link: link.channel.receive("x", 4 * MAX_FRAME_BYTES))
    with parties.rogue(address) as peer:
        peer.hello()
        peer.frame(**data(1, bytes(MAX_FRAME_BYTES)))
        error = listening.outcome()
    assert isinstance(error, LinkError)
    assert "lost the peer bob at step 'x'" in str(error)


def test_abort_reason_from_outside_is_one_short_line(parties):
    listening, address = parties.listen(lambda link: link.channel.receive("x", 4))
    with parties.rogue(address) as peer:
        peer.hello()
        peer.frame(**data(1, b"\x1b[31mred\n\xff" + b"a" * 5000, kind=ABORT))
        error = str(listening.outcome())
    assert error.startswith("bob gave up at step 'x':  [31mred")
    assert error.isprintable()
    assert len(error) < 400


def test_message_after_our_last_one(parties):
    listening, address = parties.listen(lambda link: None)
    with parties.rogue(address) as peer:
        peer.hello()
        peer.frame(**data(1))
        error = listening.outcome()
    assert type(error) is ProtocolError
    assert "the peer is at step 'x' while this party has finished" in str(error)


def test_peer_that_never_says_goodbye(parties):
    listening, address = parties.listen(lambda link: None, goodbye=0.3)
    with parties.rogue(address) as peer:
        peer.hello()
        error = listening.outcome()
    assert str(error) == "bob was silent for 0.3 s at step 'goodbye'"


def test_peer_that_hangs_up_without_a_word(parties):
    listening, address = parties.listen(lambda link: link.channel.receive("x", 4))
    with parties.rogue(address) as peer:
        peer.hello()
        peer.hang_up()
        error = listening.outcome()
    assert str(error) == "lost the peer bob at step 'x': the connection ended"


# -- hellos --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"job": "{"}, ProtocolError, "the peer's job is not JSON"),
        ({"job": "[" * 100_000}, ProtocolError, "the peer's job is not JSON"),
        ({"job": '{"delta":NaN}'}, ProtocolError, "the peer's job is not JSON"),
        ({"job": '{"delta":1e999}'}, ProtocolError, "the peer's job is not JSON"),
        ({"job": "[]"}, ProtocolError, "the peer's job is not a JSON object"),
        ({"job": '{ "delta": 0.001, "protocol": "test"}'}, ProtocolError, "not in canonical form"),
        ({"party": 0}, ProtocolError, "says that it is party 0, expected party 1"),
        ({"party": 2}, ProtocolError, "says that it is party 2, expected party 1"),
        ({"nonce": b"short"}, ProtocolError, "no fresh nonce"),
        ({"nonce": b""}, ProtocolError, "no fresh nonce"),
        ({"wire_version": 9}, JobMismatchError, "wire version: ours 2, peer's 9"),
        (
            {"job": '{"a":1,"protocol":"test"}'},
            JobMismatchError,
            "a: ours nothing, peer's 1; delta: ours 0.001, peer's nothing",
        ),
        ({"job": '{"a":1}'}, JobMismatchError, 'jobs: protocol: ours "test", peer\'s nothing'),
    ],
)
def test_hellos_of_no_honest_party(parties, changes, kind, message):
    listening, address = parties.listen(lambda link: None, goodbye=0.3)
    with parties.rogue(address) as peer:
        peer.hello(**changes)
        error = listening.outcome()
    assert type(error) is kind
    assert message in str(error)


def test_reflected_nonce(parties):
    listening, address = parties.listen(lambda link: None)
    with parties.rogue(address) as peer:
        theirs = Hello.FromString(peer.read().payload)
        theirs.party = 1
        peer.frame(sequence=0, kind=HELLO, step="hello", payload=theirs.SerializeToString())
        assert "no fresh nonce" in str(listening.outcome())


def test_first_frame_that_is_no_hello(parties):
    listening, address = parties.listen(lambda link: None)
    with parties.rogue(address) as peer:
        peer.frame(**data(0))
        assert "first frame is DATA, expected HELLO" in str(listening.outcome())


def test_unreadable_hello(parties):
    listening, address = parties.listen(lambda link: None)
    with parties.rogue(address) as peer:
        peer.frame(sequence=0, kind=HELLO, step="hello", payload=b"\xff\xff")
        assert "hello is unreadable" in str(listening.outcome())


def test_no_hello_at_all(parties):
    listening, address = parties.listen(lambda link: None, timeout=0.3)
    with parties.rogue(address) as peer:
        error = listening.outcome()
        assert peer.read().kind == HELLO
    assert str(error) == "bob was silent for 0.3 s at step 'hello'"


# -- the channel over a stream that is over ----------------------------------------------------------------------


def test_send_after_the_end_is_a_link_error():
    outbox = Outbox(10)
    outbox.close()
    stream = SimpleNamespace(outbox=outbox, cause="the connection ended")
    channel = GrpcChannel(stream, "bob", 1.0)
    with pytest.raises(LinkError, match="lost the peer bob at step 's': the connection ended"):
        channel.send("s", b"")
    channel.close()

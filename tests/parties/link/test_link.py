"""The link between two honest parties over real gRPC, and what TLS refuses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import grpc
import numpy as np
import pytest

from parties.link import preflight
from parties.link.frames import CHUNK_BYTES
from parties.link.identity import short_fingerprint
from parties.link.opening import Link, open_link
from smc.errors import InputError, JobMismatchError, JointRefusalError, LinkError, ProtocolError
from tests.support.places import ENVIRONMENT
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

JOB = {"protocol": "test"}
SIZES = [0, 1, 255 * 1024, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 5 * 1024 * 1024]


def nothing(link):
    return None


@pytest.mark.parametrize("sender", [0, 1])
def test_messages_of_all_sizes_arrive_unchanged(parties, sender):
    messages = [np.random.default_rng(size).bytes(size) for size in SIZES]

    def program(link):
        if link.party == sender:
            for message in messages:
                link.channel.send("data", message)
            return None
        return [bytes(link.channel.receive("data", size)) for size in SIZES]

    outcome = parties.run(program, program)
    assert outcome[1 - sender] == messages


def test_buffer_may_be_reused_and_other_buffers_are_accepted(parties):
    def left(link):
        buffer = bytearray(b"first")
        link.channel.send("a", buffer)
        buffer[:] = b"other"
        link.channel.send("b", memoryview(buffer))
        link.channel.send("c", np.arange(4, dtype=np.uint64).reshape(2, 2).data)

    def right(link):
        return [bytes(link.channel.receive(step, size)) for step, size in (("a", 5), ("b", 5), ("c", 32))]

    assert parties.run(left, right)[1] == [b"first", b"other", np.arange(4, dtype=np.uint64).tobytes()]


def test_sessions_agree_on_identifier_and_never_repeat_it(parties):
    def program(link):
        session = link.session()
        assert session is link.session()
        session.send("words", np.arange(3, dtype=np.uint64) + session.party)
        return session.party, session.identifier, session.receive("words", np.uint64, (3,)).tolist()

    (p0, id0, words0), (p1, id1, words1) = parties.run(program, program)
    assert (p0, p1, words0, words1) == (0, 1, [1, 2, 3], [0, 1, 2])
    assert id0 == id1
    assert parties.run(program, program)[0][1] != id0


def test_both_may_send_more_than_the_buffer_before_they_receive(parties):
    size = 3 * 1024 * 1024

    def program(link):
        link.channel.send("mask", bytes(size))
        return len(link.channel.receive("mask", size))

    assert parties.run(program, program, buffer=64 * 1024) == (size, size)


def test_dialling_party_may_start_first(parties):
    port = free_port()
    dialling = parties.connect(f"localhost:{port}", nothing)
    time.sleep(0.3)
    listening, _ = parties.listen(nothing, listen=f"127.0.0.1:{port}")
    assert (listening.outcome(), dialling.outcome()) == (None, None)


def test_who_comes_late_is_dialled_at_once_and_looked_at_only_if_that_fails(parties, monkeypatch, enough):
    looked_at = []
    monkeypatch.setattr(preflight, "_examine", lambda connection, *_: looked_at.append(connection))
    refused, attempt = threading.Event(), socket.create_connection

    def connect(*arguments, **named):
        try:
            return attempt(*arguments, **named)
        except ConnectionRefusedError:
            refused.set()
            raise

    monkeypatch.setattr(preflight.socket, "create_connection", connect)
    port = free_port()
    for own, looks in (("bob", 0), ("mallory", 1)):
        refused.clear()
        dialling = parties.connect(f"127.0.0.1:{port}", nothing, own=own)
        assert refused.wait(PATIENCE)
        listening, _ = parties.listen(nothing, listen=f"127.0.0.1:{port}", wait=0.1 if looks else PATIENCE)
        assert (dialling.outcome() is None) == (looks == 0)
        enough.set()
        assert (listening.outcome() is None) == (looks == 0)
        assert len(looked_at) == looks


def test_a_connection_that_is_no_more_is_dialled_anew(parties):
    closed, dead = (grpc.insecure_channel(f"127.0.0.1:{free_port()}") for _ in range(2))
    closed.close()
    with dead:
        for connection in (closed, dead):
            listening, address = parties.listen(nothing)
            assert parties.connect(address, nothing, connection=connection).outcome() is None
            assert listening.outcome() is None


def test_ipv6(parties):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 loopback here")
    listening, address = parties.listen(nothing, listen="[::1]:0")
    assert address.startswith("[::1]:")
    assert parties.connect(address, nothing).outcome() is None
    assert listening.outcome() is None


def test_finish_may_be_called_early_and_twice(parties):
    def program(link):
        link.finish()
        link.finish()
        return "done"

    assert parties.run(program, program) == ("done", "done")


def test_last_message_arrives_though_the_sender_exits_at_once(parties):
    size = 20 * 1024 * 1024
    script = f"""if True:
        import sys
        from pathlib import Path
        from parties.link.identity import load_certificate, load_identity
        from parties.link.opening import open_link
        from parties.link.options import LinkOptions
        own, peer, address = sys.argv[1:]
        identity = load_identity(Path(own + ".key"), Path(own + ".crt"))
        options = LinkOptions(identity, load_certificate(Path(peer)), connect=address)
        with open_link(options, {{"protocol": "test", "tolerance": 0.001}}) as link:
            link.channel.send("last", bytes({size}))
        """

    def late(link):
        time.sleep(0.3)
        return len(link.channel.receive("last", size))

    listening, address = parties.listen(late)
    own = parties.identities["bob"].key_path.with_suffix("")
    peer = parties.identities["alice"].certificate_path
    done = subprocess.run(
        [sys.executable, "-c", script, own, peer, address],
        env=ENVIRONMENT,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert listening.outcome() == size


def test_no_thread_or_port_remains(parties):
    before = {thread.name for thread in threading.enumerate() if not thread.daemon}
    listening, address = parties.listen(nothing)
    dialling = parties.connect(address, nothing)
    assert (listening.outcome(), dialling.outcome()) == (None, None)
    eventually(lambda: not {thread.name for thread in threading.enumerate() if not thread.daemon} - before)
    again, _ = parties.listen(nothing, listen=address, wait=0.2)
    assert "no trusted peer connected" in str(again.outcome())


def test_different_jobs_end_both_sides_with_both_values(parties):
    listening, address = parties.listen(nothing, {"delta": 0.001, "schema": {"digest": "aa"}, "same": 1})
    dialling = parties.connect(address, nothing, {"delta": 0.01, "schema": {"digest": "bb"}, "same": 1})
    ours, theirs = listening.outcome(), dialling.outcome()
    assert type(ours) is type(theirs) is JobMismatchError
    assert "delta: ours 0.001, peer's 0.01" in str(ours)
    assert "delta: ours 0.01, peer's 0.001" in str(theirs)
    assert 'schema.digest: ours "aa", peer\'s "bb"' in str(ours)
    assert "same" not in str(ours)


def test_different_wire_versions_end_both_sides(parties, monkeypatch):
    listening, address = parties.listen(nothing)
    monkeypatch.setattr("parties.link.handshake.WIRE_VERSION", 9)
    dialling = parties.connect(address, nothing)
    ours, theirs = listening.outcome(), dialling.outcome()
    assert type(ours) is type(theirs) is JobMismatchError
    assert "wire version: ours 8, peer's 9" in str(ours)
    assert "wire version: ours 9, peer's 8" in str(theirs)


def test_listener_with_another_certificate_is_refused(parties, enough):
    listening, address = parties.listen(nothing, own="mallory", wait=0.1)
    error = parties.connect(address, nothing).outcome()
    enough.set()
    assert isinstance(error, LinkError)
    assert f"the peer at {address} presents certificate" in str(error)
    assert "(mallory), expected" in str(error)
    assert "(alice); check --peer" in str(error)
    assert "no trusted peer connected" in str(listening.outcome())


def test_dialler_that_the_listener_does_not_trust_is_told_so(parties, enough):
    listening, address = parties.listen(nothing, wait=0.1)
    error = parties.connect(address, nothing, own="mallory").outcome()
    enough.set()
    assert isinstance(error, LinkError)
    own, expected = (short_fingerprint(parties.identities[name].certificate) for name in ("mallory", "bob"))
    assert f"does not trust our certificate mallory {own}; it must be given as --peer there, or as a peer" in str(error)
    refusal = listening.outcome()
    assert isinstance(refusal, LinkError)
    assert f"expecting certificate bob {expected}; a peer with another certificate" in str(refusal)


@pytest.mark.parametrize("impostor", ["alice", "mallory"])
def test_grpc_itself_refuses_wrong_pins(parties, monkeypatch, enough, impostor):
    """Without the preflight, so that TLS alone must do it: a false listener, then a false dialler."""
    monkeypatch.setattr("parties.link.opening.await_peer", lambda *arguments: True)
    false_listener = impostor == "mallory"
    listening, address = parties.listen(nothing, own="mallory" if false_listener else "alice", wait=0.1)
    error = parties.connect(address, nothing, own="bob" if false_listener else "mallory").outcome()
    enough.set()
    assert isinstance(error, LinkError)
    assert "lost the peer alice at step 'hello'" in str(error)
    assert "no trusted peer connected" in str(listening.outcome())


def test_strangers_and_garbage_do_not_disturb_the_listener(parties):
    listening, address = parties.listen(nothing)
    host, port = address.split(":")
    for noise in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(2000), b"\x16\x03\x01\x02\x00" + os.urandom(600)):
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as stranger:
            stranger.sendall(noise)
    silent = socket.create_connection((host, int(port)), timeout=PATIENCE)
    assert isinstance(parties.connect(address, nothing, own="mallory").outcome(), LinkError)
    assert parties.connect(address, nothing).outcome() is None
    assert listening.outcome() is None
    silent.close()


def test_second_trusted_stream_is_refused_and_the_first_lives_on(parties):
    release = threading.Event()

    def left(link):
        assert release.wait(PATIENCE)
        return bytes(link.channel.receive("x", 1))

    listening, address = parties.listen(left)
    ready = threading.Event()

    def right(link):
        ready.set()
        assert release.wait(PATIENCE)
        link.channel.send("x", b"x")

    first = parties.connect(address, right)
    assert ready.wait(PATIENCE)
    second = parties.connect(address, nothing).outcome()
    assert isinstance(second, LinkError)
    assert "is in another session" in str(second)
    release.set()
    assert (listening.outcome(), first.outcome()) == (b"x", None)


def test_port_in_use_is_an_input_error(parties, enough):
    listening, address = parties.listen(nothing, wait=0.1)
    with (
        pytest.raises(InputError, match=rf"cannot listen on {address}: Address already in use"),
        open_link(parties.options("alice", "bob", listen=address), JOB),
    ):
        pass
    enough.set()
    assert isinstance(listening.outcome(), LinkError)


@pytest.mark.parametrize("address", ["192.0.2.99:7000", "no-such-host.invalid:7000"])
def test_address_that_is_not_ours_is_an_input_error(parties, address):
    with (
        pytest.raises(InputError, match=f"cannot listen on {address}: "),
        open_link(parties.options("alice", "bob", listen=address), JOB),
    ):
        pass


def test_nobody_there(parties):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        error = parties.connect(f"127.0.0.1:{probe.getsockname()[1]}", nothing, wait=0.3).outcome()
    assert isinstance(error, LinkError)
    assert "no answer from alice at 127.0.0.1" in str(error)
    assert "within 0.3 s (Connection refused)" in str(error)


def serve_once(answer: bytes) -> tuple[str, socket.socket]:
    """A server that answers everything with `answer` (nothing: silence), and is no party."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                if answer:
                    connection.sendall(answer)
                else:
                    time.sleep(1)

    threading.Thread(target=serve, daemon=True).start()
    return "127.0.0.1:" + str(server.getsockname()[1]), server


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not use TLS"),
        (b"SSH-2.0-server\r\n", "does not use TLS"),
        (b"", "no answer from alice"),
    ],
)
def test_another_program_on_the_port(parties, answer, message):
    address, server = serve_once(answer)
    with server:
        error = parties.connect(address, nothing, wait=0.4).outcome()
    assert isinstance(error, LinkError)
    assert message in str(error)


def test_unknown_host_is_reported_at_once(parties):
    error = parties.connect("no-such-host.invalid:7000", nothing, wait=0.5).outcome()
    assert isinstance(error, LinkError)
    assert "no-such-host.invalid:7000" in str(error)


def test_options_are_checked(parties):
    with pytest.raises(InputError, match="either to listen on or to connect to"):
        parties.options("alice", "bob")
    with pytest.raises(InputError, match="either to listen on or to connect to"):
        parties.options("alice", "bob", listen="a:1", connect="b:1")
    with pytest.raises(InputError, match="timeout must be more than 0"):
        parties.options("alice", "bob", listen="a:1", timeout=0)
    with pytest.raises(InputError, match="certificate is our own"):
        parties.options("alice", "alice", listen="a:1")


def test_what_both_have_come_to_is_compared_at_the_end(parties) -> None:
    def ending(word: bytes) -> Any:
        return lambda link: link.finish(word) or word

    assert parties.run(ending(b"a"), ending(b"a")) == (b"a", b"a")
    for left, right in ((b"a", b"b"), (b"a", b""), (b"", b"a")):
        for error in parties.run(ending(left), ending(right)):
            assert isinstance(error, ProtocolError)
            assert "have come to different results" in str(error)


def test_a_joint_refusal_is_one_of_both_or_the_peers_fault(parties) -> None:
    def refusing(text: str) -> Any:
        def program(link: Link) -> None:
            raise JointRefusalError(text)

        return program

    both = parties.run(refusing("too few"), refusing("too few"))
    assert [(type(error), str(error)) for error in both] == [(JointRefusalError, "too few")] * 2
    for ours, theirs in (("too few", "too many"), ("too few", None)):
        other = refusing(theirs) if theirs is not None else lambda link: link.finish(b"a result")
        for error in parties.run(refusing(ours), other):
            assert isinstance(error, ProtocolError)

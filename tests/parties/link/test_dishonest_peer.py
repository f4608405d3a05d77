"""What the link does when a trusted peer says what no honest party says."""

from __future__ import annotations

import pytest

from parties.link.exchange_pb2 import ABORT, DATA, GOODBYE, HELLO, Hello
from parties.link.frames import CHUNK_BYTES, MAX_FRAME_BYTES
from smc.errors import JobMismatchError, LinkError, ProtocolError

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"job": "{"}, ProtocolError, "the peer's job is not JSON"),
        ({"job": "[" * 100_000}, ProtocolError, "the peer's job is not JSON"),
        ({"job": '{"delta":NaN}'}, ProtocolError, "the peer's job is not JSON"),
        ({"job": '{"delta":1e999}'}, ProtocolError, "the peer's job is not JSON"),
        ({"job": "[]"}, ProtocolError, "the peer's job is not a JSON object"),
        ({"job": '{ "protocol": "test", "tolerance": 0.001}'}, ProtocolError, "not in canonical form"),
        ({"party": 0}, ProtocolError, "says that it is party 0, expected party 1"),
        ({"party": 2}, ProtocolError, "says that it is party 2, expected party 1"),
        ({"nonce": b"short"}, ProtocolError, "no fresh nonce"),
        ({"nonce": b""}, ProtocolError, "no fresh nonce"),
        ({"wire_version": 9}, JobMismatchError, "wire version: ours 8, peer's 9"),
        (
            {"job": '{"a":1,"protocol":"test"}'},
            JobMismatchError,
            "a: ours nothing, peer's 1; tolerance: ours 0.001, peer's nothing",
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

"""The data connection: the same session over it, its records, and one clear line for all that can fail."""

from __future__ import annotations

import socket
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from parties.link import data_connection
from parties.link.data_connection import TAG_BYTES, DataStream, RecordKeys
from parties.link.outbox import Outbox
from parties.link.transport import Stream
from smc.errors import LinkError, MachineError
from smc.link_shape import LinkShape
from tests.support.waiting import PATIENCE

KEY = bytes(range(32))
SIZES = (0, 1, 4096, 70_000, 1 << 20, (3 << 20) + 1)
ANY_PORT = (0,)


def is_over_it(link: Any) -> bool:
    return isinstance(link.channel._stream, DataStream)


def program(link: Any) -> tuple[bool, int]:
    """Send and receive messages of all sizes; return whether they used a data connection, and the bytes counted."""
    session = link.session()
    for size in SIZES:
        sent = np.full(size, 7 + link.party, dtype=np.uint8)
        session.send(f"of {size}", sent)
        assert np.array_equal(session.receive(f"of {size}", np.uint8, (size,)), sent ^ 15)
    return is_over_it(link), session.meter.total.bytes_sent


def test_a_session_counts_the_same_bytes_with_it_and_without(parties):
    (with_it, counted), _ = parties.run(program, program, data_ports=ANY_PORT)
    (without, counted_without), _ = parties.run(program, program)
    assert (with_it, without) == (True, False)
    assert counted == counted_without


def test_an_emulated_link_has_none(parties):
    shape = LinkShape.parse("1gbit,1ms")
    outcomes = parties.run(is_over_it, is_over_it, data_ports=ANY_PORT, shape=shape)
    assert outcomes == (False, False)


def test_the_first_free_port_is_opened_and_a_full_range_refused(parties):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ours, theirs = parties.run(is_over_it, is_over_it, data_ports=range(port, port + 1))
        assert isinstance(ours, MachineError)
        assert str(ours) == (
            f"link.data_ports: none of {port}-{port} can be opened: Address already in use; end what uses it, or "
            "name a port for each session at a time"
        )
        assert isinstance(theirs, LinkError)
        assert parties.run(is_over_it, is_over_it, data_ports=(port, 0)) == (True, True)


def test_a_closed_port_is_one_line_for_both(parties, monkeypatch):
    def refused(address: object, timeout: float) -> socket.socket:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(data_connection.socket, "create_connection", refused)
    ours, theirs = parties.run(is_over_it, is_over_it, data_ports=ANY_PORT)
    line = "does not answer (Connection refused): its firewall must admit it"
    assert all(line in str(outcome) for outcome in (ours, theirs))
    assert str(ours).startswith("bob gave up at step 'data connection'")


def test_strangers_at_the_port_are_turned_away(parties, monkeypatch):
    real, strangers = socket.create_connection, []

    def after_strangers(address: Any, timeout: float) -> socket.socket:
        for word in (bytes(32), b"GET /", b""):
            strangers.append(real(address, timeout))
            strangers[-1].sendall(word)
        strangers[-1].close()
        return real(address, timeout)

    monkeypatch.setattr(data_connection.socket, "create_connection", after_strangers)
    monkeypatch.setattr(data_connection, "TOKEN_SECONDS", 0.05)
    assert parties.run(is_over_it, is_over_it, data_ports=ANY_PORT) == (True, True)
    for stranger in strangers:
        stranger.close()


def test_a_token_that_arrives_in_pieces_is_taken(parties, monkeypatch):
    real = socket.create_connection

    class Dripping(socket.socket):
        """Its sendall leaves the second half of a token for later, as a network may."""

        def sendall(self, data: Any, *flags: int) -> None:
            now = data[:16] if len(data) == data_connection.KEY_BYTES else data
            super().sendall(now)
            if now != data:
                threading.Timer(0.05, super().sendall, (data[16:],)).start()

    def dripping(address: Any, timeout: float) -> socket.socket:
        other = real(address, timeout)
        return Dripping(other.family, other.type, other.proto, other.detach())

    monkeypatch.setattr(data_connection.socket, "create_connection", dripping)
    assert parties.run(is_over_it, is_over_it, data_ports=ANY_PORT) == (True, True)


def test_a_peer_that_never_shows_the_token_is_one_line(parties, monkeypatch):
    monkeypatch.setattr(data_connection, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(data_connection.hmac, "compare_digest", lambda *_: False)
    ours, theirs = parties.run(is_over_it, is_over_it, data_ports=ANY_PORT)
    assert "but another program answers there" in str(ours)
    assert "but another program answers there" in str(theirs)


def test_the_peer_does_not_choose_the_bytes_that_its_port_gets(parties, monkeypatch):
    chosen, real, opened = b"FLUSHALL\r\n".ljust(32), socket.create_connection, []

    def listened(address: Any, timeout: float) -> socket.socket:
        opened.append(_Recorded(real(address, timeout)))
        return opened[-1]

    monkeypatch.setattr(data_connection, "secrets", SimpleNamespace(token_bytes=lambda _: chosen))
    monkeypatch.setattr(data_connection.socket, "create_connection", listened)
    assert parties.run(is_over_it, is_over_it, data_ports=ANY_PORT) == (True, True)
    assert [len(data) for data in opened[0].sent] == [32]
    assert chosen not in opened[0].sent


class _Recorded(socket.socket):
    """The other socket, which records what `sendall` sends."""

    def __init__(self, other: socket.socket) -> None:
        super().__init__(other.family, other.type, other.proto, other.detach())
        self.sent: list[bytes] = []

    def sendall(self, data: Any, *flags: int) -> None:
        if len(data) == 32:
            self.sent.append(bytes(data))
        super().sendall(data, *flags)


def sealed(keys: RecordKeys, frame: bytes) -> bytes:
    record = bytearray(len(frame) + TAG_BYTES)
    keys.seal(frame, memoryview(record))
    return bytes(record)


def test_records_open_once_in_order_and_unchanged():
    sealing = RecordKeys(KEY)
    first, second = sealed(sealing, b"one"), sealed(sealing, b"two")
    assert first == AESGCM(sealing._key).encrypt((1).to_bytes(12, "big"), b"one", None)
    assert [RecordKeys(KEY).open(memoryview(first))] == [b"one"]
    for records in ([second], [first, first], [first, second[:-1] + bytes([second[-1] ^ 1])], [b"x" * 16]):
        opening = RecordKeys(KEY)
        for record in records[:-1]:
            opening.open(memoryview(record))
        with pytest.raises(InvalidTag):
            opening.open(memoryview(records[-1]))


def test_keys_are_renewed_at_both_ends(monkeypatch):
    monkeypatch.setattr(data_connection, "RENEWAL", 2)
    sealing, opening = RecordKeys(KEY), RecordKeys(KEY)
    keys = []
    for number in range(5):
        assert opening.open(memoryview(sealed(sealing, bytes([number])))) == bytes([number])
        keys.append(sealing._key)
    assert [keys.index(key) for key in keys] == [0, 0, 2, 2, 4]
    assert KEY not in keys


def test_both_may_send_more_than_all_buffers_before_they_receive(parties):
    def both(link: Any) -> None:
        assert is_over_it(link)
        for number in range(400):  # short frames, which the protocol's thread sends itself
            link.channel.send("short", bytes([number % 256]) * 16_000)
        for number in range(400):
            assert link.channel.receive("short", 16_000) == bytes([number % 256]) * 16_000
        link.channel.send("long", bytes(20 << 20))
        assert link.channel.receive("long", 20 << 20) == bytes(20 << 20)

    assert parties.run(both, both, data_ports=ANY_PORT) == (None, None)


def test_a_failure_reaches_a_peer_that_is_sending(parties):
    def fails(link: Any) -> None:
        link.channel.receive("much", 1 << 20)
        raise ValueError

    def sends(link: Any) -> None:
        for _ in range(1000):
            link.channel.send("much", bytes(1 << 20))

    ours, theirs = parties.run(fails, sends, data_ports=ANY_PORT)
    assert isinstance(ours, ValueError)
    assert str(theirs) == "alice gave up at step 'much': internal error"


@pytest.mark.parametrize("cut", ["connection", "stream"])
def test_the_end_of_either_connection_ends_the_session(parties, monkeypatch, cut):
    monkeypatch.setattr(data_connection, "GRACE_SECONDS", 0.2)

    def cuts(link: Any) -> None:
        stream = link.channel._stream
        if cut == "connection":
            stream._connection.shutdown(socket.SHUT_RDWR)
        else:
            stream._control.cancel()
        link.channel.receive("nothing", 1)

    def waits(link: Any) -> None:
        link.channel.receive("nothing", 1)

    for outcome in parties.run(cuts, waits, data_ports=ANY_PORT):
        assert isinstance(outcome, LinkError)
        assert "lost the peer" in str(outcome)


def test_a_vanished_peer_is_noticed_by_the_end_of_grpcs_stream(parties, monkeypatch):
    monkeypatch.setattr(data_connection, "GRACE_SECONDS", 0.05)
    control = Stream(iter(()), Outbox(1), lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = socket.create_connection(server.getsockname())
        connection, _ = server.accept()
    options = parties.options("alice", "bob", listen="127.0.0.1:0")
    stream = DataStream(control, connection, (KEY, KEY), options)
    taking = threading.Thread(target=stream.take, daemon=True)
    taking.start()
    control.end()
    taking.join(PATIENCE)
    assert not taking.is_alive()
    stream.close()
    silent.close()


def test_a_changed_record_ends_the_session(parties):
    def changes(link: Any) -> None:
        connection = link.channel._stream._connection
        link.channel.receive("ready", 1)
        connection.sendall((40).to_bytes(4, "big") + bytes(40))
        link.channel.receive("never", 1)

    def reads(link: Any) -> None:
        link.channel.send("ready", b"1")
        link.channel.receive("secret", 1)

    _, theirs = parties.run(changes, reads, data_ports=ANY_PORT)
    assert str(theirs).endswith("its data connection brought a record that is not the peer's")


def test_no_thread_remains(parties):
    before = set(threading.enumerate())
    parties.run(program, program, data_ports=ANY_PORT)
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "smc-data"]

"""The data connection: TCP beside gRPC's stream, for the frames of one session, sealed with AES-256-GCM.

gRPC copies each frame several times: a gibibyte takes 1.7 s of both processors, here 0.8 s (docs/measured.md). The
listening party offers it (`[link] data_ports`). It sends a free port, a token and two fresh keys over the stream, which
mutual TLS protects. The dialling party connects to that port and shows the token's hash. From then on all frames of the
session are records of this connection: the length, then the sealed frame, with the record's number as nonce.

gRPC's stream stays open without frames. Its keepalive detects a vanished peer, and its end ends the data connection.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from typing_extensions import override

from parties.base.address import Address, parse_address, taken
from parties.link.channel import GRACE_SECONDS, GrpcChannel
from parties.link.frames import MAX_FRAME_BYTES
from parties.link.identity import common_name
from parties.link.listening import numeric_address
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.link.transport import Stream
from smc.errors import LinkError, MachineError

STEP = "data connection"
KEY_BYTES = 32  # of the token, too
RENEWAL = 1 << 16  # records under one key: 128 GiB at most, far below the bounds of GCM
CONNECT_SECONDS = 5.0
TOKEN_SECONDS = 1.0  # for a caller to show its token, which it sends at once
TAG_BYTES, SIZE_BYTES = 16, 4
AHEAD_BYTES = 64 * 1024  # read beyond a record: short records need one system call
Keys: TypeAlias = tuple[bytes, bytes]


class RecordKeys:
    """AES-256-GCM of one direction: each record has its number as nonce; every `RENEWAL` records the key is new."""

    def __init__(self, key: bytes) -> None:
        self._key, self._number = key, 0
        self._cipher: AESGCM

    def seal(self, frame: bytes, record: memoryview) -> None:
        """Write the next record of this direction.

        Args:
            frame: The frame.
            record: Filled in; it is `TAG_BYTES` longer than the frame.
        """
        nonce = self._next()
        self._cipher.encrypt_into(nonce, frame, None, record)

    def open(self, record: memoryview) -> bytes:
        """Return the frame in the next record of this direction. Raise InvalidTag if it is another record."""
        nonce = self._next()
        return self._cipher.decrypt(nonce, record, None)

    def _next(self) -> bytes:
        if self._number % RENEWAL == 0:
            from smc.session import derive  # loads numpy: not before the peer has been called

            self._key = derive(self._key, "smc.data", self._number, size=KEY_BYTES)
            self._cipher = AESGCM(self._key)
        self._number += 1
        return self._number.to_bytes(12, "big")


class DataStream(Stream):
    """One end of a data connection, in place of gRPC's stream `control`; `keys` are to send and to receive with."""

    def __init__(self, control: Stream, connection: socket.socket, keys: Keys, options: LinkOptions) -> None:
        outbox = Outbox(options.buffer)
        super().__init__(iter(()), outbox, self._cut, address=control.address, tls=control.tls, group=control.group)
        self._control, self._connection = control, connection
        self._sealing, self._opening = map(RecordKeys, keys)
        self._sealed = memoryview(bytearray(SIZE_BYTES + MAX_FRAME_BYTES + TAG_BYTES))
        self._buffer = memoryview(bytearray(len(self._sealed) + AHEAD_BYTES))
        self._start = self._stop = 0  # of the bytes in the buffer that are not used yet
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sys.platform == "linux":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, max(1, round(options.keepalive)))
        outbox.send_by(self._send)
        self._last_moment = threading.Timer(GRACE_SECONDS, self.end)
        self._last_moment.daemon = True
        control.on_end = self._control_ended
        if control.ended.is_set():
            self._control_ended()
        self._finisher: threading.Thread | None = None
        self._sender = threading.Thread(target=self._send_all, name="smc-data", daemon=True)
        self._sender.start()

    @override
    def take(self) -> bytes | None:
        try:
            size = int.from_bytes(self._read(SIZE_BYTES), "big")
            if TAG_BYTES <= size <= MAX_FRAME_BYTES + TAG_BYTES:
                return self._opening.open(self._read(size))
            self.cause = "its data connection brought no record"
        except InvalidTag:
            self.cause = "its data connection brought a record that is not the peer's"
        except OSError:
            if self._control.ended.is_set() and self._control.take() is None:
                self.cause = self._control.cause
        self.end()
        return None

    @override
    def end(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # what has arrived can still be read
        super().end()

    def close(self) -> None:
        """End the stream, wait for its threads, and close the connection."""
        self.end()
        self._last_moment.cancel()
        for thread in (self._sender, self._finisher):
            if thread is not None:
                thread.join()
        self._connection.close()

    def _control_ended(self) -> None:
        """Send no more; the peer's last frames may still be under way here."""
        super().end()
        with suppress(RuntimeError):  # it was started before
            self._last_moment.start()

    def _cut(self) -> None:
        self.end()
        self._control.cancel()

    def _read(self, size: int) -> memoryview:
        """Return the next `size` bytes, valid until the next call. Raise OSError if no more will come."""
        while self._stop - self._start < size:
            if self._start:
                rest = self._stop - self._start
                self._buffer[:rest] = self._buffer[self._start : self._stop]
                self._start, self._stop = 0, rest
            count = self._connection.recv_into(self._buffer[self._stop : size + AHEAD_BYTES])
            if not count:
                raise ConnectionError
            self._stop += count
        self._start += size
        return self._buffer[self._start - size : self._start]

    def _send_all(self) -> None:
        for _ in self.outbox:  # it calls `_send`
            pass
        self._control.outbox.close()
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
            if not self._connection.recv(1, socket.MSG_PEEK):  # the peer has ended its direction, too
                self.end()

    def _send(self, frame: bytes, sent: Callable[[], object]) -> None:
        """Send a frame, of which one is under way at a time; only the sending thread waits for room."""
        size = len(frame) + TAG_BYTES
        rest = self._sealed[: SIZE_BYTES + size]
        rest[:SIZE_BYTES] = size.to_bytes(SIZE_BYTES, "big")
        self._sealing.seal(frame, rest[SIZE_BYTES:])
        with suppress(OSError):  # the connection has no room, or has ended
            rest = rest[self._connection.send(rest, socket.MSG_DONTWAIT) :]
        if not rest:
            sent()
        elif threading.current_thread() is self._sender:
            self._finish(rest, sent)
        else:
            self._finisher = threading.Thread(target=self._finish, args=(rest, sent), daemon=True)
            self._finisher.start()

    def _finish(self, rest: memoryview, sent: Callable[[], object]) -> None:
        try:
            self._connection.sendall(rest)
        except OSError:
            self.end()
        sent()


@contextmanager
def data_connection(control: GrpcChannel, stream: Stream, options: LinkOptions) -> Iterator[GrpcChannel]:
    """Open the data connection, which both hellos permit, and yield the channel over it, for all further messages.

    Args:
        control: The channel over gRPC's stream.
        stream: That stream.
        options: Options of the link.

    Raises:
        LinkError: The peer's port does not answer, or the peer does not come to ours.
        MachineError: None of our ports can be opened.
    """
    connection, keys = _dialled(control, options) if options.listen is None else _accepted(control, options)
    data = DataStream(stream, connection, keys, options)
    channel = GrpcChannel(data, common_name(options.peer), options.timeout)
    try:
        yield channel
    finally:
        channel.close()
        data.close()


def _accepted(control: GrpcChannel, options: LinkOptions) -> tuple[socket.socket, Keys]:
    """Offer a port to the peer; return the connection that shows the token, and the keys to send and to receive."""
    token, ours, theirs = (secrets.token_bytes(KEY_BYTES) for _ in range(3))
    with _listener(options) as listener:
        port: int = listener.getsockname()[1]
        control.send(STEP, b"".join((port.to_bytes(2, "big"), token, ours, theirs)))
        control.receive(STEP, 0)  # the peer has connected, or sends its reason instead
        deadline = time.monotonic() + CONNECT_SECONDS
        while (remaining := deadline - time.monotonic()) > 0:
            listener.settimeout(remaining)
            with suppress(OSError):
                connection, _ = listener.accept()
                if hmac.compare_digest(_token_from(connection), _shown(token)):
                    control.send(STEP, b"")
                    return connection, (ours, theirs)
                connection.close()
    raise LinkError(f"{common_name(options.peer)} has connected to port {port}, but another program answers there")


def _token_from(connection: socket.socket) -> bytes:
    """Return the bytes that a caller shows, perhaps in pieces; fewer if it ends. Raise OSError if it is late."""
    shown, deadline = b"", time.monotonic() + TOKEN_SECONDS
    while len(shown) < KEY_BYTES:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        if not (piece := connection.recv(KEY_BYTES - len(shown))):
            break
        shown += piece
    return shown


def _listener(options: LinkOptions) -> socket.socket:
    """Return a listening socket on the first port of `data_ports` that is free, on the host of the link."""
    host = numeric_address(parse_address(options.listen or "", lowest_port=0)).host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ports = options.data_ports or range(0)
    for port in ports:
        with suppress(OSError):
            return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::")
    why = taken(Address(host, ports[-1]), "name a port for each session at a time")
    raise MachineError(f"link.data_ports: none of {ports[0]}-{ports[-1]} can be opened: {why}")


def _shown(token: bytes) -> bytes:
    """Return the bytes that show a token: the peer chooses port and token, so it must not choose what we send there."""
    return hashlib.sha256(b"smc data connection " + token).digest()


def _dialled(control: GrpcChannel, options: LinkOptions) -> tuple[socket.socket, Keys]:
    """Connect to the port that the peer offers; return the connection, and the keys to send and to receive."""
    offer = bytes(control.receive(STEP, 2 + 3 * KEY_BYTES))
    token, theirs, ours = (offer[start : start + KEY_BYTES] for start in range(2, len(offer), KEY_BYTES))
    address = parse_address(options.connect or "")._replace(port=int.from_bytes(offer[:2], "big"))
    try:
        connection = socket.create_connection(address, CONNECT_SECONDS)
        connection.sendall(_shown(token))
    except OSError as error:
        raise LinkError(
            f"the listening party's data port {address} does not answer ({error.strerror or error}): its firewall must "
            "admit it, or the listening party removes [link] data_ports"
        ) from None
    control.send(STEP, b"")
    control.receive(STEP, 0)
    return connection, (ours, theirs)

"""The gRPC transport: one pinned, mutually authenticated stream, the same at both ends, and its dialling.

Only this module, `listening`, `operations` and the node's health service import grpc.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from parties.base.address import Address, addresses_of
from parties.link import environment, tls
from parties.link.exchange_pb2 import DESCRIPTOR
from parties.link.frames import MAX_FRAME_BYTES
from parties.link.identity import Identity, tls_name
from parties.link.outbox import Outbox
from smc.link_shape import WINDOW_BYTES

# gRPC's own log would mix with our lines on the terminal; it reads this variable when it is loaded.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
if is_first := "grpc" not in sys.modules:
    environment.require_usable()
    # gRPC would load its asyncio interface, which is unused here and takes a quarter of its loading time.
    sys.modules["grpc.aio"] = types.ModuleType("grpc.aio")
import grpc as grpc  # for `listening` too, which must not load it before this

if is_first:  # another module that needs that interface can import it now
    del sys.modules["grpc.aio"], grpc.aio

from parties.link.operations import Operations, of_call

logging.getLogger("grpc").addHandler(logging.NullHandler())

SERVICE = DESCRIPTOR.services_by_name["Party"].full_name
METHOD = f"/{SERVICE}/Exchange"
LABEL = "smc-stream"  # metadata key of a stream's purpose, for a node
GROUP = "smc-key-exchange"  # metadata key of the key exchange's group, for the dialling end
CONNECT_SECONDS = 5.0  # for one attempt to connect
Wire: TypeAlias = grpc.Channel  # a connection to the peer, at the dialling end: streams are opened on it


@dataclass
class Stream:
    """One end of a gRPC stream, through which serialised frames are sent and received."""

    incoming: Iterator[bytes]
    outbox: Outbox
    cancel: Callable[[], object]
    ended: threading.Event = field(default_factory=threading.Event)
    cause: str = "the connection ended"
    address: str | None = None  # the dialling end's IP address, for the listening end
    tls: str = ""  # version, if this end knows it
    group: str = ""  # of the key exchange; at the dialling end once it is `reached`
    operations: Operations | None = None  # used in place of the iterators, if available
    connection: Wire | None = None  # at the dialling end: further streams can be opened on it
    on_end: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self._arrived: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        if self.operations is not None:
            self.outbox.send_by(self.operations.send)

    def take(self) -> bytes | None:
        """Return the next serialised frame; None once the stream is over. Blocks until then, or until `cancel`."""
        if self.operations is not None:
            return self._taken(self.operations)
        try:
            return next(self.incoming)
        except StopIteration:
            return None
        except grpc.RpcError as error:
            if isinstance(error, grpc.Call):  # the dialling end gets the reason
                self.cause = one_line(error.details()) or self.cause
            return None

    def _taken(self, operations: Operations) -> bytes | None:
        data = self._arrived.get() if operations.receive(self._arrived.put) else None
        if data is None and isinstance(self.incoming, grpc.Call) and self.incoming.code() is not grpc.StatusCode.OK:
            self.cause = one_line(self.incoming.details()) or self.cause
        return data

    def reached(self, wait: float) -> bool:
        """Return whether the peer was reached, for the dialling end. Blocks until then, `wait` seconds at most."""
        call = cast("grpc.Call", self.incoming)
        timer = threading.Timer(wait, self.cancel)
        timer.daemon = True
        timer.start()
        try:
            # The listening end sends it at once, and it also arrives if the call has failed.
            metadata = dict(call.initial_metadata() or ())
            if GROUP not in metadata and not call.is_active():
                metadata |= dict(call.trailing_metadata() or ())
        finally:
            timer.cancel()
        self.group = one_line(str(metadata.get(GROUP, "")), limit=40)
        return call.is_active() or call.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)

    def end(self) -> None:
        """Record that the stream is over, and wake threads that wait to send."""
        self.ended.set()
        self.outbox.close(discard=True)
        self.on_end()


def one_line(text: str | None, limit: int = 300) -> str:
    """Return text from outside as one printable line, for an error message.

    Args:
        text: The text; None counts as empty.
        limit: Largest number of characters.
    """
    return "".join(c if c.isprintable() else " " for c in (text or "")[:limit])


def options(keepalive: float, window: int) -> list[tuple[str, Any]]:
    """Return channel options of both ends: a vanished peer is detected within 2 `keepalive` seconds.

    gRPC's keepalive timeout has no effect (as of 1.85); the ping timeout counts, a minute unless set. The answer to a
    ping waits behind the data under way, which must not exceed what the link carries in that time. Hence the fixed
    window.

    Args:
        keepalive: Half the seconds until a vanished peer is detected.
        window: Bytes under way to this party that it has not taken yet.
    """
    return [
        ("grpc.keepalive_time_ms", round(keepalive * 500)),
        ("grpc.keepalive_timeout_ms", round(keepalive * 1500)),
        ("grpc.http2.ping_timeout_ms", round(keepalive * 1500)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),  # without limit
        ("grpc.http2.max_ping_strikes", 0),  # nor a penalty for the peer's pings
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", window),
        ("grpc.http2.max_frame_size", 1 << 18),
        ("grpc.max_receive_message_length", MAX_FRAME_BYTES),
        ("grpc.enable_retries", 0),  # a retry would buffer what was sent
        ("grpc.enable_http_proxy", 0),
        ("grpc.so_reuseport", 0),  # two listeners on one port would share the peers between them
    ]


@contextmanager
def dial(
    address: Address,
    identity: Identity,
    peer: x509.Certificate,
    keepalive: float,
    outbox: Outbox,
    wait: float,
    label: str = "",
    window: int = WINDOW_BYTES,
    connection: Wire | None = None,
) -> Iterator[Stream]:
    """Start to open the stream to the party that listens at `address`; return before it is open.

    `Stream.reached` returns whether it was opened. The outbox's present content leaves with the first packets.

    Args:
        address: Address of the peer.
        identity: Identity of this party.
        peer: Certificate of the peer.
        keepalive: Half the seconds until a vanished peer is detected.
        outbox: Frames to send.
        wait: Longest attempt to connect, in seconds; `CONNECT_SECONDS` if that is less.
        label: Purpose of the stream, for a node.
        window: Bytes that may be under way to this party.
        connection: Open connection on which the stream is opened; None makes one.
    """
    own_options = [
        ("grpc.ssl_target_name_override", tls_name(peer)),
        ("grpc.min_reconnect_backoff_ms", round(1000 * min(wait, CONNECT_SECONDS))),  # in effect the longest attempt
        ("grpc.use_local_subchannel_pool", 1),  # otherwise a second dialling would wait for the first one's back-off
    ]
    with ExitStack() as opened:
        try:
            call = None if connection is None else _call_on(connection, outbox, label)
            if connection is None or call is None:
                all_options = [*own_options, *options(keepalive, window)]
                credentials = _credentials(identity, peer)
                connection = opened.enter_context(grpc.secure_channel(_target(address), credentials, all_options))
                call = _call_on(connection, outbox, label)
            assert call is not None
            opened.callback(call.cancel)
            version = tls.VERSION if tls.NOTHING_OLDER else ""
            stream = Stream(call, outbox, call.cancel, tls=version, operations=of_call(call), connection=connection)
            if not call.add_callback(stream.end):
                stream.end()
            yield stream
        finally:
            outbox.close(discard=True)


def _target(address: Address) -> str:
    """Return gRPC's target: all addresses of the host. gRPC connects to the first that leads to the peer.

    gRPC's own resolver would use only one address of the hosts file. A host that cannot be resolved here is passed to
    that resolver, which then fails.
    """
    try:
        addresses = addresses_of(address)
    except OSError:
        return f"dns:///{address}"
    if all(":" not in host for host, _ in addresses):
        return f"ipv4:{','.join(map(str, addresses))}"
    mapped = (Address(host if ":" in host else f"::ffff:{host}", port) for host, port in addresses)
    return f"ipv6:{','.join(quote(str(numeric), safe='[]:') for numeric in mapped)}"


def _call_on(connection: Wire, outbox: Outbox, label: str) -> Any:
    """Start to open a stream on a connection; None if the connection was closed meanwhile."""
    open_stream: grpc.StreamStreamMultiCallable[bytes, bytes] = connection.stream_stream(METHOD)
    try:
        return open_stream(outbox, metadata=((LABEL, label),) if label else None)
    except ValueError:
        return None


def _credentials(identity: Identity, peer: x509.Certificate) -> grpc.ChannelCredentials:
    """Return the credentials of this party and the trusted peer. A key in a token signs in gRPC's threads."""
    roots, chain = peer.public_bytes(Encoding.PEM), identity.certificate.public_bytes(Encoding.PEM)
    if (token := identity.token) is None:
        return grpc.ssl_channel_credentials(roots, identity.key_pem, chain)
    from grpc import experimental

    def sign(data: bytes, algorithm: object, _: object) -> bytes:
        if algorithm != experimental.PrivateKeySignatureAlgorithm.ECDSA_SECP256R1_SHA256:
            raise ValueError("no algorithm of this key's")
        return token.sign(data, ec.ECDSA(SHA256()))

    warnings.filterwarnings("ignore", category=experimental.ExperimentalApiWarning)
    return experimental.ssl_channel_credentials_with_custom_signer(
        private_key_sign_fn=sign, root_certificates=roots, certificate_chain=chain
    )

"""gRPC, and nothing else: one pinned, mutually authenticated stream, the same to both ends.

This is the only module that imports grpc.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from parties.address import Address
from parties.frames import MAX_FRAME_BYTES
from parties.identity import Identity, tls_name
from parties.outbox import Outbox
from proto.exchange_pb2 import DESCRIPTOR
from smc.errors import InputError

# gRPC's own log would stand between our lines on the terminal; it reads this when it is loaded.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
import grpc

logging.getLogger("grpc").addHandler(logging.NullHandler())

SERVICE = DESCRIPTOR.services_by_name["Party"].full_name
METHOD = f"/{SERVICE}/Exchange"
WINDOW_BYTES = 1024 * 1024  # under way to a party and not taken by it yet
CONNECT_SECONDS = 5.0  # for one attempt to connect


@dataclass
class Stream:
    """One end of the stream: serialised frames in and out."""

    incoming: Iterator[bytes]
    outbox: Outbox
    cancel: Callable[[], object]
    ended: threading.Event = field(default_factory=threading.Event)
    cause: str = "the connection ended"

    def take(self) -> bytes | None:
        """The next serialised frame; None once the stream is over. Blocks: `cancel` from elsewhere ends it."""
        try:
            return next(self.incoming)
        except StopIteration:
            return None
        except grpc.RpcError as error:
            if isinstance(error, grpc.Call):  # the dialling end is told why
                self.cause = one_line(error.details()) or self.cause
            return None

    def reached(self, wait: float) -> bool:
        """Whether the peer was found, for the dialling end. Blocks until that is known, `wait` seconds at most."""
        call = cast("grpc.Call", self.incoming)
        timer = threading.Timer(wait, self.cancel)
        timer.daemon = True
        timer.start()
        try:
            call.initial_metadata()  # the listening end sends it at once, and it comes too if the call has failed
        finally:
            timer.cancel()
        return call.is_active() or call.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)

    def end(self) -> None:
        """Note that the stream is over, and wake whoever waits to send."""
        self.ended.set()
        self.outbox.close(discard=True)


def one_line(text: str | None, limit: int = 300) -> str:
    """Text from outside, fit for an error message."""
    return "".join(c if c.isprintable() else " " for c in (text or "")[:limit])


def options(keepalive: float) -> list[tuple[str, Any]]:
    """Channel options of both ends: a peer that is gone is found within 2 `keepalive` seconds.

    gRPC arms its keepalive timeout in vain (as of 1.85): what counts is the ping timeout, a minute unless given.
    The answer waits behind the data under way, which must not be more than a slow link (1 Mbit/s) carries in
    that time: hence a fixed and small window.
    """
    return [
        ("grpc.keepalive_time_ms", round(keepalive * 500)),
        ("grpc.keepalive_timeout_ms", round(keepalive * 1500)),
        ("grpc.http2.ping_timeout_ms", round(keepalive * 1500)),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),  # without limit
        ("grpc.http2.max_ping_strikes", 0),  # nor a penalty for the peer's pings
        ("grpc.http2.bdp_probe", 0),
        ("grpc.http2.lookahead_bytes", WINDOW_BYTES),
        ("grpc.http2.max_frame_size", 1 << 18),
        ("grpc.max_receive_message_length", MAX_FRAME_BYTES),
        ("grpc.enable_retries", 0),  # a retry would buffer what was sent
        ("grpc.enable_http_proxy", 0),
        ("grpc.so_reuseport", 0),  # two listeners on one port would share the peers between them
    ]


@contextmanager
def dial(
    address: Address, identity: Identity, peer: x509.Certificate, keepalive: float, outbox: Outbox, wait: float
) -> Iterator[Stream]:
    """Begin to open the stream to the party that listens at `address`; returns before it is there.

    `Stream.reached` tells how that ended. What the outbox holds already leaves with the first packets. An attempt
    to connect takes `wait` seconds at most.
    """
    credentials = grpc.ssl_channel_credentials(
        root_certificates=peer.public_bytes(Encoding.PEM),
        private_key=identity.key_pem,
        certificate_chain=identity.certificate.public_bytes(Encoding.PEM),
    )
    own_options = [
        ("grpc.ssl_target_name_override", tls_name(peer)),
        ("grpc.min_reconnect_backoff_ms", round(1000 * min(wait, CONNECT_SECONDS))),  # in truth: the longest attempt
        ("grpc.use_local_subchannel_pool", 1),  # or a second dialling would sit out the first one's back-off
    ]
    with grpc.secure_channel(f"dns:///{address}", credentials, [*own_options, *options(keepalive)]) as channel:
        try:
            open_stream: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(METHOD)
            call = open_stream(outbox)
            stream = Stream(call, outbox, call.cancel)
            if not call.add_callback(stream.end):
                stream.end()
            yield stream
        finally:
            outbox.close(discard=True)


class Listener:
    """The listening end: accepts the first stream of the pinned peer, and no other."""

    def __init__(
        self, address: Address, identity: Identity, peer: x509.Certificate, keepalive: float, outbox: Outbox
    ) -> None:
        self._peer = peer
        self._outbox = outbox
        self._lock = threading.Lock()
        self._stream: Stream | None = None
        self._accepted: queue.Queue[Stream] = queue.Queue()
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="smc-link")
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._exchange)
        self._server = grpc.server(self._threads, options=options(keepalive))
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Exchange": handler}),))
        credentials = grpc.ssl_server_credentials(
            [(identity.key_pem, identity.certificate.public_bytes(Encoding.PEM))],
            root_certificates=peer.public_bytes(Encoding.PEM),
            require_client_auth=True,
        )
        numeric = _numeric(address)
        try:
            port = self._server.add_secure_port(str(numeric), credentials)
        except RuntimeError:
            raise InputError(f"cannot listen on {address}: {_why_not(numeric)}") from None
        self.address = Address(address.host, port)
        self._server.start()

    def accept(self, wait: float) -> Stream | None:
        """The pinned peer's stream, or None if it did not come within `wait` seconds."""
        try:
            return self._accepted.get(timeout=wait)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop serving and free the port."""
        self._outbox.close(discard=True)
        self._server.stop(None)
        self._threads.shutdown(wait=False)

    def _exchange(self, incoming: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """gRPC's handler, in a thread of its own, which then iterates over the outbox that it is given."""
        facts = cast("Mapping[str, Sequence[bytes]]", context.auth_context())
        presented = x509.load_pem_x509_certificate(facts["x509_pem_cert"][0])
        if presented != self._peer:  # TLS has checked this already; a pin is worth a second look
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "this certificate is not the pinned one")
        with self._lock:
            if self._stream is not None:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the listening party is in a session already")
            stream = self._stream = Stream(incoming, self._outbox, context.cancel)
        context.send_initial_metadata(())  # tells the dialling end that it has arrived
        if not context.add_callback(stream.end):
            stream.end()
        self._accepted.put(stream)
        return stream.outbox


def _numeric(address: Address) -> Address:
    """The IP address to listen on: gRPC would be content with any one of those that a name stands for."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError(f"cannot listen on {address}: {error.strerror or 'unknown host'}") from None
    return Address(str(found[0][4][0]), address.port)


def _why_not(address: Address) -> str:
    """The system's reason why the address cannot be bound, which gRPC only logs."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
        except OSError as error:
            return error.strerror or "the system refused"
    return "the address is taken or not allowed"

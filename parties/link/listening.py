"""The listening end of gRPC: a port that hands over the streams of pinned peers, one or (for a node) many."""

from __future__ import annotations

import queue
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import cast
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from parties.base import bounds
from parties.base.address import Address, taken
from parties.link import tls
from parties.link.identity import Identity
from parties.link.operations import of_context
from parties.link.outbox import Outbox
from parties.link.transport import GROUP, LABEL, SERVICE, Stream, grpc, options
from smc.errors import InputError
from smc.link_shape import WINDOW_BYTES

ANY_IPV4 = "0.0.0.0"
SPARE_CALLS = 4  # calls of each peer beyond its streams, taken so that they can be refused with a reason
Take = Callable[[Stream], None]
# called with a stream's label; returns the stream's outbox, and the function that will be called with the stream
Admit = Callable[[str], tuple[Outbox, Take]]


class RefusedError(Exception):
    """A refusal of a stream, with the reason for the dialling end."""


class Port:
    """An open port. Each stream of a pinned peer is admitted, or refused with RefusedError, by its label.

    A peer's `admit` and the function it returns are called in gRPC's threads and must not block. At most `streams`
    streams of a peer are open at a time, and a few more calls, which are refused. A key exchange that is not
    post-quantum is refused unless `classical` permits it.
    """

    def __init__(
        self,
        address: Address,
        identity: Identity,
        peers: Mapping[x509.Certificate, Admit],
        keepalive: float,
        streams: int = 4,
        window: int = WINDOW_BYTES,
        classical: bool = False,
    ) -> None:
        self._peers = peers
        self._classical = classical
        self._max_streams = streams
        self._open = Counter[x509.Certificate]()
        self._counting = threading.Lock()
        calls = (streams + SPARE_CALLS) * len(peers)
        self._threads = ThreadPoolExecutor(max_workers=calls, thread_name_prefix="smc-link")
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._exchange)
        bounded = [*bounds.server_options(bounds.connections()), ("grpc.max_concurrent_streams", streams + SPARE_CALLS)]
        self._server = grpc.server(
            self._threads, options=[*options(keepalive, window), *bounded], maximum_concurrent_rpcs=calls
        )
        service = grpc.method_handlers_generic_handler(SERVICE, {"Exchange": handler})
        self._server.add_generic_rpc_handlers((service,))
        credentials = grpc.ssl_server_credentials(
            [(identity.key_pem, identity.certificate.public_bytes(Encoding.PEM))],
            root_certificates=b"".join(peer.public_bytes(Encoding.PEM) for peer in peers),
            require_client_auth=True,
        )
        numeric = numeric_address(address)
        with _ipv4_alone(numeric) as numeric:
            try:
                port = self._server.add_secure_port(str(numeric), credentials)
            except RuntimeError:
                why = taken(numeric) or "the address is taken or not allowed"
                raise InputError(f"cannot listen on {address}: {why}") from None
        self.address = Address(address.host, port)
        self._server.start()

    def close(self) -> None:
        """Stop serving, cut open streams, and free the port."""
        self._server.stop(None)
        self._threads.shutdown(wait=False)

    def _exchange(self, incoming: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """Handle a gRPC call in a separate thread, which then iterates over the returned outbox."""
        facts = cast("Mapping[str, Sequence[bytes]]", context.auth_context())
        presented = x509.load_pem_x509_certificate(facts["x509_pem_cert"][0])
        admit = self._peers.get(presented)
        if admit is None:  # TLS has checked this already; the pin is checked again here
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "this certificate is not a pinned one")
        label, address, group = _label(context), _host(context.peer()), tls.group(facts)
        # Both show the dialling end the group. Of a call that is refused at once, only trailing metadata may arrive.
        context.set_trailing_metadata(((GROUP, group),))
        context.send_initial_metadata(((GROUP, group),))
        if tls.is_too_old(facts):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, f"this connection is older than {tls.VERSION}")
        if why := tls.objection(group, self._classical):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, why)
        if not self._enter(presented, context):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{self._max_streams} streams are open already")
        try:
            outbox, take = admit(label)
        except RefusedError as refusal:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(refusal))
        # No errors are possible from here on.
        stream = Stream(
            incoming,
            outbox,
            context.cancel,
            address=address,
            tls=tls.version(facts),
            group=group,
            operations=of_context(context),
        )
        if not context.add_callback(stream.end):
            stream.end()
        take(stream)
        return outbox

    def _enter(self, peer: x509.Certificate, context: grpc.ServicerContext) -> bool:
        """Return whether this peer may open one more stream; if so, count it among this peer's until it ends."""

        def leave() -> None:
            with self._counting:
                self._open[peer] -= 1

        with self._counting:
            if self._open[peer] >= self._max_streams:
                return False
            self._open[peer] += 1
        if not context.add_callback(leave):
            leave()
        return True


class Listener:
    """A port for one session: accepts the first stream of the pinned peer, and no other."""

    def __init__(
        self,
        address: Address,
        identity: Identity,
        peer: x509.Certificate,
        keepalive: float,
        outbox: Outbox,
        window: int = WINDOW_BYTES,
        classical: bool = False,
    ) -> None:
        self._outbox = outbox
        self._lock = threading.Lock()
        self._taken = False
        self._accepted: queue.Queue[Stream] = queue.Queue()
        self._port = Port(address, identity, {peer: self._admit}, keepalive, window=window, classical=classical)
        self.address = self._port.address

    def accept(self, wait: float) -> Stream | None:
        """Return the pinned peer's stream, or None if it did not arrive within `wait` seconds."""
        try:
            return self._accepted.get(timeout=wait)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop serving and free the port."""
        self._outbox.close(discard=True)
        self._port.close()

    def _admit(self, label: str) -> tuple[Outbox, Take]:
        if label:
            raise RefusedError("a single job listens at the dialled address, no node: start smc node there")
        with self._lock:
            if self._taken:
                raise RefusedError("the listening party is in another session: wait for its end")
            self._taken = True
        return self._outbox, self._accepted.put


def _label(context: grpc.ServicerContext) -> str:
    return next((str(item[1]) for item in context.invocation_metadata() or () if item[0] == LABEL), "")


def _host(peer: str) -> str | None:
    """Return the IP address in gRPC's name of a peer, e.g. ipv4:192.0.2.1:1234 or ipv6:%5B2001:db8::1%5D:1234."""
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return None
    return unquote(rest.rpartition(":")[0]).strip("[]")


def numeric_address(address: Address) -> Address:
    """Return the first IP address of a host to listen on: gRPC would take any. Raise InputError if there is none."""
    try:
        addresses = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InputError(f"cannot listen on {address}: {error.strerror or 'unknown host'}") from None
    return Address(str(addresses[0][4][0]), address.port)


@contextmanager
def _ipv4_alone(address: Address) -> Iterator[Address]:
    """Keep gRPC from IPv6 while it opens 0.0.0.0, which it takes for `::`; yield the address, with a port.

    gRPC opens IPv4 alone if the port is taken on IPv6. So this takes the port on IPv6 meanwhile.
    """
    if address.host != ANY_IPV4:
        yield address
        return
    if not address.port:
        with socket.socket() as probe:
            probe.bind(address)
            address = Address(*probe.getsockname())
    with ExitStack() as held:
        with suppress(OSError):  # no IPv6 here, or another program has the port there: then gRPC cannot take it either
            mine = held.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_STREAM))
            mine.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # otherwise old connections would prevent it
            mine.bind(("::", address.port))
            mine.listen(0)  # only so that gRPC, which reuses addresses, cannot have it
        yield address

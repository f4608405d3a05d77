"""Options of a link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography import x509

from parties.link.identity import Identity
from parties.link.settings import TIMEOUT_SECONDS, WAIT_SECONDS, Way
from smc.errors import InputError
from smc.link_shape import WINDOW_BYTES, LinkShape

if TYPE_CHECKING:
    from parties.link.transport import Wire

KEEPALIVE_SECONDS = 10.0
GOODBYE_SECONDS = 20.0
BUFFER_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class LinkOptions:
    """Options of the link to the peer. Exactly one of `listen` (party 0) and `connect` (party 1) is set.

    Attributes:
        identity: Key and certificate of this party.
        peer: Certificate of the peer.
        listen: HOST:PORT to listen on.
        connect: HOST:PORT to dial.
        wait: Seconds until the peer must have connected.
        timeout: Seconds of silence during a session that are an error.
        keepalive: Half the seconds until a frozen or vanished peer is noticed, even while it may be silent.
        goodbye: Seconds to wait for the peer's goodbye.
        buffer: Bytes that may wait to be sent.
        window: Bytes that may be under way to this party, which limits the rate on a long link.
        classical: Whether the connection's key exchange may be other than post-quantum.
        shape: Slower link that this party's sending emulates; both parties must set it for a slow link.
        measure: Measure the link's speed before the session; both parties must set it, or neither.
        label: Purpose of the stream, for the node at the other end.
        ray: Address of a Ray cluster of this party that starts shards.
        shards_at: Hosts and networks where the peer's shards may be reached, besides the session's own host.
        shard_ports: Ports on which our own shards listen.
        data_ports: Ports for data connections, if we listen; None offers none, (0,) any free port.
        on_listening: Called with the address once the port is open.
        on_waiting: Called every 30 seconds with the seconds that remain for the peer to answer our dialling.
        meanwhile: Called once while the connection is being made, to load what the session needs.
        kernels: Modules of `smc.kernels` that the session may call (None: any). They are compiled before the peer is
            called or awaited, if they never were on this machine.
        on_compile: Called with the number of compiled modules and their total (None: a line on standard error).
        connection: Connection to the same peer, dialled by us, on which the stream is opened if it is still open.
    """

    identity: Identity
    peer: x509.Certificate
    listen: str | None = None
    connect: str | None = None
    wait: float = WAIT_SECONDS
    timeout: float = TIMEOUT_SECONDS
    keepalive: float = KEEPALIVE_SECONDS
    goodbye: float = GOODBYE_SECONDS
    buffer: int = BUFFER_BYTES
    window: int = WINDOW_BYTES
    classical: bool = False
    shape: LinkShape | None = None
    measure: bool = False
    label: str = ""
    ray: str | None = None
    shards_at: Sequence[str] = ()
    shard_ports: range | None = None
    data_ports: Sequence[int] | None = None
    on_listening: Callable[[str], None] | None = None
    on_waiting: Callable[[float], object] = lambda _: None
    meanwhile: Callable[[], object] | None = None
    kernels: Sequence[str] | None = None
    on_compile: Callable[[int, int], None] | None = None
    connection: Wire | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.listen is None) == (self.connect is None):
            raise InputError("give one address: either to listen on or to connect to")
        for name in ("wait", "timeout", "keepalive", "goodbye", "buffer", "window"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be more than 0, got {getattr(self, name)}")
        if self.listen is not None:
            self.identity.require_file()
        if self.peer == self.identity.certificate:
            raise InputError(f"the peer's certificate is our own ({self.identity.name}); give the peer's")

    @property
    def takes_data_connection(self) -> bool:
        """Whether this party offers a data connection or, if it dials, uses one: an emulated link has none."""
        return self.shape is None and (self.listen is None or self.data_ports is not None)


def options_of(way: Way, identity: Identity, peer: x509.Certificate, **more: Any) -> LinkOptions:
    """Return the options of a link with these settings, except `wait`: the caller may pass it in `more`.

    Args:
        way: The settings.
        identity: Key and certificate of this party.
        peer: Certificate of the peer.
        more: Further fields of `LinkOptions`.
    """
    names = ("listen", "connect", "timeout", "window", "classical", "ray", "shards_at", "shard_ports", "data_ports")
    return LinkOptions(identity, peer, shape=way.emulate, **{name: getattr(way, name) for name in names}, **more)

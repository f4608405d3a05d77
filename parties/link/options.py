"""What a link is opened with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cryptography import x509

from parties.link.identity import Identity
from parties.link.settings import TIMEOUT_SECONDS, WAIT_SECONDS
from smc.errors import InputError
from smc.link_shape import WINDOW_BYTES, LinkShape

if TYPE_CHECKING:
    from parties.link.transport import Wire

KEEPALIVE_SECONDS = 10.0
GOODBYE_SECONDS = 20.0
BUFFER_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class LinkOptions:
    """Options of the link to the peer. Exactly one of `listen` (party 0) and `connect` (party 1) is HOST:PORT.

    `wait`: seconds until the peer must have come; `timeout`: seconds of silence in the middle of a session
    that are an error; `keepalive`: half the seconds until a frozen or vanished peer is noticed, even while it
    may be silent; `goodbye`: seconds to wait for the peer's goodbye; `buffer`: bytes that may wait to be sent.
    `classical`: whether the connection's key exchange may be other than post-quantum.
    `window`: bytes that may be under way to this party, which bounds how many come in a round trip.
    `shape` makes what this party sends as slow as such a link; for a slow link both parties give it. `measure`:
    find out how fast the link is before the session starts; both parties must want it, or neither.
    `ray` is where a Ray of this party is to begin shards. `shards_at` are hosts and networks where the peer's shards
    may be met beside the session's own host; `shard_ports` are those on which our own listen.
    `label` tells the node at the other end what the stream is for. `on_listening` is told the address once the port is
    open, `on_waiting` every 30 seconds how many are left for the peer to answer our dialling. `meanwhile` is called
    once, while the connection is being made: the place to load what the session will need. `kernels`:
    the modules of `smc.kernels` that the session may call (None: any), which are compiled before the peer is called or
    heard, if they never were on this machine;
    `on_compile` is told how many are done, of how many (None: a line on standard error). `connection`: one to the same
    peer, dialled by us, on which the stream is opened if that can still be done.
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

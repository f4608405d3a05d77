"""Two parties of one test in threads, and a hand-made peer that may say anything."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc
from cryptography.hazmat.primitives.serialization import Encoding

from parties.link.exchange_pb2 import HELLO, Frame, Hello
from parties.link.identity import Identity, tls_name
from parties.link.opening import Link, open_link
from parties.link.options import LinkOptions
from parties.link.transport import LABEL, METHOD
from tests.support.waiting import PATIENCE

JOB: dict[str, Any] = {"protocol": "test", "tolerance": 0.001}
Program = Callable[[Link], Any]


class Running(threading.Thread):
    """One party in a thread; `outcome` is its result or its error."""

    def __init__(self, options: LinkOptions, job: dict[str, Any], program: Program) -> None:
        super().__init__(daemon=True)
        self._options, self._job, self._program = options, job, program
        self._outcome: Any = None
        self.start()

    def run(self) -> None:
        try:
            with open_link(self._options, self._job) as link:
                self._outcome = self._program(link)
        except BaseException as error:
            self._outcome = error

    def outcome(self, seconds: float = PATIENCE) -> Any:
        self.join(seconds)
        assert not self.is_alive(), "the party is still waiting"
        return self._outcome


class Parties:
    """Starts parties named alice (listens), bob (dials) and mallory, with deadlines that a loaded machine keeps."""

    def __init__(self, identities: dict[str, Identity]) -> None:
        self.identities = identities

    def options(self, own: str, peer: str, **changes: Any) -> LinkOptions:
        short: dict[str, Any] = {"wait": 60.0, "timeout": 60.0, "goodbye": 60.0, **changes}
        return LinkOptions(self.identities[own], self.identities[peer].certificate, **short)

    def listen(
        self, program: Program, job: dict[str, Any] = JOB, own: str = "alice", peer: str = "bob", **changes: Any
    ) -> tuple[Running, str]:
        """Start the listening party; return it and its address."""
        address: queue.Queue[str] = queue.Queue()
        options = self.options(own, peer, **{"listen": "127.0.0.1:0", "on_listening": address.put, **changes})
        running = Running(options, job, program)
        return running, address.get(timeout=PATIENCE)

    def connect(
        self,
        address: str,
        program: Program,
        job: dict[str, Any] = JOB,
        own: str = "bob",
        peer: str = "alice",
        **changes: Any,
    ) -> Running:
        """Start the dialling party."""
        return Running(self.options(own, peer, connect=address, **changes), job, program)

    def run(self, left: Program, right: Program, job: dict[str, Any] = JOB, **changes: Any) -> tuple[Any, Any]:
        """Run both to their end: (listening party's outcome, dialling party's outcome)."""
        listening, address = self.listen(left, **changes)
        dialling = self.connect(address, right, job, **changes)
        return listening.outcome(), dialling.outcome()

    @contextmanager
    def rogue(self, address: str, own: str = "bob", label: str = "") -> Iterator[RawPeer]:
        """A trusted peer that speaks gRPC but not our protocol; `label` tells a node what the stream is for."""
        identity, peer = self.identities[own], self.identities["alice"].certificate
        credentials = grpc.ssl_channel_credentials(
            peer.public_bytes(Encoding.PEM), identity.key_pem, identity.certificate.public_bytes(Encoding.PEM)
        )
        with grpc.secure_channel(address, credentials, [("grpc.ssl_target_name_override", tls_name(peer))]) as channel:
            raw = RawPeer(channel, label)
            try:
                yield raw
            finally:
                raw.hang_up()


class RawPeer:
    """The dialling end of a stream, frame by frame."""

    def __init__(self, channel: grpc.Channel, label: str = "") -> None:
        self._outgoing: queue.Queue[bytes | None] = queue.Queue()
        metadata = ((LABEL, label),) if label else None
        self.incoming = channel.stream_stream(METHOD)(iter(self._outgoing.get, None), metadata=metadata)

    def raw(self, data: bytes) -> None:
        self._outgoing.put(data)

    def frame(self, **fields: Any) -> None:
        self.raw(Frame(**fields).SerializeToString())

    def hello(self, **changes: Any) -> None:
        """An honest hello, answering the peer's, but for `changes`."""
        theirs = Hello.FromString(self.read().payload)
        fields = {"wire_version": theirs.wire_version, "party": 1, "job": theirs.job, "nonce": b"n" * 16, **changes}
        self.frame(sequence=0, kind=HELLO, step="hello", payload=Hello(**fields).SerializeToString())

    def read(self) -> Frame:
        return Frame.FromString(next(self.incoming))

    def ended(self, seconds: float = PATIENCE) -> grpc.StatusCode:
        """How the other side ended the stream, by so many seconds; what still came is dropped."""

        def drop() -> None:
            with suppress(grpc.RpcError):
                for _ in self.incoming:
                    pass

        dropping = threading.Thread(target=drop, daemon=True)
        dropping.start()
        dropping.join(seconds)
        assert not dropping.is_alive(), "the stream has not ended"
        return self.incoming.code()

    def hang_up(self) -> None:
        self._outgoing.put(None)

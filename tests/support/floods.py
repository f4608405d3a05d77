"""A hostile party with a pinned certificate: it leaves the protocol of the standing link of a node that listens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import grpc
import numpy as np
from cryptography.hazmat.primitives.serialization import Encoding

from parties.identity import load_identity, read_certificate
from parties.link.address import parse_address
from parties.link.opening import Link, open_link
from parties.link.options import LinkOptions
from parties.link.transport import tls_name
from parties.node import control
from parties.node.statement import Statement
from parties.records import Head, Signed, sign
from tests.support.nodes import NodeProcess, Nodes


class Hostile:
    """Party b without a node: it says what it likes to party a's, and keeps what that answers."""

    def __init__(self, nodes: Nodes, address: str) -> None:
        self._directory = nodes.b.directory
        self.victim = nodes.a
        self.identity = load_identity(self._directory / "b.key", self._directory / "b.crt")
        self._peer = read_certificate(self._directory / "a.crt")
        self._options = LinkOptions(self.identity, self._peer, connect=address)
        self._address = address
        self.answers: dict[str, Statement] = {}

    @contextmanager
    def linked(self) -> Iterator[Callable[[bytes], None]]:
        """The standing link; what is given to the function is said."""
        with suppress(Exception), open_link(control.control_options(self._options), control.JOB) as link:
            over = threading.Event()
            listening = threading.Thread(target=self._listen, args=(link, over), daemon=True)
            session = link.session()
            listening.start()

            def say(data: bytes) -> None:
                session.send("statement.size", np.array([len(data)], dtype=np.int64))
                if data:
                    session.send("statement", np.frombuffer(data, dtype=np.uint8))

            try:
                yield say
            finally:
                over.set()
                link.channel.abort("enough")

    def _listen(self, link: Link, over: threading.Event) -> None:
        with suppress(Exception):
            while not over.is_set():
                if data := control._receive(link.session()):
                    said = Statement.from_bytes(data)
                    self.answers[said.proposal.id] = said

    def signed(self, said: Statement, size: int) -> Statement:
        """The statement with a result of so many bytes that was never computed, signed."""
        head = Head(number=1, hash="0" * 64)
        unsigned = Signed(result={"x": "y" * size}, head=head, signature="0" * 128)
        made = unsigned.model_copy(update={"signature": sign(self.identity, unsigned.document()).hex()})
        return said.model_copy(update={"end": "computed", "signed": made})

    @contextmanager
    def channel(self) -> Iterator[grpc.Channel]:
        """A bare gRPC channel to the port."""
        credentials = grpc.ssl_channel_credentials(
            self._peer.public_bytes(Encoding.PEM),
            self.identity.key_pem,
            self.identity.certificate.public_bytes(Encoding.PEM),
        )
        named = [("grpc.ssl_target_name_override", tls_name(self._peer)), ("grpc.use_local_subchannel_pool", 1)]
        with grpc.secure_channel(f"dns:///{parse_address(self._address)}", credentials, named) as channel:
            yield channel


def size_of(node: NodeProcess) -> int:
    """Bytes of a node's database, with what is not merged into it yet."""
    return sum(path.stat().st_size for path in (node.directory / "state").glob("node.sqlite*"))

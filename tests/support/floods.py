"""A hostile party with a pinned certificate: it leaves the protocol of the standing link of a node that listens."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import grpc
import numpy as np
from cryptography.hazmat.primitives.serialization import Encoding

from parties.base.canonical import canonical
from parties.link.identity import load_identity, read_certificate
from parties.link.opening import Link, open_link
from parties.link.options import LinkOptions
from parties.link.transport import tls_name
from parties.node.links import control
from parties.node.log import heads
from parties.node.log.statement import Statement
from parties.node.proposal import Proposal
from parties.node.records import Evidence, Head, Signed, sign
from parties.node.records.chain import sign_head
from parties.tables.schema import Schema
from smc.errors import LinkError
from tests.support.nodes import NodeProcess, Nodes
from tests.support.proposals import proposal_of

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")
ROWS = "wind,play\nweak,yes\nstrong,no\n"
TABLE = 'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nplay = ["yes", "no"]\n'


class Hostile:
    """Party b without a node: it says what it likes to party a's, and keeps what that answers."""

    def __init__(self, nodes: Nodes) -> None:
        place = nodes.b.directory
        self.victim = nodes.a
        self.identity = load_identity(place / "b.key", place / "b.crt")
        self._peer = read_certificate(place / "a.crt")
        self._address = f"127.0.0.1:{nodes.cable.target}"
        self._options = control.control_options(LinkOptions(self.identity, self._peer, connect=self._address))
        self.answers: dict[str, Statement] = {}

    @contextmanager
    def linked(self) -> Iterator[Callable[[bytes], None]]:
        """The standing link; what is given to the function is said. `LinkError` if it is refused."""
        with ExitStack() as stack:
            link = stack.enter_context(open_link(self._options, control.JOB))
            own = self._meet(link)
            ended = stack.pop_all()
        session = link.session()
        threading.Thread(target=self._listen, args=(link,), daemon=True).start()

        def say(data: bytes) -> None:
            if data:
                data = canonical(own.model_dump(mode="json")).encode() + b"\n" + data
            session.send("statement.size", np.array([len(data)], dtype=np.int64))
            if data:
                session.send("statement", np.frombuffer(data, dtype=np.uint8))

        try:
            yield say
        finally:
            link.channel.abort("enough")
            with suppress(LinkError):
                ended.close()

    def _meet(self, link: Link) -> Evidence:
        """Show a log with one entry, and lack nothing; return that log's head."""
        found = sign_head(self.identity, Head(number=1, hash="0" * 64))
        own = Evidence(head=found.head, fingerprint=found.fingerprint, signature=found.signature.hex())
        for said in (heads.Shown(own=own, held=None), heads.Found(lost=None), heads.Accepted(accepted=False)):
            heads.send(link.session(), said)
            heads.receive(link.session(), type(said))
        return own

    def _listen(self, link: Link) -> None:
        with suppress(LinkError):
            while True:
                if data := control._receive(link.session()):
                    said = Statement.from_bytes(data.partition(b"\n")[2])
                    self.answers[said.proposal.id] = said

    def signed(self, said: Statement, size: int) -> Statement:
        """The statement with a result of so many bytes that was never computed, signed."""
        unsigned = Signed(result={"x": "y" * size}, head=Head(number=1, hash="0" * 64), signature="0" * 128)
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
        with grpc.secure_channel(f"dns:///{self._address}", credentials, named) as channel:
            yield channel


def proposed(table: str = "rows", **fields: object) -> Statement:
    """A proposal of b's for this table of a's."""
    made: Proposal = proposal_of(SCHEMA, party=1, **{"peer_table": table, "max_rows": 65535, **fields})
    return Statement(proposal=made, verdict="approved", by="proposer")


def furnished(nodes: Nodes, more: str = "") -> None:
    """Give both parties the table that b asks for; `more` stands in a's file."""
    nodes.furnish((ROWS, ROWS), TABLE, (more, ""))


def rows(node: NodeProcess) -> list[str]:
    """What a node's database has of jobs."""
    with closing(sqlite3.connect(node.directory / "state" / "node.sqlite")) as connection:
        return [text for (text,) in connection.execute("SELECT record FROM jobs")]


def lines(node: NodeProcess, event: str) -> int:
    """How often a node's log tells of this event."""
    return sum(f'"event": "{event}"' in line for line in node.log().splitlines())

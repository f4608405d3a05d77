"""Links with all peers: admission, incoming statements, and log entries as links come up and break."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from cryptography import x509

from parties.base.address import Address, addresses_of, parse_address
from parties.base.machine_failure import own_trouble
from parties.base.rate import Rate
from parties.link.identity import fingerprint
from parties.link.listening import Admit, RefusedError, Take
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.node.acts.ledger import Ledger
from parties.node.acts.limits import too_many_sessions
from parties.node.acts.parts import PeerLink
from parties.node.events import Events
from parties.node.links import giving, sessions
from parties.node.links.control import LABEL, UNWRITTEN, Control, control_options
from parties.node.log import heads
from parties.node.log.heads import Accepted, Found, Shown
from parties.node.log.node_log import ClosedError
from parties.node.log.statement import Statement
from parties.node.peers import PeerIdentity
from parties.node.records.sealed import errors
from parties.node.settings import DAY_SECONDS, NodeSettings
from smc.errors import LinkError, SmcError
from smc.session import Session

REVOKED = "its certificate is revoked here: install a new one of the peer's, and restart the node"
# standing links that a peer may open in a row; an honest peer pauses between them
LINKS_AT_ONCE, SECONDS_A_LINK = 30, 3.0


@dataclass(frozen=True)
class Contact:
    """The connection with one peer. `connect` is the peer's address if this node dials.

    `links` limits how often the peer may open the standing link, `begun` how often it may begin sessions.
    """

    who: PeerIdentity
    connect: str | None
    options: LinkOptions
    control: Control
    sessions: sessions.Sessions
    links: Rate
    begun: Rate


class Contacts:
    """The contacts of a node: `of` maps peer names to them. `link` is the kind of link assumed by predictions."""

    def __init__(
        self,
        ways: Sequence[tuple[PeerIdentity, LinkOptions]],
        ledger: Ledger,
        node: NodeSettings,
        events: Events,
        link: str,
    ) -> None:
        self._ledger, self._node, self._events, self._link = ledger, node, events, link
        self._succeeding = threading.Lock()
        self.stopping = False
        self.of = {who.peer_name: self._contact(*self._as_known(who, options)) for who, options in ways}

    def doors(self) -> dict[x509.Certificate, Callable[[str], tuple[Outbox, Take]]]:
        """Return the admission function for each certificate of the peers that connect to this node."""
        return {
            certificate: partial(self.admit, contact.who.peer_name, certificate)
            for contact in self.of.values()
            if contact.connect is None
            for certificate in contact.who.trusted
        }

    def _as_known(self, who: PeerIdentity, options: LinkOptions) -> tuple[PeerIdentity, LinkOptions]:
        """Return the peer and its link options; with its new certificate if it has connected with that before."""
        if self._ledger.pins.is_succeeded(who):
            who = self._ledger.pins.succeed(who)
        return who, replace(options, peer=who.peer)

    def _succeed(self, name: str) -> None:
        with self._succeeding:
            contact = self.of[name]
            if contact.who.successor is None:
                return
            who = self._ledger.pins.succeed(contact.who)
            self.of[name] = replace(contact, who=who)
            contact.sessions.succeed(who)
        self._events.log("certificate replaced", peer=name)

    def _contact(self, who: PeerIdentity, options: LinkOptions) -> Contact:
        name = who.peer_name
        successor = None if who.successor is None else replace(options, peer=who.successor.certificate)
        control = Control(
            control_options(options),
            partial(self._hear, name),
            partial(self._ledger.jobs.to_greet, name),
            partial(self._read, name),
            partial(self._connected, name),
            partial(self._no_link, name),
            partial(self._meet, name),
            None if successor is None else control_options(successor),
            partial(self._succeed, name),
        )
        held = sessions.Sessions(
            self._ledger,
            who,
            options,
            self._node.sessions,
            lambda: control.connected,
            self._events,
            self._link,
            lambda: control.connection,
            self._node.limits,
            self._way,
            self._call,
        )
        links = Rate(LINKS_AT_ONCE, 1 / SECONDS_A_LINK)
        begun = self._node.limits.sessions_a_day
        return Contact(who, options.connect, options, control, held, links, Rate(begun, begun / DAY_SECONDS))

    def admit(self, name: str, certificate: x509.Certificate, label: str) -> tuple[Outbox, Take]:
        """Admit a connecting peer to the standing link or to a session, as the label states.

        Return the outbox of its stream, and the function that takes the stream.

        Args:
            name: Name of the peer.
            certificate: The certificate with which the peer has connected.
            label: Label of the stream: that of the standing link, or of one job's session.

        Raises:
            RefusedError: The peer may not connect, or not now.
        """
        if self.stopping:
            raise RefusedError("the node is stopping")
        if certificate != self.of[name].who.peer:
            if self.is_revoked(self.of[name]):  # a thief of the revoked key could have named a successor, too
                raise RefusedError("the certificate that yours replaces is revoked here")
            self._succeed(name)
        contact = self.of[name]
        if certificate != contact.who.peer:
            raise RefusedError("your certificate was replaced by a newer one")
        if contact.who.is_overdue:
            raise RefusedError("your certificate should have been replaced by now: connect with the new one")
        if self.is_revoked(contact):
            raise RefusedError("your certificate is revoked here")
        if label == LABEL:
            if not contact.links.allows():
                raise RefusedError("too many links were opened in a row: wait a little")
            return contact.control.admit()
        if label.startswith(sessions.LABEL):
            if contact.control.held:
                raise RefusedError("jobs wait until both nodes have compared their records, or accepted a rollback")
            if not contact.begun.allows():
                why = too_many_sessions(self._node.limits)
                self._events.log("session held back", peer=name, why=why)
                raise RefusedError(why)
            try:
                return contact.sessions.admit(label.removeprefix(sessions.LABEL))
            except RefusedError:
                contact.begun.back()
                raise
        if label.startswith(giving.LABEL):
            return self._door(name, label.removeprefix(giving.LABEL))(label)
        raise RefusedError("a node answers here: start smc node at your end as well")

    def _call(self, holder: str, identifier: str) -> None:
        self.of[holder].control.say(giving.LABEL + identifier)

    def _read(self, peer: str, key: str) -> bytes:
        """Return a message of the standing link: our statement about a job, or the call to its session."""
        if key.startswith(giving.LABEL):
            return key.encode()
        statement = self._ledger.hearing.statement(key, peer)
        return self._ledger.heads.attached(statement) if statement else b""

    def _door(self, holder: str, identifier: str) -> Admit:
        record = self._ledger.jobs.known(identifier)
        if record is None or record.peer not in self.of:
            raise RefusedError("there is no such job here")
        return self.of[record.peer].sessions.door(identifier, holder)

    def _way(self, name: str) -> LinkOptions | None:
        """Return the options of a further link to a peer, on the standing link's connection if this node dials.

        Return None if the peer is not connected, or no job may run with it.
        """
        contact = self.of.get(name)
        if contact is None or not contact.control.connected or contact.control.held:
            return None
        return replace(contact.options, peer=contact.who.peer, connection=contact.control.connection)

    def is_revoked(self, contact: Contact) -> bool:
        """Return whether a peer's present certificate has been revoked."""
        return self._ledger.pins.is_revoked(contact.who)

    def _hear(self, peer: str, data: bytes) -> None:
        if data.startswith(giving.LABEL.encode()):
            record = self._ledger.jobs.known(data.decode(errors="replace").removeprefix(giving.LABEL))
            if record is not None and record.peer in self.of:
                self.of[record.peer].sessions.called(record.id, peer)
            return
        try:
            data, head = self._ledger.heads.detached(peer, data)
            try:
                self._ledger.hearing.hear(peer, data, head)
            finally:  # also if the statement is refused
                self._ledger.heads.hold(peer, head, newer=True)
        except errors() as error:
            why = own_trouble(error) or "the records cannot be written"
            self._events.log("records cannot be written", why=why)
            self._events.troubled(why)
            raise LinkError(f"{UNWRITTEN}: {why}") from None  # each new link sends all statements again
        except SmcError as error:
            self._events.log("statement refused", peer=peer, error=type(error).__name__)
        except Exception as error:  # this one statement fails on each link: keep the link
            why = f"internal error: {type(error).__name__}"
            self._events.log("statement failed", peer=peer, job=_job_of(data), why=why)

    def _meet(self, peer: str, session: Session) -> str:
        """Compare the heads of both logs with the peer; return the reason why no job may run with it, empty if none."""
        heads.send(session, self._ledger.heads.shown(peer))
        their_heads = heads.receive(session, Shown)
        our_findings = self._ledger.heads.lost(peer, their_heads)
        heads.send(session, our_findings)
        their_findings = heads.receive(session, Found)
        peer_findings = self._ledger.heads.lost_by_peer(peer, their_heads, their_findings)
        heads.send(session, Accepted(accepted=peer_findings.accepted))
        accepted = heads.receive(session, Accepted).accepted
        if not (why := heads.why_held(peer, our_findings, peer_findings, accepted, their_findings.accepted)):
            self._ledger.heads.hold(peer, their_heads.own)
        return why

    def _connected(self, name: str, connected: bool, address: str | None) -> None:
        contact = self.of[name]
        self._events.connected.set(sum(other.control.connected for other in self.of.values()))
        self._events.log("connected" if connected else "disconnected", peer=name)
        with suppress(ClosedError):
            self._note_link(contact, connected, address)
        contact.sessions.wake()

    def _no_link(self, peer: str, why: str) -> None:
        self._events.log("not connected", peer=peer, why=why)

    def _note_link(self, contact: Contact, connected: bool, address: str | None) -> None:
        name = contact.who.peer_name
        if connected:
            peer_address = address or (None if contact.connect is None else _resolved(parse_address(contact.connect)))
            link = PeerLink(peer_address, contact.control.tls, contact.control.group)
            self._ledger.parts.links[name] = link
            description = {"fingerprint": fingerprint(contact.who.peer), "address": peer_address}
            self._ledger.log.note_folded("connected", name, **description, tls=link.tls, group=link.group)
        else:
            self._ledger.log.note_folded("disconnected", name, why=contact.control.trouble)


def _job_of(data: bytes) -> str:
    """Return the job identifier of a statement; empty if it cannot be read."""
    with suppress(Exception):
        return Statement.from_bytes(data).proposal.id
    return ""


def _resolved(address: Address) -> str | None:
    """Return the IP address of a host name; None if the name has several, since the link's address is unknown then."""
    try:
        (only,) = addresses_of(address)
    except (OSError, ValueError):
        return None
    return only.host

"""The node: all its parts put together, from its start to its graceful end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from cryptography import x509

from parties.base import files, temporary
from parties.base.address import Address, addresses_of, parse_address, require_free
from parties.base.own_trouble import advice, own_trouble
from parties.base.rate import Rate
from parties.base.settings import at_key
from parties.link.identity import fingerprint
from parties.link.listening import Port, RefusedError, Take
from parties.link.options import KEEPALIVE_SECONDS, LinkOptions
from parties.link.outbox import Outbox
from parties.link.settings import MIB
from parties.node import heads, records, sessions
from parties.node.beginning import refuse_changed_records, try_tables
from parties.node.budget import same_rows
from parties.node.control import LABEL, UNWRITTEN, Control, control_options
from parties.node.events import Events, LogLevel
from parties.node.gate import Gate
from parties.node.heads import Accepted, Found, Shown
from parties.node.health import Health
from parties.node.ledger import Ledger
from parties.node.limits import too_many_sessions
from parties.node.node_log import ClosedError
from parties.node.offers import Offers
from parties.node.operator_service import REVOKED, Contact, OperatorService, recorded
from parties.node.parts import PeerLink
from parties.node.peers import Peers, Who, reached
from parties.node.point.asking import Asking
from parties.node.point.decision_point import DecisionPoint
from parties.node.policy.rules import unbounded
from parties.node.records import beside, marker
from parties.node.records.database import FILE_NAME, STATE
from parties.node.records.sealed import errors
from parties.node.settings import DAY_SECONDS, NodeFile
from parties.node.shipping.shipper import Shipper
from parties.node.statement import Statement
from parties.node.store import lacks_signature
from parties.node.typed_inputs import TypedInputs
from parties.node.validity import Watch, warning
from parties.operator.interface import ENDED, Operator, State
from parties.operator.starting import Starting
from smc import __version__
from smc.errors import InputError, LinkError, SmcError
from smc.kernels.warm import warm
from smc.session import Session

SCHEMA_SECONDS = 10.0  # between looks at whether the tables' schemas are what they were
STREAMS = 40  # threads of the port for each peer: the control link and sessions
LINKS_AT_ONCE, SECONDS_A_LINK = 30, 3.0  # standing links that a peer may open; an honest one pauses between them


class WebFrontend(Protocol):
    """The node's page, API and figures. Whoever starts the node puts it together with it."""

    def start(self, operator: Operator, events: Events, failed: Callable[[str, str], None]) -> dict[str, str]:
        """Begin to serve; return the URLs by what they are. `failed` records a log-in: a person's name, and why."""

    def stop(self) -> None:
        """End it; may be called twice, or without a start."""


class Node:
    """A running node. `stop` must be called at its end."""

    def __init__(self, file: NodeFile, frontend: WebFrontend, log_level: LogLevel = "info") -> None:
        self._file, self._frontend = file, frontend
        for key, wrong in file.shared_ports().items():
            raise InputError(f"{key}: {wrong}")
        ways = reached(file)
        self._peers = Peers([who for who, _ in ways])
        self._identity = self._peers.identity
        listening = next((options.listen for _, options in ways if options.listen is not None), None)
        self._listens = None if listening is None else parse_address(listening, lowest_port=0)
        offers = self._offers = Offers.of(file)
        _refuse(same_rows.two_names(file.tables))
        self._inputs = TypedInputs()
        self._events = Events(level=log_level)
        self._events.watch_process()
        place = file.node.state / FILE_NAME
        beside.require_sealed(place, file.node.sealed)
        with at_key("node.state"):  # which a start may bring forward: nobody else holds it, and nothing is in the way
            records.make_place(place)
            self._lock = files.lock(file.node.state / "lock")
            temporary.ensure(file.node.state / "tmp")
            self._starting = Starting(file.node.state)
        for key, text in file.ports().items():
            with at_key(key):
                require_free(text)
        with at_key("node.state"):
            self._connection = records.connect(place)
        for left in beside.sweep(place, self._connection):
            self._events.log("temporary file removed", file=str(left), why="a run was killed")
        self._succeeding = threading.Lock()
        self._speakers: dict[str, Callable[[str], None]] = {}  # of each peer, where its statements are sent
        with at_key("decision"):
            gate = Gate(file, offers, None if file.decision is None else DecisionPoint(file.decision))
        self._ledger = Ledger(self._connection, self._peers, gate, offers, self._inputs, self._speakers, self._changed)
        self._asking = Asking(self._ledger.decisions, self._events.log)
        self._marker = file.node.state / marker.FILE_NAME
        refuse_changed_records(self._ledger, self._connection, self._identity, file.node.state)
        try:
            _refuse(same_rows.unknown_names(file.tables, self._ledger.accounts.known()))
        except InputError:
            self._ledger.log.close()
            self._starting.over()
            self._lock.close()
            raise
        emulated = file.link.emulate
        self._predict = str(emulated) if emulated is not None else file.node.link
        self._contacts = {who.peer_name: self._contact(*self._as_known(who, options)) for who, options in ways}
        self._speakers.update((name, contact.control.say) for name, contact in self._contacts.items())
        self._desk = OperatorService(
            self._identity,
            self._ledger,
            self._contacts,
            {name: list(offer.schema.attributes) for name, offer in offers.tables.items()},
            lambda: "" if self._listens is None else str(self._listens),
            self._predict,
            lambda: [*self._own_trouble(), *offers.stale().values()],
            unbounded(file.policy, {name: offer.settings.budget is not None for name, offer in offers.tables.items()}),
        )
        self._watches = (
            Watch(
                lambda: {who.peer_name: warning(who) for who in self._peers},
                lambda peer, why: self._events.log("certificate", peer=peer, why=why),
            ),
            Watch(
                offers.stale,
                lambda table, why: self._events.log("schema changed", table=table, why=why),
                SCHEMA_SECONDS,
            ),
            Watch(self._archive, lambda _, what: self._events.log("archived", what=what), DAY_SECONDS),
        )
        with at_key("records.ship"):
            self._shippers = [Shipper(target, self._ledger.log, self._events.log) for target in file.records.ship]
        self._ledger.log.entered.extend(shipper.wake for shipper in self._shippers)
        self._health = Health()
        self._port: Port | None = None
        self._began = self._stopping = False
        self._states: dict[str, State] = {}  # of all jobs, as logged last

    def _as_known(self, who: Who, options: LinkOptions) -> tuple[Who, LinkOptions]:
        """Return the peer with its new certificate, and the way to it, if it has come with that before."""
        if self._ledger.pins.is_succeeded(who):
            who = self._ledger.pins.succeed(who)
        return who, replace(options, peer=who.peer)

    def _succeed(self, name: str) -> None:
        """Let a peer's new certificate take the place of the former one: it has come with it."""
        with self._succeeding:
            contact = self._contacts[name]
            if contact.who.successor is None:
                return
            who = self._ledger.pins.succeed(contact.who)
            self._contacts[name] = replace(contact, who=who)
            contact.sessions.succeed(who)
        self._events.log("certificate replaced", peer=name)

    def _contact(self, who: Who, options: LinkOptions) -> Contact:
        """Return what connects this node with a peer."""
        name = who.peer_name
        successor = None if who.successor is None else replace(options, peer=who.successor.certificate)
        control = Control(
            control_options(options),
            partial(self._hear, name),
            partial(self._ledger.jobs.to_greet, name),
            self._ledger.hearing.statement,
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
            self._file.node.sessions,
            lambda: control.connected,
            self._events,
            self._predict,
            lambda: control.connection,
            self._file.node.limits,
        )
        links = Rate(LINKS_AT_ONCE, 1 / SECONDS_A_LINK)
        begun = self._file.node.limits.sessions_a_day
        return Contact(who, options.connect, control, held, links, Rate(begun, begun / DAY_SECONDS))

    # Its life.

    def start(self) -> dict[str, str]:
        """Open the ports and begin to work; return where everything is, for the operator."""
        # Before anybody can connect: a session would wait for the compiler, and its meter count that.
        warm(on_compiled=self._compiling)
        if self._listens is not None:
            listening = [contact for contact in self._contacts.values() if contact.connect is None]
            with at_key("node.listen" if self._file.node.listen is not None else "link.listen"):
                self._port = Port(
                    self._listens,
                    self._identity,
                    {
                        certificate: partial(self._admit, contact.who.peer_name, certificate)
                        for contact in listening
                        for certificate in contact.who.trusted
                    },
                    KEEPALIVE_SECONDS,
                    streams=STREAMS,
                    window=self._file.link.window * MIB,
                    classical=self._file.link.classical,
                )
            self._listens = self._port.address
        node = self._file.node
        served = self._frontend.start(self._desk, self._events, self._log_in_failed)
        self._starting.over()
        with at_key("node.health"):
            health = self._health.serve(parse_address(node.health, lowest_port=0))
        prints = [fingerprint(who.peer) for who in self._peers]
        known = {"peer_fingerprint": prints[0]} if len(prints) == 1 else {"peer_fingerprints": prints}
        with recorded():
            self._ledger.log.note(
                "node started",
                version=__version__,
                fingerprint=fingerprint(self._identity.certificate),
                **known,
                tables=list(self._offers.tables),
                **self._ledger.accounts.recorded(),
                state=STATE,
            )
            self._ledger.log.remember(self._marker)
        self._began = True
        for table, names in self._ledger.accounts.recorded()["same_rows"].items():
            self._events.log("same rows", table=table, names=", ".join(names))
        self._events.log("node started", name=self._identity.name, peer=", ".join(self._contacts))
        self._changed("")
        for contact in self._contacts.values():
            if self._is_revoked(contact):
                self._events.log("certificate", peer=contact.who.peer_name, why=REVOKED)
                continue
            contact.control.start()
            contact.sessions.start()
        for watch in self._watches:
            watch.start()
        for shipper in self._shippers:
            shipper.start()
        if self._file.decision is not None:
            self._asking.start()
        look = partial(try_tables, self._file.policy, self._offers, self._events)
        threading.Thread(target=look, name="smc-tables", daemon=True).start()
        contacts = self._contacts.values()
        connects = ", ".join(contact.connect for contact in contacts if contact.connect is not None)
        way = {"listens": "" if self._listens is None else str(self._listens), "connects": connects}
        served["health"] = str(health)
        self._events.log("ready", **{name: where for name, where in way.items() if where}, **served)
        return {**way, **served}

    def stop(self, why: str = "", seconds: float | None = None) -> None:
        """Stop in order: begin nothing new, let running sessions finish for a while, cut the rest at their last level.

        They go on after a restart.
        """
        self._stopping = True
        self._asking.stop()
        self._health.set(serving=False)
        if self._began:
            self._events.log("node stopping")
        left = self._file.node.stop if seconds is None else seconds
        contacts = list(self._contacts.values())
        at_once([partial(contact.sessions.stop, left) for contact in contacts])
        at_once([contact.control.stop for contact in contacts])
        if self._began:
            try:
                self._ledger.log.note_repeats()
                self._ledger.log.note("node stopped", why=why)
                self._ledger.log.remember(self._marker)
            except InputError as error:
                self._events.log("records cannot be written", why=own_trouble(error) or str(error))
            except errors() as error:  # it must not keep the node from stopping
                self._events.log("records cannot be written", why=own_trouble(error) or str(error))
        for watch in self._watches:
            watch.stop()
        at_once([shipper.stop for shipper in self._shippers])
        self._frontend.stop()
        self._health.stop()
        if self._port is not None:
            self._port.close()
        self._ledger.log.close()
        self._starting.over()
        self._lock.close()
        self._events.log_repeats()
        if self._began:
            self._events.log("node stopped")

    # How the parts speak to each other.

    def _compiling(self, done: int, total: int) -> None:
        self._starting.tell("compiling the inner loops", done, total)
        self._events.log("compiling the inner loops", done=done, of=total)

    def _archive(self) -> dict[str, str]:
        """Archive the jobs that have been kept long enough; return what is to be said of it."""
        try:
            node = self._file.node
            folder, retention = node.state / beside.ARCHIVES, self._ledger.retention
            archived = retention.archive(self._offers.kept, folder, emergency=node.emergency)
        except ClosedError:
            return {}
        except errors(InputError) as error:
            return {"": f"nothing: {error}"}
        rest = "" if retention.overwritten else "the write-ahead log may still have what has left: somebody reads it"
        if archived is None:
            return {"": rest}
        self._changed("")
        return {"": f"{archived}; {rest}" if rest else str(archived)}

    def _admit(self, name: str, certificate: x509.Certificate, label: str) -> tuple[Outbox, Take]:
        if self._stopping:
            raise RefusedError("the node is stopping")
        if certificate != self._contacts[name].who.peer:
            if self._is_revoked(self._contacts[name]):  # whoever has copied its key has named a successor, too
                raise RefusedError("the certificate that yours is to follow is revoked here")
            self._succeed(name)
        contact = self._contacts[name]
        if certificate != contact.who.peer:
            raise RefusedError("your certificate was replaced by another one of yours")
        if contact.who.is_overdue:
            raise RefusedError("your certificate was to be replaced by now: come with the new one")
        if self._is_revoked(contact):
            raise RefusedError("your certificate is revoked here")
        if label == LABEL:
            if not contact.links.allows():
                raise RefusedError("too many links were opened one after the other: wait a little")
            return contact.control.admit()
        if label.startswith(sessions.LABEL):
            if contact.control.held:
                raise RefusedError("jobs wait: the two nodes' records are not compared yet, or one's were rolled back")
            if not contact.begun.allows():
                why = too_many_sessions(self._file.node.limits)
                self._events.log("session held back", peer=name, why=why)
                raise RefusedError(why)
            try:
                return contact.sessions.admit(label.removeprefix(sessions.LABEL))
            except RefusedError:
                contact.begun.back()
                raise
        raise RefusedError("this is a node: start smc node at the other end as well")

    def _is_revoked(self, contact: Contact) -> bool:
        return self._ledger.pins.is_revoked(contact.who)

    def _hear(self, peer: str, data: bytes) -> None:
        try:
            self._ledger.hearing.hear(peer, data)
        except errors() as error:
            why = own_trouble(error) or "the records cannot be written"
            self._events.log("records cannot be written", why=why)
            self._events.troubled(why)
            raise LinkError(f"{UNWRITTEN}: {why}") from None  # with a new link all is said again
        except SmcError as error:
            self._events.log("statement refused", peer=peer, error=type(error).__name__)
        except Exception as error:  # of one statement, and the same with each link: the link stays
            why = f"internal error: {type(error).__name__}"
            self._events.log("statement failed", peer=peer, job=_job_of(data), why=why)

    def _own_trouble(self) -> list[str]:
        why = self._events.own_trouble
        return [f"it is this node: {advice(why)}; jobs wait for that"] if why else []

    def _meet(self, peer: str, session: Session) -> str:
        """Compare the heads of both logs; return why nothing may go on, if it may not."""
        heads.send(session, self._ledger.heads.shown(peer))
        their_heads = heads.receive(session, Shown)
        ours = self._ledger.heads.lost(peer, their_heads)
        heads.send(session, ours)
        their_findings = heads.receive(session, Found)
        theirs = self._ledger.heads.lost_by_peer(peer, their_heads, their_findings)
        heads.send(session, Accepted(accepted=theirs.accepted))
        accepted = heads.receive(session, Accepted).accepted
        if not (why := heads.why_held(peer, ours, theirs, accepted, their_findings.accepted)):
            self._ledger.heads.hold(peer, their_heads)
        return why

    def _connected(self, name: str, connected: bool, address: str | None) -> None:
        contact = self._contacts[name]
        self._events.connected.set(sum(other.control.connected for other in self._contacts.values()))
        self._events.log("connected" if connected else "disconnected", peer=name)
        with suppress(ClosedError):
            self._note_link(contact, connected, address)
        contact.sessions.wake()

    def _no_link(self, peer: str, why: str) -> None:
        self._events.log("not connected", peer=peer, why=why)

    def _log_in_failed(self, person: str, why: str) -> None:
        self._events.log("log-in failed", why=why)
        with recorded():
            self._ledger.log.note_folded("log-in failed", "", person=person, why=why)

    def _note_link(self, contact: Contact, connected: bool, address: str | None) -> None:
        name = contact.who.peer_name
        if connected:
            there = address or (None if contact.connect is None else _resolved(parse_address(contact.connect)))
            link = PeerLink(there, contact.control.tls, contact.control.group)
            self._ledger.parts.links[name] = link
            whom = {"fingerprint": fingerprint(contact.who.peer), "address": there}
            self._ledger.log.note_folded("connected", name, **whom, tls=link.tls, group=link.group)
        else:
            self._ledger.log.note_folded("disconnected", name, why=contact.control.trouble)

    def _changed(self, identifier: str) -> None:
        self._desk.tell()
        self._events.jobs(self._ledger.jobs.counts())
        if not identifier:
            self._states = {record.id: self._ledger.jobs.state(record) for record in self._ledger.jobs.all()}
        if (record := self._ledger.jobs.known(identifier)) is not None:
            state = self._ledger.jobs.state(record)
            if self._states.get(identifier) != state and not lacks_signature(record, state):  # on its way
                self._events.log("job", job=identifier, state=state)
            self._states[identifier] = state  # of this one alone: another's change is logged when that is told
            if state in ENDED:
                self._inputs.forget(identifier)
                if (contact := self._contacts.get(record.peer)) is not None:
                    contact.sessions.forget(identifier)
        self._asking.wake()
        for contact in self._contacts.values():
            contact.sessions.wake()


def _refuse(wrong: Mapping[str, str]) -> None:
    """Raise InputError for the first table with which something is wrong."""
    for table, why in wrong.items():
        raise InputError(f"tables.{table}: {why}")


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Make all of these calls side by side, until the last is through."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _job_of(data: bytes) -> str:
    """Return the job of a statement; empty if it cannot be read."""
    with suppress(Exception):
        return Statement.from_bytes(data).proposal.id
    return ""


def _resolved(address: Address) -> str | None:
    """Return the IP address that a name stands for; None if it has several: which has the link is not known."""
    try:
        (only,) = addresses_of(address)
    except (OSError, ValueError):
        return None
    return only.host

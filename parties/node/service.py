"""The node: assembly of its parts, start and graceful stop."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from parties.base.address import parse_address
from parties.base.machine_failure import advice, own_trouble
from parties.base.settings import at_key
from parties.link.identity import fingerprint
from parties.link.listening import Port
from parties.link.options import KEEPALIVE_SECONDS
from parties.link.settings import MIB
from parties.node.acts.gate import Gate
from parties.node.acts.ledger import Ledger
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.budget import same_rows
from parties.node.desk.operator_service import OperatorService, recorded
from parties.node.events import Events, LogLevel
from parties.node.health import Health
from parties.node.links.contacts import REVOKED, Contacts
from parties.node.links.validity import Watch, days_left, warning
from parties.node.log.node_log import ClosedError
from parties.node.log.store import lacks_signature
from parties.node.offers import Offers
from parties.node.peers import Peers, reached
from parties.node.point.asking import Asking
from parties.node.point.decision_point import DecisionPoint
from parties.node.records import marker, sidecar_files
from parties.node.records.database import STATE, last_number
from parties.node.records.sealed import errors
from parties.node.settings import DAY_SECONDS, NodeFile
from parties.node.shipping.shipper import Shipper
from parties.node.starting.beginning import claim, refuse_changed_records, try_tables
from parties.operator.interface import ENDED, Operator, State
from smc import __version__
from smc.errors import InputError
from smc.kernels.warm import warm

SCHEMA_SECONDS = 10.0  # between two checks that the tables' schema files are unchanged
STREAMS = 40  # threads of the port for each peer: the standing link and sessions


class WebFrontend(Protocol):
    """The node's page, API and metrics. The code that makes the node passes it in, so the node does not import it."""

    def start(self, operator: Operator, events: Events, failed: Callable[[str, str], None]) -> dict[str, str]:
        """Start to serve, and return the URLs by name.

        Args:
            operator: The node as its operator sees it.
            events: Log and metrics of the node.
            failed: Records a failed log-in, with the person's name and the reason.
        """

    def stop(self) -> None:
        """Stop serving; may be called twice, or without a start."""


class Node:
    """A running node. The caller must call `stop` at the end."""

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
        self._place = claim(file, self._events)
        self._speakers: dict[str, Callable[[str], None]] = {}  # by peer: the function that sends its statements
        with at_key("decision"):
            gate = Gate(file, offers, None if file.decision is None else DecisionPoint(file.decision))
        self._ledger = Ledger(
            self._place.connection, self._peers, gate, offers, self._inputs, self._speakers, self._changed
        )
        self._asking = Asking(self._ledger.decisions, self._events.log)
        self._marker = file.node.state / marker.FILE_NAME
        refuse_changed_records(self._ledger.jobs, self._place.connection, self._identity, file.node.state)
        try:
            _refuse(same_rows.unknown_names(file.tables, self._ledger.accounts.known()))
        except InputError:
            self._ledger.log.close()
            self._place.leave()
            raise
        emulated = file.link.emulate
        self._predict = str(emulated) if emulated is not None else file.node.link
        self._contacts = Contacts(ways, self._ledger, file.node, self._events, self._predict)
        self._speakers.update((name, contact.control.say) for name, contact in self._contacts.of.items())
        self._desk = OperatorService(
            self._identity,
            self._ledger,
            self._contacts.of,
            {name: list(offer.schema.attributes) for name, offer in offers.tables.items()},
            lambda: "" if self._listens is None else str(self._listens),
            self._predict,
            lambda: [*self._own_trouble(), *offers.stale().values()],
            file.unbounded(),
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
        self._measure()
        self._health = Health()
        self._port: Port | None = None
        self._began = False
        self._states: dict[str, State] = {}  # of all jobs, as last logged

    # Start and stop.

    def start(self) -> dict[str, str]:
        """Open the ports and start to work; return the addresses for the operator, by name."""
        # First, because a session would wait for the compiler, and its meter would count that.
        warm(on_compiled=self._compiling)
        if self._listens is not None:
            with at_key("node.listen" if self._file.node.listen is not None else "link.listen"):
                self._port = Port(
                    self._listens,
                    self._identity,
                    self._contacts.doors(),
                    KEEPALIVE_SECONDS,
                    streams=STREAMS,
                    window=self._file.link.window * MIB,
                    classical=self._file.link.classical,
                )
            self._listens = self._port.address
        node = self._file.node
        served = self._frontend.start(self._desk, self._events, self._log_in_failed)
        self._place.starting.over()
        with at_key("node.health"):
            health = self._health.serve(parse_address(node.health, lowest_port=0))
        pins = [fingerprint(who.peer) for who in self._peers]
        peer_fingerprints = {"peer_fingerprint": pins[0]} if len(pins) == 1 else {"peer_fingerprints": pins}
        with recorded():
            self._ledger.log.note(
                "node started",
                version=__version__,
                fingerprint=fingerprint(self._identity.certificate),
                **peer_fingerprints,
                tables=list(self._offers.tables),
                **self._ledger.accounts.recorded(),
                state=STATE,
            )
            self._ledger.log.remember(self._marker)
        self._began = True
        for table, names in self._ledger.accounts.recorded()["same_rows"].items():
            self._events.log("same rows", table=table, names=", ".join(names))
        self._events.log("node started", name=self._identity.name, peer=", ".join(self._contacts.of))
        self._changed("")
        for contact in self._contacts.of.values():
            if self._contacts.is_revoked(contact):
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
        check_tables = partial(try_tables, self._file.policy, self._offers, self._events, self._file.template)
        threading.Thread(target=check_tables, name="smc-tables", daemon=True).start()
        contacts = self._contacts.of.values()
        connects = ", ".join(contact.connect for contact in contacts if contact.connect is not None)
        link_addresses = {"listens": "" if self._listens is None else str(self._listens), "connects": connects}
        served["health"] = str(health)
        self._events.log("ready", **{name: where for name, where in link_addresses.items() if where}, **served)
        return {**link_addresses, **served}

    def stop(self, why: str = "", seconds: float | None = None) -> None:
        """Stop in order: start no session, let running ones finish for a while, cut the rest at their last step.

        Cut sessions go on after a restart.

        Args:
            why: Reason for the log.
            seconds: Time for running sessions to finish; None takes the setting `node.stop`.
        """
        self._contacts.stopping = True
        self._asking.stop()
        self._health.set(serving=False)
        if self._began:
            self._events.log("node stopping")
        remaining = self._file.node.stop if seconds is None else seconds
        contacts = list(self._contacts.of.values())
        at_once([partial(contact.sessions.stop, remaining) for contact in contacts])
        at_once([contact.control.stop for contact in contacts])
        if self._began:
            try:
                self._ledger.log.note_repeats()
                self._ledger.log.note("node stopped", why=why)
                self._ledger.log.remember(self._marker)
            except InputError as error:
                self._events.log("records cannot be written", why=own_trouble(error) or str(error))
            except errors() as error:  # an error must not keep the node from stopping
                self._events.log("records cannot be written", why=own_trouble(error) or str(error))
        for watch in self._watches:
            watch.stop()
        at_once([shipper.stop for shipper in self._shippers])
        self._frontend.stop()
        self._health.stop()
        if self._port is not None:
            self._port.close()
        self._ledger.log.close()
        self._place.leave()
        self._events.log_repeats()
        if self._began:
            self._events.log("node stopped")

    # Connections between the parts.

    def _compiling(self, done: int, total: int) -> None:
        self._place.starting.tell("compiling the inner loops", done, total)
        self._events.log("compiling the inner loops", done=done, of=total)

    def _archive(self) -> dict[str, str]:
        """Archive the jobs whose retention has ended; return the notes for the log."""
        try:
            self._ledger.matchings.expire()
            node = self._file.node
            folder, retention = node.state / sidecar_files.ARCHIVES, self._ledger.retention
            archived = retention.archive(self._offers.kept, folder, emergency=node.emergency)
        except ClosedError:
            return {}
        except errors(InputError) as error:
            return {"": f"nothing: {error}"}
        rest = (
            "" if retention.overwritten else "the write-ahead log may have archived content: another process reads it"
        )
        if archived is None:
            return {"": rest}
        self._changed("")
        return {"": f"{archived}; {rest}" if rest else str(archived)}

    def _measure(self) -> None:
        """Add the metrics that are read at each request for them."""
        log, accounts, jobs = self._ledger.log, self._ledger.accounts, self._ledger.jobs
        targets = [target.called for target in self._file.records.ship]
        measure = self._events.measure

        def left() -> dict[str, float]:
            epsilons = {table: accounts.account(table).left for table in accounts.tables()}
            return {table: epsilon for table, epsilon in epsilons.items() if epsilon is not None}

        def days() -> dict[str, float]:
            certificates = {"": self._identity.certificate, **{who.peer_name: who.peer for who in self._peers}}
            return {peer: days_left(certificate) for peer, certificate in certificates.items()}

        def behind() -> dict[str, float]:
            with log.reading():
                last = last_number(log.connection)
            return {name: last - log.shipped(name).number for name in targets}

        def oldest() -> dict[str, float]:
            waits: tuple[State, ...] = ("waiting",)
            waiting = [record.proposal.proposed_at for record in jobs.last(jobs.counts()["waiting"], states=waits)]
            return {"waiting": (datetime.now(UTC) - min(waiting)).total_seconds() if waiting else 0.0}

        def free() -> dict[str, float]:
            return {"state": shutil.disk_usage(self._file.node.state).free}

        measure("smc_budget_left", "Epsilon left of a table's budget.", "table", left)
        measure("smc_certificate_days", "Days until a certificate ends; ours has no peer.", "peer", days)
        measure("smc_shipping_lag", "Entries of the log that a target lacks.", "target", behind)
        measure("smc_oldest_job_seconds", "Age of the oldest job that waits for a consent.", "state", oldest)
        measure("smc_free_disk_bytes", "Free bytes of the disk of the state directory.", "directory", free)

    def _own_trouble(self) -> list[str]:
        why = self._events.own_trouble
        return [f"it is this node: {advice(why)}; jobs wait for that"] if why else []

    def _log_in_failed(self, person: str, why: str) -> None:
        self._events.log("log-in failed", why=why)
        self._events.failed_log_ins.inc()
        with recorded():
            self._ledger.log.note_folded("log-in failed", "", person=person, why=why)

    def _changed(self, identifier: str) -> None:
        self._desk.tell()
        self._events.jobs(self._ledger.jobs.counts())
        if not identifier:
            self._states = {record.id: self._ledger.jobs.state(record) for record in self._ledger.jobs.all()}
        if (record := self._ledger.jobs.known(identifier)) is not None:
            state = self._ledger.jobs.state(record)
            # the signature is on its way
            if self._states.get(identifier) != state and not lacks_signature(record, state):
                self._events.log("job", job=identifier, state=state)
            self._states[identifier] = state  # of this job alone: another job's change is logged when it is reported
            if state in ENDED:
                self._inputs.forget(identifier)
                if (contact := self._contacts.of.get(record.peer)) is not None:
                    contact.sessions.forget(identifier)
        self._asking.wake()
        for contact in self._contacts.of.values():
            contact.sessions.wake()


def _refuse(wrong: Mapping[str, str]) -> None:
    """Raise InputError for the first table with a fault."""
    for table, why in wrong.items():
        raise InputError(f"tables.{table}: {why}")


def at_once(calls: Sequence[Callable[[], object]]) -> None:
    """Call all functions in parallel, and return after the last has returned."""
    threads = [threading.Thread(target=call, daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

"""The node: all its parts put together, from its start to its graceful end."""

from __future__ import annotations

import socket
import sqlite3
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from prometheus_client import CollectorRegistry

from parties import files, records
from parties.identity import fingerprint, load_certificate, load_identity
from parties.link.address import Address, parse_address
from parties.link.listening import Port, RefusedError, Take
from parties.link.options import KEEPALIVE_SECONDS, LinkOptions
from parties.link.outbox import Outbox
from parties.link.settings import require_link
from parties.node import sessions
from parties.node.control import LABEL, Control, control_options
from parties.node.desk import Desk, recorded
from parties.node.events import Events, LogLevel
from parties.node.gate import Gate, Who
from parties.node.health import Health
from parties.node.inputs import Inputs, Secrets
from parties.node.ledger import Ledger
from parties.node.offers import Offers
from parties.node.register import ClosedError
from parties.node.settings import NodeFile
from parties.operator.interface import (
    ENDED,
    Operator,
)
from parties.policy.rules import remarks
from parties.records import marker
from parties.records.database import FILE_NAME, signed_head
from parties.sources.opening import open_table
from smc import __version__
from smc.errors import InputError, LinkError, SmcError
from smc.kernels.warm import warm

LARGEST_GROUP = 1000  # rows of one person or family
STREAMS = 40  # threads of the port: the control link, sessions, health checks


class Front(Protocol):
    """What an operator reaches the node by: page, API, figures. Whoever starts the node puts it together with it."""

    def start(self, operator: Operator, registry: CollectorRegistry) -> dict[str, str]:
        """Begin to serve; the URLs by what they are."""

    def stop(self) -> None:
        """End it; may be called twice, or without a start."""


class Node:
    """A running node. `stop` must be called at its end."""

    def __init__(self, file: NodeFile, front: Front, log_level: LogLevel = "info") -> None:
        self._file, self._front = file, front
        link = require_link(file.link)
        identity = load_identity(link.identity, link.certificate)
        self._who = Who(identity, load_certificate(link.peer), 0 if link.listen is not None else 1)
        self._address = parse_address(link.listen or link.connect or "", lowest_port=0)
        options = LinkOptions(
            identity,
            self._who.peer,
            listen=link.listen,
            connect=link.connect,
            timeout=link.timeout,
            window=link.window,
            shape=link.emulate,
        )
        self._window = link.window
        offers = self._offers = Offers.of(file, self._who.party)
        self._inputs = Inputs()
        self._predict = str(link.emulate) if link.emulate is not None else file.node.link
        self._events = Events(level=log_level)
        self._events.watch_process()
        self._connection = records.connect(file.node.state / FILE_NAME)
        self._lock = files.lock(file.node.state / "lock")
        self._ledger = Ledger(
            self._connection, self._who, Gate(self._who, file, offers), offers, self._inputs, self._say, self._changed
        )
        self._marker = file.node.state / marker.FILE_NAME
        self._refuse_changed_records()
        self._secrets = Secrets(file.node.state / "secrets")
        self._secrets.keep_only(r.id for r in self._ledger.all() if self._ledger.state(r) not in ENDED)
        self._control = Control(
            control_options(options),
            self._hear,
            self._ledger.to_greet,
            self._ledger.statement,
            self._connected,
            self._no_link,
        )
        self._sessions = sessions.Sessions(
            self._ledger,
            options,
            identity,
            self._secrets,
            self._who.party,
            file.node.sessions,
            lambda: self._control.connected,
            self._events,
            self._predict,
        )
        self._desk = Desk(
            self._who,
            self._ledger,
            self._control,
            self._sessions,
            list(offers.tables),
            lambda: self._address,
            self._predict,
        )
        self._health = Health()
        self._port: Port | None = None
        self._began = self._stopping = False
        self._states: Mapping[str, str] = {}  # of all jobs, as logged last

    # Its life.

    def start(self) -> dict[str, str]:
        """Open the ports and begin to work; where everything is, for the operator."""
        if self._who.party == 0:
            self._port = Port(
                self._address,
                self._who.identity,
                self._who.peer,
                KEEPALIVE_SECONDS,
                self._admit,
                streams=STREAMS,
                services=[self._health.add_to],
                window=self._window,
            )
            self._address = self._port.address
        node = self._file.node
        served = self._front.start(self._desk, self._events.registry)
        health = self._health.serve(parse_address(node.health, lowest_port=0))
        with recorded():
            self._ledger.note(
                "node started",
                version=__version__,
                fingerprint=fingerprint(self._who.identity.certificate),
                peer_fingerprint=fingerprint(self._who.peer),
                tables=list(self._offers.tables),
            )
            self._ledger.remember(self._marker)
        self._began = True
        self._events.log("node started", name=self._who.identity.name, peer=self._who.peer_name)
        self._changed("")
        self._control.start()
        self._sessions.start()
        threading.Thread(target=self._try_tables, name="smc-tables", daemon=True).start()
        way = {("listens", "connects")[self._who.party]: str(self._address)}
        served["health"] = str(health)
        self._events.log("ready", **way, **served)
        return {"listens": "", "connects": "", **way, **served}

    def stop(self, why: str = "", seconds: float | None = None) -> None:
        """Stop in order: begin nothing new, let running sessions finish for a while, cut the rest at their last level.

        They go on after a restart.
        """
        self._stopping = True
        self._health.set(serving=False)
        if self._began:
            self._events.log("node stopping")
        self._sessions.stop(self._file.node.stop if seconds is None else seconds)
        self._control.stop()
        if self._began:
            try:
                self._ledger.note("node stopped", why=why)
                self._ledger.remember(self._marker)
            except InputError as error:
                self._events.log("records cannot be written", why=str(error))
            except sqlite3.Error as error:  # it must not keep the node from stopping
                self._events.log("records cannot be written", why=str(error))
        self._front.stop()
        self._health.stop()
        if self._port is not None:
            self._port.close()
        self._ledger.close()
        self._lock.close()
        if self._began:
            self._events.log("node stopped")

    # How it begins.

    def _refuse_changed_records(self) -> None:
        """A node does not go on with records that somebody has changed: to go on would cover it up."""
        signed = signed_head(self._connection)
        own = fingerprint(self._who.identity.certificate)
        if signed is not None and signed.fingerprint != own:
            self._ledger.close()
            raise InputError(
                f"the audit log is signed with another certificate, {signed.fingerprint:.23}; if the present one has "
                "replaced it: smc audit renew --config party.toml --former OLD.crt"
            )
        try:
            self._ledger.check(self._marker)
        except InputError as error:
            self._ledger.close()
            again = "to begin anew, move the directory away and keep it"
            raise InputError(f"the records in {self._file.node.state}: {error}; {again}") from None

    def _try_tables(self) -> None:
        """Tell at once, not at the first job, which tables cannot be opened. No value of theirs is looked at."""
        for remark in remarks(
            self._file.policy, {name: offer.schema.attributes for name, offer in self._offers.tables.items()}
        ):
            self._events.log("policy", remark=remark)
        # Or the first job would wait for the compiler.
        warm(told=lambda done, total: self._events.log("compiling the inner loops", done=done, of=total))
        for name, offer in self._offers.tables.items():
            columns = list(offer.schema.attributes)
            try:
                open_table(offer.settings, offer.schema, columns[0], columns).close()
            except InputError as error:
                self._events.log("table not available", table=name, why=str(error))

    # How the parts speak to each other.

    def _admit(self, label: str) -> tuple[Outbox, Take]:
        if self._stopping:
            raise RefusedError("the node is stopping")
        if label == LABEL:
            return self._control.admit()
        if label.startswith(sessions.LABEL):
            return self._sessions.admit(label.removeprefix(sessions.LABEL))
        raise RefusedError("this is a node: start smc node at the other end as well")

    def _say(self, identifier: str) -> None:
        self._control.say(identifier)

    def _hear(self, data: bytes) -> None:
        try:
            self._ledger.hear(data)
        except SmcError as error:
            self._events.log("statement refused", error=type(error).__name__)
        except sqlite3.Error as error:
            self._events.log("records cannot be written", why=str(error))
            raise LinkError("this node cannot write its records now") from None  # with a new link all is said again

    def _connected(self, connected: bool, address: str | None) -> None:
        self._events.connected.set(connected)
        self._events.log("connected" if connected else "disconnected")
        with suppress(ClosedError):
            self._note_link(connected, address)
        self._sessions.wake()

    def _no_link(self, why: str) -> None:
        self._events.log("not connected", why=why)

    def _note_link(self, connected: bool, address: str | None) -> None:
        if connected:
            self._ledger.address = address or _resolved(self._address)
            whom = {"peer": self._who.peer_name, "fingerprint": fingerprint(self._who.peer)}
            self._ledger.note("connected", **whom, address=self._ledger.address, tls=self._control.tls)
        else:
            self._ledger.note("disconnected", why=self._control.trouble)

    def _changed(self, identifier: str) -> None:
        states = {record.id: self._ledger.state(record) for record in self._ledger.all()}
        self._events.jobs(list(states.values()))
        state = states.get(identifier, "")
        if state and self._states.get(identifier) != state:
            self._events.log("job", job=identifier, state=state)
        if state in ENDED:
            self._inputs.forget(identifier)
            self._secrets.forget(identifier)
        self._states = states
        self._sessions.wake()


def _resolved(address: Address) -> str | None:
    """The IP address that a name stands for."""
    try:
        return str(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return None

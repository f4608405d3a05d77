"""Checks of a node before it works: unchanged records and tables that can be opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from parties.base import files, temporary
from parties.base.address import require_free
from parties.base.machine_failure import causes, reason_of
from parties.base.settings import at_key
from parties.link.identity import Identity
from parties.node import records
from parties.node.events import Events
from parties.node.log.jobs import Jobs
from parties.node.offers import Offers
from parties.node.peers import MisnamedError
from parties.node.policy.rules import Rule, remarks
from parties.node.records import marker, sidecar_files
from parties.node.records.audit import other_certificate
from parties.node.records.database import FILE_NAME, signed_head
from parties.node.settings import NodeFile
from parties.operator.starting import Starting
from parties.sources.opening import open_table
from smc.errors import InputError, MachineError

PASSING = (
    "the disk is full", "the disk quota is used up", "the disk fails", "another program holds the database",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """The state directory of a node, locked against other processes. `starting` reports the progress of the start."""

    connection: sqlite3.Connection
    lock: IO[bytes]
    starting: Starting

    def leave(self) -> None:
        """Release the directory for other processes."""
        self.starting.over()
        self.lock.close()


def claim(file: NodeFile, events: Events) -> Place:
    """Lock the state directory of a node and open its database.

    Args:
        file: Settings of the node.
        events: Log of the node.

    Raises:
        InputError: The directory or a port is not available.
    """
    path = file.node.state / FILE_NAME
    sidecar_files.require_sealed(path, file.node.sealed)
    # a start may move the state directory: no other process holds it, and nothing is in the way
    with at_key("node.state"):
        records.make_place(path)
        lock = files.lock(file.node.state / "lock")
        temporary.ensure(file.node.state / "tmp")
        starting = Starting(file.node.state)
    for key, text in file.ports().items():
        with at_key(key):
            require_free(text)
    with at_key("node.state"):
        connection = records.connect(path)
    for leftover in sidecar_files.sweep(path, connection):
        events.log("temporary file removed", file=str(leftover), why="a run was killed")
    return Place(connection, lock, starting)


def refuse_changed_records(jobs: Jobs, connection: sqlite3.Connection, identity: Identity, state: Path) -> None:
    """Close the log and raise InputError if somebody has changed the records: continuing would hide the change.

    Args:
        jobs: The jobs of the node, with its log.
        connection: The node's database.
        identity: Identity of this party.
        state: Directory of the records.
    """
    if other := other_certificate(signed_head(connection), identity.certificate):
        jobs.log.close()
        raise InputError(other)
    try:
        jobs.check(state / marker.FILE_NAME)
    except MisnamedError:
        jobs.log.close()
        raise
    except InputError as error:
        jobs.log.close()
        remedy = "to begin anew, move the directory away and keep it"
        raise InputError(f"the records in {state}: {error}; {remedy}") from None


def try_tables(policy: Sequence[Rule], offers: Offers, events: Events, unbounded: Iterable[str] = ()) -> None:
    """Log the tables that cannot be opened, at the start rather than at the first job. No value of a table is read.

    Args:
        policy: Rules of the node's policy; remarks on them are logged.
        offers: Tables that this party offers.
        events: Log of the node.
        unbounded: Remarks on rules without bounds.
    """
    policy_remarks = remarks(policy, {name: offer.schema.attributes for name, offer in offers.tables.items()})
    for remark in [*policy_remarks, *unbounded]:
        events.log("policy", remark=remark)
    for name, offer in offers.tables.items():
        columns = list(offer.schema.attributes)
        try:
            open_table(offer.settings, offer.schema, columns[0], columns).close()
        except InputError as error:
            events.log("table not available", table=name, why=str(error))


@contextmanager
def passing_troubles() -> Iterator[None]:
    """Turn an error of the start that is caused by a full disk or a locked database into MachineError.

    A later start may succeed, so a supervisor of the node should try again.
    """
    try:
        yield
    except Exception as error:
        if cause := next((cause for cause in causes(error, suppressed=True) if reason_of(cause) in PASSING), None):
            message = str(error) if isinstance(error, InputError) else f"the node cannot start: {cause}"
            raise MachineError(message) from error
        raise

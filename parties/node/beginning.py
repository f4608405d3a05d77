"""What a node looks at before it works: records that nobody has changed, tables that can be opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from parties.base import files, temporary
from parties.base.address import require_free
from parties.base.own_trouble import causes, reason_of
from parties.base.settings import at_key
from parties.link.identity import Identity
from parties.node import records
from parties.node.events import Events
from parties.node.log.jobs import Jobs
from parties.node.offers import Offers
from parties.node.peers import MisnamedError
from parties.node.policy.rules import Rule, remarks, unbounded
from parties.node.records import beside, marker
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
    """The state directory of a node: no other process has it meanwhile. `starting` tells how far the start is."""

    connection: sqlite3.Connection
    lock: IO[bytes]
    starting: Starting

    def leave(self) -> None:
        """Let others have it."""
        self.starting.over()
        self.lock.close()


def claim(file: NodeFile, events: Events) -> Place:
    """Take the state directory of a node, and open its database. `InputError` if it or a port is not to be had."""
    path = file.node.state / FILE_NAME
    beside.require_sealed(path, file.node.sealed)
    with at_key("node.state"):  # which a start may bring forward: nobody else holds it, and nothing is in the way
        records.make_place(path)
        lock = files.lock(file.node.state / "lock")
        temporary.ensure(file.node.state / "tmp")
        starting = Starting(file.node.state)
    for key, text in file.ports().items():
        with at_key(key):
            require_free(text)
    with at_key("node.state"):
        connection = records.connect(path)
    for left in beside.sweep(path, connection):
        events.log("temporary file removed", file=str(left), why="a run was killed")
    return Place(connection, lock, starting)


def refuse_changed_records(jobs: Jobs, connection: sqlite3.Connection, identity: Identity, state: Path) -> None:
    """Refuse to go on with records that somebody has changed: to go on would cover it up.

    `InputError` if they were; then the log is closed. `state` is the directory of the records.
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
        again = "to begin anew, move the directory away and keep it"
        raise InputError(f"the records in {state}: {error}; {again}") from None


def try_tables(policy: Sequence[Rule], offers: Offers, events: Events) -> None:
    """Tell at once, not at the first job, which tables cannot be opened. No value of theirs is looked at."""
    budgets = {name: offer.settings.budget is not None for name, offer in offers.tables.items()}
    unknown = remarks(policy, {name: offer.schema.attributes for name, offer in offers.tables.items()})
    for remark in [*unknown, *unbounded(policy, budgets)]:
        events.log("policy", remark=remark)
    for name, offer in offers.tables.items():
        columns = list(offer.schema.attributes)
        try:
            open_table(offer.settings, offer.schema, columns[0], columns).close()
        except InputError as error:
            events.log("table not available", table=name, why=str(error))


@contextmanager
def passing_troubles() -> Iterator[None]:
    """Raise `MachineError` for an error of a start behind which is a full disk or a locked database, in any words.

    Then a later start may go well: whoever supervises the node is to try again.
    """
    try:
        yield
    except Exception as error:
        if cause := next((cause for cause in causes(error) if reason_of(cause) in PASSING), None):
            said = str(error) if isinstance(error, InputError) else f"the node cannot start: {cause}"
            raise MachineError(said) from error
        raise

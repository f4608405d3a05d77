"""What an operator asks of a node, answered from its ledger, its sessions and its link: it implements `Operator`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from parties.budget import shown
from parties.identity import fingerprint
from parties.jobs.means import Means
from parties.link.address import Address
from parties.node import published, views
from parties.node.control import Control
from parties.node.gate import Who
from parties.node.ledger import Ledger
from parties.node.sessions import Sessions
from parties.node.store import Record
from parties.operator.budget import Registered, Simulation, TableBudget
from parties.operator.interface import AuditEntry, AuditState, JobResult, JobView, NodeView, NotRecordedError, State
from parties.records.register import registered
from smc import __version__
from smc.errors import InputError

LARGEST_GROUP = 1000  # rows of one person or family


class Desk:
    """Where the operator's questions arrive. `address` is where we listen or connect to; `predict` a kind of link."""

    def __init__(
        self,
        who: Who,
        ledger: Ledger,
        control: Control,
        sessions: Sessions,
        tables: list[str],
        address: Callable[[], Address],
        predict: str,
    ) -> None:
        self._who, self._ledger, self._control, self._sessions = who, ledger, control, sessions
        self._tables, self._address, self._predict = tables, address, predict
        self._started = datetime.now(UTC).isoformat(timespec="seconds")

    def node(self) -> NodeView:
        """See `Operator`."""
        return NodeView(
            name=self._who.identity.name,
            fingerprint=fingerprint(self._who.identity.certificate),
            peer=self._who.peer_name,
            peer_fingerprint=fingerprint(self._who.peer),
            role="listens" if self._who.party == 0 else "connects",
            address=str(self._address()),
            connected=self._control.connected,
            started_at=self._started,
            version=__version__,
            tables=self._tables,
            trouble="" if self._control.connected else self._control.trouble,
            tls=self._control.tls if self._control.connected else "",
        )

    def jobs(self, last: int = 100, before: str | None = None, states: Sequence[State] = ()) -> list[JobView]:
        """See `Operator`."""
        return [self._view(record) for record in self._ledger.last(last, before, states)]

    def job(self, identifier: str) -> JobView:
        """See `Operator`."""
        return self._view(self._ledger.find(identifier))

    def submit(self, job: dict[str, Any]) -> JobView:
        """See `Operator`."""
        with recorded():
            record = self._ledger.propose(job)
        return self._view(record)

    def approve(self, identifier: str, typed: dict[str, Any] | None = None) -> JobView:
        """See `Operator`."""
        with recorded():
            record = self._ledger.decide(identifier, "approved", typed=typed)
        return self._view(record)

    def refuse(self, identifier: str, why: str) -> JobView:
        """See `Operator`."""
        with recorded():
            record = self._ledger.decide(identifier, "refused", why or "the operator gave no reason")
        return self._view(record)

    def cancel(self, identifier: str, why: str = "") -> JobView:
        """See `Operator`."""
        with recorded():
            record = self._ledger.cancel(identifier, why)
        return self._view(record)

    def result(self, identifier: str) -> JobResult:
        """See `Operator`."""
        record = self._ledger.find(identifier, ("done",))
        return views.job_result(record, self._ledger.state(record))

    def audit(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        """See `Operator`."""
        return self._ledger.entries(last, before)

    def verify(self) -> AuditState:
        """See `Operator`."""
        return self._ledger.verify()

    def budget(self, group: int = 1) -> list[TableBudget]:
        """See `Operator`."""
        if not 1 <= group <= LARGEST_GROUP:
            raise InputError(f"group: must be from 1 to {LARGEST_GROUP} rows")
        accounts = self._ledger.accounts
        return [shown.table_budget(accounts.account(table, group)) for table in accounts.tables()]

    def simulate(self, job: dict[str, Any]) -> Simulation:
        """See `Operator`."""
        return self._ledger.simulate(job)

    def register(self) -> Registered:
        """See `Operator`."""
        who, jobs = self._who, self._ledger.all()[::-1]
        entry = published.entry(who.identity.name, f"smc {__version__}", who.party, self._ledger.accounts, jobs)
        return registered(who.identity, entry)

    def _view(self, record: Record) -> JobView:
        progress, state = self._sessions.progress(record.id), self._ledger.state(record)
        try:
            means = self._ledger.means(record)
        except InputError:  # its table has gone from party.toml: what was public of the job is shown all the same
            means = Means(self._who.party)
        price = self._ledger.accounts.price(record)
        return views.job_view(record, state, self._who, means, progress, self._predict, price)


@contextmanager
def recorded() -> Iterator[None]:
    """What the database complains of while something is written down, for the operator."""
    try:
        yield
    except sqlite3.Error as error:
        raise NotRecordedError(
            f"this node cannot write its records, so nothing has been done: {error}; is the disk full?"
        ) from None

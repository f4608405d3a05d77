"""Implementation of `Operator`: an operator's view of a node, from its ledger, sessions and links."""

from __future__ import annotations

import hashlib
import inspect
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from typing_extensions import override

from parties.base.machine_failure import advice, own_trouble
from parties.base.text import instead, quoted
from parties.jobs.inputs import Inputs
from parties.link import tls
from parties.link.identity import Identity, fingerprint
from parties.node.acts.ledger import Ledger
from parties.node.budget import shown
from parties.node.desk import published, views
from parties.node.desk.own_rows import OwnRows
from parties.node.links import validity
from parties.node.links.contacts import REVOKED, Contact
from parties.node.log.store import Record
from parties.node.peers import PeerIdentity
from parties.node.records.sealed import errors
from parties.operator.budget import Registered, Simulation, TableBudget
from parties.operator.interface import (
    LONGEST_WAIT,
    AuditEntry,
    AuditState,
    JobResult,
    JobView,
    NodeView,
    NotRecordedError,
    Operator,
    PeerView,
    Progress,
    State,
)
from smc import __version__
from smc.errors import InputError

Given = ParamSpec("Given")
LARGEST_GROUP = 1000  # rows of one person or family
MOST_WAITING = 16  # calls that wait for news at once: each holds a thread of the page's server


def _decision(
    of: Callable[Concatenate[Any, Given], JobView], method: str, **fixed: str
) -> Callable[Concatenate[OperatorService, Given], JobView]:
    """Return the implementation of `of`, a call of `Operator`, by a method of `Decisions` with equal argument names.

    The call returns the view of the changed job. `fixed` holds further arguments of the method.
    """
    signature = inspect.signature(of)

    @wraps(of)
    def call(self: OperatorService, /, *args: Given.args, **kwargs: Given.kwargs) -> JobView:
        given = signature.bind(self, *args, **kwargs).arguments
        with recorded():
            decide = getattr(self._ledger.decisions, method)
            record = decide(**{name: given[name] for name in given if name != "self"}, **fixed)
        return self._view(record)

    return call


class OperatorService(Operator):
    """The node as its operator sees it.

    `listens` returns the address for connecting peers; `predict` is the kind of link assumed by predictions.
    """

    def __init__(
        self,
        identity: Identity,
        ledger: Ledger,
        contacts: Mapping[str, Contact],
        tables: dict[str, list[str]],
        listens: Callable[[], str],
        predict: str,
        warnings: Callable[[], list[str]] = list,
        unbounded: Sequence[str] = (),
    ) -> None:
        self._identity, self._ledger, self._contacts = identity, ledger, contacts
        self._tables, self._listens, self._predict = tables, listens, predict
        self._warnings, self._unbounded = warnings, unbounded
        self._views = views.ViewCache()
        self._own_rows = OwnRows()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._news, self._told = threading.Condition(), 0  # no other lock is taken under its lock
        self._places = threading.BoundedSemaphore(MOST_WAITING)

    submit = _decision(Operator.submit, "propose")
    approve = _decision(Operator.approve, "decide", verdict="approved")
    refuse = _decision(Operator.refuse, "decide", verdict="refused")
    cancel = _decision(Operator.cancel, "cancel")
    withdraw = _decision(Operator.withdraw, "withdraw")
    repeat = _decision(Operator.repeat, "repeat")

    def tell(self) -> None:
        """Wake the waiting calls: something may have changed."""
        with self._news:
            self._told += 1
            self._news.notify_all()

    def _await(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait until `is_so()` is true, `seconds` at most; do not wait if many calls wait already."""
        if seconds <= 0 or not self._places.acquire(blocking=False):
            return
        deadline = time.monotonic() + min(seconds, LONGEST_WAIT)
        try:
            seen = self._told
            while not is_so() and (left := deadline - time.monotonic()) > 0:
                with self._news:
                    while self._told == seen and self._news.wait(left):
                        pass
                    seen = self._told
        finally:
            self._places.release()

    @override
    def node(self) -> NodeView:
        return NodeView(
            name=self._identity.name,
            fingerprint=fingerprint(self._identity.certificate),
            peers=[self._peer(contact) for contact in self._contacts.values()],
            started_at=self._started,
            version=__version__,
            tables=list(self._tables),
            columns=self._tables,
            warnings=self._warnings(),
            unbounded=list(self._unbounded),
        )

    def _peer(self, contact: Contact) -> PeerView:
        who, control = contact.who, contact.control
        return PeerView(
            name=who.peer_name,
            fingerprint=fingerprint(who.peer),
            role="listens" if who.party == 0 else "connects",
            address=contact.connect or self._listens(),
            connected=control.connected,
            trouble="" if control.connected else REVOKED if self._is_revoked(who) else control.trouble,
            held=control.held if control.held == control.trouble else "",  # not before the logs were compared
            tls=control.tls if control.connected else "",
            group=control.group if control.connected else "",
            post_quantum=control.group in tls.POST_QUANTUM if control.connected else None,
            warning=validity.warning(who),
        )

    def _is_revoked(self, who: PeerIdentity) -> bool:
        return self._ledger.pins.is_revoked(who)

    @override
    def changes(self, since: str = "", wait: float = 0.0) -> str:
        self._await(lambda: self._changes() != since, wait)
        return self._changes()

    def _changes(self) -> str:
        # The records' counter, and what changes without them: the node and running jobs.
        running = [progress for contact in self._contacts.values() for progress in contact.sessions.all_progress()]
        parts = [self._ledger.jobs.changes(), *(view.model_dump_json() for view in (self.node(), *running))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @override
    def jobs(self, last: int = 100, before: str | None = None, states: Sequence[State] = ()) -> list[JobView]:
        return [self._view(record) for record in self._ledger.jobs.last(last, before, states)]

    @override
    def job(self, identifier: str, wait: float = 0.0) -> JobView:
        record = self._ledger.jobs.find(identifier)
        if wait:
            self._await(lambda: self._has_ended(record.id), wait)
            record = self._ledger.jobs.find(record.id)
        view, task = self._view(record), record.task
        if view.waits_for_us and task.reads_table:
            with suppress(InputError):  # its table has gone from party.toml
                remarks = self._own_rows.remarks(record.id, task, self._ledger.runs.inputs(record))
                return view.model_copy(update={"remarks": remarks})
        return view

    def _has_ended(self, identifier: str) -> bool:
        record = self._ledger.jobs.known(identifier)
        return record is None or self._ledger.jobs.has_ended(record)

    @override
    def revoke(self, peer: str, why: str = "") -> NodeView:
        contact = self._contacts.get(peer)
        if contact is None:
            raise InputError(f"there is no peer {quoted(peer)}{instead(peer, self._contacts)}")
        with recorded():
            self._ledger.pins.revoke(peer, why.strip() or "no reason given")
        contact.sessions.stop(0, "its certificate is revoked here")
        contact.control.stop()
        return self.node()

    @override
    def result(self, identifier: str) -> JobResult:
        record = self._ledger.jobs.find(identifier, ("done",))
        return views.job_result(record, self._ledger.jobs.state(record))

    @override
    def audit(self, last: int = 100, before: int | None = None) -> list[AuditEntry]:
        return self._ledger.log.entries(last, before)

    @override
    def verify(self) -> AuditState:
        return self._ledger.log.verify()

    @override
    def budget(self, group: int = 1) -> list[TableBudget]:
        if not 1 <= group <= LARGEST_GROUP:
            raise InputError(
                f"group: the loss can be shown for 1 to {LARGEST_GROUP} rows; choose a number in this range"
            )
        accounts, peers = self._ledger.accounts, [contact.who.peer_name for contact in self._contacts.values()]
        return [
            shown.table_budget(
                accounts.account(table), {name: accounts.limits(table, name) for name in peers}, group
            ).model_copy(
                update={"bits": shown.table_bits(accounts.bits(table)), "also": sorted(accounts.names(table) - {table})}
            )
            for table in accounts.tables()
        ]

    @override
    def simulate(self, job: dict[str, Any]) -> Simulation:
        return self._ledger.decisions.simulate(job)

    @override
    def register(self) -> Registered:
        released = self._ledger.spendings.released()
        entry = published.entry(self._identity.name, f"smc {__version__}", self._ledger.accounts, released)
        return published.registered(self._identity, entry)

    def _view(self, record: Record) -> JobView:
        contact, state = self._contacts.get(record.peer), self._ledger.jobs.state(record)
        progress = None if contact is None else contact.sessions.progress(record.id)
        view = self._views.get(record, state) if progress is None else None
        if view is None:
            view = self._made(record, state, progress)
        if state == "waiting" and view.price is not None:  # depends on other jobs' spending: such a view is not kept
            view = view.model_copy(update={"price": self._ledger.accounts.effect(record, view.price)})
        if state == "waiting" and view.exposure is not None:
            view = view.model_copy(update={"exposure": self._ledger.accounts.exposure_now(record)})
        if state in ("waiting", "queued", "interrupted") and (name := self._ledger.jobs.replaced(record)):
            why = f"the job lists another certificate of {name} than the present one, and no succession joins them"
            return view.model_copy(update={"why": f"{why}: cancel the job, and propose it anew"})
        if contact is not None and state in ("queued", "interrupted"):
            why = REVOKED if self._is_revoked(contact.who) else validity.lapsed(contact.who)
            if not why and (trouble := contact.sessions.trouble(record.id)):
                why = f"it is this node: {advice(trouble)}"
            why = why or (not view.why and contact.sessions.why_not_begun(record.id)) or ""
            return view.model_copy(update={"why": why}) if why else view
        return view

    def _made(self, record: Record, state: State, progress: Progress | None) -> JobView:
        """Return a new view of a job; cache it if its content depends on the record alone."""
        try:
            inputs = self._ledger.runs.inputs(record)
        except InputError:  # its table has gone from party.toml: show the public part of the job all the same
            inputs = Inputs(record.party)
        price, exposure = self._ledger.accounts.price(record), self._ledger.accounts.exposure(record)
        approvals = self._ledger.gate.approvals
        view = views.job_view(record, state, inputs, progress, self._predict, price, exposure, approvals)
        if progress is None and record.task.reads_table:
            self._views.put(record, state, view)
        return view


@contextmanager
def recorded() -> Iterator[None]:
    """Turn an error of the database during a recorded action into a NotRecordedError."""
    try:
        yield
    except errors() as error:
        why = advice(own_trouble(error)) or str(error)
        raise NotRecordedError(f"this node cannot write its records, so nothing has been done: {why}") from None

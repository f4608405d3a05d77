"""The accounts of our tables: which jobs have spent of them, whether one more fits, and what was answered before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from parties.base.text import quoted
from parties.jobs.spending import Loss
from parties.node.budget import same_rows, shown
from parties.node.budget.account import WINDOWS, Account, Charge, Limits, least
from parties.node.budget.bits import BitsAccount
from parties.node.budget.moments import Clock
from parties.node.counting import in_words
from parties.node.log.jobs import Jobs
from parties.node.log.spendings import Spendings
from parties.node.log.store import Record
from parties.node.offers import Offers
from parties.node.peers import Peers
from parties.node.proposal import Proposal
from parties.operator.budget import Exposure, Price, Simulation
from parties.operator.interface import OPEN
from parties.sources.settings import TableSettings

MOST_APPROVED = 1000  # jobs under way that a consent counts


@dataclass(frozen=True)
class Earlier:
    """A job that is done: its result is that of an equal job on the same versions of the tables."""

    job: Proposal
    state: Any


@dataclass(frozen=True)
class Terms:
    """The terms on which a session begins: the job that has answered it before, and why it cannot be paid, if so."""

    earlier: Earlier | None = None
    refusal: str = ""


class Accounts:
    """The accounts of a node's tables, as its jobs have used them.

    A peer may spend its share of a table's budget (`peers.Who.share`), and is told of its own spending only. Shares
    come to 1 at most, so peers that talk to each other have the budget at most. What a peer that left our file, or one
    whose share was larger then, has spent beyond that bounds all: then a job must fit the whole table's budget, too.
    """

    def __init__(self, offers: Offers, jobs: Jobs, spendings: Spendings, peers: Peers) -> None:
        self._offers, self._jobs, self._spendings, self._peers, self._clock = offers, jobs, spendings, peers, Clock()
        self._groups = same_rows.groups(self._settings(), spendings.starts())

    def tables(self) -> list[str]:
        """Return the tables that have an account: all that are offered, and others that were charged of other rows."""
        offered = set().union(*map(self.names, self._offers.tables))
        return [*self._offers.tables, *sorted(self.charged() - offered)]

    def charged(self) -> set[str]:
        """Return the names of tables under which anything was charged."""
        return self._spendings.tables()

    def known(self) -> set[str]:
        """Return the names that tables had at earlier starts, or were charged under."""
        return self.charged().union(*(start.get("tables", ()) for start in self._spendings.starts()))

    def names(self, table: str) -> frozenset[str]:
        """Return the names that stand for a table's rows, its own among them: a charge under one counts for all."""
        return self._groups.get(table, frozenset({table}))

    def holds(self, table: str) -> bool:
        """Return whether a table has a budget of its own, not that of the table that its `same_rows_as` names."""
        offer = self._offers.tables.get(table)
        return offer is None or offer.settings.same_rows_as not in self._offers.tables

    def recorded(self) -> dict[str, Any]:
        """Return what the entry of a start says of our tables, see `same_rows.recorded`."""
        return same_rows.recorded(self._settings(), self._groups)

    def _settings(self) -> dict[str, TableSettings]:
        return {name: offer.settings for name, offer in self._offers.tables.items()}

    def account(self, table: str) -> Account:
        """Return what has been spent of a table by now."""
        return self._account(table, self._charges(table))

    def share(self, table: str, peer: str) -> Account:
        """Return what one peer has spent by now of its share of a table's budget."""
        return self._share(table, peer, self._charges(table))

    def limits(self, table: str, peer: str) -> Limits:
        """Return the accounts that a job with a peer must fit: those of `refusal`."""
        charges = self._charges(table, self._window(table))
        whole = self._account(table, charges)
        return Limits(self._share(table, peer, charges), whole, not self._kept_by_shares(whole))

    def price(self, record: Record) -> Price | None:
        """Return what a job spends of our table, or has spent; None if nothing."""
        charged = record.charged
        if not (uses := _losses(record) if charged is None else charged.uses):
            return None
        price = shown.price(self._account(record.table, ()), uses)
        at = None if charged is None else charged.stamp
        return price.model_copy(update={"charged_at": at, "repeats": record.repeats})

    def bits(self, table: str, peer: str | None = None, since: datetime | None = None) -> BitsAccount:
        """Return what exact answers have opened of a table by now (or since), or with one peer of its share."""
        offer = self._offers.tables.get(table)
        budget = None if offer is None else offer.settings.budget
        charges = self._spendings.bits(self.names(table), since)
        if peer is not None:
            who = self._peers.get(peer)
            budget = budget and budget.shared(1.0 if who is None else who.share)
            charges = [charge for charge in charges if charge.peer == peer]
        return BitsAccount(budget, charges, self._clock.now())

    def bits_fit(self, record: Record, bits: int, besides: Iterable[tuple[Record, int]]) -> bool:
        """Return whether a step of a job may open so many bits; `besides` are jobs under way and their next steps'."""
        if not self._is_bounded(record.table):
            return True
        names = self.names(record.table)
        of_table = [(job.peer, asked) for job, asked in besides if job.table in names and job.id != record.id]
        of_peer = sum(asked for peer, asked in of_table if peer == record.peer)
        share, whole = self._bits_now(record)
        return share.fits(bits + of_peer) and whole.fits(bits + sum(asked for _, asked in of_table))

    def _bits_now(self, record: Record) -> tuple[BitsAccount, BitsAccount]:
        """Return what exact answers have opened in the present window, of the peer's share and of the whole table."""
        since = self._window(record.table)
        return self.bits(record.table, record.peer, since), self.bits(record.table, None, since)

    def _is_bounded(self, table: str) -> bool:
        offer = self._offers.tables.get(table)
        return offer is not None and offer.settings.budget is not None

    def promised(self, record: Record) -> int:
        """Return how many bits a job that has begun must still have left, see `Bits.at_least`."""
        return max(0, record.ours.proposal.task.disclosure.bits.at_least - sum(charge.bits for charge in record.bits))

    def exposure(self, record: Record) -> Exposure | None:
        """Return the bits that a job's exact answers open of our table; None if it opens none."""
        at_most, opened = record.ours.proposal.task.disclosure.bits.at_most, sum(charge.bits for charge in record.bits)
        if at_most == 0 and not opened:
            return None
        return Exposure(at_most=at_most, opened=opened)

    def exposure_now(self, record: Record) -> Exposure | None:
        """Return the same with what is left to the peer: of its share and of our table's bound, the lesser."""
        known = self.exposure(record)
        if known is None or not self._is_bounded(record.table):
            return known
        share, whole = self._bits_now(record)
        left = least(share.left, whole.left)
        return known.model_copy(update={"left": left, "of_share": share.left, "of_table": whole.left})

    def effect(self, record: Record, price: Price) -> Price:
        """Return a job's price with what it would leave of our table's budget, and of the peer's share of it.

        What it leaves counts jobs that we have approved and that are not charged yet.
        """
        limits, spends = self.limits(record.table, record.peer), _losses(record)
        return shown.with_effect(price, limits, spends, *self._later(record, limits))

    def _later(self, record: Record, limits: Limits) -> tuple[Limits, int]:
        """Return the limits of a job as they will be once all that we have approved is charged, and how many jobs."""
        approved = self._approved(record)
        of_peer = [use for job in approved if job.peer == record.peer for use in _losses(job)]
        of_all = [use for job in approved for use in _losses(job)]
        later = replace(limits, share=limits.share.with_uses(of_peer), table=limits.table.with_uses(of_all))
        return later, len(approved)

    def _approved(self, record: Record) -> list[Record]:
        """Return other jobs on the same rows that we have approved, that are not charged, and that will be."""
        names = self.names(record.table)
        return [
            job
            for job in self._jobs.last(MOST_APPROVED, states=OPEN)
            if job.id != record.id and job.table in names and job.charged is None
            if job.ours.verdict == "approved" and _losses(job) and not self.earlier(job)
        ]

    def refusal(self, record: Record, besides: Iterable[Record] = ()) -> str:
        """Return why a job does not fit its table's budget, in words; empty if it does. The peer may read it.

        `besides` are jobs under way that may still be charged, or open bits.
        """
        disclosure, besides = record.ours.proposal.task.disclosure, list(besides)
        promised = [(other, self.promised(other)) for other in besides]
        if not record.bits and (bits := disclosure.bits.at_least) and not self.bits_fit(record, bits, promised):
            return (
                f"the job opens {in_words(bits)}, more than table {quoted(record.table)} has left "
                "(bits in its budget): ask for less, or with noise"
            )
        if not (spends := disclosure.spends) or not self._is_bounded(record.table):
            return ""
        names = self.names(record.table)
        others = [other for other in besides if other.charged is None and other.table in names]
        peer_uses = [use for other in others if other.peer == record.peer for use in _losses(other)]
        limits = self.limits(record.table, record.peer)
        if refusal := limits.share.refusal((*peer_uses, *spends)):
            return refusal
        every = [use for other in others for use in _losses(other)]
        if not limits.is_table_binding or limits.table.fits((*every, *spends)):
            return ""
        return f"the privacy budget of table {quoted(record.table)} does not allow the job"

    def _kept_by_shares(self, whole: Account) -> bool:
        """Return whether all that counts now was spent by peers of our file, each within its share.

        Then the whole budget holds by basic composition as long as each keeps its share, and nobody hears of others.
        """
        names = {who.peer_name for who in self._peers}
        if any(charge.peer not in names for charge in whole.counted):
            return False
        return all(self._share(whole.table, name, whole.charges).fits(()) for name in names)

    def too_much(self, record: Record) -> str:
        """Return the same; but noise that was asked for before may be for nothing: that is known when it starts."""
        refusal = self.refusal(record)
        return "" if refusal and _losses(record) and self.earlier(record) else refusal

    def too_much_beside(self, record: Record, running: Iterable[Record]) -> str:
        """Return why a job that fits by itself does not beside those under way; others repeat or refuse it later."""
        return "" if self.refusal(record) else self.refusal(record, running)

    def simulated(self, record: Record, why: str) -> Simulation:
        """Return what a job would do to its table's budget; `why` it would be refused, empty if it would not."""
        disclosure = record.ours.proposal.task.disclosure
        limits, earlier = self.limits(record.table, record.peer), self.earlier(record)
        known = earlier.job.id if disclosure.spends and earlier else ""
        later, _ = self._later(record, limits)
        simulated = shown.simulation(limits, disclosure.spends, later, why, known, bool(disclosure.exact))
        return simulated.model_copy(update={"exposure": self.exposure_now(record)})

    def terms(self, record: Record) -> Terms:
        """Return the terms on which a session of a job begins."""
        if record.charged is not None or not _losses(record):
            return Terms()
        return Terms(self.earlier(record), self.refusal(record))

    def earlier(self, record: Record) -> Earlier | None:
        """Return the last job that is done and asked the same peer the same of the same version of the same tables.

        Or the one that the job repeats already, if it does. None if our file does not say which version the table has.
        """
        job, version = record.ours.proposal, self._offers.version(record.table)
        if not version:
            return None
        gone = set(map(self._first, self._jobs.withdrawn()))
        candidates = (
            candidate
            for candidate in self._jobs.answers(record, version)
            if candidate.id != job.id
            and record.repeats in ("", candidate.id)
            and candidate.ours.proposal.specification == job.specification
            and self._first(candidate) not in gone
        )
        return next((Earlier(candidate.ours.proposal, candidate.tree) for candidate in candidates), None)

    def _first(self, record: Record) -> str:
        """Return the job whose session computed a job's result: that of whoever repeats none."""
        while record.repeats:
            if (earlier := self._jobs.known(record.repeats)) is None:  # archived since
                return record.repeats
            record = earlier
        return record.id

    def _share(self, table: str, peer: str, charges: Iterable[Charge]) -> Account:
        who = self._peers.get(peer)
        mine = [charge for charge in charges if charge.peer == peer]
        return self._account(table, mine, 1.0 if who is None else who.share)

    def _account(self, table: str, charges: Iterable[Charge], share: float = 1.0) -> Account:
        at, offer, names = self._clock.now(), self._offers.tables.get(table), self.names(table)
        charges = [replace(charge, table=table) for charge in charges if charge.table in names]
        if offer is None:
            return Account(table, None, charges, at)
        budget, person = offer.settings.budget, offer.settings.person or ""
        return Account(table, budget and budget.shared(share), charges, at, offer.settings.max_rows, person=person)

    def _charges(self, table: str, since: datetime | None = None) -> list[Charge]:
        return self._spendings.charges(self.names(table), since)

    def _window(self, table: str) -> datetime | None:
        """Return from when on charges count now; None for ever."""
        offer = self._offers.tables.get(table)
        budget = None if offer is None else offer.settings.budget
        days = None if budget is None else WINDOWS.get(budget.per)
        return None if days is None else self._clock.now() - timedelta(days=days)


def _losses(record: Record) -> tuple[Loss, ...]:
    """Return the losses of a job, of each party's privacy budget."""
    return record.ours.proposal.task.disclosure.spends

"""Budget accounts of this party's tables: charges, remaining budget and earlier answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from parties.base.text import quoted
from parties.node.acts.permits import epsilon_of_uses
from parties.node.budget import same_rows, shown
from parties.node.budget.account import WINDOWS, Account, Charge, Limits, least
from parties.node.budget.bits import BitsAccount
from parties.node.budget.moments import Clock
from parties.node.exchanges.counting import in_words
from parties.node.log.jobs import Jobs
from parties.node.log.spendings import Spendings
from parties.node.log.store import Record
from parties.node.offers import Offers
from parties.node.peers import Peers
from parties.node.proposal import Proposal
from parties.operator.budget import Exposure, Price, Simulation
from parties.operator.interface import OPEN
from parties.sources.settings import TableSettings

TOLERANCE = 1e-9  # of a sum of shares
MOST_APPROVED = 1000  # jobs under way that a consent takes into account


@dataclass(frozen=True)
class Earlier:
    """A finished job whose result answers an equal job on the same versions of the tables."""

    job: Proposal
    state: Any


@dataclass(frozen=True)
class Terms:
    """The terms on which a session begins.

    `earlier` is the job that has answered this one before. `refusal` is the reason why the job cannot be paid for, if
    any.
    """

    earlier: Earlier | None = None
    refusal: str = ""


class Accounts:
    """The budget accounts of a node's tables.

    A peer may spend its share of a table's budget (`peers.PeerIdentity.share`) and learns of its own spending only. The
    shares add up to 1 at most, so peers that collude have the whole budget at most. That
    bound can fail by charges of a peer that is no longer in party.toml, or had a larger share at that time. Then a job
    must fit the whole table's budget, too.
    """

    def __init__(self, offers: Offers, jobs: Jobs, spendings: Spendings, peers: Peers) -> None:
        self._offers, self._jobs, self._spendings, self._peers, self._clock = offers, jobs, spendings, peers, Clock()
        self._groups = same_rows.groups(self._settings(), spendings.starts())

    def tables(self) -> list[str]:
        """Return the tables with an account: the offered ones, and former ones whose charges no offered one has."""
        offered = set().union(*map(self.names, self._offers.tables))
        return [*self._offers.tables, *sorted(self.charged() - offered)]

    def charged(self) -> set[str]:
        """Return the names of tables that have charges."""
        return self._spendings.tables()

    def known(self) -> set[str]:
        """Return the tables that the log names: those of earlier starts, and those with charges."""
        return self.charged().union(*(start.get("tables", ()) for start in self._spendings.starts()))

    def names(self, table: str) -> frozenset[str]:
        """Return all names of a table's rows, this table's name included: a charge under any of them counts for all."""
        return self._groups.get(table, frozenset({table}))

    def holds(self, table: str) -> bool:
        """Return whether a table has its own budget rather than that of the table named by `same_rows_as`."""
        offer = self._offers.tables.get(table)
        return offer is None or offer.settings.same_rows_as not in self._offers.tables

    def recorded(self) -> dict[str, Any]:
        """Return the fields about tables that the node logs at a start: where rows are, and other names of them."""
        return same_rows.recorded(self._settings(), self._groups)

    def _settings(self) -> dict[str, TableSettings]:
        return {name: offer.settings for name, offer in self._offers.tables.items()}

    def account(self, table: str) -> Account:
        """Return the account of a table with all charges so far."""
        return self._account(table, self._charges(table))

    def share(self, table: str, peer: str) -> Account:
        """Return the account of one peer's share of a table's budget with its charges so far.

        Args:
            table: Name of the table.
            peer: Name of the peer.
        """
        return self._share(table, peer, self._charges(table))

    def limits(self, table: str, peer: str) -> Limits:
        """Return the accounts that a job with a peer must fit, as checked by `refusal`.

        Args:
            table: Name of the table.
            peer: Name of the peer.
        """
        charges = self._charges(table, self._window(table))
        whole = self._account(table, charges)
        return Limits(self._share(table, peer, charges), whole, not self._kept_by_shares(whole))

    def price(self, record: Record) -> Price | None:
        """Return the price of a job on our table, forecast or charged; None if it spends nothing."""
        charged = record.charged
        if not record.gives or not (uses := record.task.disclosure.spends if charged is None else charged.uses):
            return None
        price = shown.price(self._account(record.table, ()), uses)
        at = None if charged is None else charged.stamp
        return price.model_copy(update={"charged_at": at, "repeats": record.repeats})

    def bits(self, table: str, peer: str | None = None, since: datetime | None = None) -> BitsAccount:
        """Return the account of bits opened by exact answers.

        Args:
            table: Name of the table.
            peer: Count the bits opened with this peer, against its share; None counts all peers against the whole
                bound.
            since: Count charges from this time on; None counts all.
        """
        offer = self._offers.tables.get(table)
        budget = None if offer is None else offer.settings.budget
        charges = self._spendings.bits(self.names(table), since)
        if peer is not None:
            who = self._peers.get(peer)
            budget = budget and budget.shared(1.0 if who is None else who.share)
            charges = [charge for charge in charges if charge.peer == peer]
        return BitsAccount(budget, charges, self._clock.now())

    def bits_fit(self, record: Record, bits: int, besides: Iterable[tuple[Record, int]]) -> bool:
        """Return whether the next step of a job may open its bits.

        Args:
            record: The job.
            bits: Bits that the step opens at most.
            besides: Other jobs under way, each with the bits of its next step.
        """
        if not self._is_bounded(record.table):
            return True
        names = self.names(record.table)
        of_table = [(job.peer, asked) for job, asked in besides if job.table in names and job.id != record.id]
        of_peer = sum(asked for peer, asked in of_table if peer == record.peer)
        share, whole = self._bits_now(record)
        return share.fits(bits + of_peer) and whole.fits(bits + sum(asked for _, asked in of_table))

    def _bits_now(self, record: Record) -> tuple[BitsAccount, BitsAccount]:
        """Return the bits opened in the present window: the account of the peer's share and that of the whole table."""
        since = self._window(record.table)
        return self.bits(record.table, record.peer, since), self.bits(record.table, None, since)

    def _is_bounded(self, table: str) -> bool:
        offer = self._offers.tables.get(table)
        return offer is not None and offer.settings.budget is not None

    def promised(self, record: Record) -> int:
        """Return the bits that a job still needs at least: those of `Bits.at_least`, or else one for a failure."""
        bits = record.task.disclosure.bits
        return max(0, (bits.at_least or int(bits.at_most != 0)) - sum(charge.bits for charge in record.bits))

    def exposure(self, record: Record) -> Exposure | None:
        """Return the bits that a job's exact answers open of our table; None if it opens none."""
        at_most, opened = record.task.disclosure.bits.at_most, sum(charge.bits for charge in record.bits)
        if not record.gives or (at_most == 0 and not opened):
            return None
        return Exposure(at_most=at_most, opened=opened)

    def exposure_now(self, record: Record) -> Exposure | None:
        """Return `exposure` with the bits that remain: the lesser of the peer's share and our table's bound."""
        exposure = self.exposure(record)
        if exposure is None or not self._is_bounded(record.table):
            return exposure
        share, whole = self._bits_now(record)
        remaining = least(share.left, whole.left)
        return exposure.model_copy(update={"left": remaining, "of_share": share.left, "of_table": whole.left})

    def effect(self, record: Record, price: Price) -> Price:
        """Return a job's price with the budget that would remain of our table and of the peer's share.

        Jobs that we have approved and that are not charged yet count as spent.

        Args:
            record: The job.
            price: Price of the job, from `price`.
        """
        limits, spends = self.limits(record.table, record.peer), record.task.disclosure.spends
        return shown.with_effect(price, limits, spends, *self._later(record, limits))

    def _later(self, record: Record, limits: Limits) -> tuple[Limits, int]:
        """Return a job's limits as if all other approved jobs were charged already, and the number of those jobs."""
        approved = self._approved(record)
        of_peer = [use for job in approved if job.peer == record.peer for use in job.task.disclosure.spends]
        of_all = [use for job in approved for use in job.task.disclosure.spends]
        later = replace(limits, share=limits.share.with_uses(of_peer), table=limits.table.with_uses(of_all))
        return later, len(approved)

    def _approved(self, record: Record) -> list[Record]:
        """Return the other approved jobs on the same rows that are not charged yet but will be."""
        names = self.names(record.table)
        return [
            job
            for job in self._jobs.last(MOST_APPROVED, states=OPEN)
            if job.id != record.id and job.table in names and job.charged is None
            if job.ours.verdict == "approved" and job.task.disclosure.spends and not self.earlier(job)
        ]

    def permitted(self, record: Record) -> float:
        """Return the epsilon of all jobs under a job's permit, with this one; 0 if it has no permit.

        Charges of all tables count, and approved jobs that are not charged yet: the newest, and those under way.
        """
        if (permit := record.proposal.permit) is None:
            return 0.0
        charges = [one.charge for one in self._spendings.released() if one.charge.permit == permit.key]
        charged = [use for charge in charges if charge.job != record.id for use in charge.uses]
        under_way = filter(None, map(self._jobs.known, self._jobs.running))
        approved = [
            use
            for job in {job.id: job for job in (*self._jobs.last(MOST_APPROVED, states=OPEN), *under_way)}.values()
            if job.id != record.id and job.charged is None and job.ours.verdict == "approved"
            if job.proposal.permit is not None and job.proposal.permit.key == permit.key
            for use in job.task.disclosure.spends
        ]
        return epsilon_of_uses((*charged, *approved, *record.task.disclosure.spends), permit.delta)

    def refusal(self, record: Record, besides: Iterable[Record] = ()) -> str:
        """Return why a job does not fit its table's budget; empty if it fits. The peer may read the reason.

        Args:
            record: The job.
            besides: Jobs under way that may still be charged, or open bits.
        """
        task, besides = record.task, list(besides)
        promised = [(other, self.promised(other)) for other in besides]
        if not record.bits and (bits := self.promised(record)) and not self.bits_fit(record, bits, promised):
            return (
                f"the job opens {in_words(bits)}, more than table {quoted(record.table)} has left "
                "(bits in its budget): ask a smaller question, or use noise"
            )
        if not (spends := task.disclosure.spends) or not self._is_bounded(record.table):
            return ""
        names = self.names(record.table)
        others = [other for other in besides if other.charged is None and other.table in names]
        peer_uses = [use for other in others if other.peer == record.peer for use in other.task.disclosure.spends]
        limits = self.limits(record.table, record.peer)
        if refusal := limits.share.refusal((*peer_uses, *spends)):
            return refusal
        all_uses = [use for other in others for use in other.task.disclosure.spends]
        if not limits.is_table_binding or limits.table.fits((*all_uses, *spends)):
            return ""
        return f"the privacy budget of table {quoted(record.table)} does not allow the job"

    def _kept_by_shares(self, whole: Account) -> bool:
        """Return whether peers of our file made all charges that count now, each within its share.

        Then the shares alone bound the table's loss, by basic composition, and no peer learns of others' charges.
        """
        names = {who.peer_name for who in self._peers}
        if sum(who.share for who in self._peers) > 1 + TOLERANCE:  # a holder's two nodes have the whole of it together
            return False
        if any(charge.peer not in names for charge in whole.counted):
            return False
        return all(self._share(whole.table, name, whole.charges).fits(()) for name in names)

    def too_much(self, record: Record) -> str:
        """Return `refusal`; but empty for a noisy job whose answer may be an earlier one, which costs nothing.

        The job's session then decides.
        """
        refusal = self.refusal(record)
        return "" if refusal and record.task.disclosure.spends and self.earlier(record) else refusal

    def too_much_beside(self, record: Record, running: Iterable[Record]) -> str:
        """Return the reason why a job that fits alone does not fit beside running jobs; empty in all other cases.

        A job that does not fit alone is repeated or refused later.

        Args:
            record: The job.
            running: Jobs under way.
        """
        return "" if self.refusal(record) else self.refusal(record, running)

    def simulated(self, record: Record, why: str) -> Simulation:
        """Return a job's effect on its table's budget.

        Args:
            record: The job.
            why: Reason for which the job would be refused; empty if it would not.
        """
        task = record.task
        limits, earlier = self.limits(record.table, record.peer), self.earlier(record)
        repeated = earlier.job.id if task.disclosure.spends and earlier else ""
        later, _ = self._later(record, limits)
        simulated = shown.simulation(limits, task.disclosure.spends, later, why, repeated, bool(task.disclosure.exact))
        return simulated.model_copy(update={"exposure": self.exposure_now(record)})

    def terms(self, record: Record) -> Terms:
        """Return the terms on which a session of a job begins."""
        if record.charged is not None or not record.task.disclosure.spends:
            return Terms()
        return Terms(self.earlier(record), self.refusal(record))

    def earlier(self, record: Record) -> Earlier | None:
        """Return the last finished job with the same peer, question and versions of the tables.

        A job that already repeats an earlier one gets that one. None if our file does not state the version of the
        table.
        """
        job, version = record.proposal, self._offers.version(record.table)
        if not version or job.holding is not None:  # the versions of the holders' tables are theirs alone
            return None
        withdrawn = set(map(self._first, self._jobs.withdrawn()))
        candidates = (
            candidate
            for candidate in self._jobs.answers(record, version)
            if candidate.id != job.id
            and record.repeats in ("", candidate.id)
            and candidate.proposal.specification == job.specification
            and self._first(candidate) not in withdrawn
        )
        return next((Earlier(candidate.proposal, candidate.tree) for candidate in candidates), None)

    def _first(self, record: Record) -> str:
        """Return the identifier of the job whose session computed a job's result, through all repetitions."""
        while record.repeats:
            if (earlier := self._jobs.known(record.repeats)) is None:  # the earlier job was archived since
                return record.repeats
            record = earlier
        return record.id

    def _share(self, table: str, peer: str, charges: Iterable[Charge]) -> Account:
        who = self._peers.get(peer)
        of_peer = [charge for charge in charges if charge.peer == peer]
        return self._account(table, of_peer, 1.0 if who is None else who.share)

    def _account(self, table: str, charges: Iterable[Charge], share: float = 1.0) -> Account:
        at, offer, names = self._clock.now(), self._offers.tables.get(table), self.names(table)
        charges = [one if one.table == table else replace(one, table=table) for one in charges if one.table in names]
        if offer is None:
            return Account(table, None, charges, at)
        budget, person = offer.settings.budget, offer.settings.person or ""
        return Account(table, budget and budget.shared(share), charges, at, offer.settings.max_rows, person=person)

    def _charges(self, table: str, since: datetime | None = None) -> list[Charge]:
        return self._spendings.charges(self.names(table), since)

    def _window(self, table: str) -> datetime | None:
        offer = self._offers.tables.get(table)
        budget = None if offer is None else offer.settings.budget
        days = None if budget is None else WINDOWS.get(budget.per)
        return None if days is None else self._clock.now() - timedelta(days=days)

"""Shared parts of all actions on jobs, and the circumstances in which a job is judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from parties.link import tls
from parties.node.acts.accounts import Accounts
from parties.node.acts.gate import Circumstances, Gate, Question
from parties.node.acts.typed_inputs import TypedInputs
from parties.node.log.heads import Heads
from parties.node.log.job_index import day_of_approval
from parties.node.log.jobs import Jobs
from parties.node.log.pins import Pins
from parties.node.log.spendings import Spendings
from parties.node.log.store import Record
from parties.node.offers import Offers


@dataclass(frozen=True)
class PeerLink:
    """The standing link with a peer: its address, if known, and its protection."""

    address: str | None = None
    tls: str = ""  # the version of the connection
    group: str | None = None  # of the key exchange


@dataclass(frozen=True)
class Parts:
    """The parts of a ledger. `links` are the links with peers that have been connected."""

    jobs: Jobs
    spendings: Spendings
    accounts: Accounts
    heads: Heads
    pins: Pins
    gate: Gate
    offers: Offers
    inputs: TypedInputs
    links: dict[str, PeerLink] = field(default_factory=dict)

    def address(self, peer: str) -> str | None:
        """Return the address of a peer, if known."""
        return self.links.get(peer, PeerLink()).address

    def around(self, record: Record) -> Circumstances:
        """Return the circumstances in which a job is judged."""
        at, waiting = datetime.now().astimezone(), self.jobs.index.of_peer[record.peer, "waiting"]
        permitted, budget = self.accounts.permitted(record), self.accounts.too_much(record)
        around = self._with_peer(record, Circumstances(0, waiting, at, None, permitted, budget), record.peer)
        if record.number is None:
            return around
        other = self.jobs.log.peers.named(record.names[1])
        return replace(around, other=(other.acquaintance, self._with_peer(record, around, other.peer_name)))

    def _with_peer(self, record: Record, around: Circumstances, peer: str) -> Circumstances:
        """Return the circumstances of a job with those of one peer: its other jobs of today, and the link with it."""
        link, day, stored = self.links.get(peer, PeerLink()), around.at.date(), self.jobs.known(record.id)
        itself = stored is not None and (peer in stored.names, stored.table, day_of_approval(stored)) == (
            True,
            record.table,
            day,
        )
        return replace(
            around,
            runs_today=self.jobs.index.approved[peer, record.table, day] - itself,
            address=link.address,
            tls=link.tls or None,
            key_exchange=link.group or None,
            post_quantum=None if link.group is None else link.group in tls.POST_QUANTUM,
        )

    def asked(self, record: Record) -> Question:
        """Return the gate's arguments for a job."""
        return record.proposal, self.jobs.who(record), self.around(record), record.proposed_by

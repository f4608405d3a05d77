"""Limits on a peer's requests to a node. Requests beyond them are refused with a reason, and not stored.

The amounts are settings, `settings.LimitSettings`. Days are this node's, in UTC, whatever date a proposal states.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from parties.jobs.execution.profiles import shards_of
from parties.link.identity import Identity
from parties.link.settings import MIB
from parties.node.log.statement import Statement
from parties.node.settings import DAY_SECONDS, LimitSettings
from smc.errors import ProtocolError

OLDEST = timedelta(days=31)  # a proposal may have waited for a link for this long
CLOCK_SKEW = timedelta(days=1)
MOST_REFUSALS = 64  # that wait to be sent; a peer repeats proposals that were not answered

_REMEDY = "the limit of this node for a peer: wait until midnight UTC, or ask its operator for a higher limit"


class ExcessError(ProtocolError):
    """The statements of a peer have made this node store more than it may today."""


@dataclass(frozen=True)
class Heard:
    """The amount of data that a peer has made this node store on one day in UTC."""

    proposals: int = 0
    bytes: int = 0


class Tally:
    """The amounts that each peer has made this node store today. The caller holds the node's lock and a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of(self, peer: str, now: datetime) -> Heard:
        """Return today's amount of a peer.

        Args:
            peer: Name of the peer.
            now: The present time.
        """
        query = "SELECT proposals, bytes FROM heard WHERE peer = ? AND day = ?"
        row = self._connection.execute(query, (peer, str(now.date()))).fetchone()
        return Heard() if row is None else Heard(*row)

    def add(self, peer: str, now: datetime, proposals: int, size: int, limits: LimitSettings) -> None:
        """Add to today's amount of a peer.

        Args:
            peer: Name of the peer.
            now: The present time.
            proposals: Number of proposals to add.
            size: Bytes to add.
            limits: Limits of the node.

        Raises:
            ExcessError: The sum exceeds the limit. The transaction must not be committed then.
        """
        heard = self.of(peer, now)
        total = heard.bytes + max(size, 0)
        if total > limits.mib_a_day * MIB:
            raise ExcessError(
                f"node.limits.mib_a_day: today's statements about jobs have more than {limits.mib_a_day} MiB, {_REMEDY}"
            )
        values = (peer, str(now.date()), heard.proposals + proposals, total)
        self._connection.execute("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?)", values)


def excess(theirs: Statement, heard: Heard, now: datetime, limits: LimitSettings) -> str | None:
    """Return the reason why a new proposal is one too many, or too old; None if it is not.

    Args:
        theirs: The statement with the proposal.
        heard: Today's amount of the peer.
        now: The present time by our clock.
        limits: Limits of the node.
    """
    age = now - theirs.proposal.proposed_at
    if age > OLDEST:
        return f"it was proposed more than {OLDEST.days} days ago: propose it anew"
    if age < -CLOCK_SKEW:
        return "it was proposed in the future: one of the two clocks is wrong"
    if (shards := shards_of(theirs.proposal.specification)) > limits.processes:
        return (
            f"node.limits.processes: the job has {shards} shards, but this node allows a peer {limits.processes}: "
            "ask for fewer"
        )
    if heard.proposals >= limits.jobs_a_day:
        return f"node.limits.jobs_a_day: {limits.jobs_a_day} jobs were proposed today already, {_REMEDY}"
    return None


def too_many_sessions(limits: LimitSettings) -> str:
    """Return the reason why a session cannot begin yet: the peer has begun the allowed number."""
    number = limits.sessions_a_day
    pause = math.ceil(DAY_SECONDS / number)
    return (
        f"node.limits.sessions_a_day: this node begins {number} sessions a day with a peer; the next begins within "
        f"{pause} s; its operator may set a higher limit"
    )


def too_large(shards: int, memory: int, others: tuple[int, int], limits: LimitSettings) -> str:
    """Return the reason why a session must not begin now; empty if it may.

    The limit of processes does not keep a peer's only session from beginning. The limit of memory does.

    Args:
        shards: Number of processes of the session beside the node's.
        memory: Forecast of the bytes that these processes take.
        others: Sum of shards and of memory over the running sessions with this peer.
        limits: Limits of the node.
    """
    if shards + others[0] > limits.processes and others[0]:
        return f"node.limits.processes: {others[0]} shards run with this peer, of {limits.processes} at most"
    if memory + others[1] > limits.memory * MIB:
        needed = f"its shards take about {memory // MIB} MiB"
        return (
            f"node.limits.memory: {needed}, running ones take {others[1] // MIB}, but a peer may take {limits.memory}"
        )
    return ""


class Refusals:
    """Refusals of proposals that are not stored, kept until they are sent; the oldest drop out."""

    def __init__(self, identity: Identity) -> None:
        self._identity, self._waiting = identity, dict[str, bytes]()

    def put(self, theirs: Statement, why: str) -> None:
        """Refuse a proposal.

        Args:
            theirs: The statement with the proposal.
            why: Reason for the peer.
        """
        answer = Statement(proposal=theirs.proposal, verdict="refused", by="node", why=why[:500], settled=True)
        self._waiting[theirs.proposal.id] = answer.authentic(self._identity).to_bytes()
        while len(self._waiting) > MOST_REFUSALS:
            del self._waiting[next(iter(self._waiting))]

    def take(self, identifier: str) -> bytes:
        """Remove and return the answer to a proposal; empty if there is none."""
        return self._waiting.pop(identifier, b"")

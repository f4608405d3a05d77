"""What a peer may ask of a node at most. What exceeds it is refused with a reason, and nothing of it is kept.

The amounts are settings, `settings.LimitSettings`. Days are ours, in UTC, whatever the peer writes on its proposals.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from parties.jobs.profiles import shards_of
from parties.link.settings import MIB
from parties.node.log.statement import Statement
from parties.node.settings import DAY_SECONDS, LimitSettings
from smc.errors import ProtocolError

OLDEST = timedelta(days=31)  # it may have waited for a link for so long
CLOCK_SKEW = timedelta(days=1)
MOST_REFUSALS = 64  # that wait to be sent; the peer says again what it has not heard of

_REMEDY = "as many as this node takes of a peer: wait until midnight UTC, or its operator sets a higher limit"


class ExcessError(ProtocolError):
    """The peer has said more than anybody could want."""


@dataclass(frozen=True)
class Heard:
    """The amount that a peer has made us write on one day of our calendar, in UTC."""

    proposals: int = 0
    bytes: int = 0


class Tally:
    """The amounts that each peer has made us write today. The caller holds the node's lock, and a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of(self, peer: str, now: datetime) -> Heard:
        """Return today's, until now."""
        query = "SELECT proposals, bytes FROM heard WHERE peer = ? AND day = ?"
        row = self._connection.execute(query, (peer, str(now.date()))).fetchone()
        return Heard() if row is None else Heard(*row)

    def add(self, peer: str, now: datetime, proposals: int, size: int, limits: LimitSettings) -> None:
        """Add to today's. `ExcessError` if that is too much: then the transaction must not be committed."""
        heard = self.of(peer, now)
        total = heard.bytes + max(size, 0)
        if total > limits.mib_a_day * MIB:
            raise ExcessError(
                f"node.limits.mib_a_day: what was said of jobs today has more than {limits.mib_a_day} MiB, {_REMEDY}"
            )
        values = (peer, str(now.date()), heard.proposals + proposals, total)
        self._connection.execute("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?)", values)


def excess(theirs: Statement, heard: Heard, now: datetime, limits: LimitSettings) -> str | None:
    """Return why a new proposal is one too many, or too old; None if it is not.

    Args:
        theirs: the proposal.
        heard: what was heard of the peer today.
        now: the present moment, by our clock.
        limits: the node's.
    """
    age = now - theirs.proposal.proposed_at
    if age > OLDEST:
        return f"it was proposed more than {OLDEST.days} days ago: propose it anew"
    if age < -CLOCK_SKEW:
        return "it was proposed in the future: one of the two clocks is wrong"
    if (shards := shards_of(theirs.proposal.specification)) > limits.processes:
        return f"node.limits.processes: {shards} shards, and this node has {limits.processes} for a peer: ask for fewer"
    if heard.proposals >= limits.jobs_a_day:
        return f"node.limits.jobs_a_day: {limits.jobs_a_day} jobs were proposed today already, {_REMEDY}"
    return None


def too_many_sessions(limits: LimitSettings) -> str:
    """Return why a session cannot begin yet: the peer has begun as many as it may."""
    number = limits.sessions_a_day
    pause = math.ceil(DAY_SECONDS / number)
    return (
        f"node.limits.sessions_a_day: this node begins {number} sessions a day with a peer; the next begins within "
        f"{pause} s; its operator may set a higher limit"
    )


def too_large(shards: int, memory: int, others: tuple[int, int], limits: LimitSettings) -> str:
    """Return why a session must wait until others have ended; empty if it need not.

    Args:
        shards: how many processes it has beside the node's own.
        memory: bytes that these take, by forecast.
        others: the same two of the sessions that run with this peer, together.
        limits: the node's.
    """
    if shards + others[0] > limits.processes and others[0]:
        return f"node.limits.processes: {others[0]} shards run with this peer, of {limits.processes} at most"
    if memory + others[1] > limits.memory * MIB:
        needed = f"its shards take about {memory // MIB} MiB"
        return f"node.limits.memory: {needed}, others {others[1] // MIB}, and {limits.memory} are for a peer"
    return ""


class Refusals:
    """Answers to proposals that are not kept, until they are sent; of too many the oldest are forgotten."""

    def __init__(self) -> None:
        self._waiting: dict[str, bytes] = {}

    def put(self, theirs: Statement, why: str) -> None:
        """Refuse a proposal."""
        answer = Statement(proposal=theirs.proposal, verdict="refused", by="node", why=why[:500], settled=True)
        self._waiting[theirs.proposal.id] = answer.to_bytes()
        while len(self._waiting) > MOST_REFUSALS:
            del self._waiting[next(iter(self._waiting))]

    def take(self, identifier: str) -> bytes:
        """Return the answer, once; empty if there is none."""
        return self._waiting.pop(identifier, b"")

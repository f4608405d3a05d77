"""What a peer may ask of a node at most. What exceeds it is refused with a reason, and nothing of it is kept."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from parties.node.statement import Statement
from parties.node.store import Record

MOST_A_DAY = 500  # jobs, by our clock when we hear of them: they are kept for ever
MOST_BYTES_A_DAY = 16 << 20
OLDEST = timedelta(days=31)  # it may have waited for a link for so long
CLOCK_SKEW = timedelta(days=1)
MOST_REFUSALS = 64  # that wait to be sent; the peer says again what it has not heard of


def excess(theirs: Statement, size: int, heard: Iterable[Record], now: datetime) -> str | None:
    """Why a new proposal of so many bytes is too much, or too old; None if it is not. `heard` are the peer's jobs."""
    age = now - theirs.proposal.proposed_at
    if age > OLDEST:
        return f"it was proposed more than {OLDEST.days} days ago: propose it anew"
    if age < -CLOCK_SKEW:
        return "it was proposed in the future: one of the two clocks is wrong"
    today = [job for job in heard if job.heard_at and datetime.fromisoformat(job.heard_at).date() == now.date()]
    if len(today) >= MOST_A_DAY:
        return f"{MOST_A_DAY} jobs were proposed today already"
    if sum(job.heard_bytes for job in today) + size > MOST_BYTES_A_DAY:
        return f"the jobs proposed today have more than {MOST_BYTES_A_DAY >> 20} MiB"
    return None


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
        """The answer, once; empty if there is none."""
        return self._waiting.pop(identifier, b"")

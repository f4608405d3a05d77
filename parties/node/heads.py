"""The heads of both logs, compared when two nodes connect: a log that was rolled back is missed by the other party.

Each side keeps the newest head that the peer has signed for it, in the peer's last result or when they last connected,
and shows it at every connection. A log that does not have that entry is not the one that it was: an older copy of the
state directory was put back, or a new one begun. Then nothing is said and no session begins until both operators have
accepted it; each acceptance is an entry of the log. Three messages each way:

    Shown       our log's present head; the newest one of the peer's log that we hold
    Found       what of our log the peer holds and we lack; whether our operator has accepted that
    Accepted    whether our operator has accepted what the peer's log lacks
"""

from __future__ import annotations

import sqlite3
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from parties.base.canonical import canonical
from parties.link.identity import fingerprint
from parties.node.journal import Journal
from parties.node.peers import Who
from parties.node.records import Evidence, Head
from smc.errors import LinkError, ProtocolError
from smc.session import Session

MAX_BYTES = 64 << 10
ACCEPT = "smc audit accept-rollback"
ROLLED_BACK = (
    "the records here were rolled back, as {peer} knows, and may have forgotten who is revoked: jobs wait, with all "
    f"peers; put the newest state directory back, or revoke anew whom you do not trust, and then {ACCEPT}"
)

_TABLE = """
CREATE TABLE IF NOT EXISTS heads (
    fingerprint TEXT PRIMARY KEY,
    evidence    TEXT NOT NULL
) STRICT
"""


class RolledBackError(LinkError):
    """One of the two logs is not what it was, and not both operators have accepted that."""


class Message(BaseModel):
    """A message of the exchange."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Shown(Message):
    """A party's present head, and the newest one of the other's log that it holds."""

    own: Evidence
    held: Evidence | None


class Found(Message):
    """A party's own log's loss; `accepted` if its operator has accepted that."""

    lost: Head | None
    accepted: bool = False


class Accepted(Message):
    """True if a party's operator has accepted what the other's log lacks."""

    accepted: bool


Some = TypeVar("Some", bound=Message)


class Heads:
    """A node's heads of its peers' logs, and what it finds of its own. The caller holds the node's lock."""

    def __init__(self, connection: sqlite3.Connection, journal: Journal) -> None:
        self._connection, self._journal = connection, journal
        with connection:
            connection.execute(_TABLE)

    def shown(self, who: Who) -> Shown:
        """Return what we show a peer."""
        return Shown(own=self._journal.evidence(), held=self._held(who))

    def lost(self, who: Who, theirs: Shown) -> Found:
        """Return what our log lacks of what the peer shows. `ProtocolError` if a signature there is missing."""
        if not theirs.own.is_signed_by(who.peer):
            raise ProtocolError("the peer has not signed its log's head")
        held, certificate = theirs.held, who.identity.certificate
        if held is None or held.fingerprint != fingerprint(certificate):  # nothing, or of a former certificate
            return Found(lost=None)
        if not held.is_signed_by(certificate):
            raise ProtocolError("the peer shows a head of our log that we have not signed")
        if self._journal.has(held.head):
            return Found(lost=None)
        return Found(lost=held.head, accepted=self._journal.rolled_back("us", who, held.head))

    def lost_by_peer(self, who: Who, theirs: Shown, reported: Found) -> Found:
        """Return what the peer's log lacks, as it says or as its head shows; whether our operator has accepted that."""
        held = self._held(who)
        behind = held is not None and (
            theirs.own.head.number < held.head.number
            or (theirs.own.head.number == held.head.number and theirs.own.head != held.head)
        )
        if held is None or not (behind or reported.lost is not None):
            return Found(lost=None)
        return Found(lost=held.head, accepted=self._journal.rolled_back("peer", who, held.head))

    def keep(self, who: Who, evidence: Evidence, newer: bool = True) -> None:
        """Hold a head of a peer's log: if it is newer than the one that is held, or whatever it is."""
        held = self._held(who)
        if newer and held is not None and held.head.number >= evidence.head.number:
            return
        values = (fingerprint(who.peer), evidence.model_dump_json())
        self._connection.execute("INSERT OR REPLACE INTO heads VALUES (?, ?)", values)

    def succeed(self, who: Who) -> None:
        """Hold what is held of a peer's log under its new certificate, too."""
        if (held := self._held(who)) is not None:
            values = (fingerprint(who.succeeded.peer), held.model_dump_json())
            self._connection.execute("INSERT OR IGNORE INTO heads VALUES (?, ?)", values)

    def _held(self, who: Who) -> Evidence | None:
        query = "SELECT evidence FROM heads WHERE fingerprint = ?"
        row = self._connection.execute(query, (fingerprint(who.peer),)).fetchone()
        return None if row is None else Evidence.model_validate_json(row[0])


def why_held(peer: str, ours: Found, theirs: Found, by_peer: bool, by_them: bool) -> str:
    """Return why two nodes do not go on, in words for our operator; empty if they do.

    `ours` is what our log lacks, `by_peer` whether the peer's operator has accepted that; `theirs` what the peer's log
    lacks, `by_them` whether its own operator has.
    """
    reasons = []
    waits = f"it was accepted here, not yet by {peer}: {ACCEPT} there"
    if ours.lost is not None and not (ours.accepted and by_peer):
        what = f"the records here were rolled back: {peer} holds our signature under entry {ours.lost.number}"
        back = f"put the newest state directory back, or do without what is lost: {ACCEPT}, here and there"
        reasons.append(f"{what}, which our log does not have; jobs wait; {waits if ours.accepted else back}")
    if theirs.lost is not None and not (theirs.accepted and by_them):
        what = f"the records of {peer} were rolled back: it has signed entry {theirs.lost.number}"
        back = f"it must put its newest state directory back, or both do without what is lost: {ACCEPT}, there and here"
        reasons.append(f"{what}, which its log does not have; jobs wait; {waits if theirs.accepted else back}")
    return "; ".join(reasons)


def send(session: Session, message: Message) -> None:
    """Send one of the three messages."""
    data = canonical(message.model_dump(mode="json")).encode()
    session.send("heads.size", np.array([len(data)], dtype=np.int64))
    session.send("heads", np.frombuffer(data, dtype=np.uint8))


def receive(session: Session, model: type[Some]) -> Some:
    """Receive the peer's message. `ProtocolError` if it is none."""
    size = int(session.receive("heads.size", np.int64, (1,))[0])
    if not 0 < size <= MAX_BYTES:
        raise ProtocolError(f"the peer announced {size} bytes about the logs, at most {MAX_BYTES} are allowed")
    data: Any = session.receive("heads", np.uint8, (size,)).tobytes()
    try:
        return model.model_validate_json(data)
    except (ValidationError, RecursionError):
        raise ProtocolError("what the peer says of the logs is unreadable") from None

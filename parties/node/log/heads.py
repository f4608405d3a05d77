"""Comparison of both logs' heads when two nodes connect, by which the other party notices a rolled-back log.

Each side keeps the newest head that the peer has signed for it, with its last statement or when they last connected,
and shows it at every connection. A log that lacks that entry is an older copy of the state directory, or a new log.
Then no statement is sent and no session begins until both operators have accepted that; each acceptance is an entry of
the log. Three messages each way:

    Shown       our log's present head; the newest head of the peer's log that we hold
    Found       the entry of our log that the peer holds and we lack; whether our operator has accepted that
    Accepted    whether our operator has accepted what the peer's log lacks
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from parties.base.canonical import canonical
from parties.link.identity import fingerprint
from parties.node.log.node_log import NodeLog
from parties.node.peers import PeerIdentity
from parties.node.records import Evidence, Head
from parties.node.records.kinds import Side
from smc.errors import LinkError, ProtocolError
from smc.session import Session

MAX_BYTES = 64 << 10
ACCEPT = "smc audit accept-rollback"
ROLLED_BACK = (
    "the records here were rolled back, as {peer} knows, and may lack revocations: jobs wait, with all "
    f"peers; put the newest state directory back, or revoke certificates again, and then {ACCEPT}"
)


class RolledBackError(LinkError):
    """One of the two logs was rolled back, and not both operators have accepted that."""


class Message(BaseModel):
    """Base class of the messages about the heads of logs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Shown(Message):
    """A party's present head, and the newest head of the other's log that it holds."""

    own: Evidence
    held: Evidence | None


class Found(Message):
    """The entry that a party's own log has lost; `accepted` if its operator has accepted that."""

    lost: Head | None
    accepted: bool = False


class Accepted(Message):
    """True if a party's operator has accepted what the other's log lacks."""

    accepted: bool


Some = TypeVar("Some", bound=BaseModel)


class Heads:
    """The heads (number and hash of the last entry) that a node holds of its peers' logs.

    `accepted` is called after its operator has accepted a loss of its own log.
    """

    def __init__(self, log: NodeLog, accepted: Callable[[], None] = lambda: None) -> None:
        self._log, self._accepted = log, accepted
        self._is_behind = bool(self._lacking())  # our log lacks an entry that it had

    def shown(self, peer: str) -> Shown:
        """Return the heads to show to a peer: our log's, and that of the peer's log that we hold."""
        with self._log.reading():
            return Shown(own=self._own(), held=self._held(self._log.peers.named(peer)))

    def _own(self) -> Evidence:
        with self._log.reading():
            self._log.settle()
            return self._log.audit.evidence()

    def lost(self, peer: str, theirs: Shown) -> Found:
        """Return the entry that our log lacks, by the heads that the peer shows.

        Args:
            peer: Name of the peer.
            theirs: The heads that it shows.

        Raises:
            ProtocolError: A signature is missing.
        """
        who = self._log.peers.named(peer)
        with self._log.writing():
            lost = self._lost(who, theirs)
            self._is_behind |= lost.lost is not None
        if lost.accepted:  # by a command, which has charged the possible spending of the lost jobs
            self._accepted()
        return lost

    def _lost(self, who: PeerIdentity, theirs: Shown) -> Found:
        if not theirs.own.is_signed_by(who.peer):
            raise ProtocolError("the peer has not signed its log's head")
        held, certificate = theirs.held, who.identity.certificate
        # nothing, or a head under a former certificate
        if held is None or held.fingerprint != fingerprint(certificate):
            return Found(lost=None)
        if not held.is_signed_by(certificate):
            raise ProtocolError("the peer shows a head of our log that we have not signed")
        if self._log.audit.has(held.head):
            return Found(lost=None)
        return Found(lost=held.head, accepted=self._rolled_back("us", who, held.head))

    def lost_by_peer(self, peer: str, theirs: Shown, reported: Found) -> Found:
        """Return the entry that the peer's log lacks, and whether our operator has accepted that.

        Args:
            peer: Name of the peer.
            theirs: The heads that it shows.
            reported: The peer's report on its own log.
        """
        who = self._log.peers.named(peer)
        with self._log.writing():
            held = self._held(who)
            behind = held is not None and (
                theirs.own.head.number < held.head.number
                or (theirs.own.head.number == held.head.number and theirs.own.head != held.head)
            )
            if held is None or not (behind or reported.lost is not None):
                return Found(lost=None)
            return Found(lost=held.head, accepted=self._rolled_back("peer", who, held.head))

    def rolled_back(self) -> str:
        """Return the reason why no job may run: our log lacks an entry, and no operator has accepted the loss."""
        with self._log.reading():
            peer = self._lacking() if self._is_behind else ""
        self._is_behind = bool(peer)
        return ROLLED_BACK.format(peer=peer) if peer else ""

    def hold(self, peer: str, evidence: Evidence, newer: bool = False) -> None:
        """Hold the head of its own log that a peer shows, from now on.

        Args:
            peer: Name of the peer.
            evidence: The signed head.
            newer: See `keep`.
        """
        with self._log.writing():
            self.keep(self._log.peers.named(peer), evidence, newer)

    def keep(self, who: PeerIdentity, evidence: Evidence, newer: bool = True) -> None:
        """Store the last signed head of a peer's log, as evidence against a rollback. The caller's transaction is used.

        Args:
            who: The link with the peer.
            evidence: The signed head.
            newer: True: store only a head with a higher number than the stored one. False: store in any case.
        """
        held = self._held(who)
        if newer and held is not None and held.head.number >= evidence.head.number:
            return
        values = (fingerprint(who.peer), evidence.model_dump_json())
        self._log.connection.execute("INSERT OR REPLACE INTO heads VALUES (?, ?)", values)

    def attached(self, statement: bytes) -> bytes:
        """Return a statement for a peer after a line with our log's present head."""
        return canonical(self._own().model_dump(mode="json")).encode() + b"\n" + statement

    def detached(self, peer: str, data: bytes) -> tuple[bytes, Evidence]:
        """Return the statement of a peer, and the head of its log before it.

        Only what the standing link brings has a head. The peer composes the heads of a new link after it has left the
        former one, so a head that arrives late is never newer than those.

        Args:
            peer: Name of the peer.
            data: The head and the statement.

        Raises:
            ProtocolError: The head is missing, or the peer has not signed it.
        """
        head, _, statement = data.partition(b"\n")
        who, evidence = self._log.peers.named(peer), _read(Evidence, head)
        if who.signer(evidence.is_signed_by) is None:
            raise ProtocolError("the peer has not signed its log's head")
        return statement, evidence

    def succeed(self, who: PeerIdentity) -> None:
        """Copy the held head of a peer's log to its new certificate, in the caller's transaction."""
        if (held := self._held(who)) is not None:
            values = (fingerprint(who.succeeded.peer), held.model_dump_json())
            self._log.connection.execute("INSERT OR IGNORE INTO heads VALUES (?, ?)", values)

    def _held(self, who: PeerIdentity) -> Evidence | None:
        query = "SELECT evidence FROM heads WHERE fingerprint = ?"
        row = self._log.connection.execute(query, (fingerprint(who.peer),)).fetchone()
        return None if row is None else Evidence.model_validate_json(row[0])

    def _rolled_back(self, whose: Side, who: PeerIdentity, head: Head) -> bool:
        """Record once that a log lacks an entry its owner has signed; return whether our operator has accepted it."""
        audit = self._log.audit
        peer_fields = {"peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
        fields = {"whose": whose, **peer_fields, **head.model_dump()}
        if not any(entry.fields == fields for entry in audit.of_kind("rolled back")):
            audit.append("rolled back", None, fields)
        return any(entry.fields == fields for entry in audit.of_kind("rollback accepted"))

    def _lacking(self) -> str:
        """Return the peer with which a loss of our log was found, unless our operator has accepted it."""
        return next((fields["peer"] for fields in self._log.audit.rollbacks() if fields["whose"] == "us"), "")


def why_held(peer: str, ours: Found, theirs: Found, by_peer: bool, by_them: bool) -> str:
    """Return the reason why two nodes stay unconnected, for our operator; empty if they connect.

    Args:
        peer: Name of the peer.
        ours: The loss of our log.
        theirs: The loss of the peer's log.
        by_peer: Whether the peer's operator has accepted the loss of our log.
        by_them: Whether the peer's operator has accepted the loss of its own log.
    """
    reasons = []
    waits = f"it was accepted here, not yet by {peer}: {ACCEPT} there"
    if ours.lost is not None and not (ours.accepted and by_peer):
        fact = f"the records here were rolled back: {peer} holds our signature under entry {ours.lost.number}"
        back = f"put the newest state directory back, or accept the loss: {ACCEPT}, here and there"
        reasons.append(f"{fact}, which our log does not have; jobs wait; {waits if ours.accepted else back}")
    if theirs.lost is not None and not (theirs.accepted and by_them):
        fact = f"the records of {peer} were rolled back: it has signed entry {theirs.lost.number}"
        back = f"it must put its newest state directory back, or both accept the loss: {ACCEPT}, there and here"
        reasons.append(f"{fact}, which its log does not have; jobs wait; {waits if theirs.accepted else back}")
    return "; ".join(reasons)


def send(session: Session, message: Message) -> None:
    """Send one of the three messages about the heads of logs.

    Args:
        session: Session with the peer.
        message: The message.
    """
    data = canonical(message.model_dump(mode="json")).encode()
    session.send("heads.size", np.array([len(data)], dtype=np.int64))
    session.send("heads", np.frombuffer(data, dtype=np.uint8))


def receive(session: Session, model: type[Some]) -> Some:
    """Return the peer's message about the head of a log.

    Args:
        session: Session with the peer.
        model: Class of the expected message.

    Raises:
        ProtocolError: The message is not one of this class.
    """
    size = int(session.receive("heads.size", np.int64, (1,))[0])
    if not 0 < size <= MAX_BYTES:
        raise ProtocolError(f"the peer announced {size} bytes about the logs, at most {MAX_BYTES} are allowed")
    return _read(model, session.receive("heads", np.uint8, (size,)).tobytes())


def _read(model: type[Some], data: bytes) -> Some:
    try:
        return model.model_validate_json(data)
    except (ValidationError, RecursionError):
        raise ProtocolError("the peer's message about the logs is unreadable") from None

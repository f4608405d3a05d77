"""Signed statements of jobs with holders: a computing node passes on what the holders have signed.

A holder pins both computing nodes and no other holder. So each node sends its own statement together with those of all
holders, each with its signature and certificate. The signature covers the digest of the job. A node that shows two
holders different jobs cannot pass on a statement of either to the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from parties.link.identity import fingerprint
from parties.node.log.job_events import Event, heard
from parties.node.log.statement import UNREADABLE, Relayed, Statement, takes_back
from parties.node.log.store import Record
from parties.node.peers import PeerIdentity, Peers
from smc.errors import ProtocolError

PassedOn = dict[str, Statement]  # by the fingerprint of the holder who has made the statement


def passes_on(record: Record) -> bool:
    """Return whether this node passes on statements: it computes a job with holders."""
    return record.proposal.holding is not None and record.number is None


def statement(record: Record, peers: Peers, to: str) -> Statement:
    """Return our statement for one participant: signed, and with those of the holders, if the job has any.

    Args:
        record: The job.
        peers: All peers of this node.
        to: Name of the participant.
    """
    holding = record.proposal.holding
    if holding is None:
        return record.ours
    ours, reader = record.ours.authentic(peers.identity), record.side_of(to)
    if reader in holding.holders and reader not in holding.to:
        ours = ours.model_copy(update={"signed": None})
    if not passes_on(record):
        return ours
    made = [
        Relayed(certificate=who.peer.public_bytes(Encoding.PEM).decode(), said=one.statement.said())
        for side, one in record.further.items()
        if side != reader and one.statement is not None and (who := peers.get(one.name)) is not None
    ]
    return ours.model_copy(update={"relayed": tuple(made)})


def opened(theirs: Statement, who: PeerIdentity) -> tuple[Statement, PassedOn]:
    """Return a statement apart from those that it passes on, with all signatures checked.

    Args:
        theirs: The statement.
        who: The link with the participant that has sent it.

    Raises:
        ProtocolError: A signature is missing or wrong, or a statement is about another job.
    """
    holding = theirs.proposal.holding
    alone = theirs.model_copy(update={"relayed": ()})
    if holding is None:
        if theirs.rows is not None or theirs.paid or theirs.signature or theirs.relayed:
            raise ProtocolError("the peer's statement is that of a job with holders, and the job has none")
        return theirs, {}
    if who.signer(alone.is_signed_by) is None:
        raise ProtocolError("the peer's signature under its statement is wrong")
    if theirs.relayed and fingerprint(who.peer) not in holding.nodes:
        raise ProtocolError("a holder passes on statements, which only the computing nodes do")
    return alone, dict(_read(theirs, relayed) for relayed in theirs.relayed)


def _read(theirs: Statement, relayed: Relayed) -> tuple[str, Statement]:
    fields: dict[str, Any] = {**relayed.said, "proposal": theirs.proposal}
    try:
        certificate = x509.load_pem_x509_certificate(relayed.certificate.encode())
        passed_on = Statement.model_validate(fields)
    except ValueError:
        raise ProtocolError(UNREADABLE) from None
    assert theirs.proposal.holding is not None
    signer = fingerprint(certificate)
    if signer not in theirs.proposal.holding.holders or not passed_on.is_signed_by(certificate):
        raise ProtocolError("the peer passes on a statement that no holder has signed about this job")
    return signer, passed_on


def is_old(theirs: Statement, former: Statement) -> bool:
    """Return whether a statement is what we have, signed anew, or older: a later one was passed on more quickly.

    Args:
        theirs: The statement that arrives.
        former: The statement that we have.
    """
    if theirs.proposal.holding is None:
        return False
    is_older = takes_back(former, theirs) and not takes_back(theirs, former)
    return is_older or theirs == former.model_copy(update={"signature": theirs.signature})


def news(record: Record, passed_on: PassedOn) -> Iterable[Event]:
    """Return the events of statements that were passed on and are newer than what we have.

    Args:
        record: The job.
        passed_on: The statements.

    Raises:
        ProtocolError: A holder has signed two statements that contradict each other.
    """
    events: list[Event] = []
    for signer, later in passed_on.items():
        if signer not in record.further:  # our own
            continue
        former = record.participants[signer].statement
        if former is not None:
            if takes_back(former, later) and takes_back(later, former):
                raise ProtocolError("a holder has signed two statements about a job that contradict each other")
            if not takes_back(later, former):  # it is no later one
                continue
        events += heard(record, later, signer)
    return events

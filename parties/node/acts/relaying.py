"""Signed statements of jobs with holders: a computing node passes on what the holders have signed.

A holder pins both computing nodes and no other holder. So each node sends its own statement together with those of all
holders, each with its signature and certificate. The signature covers the digest of the job. A node that shows two
holders different jobs cannot pass on a statement of either to the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from parties.link.identity import fingerprint
from parties.node.log.job_events import Event, heard
from parties.node.log.statement import FOR_READER, UNREADABLE, Relayed, Statement, takes_back
from parties.node.log.store import Record
from parties.node.peers import PeerIdentity, Peers
from parties.node.records.succession import announced
from smc.errors import InputError, ProtocolError

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
        Relayed(
            certificate=listed.public_bytes(Encoding.PEM).decode(),
            said=one.statement.said(),
            successor=who.succession if listed == who.former else None,
        )
        for side, one in record.further.items()
        if side != reader and one.statement is not None and (who := peers.get(one.name)) is not None
        if (listed := who.listed([side])) is not None
    ]
    return ours.model_copy(update={"relayed": tuple(made)})


def opened(theirs: Statement, who: PeerIdentity) -> tuple[Statement, PassedOn]:
    """Check all signatures of a statement; return the statement, and the holders' statements that it passes on.

    Args:
        theirs: The statement.
        who: The link with the participant that has sent it.

    Raises:
        ProtocolError: A signature is missing, wrong, or not that of a participant, now or formerly; or a statement is
            about another job, or has what no participant of such a job says.
    """
    holding = theirs.proposal.holding
    alone = theirs.model_copy(update={"relayed": ()})
    if holding is None:
        if theirs.rows is not None or theirs.paid or theirs.signature or theirs.relayed:
            raise ProtocolError("the peer's statement is that of a job with holders, and the job has none")
        return theirs, {}
    listed = who.listed(holding.everyone)
    if listed is None or who.signer(alone.is_signed_by) is None:
        raise ProtocolError("the peer's signature under its statement is wrong, or the job lists another certificate")
    if theirs.withdrawn is not None or theirs.unheard or theirs.heard:
        raise ProtocolError("the peer withdraws the result of a job with holders, which cannot be withdrawn yet")
    if (theirs.relayed or theirs.signed is not None) and fingerprint(listed) not in holding.nodes:
        raise ProtocolError("a holder signs a result or passes on statements, which only the computing nodes do")
    return alone, dict(_read(theirs, relayed) for relayed in theirs.relayed)


def _read(theirs: Statement, relayed: Relayed) -> tuple[str, Statement]:
    fields: dict[str, Any] = {**relayed.said, "proposal": theirs.proposal}
    try:
        certificate = x509.load_pem_x509_certificate(relayed.certificate.encode())
        passed_on = Statement.model_validate(fields)
        certificates = [certificate]
        if relayed.successor is not None:
            certificates.append(announced(relayed.successor, certificate, Path("the peer's message")))
    except (ValueError, InputError):
        raise ProtocolError(UNREADABLE) from None
    assert theirs.proposal.holding is not None
    signer = fingerprint(certificate)
    is_signed = FOR_READER.isdisjoint(relayed.said) and any(map(passed_on.is_signed_by, certificates))
    if signer not in theirs.proposal.holding.holders or not is_signed:
        raise ProtocolError("the peer passes on a statement that no holder has signed about this job")
    return signer, passed_on


def is_old(theirs: Statement, former: Statement) -> bool:
    """Return whether a statement brings nothing new: it is the one that we have, signed anew, or an older one.

    An older one may arrive later than its successor, which another node has passed on.

    Args:
        theirs: The statement that arrives.
        former: The statement that we have.
    """
    if theirs.proposal.holding is None:
        return False
    is_older = takes_back(former, theirs) and not takes_back(theirs, former)
    return is_older or theirs == former.model_copy(update={"signature": theirs.signature})


def news(record: Record, passed_on: PassedOn) -> tuple[list[Event], list[str]]:
    """Return the events of statements that were passed on and are newer than what we have.

    Args:
        record: The job.
        passed_on: The statements.

    Returns:
        The events, and the holders that have signed two statements that contradict each other: we keep the first.
    """
    events: list[Event] = []
    forked = []
    for signer, signed in passed_on.items():
        if signer not in record.further:  # our own
            continue
        former = record.said_by(signer)
        later = former.model_copy(update={name: value for name, value in signed if name not in FOR_READER})
        if takes_back(former, later) and takes_back(later, former):
            forked.append(signer)
        elif record.further[signer].statement is None or takes_back(later, former):  # it is a later one
            events += heard(record, later, signer)
    return events, forked

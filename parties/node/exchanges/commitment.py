"""Commitments to rows: bind a party to its rows before any computation, for a later proof.

A commitment is the keyed digest of the rows' counts (`Source.fingerprint`), under a key of this party and job. Without
the key it reveals nothing. Two sets of counts with one commitment would be a collision of SHA-256. Both commitments are
signed, exchanged at the start of every session, and logged by both parties at the first one. To prove its rows later, a
party shows the key of the job and the rows. Different rows would contradict its own signature.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from cryptography import x509

from parties.link.identity import Identity
from parties.node.proposal import Proposal
from parties.node.records import Committed, commit
from parties.node.records.signature import SIGNATURE_BYTES
from smc.errors import ProtocolError
from smc.session import Session

DIGEST_BYTES = 32
ROUNDS, BYTES = 1, 2 * (DIGEST_BYTES + SIGNATURE_BYTES)  # cost of `exchange`, both ways


@dataclass(frozen=True)
class Commitments:
    """The commitments of both parties."""

    ours: Committed
    theirs: Committed


def keys(identity: Identity, job: str) -> dict[str, str]:
    """Return this party's keys for a job, 32 bytes each in hexadecimal, derived from the identity's key.

    A node keeps them until the job ends: the identity may be renewed before.

    Args:
        identity: Identity of this party.
        job: Identifier of the job.

    Returns:
        The key of the commitment to "rows", and that of this party's random "choices" about its rows.
    """
    purposes = {"rows": b"fingerprint", "choices": b"choices"}
    return {
        name: hashlib.sha256(b"smc.node." + purpose + identity.secret + job.encode()).hexdigest()
        for name, purpose in purposes.items()
    }


def exchange(session: Session, identity: Identity, job: Proposal, digest: str) -> Commitments:
    """Send our commitment and receive the peer's. The caller that logs the peer's must check its signature.

    Args:
        session: Session with the peer.
        identity: Identity of this party.
        job: The job.
        digest: Our rows' digest, in hexadecimal.
    """
    ours = commit(identity, job.digest, digest)
    with session.phase("checkpoint"):
        sent = bytes.fromhex(ours.rows + ours.signature)
        session.send("checkpoint.rows", np.frombuffer(sent, dtype=np.uint8))
        received = session.receive("checkpoint.rows", np.uint8, (len(sent),)).tobytes()
    return Commitments(ours, Committed(rows=received[:DIGEST_BYTES].hex(), signature=received[DIGEST_BYTES:].hex()))


def check(commitments: Commitments, known: str, job: Proposal, peer: x509.Certificate) -> None:
    """Raise ProtocolError if the peer has not signed its commitment, or has committed to other rows before.

    Args:
        commitments: Commitments of both parties.
        known: The peer's earlier commitment in this job, in hexadecimal; empty if there is none.
        job: The job.
        peer: Certificate of the peer.
    """
    if not commitments.theirs.is_signed_by(peer, job.digest):
        raise ProtocolError("the peer's signature under the commitment to its rows is wrong")
    if known not in ("", commitments.theirs.rows):
        raise ProtocolError("the peer's rows have changed since the job began: it cannot go on; propose it anew")

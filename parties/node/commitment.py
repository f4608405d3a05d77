"""Commitments to rows: what a party puts into a job is bound before anything is computed, and can be proved later.

A commitment is the keyed digest of the rows' counts (`Source.fingerprint`), under a key of this party and job: who does
not know the key learns nothing from it, and two sets of counts with one commitment would be a collision of SHA-256.
Both are signed, exchanged at the start of every session, and logged by both at the first. A party that is asked to
prove its rows later shows the key of the job and the rows; other rows than those contradict its own signature.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
from cryptography import x509

from parties.link.identity import Identity
from parties.node.proposal import Proposal
from parties.node.records import Committed, commit
from parties.node.records.signature import SIGNATURE_BYTES
from smc.errors import ProtocolError
from smc.session import Session

DIGEST_BYTES = 32
ROUNDS, BYTES = 1, 2 * (DIGEST_BYTES + SIGNATURE_BYTES)  # what `exchange` costs, both ways


@dataclass(frozen=True)
class Commitments:
    """Those of both parties."""

    ours: Committed
    theirs: Committed


def key(identity: Identity, job: Proposal, purpose: Literal["fingerprint", "choices"] = "fingerprint") -> bytes:
    """Return 32 bytes from the identity's key, which the job's end outlives.

    The key of this party's commitment in a job, or of its own random choices about its rows.
    """
    return hashlib.sha256(b"smc.node." + purpose.encode() + identity.secret + job.id.encode()).digest()


def exchange(session: Session, identity: Identity, job: Proposal, digest: str) -> Commitments:
    """Send our commitment, `digest` in hexadecimal, and receive the peer's; whoever logs it checks its signature."""
    ours = commit(identity, job.digest, digest)
    with session.phase("checkpoint"):
        sent = bytes.fromhex(ours.rows + ours.signature)
        session.send("checkpoint.rows", np.frombuffer(sent, dtype=np.uint8))
        received = session.receive("checkpoint.rows", np.uint8, (len(sent),)).tobytes()
    return Commitments(ours, Committed(rows=received[:DIGEST_BYTES].hex(), signature=received[DIGEST_BYTES:].hex()))


def check(commitments: Commitments, known: str, job: Proposal, peer: x509.Certificate) -> None:
    """Raise `ProtocolError` if the peer has not signed its commitment, or has committed to other rows before."""
    if not commitments.theirs.is_signed_by(peer, job.digest):
        raise ProtocolError("the peer's signature under the commitment to its rows is wrong")
    if known not in ("", commitments.theirs.rows):
        raise ProtocolError("the peer's rows have changed since the job began: it cannot go on")

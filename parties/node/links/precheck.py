"""Agreement of two nodes before a private job is computed: whether it was answered before, and whether both can pay.

Each party names its latest finished job with the same question and the same versions of the tables
(`Accounts.earlier`). If both name the same job, its result is the answer again. Nothing is spent, since nobody learns
anything new. Otherwise the job is computed, and both must be able to pay; if one is not, neither is charged.

The version of the rows is what the owner's file states; the rows are not compared. A free answer would otherwise reveal
every day whether a row has changed.
"""

from __future__ import annotations

import numpy as np

from parties.node.acts.accounts import Earlier, Terms
from parties.node.budget.account import BudgetError
from smc.errors import LinkError, ProtocolError
from smc.session import Session

NAME_BYTES = 16
ROUNDS, BYTES = 1, 2 * (NAME_BYTES + 1)  # cost of `precheck`, both ways


class PeerCannotPayError(LinkError):
    """The peer's budget does not allow the job. A statement by the peer then ends the job."""


def precheck(session: Session, terms: Terms) -> Earlier | None:
    """Return the earlier job that answers this one; None if it is to be computed and both parties can pay.

    Args:
        session: Session with the peer.
        terms: Terms of this party.

    Raises:
        BudgetError: This party cannot pay; the message is the refusal of `terms`.
        PeerCannotPayError: The peer cannot pay.
        ProtocolError: The peer's answer is neither yes nor no.
    """
    earlier = terms.earlier
    name = bytes(NAME_BYTES) if earlier is None else bytes.fromhex(earlier.job.id)
    with session.phase("checkpoint"):
        session.send("checkpoint.earlier", np.frombuffer(name + bytes([not terms.refusal]), dtype=np.uint8))
        received = session.receive("checkpoint.earlier", np.uint8, (NAME_BYTES + 1,)).tobytes()
    if received[-1] > 1:
        raise ProtocolError("the peer's answer about its budget is neither yes nor no")
    if earlier is not None and received[:-1] == name:
        return earlier
    if terms.refusal:
        raise BudgetError(terms.refusal)
    if not received[-1]:
        raise PeerCannotPayError("the peer's privacy budget does not allow the job")
    return None

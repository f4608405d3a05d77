"""What two nodes tell each other before a job that spends privacy is computed: was it answered before, can both pay?

Each names the latest job that is done and asked the same of the same versions of the tables (`Accounts.earlier`). If
both name the same one, its result is the answer again, and nothing is spent: it tells nobody more than it did.
Otherwise the job is computed, and both must be able to pay; if one is not, neither is charged.

Whether rows are the same is what the owners of the tables say in their files, never what the rows are: an answer for
nothing would otherwise tell every day whether a row has changed.
"""

from __future__ import annotations

import numpy as np

from parties.node.accounts import Earlier, Terms
from parties.node.budget.account import BudgetError
from smc.errors import LinkError, ProtocolError
from smc.session import Session

NAME_BYTES = 16
ROUNDS, BYTES = 1, 2 * (NAME_BYTES + 1)  # what `precheck` costs, both ways


class PeerCannotPayError(LinkError):
    """The peer's budget does not allow the job: it says so in its statement, which ends the job."""


def precheck(session: Session, terms: Terms) -> Earlier | None:
    """Return the earlier job that answers this one, or None if it is to be computed, and both can pay.

    `BudgetError` with the three numbers if this party cannot pay; `PeerCannotPayError`.
    """
    earlier = terms.earlier
    name = bytes(NAME_BYTES) if earlier is None else bytes.fromhex(earlier.job.id)
    with session.phase("checkpoint"):
        session.send("checkpoint.earlier", np.frombuffer(name + bytes([not terms.refusal]), dtype=np.uint8))
        received = session.receive("checkpoint.earlier", np.uint8, (NAME_BYTES + 1,)).tobytes()
    if received[-1] > 1:
        raise ProtocolError("the peer says neither that it can pay for the job nor that it cannot")
    if earlier is not None and received[:-1] == name:
        return earlier
    if terms.refusal:
        raise BudgetError(terms.refusal)
    if not received[-1]:
        raise PeerCannotPayError("the peer's privacy budget does not allow the job")
    return None

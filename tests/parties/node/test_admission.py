"""What two nodes tell each other before a job that spends: an earlier result, or that both can pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.budget.account import BudgetError
from parties.identity import Identity
from parties.node import admission, commitment
from parties.node.accounts import Earlier, Terms
from parties.node.proposal import Proposal
from parties.tables.schema import Schema
from smc.errors import ProtocolError
from smc.local import run_local
from smc.session import Session
from tests.support.proposals import proposal_of

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")
NO = "the privacy budget of table 'days': spent epsilon 1, asked 1, left 0"
ROWS, OTHER_ROWS = b"rows of now", b"rows of then"


def fingerprint(rows: bytes) -> Any:
    """As a source's: keyed, and of the rows."""
    return lambda key: key[:16] + rows


def earlier(identity: Identity, job: Proposal, rows: bytes = ROWS) -> Earlier:
    return Earlier(job, [[1]], fingerprint(rows)(commitment.key(identity, job)).hex())


def admitted(identities: dict[str, Identity], terms: tuple[Terms, Terms]) -> tuple[Any, Any]:
    """What both find; errors as values."""
    names = ("alice", "bob")

    def program(session: Session) -> Any:
        own = identities[names[session.party]]
        try:
            given = terms[session.party]
            return admission.admit(session, given, admission.unchanged(own, given.earlier, fingerprint(ROWS)))
        except (BudgetError, admission.PeerCannotPayError) as error:
            return error

    left, right = run_local(program)
    return left, right


JOBS = [proposal_of(SCHEMA, party=1, max_depth=depth) for depth in (1, 2)]


def test_the_latest_on_unchanged_rows_that_both_have(identities: dict[str, Identity]) -> None:
    one, other = JOBS
    alice, bob = identities["alice"], identities["bob"]
    both = tuple(Terms((earlier(who, other, OTHER_ROWS), earlier(who, one)), NO) for who in (alice, bob))
    left, right = admitted(identities, (both[0], both[1]))
    assert left.job == right.job == one, "the latest was on other rows; it is for nothing, whatever is left"


def test_different_ones_are_computed(identities: dict[str, Identity]) -> None:
    one, other = JOBS
    terms = Terms((earlier(identities["alice"], one),)), Terms((earlier(identities["bob"], other),))
    assert admitted(identities, terms) == (None, None)
    assert admitted(identities, (terms[0], Terms())) == (None, None)


@pytest.mark.parametrize("who", [0, 1])
def test_neither_computes_what_one_cannot_pay(identities: dict[str, Identity], who: int) -> None:
    terms = (Terms(refusal=NO), Terms()) if who == 0 else (Terms(), Terms(refusal=NO))
    found = admitted(identities, terms)
    assert isinstance(found[who], BudgetError)
    assert str(found[who]) == NO
    assert isinstance(found[1 - who], admission.PeerCannotPayError)


def test_both_cannot_pay(identities: dict[str, Identity]) -> None:
    found = admitted(identities, (Terms(refusal=NO), Terms(refusal=NO)))
    assert [type(error) for error in found] == [BudgetError, BudgetError]


def test_its_bytes_and_rounds_are_counted(identities: dict[str, Identity]) -> None:
    def program(session: Session) -> tuple[int, int]:
        admission.admit(session, Terms(), None)
        total = session.meter.total
        return total.bytes_sent + total.bytes_received, total.rounds

    assert run_local(program) == ((admission.BYTES, admission.ROUNDS),) * 2


def test_a_peer_that_says_nonsense(identities: dict[str, Identity]) -> None:
    def program(session: Session) -> None:
        if session.party == 0:
            admission.admit(session, Terms(), None)
        session.send("checkpoint.earlier", np.full(17, 2, dtype=np.uint8))
        session.receive("checkpoint.earlier", np.uint8, (17,))

    with pytest.raises(ProtocolError, match="neither"):
        run_local(program)

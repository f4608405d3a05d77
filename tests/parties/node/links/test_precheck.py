"""What two nodes tell each other before a job that spends: an earlier result, or that both can pay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.node.acts.accounts import Earlier, Terms
from parties.node.budget.account import BudgetError
from parties.node.links import precheck
from parties.node.proposal import Proposal
from parties.tables.schema import Schema
from smc.errors import ProtocolError
from smc.local import run_local
from smc.session import Session
from tests.support.proposals import proposal_of

pytestmark = pytest.mark.slow

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")
NO = "the privacy budget of table 'days': spent epsilon 1, asked 1, left 0"
JOBS = [proposal_of(SCHEMA, party=1, max_depth=depth) for depth in (1, 2)]


def earlier(job: Proposal) -> Earlier:
    return Earlier(job, [[1]])


def admitted(terms: tuple[Terms, Terms]) -> tuple[Any, Any]:
    """What both find; errors as values."""

    def program(session: Session) -> Any:
        try:
            return precheck.precheck(session, terms[session.party])
        except (BudgetError, precheck.PeerCannotPayError) as error:
            return error

    left, right = run_local(program)
    return left, right


def test_one_that_both_name_is_for_nothing_whatever_is_left() -> None:
    left, right = admitted((Terms(earlier(JOBS[0]), NO), Terms(earlier(JOBS[0]), NO)))
    assert left.job == right.job == JOBS[0]


def test_different_ones_are_computed() -> None:
    one, other = JOBS
    assert admitted((Terms(earlier(one)), Terms(earlier(other)))) == (None, None)
    assert admitted((Terms(earlier(one)), Terms())) == (None, None)


@pytest.mark.parametrize("who", [0, 1])
def test_neither_computes_what_one_cannot_pay(who: int) -> None:
    terms = (Terms(refusal=NO), Terms()) if who == 0 else (Terms(), Terms(refusal=NO))
    found = admitted(terms)
    assert isinstance(found[who], BudgetError)
    assert str(found[who]) == NO
    assert isinstance(found[1 - who], precheck.PeerCannotPayError)


def test_both_cannot_pay() -> None:
    found = admitted((Terms(refusal=NO), Terms(refusal=NO)))
    assert [type(error) for error in found] == [BudgetError, BudgetError]


def test_its_bytes_and_rounds_are_counted() -> None:
    def program(session: Session) -> tuple[int, int]:
        precheck.precheck(session, Terms())
        total = session.meter.total
        return total.bytes_sent + total.bytes_received, total.rounds

    assert run_local(program) == ((precheck.BYTES, precheck.ROUNDS),) * 2


def test_a_peer_that_says_nonsense() -> None:
    def program(session: Session) -> None:
        if session.party == 0:
            precheck.precheck(session, Terms())
        session.send("checkpoint.earlier", np.full(17, 2, dtype=np.uint8))
        session.receive("checkpoint.earlier", np.uint8, (17,))

    with pytest.raises(ProtocolError, match="neither"):
        run_local(program)

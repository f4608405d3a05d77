"""Nothing is opened twice: what sessions that break at any message make of the openings of a job, honest and not.

The job opens two secrets in each of its two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from parties.jobs.kind import Inputs
from parties.link.identity import Identity
from parties.node.exchanges.openings import LOST, Stored, to_repeat
from parties.node.links import executor
from parties.node.links.executor import Order
from parties.node.proposal import propose, read_job
from smc.errors import ProtocolError
from tests.support.disks import Job, messages_of
from tests.support.grasping import Grasper
from tests.support.registry import registered
from tests.support.workers import Noted, breaks_at, peace

pytestmark = pytest.mark.slow

ENGINES = ["yao", "gmw"]
SHARE, OTHER = b"\x01", b"\x02"


@pytest.mark.parametrize(
    ("own", "theirs", "repeated"),
    [
        (Stored(), (-1, 0, 0), 0),
        (Stored(2, 0, (SHARE,)), (2, 1, 0), 0),
        (Stored(2, 0, (SHARE,)), (2, 0, 0), 0),
        (Stored(2, 1, (SHARE,)), (2, 1, 0), 1),
        (Stored(2, 0, (SHARE,)), (2, 1, 1), 1),
        (Stored(2, 1, (SHARE, OTHER)), (2, 2, 2), 2),
        (Stored(2, 1, (SHARE, OTHER)), (2, 1, 1), 1),
        (Stored(1, 1, (SHARE,)), (1, 1, 1), 0),
        (Stored(2, 1, (SHARE,)), (2, 0, 0), None),
        (Stored(2, 1, (SHARE,)), (-1, 0, 0), None),
        (Stored(2, 1, (SHARE,)), (1, 1, 1), None),
        (Stored(), (2, 1, 1), None),
        (Stored(2, 0, (SHARE,)), (2, 2, 2), None),
        (Stored(3, 0, (SHARE,)), (2, 1, 1), None),
        (Stored(2, 1, (SHARE,)), (3, 0, 0), None),
        (Stored(2, 1, (SHARE,)), (2, -1, -1), None),
        (Stored(2, 0, (SHARE,)), (2, 1, 2**62), None),
    ],
)
def test_what_is_repeated(own: Stored, theirs: tuple[int, int, int], repeated: int | None) -> None:
    """In step 2: what has left at one party and is written at both; what is written at one party only ends the job."""
    if repeated is None:
        with pytest.raises(ProtocolError, match=LOST):
            to_repeat(own, theirs, 2)
    else:
        assert to_repeat(own, theirs, 2).shares == own.shares[:repeated]


@pytest.fixture
def fresh(identities: dict[str, Identity]) -> Iterator[Callable[[str], tuple[Order, Order]]]:
    """Both parties' orders of a new job on an engine."""
    with registered(("twice", "tests.support.coins:Twice")):

        def orders(engine: str) -> tuple[Order, Order]:
            job = propose(read_job({"protocol": "twice", "engine": engine}), Inputs())
            left, right = (Order(job, Inputs(party), None, "", "", identities["alice"]) for party in (0, 1))
            return left, right

        yield orders


def opened_once(job: Job) -> None:
    """All four openings, each by one share of a party."""
    job.opened_once()
    for sent in job.sent:
        assert sorted(sent) == [(step, place) for step in (0, 1) for place in range(2)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_break_at_every_message_from_either_side(fresh: Any, engine: str) -> None:
    """The result is one, and of each opening each party has sent one share, however the sessions went."""
    messages = messages_of(Job(*fresh(engine)))
    assert {"ready", "reveal", "checkpoint.levels", "goodbye"} < {step for step, _ in messages}
    for breaking in (0, 1):
        for message in messages:
            job = Job(*fresh(engine))
            troubles = [peace, peace]
            troubles[breaking] = breaks_at(*message)
            job.session(*troubles)
            job.finish()
            opened_once(job)


def test_a_break_in_the_session_that_goes_on(fresh: Any) -> None:
    """What was repeated once is repeated again; a break at every message after one at every share."""
    messages = messages_of(Job(*fresh("yao")))
    for first in [("reveal", 1), ("ready", 2), ("reveal", 2), ("reveal", 3)]:
        for second in [message for message in messages if message[1] <= 2]:
            job = Job(*fresh("yao"))
            job.session(breaks_at(*first), peace)
            job.session(peace, breaks_at(*second))
            job.finish()
            opened_once(job)


def test_what_never_left_is_drawn_anew(fresh: Any) -> None:
    """A step of which nothing left has fresh contributions; one of which something left has those it had."""
    job = Job(*fresh("yao"))
    job.session(breaks_at("ready"), peace)
    first = job.disks[0].stored
    assert (first.step, first.left, len(first.shares)) == (0, 0, 1)
    job.session(breaks_at("reveal"), peace)
    second = job.disks[0].stored
    assert (second.step, second.left, len(second.shares)) == (0, 1, 1)
    assert first.seed != second.seed
    assert first.shares != second.shares
    job.session(breaks_at("ready", 2), peace)
    third = job.disks[0].stored
    assert (third.step, third.left, len(third.shares)) == (0, 1, 2)
    assert third.seed == second.seed
    assert third.shares[0] == second.shares[0]


@pytest.mark.parametrize("party", [0, 1])
def test_a_disk_that_has_lost_a_share_that_left_ends_the_job(fresh: Any, party: int) -> None:
    """Whether it was lost or its owner pretends so: nothing more is opened."""
    job = Job(*fresh("yao"))
    job.session(breaks_at("goodbye"), breaks_at("goodbye"))
    sent = {place: set(shares) for place, shares in job.sent[1 - party].items()}
    job.disks[party].stored = Stored()
    for heard in job.session():
        assert heard.kinds == ["Linked", "Failing", "Stopped"]
        assert isinstance(heard.events[-1], executor.Stopped)
        assert isinstance(heard.events[-1].error, ProtocolError)
    assert job.sent[1 - party] == sent


# A peer that leaves the protocol.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("told", [(0, 0, 1, 1), (0, 0, 1, 0), (0, 0, 2, 2), (0, -1, 0, 0), (0, 0, 0, 0), (1, 0, 1, 1)])
def test_whatever_a_peer_says_it_gets_one_share(fresh: Any, engine: str, told: tuple[int, int, int, int]) -> None:
    """It takes our share and hangs up; then it says of its disk what it likes, with other bits, again and again."""
    grasper = Grasper()
    job = Job(*fresh(engine), lines=(Noted, grasper.line))
    job.session()
    assert len(grasper.shares) == 1
    grasper.claim = told
    for stored in (job.disks[1].stored, Stored(), replace(job.disks[1].stored, left=0)):
        job.disks[1].stored = stored
        job.session()
    assert len(set(grasper.shares)) == 1
    assert {place: len(shares) for place, shares in job.sent[0].items()} == {(0, 0): 1}

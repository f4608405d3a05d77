"""Statements of jobs with holders: all have all of them in the end, signed, whatever was lost or said twice."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.link.identity import Identity, create, load_identity
from parties.node.log.statement import Statement
from smc.errors import InputError, ProtocolError
from tests.support.ledger_groups import Group

NAMES = ("a", "b", "anna", "bert")
HOLDERS = NAMES[2:]


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    place = tmp_path_factory.mktemp("keys")
    for name in NAMES:
        create(name, ["127.0.0.1"], place)
    return {name: load_identity(place / f"{name}.key", place / f"{name}.crt") for name in NAMES}


@pytest.fixture
def group(tmp_path: Path, identities: dict[str, Identity]) -> Group:
    return Group(tmp_path, identities)


def test_a_job_waits_for_the_consent_of_all(group: Group) -> None:
    job = group.propose()
    group.deliver()
    for name in ("b", *HOLDERS):
        assert group.states(job) == {"waiting"}
        group[name].decisions.decide(job, "approved")
        group.deliver()
    assert group.states(job) == {"queued"}


@pytest.mark.parametrize("name", ["b", *HOLDERS])
def test_one_that_refuses_ends_the_job_for_all(group: Group, name: str) -> None:
    job = group.propose()
    group.deliver()
    group[name].decisions.decide(job, "refused", "not covered")
    group.deliver()
    assert group.states(job) == {"refused"}
    assert all(not group[other].jobs.to_greet("a") for other in HOLDERS), "all know that all know it"


STEPS = st.lists(st.tuples(st.sampled_from(["hear", "lose", "twice", "crash", "act"]), st.integers(0, 99)), max_size=30)


@settings(max_examples=6, deadline=None)
@given(steps=STEPS, last=st.sampled_from(["approved", "refused", "cancel"]))
def test_lost_and_repeated_statements_change_nothing_in_the_end(
    identities: dict[str, Identity], steps: Any, last: str
) -> None:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        _lose_and_repeat(Group(Path(place), identities), steps, last)


def _lose_and_repeat(group: Group, steps: Any, last: str) -> None:
    job = group.propose()
    for step, number in steps:
        waiting = [link for link, data in group.said.items() if data]
        seat = group.seats[NAMES[number % len(NAMES)]]
        if step == "crash":
            seat.crash()
        elif step == "act":
            record = seat.ledger.jobs.known(job)
            if record is not None and record.ours.verdict == "waiting" and seat.state(job) == "waiting":
                seat.ledger.decisions.decide(job, "approved")
        elif waiting:
            speaker, hearer = waiting[number % len(waiting)]
            if step == "twice":
                group.said[speaker, hearer].insert(0, group.said[speaker, hearer][0])
            if step == "lose":  # with all that follows on the link, as when it breaks
                group.said[speaker, hearer].clear()
            else:
                with suppress(ProtocolError):  # a holder was quicker than the proposer, which says so again
                    group.hear(speaker, hearer)
    group.meet()
    if last == "cancel":
        group["anna"].decisions.cancel(job)
    else:
        for name in NAMES:
            if group[name].jobs.find(job).ours.verdict == "waiting" and group.seats[name].state(job) == "waiting":
                group[name].decisions.decide(job, last)  # type: ignore[arg-type]
            group.meet()
    group.meet()
    assert len(group.states(job)) == 1
    for name in NAMES:
        record = group[name].jobs.find(job)
        verdicts = [side.verdict for side in record.statements if side is not None]
        assert sorted(verdicts) == sorted(group[other].jobs.find(job).ours.verdict for other in NAMES)
        assert group[name].log.verify().problems == []


def test_a_node_that_shows_two_holders_different_jobs_is_caught(group: Group) -> None:
    """What bert has signed is about another digest than the job that anna was shown."""
    job, other = group.propose(), group.propose(purpose="ads")
    group.deliver()
    for one in (job, other):
        group["bert"].decisions.decide(one, "approved")
    group.deliver()
    shown = Statement.from_bytes(group["a"].hearing.statement(other, "anna"))
    mixed = Statement.from_bytes(group["a"].hearing.statement(job, "anna")).model_copy(
        update={"relayed": shown.relayed}
    )
    with pytest.raises(ProtocolError, match="no holder has signed about this job"):
        group["anna"].hearing.hear("a", mixed.to_bytes())


def test_a_statement_without_its_signature_is_refused(group: Group) -> None:
    job = group.propose()
    group.deliver()
    statement = Statement.from_bytes(group["a"].hearing.statement(job, "anna"))
    for wrong in ({"signature": ""}, {"why": "changed on its way"}, {"paid": (0,)}):
        with pytest.raises(ProtocolError, match="signature under its statement is wrong"):
            group["anna"].hearing.hear("a", statement.model_copy(update=wrong).to_bytes())
    from_holder = Statement.from_bytes(group["bert"].hearing.statement(job, "a"))
    passing = from_holder.model_copy(update={"relayed": statement.relayed})
    if statement.relayed:
        with pytest.raises(ProtocolError, match="only the computing nodes do"):
            group["a"].hearing.hear("bert", passing.to_bytes())


def test_a_holder_cannot_take_a_charge_back(group: Group) -> None:
    job = group.propose()
    group.deliver()
    group["anna"].decisions.decide(job, "approved")
    group.deliver()
    anna = group["anna"].jobs.find(job).ours
    identity = group["anna"].log.peers.identity
    paid = anna.model_copy(update={"paid": (0,)}).authentic(identity)
    group["a"].hearing.hear("anna", paid.to_bytes())
    group["a"].hearing.hear("anna", anna.authentic(identity).to_bytes())  # an older one, as if on a slower way
    record = group["a"].jobs.find(job)
    side = record.side_of("anna")
    assert side is not None
    assert record.said_by(side).paid == (0,)
    forked = anna.model_copy(update={"paid": (1,)}).authentic(identity)
    with pytest.raises(ProtocolError, match="contradicts its earlier statement"):
        group["a"].hearing.hear("anna", forked.to_bytes())


def test_a_holder_that_tells_the_nodes_different_things_is_caught(group: Group) -> None:
    job = group.propose()
    group.deliver()
    group["bert"].decisions.decide(job, "approved")
    group.deliver()
    bert, identity = group["bert"].jobs.find(job).ours, group["bert"].log.peers.identity
    for node, step in (("a", 0), ("b", 1)):
        group[node].hearing.hear("bert", bert.model_copy(update={"paid": (step,)}).authentic(identity).to_bytes())
    with pytest.raises(ProtocolError, match="contradict each other"):
        group["b"].hearing.hear("a", group["a"].hearing.statement(job, "b"))


def test_a_job_that_waits_too_long_ends_for_all(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    job = group.propose(wait_hours=1)
    group.deliver()
    group["a"].runs.end_overdue("b")
    assert group.states(job) == {"waiting"}
    record = group["a"].jobs.find(job)
    late = record.proposal.proposed_at + timedelta(hours=1, seconds=1)

    class Late:
        @staticmethod
        def now(zone: Any) -> Any:
            return late.astimezone(zone)

    monkeypatch.setattr("parties.node.log.jobs.datetime", Late)
    group["a"].runs.end_overdue("b")
    group.deliver()
    assert group.states(job) == {"failed"}
    assert "no result within 1 hours" in group["anna"].jobs.find(job).said_by("peer").why


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"holders": ["anna", "anna"]}, "a party is listed twice"),
        ({"holders": ["anna", "zoe"]}, "holders: there is no peer 'zoe'"),
        ({"holders": ["b"]}, "peer: 'b' is listed in holders too; name the other node that computes"),
        ({"holders": ["anna", "a"]}, "holders: 'a' is this node, which computes; name other peers"),
        ({"holders": ["anna"], "compute_only": True}, "with one holder the answer could be of its rows alone"),
        ({"holders": [], "compute_only": True}, "compute_only: goes with holders"),
        ({"to": ["b"]}, "to: 'b' is no holder of the job"),
        ({"protocol": "equality"}, "holders: equality reads no rows of holders"),
        ({"k": 3, "l": 2, "plain": False}, "take rows of holders: l and t against the peer"),
    ],
)
def test_wrong_jobs_with_holders_are_refused_in_one_line(group: Group, fields: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        group.propose(**fields)
    assert "\n" not in str(refused.value)

"""Statements of jobs with holders: all have all of them in the end, signed, whatever was lost or said twice."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.base.canonical import dump
from parties.link.identity import Identity, create, fingerprint, load_identity
from parties.node.acts.gate import Judgement
from parties.node.log.spendings import Left
from parties.node.log.statement import BY_NODE, FOR_READER, Relayed, Statement
from parties.node.proposal import Proposal
from parties.node.records import Head, Signed, sign, withdrawal
from parties.node.records.succession import Successor, succession
from smc.errors import InputError, ProtocolError
from tests.support.ledger_groups import Group

NAMES = ("a", "b", "anna", "bert")
HOLDERS = NAMES[2:]


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    place = tmp_path_factory.mktemp("keys")
    for name in (*NAMES, "mallory"):
        create(name, ["127.0.0.1"], place)
    return {name: load_identity(place / f"{name}.key", place / f"{name}.crt") for name in (*NAMES, "mallory")}


@pytest.fixture
def group(tmp_path: Path, identities: dict[str, Identity]) -> Group:
    return Group(tmp_path, {name: identities[name] for name in NAMES})


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


@pytest.mark.parametrize("name", ["b", "anna"])
@pytest.mark.parametrize("by", [BY_NODE, "rule"])
def test_one_that_was_away_hears_of_a_job_that_was_refused_at_once(
    group: Group, monkeypatch: pytest.MonkeyPatch, name: str, by: str
) -> None:
    """Bert comes back after the end, and asks nobody to consent."""
    no = Judgement("refused", by, "no such table", "no such table")
    monkeypatch.setattr(group[name].hearing._gate, "judge", lambda *_: no)
    job = group.propose()
    group.said["a", "bert"].clear()
    for link in (("a", name), (name, "a")):
        group.hear(*link)
    hear = group.hear

    def patient(*link: str) -> None:
        with suppress(ProtocolError):  # a holder was quicker than the proposer, which says so again
            hear(*link)

    monkeypatch.setattr(group, "hear", patient)
    for _ in range(3):
        group.meet()
    assert group.states(job) == {"refused"}
    assert not [who for seat in group.seats.values() for who in NAMES if seat.ledger.jobs.to_greet(who)]


STEPS = st.lists(st.tuples(st.sampled_from(["hear", "lose", "twice", "crash", "act"]), st.integers(0, 99)), max_size=30)


@settings(max_examples=6, deadline=None)
@given(steps=STEPS, last=st.sampled_from(["approved", "refused", "cancel"]))
def test_lost_and_repeated_statements_change_nothing_in_the_end(
    identities: dict[str, Identity], steps: Any, last: str
) -> None:
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        _lose_and_repeat(Group(Path(place), {name: identities[name] for name in NAMES}), steps, last)


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
    group["anna"].decisions.decide(job, "approved")
    group.hear("anna", "a")
    with pytest.raises(ProtocolError, match="contradict each other"):
        group["b"].hearing.hear("a", group["a"].hearing.statement(job, "b"))
    record = group["b"].jobs.find(job)
    anna, bert_there = (record.said_by(record.side_of(name) or "us") for name in HOLDERS)
    assert (anna.verdict, bert_there.paid) == ("approved", (1,)), "all but the contradiction is kept"


@pytest.mark.parametrize("author", ["bert", "mallory"])
def test_a_new_certificate_counts_if_the_former_key_has_announced_it(
    group: Group, identities: dict[str, Identity], author: str, tmp_path: Path
) -> None:
    """Anna has no link with bert: she learns of his new certificate from the node that passes his statement on."""
    job = group.propose()
    group.deliver()
    new, until = create("bert", [], tmp_path), datetime.now(UTC).date()
    word = succession(identities[author], new.certificate, until)
    word = word.model_copy(update={"former": fingerprint(identities["bert"].certificate)})
    seat = group.seats["a"]
    who = next(one for one in seat.peers if one.peer_name == "bert")
    seat.ledger.log.peers.replace(replace(who, successor=Successor(new.certificate, until, word)).succeeded)
    bert = group["bert"].jobs.find(job).ours.model_copy(update={"verdict": "approved"}).authentic(new)
    seat.ledger.hearing.hear("bert", bert.to_bytes())
    shown = seat.ledger.hearing.statement(job, "anna")
    if author == "mallory":
        with pytest.raises(ProtocolError, match="unreadable"):
            group["anna"].hearing.hear("a", shown)
        return
    group["anna"].hearing.hear("a", shown)
    record = group["anna"].jobs.find(job)
    assert record.said_by(fingerprint(identities["bert"].certificate)).verdict == "approved"


SIGNED = {"result": {"digest": "x"}, "head": {"number": 1, "hash": "0" * 64}, "signature": "0" * 128}
WORD = {"result": "0" * 64, "why": "forged", "at": "2026-01-01T00:00:00+00:00", "signature": "0" * 128}


@pytest.mark.parametrize(
    "added",
    [
        {"signed": SIGNED, "withdrawn": WORD},
        {"signed": SIGNED, "heard": True},
        {"unheard": True},
        {"settled": True},
        {"waits": "table"},
        {"relayed": []},
        {"proposal": {}},
    ],
)
def test_a_node_cannot_add_to_what_a_holder_has_signed(group: Group, added: dict[str, Any]) -> None:
    job = group.propose()
    group.deliver()
    bert, identity = group["bert"].jobs.find(job).ours, group["bert"].log.peers.identity
    computed = bert.model_copy(update={"verdict": "approved", "end": "computed"})
    group["a"].hearing.hear("bert", computed.authentic(identity).to_bytes())
    group.said.clear()
    true = Statement.from_bytes(group["a"].hearing.statement(job, "anna"))
    (relayed,) = true.relayed
    forged = Relayed(certificate=relayed.certificate, said=relayed.said | added)
    with pytest.raises(ProtocolError, match="no holder has signed about this job"):
        group["anna"].hearing.hear("a", true.model_copy(update={"relayed": (forged,)}).to_bytes())
    group["anna"].hearing.hear("a", true.to_bytes())
    assert group["anna"].jobs.find(job).said_by(fingerprint(identity.certificate)).end == "computed"
    assert group["anna"].log.verify().problems == []


def test_what_is_for_the_reader_alone_is_not_passed_on(group: Group) -> None:
    """A holder that waits for its table, or whose job has ended, says so to the two nodes that it is linked with."""
    job = group.propose()
    group.deliver()
    for name in ("b", "anna"):
        group[name].decisions.decide(job, "approved")
        group.deliver()
    group["bert"].decisions.decide(job, "approved")
    group["bert"].runs.table_away(job, "no file")
    group.meet()
    assert [group[name].jobs.find(job).peer_waits for name in (*NAMES[:2], "anna")] == [True, True, False]
    group["bert"].runs.table_there(job)
    group.deliver()
    assert not any(group[name].jobs.find(job).peer_waits for name in NAMES)
    group["bert"].decisions.cancel(job)
    group.deliver()
    relayed = Statement.from_bytes(group["a"].hearing.statement(job, "anna")).relayed
    assert all(FOR_READER.isdisjoint(one.said) for one in relayed)
    record = group["a"].jobs.find(job)
    assert record.said_by(record.side_of("bert") or "us").settled
    paid = group["bert"].jobs.find(job).ours.model_copy(update={"paid": (0,)})
    group["a"].hearing.hear("bert", paid.authentic(group["bert"].log.peers.identity).to_bytes())
    group["b"].hearing.hear("a", group["a"].hearing.statement(job, "b"))
    record = group["b"].jobs.find(job)
    bert = record.said_by(record.side_of("bert") or "us")
    assert (bert.settled, bert.paid) == (True, (0,)), "what bert has said itself stays"


@pytest.mark.parametrize("speaker", ["b", "bert"])
def test_no_result_with_holders_is_withdrawn_and_no_holder_signs_one(
    group: Group, identities: dict[str, Identity], speaker: str
) -> None:
    job = group.propose()
    group.deliver()
    said, own = group[speaker].jobs.find(job).ours, identities[speaker]
    job_digest, noun = said.proposal.digest, said.proposal.task.about.noun
    unsigned = Signed(
        result={"digest": job_digest, noun: "1" * 64}, head=Head(number=1, hash="0" * 64), signature="0" * 128
    )
    signed = unsigned.model_copy(update={"signature": sign(own, unsigned.document()).hex()})
    word = withdrawal(own, job_digest, "1" * 64, "mine", "2026-01-01T00:00:00+00:00")
    computed = said.model_copy(update={"verdict": "approved", "end": "computed", "signed": signed})
    with pytest.raises(ProtocolError, match="which cannot be withdrawn yet"):
        group["a"].hearing.hear(speaker, computed.model_copy(update={"withdrawn": word}).authentic(own).to_bytes())
    if speaker == "bert":
        with pytest.raises(ProtocolError, match="a holder signs a result"):
            group["a"].hearing.hear(speaker, computed.authentic(own).to_bytes())


def test_who_speaks_is_who_the_job_lists(group: Group, identities: dict[str, Identity]) -> None:
    """A peer that is pinned under the name of a holder later is not that holder."""
    job = group.propose()
    group.deliver()
    seat, mallory = group.seats["a"], identities["mallory"]
    assert len(Statement.from_bytes(group["a"].hearing.statement(job, "anna")).relayed) == 1
    seat.peers = [replace(who, peer=mallory.certificate) if who.peer_name == "bert" else who for who in seat.peers]
    seat.crash()
    forged = Statement(proposal=group["a"].jobs.find(job).proposal, verdict="approved").authentic(mallory)
    with pytest.raises(ProtocolError, match="lists another certificate"):
        group["a"].hearing.hear("bert", forged.to_bytes())
    assert Statement.from_bytes(group["a"].hearing.statement(job, "anna")).relayed == ()
    seat.peers = [
        replace(who, former=identities["bert"].certificate) if who.peer_name == "bert" else who for who in seat.peers
    ]
    seat.crash()
    group["a"].hearing.hear("bert", group["bert"].hearing.statement(job, "a"))  # the certificate has been renewed
    passed_on = group["a"].hearing.statement(job, "anna")
    assert len(Statement.from_bytes(passed_on).relayed) == 1
    group["anna"].hearing.hear("a", passed_on)


def test_the_two_that_compute_have_the_numbers_of_their_link(group: Group, identities: dict[str, Identity]) -> None:
    terms = group["a"].jobs.find(group.propose()).proposal
    group.said.clear()
    assert terms.holding is not None
    fields = terms.model_dump(mode="json")
    other = Proposal.model_validate_json(
        dump(fields | {"holding": fields["holding"] | {"nodes": terms.holding.nodes[::-1]}})
    )
    group["b"].hearing.hear("a", Statement(proposal=other, verdict="approved").authentic(identities["a"]).to_bytes())
    (answer,) = map(Statement.from_bytes, group.said["b", "a"])
    assert (answer.verdict, group["b"].jobs.known(terms.id)) == ("refused", None)
    assert "lists the computing nodes in the wrong order" in answer.why


@pytest.mark.parametrize("node", ["a", "b"])
def test_both_nodes_hear_that_a_job_is_archived(group: Group, node: str) -> None:
    job = group.propose()
    group.hear("a", "b")
    group.said.clear()
    spendings, digest = group["anna"].hearing._parts.spendings, group["a"].jobs.find(job).proposal.digest
    spendings.past = replace(spendings.past, jobs={job: Left("a", digest, done=False)})
    group["anna"].hearing.hear(node, group[node].hearing.statement(job, "anna"))
    (answer,) = map(Statement.from_bytes, group.said["anna", node])
    assert answer.why == "the job has ended here, and is archived: propose it anew"


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
        ({"holders": [], "wait_hours": 24}, "wait_hours: goes with holders"),
        ({"to": ["b"]}, "to: 'b' is no holder of the job"),
        ({"protocol": "equality"}, "holders: equality reads no rows of holders"),
        ({"k": 3, "l": 2, "plain": False}, "take rows of holders: l and t against the peer"),
    ],
)
def test_wrong_jobs_with_holders_are_refused_in_one_line(group: Group, fields: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        group.propose(**fields)
    assert "\n" not in str(refused.value)

"""Decisions under names: what the log says, that the peer hears no name, and that two must mean two people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from parties.base.canonical import canonical
from parties.link.identity import Identity
from parties.node.events import Events
from parties.node.policy.rules import Rule
from parties.node.records.chain import Row
from parties.node.records.kinds import Fields
from parties.node.service import Node
from parties.node.settings import load
from parties.operator.interface import Operator
from parties.operator.people import ROLES, UNNAMED, Person, as_person
from smc.errors import InputError
from tests.support.ledgers import TREE, Pair, agreed, paired
from tests.support.people import desk

NAMES = ("anna", "bert", "carl")
PLAIN = {"table": "days", "plain": True}


@contextmanager
def four_eyes(directory: Path, identities: dict[str, Identity], approvals: int = 2, **options: Any) -> Iterator[Pair]:
    """Two parties, of whom bob's needs so many people."""
    with paired(directory, identities, **options) as pair:
        need(pair, approvals)
        yield pair


def need(pair: Pair, approvals: int) -> None:
    pair.parties[1].ledger.gate.approvals = approvals


def bobs(pair: Pair, name: str) -> Operator:
    """What this person of bob's may do."""
    return as_person(desk(pair.parties[1]), Person(name, frozenset(ROLES)))


def entries(pair: Pair, job: str) -> list[tuple[str, str]]:
    """The entries of bob's people on a job: kind and name."""
    mine = [entry for entry in reversed(pair.parties[1].ledger.log.entries(100, None)) if entry.job == job]
    return [(entry.kind, entry.fields["person"]) for entry in mine if entry.fields.get("person")]


def proposed(pair: Pair) -> str:
    """A job of alice's that bob has heard of."""
    job = pair.parties[0].ledger.decisions.propose(PLAIN).id
    pair.deliver()
    return job


def test_each_decision_stands_under_a_name(pair: Pair) -> None:
    jobs = [proposed(pair) for _ in range(3)]
    bobs(pair, "anna").approve(jobs[0])
    bobs(pair, "bert").refuse(jobs[1], "no")
    bobs(pair, "carl").cancel(jobs[2])
    own = bobs(pair, "anna").submit(PLAIN).id
    again = bobs(pair, "bert").repeat(own).id
    assert [entries(pair, job) for job in (*jobs, own, again)] == [
        [("decided", "anna")],
        [("decided", "bert")],
        [("cancelled", "carl")],
        [("proposed", "anna"), ("decided", "anna")],
        [("proposed", "bert"), ("decided", "bert")],
    ]
    views = {job.id: job for job in desk(pair.parties[1]).jobs()}
    assert [views[job].ours.by for job in (jobs[0], jobs[1], own)] == [
        "operator anna",
        "operator bert",
        "proposer anna",
    ]
    pair.deliver()
    pair.session(jobs[0], (TREE, TREE))
    pair.deliver()
    bobs(pair, "carl").withdraw(jobs[0], "so")
    assert entries(pair, jobs[0])[-1] == ("withdrawn", "carl")


def test_without_names_all_is_as_it_was(pair: Pair) -> None:
    job = proposed(pair)
    as_person(desk(pair.parties[1]), UNNAMED).approve(job)
    assert desk(pair.parties[1]).job(job).ours.by == "operator"
    assert entries(pair, job) == []
    assert pair.parties[1].ledger.jobs.find(job).people == ()


def test_two_must_approve_and_one_is_not_two(tmp_path: Path, identities: dict[str, Identity]) -> None:
    with four_eyes(tmp_path, identities) as pair:
        job, bob = proposed(pair), pair.parties[1]
        view = bobs(pair, "anna").approve(job)
        assert (view.state, view.ours.verdict, view.ours.by, view.people) == (
            "waiting",
            "waiting",
            "1 of 2: anna",
            ["anna"],
        )
        assert bob.said == []
        for _ in range(2):  # by another session of hers, or after a restart
            with pytest.raises(InputError, match=r"anna has approved job .*: another operator must"):
                bobs(pair, "anna").approve(job)
            bob.crash()
            need(pair, 2)
        with pytest.raises(InputError, match="approvals = 2: needs operators with names"):
            as_person(desk(bob), UNNAMED).approve(job)
        assert bobs(pair, "bert").approve(job).ours.by == "operator anna, bert"
        assert entries(pair, job) == [("approved", "anna"), ("decided", "bert")]
        pair.deliver()
        assert pair.parties[0].state(job) == bob.state(job) == "queued"


def test_what_is_typed_is_of_one_who_stands_behind_the_job(tmp_path: Path, identities: dict[str, Identity]) -> None:
    with four_eyes(tmp_path, identities) as pair:
        bob = pair.parties[1]
        job = pair.parties[0].ledger.decisions.propose({"protocol": "millionaires", "value": 5}).id
        pair.deliver()

        def kept() -> dict[str, Any]:
            return bob.ledger.decisions._inputs.of(job)

        bobs(pair, "anna").approve(job, {"value": 7})
        bob.ledger.decisions._inputs.forget(job)  # as a restart does
        with pytest.raises(InputError, match="another operator must"):
            bobs(pair, "anna").approve(job, {"value": 99})
        assert kept() == {}  # it is not what bert approves without having seen it
        bobs(pair, "bert").approve(job, {"value": 8})
        assert kept() == {"value": 8}
        bob.ledger.decisions._inputs.forget(job)
        with pytest.raises(InputError, match="was approved by anna, bert: one of them must type it"):
            bobs(pair, "carl").approve(job, {"value": 1})
        assert kept() == {}
        bobs(pair, "anna").approve(job, {"value": 7})
        assert kept() == {"value": 7}
        assert entries(pair, job) == [("approved", "anna"), ("decided", "bert"), ("approved", "anna")]


def test_who_sees_a_hash_cannot_try_names(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """The peer sees the heads before and after an entry, and knows all of it but the name: no name fits."""
    with four_eyes(tmp_path, identities) as pair:
        job, bob = proposed(pair), pair.parties[1]
        bobs(pair, "anna").approve(job)
        (entry,) = [entry for entry in bob.ledger.log.entries(100, None) if entry.kind == "approved"]
        previous = bob.ledger.log.entries(100, entry.number)[0].hash
        fields = {**entry.fields, "blind": ""}
        guesses = [fields | {"person": name} for name in NAMES]
        assert entry.hash not in {
            Row(entry.number, entry.at, entry.kind, job, canonical(guess), previous, "").digest() for guess in guesses
        }
        digest = Row(entry.number, entry.at, entry.kind, job, canonical(entry.fields), previous, "").digest()
        assert digest == entry.hash  # so the guesses were of the right form
        assert len(bytes.fromhex(entry.fields["blind"])) == 16


def test_one_refuses_for_all(tmp_path: Path, identities: dict[str, Identity]) -> None:
    with four_eyes(tmp_path, identities) as pair:
        job = proposed(pair)
        bobs(pair, "anna").approve(job)
        assert bobs(pair, "anna").refuse(job, "after all").ours.by == "operator anna"
        with pytest.raises(InputError, match="does not wait for our consent"):
            bobs(pair, "bert").approve(job)
        pair.deliver()
        assert pair.parties[0].state(job) == "refused"
        pair.parties[1].ledger.jobs.check(tmp_path / "marker")


def test_a_rules_consent_is_the_rules(tmp_path: Path, identities: dict[str, Identity]) -> None:
    rule = Rule(name="all", effect="permit")
    with four_eyes(tmp_path, identities, rules=(rule,)) as pair:
        job = proposed(pair)
        assert desk(pair.parties[1]).job(job).ours.by == "rule all"
        assert entries(pair, job) == []


def test_who_proposes_does_not_approve_and_the_peer_hears_nothing(
    tmp_path: Path, identities: dict[str, Identity]
) -> None:
    with four_eyes(tmp_path, identities) as pair:
        bob, alice = pair.parties[1], pair.parties[0]
        job = bobs(pair, "anna").submit(PLAIN)
        assert (job.state, job.ours.by) == ("waiting", "1 of 2: anna")
        with pytest.raises(InputError, match=r"anna has proposed job .*: another operator must"):
            bobs(pair, "anna").approve(job.id)
        stopped = bobs(pair, "anna").submit(PLAIN)
        bobs(pair, "bert").refuse(stopped.id, "not that")
        ended = bobs(pair, "anna").submit(PLAIN)
        bobs(pair, "anna").cancel(ended.id)
        bob.crash()
        need(pair, 2)
        assert bob.said == []
        assert bob.ledger.jobs.to_greet("alice") == []
        assert [bob.ledger.hearing.statement(one.id) for one in (job, stopped, ended)] == [b""] * 3
        pair.meet()
        assert alice.ledger.jobs.all() == []
        assert bobs(pair, "bert").approve(job.id).ours.by == "proposer anna, bert"
        assert entries(pair, job.id) == [("proposed", "anna"), ("decided", "bert")]
        pair.deliver()
        assert [record.id for record in alice.ledger.jobs.all()] == [job.id]
        alice.ledger.decisions.decide(job.id, "approved")
        pair.deliver()
        assert bob.begin(job.id) is not None


def test_no_name_goes_to_the_peer(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """All that bob says in the life of a job, and all that alice keeps of it, and her log."""
    with four_eyes(tmp_path, identities) as pair:
        alice = pair.parties[0]
        heard: list[bytes] = []
        hear = alice.hear
        alice.hear = lambda data: (heard.append(data), hear(data))[1]  # type: ignore[method-assign]
        jobs = [proposed(pair) for _ in range(3)]
        for name in ("anna", "bert"):
            bobs(pair, name).approve(jobs[0])
        bobs(pair, "anna").refuse(jobs[1], "no")
        bobs(pair, "bert").cancel(jobs[2])
        own = bobs(pair, "anna").submit(PLAIN).id
        bobs(pair, "bert").approve(own)
        pair.deliver()
        pair.session(jobs[0])
        pair.deliver()
        bobs(pair, "carl").withdraw(jobs[0], "so")
        pair.deliver()
        assert {"anna", "bert", "carl"} <= {name for job in (*jobs, own) for _, name in entries(pair, job)}
        told = b"".join(heard) + b"".join(record.model_dump_json().encode() for record in alice.ledger.jobs.all())
        told += "".join(entry.model_dump_json() for entry in alice.ledger.log.entries(500, None)).encode()
        assert b"withdrawn" in told
        assert not any(name.encode() in told for name in NAMES)


def test_a_row_that_says_another_name_is_noticed(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """Who writes a second name into the database, so that one person's approval is two, contradicts the log."""
    with four_eyes(tmp_path, identities) as pair:
        job, bob = proposed(pair), pair.parties[1]
        bobs(pair, "anna").approve(job)
        bob.ledger.jobs.check(tmp_path / "marker")
        text = bob.ledger.jobs.find(job).model_dump_json().replace('["anna"]', '["anna","bert"]')
        with bob.connection:
            bob.connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (text, job))
        bob.crash()
        with pytest.raises(InputError, match="the people of ours who approved it"):
            bob.ledger.jobs.check(tmp_path / "marker")


def test_logs_from_before_names_verify(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that was written without the field is whole, and is shown; so is a job's row."""
    with monkeypatch.context() as before:
        old: Any = lambda self, **how: BaseModel.model_dump(self, **how, exclude={"person"})  # noqa: E731
        before.setattr(Fields, "model_dump", old)
        job = agreed(pair)
    bob = pair.parties[1]
    assert all("person" not in entry.fields for entry in bob.ledger.log.entries(100, None))
    text = bob.ledger.jobs.find(job).model_dump_json().replace('"people":[],', "").replace(',"people":[]', "")
    assert "people" not in text
    with bob.ledger.log.writing():  # so that the seal is of that row
        bob.connection.execute("UPDATE jobs SET record = ? WHERE id = ?", (text, job))
    bob.crash()
    bob.ledger.jobs.check(bob.path.parent / "marker")
    assert bob.ledger.log.verify().ok
    bobs(pair, "anna").cancel(job)
    assert bob.ledger.log.verify().ok
    assert entries(pair, job) == [("cancelled", "anna")]


def test_failed_log_ins_are_few_entries(pair: Pair) -> None:
    ledger = pair.parties[1].ledger
    for i in range(40):
        ledger.log.note_folded("log-in failed", "", person="anna" if i % 2 else "", why="wrong password")
    ledger.log.note_repeats()
    log = [entry for entry in ledger.log.entries(100, None) if entry.kind in ("log-in failed", "repeated")]
    assert len(log) == 11
    assert (log[0].fields["what"], log[0].fields["times"]) == ("log-in failed", 30)
    assert log[1].fields.items() >= {"person": "anna", "why": "wrong password"}.items()
    assert ledger.log.verify().ok


def test_a_node_records_what_its_page_says_of_log_ins(
    tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Frontend:
        def start(self, operator: Operator, events: Events, failed: Any) -> dict[str, str]:
            failed("anna", "wrong password")
            self.entry = operator.audit(1)[0]
            return {}

        def stop(self) -> None:
            pass

    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    monkeypatch.setattr("parties.node.service.warm", lambda on_compiled: None)
    alice, bob = identities["alice"], identities["bob"]
    (tmp_path / "party.toml").write_text(
        f'[link]\nidentity = "{alice.key_path}"\ncertificate = "{alice.certificate_path}"\n'
        f'peer = "{bob.certificate_path}"\nlisten = "127.0.0.1:0"\n'
        '[node]\nweb = "127.0.0.1:0"\nhealth = "127.0.0.1:0"\n'
    )
    frontend = Frontend()
    node = Node(load(tmp_path / "party.toml"), frontend)
    try:
        node.start()
    finally:
        node.stop(seconds=0)
    assert frontend.entry.kind == "log-in failed"
    assert frontend.entry.fields.items() >= {"person": "anna", "why": "wrong password"}.items()


@settings(max_examples=5, deadline=None)
@given(
    approvals=st.integers(1, 3),
    own=st.booleans(),
    acts=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["approve", "crash"])), max_size=6),
)
def test_consent_is_given_by_so_many_people_and_not_before(
    tmp_path_factory: pytest.TempPathFactory, identities: dict[str, Identity], approvals: int, own: bool, acts: Any
) -> None:
    with four_eyes(tmp_path_factory.mktemp("eyes"), identities, approvals) as pair:
        job = bobs(pair, "anna").submit(PLAIN).id if own else proposed(pair)
        behind = ["anna"] if own else []
        for name, act in acts:
            if act == "crash":
                pair.parties[1].crash()
                need(pair, approvals)
            elif len(behind) < approvals and name not in behind:
                bobs(pair, name).approve(job)
                behind.append(name)
            else:
                with pytest.raises(InputError):
                    bobs(pair, name).approve(job)
            record = pair.parties[1].ledger.jobs.find(job)
            assert (record.ours.verdict == "approved") == (len(behind) >= approvals)
            assert list(record.people) == behind
        pair.parties[1].ledger.jobs.check(pair.parties[1].path.parent / "marker")

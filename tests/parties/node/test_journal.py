"""What the ledger writes: each change with its record or neither, and what counts as a run of today."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity
from parties.node.log import jobs
from parties.node.log.store import Store
from parties.node.policy.rules import Rule
from parties.node.records import AuditLog, connect
from parties.node.records.kinds import Fields, Finished
from smc.errors import InputError, ProtocolError
from smc.meter import Cost
from tests.support.ledgers import OTHER, REPORT, TASK, TREE, Pair, agreed, paired, propose


def kinds(pair: Pair, party: int = 0) -> list[str]:
    return [entry.kind for entry in reversed(pair.parties[party].ledger.log.entries(100, None))]


def test_who_decided_is_recorded_by_both(pair: Pair) -> None:
    job = propose(pair, purpose="research")
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job, "refused", "not covered")
    pair.deliver()
    for own, party in enumerate(pair.parties):
        entries = [entry for entry in party.ledger.log.entries(100, None) if entry.job == job]
        decided = [entry.fields for entry in reversed(entries) if entry.kind == "decided"]
        assert [(d["party"], d["verdict"], d["by"], d["reason"]) for d in decided] == [
            (("us", "peer")[own], "approved", "proposer", ""),
            (("peer", "us")[own], "refused", "operator", "not covered"),
        ]
        proposed = next(entry.fields for entry in entries if entry.kind == "proposed")
        assert (proposed["by"], proposed["purpose"]) == (("us", "peer")[own], "research")
        assert proposed["digest"] == party.ledger.jobs.find(job).ours.proposal.digest


@pytest.mark.parametrize("call", ["propose", "decide", "cancel", "begin"])
def test_what_cannot_be_recorded_does_not_happen(pair: Pair, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A full disk, say: then neither memory nor database know of the change."""
    alice, bob = pair.parties
    job = propose(pair)
    pair.deliver()
    if call == "begin":
        bob.ledger.decisions.decide(job, "approved")
        pair.deliver()
    before = [(record.id, record.ours) for record in bob.ledger.jobs.all()]
    pair.parties[1].said.clear()

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(AuditLog, "add", full)
    calls: dict[str, Any] = {
        "propose": lambda: propose(pair, 1),
        "decide": lambda: bob.ledger.decisions.decide(job, "approved"),
        "cancel": lambda: bob.ledger.decisions.cancel(job),
        "begin": lambda: (bob.begin(job), bob.ledger.runs.met(job, 0, "mixed")),
    }
    with pytest.raises(OSError, match="space"):
        calls[call]()
    monkeypatch.undo()
    assert [(record.id, record.ours) for record in bob.ledger.jobs.all()] == before
    assert bob.ledger.jobs.find(job).sessions == 0
    assert not bob.said
    assert bob.ledger.log.verify().ok
    bob.crash()
    assert [(record.id, record.ours) for record in bob.ledger.jobs.all()] == before
    assert alice.ledger.log.verify().ok


def test_a_store_that_fails_takes_the_entry_back(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    bob = pair.parties[1]
    job = propose(pair)
    pair.deliver()
    before = kinds(pair, 1)

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Store, "put", full)
    with pytest.raises(OSError, match="space"):
        bob.ledger.decisions.decide(job, "approved")
    monkeypatch.undo()
    assert kinds(pair, 1) == before
    assert bob.state(job) == "waiting"
    bob.ledger.decisions.decide(job, "approved")
    assert bob.ledger.log.verify().ok


def test_what_is_computed_after_the_end_is_forgotten(pair: Pair) -> None:
    """The peer has cancelled meanwhile: no result, no signature, no entry."""
    alice, bob = pair.parties
    job = agreed(pair)
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "mixed")
    bob.ledger.decisions.cancel(job, "enough")
    pair.deliver()
    assert alice.state(job) == "cancelled"
    alice.ledger.runs.computed(job, TASK.states.encode(TREE), Cost(1, 2, 3, 4), REPORT)
    assert alice.ledger.jobs.find(job).ours.signed is None
    assert not {"finished", "signed"} & set(kinds(pair))


@pytest.mark.parametrize("first", [0, 1])
def test_a_different_signature_that_came_first_is_noticed(pair: Pair, first: int) -> None:
    job = agreed(pair)
    sides = [(pair.parties[0], TREE), (pair.parties[1], OTHER)]
    for party, _ in sides:
        party.begin(job)
        party.ledger.runs.met(job, 0, "mixed")
    for party, tree in sides if first == 0 else sides[::-1]:
        if party.state(job) == "running":
            party.ledger.runs.reached(job, TASK.states.encode(tree), Cost(0, 1, 2, 3))
            party.ledger.runs.computed(job, TASK.states.encode(tree), Cost(1, 2, 3, 4), REPORT)
        party.ledger.runs.over(job)
        pair.deliver()
    assert [party.state(job) for party in pair.parties] == ["failed", "failed"]
    for own in (0, 1):
        assert "signed" not in kinds(pair, own)
        entries = pair.parties[own].ledger.log.entries(100, None)
        finished, ended = (next(e.fields for e in entries if e.kind == kind) for kind in ("finished", "failed"))
        for name in ("bytes_sent", "bytes_received"):
            assert ended[name] == finished[name] > 0, "the session that ended it counts"


@pytest.mark.usefixtures("one_day")
@pytest.mark.parametrize(("days", "expected"), [(0, "waiting"), (1, "queued"), (-1, "queued")])
def test_only_the_runs_of_today_count(
    tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, days: int, expected: str
) -> None:
    rules = (Rule.model_validate({"name": "one a day", "effect": "permit", "runs_today": {"below": 1}}),)
    with paired(tmp_path, identities, rules) as pair:
        then = (datetime.fromisoformat(jobs.now()) - timedelta(days=days)).isoformat(timespec="seconds")
        with monkeypatch.context() as patched:
            patched.setattr(jobs, "now", lambda: then)  # the clock: no call tells the ledger what time it is
            propose(pair)
            pair.deliver()
        job = propose(pair)
        pair.deliver()
        assert pair.parties[1].state(job) == expected


@pytest.mark.usefixtures("one_day")
def test_only_runs_of_the_table_count(tmp_path: Path, identities: dict[str, Identity]) -> None:
    rules = (Rule.model_validate({"name": "one a day", "effect": "permit", "runs_today": {"below": 1}}),)
    with paired(tmp_path, identities, rules) as pair:
        tables = pair.parties[1].offers.tables
        tables["nights"] = tables["days"]
        jobs = [propose(pair, peer_table=table) for table in ("nights", "days", "nights")]
        pair.deliver()
        assert [pair.parties[1].state(job) for job in jobs] == ["queued", "queued", "waiting"]


def test_a_job_of_a_denied_purpose_is_not_proposed_and_not_recorded(
    tmp_path: Path, identities: dict[str, Identity]
) -> None:
    rules = (Rule.model_validate({"name": "never", "effect": "deny"}),)
    with paired(tmp_path, identities, rules) as pair:
        with pytest.raises(InputError, match="never"):
            propose(pair, 1)
        assert not pair.parties[1].ledger.jobs.all()
        assert not pair.parties[1].said
        assert kinds(pair, 1) == ["node started"]


def test_a_peer_that_keeps_changing_its_mind_does_not_fill_the_log(pair: Pair) -> None:
    """Once it has signed, or ended a job, there is nothing more of it to record."""
    alice, bob = pair.parties
    job = agreed(pair)
    pair.session(job)
    bob.said.clear()
    signed = bob.ledger.jobs.find(job).ours
    before = len(kinds(pair))
    for number in range(10):
        change = {"end": "", "why": f"reason {number}"}
        with suppress(ProtocolError):
            alice.hear(signed.model_copy(update=change).to_bytes())
    assert len(kinds(pair)) <= before + 2


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_records_that_others_may_read_or_write_are_not_used(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "node.sqlite"
    connect(path).close()
    path.chmod(mode)
    with pytest.raises(InputError, match="chmod 600"):
        connect(path)


def test_half_a_change_is_not_kept_in_memory(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checkpoint was put, then the next entry failed: memory goes back to what the disk has."""
    alice = pair.parties[0]
    job = agreed(pair)
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "mixed")
    before = alice.ledger.jobs.find(job)
    add = AuditLog.add

    def full(log: AuditLog, fields: Fields, *rest: Any) -> Any:
        if isinstance(fields, Finished):
            raise OSError("no space left")
        return add(log, fields, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(AuditLog, "add", full)
        with pytest.raises(OSError, match="space"):
            alice.ledger.runs.computed(job, TASK.states.encode(TREE), Cost(1, 2, 3, 4), REPORT)
    assert alice.ledger.jobs.find(job) == before
    assert "opened" not in kinds(pair)
    alice.ledger.runs.computed(job, TASK.states.encode(TREE), Cost(1, 2, 3, 4), REPORT)
    assert kinds(pair).count("opened") == 3
    assert alice.ledger.log.verify().ok

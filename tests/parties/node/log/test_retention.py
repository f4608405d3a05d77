"""Old jobs leave the database for a file: nothing of them stays but what budgets need, and the log can be verified."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from parties.base import files
from parties.commands.rights import _recipients
from parties.node.desk import published
from parties.node.governance import activities, breaches
from parties.node.log.retention import PATIENCE, Archived, due
from parties.node.log.statement import Statement
from parties.node.offers import Offer, Offers
from parties.node.proposal import Proposal
from parties.node.records import AuditLog, audit, connect, export, gaps, reading, withdrawal
from parties.node.records.chain import Checked
from parties.node.records.marker import FILE_NAME
from parties.node.settings import NodeFile
from parties.sources.settings import BudgetSettings, TableSettings
from smc.errors import InputError, ProtocolError
from smc.meter import Cost
from tests.support.ledgers import REPORT, SCHEMA, Pair, Party, agreed, propose
from tests.support.registry import registered
from tests.support.tampering import edited, tamper

COINS = [[1, 2, 3, 4], [5, 6, 7, 8]]
PURPOSE = "a purpose to be forgotten"


@pytest.fixture
def noisy(pair: Pair) -> Iterator[Pair]:
    """Alice has a budget of 2; both say which rows they have, and know the kind for tests."""
    pair.parties[0].budget = BudgetSettings(epsilon=2, per="year", bits=500)
    for party in pair.parties:
        party.version = "1"
        party.crash()
    with registered(("noisy", "tests.support.noisy:Noisy")):
        yield pair


def done(pair: Pair, repeats: str = "", **fields: Any) -> str:
    """A noisy job that both have computed and signed, and both know it."""
    job = pair.parties[0].ledger.decisions.propose(
        {"protocol": "noisy", "table": "days", "epsilon": 1.5, "purpose": PURPOSE, **fields}
    )
    pair.deliver()
    pair.parties[1].ledger.decisions.decide(job.id, "approved")
    pair.deliver()
    for one in pair.parties:
        assert one.begin(job.id) is not None
        one.ledger.runs.met(job.id, 0, "" if repeats else "yao", repeats=repeats)
        if not repeats:
            one.opens(job.id)
        one.ledger.runs.computed(job.id, COINS, Cost(1, 2, 3, 4), REPORT)
        one.ledger.runs.over(job.id)
    pair.deliver()
    settle(pair)
    return job.id


def settle(pair: Pair) -> None:
    pair.meet()
    pair.meet()


def archive(party: Party, days: int | None = 0) -> Archived | None:
    return party.ledger.retention.archive(lambda _: days, party.path.parent / "archive")


def checked(party: Party, *files: Path) -> Checked:
    with reading(party.path) as connection:
        return audit.verify(
            connection, party.who.identity.certificate, [party.who.peer], archive=export.read_archives(files)
        )


def public(party: Party) -> object:
    """What the party publishes of its budgets."""
    return published.entry("alice", "smc", party.ledger.accounts, party.ledger.spendings.released())["tables"]


def test_what_is_spent_stays_and_all_else_leaves(noisy: Pair) -> None:
    job = done(noisy)
    alice = noisy.parties[0]
    ledger = alice.ledger
    account, register = ledger.accounts.account("days"), public(alice)
    (before,) = [(charge.stamp, charge.job, charge.uses) for charge in account.charges]
    assert account.spent == 1.5
    text = PURPOSE.encode()
    assert text in alice.path.read_bytes() + alice.path.with_name("node.sqlite-wal").read_bytes()
    gone = archive(alice)
    assert gone is not None
    assert (gone.jobs, stat.S_IMODE(gone.path.stat().st_mode)) == (1, 0o600)
    assert text not in alice.path.read_bytes() + alice.path.with_name("node.sqlite-wal").read_bytes()
    assert ledger.jobs.all() == []
    for _ in range(2):  # after a restart, too
        account = alice.ledger.accounts.account("days")
        assert account.spent == 1.5
        assert [(charge.stamp, charge.job, charge.uses) for charge in account.charges] == [before]
        assert public(alice) == register
        assert alice.ledger.log.verify().ok
        alice.ledger.jobs.check(alice.path.parent / FILE_NAME)
        alice.crash()
    with pytest.raises(InputError, match="privacy budget"):  # 1.5 and 1.5 do not fit, whether repeated or not
        alice.ledger.decisions.propose({"protocol": "noisy", "table": "days", "epsilon": 1.5, "purpose": PURPOSE})
    found = checked(alice)
    assert (found.problems, found.filled, found.statements) == ([], 0, [])
    received = alice.path.parent / "received"
    received.write_text("".join(f"{export.line(row)}\n" for row in alice.ledger.log.rows_after(0, 1000)))
    assert (gaps.read([received]).problems, gaps.read([received]).empty) == ([], found.archived)
    found = checked(alice, gone.path)
    assert (found.problems, found.filled, len(found.statements)) == ([], found.archived, 1)
    assert found.archived > 5
    first = json.loads(gone.path.read_text().split("\n")[0])
    assert (first["archived"], first["job"]["tree"]) == (job, COINS)
    assert archive(alice) is None


def test_bits_stay_spent(noisy: Pair) -> None:
    alice = noisy.parties[0]
    job = agreed(noisy)
    alice.begin(job)
    alice.ledger.runs.met(job, 0, "mixed")
    with alice.connection:
        record, spendings = alice.ledger.jobs.find(job), alice.ledger.spendings
        alice.ledger.jobs.apply(record, *spendings.counted(record, 0, 7), *spendings.counted(record, 1, 5))
    alice.ledger.runs.over(job)
    alice.ledger.decisions.cancel(job)
    noisy.deliver()
    settle(noisy)
    assert archive(alice) is not None
    assert alice.ledger.accounts.bits("days").spent == 12


def test_who_tampers_with_what_is_left_is_found_out(noisy: Pair) -> None:
    done(noisy)
    alice = noisy.parties[0]
    gone = archive(alice)
    assert gone is not None
    (archived,) = [entry for entry in alice.ledger.log.entries(100, None) if entry.kind == "archived"]
    with reading(alice.path) as connection:
        rows = list(audit.database.rows(connection))
    empty = [row.number for row in rows if row.is_empty]
    for number, changes in [(empty[0], {"kind": "decided"}), (empty[1], {"at": "2020"}), (empty[2], {"job": None})]:
        tamper(alice.path, lambda c, n=number, more=changes: edited(c, n, False, **more))  # type: ignore[misc]
        assert checked(alice).problems
        row = rows[number - 1]
        tamper(alice.path, lambda c, r=row: c.execute("DELETE FROM audit WHERE number = ?", (r.number,)) and None)  # type: ignore[misc]
        tamper(alice.path, lambda c, r=row: c.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", r) and None)  # type: ignore[misc]
        assert checked(alice).problems == []
    spent = next(row for row in rows if row.kind == "spent")
    started = next(row for row in rows if row.kind == "node started")
    for row in (spent, started, rows[archived.number - 1]):  # these are never empty
        tamper(
            alice.path,
            lambda c, r=row: c.execute("UPDATE audit SET fields = '' WHERE number = ?", (r.number,)) and None,
        )  # type: ignore[misc]
        assert checked(alice).problems
        tamper(
            alice.path,
            lambda c, r=row: c.execute("UPDATE audit SET fields = ? WHERE number = ?", (r.fields, r.number)) and None,
        )  # type: ignore[misc]
    assert checked(alice).problems == []


@pytest.mark.parametrize("change", ["job", "entry", "more", "other", "no line"])
def test_an_archive_that_was_changed(noisy: Pair, change: str) -> None:
    done(noisy)
    alice = noisy.parties[0]
    gone = archive(alice)
    assert gone is not None
    lines = gone.path.read_text().splitlines(keepends=True)
    if change == "job":
        lines[0] = lines[0].replace(PURPOSE, "another purpose")
    elif change == "entry":
        lines[1] = lines[1].replace(PURPOSE, "another purpose")
    elif change == "more":
        lines.append(lines[-1])
    elif change == "other":
        lines[0] = lines[0].replace('"archived":"', '"archived":"0')
    else:
        lines[2] = "{}\n"
    gone.path.write_text("".join(lines))
    if change == "no line":
        with pytest.raises(InputError, match="line 3: not a line of an archive"):
            checked(alice, gone.path)
    else:
        assert checked(alice, gone.path).problems
    assert checked(alice).problems == []


def test_nothing_leaves_if_it_cannot_be_written(noisy: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    done(noisy)
    alice = noisy.parties[0]
    alice.path.parent.joinpath("archive").write_text("in the way")
    with pytest.raises(InputError, match="cannot write"):
        archive(alice)
    alice.path.parent.joinpath("archive").unlink()

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(alice.ledger.jobs.store, "remove", full)
    with pytest.raises(OSError, match="full"):
        archive(alice)
    assert list(alice.path.parent.joinpath("archive").iterdir()) == []
    assert len(alice.ledger.jobs.all()) == 1
    assert checked(alice).archived == 0
    alice.crash()
    alice.ledger.jobs.check(alice.path.parent / FILE_NAME)


def test_what_a_command_writes_meanwhile_is_not_lost(noisy: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A review, say: it is not written while a job leaves, so its text is in the file, or in the log."""
    job = done(noisy)
    alice, create = noisy.parties[0], files.create_private
    with closing(connect(alice.path)) as other:
        other.execute("PRAGMA busy_timeout = 1")
        log = AuditLog(other, alice.who.identity)

        def meanwhile(path: Path, data: bytes) -> None:
            create(path, data)
            with pytest.raises(sqlite3.OperationalError, match="locked"), other:
                log.append("reviewed", job, {"person": "anna", "text": "it had to be"})

        monkeypatch.setattr(files, "create_private", meanwhile)
        gone = archive(alice)
    assert gone is not None
    found = checked(alice, gone.path)
    assert (found.problems, found.filled) == ([], found.archived)


def test_what_ran_for_an_emergency_stays_until_it_is_reviewed(noisy: Pair) -> None:
    job = done(noisy)
    alice = noisy.parties[0]
    place = alice.path.parent / "archive"
    assert alice.ledger.retention.archive(lambda _: 0, place, emergency=[PURPOSE]) is None
    with alice.connection:
        alice.ledger.log.audit.append("reviewed", job, {"person": "anna", "text": "it had to be"})
    assert alice.ledger.retention.archive(lambda _: 0, place, emergency=[PURPOSE]) is not None


def test_what_is_due(noisy: Pair) -> None:
    """By the end of a job; a result and what repeats it leave together; whom a peer has not heard of waits longer."""
    first = done(noisy)
    again = done(noisy, repeats=first)
    open_one = propose(noisy)
    lone = propose(noisy)
    alice = noisy.parties[0]
    alice.ledger.decisions.cancel(lone)
    records = {record.id: record for record in alice.ledger.jobs.all()}
    ended = {job: datetime.fromisoformat(record.ended_at) for job, record in records.items() if record.ended_at}
    day, last = timedelta(days=1), max(ended.values())

    def leaves(now: datetime, changed: dict[str, str] = {}) -> set[str]:  # noqa: B006 (never written)
        known = [
            record.model_copy(update={"ended_at": changed.get(job, record.ended_at)}) for job, record in records.items()
        ]
        return {record.id for record in due(known, lambda table: {"days": 2}.get(table), now)}

    assert leaves(last + 2 * day - timedelta(seconds=9)) == set()
    assert leaves(last + 2 * day) == {first, again}
    assert leaves(last + 2 * day, {again: (last + day).isoformat()}) == set()
    assert leaves(last + 2 * day + PATIENCE) == {first, again, lone}
    assert open_one in records


def test_the_least_of_what_the_file_says() -> None:
    rights = {"contact": "x@y.example", "retention_days": 30}
    table = TableSettings.model_validate({"source": "a.csv", "schema": "s.toml", "rights": rights})
    bare = TableSettings.model_validate({"source": "a.csv", "schema": "s.toml"})
    for days, with_rights, without in ((None, 30, None), (7, 7, 7), (365, 30, 365)):
        offers = Offers({"a": Offer(table, SCHEMA), "b": Offer(bare, SCHEMA)}, {}, days)
        assert [offers.kept(name) for name in ("a", "b", "")] == [with_rights, without, without]


def test_the_peer_speaks_of_a_job_that_has_left(noisy: Pair) -> None:
    """It is never run again; of a withdrawal the log tells, once."""
    job = done(noisy)
    alice, bob = noisy.parties
    before = Statement.from_bytes(bob.ledger.hearing.statement(job))
    assert archive(alice) is not None
    bob.ledger.decisions.withdraw(job, "art. 17")
    for _ in range(2):
        noisy.deliver()
        noisy.meet()
    (entry,) = [one for one in alice.ledger.log.entries(100, None) if one.kind == "withdrawn"]
    assert (entry.job, entry.fields["by"], entry.fields["word"]["why"]) == (job, "peer", "art. 17")
    assert checked(alice).problems == []
    alice.crash()
    alice.ledger.jobs.check(alice.path.parent / FILE_NAME)
    alice.hear(before.model_copy(update={"settled": False, "signed": None, "end": ""}).to_bytes())
    (answer,) = map(Statement.from_bytes, alice.said)
    assert (answer.verdict, answer.why) == ("refused", "the job has ended here, and is archived: propose it anew")
    assert alice.ledger.jobs.all() == []
    alice.ledger.spendings.past = replace(
        alice.ledger.spendings.past, jobs={job: replace(alice.ledger.spendings.past.jobs[job], peer="carol")}
    )
    with pytest.raises(ProtocolError, match="with another peer"):
        alice.hear(before.to_bytes())


def test_no_other_result_is_withdrawn_of_a_job_that_has_left(noisy: Pair) -> None:
    """Nor any of a job that never had one, though the peer signs that it had; and no job's digest is another's."""
    alice, bob = noisy.parties
    computed, another = (
        Statement.from_bytes(bob.ledger.hearing.statement(done(noisy, epsilon=e))) for e in (0.25, 0.125)
    )
    refused = alice.ledger.decisions.propose(
        {"protocol": "noisy", "table": "days", "epsilon": 0.5, "purpose": PURPOSE}
    ).id
    noisy.deliver()
    bob.ledger.decisions.decide(refused, "refused", "no")
    noisy.deliver()
    settle(noisy)
    known = Statement.from_bytes(bob.ledger.hearing.statement(refused))
    assert archive(alice) is not None
    assert computed.signed is not None

    def withdrawn(job: Proposal) -> bytes:
        assert computed.signed is not None
        result = computed.signed.result[job.task.about.noun]
        word = withdrawal(bob.who.identity, job.digest, result, "a lie", "2026-01-01T00:00:00+00:00")
        return computed.model_copy(update={"proposal": job, "withdrawn": word}).to_bytes()

    for _ in range(2):  # after a restart, too
        for job, why in (
            (known.proposal, "does not have"),
            (another.proposal, "does not have"),  # with what was signed of the first
            (Proposal(**{**computed.proposal.job, "id": refused}), "has changed a job"),
            (Proposal(**{**computed.proposal.job, "purpose": "another"}), "has changed a job"),
        ):
            with pytest.raises(ProtocolError, match=why):
                alice.hear(withdrawn(job))
        alice.crash()
    assert [one.kind for one in alice.ledger.log.entries(100, None)].count("withdrawn") == 0
    alice.hear(withdrawn(computed.proposal))
    assert [one.kind for one in alice.ledger.log.entries(100, None)].count("withdrawn") == 1
    assert checked(alice).problems == []


def test_after_it_left_the_same_question_is_a_new_one(noisy: Pair) -> None:
    first = done(noisy, epsilon=0.5)
    alice, bob = noisy.parties
    assert archive(alice) is not None
    second = alice.ledger.decisions.propose({"protocol": "noisy", "table": "days", "epsilon": 0.5, "purpose": PURPOSE})
    noisy.deliver()
    assert alice.ledger.accounts.terms(second).earlier is None
    earlier = bob.ledger.accounts.earlier(bob.ledger.jobs.find(second.id))
    assert earlier is not None
    assert earlier.job.id == first


def test_a_reader_leaves_content_in_the_write_ahead_log_until_the_next_look(noisy: Pair) -> None:
    done(noisy)
    alice = noisy.parties[0]
    alice.connection.execute("PRAGMA busy_timeout = 1")
    files = [alice.path, alice.path.with_name("node.sqlite-wal")]
    with reading(alice.path) as reader:
        reader.execute("SELECT count(*) FROM audit").fetchall()
        assert archive(alice) is not None
        assert not alice.ledger.retention.overwritten
        assert archive(alice) is None
        assert not alice.ledger.retention.overwritten
    assert any(PURPOSE.encode() in path.read_bytes() for path in files)
    assert archive(alice) is None  # nothing is due, and yet
    assert alice.ledger.retention.overwritten
    assert not any(PURPOSE.encode() in path.read_bytes() for path in files)


def test_the_table_and_the_peer_of_an_archived_job_are_told(noisy: Pair) -> None:
    """To who asks for the recipients, and to the authority; not its purpose, which people typed."""
    job = done(noisy)
    alice = noisy.parties[0]
    file = NodeFile.model_validate({"node": {"state": str(alice.path.parent)}, "link": {}})
    ((before,), _) = _recipients(file, "days")
    archive(alice)
    assert _recipients(file, "days") == ([before | {"purpose": None}], 0)
    assert _recipients(file, "nights") == ([], 0)
    entries = alice.ledger.log.entries(1000, None)[::-1]
    log = activities.read(entries)
    assert [(one.table, one.peer) for one in log.archived] == [("days", "bob")]
    breach = breaches.Breach("ab", datetime.now(UTC), ["days"], [("", "found", "x")])
    assert "read it: 1 (1 archived), with bob" in breaches.draft(breach, file, log, breach.known)
    old = [
        one.model_copy(update={"fields": {k: v for k, v in one.fields.items() if k != "table"}})
        if (one.kind, one.job) == ("archived", job)
        else one
        for one in entries
    ]
    text = breaches.draft(breach, file, activities.read(old), breach.known)
    assert "read it: 0, with" in text
    assert "TODO: 1 archived jobs, not counted" in text

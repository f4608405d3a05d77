"""Sessions of a node over real gRPC: how many at once, what an error becomes, and that none is left behind."""

from __future__ import annotations

import errno
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from parties.jobs.tabular import aligned_in
from parties.link.channel import GrpcChannel
from parties.link.identity import Identity
from parties.link.listening import RefusedError
from parties.link.transport import Stream
from parties.node.exchanges.counting import PastBitsError
from parties.node.links import executor, sessions, validity
from parties.node.links.progress import Running
from parties.node.offers import Offer
from parties.node.prediction import predicted
from parties.sources.settings import BudgetSettings, TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError, JobMismatchError, LinkError, MachineError, ProtocolError
from smc.meter import Cost
from tests.support.ledgers import STAGES, TASK, TREE, Pair, agreed, paired, propose
from tests.support.session_pairs import Nodes, finds, running
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow


def test_a_job_from_begin_to_signatures(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "run", finds(TREE))
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob.start()
        eventually(lambda: all(party.ledger.jobs.find(job).ours.signed for party in pair.parties))

        def done() -> bool:
            pair.deliver()
            return nodes.states(job) == ["done", "done"]

        eventually(done)
        eventually(lambda: not nodes.run(job))


@pytest.mark.parametrize(("late", "state"), [(False, "running"), (True, "interrupted")])
def test_a_job_runs_until_the_signature_is_here_or_late(
    tmp_path: Path,
    parties: Any,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    late: bool,
    state: str,
) -> None:
    monkeypatch.setattr(executor, "run", finds(TREE))
    monkeypatch.setattr(sessions, "SIGNATURE_SECONDS", 0.01 if late else PATIENCE)
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", PATIENCE)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob.start()
        eventually(lambda: all(party.ledger.jobs.find(job).ours.signed for party in pair.parties))
        workers = [thread for thread in threading.enumerate() if thread.name == f"smc-job-{job[:8]}"]
        for thread in workers:
            thread.join(PATIENCE if late else 0.3)  # the streams have ended
        assert nodes.states(job) == [state, state]
        pair.deliver()
        eventually(lambda: not nodes.run(job))
        assert nodes.states(job) == ["done", "done"]


@pytest.mark.parametrize("loser", [0, 1])
@pytest.mark.parametrize("kind", ["exact", "hidden"])
def test_a_matching_whose_end_one_node_has_lost_opens_nothing_twice(
    tmp_path: Path,
    parties: Any,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    loser: int,
) -> None:
    """As after a crash. Hidden rows are matched anew, to parts of one session; an exact job says why it ends."""
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(sessions, "SIGNATURE_SECONDS", 0.01)
    with running(tmp_path, parties, identities) as (pair, nodes):
        offer_columns(pair, tmp_path)
        runs, lost = pair.parties[loser].ledger.runs, []
        computed = runs.computed

        def loses(*given: Any) -> None:
            if not lost:
                lost.append(given)
                raise LinkError("a crash")
            computed(*given)

        monkeypatch.setattr(runs, "computed", loses)
        asked = {"protocol": f"align {kind}", "by": ["tax"], "table": "days"}
        job = pair.parties[0].ledger.decisions.propose(asked).id
        pair.deliver()
        pair.parties[1].ledger.decisions.decide(job, "approved")
        pair.deliver()
        nodes.bob.start()

        def ended() -> bool:
            pair.deliver()
            return {*nodes.states(job)} <= {"done", "failed"}

        eventually(ended)
        assert lost
        records = [party.ledger.jobs.get(job) for party in pair.parties]
        assert [len(record.bits) for record in records] == [int(kind == "exact")] * 2
        if kind == "exact":
            assert nodes.states(job) == ["failed", "failed"]
            line = "products of an earlier session of this job may have left: propose the job anew"
            assert any(record.ours.why == line for record in records)
            return
        assert nodes.states(job) == ["done", "done"], [record.note for record in records]
        kept = [party.ledger.matchings.find(party.who.peer_name, "days", job).read() for party in pair.parties]
        ours, theirs = (aligned_in(text, "") for text in kept)
        assert ours.settings["alignment"] == theirs.settings["alignment"] != ""


def offer_columns(pair: Pair, directory: Path) -> None:
    """Give both nodes a table of three people, each with a column of its own."""
    schemas = [Schema({name: ("no", "yes")}) for name in ("rain", "play")]
    for party, schema in enumerate(schemas):
        schema.save(directory / f"{party}.toml")
    for number, party in enumerate(pair.parties):
        rows = directory / f"{number}.csv"
        rows.write_text(f"tax,{next(iter(schemas[number].attributes))}\n7,no\n8,yes\n{number},no\n")
        place = {"source": str(rows), "schema": directory / f"{number}.toml", "max_rows": 9}
        table = TableSettings.model_validate({**place, "beside": directory / f"{1 - number}.toml"})
        cast("dict[str, Offer]", party.offers.tables)["days"] = Offer(table, schemas[number])


def test_no_more_than_there_is_room_for(tmp_path: Path, parties: Any, identities: dict[str, Identity]) -> None:
    with running(tmp_path, parties, identities, limit=1) as (pair, nodes):
        first, second = agreed(pair), agreed(pair)
        outbox, take = nodes.alice.admit(first)
        with pytest.raises(RefusedError, match="as many sessions as it may"):
            nodes.alice.admit(second)
        assert pair.parties[0].state(second) == "queued"
        take(Stream(iter([]), outbox, lambda: None))  # a stream that is over ends the session
        eventually(lambda: not nodes.run(first))


def test_why_a_session_does_not_begin_is_kept(tmp_path: Path, parties: Any, identities: dict[str, Identity]) -> None:
    """Until the job ends; of one that has ended nothing is kept."""
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob._stopped(job, Running(), LinkError("the peer refuses: a limit"))
        assert nodes.bob.why_not_begun(job) == "the peer refuses: a limit"
        assert nodes.bob._pauses.lasts(job)
        nodes.bob.forget(job)
        assert nodes.bob.why_not_begun(job) == ""
        assert not nodes.bob._pauses.lasts(job)
        pair.parties[1].ledger.decisions.cancel(job)
        nodes.bob._stopped(job, Running(), LinkError("the peer refuses: a limit"))
        assert nodes.bob.why_not_begun(job) == ""
        assert not nodes.bob._pauses.lasts(job)


def test_shards_of_all_sessions_with_a_peer_are_bounded(
    tmp_path: Path, parties: Any, identities: dict[str, Identity]
) -> None:
    """A job waits for others, and who asks is told for what; it begins once they have ended."""
    with running(tmp_path, parties, identities, limit=8) as (pair, nodes):
        jobs = [agreed(pair, shards=shards) for shards in (10, 7, 6)]
        begun, _ = nodes.alice._begin(jobs[0])[1], nodes.alice._begin(jobs[2])
        assert begun.shards[0] == 10
        assert begun.shards[1] >= 10 * 100_000_000
        with pytest.raises(RefusedError):
            nodes.alice._begin(jobs[1])
        assert nodes.alice.why_not_begun(jobs[1]) == (
            "node.limits.processes: 16 shards run with this peer, of 16 at most"
        )
        nodes.alice._end(jobs[0])
        nodes.alice._begin(jobs[1])
        for job in jobs[1:]:
            nodes.alice._end(job)


@pytest.mark.parametrize("state", ["waiting", "refused", "unknown"])
def test_the_peer_cannot_begin_what_we_have_not_approved(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], state: str
) -> None:
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = propose(pair, 1)
        pair.deliver()
        if state == "refused":
            pair.parties[0].ledger.decisions.decide(job, "refused", "no")
        with pytest.raises(RefusedError):
            nodes.alice.admit(job if state != "unknown" else "0" * 32)
        with pytest.raises(RefusedError):
            nodes.alice.admit(job[:8])
        assert not nodes.run(job)


def test_a_session_may_come_a_moment_before_the_consent_to_it(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They travel on two streams; but what the peer does not consent to at all is refused."""
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = propose(pair, 0)
        with monkeypatch.context() as patched:
            patched.setattr(sessions, "WORD_SECONDS", 0.01)
            with pytest.raises(RefusedError, match="waiting"):
                nodes.alice.admit(job)
        pair.deliver()
        pair.parties[1].ledger.decisions.decide(job, "approved")
        monkeypatch.setattr(sessions, "WORD_SECONDS", 2 * PATIENCE)
        admitted: list[Any] = []
        coming = threading.Thread(target=lambda: admitted.append(nodes.alice.admit(job)), daemon=True)
        coming.start()
        coming.join(0.05)
        assert not admitted
        pair.deliver()
        nodes.alice.wake()
        coming.join(PATIENCE)
        ((outbox, take),) = admitted
        take(Stream(iter([]), outbox, lambda: None))
        eventually(lambda: not nodes.run(job))


def test_who_dials_looks_when_something_has_changed_and_else_rests(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once each time; and begins nothing while the standing link is down, for the peer may have ended the job."""
    monkeypatch.setattr(sessions, "LOOK_SECONDS", 2 * PATIENCE)
    with running(tmp_path, parties, identities) as (pair, nodes):
        looks = list[int]()
        nodes.bob._connected = lambda: bool(looks.append(1))
        job = agreed(pair)
        nodes.bob.start()
        for number in range(1, 6):
            nodes.bob.wake()
            eventually(lambda number=number: len(looks) >= number)  # type: ignore[misc]
            assert len(looks) == number
        assert pair.parties[1].state(job) == "queued"


def test_a_session_knows_what_its_steps_cost(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that an operator sees how long it will take."""
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        begun: list[Any] = []
        monkeypatch.setattr(sessions, "Worker", lambda *order: SimpleNamespace(start=lambda: begun.append(order[0])))
        outbox, take = nodes.alice.admit(job)
        take(Stream(iter([]), outbox, lambda: None))
        typical = predicted(begun[0].job.task, begun[0].inputs, "lan")
        assert typical is not None
        assert nodes.alice._running[job].costs_of_steps == typical.steps != ()
        nodes.alice._end(job)


def test_no_session_begins_with_a_certificate_that_has_expired(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    after = identities["alice"].certificate.not_valid_after_utc + timedelta(days=1)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        with monkeypatch.context() as patched:
            patched.setattr(validity, "datetime", SimpleNamespace(now=lambda zone: after))
            with pytest.raises(RefusedError, match=r"certificate expired on .+: "):
                nodes.alice.admit(job)
        assert pair.parties[0].state(job) == "queued"
        assert not nodes.run(job)


SECRET = "row 17 says 4711"


@pytest.mark.parametrize(
    ("error", "told", "expected"),
    [
        (InputError(SECRET), "an error in its own input", "failed"),
        (ValueError(SECRET), "", "interrupted"),
        (KeyError(SECRET), "", "interrupted"),
        (MemoryError(SECRET), "", "interrupted"),
        (RuntimeError("dictionary changed size during iteration"), "", "interrupted"),
        (ProtocolError("the peer sent nonsense"), "the peer sent nonsense", "failed"),
        (JobMismatchError("another job"), "another job", "failed"),
        (LinkError("lost the peer"), "", "interrupted"),
        (sqlite3.OperationalError("database or disk is full"), "", "interrupted"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_becomes_of_an_error(
    tmp_path: Path,
    parties: Any,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    told: str,
    expected: str,
) -> None:
    """Whether the job goes on, and what the peer and the records are told; an error's text may quote a row."""
    monkeypatch.setattr(executor, "run", finds(error))
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 60.0)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob.start()
        eventually(lambda: pair.parties[1].state(job) == expected)
        eventually(lambda: not nodes.run(job))
        record = pair.parties[1].ledger.jobs.find(job)
        assert record.ours.why == told
        said = b"".join(pair.parties[0].said + pair.parties[1].said)
        entries = str([entry.fields for party in pair.parties for entry in party.ledger.log.entries(100, None)])
        assert SECRET not in said.decode() + entries
        assert SECRET not in nodes.logs[0].getvalue() + nodes.logs[1].getvalue()


@pytest.mark.parametrize("begun", [True, False])
def test_what_may_be_anybodys_fault_is_tried_again_and_its_stack_is_in_the_log(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """As often as `tries` allows, whether a session has begun or not; the job goes on if the error has gone by then."""
    left, works = [2], finds(TREE)

    def run(link: Any, order: Any, tell: Any) -> executor.Finished:
        if order.identity is identities["bob"] and left[0]:
            left[0] -= 1
            if begun:
                tell(executor.Met(0, "mixed"))
            raise RuntimeError(SECRET)
        return works(link, order, tell)

    monkeypatch.setattr(executor, "run", run)
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 0.01)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob.start()
        eventually(lambda: pair.parties[1].ledger.jobs.find(job).ours.end == "computed")
        lines = [json.loads(line) for line in nodes.logs[1].getvalue().splitlines()]
        stacks = [line["stack"] for line in lines if line["event"] == "session failed"]
        assert len(stacks) == 2
        assert all(stack.startswith("links/test_sessions.py:") and " run < " in stack for stack in stacks)
        left[0] = 100
        failing = agreed(pair)
        nodes.bob.wake()
        eventually(lambda: pair.parties[1].state(failing) == "failed")
        assert pair.parties[1].ledger.jobs.find(failing).ours.why == "internal error"
        assert SECRET not in nodes.logs[1].getvalue()


def test_a_peer_that_always_has_a_trouble_of_its_machine_is_not_believed_for_ever(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sessions are no tries, but only so many: then the job fails."""

    def run(link: Any, order: Any, tell: Any) -> executor.Finished:
        tell(executor.Met(0, "mixed"))
        if order.identity is identities["bob"]:
            raise OSError(errno.ENOSPC, "full")
        return link.channel.receive("goodbye", 0)  # type: ignore[no-any-return]

    monkeypatch.setattr(executor, "run", run)
    monkeypatch.setattr(sessions, "MOST_BELIEVED", 2)
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(sessions, "LONGEST_PAUSE", 0.02)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob.start()
        eventually(lambda: pair.parties[0].state(job) == "failed")


@pytest.mark.parametrize(
    ("error", "charged"),
    [(InputError(SECRET), True), (MachineError("no room"), False), (PastBitsError("no bits left"), False)],
)
def test_what_a_machine_lacks_is_nothing_of_its_rows_and_costs_nothing(
    tmp_path: Path,
    parties: Any,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    charged: bool,
) -> None:
    monkeypatch.setattr(executor, "run", finds(error))
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 0.01)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job, order, abort = agreed(pair), list[str](), GrpcChannel.abort
        monkeypatch.setattr(GrpcChannel, "abort", lambda channel, why: (order.append(why), abort(channel, why)))
        for party in pair.parties:
            failing = party.ledger.runs.failing
            monkeypatch.setattr(party.ledger.runs, "failing", lambda *a, f=failing: (f(*a), order.append("charged")))
        nodes.bob.start()
        eventually(lambda: "failed" in {party.state(job) for party in pair.parties})
        assert ("charged" in order) == charged
        assert not charged or order.index("charged") < order.index("an error in its own input")


@contextmanager
def bounded(
    directory: Path, parties: Any, identities: dict[str, Identity], **fields: Any
) -> Iterator[tuple[Pair, Nodes]]:
    """Two nodes whose tables have a budget."""
    with paired(directory, identities) as pair:
        for party in pair.parties:
            party.budget = BudgetSettings(**fields)
            party.crash()
        nodes = Nodes(pair, parties, identities, 2)
        try:
            yield pair, nodes
        finally:
            nodes.close()


@pytest.mark.parametrize("first", ["the other job", "the table"])
def test_a_failure_of_a_table_that_comes_back_never_overdraws_the_budget(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Who comes first has the budget; whether the job is refused does not depend on the rows that come back."""
    read: list[str] = []
    with bounded(tmp_path, parties, identities, epsilon=1.0) as (pair, nodes):
        alice, jobs = pair.parties[0], []
        for _ in range(2):
            fields = {"table": "days", "protocol": "release count", "epsilon": 1.0}
            jobs.append(alice.ledger.decisions.propose(fields).id)
            pair.deliver()
            pair.parties[1].ledger.decisions.decide(jobs[-1], "approved")
            pair.deliver()
        waiting, other = jobs
        alice.ledger.runs.table_away(waiting, "no file")
        record = alice.ledger.jobs.find(waiting)

        @contextmanager
        def opened(_: object) -> Iterator[None]:
            read.append(waiting)
            assert alice.begin(other) is None  # the price of the job is reserved
            raise InputError("the table's rows have changed")
            yield

        monkeypatch.setattr(executor, "opened", opened)
        if first == "the other job":
            assert alice.begin(other) is not None
            nodes.alice._open_table(record)  # it waits for the job under way
            assert not alice.ledger.jobs.has_ended(record)
            alice.opens(other)
            alice.ledger.runs.over(other)
        nodes.alice._open_table(record)
        assert bool(read) == (first == "the table")
        is_charged = alice.ledger.jobs.find(waiting).charged is not None
        expected = ("failed", True) if first == "the table" else ("refused", False)
        assert (alice.state(waiting), is_charged) == expected
        assert alice.ledger.accounts.account("days").spent == 1
        assert not alice.ledger.runs._reserved


def test_a_failure_of_an_exact_job_books_the_bits_of_the_step_ahead(
    tmp_path: Path, parties: Any, identities: dict[str, Identity]
) -> None:
    """At least one; the step books the others later. Without a bit left, a job does not begin."""
    failure = RuntimeError("the code cannot bear a row")
    with bounded(tmp_path, parties, identities, epsilon=1.0, bits=10) as (pair, nodes):
        alice = pair.parties[0]
        runs, jobs = alice.ledger.runs, [agreed(pair, plain=True) for _ in range(3)]

        def booked(job: str) -> list[tuple[int, int]]:
            return [(charge.step, charge.bits) for charge in alice.ledger.jobs.find(job).bits]

        def reach(job: str) -> None:
            alice.begin(job)
            runs.met(job, 0, "mixed")
            runs.reached(job, TASK.states.encode(STAGES[0]), Cost(), 0, 5)

        alice.begin(jobs[0])
        for _ in range(2):
            nodes.alice._stopped(jobs[0], Running(linked=True), failure)
            assert booked(jobs[0]) == [(0, 1)]
        runs.over(jobs[0])
        reach(jobs[0])
        runs.counted(jobs[0], 0)
        nodes.alice._stopped(jobs[0], Running(linked=True), failure)
        assert booked(jobs[0]) == [(0, 1), (0, 4)]
        runs.over(jobs[0])
        reach(jobs[1])
        nodes.alice._stopped(jobs[1], Running(linked=True), failure)
        assert booked(jobs[1]) == [(0, 5)]
        runs.over(jobs[1])
        assert alice.begin(jobs[2]) is None
        assert alice.state(jobs[2]) == "refused"


def test_a_session_that_cannot_even_greet_leaves_nothing_behind(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever goes wrong between `begin` and the thread of the session: the job can be tried again."""
    with running(tmp_path, parties, identities, limit=1) as (pair, nodes):
        job = agreed(pair)

        def too_large(*_: object) -> None:
            raise InputError("the job is too large")

        with monkeypatch.context() as patched:
            patched.setattr(sessions, "hello_for", too_large)
            with pytest.raises((RefusedError, InputError)):
                nodes.alice.admit(job)
        assert pair.parties[0].state(job) != "running"
        outbox, take = nodes.alice.admit(job)
        take(Stream(iter([]), outbox, lambda: None))  # a stream that is over ends the session
        eventually(lambda: not nodes.run(job))


def test_cancelled_while_the_peer_is_dialled(
    tmp_path: Path, parties: Any, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator's word counts from the first moment of a session, even if the peer has not heard of it."""
    dialled, go = threading.Event(), threading.Event()
    dial = sessions.open_link

    @contextmanager
    def slow(*arguments: Any) -> Iterator[Any]:
        dialled.set()
        go.wait(PATIENCE)
        with dial(*arguments) as link:
            yield link

    monkeypatch.setattr(sessions, "open_link", slow)
    monkeypatch.setattr(executor, "run", finds(TREE))
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        nodes.bob.start()
        assert dialled.wait(PATIENCE)
        pair.parties[1].ledger.decisions.cancel(job, "stop")
        go.set()
        eventually(lambda: not nodes.run(job))
        kinds = {entry.kind for entry in pair.parties[1].ledger.log.entries(100, None)}
        assert not kinds & {"started", "opened", "finished"}
        assert pair.parties[1].state(job) == "cancelled"


@pytest.mark.parametrize("left", ["nothing", "a share"])
@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device", SECRET), sqlite3.OperationalError("database or disk is full")],
    ids=["disk", "records"],
)
def test_a_machines_own_trouble_is_no_try_and_both_have_the_reason(
    tmp_path: Path,
    parties: Any,
    identities: dict[str, Identity],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    left: str,
) -> None:
    """However long it lasts the job goes on after it: but not if a share has left in each session."""
    times, works = [20], finds(TREE)

    def run(link: Any, order: Any, tell: Any) -> executor.Finished:
        if times[0] <= 0:
            return works(link, order, tell)
        tell(executor.Met(0, "mixed"))
        if left == "a share":
            tell(executor.Leaving(0, 0))
        if order.identity is identities["bob"]:
            times[0] -= 1
            raise error
        link.channel.receive("more", 1)
        raise AssertionError("the peer went on")

    monkeypatch.setattr(executor, "run", run)
    monkeypatch.setattr(sessions, "SHORTEST_PAUSE", 0.001)
    monkeypatch.setattr(sessions, "LONGEST_PAUSE", 0.01)
    with running(tmp_path, parties, identities) as (pair, nodes):
        job = agreed(pair)
        alice, bob = (party.ledger for party in pair.parties)
        notes: list[str] = []
        for ledger in (alice, bob):
            monkeypatch.setattr(ledger.runs, "opening_leaves", lambda *_: None)
        broke = alice.runs.broke
        monkeypatch.setattr(alice.runs, "broke", lambda *told: (notes.append(told[1]), broke(*told)))
        nodes.bob.start()
        if left == "nothing":
            eventually(lambda: bob.jobs.find(job).ours.end == "computed")
        else:
            # Each counts the sessions in which its share has left, so one may fail the job first, and tells the other.
            eventually(lambda: pair.deliver() or pair.parties[1].state(job) == "failed")
        assert all(note.endswith("a fault of its own machine: the disk is full") for note in notes)
        assert (len(notes) == 20) == (left == "nothing")
        logs = nodes.logs[1].getvalue()
        assert '"why": "the disk is full"' in logs
        assert SECRET not in logs + nodes.logs[0].getvalue()

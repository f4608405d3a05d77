"""What a pinned peer can make a node keep, write and hold by saying too much.

Figures of two cores, shared with others, by the same hostile party before and after:

| attack | before | now |
|---|---|---|
| jobs with a "result" of 480 KB that no session had | 300: database 0.07 -> 51 MB | 25 s: 0.09 -> 1.2 MB, none kept |
| approved, waiting, approved, ...: 16,000 statements in 15 s | 1,007 entries for ever | 3 entries |
| as many links as go in 15 s | 749 links, 1,498 entries | 34 links, 20 entries |
| 10 s of statements that are none | 219 KB of log a second | 1.2 KB of log in all |
| 20,000 calls of `Watch` on the peer's port | 235 -> 640 MB, all open | 227 -> 242 MB, none open |
| a visit of the page /audit, 4,235 entries (none signed) | 0.12 s each | 0.08 s, then 0.0003 s |
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from parties.node import events
from parties.node.log import node_log
from parties.node.log.statement import MAX_RESULT_BYTES
from smc.errors import LinkError
from tests.support.floods import Hostile, furnished, lines, proposed, rows
from tests.support.nodes import Nodes, verified
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Only a's node runs; b's part is played by the hostile party."""
    made = Nodes(tmp_path_factory.mktemp("floods"))
    furnished(made)
    try:
        made.a.start()
        eventually(made.a.is_up)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def hostile(nodes: Nodes) -> Hostile:
    return Hostile(nodes)


def entries(hostile: Hostile) -> list[str]:
    """The kinds of all entries, the newest first."""
    return [entry.kind for entry in hostile.victim.client.audit(1000)]


def heard(hostile: Hostile, say: object) -> None:
    """Until the victim has heard all that was said before: it answers a proposal from the future."""
    late = proposed()
    late = late.model_copy(
        update={
            "proposal": late.proposal.model_copy(update={"proposed_at": late.proposal.proposed_at.replace(year=2999)})
        }
    )
    say(late.to_bytes())  # type: ignore[operator]
    eventually(lambda: late.proposal.id in hostile.answers)


def test_a_result_that_no_session_has_is_not_kept(hostile: Hostile) -> None:
    """Neither a large one nor a small one; nor with the first statement of a job."""
    with hostile.linked() as say:
        for size in (480_000, 480_000, MAX_RESULT_BYTES + 1, 100):
            job = proposed()
            say(job.to_bytes())
            say(hostile.signed(job, size).to_bytes())
            say(hostile.signed(proposed(), size).to_bytes())
        heard(hostile, say)
    assert max(map(len, rows(hostile.victim))) < 16 << 10
    assert not any("computed" in row for row in rows(hostile.victim))
    assert len(hostile.victim.client.jobs(1000)) == 4
    assert "signed" not in entries(hostile)


def test_a_verdict_moves_once(hostile: Hostile) -> None:
    job = proposed()
    before = len(entries(hostile))
    with hostile.linked() as say:
        for number in range(200):
            say(job.model_copy(update={"verdict": ("approved", "waiting")[number % 2]}).to_bytes())
        heard(hostile, say)
    new = entries(hostile)[: len(entries(hostile)) - before]
    assert new.count("decided") == 1
    assert new.count("proposed") == 1


def test_statements_that_are_none_fill_no_log(hostile: Hostile) -> None:
    with hostile.linked() as say:
        for _ in range(150):
            say(b"x")
        heard(hostile, say)
    assert lines(hostile.victim, "statement refused") <= events.FREE


def test_a_link_a_moment_is_a_few_entries(hostile: Hostile) -> None:
    refused = []
    for _ in range(60):
        try:
            with hostile.linked() as say:
                say(b"")
        except LinkError as error:
            refused.append(str(error))
    assert refused
    assert all("too many links" in why for why in refused)
    kinds = entries(hostile)
    assert kinds.count("connected") <= node_log.FREE
    assert kinds.count("disconnected") <= node_log.FREE
    assert lines(hostile.victim, "connected") <= events.FREE


def test_nobody_watches_the_nodes_health_on_the_peers_port(hostile: Hostile) -> None:
    """All calls are turned away: there is no such service, and so many at once there are not either."""
    with hostile.channel() as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch
        calls = [watch(health_pb2.HealthCheckRequest(), timeout=PATIENCE) for _ in range(500)]
        codes = {call.code() for call in calls}
    too_many = {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE}
    assert codes <= too_many | {grpc.StatusCode.UNIMPLEMENTED}


def test_after_all_that_an_honest_word_is_heard(hostile: Hostile) -> None:
    """The links' rate has room again, the log is whole, and of what was folded the number is told at the end."""
    job = proposed()

    def known() -> bool:
        with suppress(LinkError), hostile.linked() as say:
            say(job.to_bytes())
            time.sleep(0.2)
        return any(view.id == job.proposal.id for view in hostile.victim.client.jobs(1000))

    eventually(known)
    assert verified(hostile.victim)["ok"]
    hostile.victim.stop()
    assert lines(hostile.victim, "statement refused") <= events.FREE + 2
    assert '"times": ' in hostile.victim.log()

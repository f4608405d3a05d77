"""Jobs that are cut short: nodes told to stop, links cut, nodes killed at any moment, rows that change."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from parties.sources.cells import cells
from parties.tables import schema
from tests.support.line_table import tables
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, clear_tree, job, submit, verified
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A link on which jobs last, and nodes that do not wait long for one when they are to stop; each test mends all."""
    nodes = Nodes(tmp_path_factory.mktemp("breaks"))
    big, text = tables(300, seed=5)
    nodes.furnish(big, text, more=("", RESEARCH), link='emulate = "25mbit,5ms"')
    for node in (nodes.a, nodes.b):
        node.program = (
            f"from parties.jobs.execution import shard_processes; shard_processes.WAIT_SECONDS = 300.0; {node.program}"
        )
        file = node.directory / "party.toml"
        file.write_text(file.read_text().replace("stop = 5.0", "stop = 0.2"))
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def depths(node: NodeProcess, identifier: str) -> list[int]:
    """At which level each session of a job that is done began, the latest first.

    But for those after the last one, which are begun for the other's signature where it is late.
    """
    mine = [entry for entry in node.client.audit(1000) if entry.job == identifier]
    opened = {entry.fields["depth"] for entry in mine if entry.kind == "opened"}
    return [entry.fields["depth"] for entry in mine if entry.kind == "started" and entry.fields["depth"] in opened]


def test_told_to_stop_in_the_middle_of_a_job(pair: Nodes) -> None:
    """What has a level to go is cut where it is, and goes on after the start; the peer is told."""
    identifier = submit(pair.a, purpose="research")
    eventually(lambda: (progress := job(pair.b, identifier).progress) is not None and progress.depth >= 1)
    assert pair.b.stop() == 0
    eventually(lambda: job(pair.a, identifier).state == "interrupted")
    assert "stopping" in job(pair.a, identifier).why
    pair.b.start()
    assert [view.state for view in pair.finished(identifier)] == ["done", "done"]
    assert depths(pair.b, identifier)[0] >= 1, "it began anew"
    assert pair.a.client.result(identifier).tree["tree"] == clear_tree(pair)


def test_a_link_cut_twice_in_the_middle_of_a_job(pair: Nodes) -> None:
    identifier = submit(pair.a, purpose="research")
    for depth in (1, 2):
        eventually(lambda depth=depth: (at := job(pair.b, identifier).progress) is not None and at.depth >= depth)
        pair.cable.cut()
        eventually(lambda: {job(node, identifier).state for node in (pair.a, pair.b)} == {"interrupted"})
        eventually(lambda: not pair.a.client.node().connected and not pair.b.client.node().connected)
        pair.cable.mend()
    assert [view.state for view in pair.finished(identifier)] == ["done", "done"]
    assert pair.a.client.result(identifier).tree["tree"] == clear_tree(pair)
    starts = depths(pair.a, identifier)
    assert len(starts) == 3
    assert starts[2] == 0 < starts[1] <= starts[0]
    assert verified(pair.a)["ok"]
    assert verified(pair.b)["ok"]


@pytest.mark.campaign
def test_a_black_hole_of_half_a_minute_in_the_middle_of_a_job(pair: Nodes) -> None:
    """Both notice that nothing comes, by themselves, and go on where they were."""
    identifier = submit(pair.a, purpose="research")
    eventually(lambda: (at := job(pair.b, identifier).progress) is not None and at.depth >= 1)
    pair.cable.hold(30)
    assert [view.state for view in pair.finished(identifier)] == ["done", "done"]
    assert pair.a.client.result(identifier).tree["tree"] == clear_tree(pair)
    starts = depths(pair.a, identifier)
    assert len(starts) >= 2
    assert starts[0] >= 1, "it began anew"
    assert verified(pair.a)["ok"]
    assert verified(pair.b)["ok"]


def test_rows_that_changed_end_the_job_with_a_reason(pair: Nodes) -> None:
    """A job that was cut short does not go on with other rows; both sides see that it failed, one sees why."""
    identifier = submit(pair.a, purpose="research")
    eventually(lambda: (progress := job(pair.b, identifier).progress) is not None and progress.depth >= 1)
    pair.b.kill()
    rows = pair.b.directory / "rows.csv"
    before = rows.read_text()
    rows.write_text(before + before.splitlines()[1] + "\n")
    pair.b.start()
    left, right = pair.finished(identifier)
    assert left.state == right.state == "failed"
    assert "rows have changed" in right.why
    assert left.why == "b: an error in its own input"
    rows.write_text(before)


def test_a_forest_with_noise_killed_at_every_level(pair: Nodes) -> None:
    """kill -9 of a node at each level in turn: both have the same trees, for one charge; no share is left on a disk.

    A node refuses another tree than that of its checkpoint, so what was opened before a kill stands in the result.
    """
    identifier = submit(pair.a, purpose="research", epsilon=1.0, max_depth=2, trees=2, stop="off")
    for depth, victim in enumerate((pair.a, pair.b, pair.a)):
        eventually(lambda depth=depth: (at := job(pair.a, identifier).progress) is not None and at.depth >= depth)
        victim.kill()
        victim.start()
        pair.await_both()
    left, right = pair.finished(identifier)
    assert left.state == right.state == "done", (left.why, right.why)
    assert len(depths(pair.a, identifier)) > 2, "the job was too quick to be killed that often"
    trees = [node.client.result(identifier).tree["trees"] for node in (pair.a, pair.b)]
    assert trees[0] == trees[1]
    for node in (pair.a, pair.b):
        assert verified(node)["ok"]
        assert [entry.job for entry in node.client.audit(1000) if entry.kind == "spent"] == [identifier]
        assert shares_on_disk(node) == []


def shares_on_disk(node: NodeProcess) -> list[str]:
    """The jobs of which a node keeps shares."""
    with closing(sqlite3.connect(node.directory / "state" / "node.sqlite")) as connection:
        return [job for (job,) in connection.execute("SELECT DISTINCT job FROM openings")]


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.campaign)])
def test_killed_at_random_moments(nodes: Nodes, shared: Path, kills: int) -> None:
    """kill -9 of either node while a job runs: it completes, with the tree of an uninterrupted run, records whole.

    The link is emulated so that the job lasts; the moments are drawn from the system's randomness.
    """
    with (shared / "data" / "car.csv").open() as stream:
        header, *lines = stream.read().splitlines()
    agreed = schema.propose(cells(shared / "data" / "car.csv"), "class").schema
    agreed.save(nodes.directory / "car.toml")
    halves = tuple("\n".join([header, *lines[part::2]]) + "\n" for part in (0, 1))
    nodes.furnish(halves, (nodes.directory / "car.toml").read_text(), ("", RESEARCH), 'emulate = "30mbit,10ms"')
    nodes.start()
    chosen = random.SystemRandom()
    while kills:  # a job that ends before it was killed so often is followed by another one
        identifier = submit(nodes.a, purpose="research", min_rows=0)
        while kills:
            time.sleep(chosen.uniform(0.1, 2.0))
            if job(nodes.a, identifier).state == "done":
                break
            victim = chosen.choice([nodes.a, nodes.b])
            victim.kill()
            victim.start()
            nodes.await_both()
            kills -= 1
        completes(nodes, identifier)


def completes(nodes: Nodes, identifier: str) -> None:
    """The job ends well, each of its levels opened once a session, and none begun more than one level back."""
    left, right = nodes.finished(identifier)
    assert left.state == right.state == "done", (left.why, right.why)
    trees = [node.client.result(identifier).tree["tree"] for node in (nodes.a, nodes.b)]
    assert trees[0] == trees[1] == clear_tree(nodes)
    for node in (nodes.a, nodes.b):
        assert verified(node)["ok"]
        entries = node.client.audit(1000)
        assert sum(entry.kind == "node started" for entry in entries) >= 1
        decided = 0
        for entry in (entry for entry in reversed(entries) if entry.job == identifier):
            if entry.kind == "started":
                assert entry.fields["depth"] in (decided - 1, decided)
                decided = entry.fields["depth"]
            if entry.kind == "opened":
                assert entry.fields["depth"] == decided
                decided += 1


def children(process: int) -> list[int]:
    return [
        int(number) for path in Path(f"/proc/{process}/task").glob("*/children") for number in path.read_text().split()
    ]


def shards_of(node: NodeProcess) -> list[int]:
    """The processes that a node has begun as shards: forks of a child of its own."""
    assert node.process is not None
    servers = [one for one in children(node.process.pid) if b"forkserver" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return [shard for server in servers for shard in children(server)]


def test_shards_killed_in_the_middle_of_a_job(pair: Nodes) -> None:
    """kill -9 of a shard of each node: the job goes on in the same session, opens each level and charges once."""
    identifier = submit(pair.a, purpose="research", shards=2)
    for depth, victim in enumerate((pair.a, pair.b)):
        eventually(lambda depth=depth: (at := job(pair.a, identifier).progress) is not None and at.depth > depth)
        os.kill(min(shards_of(victim)), signal.SIGKILL)  # b's: not the one that a's death has begun anew
    left, right = pair.finished(identifier)
    assert left.state == right.state == "done", (left.why, right.why)
    assert pair.a.client.result(identifier).tree["tree"] == clear_tree(pair)
    for node in (pair.a, pair.b):
        assert depths(node, identifier) == [0]
        entries = [entry for entry in node.client.audit(1000) if entry.job == identifier]
        opened = [entry.fields["depth"] for entry in entries if entry.kind == "opened"]
        assert len(opened) == len(set(opened)) > 3
        assert shards_of(node) == []
    noisy = submit(pair.a, purpose="research", shards=2, epsilon=1.0, max_depth=2, trees=2, stop="off")
    eventually(lambda: shards_of(pair.a))
    os.kill(min(shards_of(pair.a)), signal.SIGKILL)
    left, right = pair.finished(noisy)
    assert left.state == right.state == "done", (left.why, right.why)
    assert pair.a.client.result(noisy).tree["trees"] == pair.b.client.result(noisy).tree["trees"]
    for node in (pair.a, pair.b):
        assert depths(node, noisy) == [0]
        assert [entry.job for entry in node.client.audit(1000) if entry.kind == "spent"].count(noisy) == 1
        assert verified(node)["ok"]
        assert shards_of(node) == []

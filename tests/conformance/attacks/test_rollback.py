"""An older copy of the state directory that is put back, and two peers' certificates that are exchanged in the file.

Before, a node with an older state directory started, connected and went on: what its jobs had spent was forgotten, and
its log had other entries under numbers that the peer held its signature for. Two exchanged certificates in [[peers]]
were no word either. Now both sides say what was lost, jobs wait, and the node with the exchanged names does not start.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parties.link.identity import create
from tests.support.floods import ROWS, TABLE
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, job, submit, verified
from tests.support.processes import Done, here
from tests.support.waiting import eventually


def smc(directory: Path, *words: str) -> Done:
    return here(directory, *words, "--config", "party.toml")


def trouble(node: NodeProcess) -> str:
    """Why a node's peer is not there; empty if it is."""
    (peer,) = node.client.node().peers
    return peer.trouble


def accept(node: NodeProcess) -> str:
    done = smc(node.directory, "audit", "accept-rollback")
    assert done.code == 0, done.err
    return done.out


def kinds(node: NodeProcess) -> list[str]:
    return [entry.kind for entry in node.client.audit(1000)]


CROSSED = pytest.mark.campaign  # `make test` has each of both, not each with each


@pytest.mark.parametrize(
    ("victim", "fresh"),
    [(0, False), (1, True), pytest.param(1, False, marks=CROSSED), pytest.param(0, True, marks=CROSSED)],
)
def test_a_state_directory_that_was_rolled_back(nodes: Nodes, victim: int, fresh: bool) -> None:
    """To an older copy, or to none; of the node that listens, or of the one that connects."""
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    nodes.start()
    back, other = (nodes.a, nodes.b)[:: 1 if victim == 0 else -1]
    first = submit(nodes.a, purpose="research")
    nodes.finished(first)
    back.stop()
    state, old = back.directory / "state", back.directory / "old"
    shutil.copytree(state, old)
    back.start()
    nodes.await_both()
    second = submit(nodes.a, purpose="research", max_depth=1)
    assert [view.state for view in nodes.finished(second)] == ["done", "done"]
    back.stop()
    shutil.rmtree(state)
    if not fresh:
        old.rename(state)
    back.start()
    eventually(back.is_up)
    eventually(lambda: "the records here were rolled back" in trouble(back))
    name = "ab"[victim]
    eventually(lambda: f"the records of {name} were rolled back" in trouble(other))
    assert "smc audit accept-rollback" in trouble(back)
    for node in (back, other):
        done = smc(node.directory, "check", "--wait", "1")
        assert done.code == 2
        (line,) = [line for line in done.out.splitlines() if line.startswith("NO")]
        assert "were rolled back" in line

    waiting = submit(other, purpose="research", max_depth=2)
    assert job(other, waiting).state == "waiting"
    assert "continues without entry" in accept(back)
    eventually(lambda: "not yet by" in trouble(back))
    assert not other.client.node().connected
    accept(other)
    nodes.await_both()
    assert [view.state for view in nodes.finished(waiting)] == ["done", "done"]
    for node in (back, other):
        assert kinds(node).count("rolled back") == kinds(node).count("rollback accepted") == 1
        assert verified(node)["ok"]
    assert smc(back.directory, "audit", "accept-rollback").code == 2  # nothing is left to accept

    back.stop()  # what was accepted once is no matter any more
    back.start()
    nodes.await_both()


def test_a_restored_backup_goes_on_unless_the_peer_has_seen_more(nodes: Nodes) -> None:
    """Of the node that connects: its peer is asked before anything is written."""
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    nodes.start()
    nodes.finished(submit(nodes.a, purpose="research"))
    assert smc(nodes.b.directory, "backup", "old").code == 0  # while it runs
    nodes.finished(submit(nodes.a, purpose="research", max_depth=1))
    assert smc(nodes.b.directory, "backup", "new").code == 0
    nodes.b.kill()
    shutil.rmtree(nodes.b.directory / "state")
    done = smc(nodes.b.directory, "restore", "old")
    assert (done.code, "a has seen entry" in done.err) == (2, True), done
    assert not (nodes.b.directory / "state" / "node.sqlite").exists()
    done = smc(nodes.b.directory, "restore", "new")
    assert (done.code, "not asked" in done.out) == (0, False), done
    nodes.b.start()
    nodes.await_both()
    assert "rolled back" not in kinds(nodes.a) + kinds(nodes.b)
    nodes.finished(submit(nodes.b, purpose="research", max_depth=2))
    assert verified(nodes.b)["ok"]


def test_a_peer_that_has_not_come_is_not_held(nodes: Nodes) -> None:
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    nodes.a.start()
    eventually(nodes.a.is_up)
    (peer,) = nodes.a.client.node().peers
    assert (peer.connected, peer.held) == (False, "")


def test_no_break_of_an_honest_node_is_taken_for_one(nodes: Nodes) -> None:
    """Killed while jobs end and links come and go: what was signed was on the disk."""
    nodes.furnish((ROWS, ROWS), TABLE, (RESEARCH, RESEARCH))
    nodes.start()
    for number in range(2):
        identifier = submit(nodes.a, purpose="research", max_depth=number + 1)
        eventually(lambda identifier=identifier: job(nodes.b, identifier).state in ("running", "done"))
        victim = (nodes.a, nodes.b)[number % 2]
        victim.kill()
        victim.start()
        nodes.await_both()
        nodes.finished(identifier)
    assert not {"rolled back"} & {*kinds(nodes.a), *kinds(nodes.b)}


def test_exchanged_certificates_keep_a_node_from_starting(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        create(name, ["127.0.0.1"], tmp_path)
    ports = "".join(f'{name} = "127.0.0.1:0"\n' for name in ("listen", "web", "metrics", "health"))
    peers = "".join(f'[[peers]]\nname = "{x}"\ncertificate = "{y}.crt"\n' for x, y in (("b", "c"), ("c", "b")))
    (tmp_path / "party.toml").write_text(f'[link]\nidentity = "a.key"\ncertificate = "a.crt"\n[node]\n{ports}{peers}')
    done = smc(tmp_path, "node")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "peers: 'b' has the certificate of 'c', and another has that of 'b'" in line

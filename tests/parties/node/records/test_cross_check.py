"""Two logs of one job: who writes its own anew is contradicted by what it signed for the other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity, create
from parties.node.records import AuditLog
from parties.node.records.audit import verify
from parties.node.records.chain import Checked, cross_check


def checked(node: Any, whole: bool = True) -> Checked:
    found = verify(node.connection, node.own.certificate, [node.peer.certificate])
    assert whole == (found.problems == [])
    return found


def compare(alice: Any, bob: Any) -> list[str]:
    return cross_check(checked(alice), alice.own.certificate, checked(bob), bob.own.certificate)


def test_honest_logs_agree(nodes: tuple[Any, Any]) -> None:
    assert compare(*nodes) == []
    assert len(checked(nodes[0]).statements) == len(checked(nodes[1]).statements) == 2


def test_a_party_that_writes_its_log_anew_is_contradicted_by_its_peer(nodes: tuple[Any, Any]) -> None:
    alice, bob = nodes

    def without_second_job(entries: list[Any]) -> None:
        del entries[11:]

    def without_statements(entries: list[Any]) -> None:
        entries[:] = [entry for entry in entries if entry[0] != "signed"]
        entries[1][2]["purpose"] = "marketing"

    alice.rewrite(without_statements)
    assert checked(alice).problems == []  # by itself it looks whole
    found = compare(alice, bob)
    assert found == [
        "our entry 8 is not the one that its owner signed for, as entry 9 of the peer's log shows",
        "our entry 18 is not the one that its owner signed for, as entry 17 of the peer's log shows",
    ]
    assert compare(bob, alice) == [
        problem.replace("the peer's", "X").replace("our", "the peer's").replace("X", "our") for problem in found
    ]
    alice.rewrite(without_second_job)
    assert compare(alice, bob)[1] == (
        "our log has no entry 18, but entry 17 of the peer's log holds its owner's signature for it"
    )


def test_kept_statements_contradict_a_changed_log_by_themselves(nodes: tuple[Any, Any]) -> None:
    alice, _ = nodes

    def earlier(entries: list[Any]) -> None:
        entries[2][2]["by"] = "operator"

    alice.rewrite(earlier)
    assert checked(alice, whole=False).problems == [
        "entry 8 is not the one that its owner signed for in entry 9",
        "entry 18 is not the one that its owner signed for in entry 19",
    ]


def test_invented_statements_accuse_nobody(nodes: tuple[Any, Any]) -> None:
    alice, bob = nodes

    def forge(entries: list[Any]) -> None:
        entries[8][2]["theirs"]["head"]["hash"] = "0" * 64

    bob.rewrite(forge)
    assert "entry 9 holds a statement that its signer has not signed" in checked(bob, whole=False).problems
    found = verify(bob.connection, bob.own.certificate)
    assert "entry 9 holds" not in str(found.problems)  # without the peer's certificate nothing can be said
    assert cross_check(checked(alice), alice.own.certificate, found, bob.own.certificate)[0] == (
        "entry 9 of the peer's log holds a statement that its signer has not signed"
    )


def test_different_results_are_told(nodes: tuple[Any, Any]) -> None:
    alice, bob = nodes
    ours, theirs = alice.run("us"), bob.run("peer")
    alice.keep(ours, theirs.model_copy(update={"result": {"tree": "other"}}))
    assert checked(alice, whole=False).problems == [
        "the parties have signed different results in entry 29",
        "entry 29 holds a statement that its signer has not signed",
    ]


def test_statements_of_former_certificates_are_no_problem(nodes: tuple[Any, Any], tmp_path: Path) -> None:
    alice, bob = nodes
    new: Identity = create("alice", [], tmp_path)
    log = AuditLog(alice.connection, new)
    with alice.connection:
        log.renew(alice.own.certificate)
    alice.own, alice.log = new, log
    alice.start()
    assert compare(alice, bob) == []  # the statements that bob holds are signed with the former key
    bob.peer = new
    bob.start()
    assert compare(alice, bob) == []
    ours, theirs = alice.run("us"), bob.run("peer")
    bob.keep(theirs, ours)
    assert compare(alice, bob) == []

    def change(entries: list[Any]) -> None:
        entries[:] = [entry for entry in entries if entry[0] != "signed"]

    alice.rewrite(change)
    assert len(compare(alice, bob)) == 1


@pytest.mark.parametrize("side", [0, 1])
def test_a_peers_certificate_that_is_wrong_says_nothing_of_statements(
    nodes: tuple[Any, Any], side: int, identities: dict[str, Identity]
) -> None:
    node = nodes[side]
    with closing(node.connection):
        assert verify(node.connection, node.own.certificate, [identities["mallory"].certificate]).problems == []

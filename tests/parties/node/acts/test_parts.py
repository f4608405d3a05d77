"""A holder judges a job by both nodes that compute it, and a node with `role = "holder"` computes none."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity, create, load_identity
from parties.node.acts.parts import PeerLink
from parties.node.peers import PeerIdentity
from parties.node.policy.rules import Rule
from parties.node.settings import NodeFile, NodeSettings
from smc.errors import InputError
from tests.support.ledger_groups import Group

NAMES = ("a", "b", "anna", "bert")


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    place = tmp_path_factory.mktemp("keys")
    for name in NAMES:
        create(name, ["127.0.0.1"], place)
    return {name: load_identity(place / f"{name}.key", place / f"{name}.crt") for name in NAMES}


@pytest.fixture
def group(tmp_path: Path, identities: dict[str, Identity]) -> Group:
    return Group(tmp_path, identities)


def set_file(group: Group, name: str, **fields: Any) -> None:
    group[name].gate._file = NodeFile.model_construct(**fields)


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({"effect": "permit"}, "approved"),
        ({"effect": "permit", "peer": ["a", "b"]}, "approved"),
        ({"effect": "permit", "peer": ["a"]}, "waiting"),
        ({"effect": "permit", "peer": ["b"]}, "waiting"),
        ({"effect": "permit", "network": ["192.0.2.0/24", "198.51.100.0/24"]}, "approved"),
        ({"effect": "permit", "network": ["192.0.2.0/24"]}, "waiting"),
        ({"effect": "permit", "tls": ["TLS 1.3"]}, "waiting"),
        ({"effect": "permit", "post_quantum": True}, "waiting"),
        ({"effect": "permit", "key_exchange": ["X25519MLKEM768", "X25519"]}, "approved"),
        ({"effect": "deny", "peer": ["b"]}, "refused"),
        ({"effect": "deny", "peer": ["a"]}, "refused"),
        ({"effect": "deny", "network": ["198.51.100.0/24"]}, "refused"),
        ({"effect": "deny", "post_quantum": False}, "refused"),
        ({"effect": "deny", "peer": ["bert"]}, "waiting"),
        ({"effect": "deny", "peer": ["a"], "post_quantum": False}, "waiting"),  # both hold, each for another node
    ],
)
def test_rules_on_the_peer_are_read_for_both_nodes_at_a_holder(
    group: Group, rule: dict[str, Any], verdict: str
) -> None:
    set_file(group, "anna", node=NodeSettings(), policy=(Rule(name="one", **rule),))
    group["anna"].hearing._parts.links.update(
        a=PeerLink("192.0.2.1", "TLS 1.3", "X25519MLKEM768"), b=PeerLink("198.51.100.1", "", "X25519")
    )
    job = group.propose(protocol="release count", epsilon=0.5)
    group.deliver()
    record = group["anna"].jobs.known(job)  # none if no rule permits anything to this peer
    assert ("refused" if record is None else record.ours.verdict) == verdict


def test_runs_today_counts_the_jobs_of_every_participant(group: Group) -> None:
    """Each node has approved two jobs, in which all take part, when it judges a third one or the first one again."""
    jobs = [group.propose(protocol="release count", epsilon=0.5, purpose=purpose) for purpose in ("one", "two")]
    group.deliver()
    for name in NAMES[1:]:
        for job in jobs:
            group[name].decisions.decide(job, "approved")
    group.deliver()
    for name in ("a", "anna"):
        parts = group[name].hearing._parts
        record = parts.jobs.find(jobs[0])
        for peer in record.names:
            assert parts.jobs.index.approved[peer, record.table, datetime.now().astimezone().date()] == 2
        around = parts.around(record)
        others = [around] if around.other is None else [around, around.other[1]]
        assert [one.runs_today for one in others] == [1] * (2 if name == "anna" else 1)


def test_a_holder_has_dealings_with_the_two_that_compute_alone(group: Group, identities: dict[str, Identity]) -> None:
    """Also if it pins another holder."""
    seat = group.seats["anna"]
    seat.connection.close()
    seat.peers.append(PeerIdentity(identities["anna"], identities["bert"].certificate, 1, name="bert"))
    seat.open()
    job = group.propose()
    group.deliver()
    assert group["anna"].jobs.find(job).names == ["a", "b"]


def test_a_node_that_is_a_holder_by_its_role_computes_no_job(group: Group) -> None:
    set_file(group, "b", node=NodeSettings(role="holder"))
    job = group.propose()
    group.hear("a", "b")
    record = group["b"].jobs.known(job)  # kept, so that it can answer the holders
    assert record is not None
    assert record.ours.verdict == "refused"
    assert "this node is a holder" in group.said["b", "a"][-1].decode()


def test_a_node_that_is_a_holder_by_its_role_proposes_no_job(group: Group) -> None:
    set_file(group, "a", node=NodeSettings(role="holder"))
    with pytest.raises(InputError, match="this cannot be proposed: this node is a holder"):
        group.propose()


def test_a_holder_does_not_repeat_a_job(group: Group) -> None:
    job = group.propose()
    group.deliver()
    with pytest.raises(InputError, match="a holder proposes no job"):
        group["anna"].decisions.repeat(job)

"""Shards as actors on two machines of a Ray; one that is killed is begun anew on either."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.base.address import Address
from parties.jobs import ray_shards
from parties.jobs.shard_processes import Processes, door, met_at
from parties.link.opening import Link
from protocols.id3 import Tree, id3
from smc.engines import Profile, engine_of
from smc.engines.shards import Door
from smc.errors import InputError, LinkError
from smc.local import run_local
from smc.session import Session
from tests.support.links import Parties
from tests.support.sharded_tree import PROBLEM, program, rows

SESSION = Address("10.0.0.7", 7000)


@given(st.ip_addresses(), st.integers(1, 65535))
def test_a_door_says_where_a_shard_is(host: Any, port: int) -> None:
    if host.is_loopback or host.is_unspecified or host.is_link_local or host.is_multicast:
        assert int(host) == 0 or _refused(door(Address(str(host), port)))
    elif isinstance(host, ipaddress.IPv4Address) or not host.ipv4_mapped:
        assert met_at(door(Address(str(host), port)), SESSION) == Address(str(host), port)
    assert met_at(door(Address("", port)), SESSION) == SESSION._replace(port=port)


def _refused(where: Door) -> bool:
    with pytest.raises(LinkError, match="the peer's shard is said to be met at"):
        met_at(where, SESSION)
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "169.254.169.254", "224.0.0.1", "::1", "fe80::1", "ff02::1"])
def test_a_peer_does_not_say_what_only_this_machine_reaches(host: str) -> None:
    assert _refused(door(Address(host, 80)))


@pytest.mark.parametrize("host", ["10.0.0.8", "192.168.1.1", "100.64.0.1", "fd00::1"])
def test_a_peer_outside_does_not_say_what_only_this_network_reaches(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where = door(Address(host, 80))
    assert met_at(where, SESSION) == Address(host, 80)
    for met in ("8.8.8.8", "peer.example"):
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [(0, 0, 0, "", ("8.8.8.8", 0))])
        with pytest.raises(LinkError, match="the peer's shard is said to be met at"):
            met_at(where, Address(met, 7000))
        assert met_at(door(Address("9.9.9.9", 80)), Address(met, 7000)) == Address("9.9.9.9", 80)


@pytest.mark.parametrize("value", [None, "0"])
def test_ray_without_tls_is_refused(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    """On one machine too: its ports are open to all, and take any program."""
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    if value is not None:
        monkeypatch.setenv("RAY_USE_TLS", value)
    with pytest.raises(InputError, match="set RAY_USE_TLS=1"):
        ray_shards.connected("auto")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    from ray.cluster_utils import Cluster

    monkeypatch.setattr(ray_shards, "require_tls", lambda: None)  # this one has none
    room = {"num_cpus": 3, "object_store_memory": 80_000_000}
    both = Cluster(initialize_head=True, head_node_args={**room, "include_dashboard": False})
    both.add_node(**room)
    yield both.address
    ray.shutdown()
    both.shutdown()


@pytest.mark.slow
def test_actors_find_the_same_tree_and_one_may_die(
    cluster: str, parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clear(session: Session) -> Tree:
        return id3(engine_of(session, Profile("clear")), PROBLEM, rows(session.party))

    machines, killed, calls, answers = set[str](), list[int](), list[int](), Processes._answers

    def watched(shards: Any, numbers: Any, tasks: Any) -> Any:
        import ray

        assert type(shards).__name__ == "OnRay"
        if shards.session.party == 1:
            calls.append(len(numbers))
        if shards.session.party == 1 and len(calls) == 2:
            killed.append(numbers[0])
            ray.kill(shards._processes[numbers[0]]._actor)
        actors = ray._private.state.actors().values()
        machines.update(actor["Address"]["NodeID"] for actor in actors if actor["State"] == "ALIVE")
        return answers(shards, numbers, tasks)

    def run(link: Link) -> Any:
        return program(link)

    monkeypatch.setattr(Processes, "_answers", watched)
    outcomes = parties.run(run, run, ray=cluster)
    assert not any(isinstance(one, Exception) for one in outcomes), outcomes
    (left, _), (right, _) = outcomes
    assert left == right == run_local(clear)[0]
    assert len(killed) == 1
    assert len(machines) == 2

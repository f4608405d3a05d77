"""Shards as actors on two machines of a Ray; one that is killed is begun anew on either."""

from __future__ import annotations

import ipaddress
import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.base.address import Address
from parties.jobs.execution import ray_shards
from parties.jobs.execution.ray_shards import OnRay, carried_to
from parties.jobs.execution.shard_processes import Order, Processes, door, met_at
from protocols.cost_model import with_tree
from protocols.id3 import Tree, id3
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.engines.shards import Door
from smc.errors import InputError, MachineError
from smc.local import run_local
from smc.session import Session
from tests.support.links import Parties
from tests.support.sharded_tree import PROBLEM, PROFILE, program, rows

MACHINES = ("127.0.0.2", "127.0.0.3")  # 127.0.0.1 Ray takes for a mistake
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "365")
SESSION = Address("10.0.0.7", 7000)


EVERYWHERE = ("0.0.0.0/0", "::/0")


@given(st.ip_addresses(), st.integers(1, 65535))
def test_a_door_says_where_a_shard_is(host: Any, port: int) -> None:
    """To nobody who has not named that host is it dialled; nor what only a machine reaches, by naming all."""
    if int(host) != 0:
        where = door(Address(str(host), port))
        said = str(host if isinstance(host, ipaddress.IPv4Address) else host.ipv4_mapped or host)
        assert said == SESSION.host or _refused(where)
        if host.is_loopback or host.is_link_local or host.is_multicast:
            assert _refused(where, EVERYWHERE)
        else:
            assert met_at(where, SESSION, EVERYWHERE) == Address(said, port)
        assert met_at(where, SESSION, (said,)) == met_at(where, Address(said, 7000)) == Address(said, port)
    assert met_at(door(Address("", port)), SESSION) == SESSION._replace(port=port)


def _refused(where: Door, shards_at: Sequence[str] = ()) -> bool:
    with pytest.raises(MachineError, match=r"^link\.shards_at: the peer's shard has the address"):
        met_at(where, SESSION, shards_at)
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "169.254.169.254", "224.0.0.1", "::1", "fe80::1", "ff02::1"])
def test_a_peer_does_not_say_what_only_this_machine_reaches(host: str) -> None:
    for shards_at in ((), EVERYWHERE):
        assert _refused(door(Address(host, 80)), shards_at)


@pytest.mark.parametrize("host", ["10.0.0.8", "192.168.1.1", "100.64.0.1", "fd00::1", "9.9.9.9", "2001:db8::1"])
def test_a_peer_says_hosts_that_our_operator_has_named(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a network, an address or a name; in a private session and over the Internet alike."""
    where = door(Address(host, 80))
    names = {"one.example": "10.0.0.8", "two.example": host}
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, _: [(0, 0, 0, "", (names[name], 0))])
    for met in ("10.0.0.7", "8.8.8.8", "peer.example"):
        session = Address(met, 7000)
        for shards_at in ((), ("10.0.0.9", "10.1.0.0/16", "fd01::/16")):
            with pytest.raises(MachineError, match="the peer's shard has the address"):
                met_at(where, session, shards_at)
        for named in (host, f"{host}/{32 if '.' in host else 128}", "two.example", *EVERYWHERE):
            if (":" in named) == (":" in host) or named == "two.example":
                assert met_at(where, session, ("10.1.0.0/16", named)) == Address(host, 80)
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=OSError))
    assert _refused(where, ("two.example",))


@pytest.mark.parametrize("name", ["RAY_USE_TLS", "RAY_AUTH_MODE"])
@pytest.mark.parametrize("value", [None, "0"])
def test_a_ray_that_is_open_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str | None) -> None:
    """On one machine too: its ports are open to all, and take any program; in clear, where only TLS keeps them."""
    for guard, right in ray_shards.GUARDS.items():
        monkeypatch.setenv(guard, right)
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"set {name}="):
        ray_shards.connected("auto")


@pytest.mark.parametrize(
    ("listen", "host", "bound"),
    [
        ("192.0.2.1:0", "198.51.100.1", "192.0.2.1:0"),
        ("192.0.2.1:0", "198.51.100.2", "198.51.100.2:0"),
        ("192.0.2.1:0", "2001:db8::2", "[2001:db8::2]:0"),
        (None, "198.51.100.2", None),
    ],
)
def test_a_shard_listens_where_its_peer_is_sent(listen: str | None, host: str, bound: str | None) -> None:
    order = Order(b"", None, b"", b"", listen, None, None, {}, {}, PROFILE, {})
    assert carried_to(host, "198.51.100.1", order).listen == bound


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A Ray of two machines, which are addresses of this one, with TLS and a token."""
    if find_spec("ray") is None:
        pytest.skip("the extra [ray] is not installed")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "basicConstraints=critical,CA:FALSE")
    names = ("-addext", "subjectAltName=" + ",".join(f"IP:{machine}" for machine in MACHINES))
    for name, more in (("ca", ()), ("ray", (*signed, *names))):  # as in docs/scale.md
        command = ["openssl", "req", "-x509", *NEW_KEY, "-subj", f"/CN={name}", *more]
        subprocess.run([*command, "-keyout", f"{name}.key", "-out", f"{name}.crt"], cwd=tmp_path, check=True)
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    files = {"SERVER_CERT": "ray.crt", "SERVER_KEY": "ray.key", "CA_CERT": "ca.crt"}
    own = {f"RAY_TLS_{name}": str(tmp_path / file) for name, file in files.items()}
    for name, value in {**ray_shards.GUARDS, **own, "RAY_AUTH_TOKEN_PATH": str(token), ray_shards.TRIES: "1"}.items():
        monkeypatch.setenv(name, value)
    import ray  # reads what is set by now
    from ray.cluster_utils import Cluster

    room = {"num_cpus": 3, "object_store_memory": 80_000_000, "include_dashboard": False}
    both = Cluster(initialize_head=True, head_node_args={**room, "node_ip_address": MACHINES[0]})
    both.add_node(**room, node_ip_address=MACHINES[1])
    yield both.address
    ray.shutdown()
    both.shutdown()


def met_here(where: Door, session: Address) -> Address:
    """Return where a shard is met."""
    if not any(where[:-1]):
        return session._replace(port=where[-1])
    host = ipaddress.IPv6Address(b"".join(group.to_bytes(2) for group in where[:-1])).ipv4_mapped
    return Address(str(host), where[-1])


class Watching:
    """Sees where shards of party 0 are met, and kills (-9) those of party 1 with such a number, given such a task."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kills: Sequence[int], number: int = 1) -> None:
        self.hosts, self.killed, given = set[str](), 0, 0
        answers, told = Processes._answers, Processes._told

        def watched(shards: OnRay, numbers: Sequence[int], tasks: Any) -> Any:
            nonlocal given
            if shards.session.party == 1 and number in numbers:
                given += 1
                if given in kills:
                    actor = shards._processes[number]._actor
                    pid = shards._ray.get(actor.__ray_call__.remote(lambda _: os.getpid()))
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1
            return answers(shards, numbers, tasks)

        def heard(shards: OnRay, line: Any) -> Any:
            line, where = told(shards, line)
            place = met_here(where, Address("127.0.0.1", 0))
            self.hosts.add(place.host)
            with socket.create_connection(place):
                pass
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.9", place.port))
            return line, where

        monkeypatch.setattr(Processes, "_answers", watched)
        monkeypatch.setattr(Processes, "_told", heard)


@pytest.mark.campaign
def test_actors_find_the_same_tree_and_may_die_once(
    cluster: str, parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without shards, to the byte of the forecast; one killed: nothing else; killed twice: both end, and say so."""

    def clear(session: Session) -> Tree:
        return id3(engine_of(session, Profile("clear")), PROBLEM, rows(session.party))

    expected = run_local(clear)[0]
    counted = forecast(lambda engine: with_tree(engine, PROBLEM, expected), PROFILE)
    hosts = set[str]()
    for kills in ((), (2,)):
        with monkeypatch.context() as patched:
            watching = Watching(patched, kills)
            outcomes = parties.run(program, program, ray=cluster, shards_at=MACHINES)
        assert not any(isinstance(one, Exception) for one in outcomes), outcomes
        (left, cost), (right, _) = outcomes
        assert left == right == expected
        assert cost.bits_opened == counted.costs[0].bits_opened
        assert watching.killed == len(kills)
        if not kills:
            assert cost.bytes_sent + cost.bytes_received == counted.bytes
        hosts |= watching.hosts
    assert hosts == {"127.0.0.1", MACHINES[1]}, "shards of one machine only"
    with monkeypatch.context() as patched:
        watching = Watching(patched, (2, 3))
        outcomes = parties.run(program, program, ray=cluster, shards_at=MACHINES)
    assert watching.killed == 2
    assert all("shard 2 of 3 has failed twice" in str(one) for one in outcomes), outcomes

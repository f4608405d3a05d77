"""Two network namespaces joined by a virtual cable: two hosts, two addresses, and a cable that can be cut.

Needs root and iproute2; skipped elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.tables.example import demo
from smc.link_shape import LinkShape
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE

DEMO = demo()
BURST = 32_000  # bytes that the kernel's token bucket lets through at once
ADDRESSES = ("10.77.13.1", "10.77.13.2")
ADDRESSES_6 = ("fd77:13::1", "fd77:13::2")


class Hosts:
    """Two namespaces, each with one end of the cable."""

    def __init__(self) -> None:
        tag = f"smc{os.getpid()}"
        self.names = [f"{tag}a", f"{tag}b"]
        self._cable = [f"{tag}x"[-15:], f"{tag}y"[-15:]]

    def make(self) -> None:
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", self._cable[0], "type", "veth", "peer", "name", self._cable[1])
        for name, end, address, address_6 in zip(self.names, self._cable, ADDRESSES, ADDRESSES_6, strict=True):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "link", "set", "lo", "up")  # gRPC takes a host without ::1 for one without IPv6
            ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            ip("-n", name, "addr", "add", f"{address_6}/64", "dev", end, "nodad")
            ip("-n", name, "link", "set", end, "up")

    def cut(self) -> None:
        """Packets silently stop arriving, as with a pulled cable."""
        ip("-n", self.names[0], "link", "set", self._cable[0], "down")

    def slow_down(self, discipline: str) -> None:
        """Have the kernel throttle or delay what either end sends; skips where it cannot."""
        if shutil.which("tc") is None:
            pytest.skip("needs tc, of iproute2")
        for name, end in zip(self.names, self._cable, strict=True):
            command = ["tc", "-n", name, "qdisc", "replace", "dev", end, "root", *discipline.split()]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"this kernel has no such emulation: {discipline}: {done.stderr.strip()}")

    def remove(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def start(self, host: int, directory: Path, *arguments: object) -> subprocess.Popen[str]:
        return self.python(host, directory, "-m", "parties.cli", *arguments)

    def python(self, host: int, directory: Path, *arguments: object) -> subprocess.Popen[str]:
        command = ["ip", "netns", "exec", self.names[host], sys.executable, *map(str, arguments)]
        return subprocess.Popen(
            command,
            cwd=directory,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2")
    made = Hosts()
    try:
        made.make()
    except subprocess.CalledProcessError as error:
        made.remove()
        pytest.skip(f"network namespaces are not allowed here: {error.stderr}")
    yield made
    made.remove()


def start_both(  # type: ignore[no-untyped-def]
    hosts: Hosts, processes, arguments: list[object], first: Path, second: Path, address: str = ADDRESSES[0]
):
    common = ["id3", "--plain", "--schema", DEMO.schema, *arguments]
    zero = hosts.start(0, processes.directory, *common, "--data", first, *processes.link("a", "b"), "--listen",
                       f"{address}:7001", "--out", "a.json")  # fmt: skip
    one = hosts.start(1, processes.directory, *common, "--data", second, *processes.link("b", "a"), "--connect",
                      f"{address}:7001", "--out", "b.json")  # fmt: skip
    return zero, one


@pytest.mark.parametrize(
    ("address", "discipline"),
    [
        (ADDRESSES[0], None),
        pytest.param(f"[{ADDRESSES_6[0]}]", None, marks=pytest.mark.campaign),
        pytest.param(ADDRESSES[0], "netem limit 10000 delay 20ms loss 1%", marks=pytest.mark.campaign),
        pytest.param(ADDRESSES[0], "netem limit 10000 delay 50ms rate 10mbit", marks=pytest.mark.campaign),
    ],
)
def test_two_hosts_get_the_tree(processes, hosts: Hosts, address: str, discipline: str | None) -> None:
    """The certificates name 127.0.0.1 only: the address dialled need not be in them, the pin decides."""
    if discipline is not None:
        hosts.slow_down(discipline)
    started = start_both(hosts, processes, [], DEMO.clinic_a, DEMO.clinic_b, address)
    for process in started:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
    trees = [json.loads((processes.directory / f"{name}.json").read_text())["tree"] for name in "ab"]
    assert trees[0] == trees[1]
    assert trees[0]["attribute"] == "outlook"


@pytest.mark.campaign
def test_a_cut_cable_is_noticed_by_both(processes, hosts: Hosts) -> None:
    zero, one = start_both(hosts, processes, ["--ot", "trapdoor"], DEMO.clinic_a, DEMO.clinic_b)  # takes its time
    processes.address_of(zero)
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(4)
    hosts.cut()
    for process in (zero, one):
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 3, errors
        assert "at step" in errors.strip().splitlines()[-1]
        assert "Traceback" not in errors
    assert not list(processes.directory.glob("*.json"))


# One party of a conversation that is timed: five short round trips, then two million bytes and an answer.
TIMED = """if True:
    import json, sys, time
    from pathlib import Path
    from parties.link.identity import load_certificate, load_identity
    from parties.link.opening import open_link
    from parties.link.options import LinkOptions
    from smc.link_shape import LinkShape
    own, peer, side, address, shape = sys.argv[1:]
    identity = load_identity(Path(own + ".key"), Path(own + ".crt"))
    shape = LinkShape.parse(shape) if shape else None
    options = LinkOptions(identity, load_certificate(Path(peer + ".crt")), **{side: address}, shape=shape, measure=True)
    with open_link(options, {"protocol": "timed"}) as link:
        def exchange(there):
            start = time.monotonic()
            for party in (0, 1):
                message = there if party == 0 else b"back"
                if link.party == party:
                    link.channel.send("x", message)
                else:
                    link.channel.receive("x", len(message))
            return time.monotonic() - start
        trips = [exchange(b"ping") for _ in range(5)]
        bulk = exchange(bytes(2_000_000))
        print(json.dumps({"trip": min(trips), "bulk": bulk, "rate": link.measured.rate,
                          "round_trip": link.measured.round_trip}))
    """


@pytest.mark.parametrize(
    ("link", "discipline"),
    [
        ("20mbit,40ms", None),
        ("20mbit,40ms", "netem limit 10000 delay 20ms rate 20mbit"),
        ("20mbit", None),
        ("20mbit", f"tbf rate 20mbit burst {BURST} latency 400ms"),
    ],
)
def test_an_emulated_link_demands_what_the_kernels_emulation_demands(
    processes, hosts: Hosts, link: str, discipline: str | None
) -> None:
    """One conversation over a cable that the kernel slows down, and over a fast one with an emulated link."""
    if discipline is not None:
        hosts.slow_down(discipline)
    shape = LinkShape.parse(link)
    started = []
    for host, (own, peer, side) in enumerate([("a", "b", "listen"), ("b", "a", "connect")]):
        address, emulated = f"{ADDRESSES[0]}:7001", "" if discipline else link
        started.append(hosts.python(host, processes.directory, "-c", TIMED, own, peer, side, address, emulated))
    results = []
    for process in started:
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        results.append(json.loads(out))
    for name in ("rate", "round_trip"):
        assert results[0][name] == results[1][name]
    first = results[0]  # the party that speaks first sees whole round trips
    assert first["trip"] >= shape.round_trip
    assert first["bulk"] >= shape.round_trip + 8 * (2_000_000 - BURST) / 20e6
    assert first["round_trip"] >= shape.round_trip
    assert first["rate"] < 100e6

"""Settings of the link to the peer, and the check that they are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from parties.base.address import parse_address
from parties.base.settings import LocalPath, Seconds, Settings, required
from parties.base.text import quoted
from smc.errors import InputError
from smc.link_shape import WINDOW_BYTES, LinkShape

MIB = 2**20
WAIT_SECONDS = 180.0  # for the peer to connect, which may have to compile its kernels first
TIMEOUT_SECONDS = 120.0  # of silence in a session


def _address(lowest_port: int) -> AfterValidator:
    def check(value: str) -> str:
        try:
            return str(parse_address(value, lowest_port))
        except InputError as error:
            raise ValueError(str(error)) from None

    return AfterValidator(check)


Here: TypeAlias = Annotated[str, _address(lowest_port=0)]  # port 0: any free one
There: TypeAlias = Annotated[str, _address(lowest_port=1)]


def _ray(value: str) -> str:
    """Return the address of a Ray cluster, HOST:PORT or auto. Raise ValueError for another text."""
    try:
        return value if value == "auto" else str(parse_address(value))
    except InputError as error:
        raise ValueError(f"must be auto or HOST:PORT: {error}") from None


def _host_or_network(value: str) -> str:
    """Return a host's name or address, or a network, as text. Raise ValueError for another text."""
    try:
        network = ip_network(value)
    except ValueError as error:
        if "/" in value:
            raise ValueError(f"{error}; write it as 192.0.2.0/24 or 2001:db8::/32") from None
    else:
        if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
            raise ValueError(f"{quoted(value)} must be written as the IPv4 network that it stands for")
        return str(network)
    try:
        return parse_address(f"{value}:1").host
    except InputError:
        raise ValueError(f"must be a host or a network such as 192.0.2.0/24, not {quoted(value)}") from None


def _ports(value: str) -> str:
    port_range(value)
    return value


def port_range(value: str) -> range:
    """Return the ports of a range FIRST-LAST, or the single one. Raise ValueError if the text is invalid."""
    first, dash, last = value.partition("-")
    last = last if dash else first
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last) <= 65535):
        raise ValueError(f"must be a port or a range of ports such as 7100-7163, not {quoted(value)}")
    return range(int(first), int(last) + 1)


def link_shape(value: str) -> str:
    """Return the text of an emulated link (rate, round trip, window) in canonical form; ValueError if it is invalid."""
    try:
        return str(LinkShape.parse(value))
    except InputError as error:
        raise ValueError(str(error)) from None


class LinkSettings(Settings):
    """Settings of the link to the peer. `wait` and `timeout` are in seconds.

    `window` is the number of MiB that may be under way to this party. On a long and fast link it should be at least the
    rate times the round trip, but not more than the link carries in a few seconds, or a dead peer is noticed late.
    `classical` permits a key exchange that a future quantum computer could break for traffic recorded before. `ray`,
    `auto` or HOST:PORT, is a Ray cluster of this party that starts shards (`parties.jobs.execution.ray_shards`).
    `shards_at` are hosts and networks where the peer's shards may be reached. Its session's own host is always one.
    `shard_ports` is the range of ports, such as 7100-7163, on which our shards listen if this party does.
    `data_ports` are such ports for data connections (`parties.link.data_connection`), one for each session at a time.
    """

    identity: LocalPath | None = None
    certificate: LocalPath | None = None
    peer: LocalPath | None = None
    listen: Here | None = None
    connect: There | None = None
    wait: Seconds = WAIT_SECONDS
    timeout: Seconds = TIMEOUT_SECONDS
    window: Annotated[int, Field(strict=True, ge=1, le=64)] = WINDOW_BYTES // MIB
    classical: Annotated[bool, Field(strict=True)] = False
    emulate: Annotated[str, AfterValidator(link_shape)] | None = None
    ray: Annotated[str, AfterValidator(_ray)] | None = None
    shards_at: tuple[Annotated[str, AfterValidator(_host_or_network)], ...] = ()
    shard_ports: Annotated[str, AfterValidator(_ports)] | None = None
    data_ports: Annotated[str, AfterValidator(_ports)] | None = None
    exclusive = ("listen", "connect")

    @model_validator(mode="after")
    def _one_side(self) -> LinkSettings:
        if self.listen is not None and self.connect is not None:
            raise ValueError("listen and connect exclude each other: one party listens, the other connects")
        if self.ray is not None and self.shard_ports is not None:
            raise ValueError("shard_ports is for shards of this machine, and ray starts them elsewhere: remove one")
        if self.listen is not None and self.data_ports is not None:
            port = parse_address(self.listen, lowest_port=0).port
            if port in port_range(self.data_ports):
                raise ValueError(f"data_ports {self.data_ports} has the port of listen, {port}; name other ports")
        return self


class ContributeSettings(Settings):
    """Settings of a holder: the certificates of both parties that compute, and where they listen for holders."""

    nodes: tuple[LocalPath, ...] | None = None
    at: tuple[There, ...] | None = None


@dataclass(frozen=True)
class Way:
    """Complete link settings: exactly one of `listen` and `connect` is set. Times in seconds, `window` in bytes."""

    identity: Path
    certificate: Path
    peer: Path
    listen: str | None
    connect: str | None
    wait: float
    timeout: float
    window: int
    classical: bool
    emulate: LinkShape | None
    ray: str | None
    shards_at: Sequence[str]
    shard_ports: range | None
    data_ports: range | None


def require_link(settings: LinkSettings) -> Way:
    """Return the complete link settings. Raise InputError with the missing ones if they are incomplete."""
    if settings.listen is None and settings.connect is None:
        raise InputError(
            "no way to the peer: one party gives --listen HOST:PORT, the other --connect HOST:PORT "
            "(or listen, connect under [link] in --config)"
        )
    files = {name: required(getattr(settings, name), f"link.{name}") for name in ("identity", "certificate", "peer")}
    ports = {name: port_range(value) for name in ("shard_ports", "data_ports") if (value := getattr(settings, name))}
    emulate = None if settings.emulate is None else LinkShape.parse(settings.emulate)
    return Way(**dict(settings) | files | ports | {"window": settings.window * MIB, "emulate": emulate})

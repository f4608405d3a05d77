"""Network addresses as HOST:PORT, or [HOST]:PORT for IPv6."""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult

from parties.base.text import quoted
from smc.errors import InputError

# Linux's tables of this machine's sockets, and their state of a listener
_TABLES, _LISTENS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6")), "0A"


class Address(NamedTuple):
    """Host name or IP address (without brackets) and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_address(text: str, lowest_port: int = 1) -> Address:
    """Return the address in `HOST:PORT`.

    Args:
        text: The address.
        lowest_port: Least port allowed; 0 also allows port 0, which means any free port.

    Raises:
        InputError: The text is not an address; the message states why.
    """
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host:
        raise InputError(f"the address {quoted(text)} must be HOST:PORT, for example 192.0.2.7:7000")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            raise InputError(f"{quoted(host)} in the address {quoted(text)} is not an IPv6 address") from None
    elif ":" in host:
        raise InputError(f"the address {quoted(text)} needs brackets around IPv6: [HOST]:PORT")
    elif any(c.isspace() or c in "[]/@" for c in host):
        raise InputError(f"the address {quoted(text)} must be HOST:PORT, without a scheme or a path")
    else:
        try:
            host = host.encode("idna").decode()  # gRPC looks up ASCII names only
        except UnicodeError:
            raise InputError(f"{quoted(host)} in the address {quoted(text)} is not a host name") from None
    if not (port.isascii() and port.isdigit() and lowest_port <= int(port[:6]) <= 65535):
        raise InputError(f"the port in the address {quoted(text)} must be a number from {lowest_port} to 65535")
    return Address(host, int(port))


def is_port(url: SplitResult) -> bool:
    """Return whether the port of a URL is valid; True if it has none."""
    try:
        return url.port is None or url.port > 0
    except ValueError:
        return False


def taken(address: Address, instead: str = "name another port") -> str:
    """Return why this machine cannot listen at an address, with a remedy; empty if it can.

    Args:
        address: The address to try.
        instead: Remedy if another program uses the port.
    """
    with socket.socket(socket.AF_INET6 if ":" in address.host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as listeners do; this probe does not listen
        try:
            probe.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return f"{address.host} is not one of this machine's addresses; name one that is"
            advice = {errno.EADDRINUSE: f"; end what uses it, or {instead}", errno.EACCES: f"; {instead}"}
            return f"{error.strerror or 'the system refused'}{advice.get(error.errno or 0, '')}"
    return ""


def addresses_of(address: Address) -> list[Address]:
    """Return all numeric addresses of a host, in the system's order; raise OSError if there are none."""
    entries = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(address._replace(host=str(entry[4][0])) for entry in entries))


def require_free(text: str, shards: int = 0) -> None:
    """Raise InputError if this machine cannot listen at an address; call it before long work.

    Args:
        text: The address, `HOST:PORT`; port 0 means any free port.
        shards: Number of shards. Each listens on one of the next ports, or on any free port if the port is 0.
    """
    first = parse_address(text, lowest_port=0)
    for number in range(shards + 1 if first.port else 1):
        address = parse_address(str(first._replace(port=first.port + number)), lowest_port=0)
        if why := taken(address):
            whose = f" for shard {number} of {shards}" if number else ""
            raise InputError(f"cannot listen on {address}{whose}: {why}")


def owners(connection: socket.socket) -> set[int]:
    """Return the ids of the Unix users at the other end of a connection within this machine; empty if unknown.

    By Linux's socket tables, these users have accepted the connection, or listen at its address. A user who has
    accepted it is included even if the listener has ended.
    """
    here, there = (_names(*end()[:2]) for end in (connection.getsockname, connection.getpeername))
    anywhere = {f"{'0' * digits}:{port}" for digits in (8, 32) for port in (name.rpartition(":")[2] for name in there)}
    users = set[int]()
    for table in _TABLES:
        with suppress(OSError, ValueError):
            for line in table.read_text().splitlines()[1:]:
                _, local, remote, state, *_, user = line.split()[:8]
                if local in there | anywhere if state == _LISTENS else local in there and remote in here:
                    users.add(int(user))
    return users


def _names(host: str, port: int) -> set[str]:
    """Return an end of a connection as Linux's socket tables may write it: an IPv4 address also in its IPv6 form."""
    ip = ipaddress.ip_address(host.partition("%")[0])
    forms = [ip.packed, *([bytes(10) + b"\xff\xff" + ip.packed] if ip.version == 4 else [])]
    words = ([form[i : i + 4] for i in range(0, len(form), 4)] for form in forms)
    return {"".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in form) + f":{port:04X}" for form in words}

"""Shards of a job as processes: each has its own connection to the peer's shard, under the identity of the job.

A shard's link is opened like any other: pinned certificates, TLS 1.3, a hello each way. Both hellos contain a key
derived from the identifier of the job's session, the number of the shard, and a count of its starts. So the identifier
of the shard's session follows from the job's and from fresh nonces. Party 0's shard listens on a port of its own, which
the job's session sends to the peer: a free one of `link.shard_ports`. Without that setting, shard k of a command on
0.0.0.0:7000 listens on port 7000 + k, from 1 on. Shards of a node, whose jobs run at the same time, listen on any free
port.

The processes share no memory with this one. On Linux they are forks of a server that has loaded the modules they need,
and holds no link, no thread of gRPC and no secret; elsewhere each is started anew. They receive the circuits that this
process built to count the job. Each lives until the session or this process ends.
"""

from __future__ import annotations

import ipaddress
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from typing_extensions import override

from parties.base import memory, temporary
from parties.base.address import Address, parse_address, taken
from parties.link.identity import Identity
from parties.link.opening import open_link
from parties.link.options import LinkOptions
from smc.circuit import Netlist
from smc.circuit.kept import Name, keep, recent
from smc.engines import Profile, XorSharedEngine, engine_of
from smc.engines.shards import NOWHERE, Door, Failed, Line, Shards, perform
from smc.errors import InputError, LinkError, MachineError, SmcError
from smc.link_shape import LinkShape
from smc.session import Session

if TYPE_CHECKING:
    from parties.base.token_key import TokenKey

WAIT_SECONDS = 30.0  # for the peer's shard to come: both start at the same time
UNBEGUN = "its process has not started"
END_SECONDS = 10.0  # for a process to end by itself
COMMAND = ("click", "parties.jobs.kinds")  # modules that the main module imports; each process imports them again
CIRCUITS = 64  # the last used circuits, sent to shards: 0.5 to 2 MB for a tree of twelve columns
SAFE_PATH = "PYTHONSAFEPATH"
# empty means off; adding a variable later is unsafe while other threads read the environment
os.environ.setdefault(SAFE_PATH, "")
_beginning = threading.Lock()
_taken: set[int] = set()  # ports of `link.shard_ports` that shards of this process use or will use
_Host: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
KEPT = ("timeout", "keepalive", "goodbye", "buffer", "window", "classical", "data_ports")


@dataclass(frozen=True)
class Order:
    """Start data of a shard's process, as plain values."""

    key_pem: bytes = field(repr=False)
    token: TokenKey | None
    certificate_pem: bytes
    peer_pem: bytes
    listen: str | None
    connect: str | None
    rate: LinkShape | None  # limit of the shard's link
    options: dict[str, Any]  # further `LinkOptions`
    job: dict[str, Any]  # for the hellos
    profile: Profile
    circuits: dict[Name, Netlist]  # built by the job's process
    wait: float = WAIT_SECONDS


class Processes(Shards):
    """Shards as processes of this machine."""

    def __init__(self, session: Session, options: LinkOptions, profile: Profile) -> None:
        super().__init__(session, profile.shards)
        self._options = options
        self._profile = replace(profile, shards=1)
        self._begun = Counter[int]()
        self._processes: dict[int, Any] = {}
        self._ports: dict[int, int] = {}  # port of each shard, among `link.shard_ports`

    @property
    def pids(self) -> dict[int, int]:
        """Process number of each live shard."""
        return {number: process.pid for number, process in self._processes.items()}

    @override
    def _listening(self, numbers: Sequence[int]) -> list[tuple[Line, Door]]:
        begun: list[Line] = [self._spawn(number, listen=self._door(number)) for number in numbers]
        return [self._told(line) for line in begun]

    def _told(self, line: Any) -> tuple[Line, Door]:
        """Return a connection to a shard, and its door: the address at which it listens, as integers.

        Raise the error that the shard reports about this machine.
        """
        if isinstance(line, _Dead):
            return line, NOWHERE
        try:
            answer = line.recv()
        except (EOFError, OSError):
            return _Dead(LinkError(UNBEGUN)), NOWHERE
        if isinstance(answer, Failed):
            raise answer.error
        return line, door(answer)

    @override
    def _calling(self, number: int, door: Door) -> Line:
        assert self._options.connect is not None
        try:
            if not door[-1]:
                raise LinkError("a shard of the peer could not start; ask its operator for the reason")
            place = met_at(door, parse_address(self._options.connect), self._options.shards_at)
        except LinkError as error:
            self._begun[number] += 1
            return _Dead(error)
        return self._spawn(number, connect=str(place))

    @override
    def _end(self, number: int) -> None:
        process = self._processes.pop(number, None)
        if process is not None:
            process.join(0.0)  # an ended process is not signalled: another may have its number by now
            process.kill()
            process.join()
        _taken.discard(self._ports.pop(number, 0))  # other sessions may listen there from now on

    def finish(self) -> None:
        """Let all shards say goodbye to the peer's shards and end; wait for each process."""
        for line in [*self._lines.values()]:
            with suppress(OSError):
                line.send(None)
        for process in [*self._processes.values()]:
            process.join(END_SECONDS)

    def kill(self) -> None:
        """End the remaining shards."""
        for number in [*self._processes]:
            self._end(number)

    def _door(self, number: int) -> str:
        address = parse_address(self._options.listen or "", lowest_port=0)
        if (ports := self._options.shard_ports) is not None:
            self._ports[number] = _take(address.host, ports)
            return str(address._replace(port=self._ports[number]))
        fixed = address.port and not self._options.label
        return str(address._replace(port=address.port + 1 + number if fixed else 0))

    def _spawn(self, number: int, listen: str | None = None, connect: str | None = None) -> Line:
        self._begun[number] += 1
        options, session, shape = self._options, self.session, self._options.shape
        job = {
            "protocol": "shard",
            "of": session.derive("shards", size=32).hex(),
            "shard": number,
            "time": self._begun[number],
        }
        if shape is not None and shape.rate is not None:
            shape = replace(shape, rate=shape.rate / self.count)  # all shards share one line
        order = Order(
            options.identity.key_pem,
            options.identity.token,
            options.identity.certificate.public_bytes(Encoding.PEM),
            options.peer.public_bytes(Encoding.PEM),
            listen,
            connect,
            shape,
            {name: getattr(options, name) for name in KEPT},
            job,
            self._profile,
            recent(CIRCUITS),
            WAIT_SECONDS,
        )
        return self._begin(number, order)

    def _begin(self, number: int, order: Order) -> Line:
        context = _context()
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, order), daemon=True, name=f"smc-shard-{number}")
        try:
            with _elsewhere():
                process.start()
        except OSError:  # the process ended before it read its order
            return _Dead(LinkError(UNBEGUN))
        finally:
            there.close()
        self._processes[number] = process
        return here


def _take(host: str, ports: range) -> int:
    with _beginning:
        for port in ports:
            if port not in _taken and not taken(Address(host, port)):
                _taken.add(port)
                return port
    raise MachineError(
        f"link.shard_ports: all of {ports[0]}-{ports[-1]} are in use: name more, or agree on fewer shards"
    )


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Keep a starting Python process from importing modules out of its working directory, where others may place
    files.

    The new process would do so no matter how its parent was started.
    """
    with _beginning:
        previous, os.environ[SAFE_PATH] = os.environ[SAFE_PATH], "1"
        try:
            yield
        finally:
            os.environ[SAFE_PATH] = previous


def _context() -> Any:
    """Return the start method of processes; see the module's docstring. Protocols loaded here are preloaded for all
    shards."""
    if sys.platform != "linux" or sys.version_info < (3, 11, 1):  # a fork is unsafe elsewhere; CVE-2022-42919
        return multiprocessing.get_context("spawn")
    temporary.ensure()  # directory of the server's socket
    context = multiprocessing.get_context("forkserver")
    protocols = [name for name in list(sys.modules) if name.startswith("protocols.")]
    context.set_forkserver_preload(["parties.jobs.execution.fork_server", __name__, *COMMAND, *protocols])
    return context


def door(address: Address) -> Door:
    """Return the door of an address; an empty host stands for the host of the session."""
    if not address.host:
        return (*NOWHERE[:-1], address.port)
    host = ipaddress.ip_address(address.host)
    wide = host if host.version == 6 else ipaddress.IPv6Address(f"::ffff:{host}")
    return (*(int(group, 16) for group in wide.exploded.split(":")), address.port)


def met_at(door: Door, session: Address, shards_at: Sequence[str] = ()) -> Address:
    """Return the address at which this party dials a peer's shard.

    The peer sends the address. It could make this party explore other machines. So the host must be the session's own
    host, or one that this party's operator has named.

    Args:
        door: The peer's shard, as the peer sends it; without a host, the shard is on the session's host.
        session: The address at which the peer's session was dialled.
        shards_at: Other hosts, and networks, that the operator allows.

    Raises:
        MachineError: The host is another one; nothing is dialled.
    """
    groups, port = door[:-1], door[-1]
    if not any(groups):
        return session._replace(port=port)
    wide = ipaddress.IPv6Address(b"".join(group.to_bytes(2) for group in groups))
    host = wide.ipv4_mapped or wide
    if str(host) != session.host and not any(_holds(network, host) for network in _networks(shards_at)):
        raise MachineError(
            f"link.shards_at: the peer's shard has the address {host}, which is not the host of the session, so it "
            f"was not dialled; if this host is the peer's, add the host or its network to link.shards_at"
        )
    return Address(str(host), port)


def _networks(shards_at: Sequence[str]) -> Iterator[_Network]:
    for name in shards_at:
        try:
            yield ipaddress.ip_network(name)
        except ValueError:
            with suppress(OSError):
                for resolved in socket.getaddrinfo(name, None):
                    yield ipaddress.ip_network(str(resolved[4][0]).partition("%")[0])


def _holds(network: _Network, host: _Host) -> bool:
    """Return whether a network contains a host; a local host, such as loopback, only counts in a local network."""
    return host in network and _is_here(host) == _is_here(network)


def _is_here(place: _Host | _Network) -> bool:
    return place.is_loopback or place.is_unspecified or place.is_link_local or place.is_multicast


class _Dead:
    """A shard that could not be started or reached."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def send(self, task: object, /) -> None: ...

    def recv(self) -> Failed:
        return Failed(self._error)


def _work(main: Connection, order: Order) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the job's process ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    serve(main, order)
    os._exit(0)  # nothing is left to write, and gRPC is slow to release its threads


def serve(main: Any, order: Order) -> None:
    """Open the link to the peer's shard; if this one listens, report its port. Then perform tasks until the end.

    Args:
        main: Connection to the job's process.
        order: The shard's order.
    """
    memory.keep_freed()
    keep(order.circuits)
    certificate = x509.load_pem_x509_certificate(order.certificate_pem)
    options = LinkOptions(
        Identity(Path(), Path(), certificate, order.key_pem, order.token),
        x509.load_pem_x509_certificate(order.peer_pem),
        listen=order.listen,
        connect=order.connect,
        wait=order.wait,
        shape=order.rate,
        kernels=order.profile.kernels,
        on_listening=lambda address: main.send(Address("", parse_address(address).port)),
        **order.options,
    )
    with suppress(EOFError, OSError):
        try:
            with open_link(options, order.job) as link:
                engine = engine_of(link.session(), order.profile)
                assert isinstance(engine, XorSharedEngine)
                while (task := main.recv()) is not None:
                    main.send(_plain(perform(engine, task)))
        except (EOFError, OSError):
            raise
        except Exception as error:
            is_ours = type(error) is InputError  # a shard's link depends on no row
            main.send(_plain(Failed(MachineError(str(error)) if is_ours else error)))


def _plain(answer: Any) -> Any:
    if isinstance(answer, Failed) and not isinstance(answer.error, SmcError):
        return Failed(RuntimeError(f"{type(answer.error).__name__}: {answer.error}"))
    return answer


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)

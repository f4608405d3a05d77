"""Shards on several machines of one party, by Ray: an actor each, where Ray has a processor and the memory for it.

Ray is inside one party; between parties there is the pinned link only, as everywhere. It carries what shards are told,
this party's key, counts and shares, and its store may put them on its machines' disks. Its ports are open to the
network, on one machine too, and who reaches them may run any program there. So it is used only with TLS of its own, in
which either end shows a certificate (RAY_USE_TLS), and with its token (RAY_AUTH_MODE): a port of each machine takes
orders to install programs in clear, from whoever has the token, or without one from all. All run this program.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from dataclasses import replace
from typing import Any

from typing_extensions import override

from parties.base.address import Address, parse_address
from parties.base.extras import require
from parties.jobs.inputs import MachineError
from parties.jobs.shard_processes import END_SECONDS, WAIT_SECONDS, Order, Processes, serve
from parties.link.options import LinkOptions
from smc.engines import Profile
from smc.engines.shards import Line
from smc.errors import InputError
from smc.session import Session

_connecting = threading.Lock()
GUARDS = {"RAY_USE_TLS": "1", "RAY_AUTH_MODE": "token"}
TRIES = "RAY_NUM_REDIS_GET_RETRIES"  # to reach Ray, of up to 40 s each; Ray's default is 20 of them


class OnRay(Processes):
    """Shards as actors of Ray; each reserves a processor, and `memory` bytes."""

    def __init__(self, session: Session, options: LinkOptions, profile: Profile, memory: int) -> None:
        super().__init__(session, options, profile)
        assert options.ray is not None
        try:
            self._ray = connected(options.ray)
        except InputError as error:
            raise MachineError(str(error)) from None
        self._actors = self._ray.remote(num_cpus=1, memory=memory, max_restarts=0)(_Actor)
        self._here = self._ray.util.get_node_ip_address()

    @override
    def _door(self, number: int) -> str:
        return str(parse_address(self._options.listen or "", lowest_port=0)._replace(port=0))

    @override
    def _begin(self, number: int, order: Order) -> Line:
        actor = self._actors.remote(order, self._here)
        self._processes[number] = _Handle(self._ray, actor)
        return _Line(self._ray, actor, self._here)


class _Actor:
    """A shard in one of Ray's processes, of a job on the machine `here`."""

    def __init__(self, order: Order, here: str) -> None:
        self._main, there = multiprocessing.Pipe()
        order = carried_to(self.host(), here, order)
        self._thread = threading.Thread(target=self._serve, args=(there, order), daemon=True)
        self._thread.start()

    def _serve(self, there: Any, order: Order) -> None:
        with there:
            serve(there, order)

    def host(self) -> str:
        """Return the address of this machine, as Ray knows it."""
        import ray

        return str(ray.util.get_node_ip_address())

    def send(self, task: Any) -> None:
        """Hand over a task."""
        self._main.send(task)

    def recv(self) -> Any:
        """Return the next answer."""
        return self._main.recv()

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join(END_SECONDS)


def carried_to(host: str, here: str, order: Order) -> Order:
    """Return an order as it is for a machine: a shard that listens does so at the address where the peer is sent.

    On the machine `here`, of the job's own process, that is where its session listens, elsewhere Ray's address.
    """
    if order.listen is None or host == here:
        return order
    return replace(order, listen=str(Address(host, 0)))


class _Line:
    """The way to an actor, from a machine with the address `here`."""

    def __init__(self, ray: Any, actor: Any, here: str) -> None:
        self._ray, self._actor, self._here = ray, actor, here
        self._begun = actor.host.remote()

    def send(self, task: Any, /) -> None:
        self._get(self._begun, WAIT_SECONDS)
        self._actor.send.remote(task)

    def recv(self) -> Any:
        host = self._get(self._begun, WAIT_SECONDS)
        answer = self._get(self._actor.recv.remote())
        return answer._replace(host="" if host == self._here else host) if isinstance(answer, Address) else answer

    def _get(self, reference: Any, seconds: float | None = None) -> Any:
        """Return what an actor answers. `OSError` if it is gone or at its end, or has no place on any machine yet."""
        try:
            return self._ray.get(reference, timeout=seconds)
        except self._ray.exceptions.RayError as error:
            raise ConnectionError(type(error).__name__) from None


class _Handle:
    """What `Processes` does with a process."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self.pid = 0

    def join(self, seconds: float = 0.0) -> None:
        if seconds:
            self._ray.wait([self._actor.join.remote()], timeout=seconds)

    def kill(self) -> None:
        self._ray.kill(self._actor)


def connected(address: str) -> Any:
    """Return Ray, connected to the one at this address, or `auto` for that of this machine.

    `InputError` if there is none, if it is another's, or open to others.
    """
    require_ray()
    os.environ.setdefault(TRIES, "1")  # which Ray reads as it is loaded
    import ray

    with _connecting:
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, configure_logging=False)
            except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
                why = f"no Ray with our certificates and token to be reached at {address} ({type(error).__name__})"
                raise InputError(f"ray: {why}") from None
    return ray


def require_ray() -> None:
    """Raise `InputError` if Ray is not installed here, or would use no TLS or no token."""
    for name, value in GUARDS.items():
        if os.environ.get(name) != value:
            raise InputError(
                f"ray: whoever reaches its ports could read keys and counts: set {name}={value}, here and there"
            )
    require("shards on Ray", "ray")

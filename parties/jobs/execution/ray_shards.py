"""Shards on several machines of one party, by Ray: one actor each, placed where a processor and memory are free.

Ray runs inside one party; between parties there is only the pinned link. Ray carries the shards' orders, this party's
key, counts and shares, and its store may write them to its machines' disks. Its ports are open to the network, even on
one machine, and anyone who reaches them may run any program there. So Ray is used only with its own TLS, in which both
ends show a certificate (RAY_USE_TLS), and with its token (RAY_AUTH_MODE). The token is needed too: one port of each
machine takes commands to install programs without TLS, from everyone if there is no token. All machines run this
program.
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
from parties.jobs.execution.shard_processes import END_SECONDS, WAIT_SECONDS, Order, Processes, serve
from parties.link.options import LinkOptions
from smc.engines import Profile
from smc.engines.shards import Line
from smc.errors import InputError, MachineError
from smc.session import Session

_connecting = threading.Lock()
GUARDS = {"RAY_USE_TLS": "1", "RAY_AUTH_MODE": "token"}
TRIES = "RAY_NUM_REDIS_GET_RETRIES"  # attempts to reach Ray, up to 40 s each; Ray's default is 20


class OnRay(Processes):
    """Shards as actors of Ray; each reserves a processor and `memory` bytes."""

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
    """A shard in a process of Ray. `here` is the address in Ray of the machine where the job's own process runs."""

    def __init__(self, order: Order, here: str) -> None:
        self._main, there = multiprocessing.Pipe()
        order = carried_to(self.host(), here, order)
        self._thread = threading.Thread(target=self._serve, args=(there, order), daemon=True)
        self._thread.start()

    def _serve(self, there: Any, order: Order) -> None:
        with there:
            serve(there, order)

    def host(self) -> str:
        import ray

        return str(ray.util.get_node_ip_address())

    def send(self, task: Any) -> None:
        self._main.send(task)

    def recv(self) -> Any:
        return self._main.recv()

    def join(self) -> None:
        self._thread.join(END_SECONDS)


def carried_to(host: str, here: str, order: Order) -> Order:
    """Return an order adapted to a machine: a listening shard gets the address at which the peer will dial it.

    Args:
        host: Address of the shard's machine in Ray.
        here: Address of the machine of the job's own process. There the shard listens where the job's session listens;
            on any other machine it listens at Ray's address.
        order: The order.
    """
    if order.listen is None or host == here:
        return order
    return replace(order, listen=str(Address(host, 0)))


class _Line:
    """Connection of the job's own process to an actor. `here` is the address of the process's machine in Ray."""

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
        """Return an actor's answer. Raise OSError if the actor has ended, or no machine has room for it yet."""
        try:
            return self._ray.get(reference, timeout=seconds)
        except self._ray.exceptions.RayError as error:
            raise ConnectionError(type(error).__name__) from None


class _Handle:
    """Process handle of an actor, as `Processes` uses it."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor
        self.pid = 0

    def join(self, seconds: float = 0.0) -> None:
        if seconds:
            self._ray.wait([self._actor.join.remote()], timeout=seconds)

    def kill(self) -> None:
        self._ray.kill(self._actor)


def connected(address: str) -> Any:
    """Return the `ray` module, connected to the cluster at this address; `auto` is the cluster of this machine.

    Raise InputError if there is none, or if it does not accept this party's certificates and token.
    """
    require_ray()
    os.environ.setdefault(TRIES, "1")  # Ray reads it while it is imported
    import ray

    with _connecting:
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, configure_logging=False)
            except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
                why = f"no Ray cluster accepts our certificates and token at {address} ({type(error).__name__})"
                raise InputError(f"ray: {why}") from None
    return ray


def require_ray() -> None:
    """Raise InputError if Ray is not installed here, or would run without TLS or without a token."""
    for name, value in GUARDS.items():
        if os.environ.get(name) != value:
            raise InputError(
                f"ray: anybody who can connect to Ray's ports could read keys and counts; set {name}={value} for Ray "
                f"and for this command"
            )
    require("shards on Ray", "ray")

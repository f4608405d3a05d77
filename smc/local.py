"""Runner of both parties of a program in two threads of one process, for tests, harnesses and benchmarks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from smc.channel import Channel, MemoryChannel, memory_pair
from smc.errors import PeerLeftError
from smc.kernels.warm import warm
from smc.primitives.prg import Prg
from smc.session import Session, derive

Result = TypeVar("Result")


class _Party(threading.Thread, Generic[Result]):
    """Thread of one party: stores its result or its error, and closes its channel when it stops."""

    def __init__(self, program: Callable[[Session], Result], session: Session, channel: MemoryChannel) -> None:
        super().__init__(daemon=True)
        self._program = program
        self._session = session
        self._channel = channel
        self.result: list[Result] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result.append(self._program(self._session))
        except BaseException as error:  # run_local raises it to the caller
            self.error = error
        finally:
            self._channel.close()


def run_local(
    program: Callable[[Session], Result],
    timeout: float = 60.0,
    seed: bytes | None = None,
    wrap: Callable[[int, Channel], Channel] | None = None,
    kernels: Iterable[str] | None = None,
) -> tuple[Result, Result]:
    """Run a program once as party 0 and once as party 1 over an in-memory channel.

    Args:
        program: The program; `session.party` tells the parties apart.
        timeout: Seconds that a party waits for the other before it raises `LinkError`. More if in doubt: a party that
            computes for long is silent.
        seed: All randomness but RSA keys is derived from it; for tests only. None: randomness of the operating system.
        wrap: wrap(party, channel) returns the channel that the party uses: it may add a recorder, a slow link, a fault.
            None: the plain channel.
        kernels: The modules of kernels that the program may call (None: any). They are compiled first if this machine
            has never compiled them. If in doubt, None.

    Returns:
        The result of party 0 and that of party 1.

    Raises:
        BaseException: The error of the party that failed. If both fail, the error that does not follow from the other
            party's end.

    Examples:
        >>> run_local(lambda session: session.party, kernels=())
        (0, 1)
    """
    warm(kernels)  # before a time-out or a meter starts
    identifier = derive(seed, "session", size=32) if seed is not None else os.urandom(32)
    parties: list[_Party[Result]] = []
    for number, channel in enumerate(memory_pair(timeout)):
        prg = Prg(derive(seed, "party", number)) if seed is not None else None
        outer = wrap(number, channel) if wrap is not None else channel
        parties.append(_Party(program, Session(number, outer, identifier, prg), channel))
    for party in parties:
        party.start()
    for party in parties:
        party.join()
    errors = [party.error for party in parties if party.error is not None]
    if errors:
        raise next((e for e in errors if not isinstance(e, PeerLeftError)), errors[0])
    return parties[0].result[0], parties[1].result[0]

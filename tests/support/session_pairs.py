"""Two ledgers of one test with their sessions over real gRPC."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from parties.base.address import Address
from parties.link.identity import Identity
from parties.link.listening import Port
from parties.node.events import Events
from parties.node.links import executor, sessions
from parties.node.links.sessions import Sessions
from tests.support.ledgers import TASK, Pair, paired


class Nodes:
    """Two ledgers with their sessions: alice's listen, bob's dial once `start` is called."""

    def __init__(self, pair: Pair, parties: Any, identities: dict[str, Identity], limit: int) -> None:
        self.pair = pair
        self.logs = (io.StringIO(), io.StringIO())
        alice, bob = pair.parties
        self.alice = self._sessions(0, parties.options("alice", "bob", listen="127.0.0.1:0"), limit)
        self.port = Port(
            Address("127.0.0.1", 0),
            identities["alice"],
            {identities["bob"].certificate: lambda label: self.alice.admit(label.removeprefix(sessions.LABEL))},
            10.0,
        )
        self.bob = self._sessions(1, parties.options("bob", "alice", connect=str(self.port.address)), limit)
        alice.changed = lambda _: self.alice.wake()
        bob.changed = lambda _: self.bob.wake()

    def _sessions(self, party: int, options: Any, limit: int) -> Sessions:
        own = self.pair.parties[party]
        events = Events(self.logs[party])
        return Sessions(own.ledger, own.who, options, limit, lambda: True, events)

    def states(self, job: str) -> list[str]:
        return [party.state(job) for party in self.pair.parties]

    def run(self, job: str) -> bool:
        """Whether a session of the job is under way at either."""
        return self.alice.progress(job) is not None or self.bob.progress(job) is not None

    def close(self) -> None:
        for part in (self.bob, self.alice):
            part.stop(0.1)
        self.port.close()


@contextmanager
def running(
    directory: Path, parties: Any, identities: dict[str, Identity], limit: int = 2
) -> Iterator[tuple[Pair, Nodes]]:
    with paired(directory, identities) as pair:
        nodes = Nodes(pair, parties, identities, limit)
        try:
            yield pair, nodes
        finally:
            nodes.close()


def finds(what: Any) -> Callable[..., executor.Finished]:
    """In place of `executor.run`: says goodbye and has found a tree, or fails."""

    def run(link: Any, order: Any, tell: Any) -> executor.Finished:
        tell(executor.Met(0, "mixed"))
        if isinstance(what, BaseException):
            link.session().send("met", np.zeros(1, dtype=np.uint8))
            link.session().receive("met", np.uint8, (1,))  # so the other party is here, too, and not told by our end
            raise what
        link.finish()
        return executor.Finished(TASK.states.encode(what), link.session().meter.total, {"total": {}, "phases": {}})

    return run

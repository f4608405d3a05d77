"""The bench: every case over an in-memory link and over gRPC with mutual TLS on loopback, two processes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from parties import identity
from parties.cases import Case, chosen_cases
from parties.link import LinkOptions, open_link
from smc.engines import make_engine
from smc.local import run_local
from smc.meter import Cost
from smc.session import Session

JOB = {"protocol": "bench"}
REPEATS = 3  # the median run is reported
PEER_DEADLINE = 120.0


@dataclass(frozen=True)
class Measurement:
    """One row of the table; bytes are those of both directions."""

    protocol: str
    engine: str
    ot: str
    batch: int
    link: str
    seconds: float
    bytes: int
    messages: int
    rounds: int
    and_gates: int

    def as_dict(self) -> dict[str, str | int | float]:
        """The row as a JSON object."""
        return asdict(self)


def _play(session: Session, case: Case) -> Cost:
    engine = make_engine(session, case.engine, case.ot)
    case.run(engine, case.batch)
    session.meter.report()
    return session.meter.total


def _measurement(case: Case, link: str, costs: list[Cost]) -> Measurement:
    cost = sorted(costs, key=lambda one: one.seconds)[len(costs) // 2]
    total = cost.bytes_sent + cost.bytes_received
    return Measurement(
        case.protocol, case.engine, case.ot, case.batch, link,
        round(cost.seconds, 4), total, cost.messages, cost.rounds, cost.and_gates,
    )  # fmt: skip


def in_memory(case: Case) -> Measurement:
    """Two threads of this process."""
    return _measurement(case, "memory", [run_local(lambda s: _play(s, case))[0] for _ in range(REPEATS)])


def over_link(session: Session, case: Case) -> Measurement:
    """This party's side over a link that is already there; the peer calls the same."""
    costs = [_play(session.branch(f"{case.title} {i}"), case) for i in range(REPEATS)]
    return _measurement(case, "grpc", costs)


@contextmanager
def peer_session(only: str) -> Iterator[Session]:
    """A session with a second process of this program, over gRPC with mutual TLS on loopback."""
    with tempfile.TemporaryDirectory(prefix="smc-bench-") as name:
        directory = Path(name)
        own, peer = (identity.create(f"party{i}", ["127.0.0.1"], directory) for i in (0, 1))
        children: list[subprocess.Popen[bytes]] = []

        def start_peer(address: str) -> None:
            children.append(subprocess.Popen([sys.executable, "-m", "parties.bench", name, address, only]))

        options = LinkOptions(own, peer.certificate, listen="127.0.0.1:0", on_listening=start_peer)
        try:
            with open_link(options, JOB) as link:
                yield link.session()
            children[0].wait(PEER_DEADLINE)
        finally:
            for child in children:
                child.kill()


def run_all(told: Callable[[Measurement], None], only: str = "") -> None:
    """Measure every case whose title contains `only`; `told` gets each row as it is ready."""
    with peer_session(only) as session:
        for case in chosen_cases(only):
            told(in_memory(case))
            told(over_link(session, case))


def play_peer(directory: Path, address: str, only: str) -> None:
    """The second process: party 1 of every case over gRPC."""
    own = identity.load_identity(directory / "party1.key", directory / "party1.crt")
    peer = identity.load_certificate(directory / "party0.crt")
    with open_link(LinkOptions(own, peer, connect=address), JOB) as link:
        for case in chosen_cases(only):
            over_link(link.session(), case)


if __name__ == "__main__":
    play_peer(Path(sys.argv[1]), sys.argv[2], sys.argv[3])

"""Benchmark: two processes on this machine run every case over gRPC with mutual TLS, on an emulated link.

Both processes read one clock, so they start a run at the same moment; the run lasts until the later one has its result.
Every run is checked twice: its result against the plain computation, its costs against the forecast, to the byte.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from parties.base.temporary import HeldDirectory
from parties.bench import pair
from parties.bench.cases import LONGEST_SECONDS, Case
from parties.bench.cases import find as find_case
from smc.counting import Forecast
from smc.engines import engine_of
from smc.errors import InputError
from smc.link_shape import LinkShape
from smc.local import run_local
from smc.meter import Cost, Meter
from smc.session import Session

LEAD_SECONDS = 0.01  # from the message with the starting time to the start, besides the link's delay
COUNTS = ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates")
MODULE = "parties.bench.measuring"

OnProgress = Callable[[str], None]


@dataclass(frozen=True)
class Measurement:
    """Measurement of one case on one link. Bytes, messages, rounds and phases are party 0's; a run ends with both.

    `seconds` is the median; `phases` are those of the median run, each without its inner phases.
    """

    link: str
    protocol: str
    profile: str
    engine: str
    ot: str
    garbling: str
    form: str
    batch: int
    runs: int
    seconds: float
    seconds_min: float
    seconds_max: float
    predicted_seconds: float
    bytes_sent: int
    bytes_received: int
    predicted_bytes: int
    messages: int
    rounds: int
    and_gates: int
    and_gates_per_second: int
    phases: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Skipped:
    """Case that is not measured on a link, because its forecast is too long."""

    link: str
    protocol: str
    profile: str
    batch: int
    predicted_seconds: float


@dataclass(frozen=True)
class _Run:
    seconds: float
    meters: tuple[Meter, Cost]  # of party 0, and the total of party 1


def measure(
    link: str, shape: LinkShape, cases: Sequence[Case], repeats: int, on_progress: OnProgress
) -> tuple[list[Measurement], list[Skipped]]:
    """Measure all cases over one link with one pair of processes.

    Args:
        link: Name of the link.
        shape: Speed and latency of the link.
        cases: The cases.
        repeats: Runs of each case.
        on_progress: Called with a description of the current step.

    Returns:
        The measurements, and the cases that would take too long.

    Raises:
        RuntimeError: A result or a forecast is wrong; for a forecast of a user's program InputError.
    """
    todo: list[tuple[Case, Forecast]] = []
    skipped: list[Skipped] = []
    for case in cases:
        on_progress(f"{link}: forecast of {case.title}")
        forecast = case.forecast()
        predicted = forecast.seconds(shape)
        if predicted > LONGEST_SECONDS:
            skipped.append(Skipped(link, case.workload.name, str(case.profile), case.batch, round(predicted, 1)))
        else:
            todo.append((case, forecast))
    if not todo:
        return [], skipped
    rows = []
    on_progress(f"{link}: starting the peer")
    with _peer_session(shape, [case for case, _ in todo], repeats) as session:
        warm_up([case for case, _ in todo])
        session.receive("bench.ready", np.uint8, (0,))
        for case, forecast in todo:
            runs = []
            for turn in range(repeats):
                on_progress(f"{link}: {case.title}, run {turn + 1} of {repeats}")
                runs.append(_lead(session, shape, case, turn))
            for run in runs:
                _compare(case, forecast, run)
            rows.append(_row(link, shape, case, forecast, runs))
    return rows, skipped


def warm_up(cases: Sequence[Case]) -> None:
    """Load kernels and build circuits in advance, by one small run of each program and profile in this process."""
    for case in {(case.workload.name, case.profile): case for case in cases}.values():
        run_local(partial(_play_one, case))


def _play_one(case: Case, session: Session) -> None:
    case.workload.play(engine_of(session, case.profile), 1)


def _lead(session: Session, shape: LinkShape, case: Case, turn: int) -> _Run:
    """Run party 0's side of run number `turn`: it sets the starting time, and receives the peer's measurements."""
    branch = session.branch(f"{case.title} {turn}")
    start = time.monotonic_ns() + round(1e9 * (LEAD_SECONDS + 2 * (shape.delay or 0.0)))
    session.send("bench.start", np.array([start], dtype=np.int64))
    ended = _play(branch, case, start)
    peer_ended, *counts = (int(value) for value in session.receive("bench.end", np.int64, (1 + len(COUNTS),)))
    cost = Cost(**dict(zip(COUNTS, counts, strict=True)))
    return _Run((max(ended, peer_ended) - start) / 1e9, (branch.meter, cost))


def _follow(session: Session, case: Case, turn: int) -> None:
    """Run party 1's side of run number `turn`: it starts at the time received, and sends its measurements."""
    branch = session.branch(f"{case.title} {turn}")
    (start,) = session.receive("bench.start", np.int64, (1,))
    ended = _play(branch, case, int(start))
    counts = [getattr(branch.meter.total, name) for name in COUNTS]
    session.send("bench.end", np.array([ended, *counts], dtype=np.int64))


def _play(session: Session, case: Case, start: int) -> int:
    """Run the program at `start` and check its result; return the end. Both times are nanoseconds of the common
    clock."""
    time.sleep(max(0, start - time.monotonic_ns()) / 1e9)
    result = case.play(engine_of(session, case.profile))
    ended = time.monotonic_ns()
    case.check(result)
    return ended


def _compare(case: Case, forecast: Forecast, run: _Run) -> None:
    measured = run.meters[0].total, run.meters[1]
    for party in (0, 1):
        for name in COUNTS:
            counted, real = getattr(forecast.costs[party], name), getattr(measured[party], name)
            if counted != real:
                wrong = InputError if case.workload.call else RuntimeError  # opened values may steer a user's program
                raise wrong(f"{case.title}: party {party} measured {name} = {real:,}, the forecast says {counted:,}")


def _row(link: str, shape: LinkShape, case: Case, forecast: Forecast, runs: Sequence[_Run]) -> Measurement:
    seconds = sorted(run.seconds for run in runs)
    median = statistics.median(seconds)
    typical = min(runs, key=lambda run: abs(run.seconds - median))
    meter, profile = typical.meters[0], case.profile
    return Measurement(
        link=link,
        protocol=case.workload.name,
        profile=str(profile),
        engine=profile.engine,
        ot=profile.ot,
        garbling=profile.garbling if profile.garbles else "",
        form=profile.form or "",
        batch=case.batch,
        runs=len(runs),
        seconds=round(median, 6),
        seconds_min=round(seconds[0], 6),
        seconds_max=round(seconds[-1], 6),
        predicted_seconds=round(forecast.seconds(shape), 6),
        bytes_sent=meter.total.bytes_sent,
        bytes_received=meter.total.bytes_received,
        predicted_bytes=forecast.bytes,
        messages=meter.total.messages,
        rounds=meter.total.rounds,
        and_gates=meter.total.and_gates,
        and_gates_per_second=round(meter.total.and_gates / median),
        phases=exclusive(meter, typical.seconds),
    )


def exclusive(meter: Meter, seconds: float) -> dict[str, dict[str, float]]:
    """Return bytes (both directions) and seconds by the last name of each phase, without its inner phases.

    "other" has the costs outside any phase, and those of levels outside their inner phases.

    Args:
        meter: Costs of the run.
        seconds: Time of the run.
    """
    total = Cost(meter.total.bytes_sent, meter.total.bytes_received, seconds=seconds)
    costs = {"": total, **meter.phases}
    shares: dict[str, dict[str, float]] = {}
    for path, cost in costs.items():
        inner = [other for inside, other in meter.phases.items() if inside.rpartition("/")[0] == path]
        share = shares.setdefault(_name(path), {"bytes": 0, "seconds": 0.0})
        share["bytes"] += _bytes(cost) - sum(_bytes(other) for other in inner)
        share["seconds"] += cost.seconds - sum(other.seconds for other in inner)
    return {name: share for name, share in shares.items() if share["bytes"] or share["seconds"] >= 1e-4}


def _name(path: str) -> str:
    last = path.rpartition("/")[2]
    return "other" if not last or last.startswith("level ") else last


def _bytes(cost: Cost) -> int:
    return cost.bytes_sent + cost.bytes_received


@contextmanager
def _peer_session(shape: LinkShape, cases: Sequence[Case], repeats: int) -> Iterator[Session]:
    with HeldDirectory("bench") as name:
        directory = Path(name)
        plan = {"link": str(shape), "repeats": repeats, "cases": [[case.title, *case.workload.call] for case in cases]}
        (directory / "plan.json").write_text(json.dumps(plan))
        with pair.lead(directory, ["-m", MODULE], _slower(shape)) as session:
            yield session


def _slower(shape: LinkShape) -> LinkShape | None:
    return None if shape == LinkShape() else shape


def play_peer(directory: Path, address: str) -> None:
    """Run party 1 of every case in the plan, as the second process.

    Args:
        directory: Directory with the plan and the identities.
        address: Address of party 0.
    """
    plan = json.loads((directory / "plan.json").read_text())
    shape = LinkShape.parse(plan["link"])
    cases = [find_case(*named) for named in plan["cases"]]
    with pair.join(directory, address, _slower(shape)) as session:
        warm_up(cases)
        session.send("bench.ready", np.empty(0, dtype=np.uint8))
        for case in cases:
            for turn in range(plan["repeats"]):
                _follow(session, case, turn)


if __name__ == "__main__":
    play_peer(Path(sys.argv[1]), sys.argv[2])

"""Runs of a job on own numbers and on random shares of the same joint numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from parties.jobs.contributing import _numbers
from parties.jobs.holders import joined
from parties.jobs.kind import Kind
from protocols.shares import Question, Shares, mask, masked
from smc.engines import Profile
from smc.local import run_local
from tests.support.shards import Meeting

SEED = bytes(range(16))


def offsets(party: int, random: int | None) -> Any:
    """What a holder without a row sends the party: r or -r modulo 2^64, anew for each question; zeros without."""
    drawn = None if random is None else np.random.default_rng(random)

    def ask(question: Question, size: int) -> Shares:
        del question
        if drawn is None:
            return np.zeros(size, dtype=np.uint64)
        r = drawn.integers(0, 1 << 64, size, dtype=np.uint64, endpoint=False)
        return r if party == 0 else np.uint64(0) - r

    return ask


def of_holders(party: int, holders: Sequence[Any]) -> Any:
    """What holders with these data send the party, see `protocols.shares`."""
    numbers, holders = itertools.count(), deepcopy(holders)  # some follow the run, and both parties ask at their time

    def ask(question: Question, size: int) -> Shares:
        number, total = next(numbers), np.zeros(size, dtype=np.uint64)
        for place, data in enumerate(holders):
            seed, own = bytes([place]) * 32, _numbers(data, question)
            total += mask(seed, b"", number, size) if party == 0 else masked(own, seed, b"", number)
        return total

    return ask


def outcome(
    task: Kind,
    data: Sequence[Any],
    profile: Profile,
    shares: bool = True,
    random: int | None = None,
    holders: Sequence[Any] = (),
    sizes: list[int] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The state that both parties open, and the cost of party 0: on own numbers, or on these as shares.

    `sizes` gets how many numbers each question asks.
    """
    meters: dict[int, Any] = {}
    met = Meeting()

    def party(session: Any) -> Any:
        engine = met.engine_of(session, profile)
        engine.masked_numbers = shares
        own = data[session.party]
        ask = of_holders(session.party, holders) if holders else offsets(session.party, random)

        def asked(question: Question, size: int) -> Shares:
            if sizes is not None and session.party == 0:
                sizes.append(size)
            return ask(question, size)

        own = joined(own, asked) if shares else own
        state = task.run(engine, own, task.states.beginning, lambda step: None)
        meters[session.party] = session.meter.report()["total"]
        return task.states.encode(state)

    one, other = run_local(party, seed=SEED)
    assert one == other
    assert meters[0]["bits_opened"] == meters[1]["bits_opened"]
    return one, {name: value for name, value in meters[0].items() if "seconds" not in name}

"""A mechanism as a black box: two neighbouring tables, and any number of outcomes.

The protocol itself runs on the clear engine: the same program and circuits as between two parties, on a batch with one
copy for each sample. Randomness comes from the system, or from a seed for repeatable runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parties.checking import evidence
from parties.checking.statistics.divergence import most_apart, rho_shown
from parties.checking.statistics.losses import LEAST_SAMPLES, Finding, Outcomes, examine, guess
from parties.jobs.spending import exact
from parties.node.budget.composition import epsilon_at
from smc.engines import Engine, make_engine
from smc.local import run_local
from smc.session import Session, derive

PART = 1 << 14  # samples that are drawn at once
ERROR = 1e-9  # default probability that a kept promise is called broken


@dataclass(frozen=True)
class Mechanism:
    """Mechanism under test, with two neighbouring tables and its privacy guarantee."""

    name: str
    tables: str  # description of the two neighbours
    epsilon: float
    delta: float
    draw: Callable[[Engine, int, int], Outcomes]  # independent outcomes on table 0 or 1, in a given number
    cost: int = 1  # cost of a sample relative to a count; the number of samples is divided by it
    rho: float = 0.0  # if not 0, rho is promised, epsilon follows at delta, and outcomes are `evidence.of_gaussian`


def check(
    mechanism: Mechanism,
    samples: int,
    error: float = ERROR,
    seed: bytes | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Finding:
    """Sample a mechanism on both tables and test its promise.

    Args:
        mechanism: The mechanism.
        samples: Samples of each table, divided by the mechanism's `cost`; `LEAST_SAMPLES` if that is more.
        error: Probability that a kept promise is called broken.
        seed: Seed for repeatable samples; None for the system's randomness.
        on_progress: Called with the number of finished samples.
    """
    samples = max(LEAST_SAMPLES, samples // mechanism.cost)
    first = sample(mechanism, 0, samples, seed, on_progress)
    second = sample(mechanism, 1, samples, seed, lambda done: on_progress(samples + done))
    return judge(mechanism, first, second, error)


def judge(mechanism: Mechanism, first: Outcomes, second: Outcomes, error: float = ERROR) -> Finding:
    """Test a mechanism's promise on outcomes of both tables.

    Args:
        mechanism: The mechanism.
        first: Outcomes of table 0.
        second: Outcomes of table 1.
        error: Probability that a kept promise is called broken.
    """
    if mechanism.rho:
        return _concentrated(mechanism, first, second, error)
    return examine(first, second, mechanism.epsilon, mechanism.delta, error)


def sample(
    mechanism: Mechanism,
    table: int,
    samples: int,
    seed: bytes | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Outcomes:
    """Return independent outcomes on one table.

    Args:
        mechanism: The mechanism.
        table: Number of the neighbouring table: 0 or 1.
        samples: Number of outcomes.
        seed: Seed for repeatable samples; None for the system's randomness.
        on_progress: Called with the number of finished samples.
    """
    parts: list[Outcomes] = []
    for start in range(0, samples, PART):
        copies = min(PART, samples - start)

        def program(session: Session, copies: int = copies) -> Outcomes:
            return mechanism.draw(make_engine(session, "clear"), table, copies)

        parts.append(run_local(program, seed=None if seed is None else derive(seed, "samples", table, start))[0])
        on_progress(start + copies)
    return np.concatenate(parts)


def _concentrated(mechanism: Mechanism, first: Outcomes, second: Outcomes, error: float) -> Finding:
    of_first, of_second = first / evidence.ONE, second / evidence.ONE
    rho = rho_shown(of_first, of_second, mechanism.rho, error / 2)
    return Finding(
        mechanism.epsilon,
        mechanism.delta,
        samples=len(first),
        error=error,
        loss=epsilon_at(exact(rho), exact(mechanism.delta)),
        guess=guess(of_first < 1 / 2, of_second < 1 / 2, 1 + most_apart(mechanism.rho), error / 2),
    )

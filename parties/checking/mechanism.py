"""A mechanism as a black box: two neighbouring tables, outcomes as often as they are asked for.

What runs is the protocol itself, on the clear engine: the same text and the same circuits as between two parties, on a
batch of as many copies as there are samples. Randomness is the system's or, with a seed, the same every time.
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
ERROR = 1e-9  # by default, how likely a kept promise is called broken


@dataclass(frozen=True)
class Mechanism:
    """A mechanism on two neighbouring tables, and what it promises."""

    name: str
    tables: str  # the two neighbours, in words
    epsilon: float
    delta: float
    draw: Callable[[Engine, int, int], Outcomes]  # its outcomes on table 0 or 1, so many independent ones
    cost: int = 1  # of a sample, in those of a count: so many times fewer are asked for
    rho: float = 0.0  # if not 0, this is promised, epsilon follows at delta, and outcomes are `evidence.of_gaussian`


def check(
    mechanism: Mechanism,
    samples: int,
    error: float = ERROR,
    seed: bytes | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Finding:
    """Ask it `samples` times on either table, less often by its cost, and examine the answers.

    `on_progress` hears now and then how many there are.
    """
    samples = max(LEAST_SAMPLES, samples // mechanism.cost)
    first = sample(mechanism, 0, samples, seed, on_progress)
    second = sample(mechanism, 1, samples, seed, lambda done: on_progress(samples + done))
    return judge(mechanism, first, second, error)


def judge(mechanism: Mechanism, first: Outcomes, second: Outcomes, error: float = ERROR) -> Finding:
    """Judge by the outcomes of either table what the mechanism promises."""
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
    """Draw so many independent outcomes on table 0 or 1."""
    parts: list[Outcomes] = []
    for start in range(0, samples, PART):
        copies = min(PART, samples - start)

        def program(session: Session, copies: int = copies) -> Outcomes:
            return mechanism.draw(make_engine(session, "clear"), table, copies)

        parts.append(run_local(program, seed=None if seed is None else derive(seed, "samples", table, start))[0])
        on_progress(start + copies)
    return np.concatenate(parts)


def _concentrated(mechanism: Mechanism, first: Outcomes, second: Outcomes, error: float) -> Finding:
    """Return what is found of a promise of rho, as the epsilon that it is at the mechanism's delta."""
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

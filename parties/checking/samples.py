"""Samples of a noise law without its circuit: from the coins and tables that the circuit is built from.

This is much faster for mechanisms with many samples, or wide ones. Coins are taken as independent; the law of the
circuit is within 2^-40 of that (`protocols.release.coins`). Uniform numbers have 53 bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parties.checking.statistics.losses import Outcomes
from protocols.arrays import Numbers
from protocols.release.gaussian import ScaledSum
from protocols.release.geometric import DigitLaw
from protocols.release.laws import Law
from smc.engines import Engine

SEED_WORDS = 4
Simulated = Callable[[np.random.Generator, int, int], Outcomes]  # generator, table 0 or 1, number of outcomes


def samples(law: Law, shape: tuple[int, ...], rng: np.random.Generator) -> Numbers:
    """Return independent samples, int64[shape].

    Args:
        law: The law of the noise.
        shape: Shape of the samples.
        rng: Source of randomness.
    """
    if isinstance(law, ScaledSum):
        return samples(law.fine, shape, rng) + (samples(law.coarse, shape, rng) << law.shift)
    if isinstance(law, DigitLaw):
        digits, coins = np.zeros(shape, dtype=np.int64), law.coins
        for bit_index, threshold in enumerate(coins.thresholds[: law.digits]):
            digits |= _toss(threshold, coins.width, shape, rng) << bit_index
        signs = coins.thresholds[law.digits :]
        return digits ^ -_toss(signs[0], coins.width, shape, rng) if signs else digits
    table = law.probabilities()
    values, chances = np.array(list(table)), np.cumsum([float(chance) for chance in table.values()])
    places = np.searchsorted(chances, rng.random(shape), side="right")
    return values[np.minimum(places, len(values) - 1)].astype(np.int64)


def simulated(draw: Simulated) -> Callable[[Engine, int, int], Outcomes]:
    """Return a mechanism's sampler as a program of two parties: party 0 returns what `draw` gives, party 1 zeros."""

    def outcomes(engine: Engine, table: int, copies: int) -> Outcomes:
        if engine.party:
            return np.zeros(copies, dtype=np.int64)
        return draw(np.random.default_rng(engine.session.prg.words(SEED_WORDS).tolist()), table, copies)

    return outcomes


def _toss(threshold: int, width: int, shape: tuple[int, ...], rng: np.random.Generator) -> Numbers:
    return (rng.random(shape) < threshold / (1 << width)).astype(np.int64)

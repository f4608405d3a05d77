"""Discrete Laplace noise, P(x) = (1 - alpha) / (1 + alpha) alpha^|x| for all integers, with alpha = e^(-1 / scale).

A sign and a geometric number g are drawn, and the sample is g, or -1 - g = ~g if the sign is set. The sign is a coin of
bias alpha / (1 + alpha): then P(g) = (1 - alpha) alpha^g / (1 + alpha) and P(-1 - g) = alpha P(g), as required. So the
sign is a coin with the bias of the lowest digit of g (`protocols.release.geometric`). Neither a coin for zero nor an
addition of 1 is needed, and ~g is g XOR the sign, which is free.

Privacy. An integer that one row changes by at most D, opened with this noise at the scale D / epsilon, is
epsilon-private, because P(x) / P(x - d) <= alpha^-|d| (Ghosh, Roughgarden, Sundararajan, "Universally
utility-maximizing privacy mechanisms", STOC 2009). If one row changes several integers, D is the sum of these changes.

Statistical distance: as for geometric noise, with one coin more; values outside [-2^k, 2^k) have probability
alpha^(2^k).

Cost: (k + 1) h + a - h - 1 ANDs or less, so 155 at a scale of 1 and 251 at a scale of 10, for s = 40.
"""

from __future__ import annotations

from fractions import Fraction

from typing_extensions import override

from protocols.release.coins import Coins
from protocols.release.geometric import DigitLaw, digit_coins
from smc.circuit import Integer


class DiscreteLaplace(DigitLaw):
    """Discrete Laplace noise."""

    @property
    def coins(self) -> Coins:
        """Coins of a sample: one for each digit of g, lowest first, then the sign."""
        return digit_coins(self.scale, self.security, sign=True)

    @property
    @override
    def least(self) -> int:
        return -1 << self.digits

    @override
    def draw(self, random: Integer) -> Integer:
        *digits, sign = self.coins.toss(random)
        return Integer(random.graph, [*(digit ^ sign for digit in digits), sign], signed=True)

    @override
    def probabilities(self) -> dict[int, Fraction]:
        self._listable()
        law, half = self.coins.law(), 1 << self.digits
        return {value: law[value] if value >= 0 else law[half + ~value] for value in range(-half, half)}

"""Noise that is known: what is made of noisy numbers, without chance."""

from __future__ import annotations

from fractions import Fraction

from typing_extensions import override

from protocols.release.laws import Law
from smc.circuit import Integer


class Always(Law):
    """One integer from -2 to 1, whatever is drawn."""

    bits, least, greatest, distance = 1, -2, 1, Fraction(0)

    def __init__(self, value: int) -> None:
        self.value = value

    @override
    def draw(self, random: Integer) -> Integer:
        return Integer.constant(random.graph, self.value, 2).as_signed()

    @override
    def probabilities(self) -> dict[int, Fraction]:
        return {self.value: Fraction(1)}

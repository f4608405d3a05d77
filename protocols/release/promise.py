"""What epsilon and delta may be, for every question with noise."""

from __future__ import annotations

from fractions import Fraction

from smc.errors import InputError

LEAST_EPSILON = 2.0**-20
MOST_EPSILON = 16.0  # beyond it an outcome of the neighbour is not seen in as many samples as there can be


def check_delta(delta: float, rows: int) -> None:
    """`InputError` unless delta promises something: to give away one row in n, chosen at random, keeps (0, 1 / n)."""
    if Fraction(str(delta)) * rows >= 1:
        raise InputError(
            f"delta: must be less than one over the greatest number of rows, 1 / {rows}, and better far less: "
            f"{delta:g} would allow to give whole rows away"
        )

"""Limits of epsilon and delta, for every question with noise."""

from __future__ import annotations

from fractions import Fraction

from smc.errors import InputError

LEAST_EPSILON = 2.0**-20
MOST_EPSILON = 16.0  # beyond it, no feasible number of samples has an outcome of the neighbour

MOST_USUAL = 10.0  # a larger epsilon gives a warning


def epsilon_warnings(epsilon: float | None) -> list[str]:
    """Return a warning, as a list of one sentence, if epsilon is so large that it promises hardly anything; else [].

    None stands for a question without epsilon.

    Examples:
        >>> epsilon_warnings(20)
        ['epsilon 20 promises hardly anything: one row or person may make a result e^20 times as likely; 1 is usual.']
    """
    if epsilon is None or epsilon <= MOST_USUAL:
        return []
    factor = f"one row or person may make a result e^{epsilon:g} times as likely"
    return [f"epsilon {epsilon:g} promises hardly anything: {factor}; 1 is usual."]


def check_delta(delta: float, rows: int) -> None:
    """Raise InputError unless delta is below 1 / rows.

    Otherwise the publication of one random row of n would be private: it is (0, 1 / n)-private.

    Args:
        delta: Delta of the question.
        rows: Greatest number of rows.

    Raises:
        InputError: Delta is 1 / rows or more.
    """
    if Fraction(str(delta)) * rows >= 1:
        raise InputError(
            f"delta: {delta:g} is too large, since it would permit the publication of whole rows; choose far less "
            f"than 1 / {rows}, one over the largest number of rows"
        )

"""Taylor terms, table cells and digits of the private logarithm, derived from its tolerance and bound.

For a count 1 <= x <= bound of N bits write x = 2^n u with 1 <= u < 2. The unit interval of u is cut into 2^m cells;
a cell's centre is c, and u = c + d with |d| <= r = 2^-(m+1). The protocol computes, by Horner's rule on integers,

    W_k = A_k,    W_{j-1} = A_{j-1} + D_j W_j,    ln x ~ W_0 / 2^F,

with A_j the nearest integer to a_j 2^(S_j) (a_0 = ln c; the n ln 2 is a rounded table entry of its own), D_j = d cut
off to Q_j fraction bits, in units of 2^-Q_j, and S_k = s, S_{j-1} = S_j + Q_j, F = S_0. No product is rounded or
truncated. `error` bounds the error in exact rational arithmetic: the theorem of docs/math/logarithm.md. By the lemma
there, error <= delta / 4 is what ID3-delta asks for (Lindell, Pinkas, J. Cryptology 15, 2002; there without cells).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from smc.engines.words import MAX_WIDTH
from smc.errors import InputError
from smc.recipes import GARBLED, Prices

MAX_TERMS = 16
MAX_CELLS = 10  # largest m; more cells never reduce the cost


@dataclass(frozen=True)
class Precision:
    """Parameters of one private logarithm; the module's docstring defines the letters."""

    bound: int
    cells: int  # m
    digits: tuple[int, ...]  # Q_1 .. Q_k
    scale: int  # s

    @property
    def terms(self) -> int:
        """k: number of Taylor terms."""
        return len(self.digits)

    @property
    def count_width(self) -> int:
        """N: bits of a count; at least 2, so that there is a fraction bit to cut."""
        return count_width(self.bound)

    @property
    def scales(self) -> tuple[int, ...]:
        """S_0 .. S_k: fraction bits of each Horner stage."""
        return tuple(self.scale + sum(self.digits[j:]) for j in range(self.terms + 1))

    @property
    def fraction(self) -> int:
        """F: fraction bits of the result."""
        return self.scales[0]

    @property
    def error(self) -> Fraction:
        """Proven bound on |result - ln x| for every count from 1 to the bound."""
        return sum(self.error_parts, Fraction(0))

    @property
    def error_parts(self) -> tuple[Fraction, Fraction, Fraction]:
        """Parts of `error`: terms that are left out, digits of d that are cut off, and rounded table entries."""
        return (
            _truncation(self.cells, self.terms),
            _cuts(self.cells, self.digits, self.count_width),
            _rounding(self.cells, self.scales),
        )

    @property
    def log_width(self) -> int:
        """Bits of the logarithm as a signed integer; they also hold its value at x = 0."""
        return math.ceil((self.count_width * math.log(2) + 1) * (1 << self.fraction)).bit_length() + 1

    @property
    def sum_width(self) -> int:
        """Bits of a signed sum of terms +- x ln x, if the counts x of each sign add up to at most `bound`.

        Each sum is from -bound error to bound (ln bound + error); their difference exceeds that by bound error at most.
        """
        top = Fraction(math.log(self.bound) + 1e-9) + 2 * self.error
        return math.ceil(self.bound * top * (1 << self.fraction)).bit_length() + 1

    def cost(self, prices: Prices) -> float:
        """Return the approximate bytes of one x ln x, to choose between sufficiently precise parameters."""
        selected = min(1 << self.cells, sum(scale + 2 for scale in self.scales))
        table = (1 << self.cells) * prices.and_gate + selected * prices.selected_bit
        digits = sum(q - self.cells for q in self.digits)
        per_digit = prices.factor_bit if prices.factor_bit else 2 * self.log_width * prices.and_gate
        return table + digits * per_digit


def count_width(bound: int) -> int:
    """Return N, the bits of a count, for a bound on counts."""
    return max(2, bound.bit_length())


def _truncation(cells: int, terms: int) -> Fraction:
    radius = Fraction(1, 2 << cells)
    ratio = radius / (1 + radius)
    return ratio ** (terms + 1) / ((terms + 1) * (1 - ratio))


def _cuts(cells: int, digits: tuple[int, ...], width: int) -> Fraction:
    radius, error = Fraction(1, 2 << cells), Fraction(0)
    partial = Fraction(1, len(digits))  # G_j
    for j in range(len(digits) - 1, -1, -1):
        cut = Fraction(0) if digits[j] == width - 1 else Fraction(1, 1 << digits[j])
        error = radius * error + cut * partial
        if j:
            partial = Fraction(1, j) + radius * partial
    return error


def _rounding(cells: int, scales: tuple[int, ...]) -> Fraction:
    radius, error = Fraction(1, 2 << cells), Fraction(0)
    for scale in reversed(scales):
        error = Fraction(1, 2 << scale) + radius * error
    return error + Fraction(1, 2 << scales[0])


@lru_cache(maxsize=256)
def derive(delta: float, bound: int, terms: int | None = None, prices: Prices = GARBLED) -> Precision:
    """Return the cheapest of the searched parameters with error <= delta / 4.

    Args:
        delta: Tolerance of ID3-delta, above 0 and at most 1; public. See `Problem.delta`.
        bound: Upper bound on a count, 1 or more; public.
        terms: The number of Taylor terms k; None for the cheapest.
        prices: Costs of the engine's operations, equal at both parties. Default: additive shares beside garbled
            circuits.

    Raises:
        InputError: `delta` or `bound` is out of range, or no choice fits 64-bit words.
    """
    if bound < 1 or not 0 < delta <= 1:
        raise InputError(
            f"delta is {delta} and the bound on the rows {bound}; need 0 < delta <= 1 and a positive bound"
        )
    target = Fraction(delta) / 4
    wanted = range(1, MAX_TERMS + 1) if terms is None else (terms,)
    tried = [_fewest_digits(bound, cells, k, target) for cells in range(MAX_CELLS + 1) for k in wanted]
    candidates: list[Precision] = []
    # The scale only adds to the cost: once a choice is found, no choice that costs more without a scale can be cheaper.
    for candidate in sorted(filter(None, tried), key=lambda precision: precision.cost(prices)):
        if candidates and candidate.cost(prices) > min(precision.cost(prices) for precision in candidates):
            break
        candidates += _smallest_scale(candidate, target)
    if not candidates:
        raise InputError(
            f"tolerance {delta:g} with up to {bound} rows in all does not fit {MAX_WIDTH}-bit words: "
            "choose a greater --tolerance or a smaller --max-rows"
        )
    return min(candidates, key=lambda precision: (precision.cost(prices), precision.sum_width))


def _fewest_digits(bound: int, cells: int, terms: int, target: Fraction) -> Precision | None:
    """Return a precision with the fewest digits Q_j that use half of the error; None if the series is too short."""
    width = count_width(bound)
    room = target - _truncation(cells, terms)
    if room <= 0 or cells >= width - 1:
        return None
    share = room * (1 - Fraction(1, 2 << cells)) / (2 * terms)  # digit j may cost j times it / radius^(j - 1)
    digits = []
    for j in range(1, terms + 1):
        fewest = max(cells + 1, math.ceil(-math.log2(share * j) - (cells + 1) * (j - 1)))
        digits.append(min(fewest, width - 1))
    return Precision(bound, cells, tuple(digits), 0)


def _smallest_scale(precision: Precision, target: Fraction) -> list[Precision]:
    """Return the precision with the smallest scale s that keeps the error within the target, if one fits a word."""
    for scale in range(MAX_WIDTH):
        scaled = replace(precision, scale=scale)
        if scaled.sum_width > MAX_WIDTH:
            return []
        if scaled.error <= target:
            return [scaled]
    return []

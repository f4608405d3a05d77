"""Private quotients x_c^2 / n for class counts x_c that add up to n.

Ideal functionality. Inputs: from each party the class counts of a batch of tables; all tables of a sum have at most
`bound` rows. Output: fixed-point secret integers with `Parameters.fraction` fraction bits; their sum over the classes
is wrong by at most 2 n `Parameters.error`, and 0 for an empty table. Leakage: batch size, classes, bound, error.

For n of N bits write n = 2^p u with 1 <= u < 2. A circuit shifts n, and every x_c with it, until the top bit of n is
set: m_c = x_c 2^(N - 1 - p). Then x_c / n = m_c / (2^(N - 1) u), and 1 / u comes from a series as in
`protocols.precision`: with the unit interval cut into 2^m cells, c the centre of u's cell, d = u - c, |d| <= r =
2^-(m+1),

    1 / u = sum_{j >= 0} a_j d^j,        a_j = (-1)^j / c^(j+1),        |a_j| <= 1,

cut off after j = k and computed by Horner's rule on integers, W_k = A_k, W_{j-1} = A_{j-1} + D_j W_j, with the scales
and digits of that module. No product is rounded; W_0 is converted to bits and cut to G fraction bits, so that its
products fit a word.

Error of 1 / u. The cut of the series costs at most r^(k+1) / (1 - r). With w_j the value of W_j and p_j that of the cut
series, |p_j| <= 1 / (1 - r), and t_j = 2^-Q_j (0 if all digits are used),

    |w_{j-1} - p_{j-1}| <= 2^-(S_{j-1} + 1) + r |w_j - p_j| + t_j / (1 - r).

`error` adds both up, and 2^-G. As m_c / 2^(N - 1) = u x_c / n <= 2 x_c / n, the sum over c of x_c m_c / 2^(N - 1)
times it is at most 2 n error.

Cost for L classes: a circuit of about 6 N + L N (2 + log2 N) ANDs, the table of 2^m cells, k products with the digits,
S_0 ANDs and G bits turned into a word, and L products by N bits twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from protocols.counts import Indices
from protocols.majority import count_inputs
from protocols.precision import count_width
from smc.circuit import Builder, Form, Netlist, decode, normalise, total
from smc.circuit.kept import kept
from smc.engines import Bits, Choice, Engine, Word
from smc.engines.words import MAX_WIDTH
from smc.errors import InputError
from smc.recipes import GARBLED, Prices

MAX_TERMS = 8
MAX_CELLS = 10


@dataclass(frozen=True)
class Parameters:
    """Parameters of one private 1 / u; see the module's first lines for the letters."""

    bound: int
    cells: int  # m
    digits: tuple[int, ...]  # Q_1 .. Q_k
    scale: int  # s
    fraction_bits: int  # G

    @property
    def count_width(self) -> int:
        """N: bits of a count."""
        return count_width(self.bound)

    @property
    def scales(self) -> tuple[int, ...]:
        """S_0 .. S_k, the fraction bits of each Horner stage."""
        return tuple(self.scale + sum(self.digits[j:]) for j in range(len(self.digits) + 1))

    @property
    def fraction(self) -> int:
        """Fraction bits of the result."""
        return self.fraction_bits + self.count_width - 1

    @property
    def series_width(self) -> int:
        """Bits of 1 / u and of every stage as signed integers."""
        return self.scales[0] + 3

    @property
    def sum_width(self) -> int:
        """Bits of sums over tables that add up to at most `bound`, as a signed integer."""
        return (self.bound << (self.fraction + 1)).bit_length() + 1

    @property
    def error(self) -> Fraction:
        """Proven bound on the error of the computed 1 / u, |W_0 / 2^S_0 - 1 / u|."""
        radius, most = Fraction(1, 2 << self.cells), _most(self.cells)
        bound = Fraction(1, 2 << self.scales[-1])
        for scale, digits in zip(self.scales[-2::-1], self.digits[::-1], strict=True):
            cut = Fraction(0) if digits == self.count_width - 1 else Fraction(1, 1 << digits)
            bound = Fraction(1, 2 << scale) + radius * bound + cut * most
        return bound + _truncation(self.cells, len(self.digits)) + Fraction(1, 1 << self.fraction_bits)

    def cost(self, prices: Prices) -> float:
        """Return the approximate bytes of one reciprocal 1 / n with these parameters, to find the cheapest ones."""
        table = (1 << self.cells) * prices.and_gate + min(1 << self.cells, sum(self.scales)) * prices.selected_bit
        digits = sum(q - self.cells for q in self.digits)
        return table + digits * (prices.factor_bit or 2 * self.series_width * prices.and_gate)


def _most(cells: int) -> Fraction:
    radius = Fraction(1, 2 << cells)
    return 1 / (1 - radius)


def _truncation(cells: int, terms: int) -> Fraction:
    return Fraction(1, 2 << cells) ** (terms + 1) * _most(cells)


@lru_cache(maxsize=64)
def derive(error: Fraction, bound: int, prices: Prices = GARBLED) -> Parameters:
    """Return the cheapest of the searched parameters for 1 / u within an error.

    Args:
        error: Upper bound on the error of 1 / u, above 0; public.
        bound: Upper bound on a count; public. A bound below 8 counts as 8.
        prices: Costs of the engine's operations, equal at both parties. Default: additive shares beside garbled
            circuits.

    Raises:
        InputError: No choice fits 64-bit words.
    """
    bound = max(bound, 8)  # fewer digits than 4 leave too few cells for a small error
    tried = [
        choice
        for cells in range(min(MAX_CELLS, count_width(bound) - 2) + 1)
        for terms in range(1, MAX_TERMS + 1)
        for choice in _precise(error, bound, cells, terms)
    ]
    if not tried:
        raise InputError(
            f"Gini impurities of up to {bound:,} rows in all do not fit {MAX_WIDTH}-bit words: "
            "choose a greater --tolerance or a smaller --max-rows"
        )
    return min(tried, key=lambda parameters: (parameters.cost(prices), parameters.sum_width))


def _precise(error: Fraction, bound: int, cells: int, terms: int) -> Iterator[Parameters]:
    """Yield parameters with the fewest digits that use half of the error, and the smallest scale, if it fits a word."""
    fraction_bits = math.ceil(-math.log2(error / 4))
    room, radius = error - _truncation(cells, terms) - Fraction(1, 1 << fraction_bits), Fraction(1, 2 << cells)
    if room <= 0:
        return
    allowed = [room / (2 * terms * _most(cells)) / radius**j for j in range(terms)]
    digits = tuple(min(count_width(bound) - 1, max(cells + 1, math.ceil(-math.log2(cut)))) for cut in allowed)
    for scale in range(MAX_WIDTH):
        parameters = Parameters(bound, cells, digits, scale, fraction_bits)
        if max(parameters.sum_width, parameters.series_width) > MAX_WIDTH:
            return
        if parameters.scales[0] >= fraction_bits and parameters.error <= error:
            yield parameters
            return


@lru_cache(maxsize=64)
def coefficients(parameters: Parameters) -> list[list[int]]:
    """Return the public coefficients of the series of 1 / u: for each term j = 0 .. k an integer A_j for every cell."""
    centres = [1 + Fraction(2 * i + 1, 2 << parameters.cells) for i in range(1 << parameters.cells)]
    return [
        [round((-1) ** j / c ** (j + 1) * (1 << scale)) for c in centres] for j, scale in enumerate(parameters.scales)
    ]


@kept
def shifted_netlist(parameters: Parameters, classes: int, form: Form = "size") -> Netlist:
    """Build the circuit that adds counts and shifts them until the top bit of their sum is set.

    Args:
        parameters: Parameters of 1 / u.
        classes: Number of classes.
        form: "size" for few gates, "depth" for few levels.

    Returns:
        The circuit. Its inputs are the class counts of party 0, then of party 1. Its outputs are all x_c, all m_c, the
        one-hot cell, and D_1 .. D_k.
    """
    width, cells = parameters.count_width, parameters.cells
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    counts = [a + b for a, b in zip(left, right, strict=True)]
    mantissa, shift = normalise(total(counts, width))
    for count in counts:
        builder.output(count)
    for count in counts:
        builder.output(count << shift)
    builder.output(decode(mantissa[width - 1 - cells : width - 1]))
    for q in parameters.digits:
        builder.output(mantissa[width - 1 - q : width - 1 - cells])
    return builder.build()


def squares(engine: Engine, parameters: Parameters, counts_by_class: Indices) -> Word:
    """Compute x_c^2 / n of each table and class, secret.

    Args:
        engine: The engine of this session.
        parameters: Parameters of 1 / u, equal at both parties.
        counts_by_class: This party's counts, int64[tables, classes]; private.

    Returns:
        Fixed-point integers with `parameters.fraction` fraction bits, [classes * tables], class by class.

    Raises:
        InputError: A count is negative or does not fit `parameters.count_width` bits.
    """
    words, session, classes = engine.words, engine.session, counts_by_class.shape[1]
    with session.phase("normalise"):
        inputs = count_inputs(engine, counts_by_class.T, parameters.count_width, sums="modular")
        shifted = engine.run(shifted_netlist(parameters, classes, engine.form), *inputs)
    counts, moved, (cell, *digits) = shifted[:classes], shifted[classes : 2 * classes], shifted[2 * classes :]
    width = parameters.series_width
    with session.phase("look up"):
        (stages,) = words.select([Choice(cell, coefficients(parameters))], width)
    with session.phase("series"):
        result = stages[-1]
        for stage, factor in zip(stages[-2::-1], digits[::-1], strict=True):
            result = words.add(stage, words.multiply(factor, 1 << (factor.width - 1), result, width), width)
    with session.phase("squares"):
        cut = words.bits(result)[parameters.scales[0] - parameters.fraction_bits : parameters.scales[0] + 1]
        ((quotient,),) = words.select([Choice(cut, [[1 << i for i in range(cut.width)]])], cut.width + 1)
        whole = parameters.sum_width
        quotients = words.multiply(Bits.join(moved), 0, words.join([quotient] * classes), whole)
        return words.multiply(Bits.join(counts), 0, quotients, whole)

"""Exponential mechanism: chooses a candidate with probability proportional to a power of its score.

Ideal functionality. Inputs: secret scores from 0 up, of a batch of n candidates. Output to both: one index i, with
probability w(q_i) / (w(q_1) + ... + w(q_n)), where w(q) is about 2^(q / 2^b). Leakage: n, widths, law. No score, no
weight and no sum is opened. Security is that of the engine; random bits come from `Engine.random`.

Privacy (McSherry, Talwar 2007): if one row changes each score by at most D, the choice has a bounded range of epsilon =
2 D ln 2 / 2^b, so it spends epsilon^2 / 8 as a rho: the theorem of docs/math/exponential-mechanism.md. Lemma 1 there:
the weights as whole numbers (Ilvento, CCS 2020) and their error u. Lemma 2: the distance to the ideal law, and the
opening of the index digit by digit. A weight is a mantissa M, interpolated in a table, times a power of 2.

Cost, at s = 50 and an epsilon of 0.05: 165 ANDs for each M, once for all choices from the same scores; for a choice 340
for each candidate and 11,600 besides, and 60 random bits; in the form "depth" 230, 390 and 17,900.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import gmpy2
import numpy as np

from protocols.release.laws import SECURITY
from smc.circuit import (
    GROUP,
    Builder,
    Form,
    Integer,
    Netlist,
    any_of,
    decode,
    maximum,
    multiply,
    pick,
    select,
    sum_rows,
    total,
)
from smc.engines import Bits, Engine
from smc.errors import InputError

LN2 = Fraction(693_147_181, 10**9)  # rounded up
LEAST_STEP = 64  # least value of the greatest factor of a distance: epsilon is met to within one part in this number
EXACT = 64  # rounding of weights takes at most one part in this number of epsilon
MOST_TABLE = 16  # most digits of a table's index
AT_ONCE = 2  # levels of the tree of sums, and digits of the choice, opened together


@dataclass(frozen=True)
class Powers:
    """Weights of a choice: a score greater by 2^`fraction` has twice the weight.

    `table` bounds h, the bits of the table's index. The choice is within 2^-`security` of its ideal law.
    """

    fraction: int
    table: int
    security: int = SECURITY

    @property
    def digits(self) -> int:
        """Number h of the highest fractional bits of a score, which index the table."""
        return min(self.table, self.fraction)

    @property
    def precision(self) -> int:
        """Number m of bits of a mantissa M without its highest bit."""
        return 2 * self.table + 5

    @property
    def nodes(self) -> list[int]:
        """Entries of the table of mantissas, 2^`digits` + 1 integers, equal on every machine."""
        return _nodes(self.digits, self.precision)

    def mantissa(self, fraction: int) -> int:
        """Return M(f), the mantissa of the weight of a score with the fractional bits f."""
        rest = self.fraction - self.digits
        place, along = fraction >> rest, fraction & ((1 << rest) - 1)
        low, high = self.nodes[place : place + 2]
        return low + (along * (high - low) >> rest)

    def weight(self, score: int) -> int:
        """Return w(q), the weight of a score, a whole number."""
        return self.mantissa(score & ((1 << self.fraction) - 1)) << (score >> self.fraction)

    def probabilities(self, scores: Sequence[int]) -> list[Fraction]:
        """Return the ideal probability of each candidate; the circuit's law is within 2^-`security` of it."""
        least = min(scores) >> self.fraction << self.fraction
        weights = [self.weight(score - least) for score in scores]
        return [Fraction(weight, sum(weights)) for weight in weights]

    def range(self, change: int) -> Fraction:
        """Return the epsilon of the bounded range of the choice, if one row changes each score by at most `change`."""
        return 2 * change * LN2 / (1 << self.fraction) + _slack(self.table)

    def last(self, candidates: int) -> int:
        """Return the number of uniform bits for a choice: security + 1 + log2 candidates, rounded up.

        Only weights whose exponent is further than this below the greatest one may count as 0.
        """
        return self.security + 1 + (candidates - 1).bit_length()


@lru_cache(maxsize=64)
def _nodes(digits: int, precision: int) -> list[int]:
    root = 1 << digits
    return [int(gmpy2.iroot(gmpy2.mpz(1) << (root * precision + i), root)[0]) for i in range(root + 1)]


def _slack(table: int) -> Fraction:
    """Return 2 u, rounded up: twice the error of the weights, see the module's first lines."""
    rounding = Fraction(2, 1 << (2 * table + 5))
    x = LN2 / (1 << table)
    return 2 * (rounding / (1 - rounding) + x**2 / 8 * (1 + 2 * x))


@lru_cache(maxsize=256)
def powers_for(epsilon: Fraction, moved: int, security: int = SECURITY) -> tuple[Powers, int]:
    """Return the weights of a choice with a range of at most epsilon, and the factor that turns distances into scores.

    Args:
        epsilon: Epsilon of the choice, its bounded range: all factors of probability are within e^epsilon.
        moved: Greatest change of a distance by the rows that are hidden together.
        security: Statistical parameter s; the choice is within 2^-s of its ideal law. If in doubt, 40.

    Returns:
        The weights, and the greatest whole number by which you may multiply distances to get scores.

    Raises:
        InputError: Epsilon is too small for any table.
    """
    table = next((size for size in range(3, MOST_TABLE + 1) if _slack(size) * EXACT <= epsilon), None)
    if table is None:
        raise InputError(
            f"an epsilon of {float(epsilon):.2g} is too small for a choice: give more epsilon, or fewer columns"
        )
    fraction, left = 0, (epsilon - _slack(table)) / (2 * LN2 * moved)
    while left * (1 << fraction) < LEAST_STEP:
        fraction += 1
    return Powers(fraction, table, security), int(left * (1 << fraction))


def split_scores(engine: Engine, scores: Bits, law: Powers) -> Bits:
    """Return the scores as mantissas of m + 1 bits and exponents after them, secret, [bits, candidates].

    One split serves all choices from these scores.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        scores: Secret scores from 0 up, [width, candidates].
        law: Weights of the choice; public.
    """
    (mantissas, exponents) = engine.run(_split_netlist(scores.width, law, engine.form), scores)
    return Bits(np.concatenate([mantissas.data, exponents.data]))


def chosen(engine: Engine, parts: Bits, law: Powers) -> int:
    """Return the index of the chosen candidate, opened to both parties; a single candidate opens nothing.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        parts: Secret scores after `split_scores`, [bits, candidates].
        law: Weights that the scores were split by; public.

    Raises:
        InputError: There is no candidate.
    """
    many, bits = parts.batch, law.precision + 1
    if many < 1:
        raise InputError("a choice needs at least one candidate")
    if many == 1:
        return 0
    mantissas, exponents = parts[:bits], parts[slice(bits, None)]
    netlist = _weight_netlist(bits, exponents.width, law.last(many), engine.form)
    (weights,) = engine.run(netlist, mantissas, exponents, _greatest(engine, exponents).take(np.zeros(many, np.intp)))
    *levels, whole = _sums(engine, weights)
    uniform = engine.random(law.last(many), 1)
    (rest,) = engine.run(_part_netlist(whole[0].width, uniform.width, engine.form), *whole, uniform)
    place, height = 0, len(levels)
    while height:
        steps = min(AT_ONCE, height)
        height, rows = height - steps, levels[height - steps]
        places = range(place << steps, min((place + 1) << steps, rows[0].batch))
        place, rest = _descended(engine, rest, [[row.take(slice(one, one + 1)) for row in rows] for one in places])
        place += places[0]
    return place


def _descended(engine: Engine, rest: Bits, children: Sequence[Sequence[Bits]]) -> tuple[int, Bits]:
    """Open which child's range of cumulated sums contains `rest`; return its index and the secret remainder.

    `children` has the rows of each child's sum.
    """
    width, inner = children[0][0].width, [row for rows in children[:-1] for row in rows]
    place = 0
    if inner:
        netlist = _step_netlist(rest.width, width, len(children[0]), len(children) - 1, engine.form)
        *less, below = engine.run(netlist, rest, *inner)
        (is_below,) = engine.reveal(below)
        place = int((is_below == 0).sum())
        rest = [rest, *less][place]
    return place, rest[:width]


def _greatest(engine: Engine, values: Bits) -> Bits:
    """Return the greatest of several numbers; in the form "depth" groups of eight are compared at once."""
    most = GROUP if engine.form == "depth" else 2
    while values.batch > 1:
        many = min(most, values.batch)
        seats = np.arange(-(-values.batch // many) * many) % values.batch  # repeats fill the last group
        players = [values.take(seats[place::many]) for place in range(many)]
        (values,) = engine.run(_greatest_netlist(values.width, many, engine.form), *players)
    return values


def _sums(engine: Engine, weights: Bits) -> list[list[Bits]]:
    """Return the levels of a binary tree of sums: the weights, the sums of neighbours, and so on to the total.

    An odd one out moves up unchanged. A sum is kept as two numbers that add up to it, which saves carries.
    """
    levels = [[weights]]
    while levels[-1][0].batch > 1:
        rows = levels[-1]
        width, pairs = rows[0].width + 1, rows[0].batch // 2 * 2
        sides = [row.take(slice(side, pairs, 2)) for side in (0, 1) for row in rows]
        made = sides if len(rows) == 1 else engine.run(_sum_netlist(width, engine.form), *sides)
        if pairs < rows[0].batch:
            last = [row.take(slice(pairs, None)) for row in rows]
            last += [last[0][:0]] * (2 - len(last))
            made = [
                Bits.join([_widened(engine, part, width) for part in parts]) for parts in zip(made, last, strict=True)
            ]
        levels.append([_widened(engine, part, width) for part in made])
    return levels


def _widened(engine: Engine, value: Bits, width: int) -> Bits:
    zeros = engine.constant(np.zeros((width - value.width, value.batch), dtype=np.uint8))
    return Bits(np.concatenate([value.data, zeros.data]))


@lru_cache(maxsize=64)
def _greatest_netlist(width: int, many: int, form: Form) -> Netlist:
    """Build the greatest of `many` numbers."""
    builder = Builder(form)
    builder.output(maximum([builder.input(width) for _ in range(many)])[0])
    return builder.build()


@lru_cache(maxsize=64)
def _sum_netlist(width: int, form: Form) -> Netlist:
    """Build the two rows of a sum, one bit wider, from the two rows of each of two sums."""
    builder = Builder(form)
    for row in sum_rows(builder.graph, [builder.input(width - 1) for _ in range(4)], [], width):
        builder.output(row)
    return builder.build()


@lru_cache(maxsize=64)
def _split_netlist(width: int, law: Powers, form: Form) -> Netlist:
    """Build the mantissa M and the exponent, of one bit at least, from a score."""
    builder = Builder(form)
    score = builder.input(width)
    padded = score.extend(max(width, law.fraction + 1))
    rest = law.fraction - law.digits
    along, place = padded[:rest], padded[rest : law.fraction]
    onehot, nodes = decode(place), law.nodes
    constants = [Integer.constant(score.graph, node, law.precision + 1) for node in nodes[:-1]]
    mantissa = pick(onehot, constants)
    if rest:
        slopes = [high - low for low, high in pairwise(nodes)]
        bits = max(slopes).bit_length()
        slope = pick(onehot, [Integer.constant(score.graph, one, bits) for one in slopes])
        mantissa = mantissa + multiply(along, slope, rest + bits)[rest:].resize(law.precision + 1)
    builder.output(mantissa)
    builder.output(padded[law.fraction :])
    return builder.build()


@lru_cache(maxsize=64)
def _weight_netlist(mantissa: int, exponent: int, last: int, form: Form) -> Netlist:
    """Build the weight from M, its exponent and the greatest exponent.

    The weight is M 2^(T - gap), gap = greatest - exponent; 0 if gap is above T. T is at least min(`last`, all gaps).
    """
    builder = Builder(form)
    value, own, greatest = builder.input(mantissa), builder.input(exponent), builder.input(exponent)
    gap = greatest - own
    digits = min(exponent, last.bit_length())
    if exponent > digits:
        value = select(any_of(gap.wires[digits:]), Integer.constant(value.graph, 0, mantissa), value)
    for place, wire in enumerate(gap.wires[:digits]):  # by T - gap: T is 2^digits - 1
        value = value.extend(len(value) + (1 << place))
        value = select(wire, value, value << (1 << place))
    builder.output(value)
    return builder.build()


@lru_cache(maxsize=64)
def _part_netlist(width: int, uniform: int, form: Form) -> Netlist:
    """Build floor(U W / 2^k) from the two rows of W, and U of k bits."""
    builder = Builder(form)
    whole = builder.input(width) + builder.input(width)
    builder.output(multiply(whole, builder.input(uniform), width + uniform)[uniform:])
    return builder.build()


@lru_cache(maxsize=64)
def _step_netlist(rest: int, width: int, rows: int, sums: int, form: Form) -> Netlist:
    """Build R less the first sum, R less the first two sums and so on, and whether each is below 0.

    The inputs are R and the rows of the sums.
    """
    builder = Builder(form)
    left = [builder.input(rest).extend(rest + 1)]
    minus: list[Integer] = []
    for _ in range(sums):
        taken = [builder.input(width) for _ in range(rows)]
        minus += taken
        left.append(total(left[:1], rest + 1, minus) if form == "depth" else total(left[-1:], rest + 1, taken))
    for number in left[1:]:
        builder.output(number[:rest])
    builder.output([number[-1] for number in left[1:]])
    return builder.build()

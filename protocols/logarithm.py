"""Private ln x and x ln x of a sum of two private counts, by the Taylor series.

Ideal functionality. Inputs: x_0 of party 0, x_1 of party 1 (a batch), 0 <= x_0 + x_1 <= bound. Output: fixed-point
secret integers, ln x and x ln x with `Precision.fraction` fraction bits, wrong by at most delta / 4 and x delta / 4;
0 ln 0 = 0. Leakage: batch size, bound, delta.

A circuit adds the counts, finds n and the cell of the mantissa (the rough approximation), and outputs one-hot bits and
the digits of d. The polynomial and the products are computed in `engine.words`. Paper: Lindell, Pinkas, "Privacy
Preserving Data Mining" (J. Cryptology 15, 2002); parameters in `protocols.precision`, proof in docs/math/logarithm.md.

Cost of n times x ln x: a count has N bits, the table has 2^m cells, the series has k terms, and term j takes Q_j binary
digits (`protocols.precision`). Each party has inputs of N n bits. The circuit of the rough approximation takes 306 ANDs
for a bound of 2^20 and an error below 1e-6. On additive shares, n (2^m + N) bits are then converted to shares. k
products with factors of Q_k - m, ..., Q_1 - m bits follow one after the other, then one by x with N bits. On circuits,
multipliers of these widths take their place. Where the bits of the sum of two shares are needed, an adder computes
them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs, summands
from protocols.precision import Precision, derive
from smc.circuit import Builder, Form, Netlist, decode, normalise
from smc.circuit.kept import kept
from smc.engines import Bits, Choice, Engine, Word
from smc.primitives import bits as bitpack

TABLE_BITS = 128  # working precision of the public tables


@kept
def rough_netlist(precision: Precision, form: Form = "size") -> Netlist:
    """Build the circuit of the rough approximation.

    Args:
        precision: Parameters of the logarithm; N and k are from `protocols.precision`.
        form: "size" for few gates, "depth" for few levels.

    Returns:
        The circuit. Its inputs are x_0 and x_1. Its outputs are x, the one-hot cell, the one-hot shift (N - 1 - n) and
        D_1 .. D_k.
    """
    width, cells = precision.count_width, precision.cells
    builder = Builder(form)
    x = builder.input(width) + builder.input(width)
    mantissa, shift = normalise(x)
    below_top = mantissa[: width - 1]
    builder.output(x)
    builder.output(decode(below_top[width - 1 - cells :]))
    builder.output(decode(shift)[:width])
    for q in precision.digits:
        builder.output(below_top[width - 1 - q : width - 1 - cells])
    return builder.build()


@lru_cache(maxsize=64)
def tables(precision: Precision) -> tuple[list[list[int]], list[int]]:
    """Return the public tables: the series' coefficient A_j for every cell, j = 0 .. k, and n ln 2 for every shift."""
    with gmpy2.context(precision=TABLE_BITS):
        centres = [1 + gmpy2.mpfr(2 * i + 1) / (2 << precision.cells) for i in range(1 << precision.cells)]
        coefficients = []
        for j, scale in enumerate(precision.scales):
            exact = [gmpy2.log(c) if j == 0 else (-1) ** (j - 1) / (j * c**j) for c in centres]
            coefficients.append([int(gmpy2.rint(value * gmpy2.exp2(scale))) for value in exact])
        ln2 = gmpy2.log(2) * gmpy2.exp2(precision.fraction)
        exponents = [
            int(gmpy2.rint((precision.count_width - 1 - shift) * ln2)) for shift in range(precision.count_width)
        ]
    return coefficients, exponents


def logarithm(engine: Engine, precision: Precision, left: Bits, right: Bits) -> tuple[Bits, Word]:
    """Compute x and ln x from both parties' counts, secret.

    Args:
        engine: The engine of this session.
        precision: Parameters of the logarithm, equal at both parties.
        left: Party 0's counts, secret bits [N, batch].
        right: Party 1's counts, secret bits [N, batch].

    Returns:
        x as bits [N, batch], and ln x as integers with `precision.fraction` fraction bits. At x = 0, ln x is some
        bounded number.
    """
    words, session = engine.words, engine.session
    coefficients, exponents = tables(precision)
    with session.phase("normalise"):
        x, cell, shift, *digits = engine.run(rough_netlist(precision, engine.form), left, right)
    width = precision.log_width
    with session.phase("look up"):
        (stages, (octave,)) = words.select([Choice(cell, coefficients), Choice(shift, [exponents])], width)
    with session.phase("series"):
        result = stages[-1]
        for j in range(precision.terms, 0, -1):
            factor = digits[j - 1]
            result = words.add(stages[j - 1], words.multiply(factor, 1 << (factor.width - 1), result, width), width)
        return x, words.add(result, octave, width)


def x_log_x(engine: Engine, precision: Precision, left: Bits, right: Bits) -> Word:
    """Compute x ln x from both parties' counts, secret.

    Args:
        engine: The engine of this session.
        precision: Parameters of the logarithm, equal at both parties.
        left: Party 0's counts, secret bits [N, batch].
        right: Party 1's counts, secret bits [N, batch].

    Returns:
        Integers of `precision.sum_width` bits with `precision.fraction` fraction bits, [batch]; 0 ln 0 = 0.
    """
    x, log = logarithm(engine, precision, left, right)
    with engine.session.phase("times x"):
        return engine.words.multiply(x, 0, log, precision.sum_width)


def open_logarithm(
    engine: Engine, counts: NDArray[Any], bound: int, delta: float, times_x: bool = False
) -> NDArray[np.float64]:
    """Open ln x, or x ln x, to both parties.

    Opening ln x opens x: this is a harness for tests and benchmarks, not a private protocol by itself.

    Args:
        engine: The engine of this session.
        counts: This party's counts, whole numbers [batch].
        bound: Upper bound on a sum of both parties' counts; public.
        delta: Tolerance, above 0 and at most 1: ln x is wrong by at most delta / 4. Public.
        times_x: True for x ln x in place of ln x; public.

    Returns:
        The values, float64[batch]; ln 0 is -inf.

    Raises:
        InputError: A count does not fit, `bound` or `delta` is out of range, or no parameters fit 64-bit words.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> counts = [2, 0], [1, 0]
        >>> def program(session):
        ...     own_counts = np.array(counts[session.party])
        ...     return open_logarithm(make_engine(session, "yao"), own_counts, bound=8, delta=0.001)
        >>> run_local(program)[0].round(2).tolist()  # ln 3, ln 0
        [1.1, -inf]
    """
    precision = derive(delta, bound, prices=engine.words.prices)
    inputs = summands(engine, counts, precision.count_width, "the count")
    left, right = both_inputs(engine, inputs, precision.count_width, sums="modular")
    if times_x:
        word = x_log_x(engine, precision, left, right)
        (opened,) = engine.reveal(engine.words.bits(word))
    else:
        x, word = logarithm(engine, precision, left, right)
        opened, counts_opened = engine.reveal(engine.words.bits(word), x)
    unit = 1 << precision.fraction
    values = np.array([value / unit for value in bitpack.to_integers(opened, signed=True)])
    if not times_x:
        values[~counts_opened.any(axis=0)] = -math.inf
    return values

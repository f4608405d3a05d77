"""Linear thresholds: whether own_0 + own_1 >= 0, for integers of both parties, for a batch of questions.

Ideal functionality. Inputs: from each party an integer for each question, its side of a public linear form sum_i c_i
(n_i^0 + n_i^1) of both parties' counts, which it computes by itself. Output: one bit a question, secret or opened to
both: whether the form is at least 0. Leakage: the number of questions and the public bound on a side. An opened answer
reveals at most one bit; docs/security.md explains how a series of questions can find a count. A secret bit added to all
sums enters the adder as its carry.

Cost of n questions of sides of w bits, the sign included: n w input bits from each party, n w ANDs (in a shallow
circuit, of up to 2^14 questions with shared bits, about 2 n w), n bits opened.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs
from smc.circuit import Builder, Form, Integer, Netlist, Wire, concatenate
from smc.engines import Bits, Engine
from smc.errors import InputError

MOST_BITS = 63  # largest width of a side, including its sign
FEW = 1 << 14  # above this number of questions, gates cost more than the rounds of a circuit of few gates


@lru_cache(maxsize=64)
def _netlist(width: int, form: Form, carried: bool) -> Netlist:
    """Build the circuit of a question: inputs both sides, and with `carried` a bit; output whether the sum is >= 0."""
    builder = Builder(form)
    left, right = builder.input(width, signed=True), builder.input(width, signed=True)
    if carried:  # appended below both lowest bits: their sum carries into the lowest bit
        carry = builder.input(1)
        left, right = (concatenate(carry, side).as_signed() for side in (left, right))
    builder.output(reached(left, right))
    return builder.build()


def reached(left: Integer, right: Integer) -> Wire:
    """Return the wire that is 1 if the sum of two signed integers is at least 0, computed as ~right < left.

    Args:
        left: Party 0's integer.
        right: Party 1's integer, of equal width.
    """
    return ~right < left


def side_width(engine: Engine, sides: NDArray[np.int64], bound: int) -> int:
    """Return the bits of one party's side of a comparison, in two's complement.

    Args:
        engine: The engine of this session. If its numbers are shares (`masked_numbers`), the bound is not checked.
        sides: This party's sides, int64[questions]; private.
        bound: Upper bound on the absolute value of a side; public.

    Raises:
        InputError: A side is beyond the bound, or the bound needs more than `MOST_BITS` bits with its sign.
    """
    width = bound.bit_length() + 1
    if width > MOST_BITS:
        raise InputError(f"a side of a threshold could take {width} bits, at most {MOST_BITS} fit: lower max_rows")
    if sides.size and not engine.masked_numbers and max(int(sides.max()), -int(sides.min())) > bound:
        raise InputError("this party has more rows than the agreed max_rows; raise max_rows at both parties")
    return width


def at_least_zero(engine: Engine, sides: NDArray[np.int64], bound: int, carry: Bits | None = None) -> Bits:
    """Return whether own_0 + own_1 >= 0, secret bits [1, questions].

    Args:
        engine: The engine of this session.
        sides: This party's sides, int64[questions]; private.
        bound: Upper bound on the absolute value of a side; public.
        carry: A secret bit [1, 1] that is added to every sum; None for no bit.

    Raises:
        InputError: A side is beyond the bound, or the bound needs more than `MOST_BITS` bits with its sign.
    """
    width = side_width(engine, sides, bound)
    form = engine.form if len(sides) <= FEW else "size"
    carries = [] if carry is None else [carry.take(np.zeros(len(sides), dtype=np.intp))]
    inputs = both_inputs(engine, sides, width, signed=True)
    return engine.run(_netlist(width, form, carry is not None), *inputs, *carries)[0]


def decided(engine: Engine, sides: NDArray[np.int64], bound: int, carry: Bits | None = None) -> NDArray[np.uint8]:
    """Open whether own_0 + own_1 >= 0, uint8[questions]; both parties learn it.

    Many questions are computed in parts; all bits are opened at once.

    Args:
        engine: The engine of this session.
        sides: This party's sides, int64[questions]; private.
        bound: Upper bound on the absolute value of a side; public.
        carry: A secret bit [1, 1] that is added to every sum; None for no bit.

    Raises:
        InputError: A side is beyond the bound, or the bound needs more than `MOST_BITS` bits with its sign.
    """
    size = max(1, engine.comfortable // (bound.bit_length() + 1))
    starts = range(0, max(1, len(sides)), size)
    (opened,) = engine.reveal(Bits.join([at_least_zero(engine, sides[i : i + size], bound, carry) for i in starts]))
    return opened[0]

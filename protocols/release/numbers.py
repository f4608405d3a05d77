"""Noisy sums: a joint number is opened only with noise that neither party knows.

Ideal functionality. Inputs: from each party its own integers (a batch) of a public width. Output to both: for each
position the sum of both integers and of one sample of a public law of noise. Leakage: width, law, batch size. Neither
the exact sum nor the noise is opened. The noise comes from uniform bits that are the XOR of both parties' draws
(`Engine.random`), so one honest party suffices for the right law. Security is that of the engine.

Privacy follows from the law. Let one row change the integers of the batch by at most D in all. With `DiscreteLaplace(D
/ epsilon)` they are epsilon-private. With a discrete Gaussian of variance D^2 / (2 rho) they are rho-zCDP, where D is
the change in the Euclidean norm (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS
2020). Each sample adds at most the statistical distance of its law. Later computations on the opened numbers (clamping,
rounding, division by a public number) cost nothing. Drawing again until a number suits does.

No overflow. Signed integers and signed noise are shifted by public amounts, so that all summands are at least 0. The
width holds the greatest sum. The opened number is shifted back.

Cost of n sums of integers of w bits: n times the ANDs of a sample of noise, and less than 2 W ANDs, W = bits of the
sum. Each party has inputs of w n bits, and the random bits. The protocol opens n W bits. A sum at epsilon 1 (w = 16)
takes 187 ANDs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols import inputs
from protocols.release.laws import Law
from smc.circuit import Builder, Form, Integer, Netlist, total
from smc.engines import Bits, Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack

MOST_BITS = 63  # of an opened sum


@lru_cache(maxsize=64)
def noisy_sum_netlist(width: int, law: Law, form: Form = "size", modular: bool = False) -> Netlist:
    """Build the sum of two integers, noise and `from_zero_by(law)`. Inputs: both integers, the law's uniform bits.

    Args:
        width: Bits of each integer.
        law: Law of the noise.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
        modular: True for shares of width + 1 bits, whose sum is taken modulo 2^(width + 1).
    """
    builder = Builder(form)
    builder.output(noisy_sum(builder, width, law, modular))
    return builder.build()


def noisy_sum(builder: Builder, width: int, law: Law, modular: bool = False) -> Integer:
    """Add to a netlist the sum of two integers with noise.

    The next inputs of the netlist are the two integers and the uniform bits of the noise.

    Args:
        builder: Builder of the netlist.
        width: Bits of each integer.
        law: Law of the noise.
        modular: True for shares of width + 1 bits, whose sum is taken modulo 2^(width + 1).

    Returns:
        The sum with noise, plus `from_zero_by(law)`, so that it is at least 0.
    """
    left, right = (builder.input(width + modular) for _ in range(2))
    noise = from_zero(law.draw(builder.input(law.bits)).resize(law.width))
    return total([left + right, noise] if modular else [left, right, noise], sum_width(width, law))


def from_zero(noise: Integer) -> Integer:
    """Return a sample, shifted so that it is at least 0.

    Signed noise of n bits is shifted by 2^(n - 1), which flips its sign bit.
    """
    if not noise.signed:
        return noise
    return Integer(noise.graph, [*noise.wires[:-1], ~noise.wires[-1]])


def from_zero_by(law: Law) -> int:
    """Return the number that `from_zero` adds to the law's samples."""
    return 1 << (law.width - 1) if law.least < 0 else 0


def sum_width(width: int, law: Law) -> int:
    """Return the number of bits that hold the sum of two integers and a noise sample that is shifted to be 0 or more.

    Args:
        width: Bits of each integer.
        law: Law of the noise.
    """
    return (2 * ((1 << width) - 1) + (1 << law.width) - 1).bit_length()


def noisy_sums(
    engine: Engine, own: NDArray[np.integer], width: int, law: Law, signed: bool = False
) -> NDArray[np.int64]:
    """Open the sums of both parties' integers with noise, int64[batch].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's integers, int[batch]; private.
        width: Bits of an integer, 1 at least; public.
        law: Law of the noise on each sum; public.
        signed: False for integers from 0 to 2^width - 1, True for -2^(width - 1) to 2^(width - 1) - 1.

    Raises:
        InputError: An integer does not fit the width, or a sum with its noise would have more than 63 bits.
    """
    opened_width = sum_width(width, law)
    if width < 1 or opened_width > MOST_BITS:
        raise InputError(
            f"sums of {width} bits with this noise take {opened_width} bits; give 1 bit or more, and sums of at most "
            f"{MOST_BITS} bits"
        )
    offset = 1 << (width - 1) if signed else 0
    if not engine.masked_numbers:
        _check_range(own, width, offset)
    numbers = own.astype(np.int64) + inputs.from_zero_by(engine, width, signed)
    masked = engine.masked_numbers
    netlist = noisy_sum_netlist(width, law, engine.form, masked)
    size = max(1, engine.comfortable // (2 * width + law.bits))  # in parts, so that memory does not grow with the batch
    parts = []
    for start in range(0, max(1, len(numbers)), size):
        mine = numbers[start : start + size]
        sides = inputs.both_inputs(engine, mine, width + masked, sums="modular")
        parts += engine.run(netlist, *sides, engine.random(law.bits, len(mine)))
    (opened,) = engine.reveal(Bits.join(parts))
    back = 2 * offset + from_zero_by(law)
    return bitpack.to_words(opened).astype(np.int64) - back


@lru_cache(maxsize=64)
def noisy_netlist(width: int, law: Law, form: Form = "size") -> Netlist:
    """Build the sum of an integer, noise and `from_zero_by(law)`. Inputs: the integer, the law's uniform bits.

    Args:
        width: Bits of the integer.
        law: Law of the noise.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    value = builder.input(width)
    noise = from_zero(law.draw(builder.input(law.bits)).resize(law.width))
    builder.output(value.wide_add(noise))
    return builder.build()


def noisy(engine: Engine, secrets: Bits, law: Law) -> Bits:
    """Return secret integers with noise, plus `from_zero_by(law)`, which stay secret, [bits, batch].

    Large batches are run in parts.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        secrets: Secret integers from 0 up, [width, batch].
        law: Law of the noise; public.

    Raises:
        InputError: An integer with its noise would have more than 63 bits.
    """
    netlist = noisy_netlist(secrets.width, law, engine.form)
    if netlist.output_widths[0] > MOST_BITS:
        raise InputError(f"integers with this noise take {netlist.output_widths[0]} bits, at most {MOST_BITS}")
    size = max(1, engine.comfortable // (secrets.width + law.bits))
    parts = []
    for start in range(0, max(1, secrets.batch), size):
        some = secrets.take(slice(start, start + size))
        parts += engine.run(netlist, some, engine.random(law.bits, some.batch))
    return Bits.join(parts)


def opened_with_noise(engine: Engine, secrets: Bits, law: Law) -> NDArray[np.int64]:
    """Open secret integers with noise, int64[batch].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        secrets: Secret integers from 0 up, [width, batch].
        law: Law of the noise; public.

    Raises:
        InputError: An integer with its noise would have more than 63 bits.
    """
    (opened,) = engine.reveal(noisy(engine, secrets, law))
    return bitpack.to_words(opened).astype(np.int64) - from_zero_by(law)


def _check_range(own: NDArray[np.integer], width: int, offset: int) -> None:
    """Raise InputError unless this party's integers `own` plus the offset are from 0 to 2^width - 1."""
    least, greatest = -offset, (1 << width) - 1 - offset
    wrong = np.flatnonzero((own < least) | (own > greatest))
    if wrong.size:
        where = f" number {wrong[0] + 1}" if len(own) > 1 else ""
        raise InputError(f"the integer{where} is {own[wrong[0]]}, must be from {least} to {greatest}")

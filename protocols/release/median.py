"""Noisy median: the public candidate nearest to the middle of both parties' values.

Ideal functionality. Inputs: from each party, for each public candidate v (a batch of such), how many of its values are
less than v and how many are greater. Output to both: the index of the candidate with the greatest g_v - u_v, among
equals in a random order (`protocols.release.choice`), where u_v is the greater of the two numbers, summed over both
parties, and the g_v are independent one-sided geometric noise. Without noise that is the median: the only candidates
with u_v <= n / 2 are medians of n values, if one is a candidate. Leakage: candidates, widths, law, batch size; no
number is opened. Security is that of the engine.

Any quantile s = a / b of n values, by the two numbers that `weighed` makes of l values less than v and m greater ones:

    l and m + (2 s - 1) n    for s of a half or more,
    l + (1 - 2 s) n and m    for less,

times b, without common factors. The greater of them, u_v, is at most max(s, 1 - s) n for quantiles only, for v is one
if l <= s n and m <= (1 - s) n. (Weighing l by 1 - s and m by s, as one may, leaves an answer 9 times as many rows above
the ninth decile as below it. Here it is 1.8 times the median's distance either way.)

Privacy is that of `protocols.release.choice`: the quality -u_v is monotone, for a value that is added raises one of the
two numbers by at most 1 and lowers neither, whichever v is: so it changes every -u_v by 0 or -1. Hence sensitivity 1
and noise of the scale 1 / epsilon, where values are added or removed, and twice that where one is replaced. (The median
itself has no useful sensitivity: of (0, 0, 1) and (0, 1, 1) it is 0 and 1.) Of s above a half a value that is added
raises l by 0 or 1, and the other number by 2 s - 1, or by 2 s if it is greater than v; neither falls, whichever v is.
So the quality is monotone again, with sensitivity 2 s (and 2 (1 - s) below a half, as in a mirror). A value that is
replaced by another leaves n as it is, and moves both numbers by 1 at most, in any direction: sensitivity 1, and twice
that for scores that are not monotone. One that is replaced by a missing one, which does not count, is removed, so n
falls: monotone, with sensitivity 2 s or 2 (1 - s), and twice 1 is no less. `change` is all this in the units of
`weighed`.

The least and the greatest value, s = 0 and 1, have no such numbers: beyond a candidate above all values there are as
few values as beyond the greatest. `extreme` therefore aims at a public number t of values beyond the answer. For the
greatest, with m values above v and g at v or above, its numbers are t - g and m - t, plus a constant of each party. A
value that is added, removed or replaced moves each by 1 at most, in any direction: sensitivity 1, not monotone, so
twice the noise. With t values or more, a candidate has two numbers of 0 at most. One above all values has t, and one
with more than 2 t values above it has more than t. So one of n candidates of either kind wins with a chance of at most
n e^(-t / scale), as noise is never negative: `margin` takes the t that makes this 1/20.

Cost of n candidates with numbers of w bits: 4 n w ANDs, n samples, and the argmax.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.majority import count_inputs
from protocols.opened import index_below
from protocols.release.choice import TIE_BITS, noisy_argmax
from protocols.release.laws import Law, sample
from smc.circuit import Builder, Form, Integer, Netlist, select
from smc.engines import Bits, Engine
from smc.errors import InputError


@lru_cache(maxsize=32)
def median_netlist(candidates: int, width: int, noise: int, form: Form = "size", ties: int = 0) -> Netlist:
    """Build the noisy median: the index of the chosen candidate out.

    The inputs stand in this order, each for all candidates: party 0's numbers of lesser values, its numbers of greater
    values, party 1's likewise, the noise, the ties.

    Args:
        candidates: Number of candidates.
        width: Bits of a party's number.
        noise: Bits of a sample of noise; 0 for none.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
        ties: Random bits of each candidate that decide between equals. Default: none.
    """
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(2 * candidates)] for _ in range(2))
    sums = [a.wide_add(b) for a, b in zip(left, right, strict=True)]
    scores = [~_greater(below, above) for below, above in zip(sums[:candidates], sums[candidates:], strict=True)]
    noises = [builder.input(noise) for _ in range(candidates)]
    builder.output(noisy_argmax(scores, noises, [builder.input(ties) for _ in range(candidates)] if ties else ()))
    return builder.build()


def weighed(by_candidate: NDArray[np.int64], share: Fraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a party's two numbers for each candidate of a quantile, int64[candidates, batch] each.

    Args:
        by_candidate: This party's number of values at each candidate, int64[candidates, batch]; private.
        share: The quantile, between 0 and 1: 1/2 for the median; public.

    Returns:
        The numbers of lesser and of greater values, weighed for the quantile; private.
    """
    total, below = by_candidate.sum(axis=0), by_candidate.cumsum(axis=0) - by_candidate
    above = total - below - by_candidate
    (b, more), unit = _units(share)
    return (b * below + max(-more, 0) * total) // unit, (b * above + max(more, 0) * total) // unit


def change(share: Fraction, replaced: bool) -> int:
    """Return epsilon times the scale of the noise on the numbers of `weighed`.

    Args:
        share: The quantile: 1/2 for the median; 0 and 1 for the numbers of `extreme`.
        replaced: True if neighbouring tables differ by a replaced row, False by an added or removed row.
    """
    if share in (0, 1):
        return 2
    (b, more), unit = _units(share)
    return (2 * b if replaced else b + abs(more)) // unit


def margin(scale: Fraction, candidates: int) -> int:
    """Return the even number of values to aim at beyond an extreme: the answer is beyond all in at most 1 of 20 runs.

    Args:
        scale: Scale of the noise on each number.
        candidates: Number of candidates.
    """
    return 2 * math.ceil(float(scale) * math.log(20 * candidates) / 2)


def extreme(
    by_candidate: NDArray[np.int64], greatest: bool, beyond: int, bound: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a party's two numbers for each candidate of the least or greatest value, from 0 to twice the bound.

    Args:
        by_candidate: This party's number of values at each candidate, int64[candidates, batch]; private.
        greatest: True for the greatest value, False for the least; public.
        beyond: Number of both parties' values beyond the answer, even, at most twice the bound; public.
        bound: Largest number of a party's values; public.

    Returns:
        The numbers to pass to `noisy_median`, int64[candidates, batch] each; private.
    """
    inward = by_candidate[::-1] if greatest else by_candidate
    at_or_beyond = inward.cumsum(axis=0)
    numbers = bound + beyond // 2 - at_or_beyond, bound - beyond // 2 + at_or_beyond - inward
    return (numbers[0][::-1], numbers[1][::-1]) if greatest else numbers


def _units(share: Fraction) -> tuple[tuple[int, int], int]:
    """Return b and 2 a - b of a share a / b, and their greatest common divisor."""
    b, more = share.denominator, 2 * share.numerator - share.denominator
    return (b, more), math.gcd(b, more)


def _greater(one: Integer, other: Integer) -> Integer:
    return select(one < other, other, one)


def noisy_median(
    engine: Engine,
    below: NDArray[np.integer],
    above: NDArray[np.integer],
    width: int,
    law: Law | None,
) -> NDArray[np.int64]:
    """Return the index of the chosen candidate of each instance, int64[batch], opened to both parties.

    For a quantile pass the two numbers of `weighed`.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        below: This party's number of values less than each candidate, int[candidates, batch]; private.
        above: This party's number of values greater than each candidate, int[candidates, batch]; private.
        width: Bits of a party's number; public.
        law: Law of the noise; None for no noise.

    Raises:
        InputError: There is no candidate, or a number does not fit the width.
        ProtocolError: The opened index is not that of a candidate.
    """
    candidates, batch = below.shape
    if candidates < 1:
        raise InputError("a median needs at least one candidate")
    if candidates == 1:
        return np.zeros(batch, dtype=np.int64)
    ties = 0 if law is None else TIE_BITS
    netlist = median_netlist(candidates, width, 0 if law is None else law.width, engine.form, ties)
    inputs = [*count_inputs(engine, np.concatenate([below, above]), width), *noises(engine, law, candidates, batch)]
    if ties:
        inputs += [engine.random(ties, batch) for _ in range(candidates)]
    (chosen,) = engine.reveal(*engine.run(netlist, *inputs))
    return index_below(chosen, candidates, "the candidate of a median")


def noises(engine: Engine, law: Law | None, candidates: int, batch: int) -> list[Bits]:
    """Return secret noise for each candidate of a batch, [law.width, batch] each; no bits without a law.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        law: Law of the noise; None for no noise.
        candidates: Number of candidates; public.
        batch: Number of instances; public.
    """
    if law is None:
        return [engine.constant(np.zeros((0, batch), dtype=np.uint8))] * candidates
    drawn = sample(engine, law, candidates * batch)
    return [drawn.take(slice(i * batch, (i + 1) * batch)) for i in range(candidates)]

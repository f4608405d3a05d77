"""Noisy median: the public candidate nearest to the middle of both parties' values.

Ideal functionality. Inputs: from each party, for each public candidate v (in a batch), two numbers: its values less
than v, and its values greater than v. Output to both: the index of the candidate with the greatest g_v - u_v; ties are
decided at random (`protocols.release.choice`). Each of the two numbers is summed over both parties, and u_v is the
greater sum. The g_v are independent one-sided geometric noise. Without noise the result is a median if one is a
candidate: of n values, exactly the medians have u_v <= n / 2. Leakage: candidates, widths, law, batch size; no number
is opened. Security is that of the engine.

For any quantile s = a / b of n values, `weighed` turns l values less than v and m greater values into two numbers:

    l and m + (2 s - 1) n    for s of a half or more,
    l + (1 - 2 s) n and m    for less,

times b, divided by their common factors. The greater number, u_v, is at most max(s, 1 - s) n exactly for quantiles: v
is one if l <= s n and m <= (1 - s) n. (The other usual weights, 1 - s for l and s for m, permit errors of the ninth
decile that are 9 times as large above as below. Here the error is 1.8 times that of the median on either side.)

Privacy is that of `protocols.release.choice` with the quality -u_v. For the median it is monotone: an added value
raises one of the two numbers by at most 1 and lowers neither, for every v. So it changes every -u_v by 0 or -1. Hence
the sensitivity is 1; the noise has the scale 1 / epsilon if values are added or removed, twice that if one is replaced.
(The median itself has no useful sensitivity: for (0, 0, 1) and (0, 1, 1) it is 0 and 1.) For s above a half, an added
value raises l by 0 or 1. It raises the other number by 2 s - 1, or by 2 s if it is greater than v. So the quality is
monotone again, with sensitivity 2 s (and by symmetry 2 (1 - s) below a half). A replaced value leaves n unchanged and
moves both numbers by at most 1 in any direction: sensitivity 1, times 2 because the quality is not monotone here. If a
value is replaced by a missing one, it is removed: monotone, with sensitivity 2 s or 2 (1 - s), which is at most 2.
`change` is the result in the units of `weighed`.

For the least and the greatest value, s = 0 and 1, these numbers do not work: a candidate above all values has as few
values beyond it as the greatest value. So `extreme` aims at a public number t of values beyond the answer. For the
greatest, with m values above v and g values at v or above, its numbers are t - g and m - t, plus a constant of each
party. An added, removed or replaced value moves each by at most 1 in any direction: sensitivity 1, not monotone, so
twice the noise. Of t values or more, some candidate has two numbers of at most 0. A candidate above all values has the
number t, and a candidate with more than 2 t values above it has more than t. Noise is never negative, so one of n
candidates of these two kinds wins with probability at most n e^(-t / scale). `margin` returns the t that makes this
1/20.

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
    """Build the noisy median; the output is the index of the chosen candidate.

    The inputs in order, each for all candidates: party 0's numbers of lesser values, its numbers of greater values, the
    same of party 1, the noise, the ties.

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
    """Return the scale of the noise on the numbers of `weighed`, times epsilon: twice the sensitivity if not monotone.

    Args:
        share: The quantile: 1/2 for the median; 0 and 1 for the numbers of `extreme`.
        replaced: True if neighbouring tables differ by a replaced row, False by an added or removed row.
    """
    if share in (0, 1):
        return 2
    (b, more), unit = _units(share)
    return (2 * b if replaced else b + abs(more)) // unit


def margin(scale: Fraction, candidates: int) -> int:
    """Return the even t of `extreme`: answers beyond all values, or with over 2 t beyond, have probability <= 1/20.

    Args:
        scale: Scale of the noise on each number.
        candidates: Number of candidates.
    """
    return 2 * math.ceil(float(scale) * math.log(20 * candidates) / 2)


def extreme(
    by_candidate: NDArray[np.int64], greatest: bool, beyond: int, bound: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a party's two numbers for each candidate of the least or greatest value; each from 0 to twice the bound.

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
    """Return (b, 2 a - b) of a share a / b, and the greatest common divisor of these two numbers."""
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
    """Open the index of the chosen candidate of each instance, int64[batch].

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

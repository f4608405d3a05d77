"""A noisy median: which of some public candidates lies nearest to the middle of both parties' values.

Ideal functionality. Inputs: from each party, for each public candidate v (a batch of such), how many of its values are
less than v and how many are greater. Output to both: the index of the candidate with the greatest g_v - u_v, the lowest
index among equals, where u_v is the greater of the two numbers, summed over both parties, and the g_v are independent
one-sided geometric noise. Without noise that is the median: the only candidates with u_v <= n / 2 are medians of n
values, if one is a candidate. Leakage: candidates, widths, law, batch size; no number is opened. Security is that of
the engine.

Any quantile a / b: both numbers are weighed, by b - a and by a, before the greater is taken. Without noise u_v is at
most a (b - a) n / b for quantiles only.

Privacy is that of `protocols.release.choice`: the quality -u_v is monotone, for a value that is added raises one of the
two numbers by at most 1 and lowers neither, whichever v is: so it changes every -u_v by 0 or -1. Hence sensitivity 1
and noise of the scale 1 / epsilon, where values are added or removed, and twice that where one is replaced. (The median
itself has no useful sensitivity: of (0, 0, 1) and (0, 1, 1) it is 0 and 1.) Weighed, it is max(a, b - a) times as much.

Cost of n candidates with counts of w bits: 4 n w ANDs, n samples, and the argmax.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.majority import count_inputs
from protocols.opened import index_below
from protocols.release.choice import noisy_argmax
from protocols.release.laws import Law, sample
from smc.circuit import Builder, Form, Integer, Netlist, select
from smc.engines import Bits, Engine
from smc.errors import InputError


@lru_cache(maxsize=32)
def median_netlist(
    candidates: int, width: int, noise: int, form: Form = "size", weights: tuple[int, int] = (1, 1)
) -> Netlist:
    """Inputs for each candidate: party 0's number of lesser values, of greater ones, party 1's, bits of noise."""
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(2 * candidates)] for _ in range(2))
    sums = [a.wide_add(b) for a, b in zip(left, right, strict=True)]
    less, more = (
        [number * weight for number in part]
        for part, weight in zip((sums[:candidates], sums[candidates:]), weights, strict=True)
    )
    scores = [~_greater(below, above) for below, above in zip(less, more, strict=True)]
    builder.output(noisy_argmax(scores, [builder.input(noise) for _ in range(candidates)]))
    return builder.build()


def _greater(one: Integer, other: Integer) -> Integer:
    return select(one < other, other, one)


def noisy_median(
    engine: Engine,
    below: NDArray[np.integer],
    above: NDArray[np.integer],
    width: int,
    law: Law | None,
    weights: tuple[int, int] = (1, 1),
) -> NDArray[np.int64]:
    """Return the index of the chosen candidate of each instance, int64[batch]; without a law no noise.

    Each party passes its own numbers int[candidates, batch], of at most `width` bits. `InputError` if one has more.
    `weights` are those of the lesser and of the greater ones: (b - a, a) for the quantile of a / b.
    """
    candidates, batch = below.shape
    if candidates < 1:
        raise InputError("a median needs at least one candidate")
    if candidates == 1:
        return np.zeros(batch, dtype=np.int64)
    netlist = median_netlist(candidates, width, 0 if law is None else law.width, engine.form, weights)
    inputs = [*count_inputs(engine, np.concatenate([below, above]), width), *noises(engine, law, candidates, batch)]
    (chosen,) = engine.reveal(*engine.run(netlist, *inputs))
    return index_below(chosen, candidates, "the candidate of a median")


def noises(engine: Engine, law: Law | None, candidates: int, batch: int) -> list[Bits]:
    """Secret noise for each candidate of a batch, [law.width, batch] each; no bits without a law."""
    if law is None:
        return [engine.constant(np.zeros((0, batch), dtype=np.uint8))] * candidates
    drawn = sample(engine, law, candidates * batch)
    return [drawn.take(slice(i * batch, (i + 1) * batch)) for i in range(candidates)]

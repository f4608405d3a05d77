"""Noisy top: the k most frequent of some public candidates, in order, with one sample of noise for each candidate.

Ideal functionality. Inputs: from each party one count for each candidate (in a batch). Output to both: the indices of
the k greatest q_i + g_i, the greatest first; ties are decided at random (`protocols.release.choice`). Here q_i is the
sum of both parties' counts, and the g_i are independent one-sided geometric noise, P(g) = (1 - alpha) alpha^g. No
count, noise or other order is opened. Leakage: candidates, k, widths, law, batch size. Security is that of the engine.

Privacy. Let a row count for at most one candidate, and let k be at most n - 1: the last place follows from the others.
The output is epsilon-private with alpha = e^(-epsilon / k) if rows are added or removed, and with alpha = e^(-epsilon /
(k + 1)) if one is replaced. No smaller alpha suffices.

Proof. Let q be the counts without the row and q' those with it, which are 1 greater at b, and let S = (i_1, ..., i_k)
be an answer. If noise g gives S on q, then on q' so does g' with g'_i = g_i + 1 for i in S other than b, and g'_j = g_j
otherwise: the sums of S have all become 1 more, so the order within S is kept, and the others at most 1 more, so none
overtakes one of S; equal sums stay so or become better for S. If g gives S on q', then on q so does g with g_b + 1 if b
is in S, and g itself if not: the sums of S are what they were, the others at most that. Both maps are injective and
keep g >= 0, and P(g) falls by a factor of at least alpha^k in the first and alpha in the second. So

    P(S | q) <= alpha^-k P(S | q'),    P(S | q') <= alpha^-1 P(S | q),

A replaced row is one removed, which costs alpha^-1, and one added, which costs alpha^-k; both may be of one group, or
of two groups in the batch. The factors are reached if n = k + 1, b is not in S and no count of S is above q_b; the
tests list all small tables and their exact laws. The proof uses only the ratio P(g) / P(g + 1). So one draw for all k
places costs no more privacy than k noisy maxima with fresh noise each, and takes one round. (Durfee, Rogers, NeurIPS
2019, and Qiao, Su, Zhang, NeurIPS 2021, have one-shot forms with Gumbel and Laplace noise.)

Cost of n candidates with counts of w bits: n w ANDs, n samples, and k times the argmax and about 2 n ANDs that exclude
its winner.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.majority import count_inputs
from protocols.opened import index_below
from protocols.release.choice import TIE_BITS, choice_law
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laws import SECURITY, Law
from protocols.release.median import noises
from smc.circuit import Builder, Form, Netlist, Wire, argmax, concatenate, decode
from smc.circuit.graph import ONE
from smc.counting import CountingEngine
from smc.engines import Engine
from smc.errors import InputError, ProtocolError
from smc.primitives import bits as bitpack


@lru_cache(maxsize=32)
def top_netlist(candidates: int, most: int, width: int, noise: int, form: Form = "size", ties: int = 0) -> Netlist:
    """Build the noisy top; the outputs are the index for each place, the greatest first.

    The inputs in order: party 0's count of each candidate, party 1's counts, bits of noise, bits of ties.

    Args:
        candidates: Number of candidates.
        most: Number of places.
        width: Bits of a party's count.
        noise: Bits of a sample of noise; 0 for none.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
        ties: Random bits of each candidate that decide between equals. Default: none.
    """
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(candidates)] for _ in range(2))
    counts = [a.wide_add(b) for a, b in zip(left, right, strict=True)]
    scores = [count.wide_add(builder.input(noise)) for count in counts]
    if ties:
        scores = [concatenate(builder.input(ties), score) for score in scores]
    # the top bit is removed once it is found
    left_in = [concatenate(score, Wire(score.graph, ONE)) for score in scores]
    for place in range(most):
        index = argmax(left_in)
        builder.output(index)
        if place < most - 1:
            found = decode(index)[:candidates]
            left_in = [concatenate(one[:-1], one[-1] & ~hit) for one, hit in zip(left_in, found, strict=True)]
    return builder.build()


def change(most: int, candidates: int, replaced: bool = False) -> int:
    """Return the scale of the noise on each count, times epsilon: min(k, n - 1), plus 1 if a row is replaced.

    Args:
        most: Number of places.
        candidates: Number of candidates.
        replaced: True if neighbouring tables differ by a replaced row, False by an added or removed row.
    """
    return max(1, min(most, candidates - 1)) + replaced


def top_law(
    epsilon: Fraction, most: int, candidates: int, replaced: bool = False, batch: int = 1, security: int = SECURITY
) -> OneSidedGeometric:
    """Return the law of the noise on each count, for an epsilon-private ranking of `batch` disjoint groups of rows.

    Args:
        epsilon: Epsilon of the whole answer.
        most: Number of places.
        candidates: Number of candidates.
        replaced: True if neighbouring tables differ by a replaced row, False by an added or removed row.
        batch: Number of groups.
        security: Statistical parameter: samples add at most 2^(2 - security) to delta. If in doubt, 40.

    Raises:
        InputError: Epsilon is not above 0, or the noise takes too many digits.
    """
    return choice_law(epsilon, change(most, candidates, replaced), True, candidates * batch, security)


def count_top(engine: CountingEngine, candidates: int, batch: int, most: int, width: int, law: Law | None) -> None:
    """Count the cost of a run. All runs with these arguments have equal costs and open equal numbers of bits.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        candidates: Number of candidates.
        batch: Number of instances.
        most: Number of places.
        width: Bits of a party's count.
        law: Law of the noise; None for no noise.
    """
    places = [bitpack.from_integers([place] * batch, (candidates - 1).bit_length()) for place in range(most)]
    engine.answers = iter([places])
    noisy_top(engine, np.zeros((candidates, batch), dtype=np.int64), most, width, law)


def noisy_top(engine: Engine, counts: NDArray[np.integer], most: int, width: int, law: Law | None) -> NDArray[np.int64]:
    """Open the indices of the greatest candidates of each instance, int64[most, batch], the greatest first.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        counts: This party's counts, int[candidates, batch]; private.
        most: Number of places, from 1 to the number of candidates; public.
        width: Bits of a party's count; public.
        law: Law of the noise, `top_law` for an epsilon-private answer; None for no noise.

    Raises:
        InputError: There are fewer candidates than places, or a count does not fit the width.
        ProtocolError: An opened index is not that of a candidate, or occurs twice.
    """
    candidates, batch = counts.shape
    if not 1 <= most <= candidates:
        raise InputError(f"the first {most} of {candidates} candidates cannot be opened; give from 1 to {candidates}")
    if candidates == 1:
        return np.zeros((1, batch), dtype=np.int64)
    ties = 0 if law is None else TIE_BITS
    netlist = top_netlist(candidates, most, width, 0 if law is None else law.width, engine.form, ties)
    inputs = [*count_inputs(engine, counts, width), *noises(engine, law, candidates, batch)]
    if ties:
        inputs += [engine.random(ties, batch) for _ in range(candidates)]
    opened = engine.reveal(*engine.run(netlist, *inputs))
    found = np.array([index_below(bits, candidates, "a candidate among the first") for bits in opened])
    if any(len(set(column)) < most for column in found.T.tolist()):
        raise ProtocolError("a candidate was opened twice among the first: the peer's messages are wrong")
    return found

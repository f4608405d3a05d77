"""Noisy top: the k most frequent of some public candidates, in their order, by one noise a candidate.

Ideal functionality. Inputs: from each party one count a candidate (a batch of such). Output to both: the indices of the
k greatest q_i + g_i, the greatest first and the lower index among equals, where q_i is the sum of both parties' counts
and the g_i are independent one-sided geometric noise, P(g) = (1 - alpha) alpha^g. No count, noise or other order is
opened. Leakage: candidates, k, widths, law, batch size. Security is that of the engine.

Privacy. With alpha = e^(-epsilon / k) it is epsilon-private where rows are added or removed and each row counts for at
most one candidate, or for several: a row that is added raises each count by 0 or 1.

Proof. Let q be the counts without the row and q + d those with it, every d_i 0 or 1, and let S = (i_1, ..., i_k) be an
answer. If noise g gives S on q, then on q + d so does g' with g'_i = g_i + 1 - d_i for i in S and g'_j = g_j otherwise:
each q_i + g_i of S has become exactly 1 more, so the order within S is kept, and the others have become at most 1 more,
so none overtakes one of S; equal sums stay equal or become better for S, so ties are decided as before or not asked.
If g gives S on q + d, then on q so does g'_i = g_i + d_i for i in S: the sums of S are what they were, those of the
others at most that. Both maps are injective, keep g' >= 0, and lower the probability of the noise by a factor of at
least alpha^k = e^-epsilon. So P(S) differs by at most e^epsilon. The proof asks nothing of the noise but its ratio: one
draw for all k, instead of k noisy maxima with fresh noise each, costs no more privacy and one round. (Durfee, Rogers,
NeurIPS 2019, and Qiao, Su, Zhang, NeurIPS 2021, have one-shot forms with Gumbel and Laplace noise.) Where a row is
replaced, one is removed and one added: alpha = e^(-epsilon / (2 k)).

Cost of n candidates with counts of w bits: n w ANDs, n samples, and k times the argmax and about 2 n to leave out what
it has found.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.majority import count_inputs
from protocols.opened import index_below
from protocols.release.laws import Law
from protocols.release.median import noises
from smc.circuit import Builder, Form, Netlist, Wire, argmax, concatenate, decode
from smc.circuit.graph import ONE
from smc.counting import CountingEngine
from smc.engines import Engine
from smc.errors import InputError, ProtocolError
from smc.primitives import bits as bitpack


@lru_cache(maxsize=32)
def top_netlist(candidates: int, most: int, width: int, noise: int, form: Form = "size") -> Netlist:
    """Inputs for each candidate: party 0's count, party 1's, bits of noise. Outputs: an index for each place."""
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(candidates)] for _ in range(2))
    counts = [a.wide_add(b) for a, b in zip(left, right, strict=True)]
    scores = [count.wide_add(builder.input(noise)) for count in counts]
    left_in = [concatenate(score, Wire(score.graph, ONE)) for score in scores]  # the top bit goes once it is found
    for place in range(most):
        index = argmax(left_in)
        builder.output(index)
        if place < most - 1:
            found = decode(index)[:candidates]
            left_in = [concatenate(one[:-1], one[-1] & ~hit) for one, hit in zip(left_in, found, strict=True)]
    return builder.build()


def count_top(engine: CountingEngine, candidates: int, batch: int, most: int, width: int, law: Law | None) -> None:
    """Count a run: any of them, for all open the same amounts; here the first candidates are the first."""
    places = [bitpack.from_integers([place] * batch, (candidates - 1).bit_length()) for place in range(most)]
    engine.answers = iter([places])
    noisy_top(engine, np.zeros((candidates, batch), dtype=np.int64), most, width, law)


def noisy_top(engine: Engine, counts: NDArray[np.integer], most: int, width: int, law: Law | None) -> NDArray[np.int64]:
    """The indices of the `most` greatest of each instance, int64[most, batch]; without a law no noise.

    Each party passes its own counts int[candidates, batch], of at most `width` bits. `InputError` if one has more, or
    if there are fewer candidates.
    """
    candidates, batch = counts.shape
    if not 1 <= most <= candidates:
        raise InputError(f"the first {most} of {candidates} candidates cannot be had")
    if candidates == 1:
        return np.zeros((1, batch), dtype=np.int64)
    netlist = top_netlist(candidates, most, width, 0 if law is None else law.width, engine.form)
    inputs = [*count_inputs(engine, counts, width), *noises(engine, law, candidates, batch)]
    opened = engine.reveal(*engine.run(netlist, *inputs))
    found = np.array([index_below(bits, candidates, "a candidate among the first") for bits in opened])
    if any(len(set(column)) < most for column in found.T.tolist()):
        raise ProtocolError("a candidate was opened twice among the first: the peer's messages are wrong")
    return found

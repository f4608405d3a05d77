"""Report noisy max: the index of the candidate with the greatest score, with noise on every score.

Ideal functionality. Inputs: from each party one integer score a candidate (a batch of vectors). Output to both: the
index of the greatest q_i + g_i, where q_i is the sum of both parties' scores and the g_i are independent one-sided
geometric noise, P(g) = (1 - alpha) alpha^g. Ties are decided by `TIE_BITS` secret random bits of each candidate. If
these are equal too, the lowest index wins. No score, no noise and no runner-up is opened. Leakage: candidates, widths,
law, batch size. Security is that of the engine; the noise comes from `Engine.random`.

Privacy: with D the greatest change of a score by one row, alpha = e^(-epsilon / D) if the scores are *monotone* (adding
a row never lowers one), alpha = e^(-epsilon / (2 D)) otherwise, and always if neighbouring tables differ by a replaced
row. The proof is the theorem of docs/math/noisy-choice.md. Lemma 1 there: the mechanism is permute-and-flip (McKenna,
Sheldon, NeurIPS 2020). Lemma 2: it costs rho = epsilon^2 / 2. So `protocols.release.exponential` makes the choices that
are composed as rho.

Statistical distance: at most that of the noise's law times the number of candidates; `choice_law` takes this number
into account.

Cost of n candidates, with scores of w bits and noise of k bits: n samples of noise, n sums of about w + k ANDs, and a
knock-out tournament. The tournament has n - 1 comparisons and choices of 2 (w + 2) ANDs, and the choices of the index.
Each round halves the number of candidates, and is one batch. Too many candidates play in several groups, one group
after the other; then the winners play against each other. Memory therefore does not grow with the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import both_inputs, summands
from protocols.opened import index_below
from protocols.release.exact import sum_netlist
from protocols.release.geometric import OneSidedGeometric
from protocols.release.inversion import MOST_SCALE, InvertedGeometric
from protocols.release.laws import SECURITY, Law, security_for
from protocols.release.numbers import MOST_BITS, noisy_sum_netlist, sum_width
from smc.circuit import Builder, Form, Integer, Netlist, argmax, concatenate, select
from smc.engines import Bits, Engine
from smc.errors import InputError

TIE_BITS = 16  # random bits that decide between equal sums
MANY = 1 << 14  # candidates from which on the gates of their noise cost more than its levels


def choice_law(
    epsilon: Fraction, sensitivity: Fraction | int, monotone: bool, candidates: int, security: int = SECURITY
) -> OneSidedGeometric:
    """Return the noise on each score for an epsilon-private choice.

    Args:
        epsilon: Epsilon of one choice.
        sensitivity: Greatest change of a score by one row, in units of the score.
        monotone: True if an added row never lowers a score. The noise then has half the scale.
        candidates: Number of candidates. From `MANY` on, noise is drawn by inversion if this saves 2/5 of its bits.
        security: Statistical parameter: samples add at most 2^(2 - security) to delta. If in doubt, 40.

    Raises:
        InputError: The scale of the noise is not above 0, or its samples take too many digits.
    """
    scale = Fraction(sensitivity) * (1 if monotone else 2) / epsilon
    law = OneSidedGeometric(scale, security_for(epsilon, candidates, security))
    saves = candidates >= MANY and scale <= MOST_SCALE and 10 * (law.security + 1) <= 3 * law.bits
    return InvertedGeometric(scale, law.security) if saves else law


def noisy_argmax(scores: Sequence[Integer], noises: Sequence[Integer], ties: Sequence[Integer] = ()) -> Integer:
    """Build the index of the greatest noisy score, ceil(log2 n) bits; among equals the greatest tie bits win.

    Scores and noises are integers of any widths and signs; no sum overflows. Without ties the lowest of equals is best.

    Args:
        scores: Score of each candidate.
        noises: Noise of each candidate.
        ties: Random bits of each candidate, of equal widths. Default: none.
    """
    sums = [score.wide_add(noise) for score, noise in zip(scores, noises, strict=True)]
    return argmax([concatenate(tie, total) for tie, total in zip(ties, sums, strict=True)] if ties else sums)


def with_ties(engine: Engine, values: Bits) -> Bits:
    """Return secrets with `TIE_BITS` random bits below their lowest bit, so that ties are decided at random.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        values: Secret numbers, [width, batch].
    """
    return Bits(np.concatenate([engine.random(TIE_BITS, values.batch).data, values.data]))


def check_width(width: int, law: Law | None) -> None:
    """Raise InputError if scores with their noise have more than `MOST_BITS` bits.

    Args:
        width: Bits of one party's score.
        law: Law of the noise; None for no noise.

    Raises:
        InputError: The sums are too wide.
    """
    bits = width + 1 if law is None else sum_width(width, law)
    if bits > MOST_BITS:
        noise, remedy = ("", "") if law is None else (" with this noise", ", or raise epsilon")
        raise InputError(
            f"scores of {width} bits{noise} take {bits} bits, at most {MOST_BITS} fit; lower max_rows{remedy}"
        )


def noisy_choice(engine: Engine, own: NDArray[np.integer], width: int, law: Law | None) -> NDArray[np.int64]:
    """Return the index of the chosen candidate of each instance, int64[batch], opened to both parties.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's scores, int[candidates, batch], from 0 to 2^width - 1; private.
        width: Bits of one party's score; public.
        law: Law of the noise, `choice_law` for an epsilon-private choice; None for no noise.

    Raises:
        InputError: There is no candidate, a score does not fit the width, or the sums are too wide.
        ProtocolError: The opened index is not that of a candidate.
    """
    candidates, batch = own.shape
    if candidates < 1:
        raise InputError("a choice needs at least one candidate")
    check_width(width, law)
    scores = summands(engine, own.reshape(-1), width, "the score").reshape(own.shape)
    if candidates == 1:
        return np.zeros(batch, dtype=np.int64)
    drawn = 0 if law is None else law.bits
    at_once = max(2, engine.comfortable // (2 * width + drawn))  # scores with their random bits
    places = []
    for start in range(0, max(1, batch), at_once // 2):
        places.append(_chosen(engine, scores[:, start : start + at_once // 2], width, law, at_once))
    (opened,) = engine.reveal(Bits.join(places))
    return index_below(opened, candidates, "a noisy choice")


def greatest(engine: Engine, values: Bits) -> int:
    """Return the index of the greatest of several secrets, the first among equals; a single one opens nothing.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        values: Secret numbers from 0 up, [width, candidates].

    Raises:
        ProtocolError: The opened index is not that of a candidate.
    """
    if values.batch == 1:
        return 0
    digits = (values.batch - 1).bit_length()
    (opened,) = engine.reveal(_winner(engine, _Players(values, values[:0], values.batch), digits).places)
    return int(index_below(opened, values.batch, "a noisy choice")[0])


def noisy_scores(engine: Engine, own: NDArray[np.integer], width: int, law: Law) -> Bits:
    """Return the sums of both parties' scores with noise, which stay secret, [bits, candidates].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        own: This party's scores, int[candidates], from 0 to 2^width - 1; private.
        width: Bits of one party's score; public.
        law: Law of the noise.

    Raises:
        InputError: A score does not fit the width.
    """
    scores = summands(engine, own, width, "the score")
    size = max(1, engine.comfortable // (2 * width + law.bits))
    starts = range(0, len(scores), size)
    return Bits.join([_summed(engine, scores[start : start + size], width, law) for start in starts])


@dataclass(frozen=True)
class _Players:
    """Candidates of a batch of choices, one after the other: secret `values` and `places`, [width, count * batch]."""

    values: Bits
    places: Bits  # position of each in its group: a bit for every round so far, lowest first
    count: int

    @property
    def batch(self) -> int:
        return self.values.batch // self.count


def _chosen(engine: Engine, scores: NDArray[np.uint64], width: int, law: Law | None, at_once: int) -> Bits:
    """Return the secret index of each choice, [ceil(log2 candidates), batch], from scores [candidates, batch].

    At most `at_once` candidates of all choices play at a time; the batch is at most half of this.
    """
    candidates, batch = scores.shape
    digits = (at_once // max(1, batch)).bit_length() - 1
    groups = [
        _winner(engine, _players(engine, scores[start : start + (1 << digits)], width, law), digits)
        for start in range(0, candidates, 1 << digits)
    ]
    values, places = (Bits.join(parts) for parts in zip(*((one.values, one.places) for one in groups), strict=True))
    length = (candidates - 1).bit_length()
    return _winner(engine, _Players(values, places, len(groups)), length).places[:length]


def _players(engine: Engine, scores: NDArray[np.uint64], width: int, law: Law | None) -> _Players:
    """Return the candidates, each with the sum of both parties' scores, and with noise if there is a law."""
    values = _summed(engine, scores.reshape(-1), width, law)
    return _Players(values if law is None else with_ties(engine, values), values[:0], len(scores))


def _summed(engine: Engine, scores: NDArray[np.uint64], width: int, law: Law | None) -> Bits:
    left, right = both_inputs(engine, scores, width)
    if law is None:
        (values,) = engine.run(sum_netlist(width, engine.form), left, right)
        return values
    netlist = noisy_sum_netlist(width, law, engine.form)
    (values,) = engine.run(netlist, left, right, engine.random(law.bits, len(scores)))
    return values


def _winner(engine: Engine, players: _Players, digits: int) -> _Players:
    """Return the winner of the tournament; its `places` have at least `digits` bits."""
    while players.count > 1:
        players = _round(engine, players)
    return _Players(players.values, _longer(engine, players.places, digits), 1)


def _round(engine: Engine, players: _Players) -> _Players:
    """Play one round: neighbours against each other; an odd one out advances."""
    pairs, batch = players.count // 2, players.batch
    seats = np.arange(2 * pairs * batch).reshape(pairs, 2, batch)
    sides = [seats[:, side].reshape(-1) for side in (0, 1)]
    values, places = players.values, players.places
    netlist = _match(values.width, places.width, engine.form)
    inputs = [part.take(side) for side in sides for part in (values, places)]
    best, where = engine.run(netlist, *inputs)
    if players.count % 2:
        rest = slice(2 * pairs * batch, None)
        best = Bits.join([best, values.take(rest)])
        where = Bits.join([where, _longer(engine, places.take(rest), where.width)])
    return _Players(best, where, pairs + players.count % 2)


def _longer(engine: Engine, places: Bits, digits: int) -> Bits:
    """Return positions extended by zeros to at least `digits` bits."""
    zeros = engine.constant(np.zeros((max(0, digits - places.width), places.batch), dtype=np.uint8))
    return Bits(np.concatenate([places.data, zeros.data]))


@lru_cache(maxsize=64)
def _match(width: int, digits: int, form: Form) -> Netlist:
    """Build a match: inputs value and position of two players; outputs those of the greater, or the first if equal.

    The output position has one bit more.
    """
    builder = Builder(form)
    value, place, other, other_place = (builder.input(size) for size in (width, digits, width, digits))
    beaten = value < other
    builder.output(select(beaten, other, value))
    builder.output(concatenate(select(beaten, other_place, place), beaten))
    return builder.build()

"""Best split of each node of a gradient-boosted tree, from private sums of slopes.

Ideal functionality. Inputs: from each party, for n nodes and c candidate splits each, its own sums of the slopes g and
curvatures h of the node's rows, and of the rows that go left; public `Gains`. Output to both: for each node the
candidate of greatest gain, or that none is feasible. A candidate is feasible if both children have curvature of at
least `least` and the gain is above `gamma`. The gain is the decrease of the objective by the best two leaf weights,
compared with one common weight,

    G_L^2 / H_L + G_R^2 / H_R - G^2 / (H_L + H_R) = (G_L S - G H_L)^2 / (S H_L H_R),    S = H_L + H_R,

with lambda in H_L and in H_R. (XGBoost counts lambda once in the last term: the order of a node's candidates is the
same.) The right-hand side has no difference of almost equal numbers. Of equal candidates the first is chosen. Leakage:
n, c, `Gains`.

Numbers. Sums are integers in units of 2^-20 a row and are rounded to units of 2^-`point`. `point` is the largest with
(rows + 2 lambda) 2^point below 2^WIDTH. Rounding moves a sum by half a unit for each party. G_L S - G H_L is exact. The
gain's logarithm to base 2 is 2 log |G_L S - G H_L| - log H_L - log H_R - log S. Each logarithm consists of the position
of the leading bit, the next `KEPT` bits f, and a table of log(1 + f) - f indexed by the first `TABLE` of these. So the
gain of the chosen split is at least `ORDER` times the best one's, of the rounded sums.

Cost of a level: 2 WIDTH + 1 factor bits, about 750 ANDs a candidate; log2(c) + 1 bits opened a node.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.opened import index_below
from smc.circuit import Builder, Form, Integer, Netlist, any_of, concatenate, decode, parity, select, total
from smc.engines import Bits, Engine
from smc.engines.words import Word
from smc.errors import InputError
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix

WIDTH = 31  # bits of a sum over both parties, without its sign
FINE = 20  # fraction bits of a row's slope, and of own sums
KEPT, TABLE = 10, 6  # bits kept of a mantissa; its leading bits that index the table of logarithms
SCORE = 8 + KEPT  # bits of a gain's logarithm; 0 marks a split that is not feasible
OFFSET = 128  # makes all gains' logarithms positive
GROUP_BITS = 3  # candidates meet in groups of 2^3


CORRECTION = [  # log2(1 + f) - f in the middle of each cell, in units of 2^-KEPT
    round((math.log2(1 + f) - f) * (1 << KEPT)) for f in ((2 * cell + 1) / (2 << TABLE) for cell in range(1 << TABLE))
]


def _worst() -> float:
    """Return the largest error of a logarithm, over both ends of the interval of every value of the kept bits."""
    unit, off = 2.0**-KEPT, 0.0
    for first in range(1 << KEPT):
        value = (first + CORRECTION[first >> (KEPT - TABLE)]) * unit
        off = max(off, *(abs(math.log2(1 + f) - value) for f in (first * unit, (first + 1) * unit)))
    return off


ORDER = 2 ** (-2 * 4 * _worst())  # four logarithms for each of two candidates


@dataclass(frozen=True)
class Gains:
    """Public parameters of the choice of splits. Slope and curvature of a row have absolute values of at most 1.

    Attributes:
        max_rows: Upper bound on a party's rows.
        regularisation: The factor lambda.
        least: Least curvature of a child.
        gamma: Gain that a split must exceed.
    """

    max_rows: int
    regularisation: float = 1.0
    least: float = 1.0
    gamma: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError if sums of `max_rows` rows are too large, or neither `least` nor lambda is above 0."""
        if self.point < 0:
            raise InputError(f"max_rows: sums of so many rows do not fit {WIDTH} bits: lower it, or lambda")
        if self.least <= 0 and self.regularisation <= 0:
            raise InputError("min_child_weight: must be above 0 where lambda is 0")

    @property
    def point(self) -> int:
        """Number of fraction bits of the sums of slopes and curvatures."""
        most = 2 * self.max_rows + math.ceil(2 * self.regularisation) + 1
        return min(WIDTH - most.bit_length(), FINE)

    def units(self, amount: float) -> int:
        """Return an amount of curvature (a sum of second derivatives) in the fixed-point unit, rounded up."""
        return math.ceil(amount * (1 << self.point))

    def rounded(self, sums: Indices) -> Indices:
        """Return this party's sums, integers in units of 2^-FINE, rounded to units of 2^-point."""
        shift = FINE - self.point
        return sums if not shift else (sums + (1 << (shift - 1))) >> shift

    @property
    def sill(self) -> int:
        """Logarithm of `gamma` in units of 2^-KEPT, for gains in units of 2^-point; 0 without `gamma`."""
        return 0 if self.gamma <= 0 else round((math.log2(self.gamma) + self.point) * (1 << KEPT))


def log2(x: Integer) -> tuple[Integer, Integer]:
    """Return the leading zeros of x > 0, and the logarithm of its mantissa from 1 to 2 in units of 2^-KEPT."""
    zeros, steps = [], max(len(x) - 1, 1).bit_length()
    for step in reversed(range(steps)):
        empty = ~any_of(x.wires[-(1 << step) :])
        x = select(empty, x << (1 << step), x)
        x = x[max(0, len(x) - KEPT - (1 << step)) :]  # the bits that can still reach the top
        zeros.append(empty)
    mantissa = x[:-1]
    cells, width = decode(mantissa[KEPT - TABLE :]), max(CORRECTION).bit_length()
    zero = Integer.constant(x.graph, 0, 1).wires[0]
    chosen = [[cell for cell, entry in zip(cells, CORRECTION, strict=True) if entry >> bit & 1] for bit in range(width)]
    more = Integer(x.graph, [parity(wires) if wires else zero for wires in chosen])
    return Integer(x.graph, zeros[::-1]), total([mantissa, more], KEPT + 1)


@lru_cache(maxsize=16)
def _score_netlist(least: int, form: Form) -> Netlist:
    """Build a circuit for a candidate: output log2(gain S), shifted; 0 if infeasible, also if a child has H < `least`.

    Inputs: G_L S - G H_L, both parties' parts of H_L, those of H_R.
    """
    builder = Builder(form)
    moved = builder.input(2 * WIDTH)
    sides = [builder.input(WIDTH) for _ in range(4)]
    left, right = (total(sides[i : i + 2], WIDTH) for i in (0, 2))
    sign = moved.wires[-1]
    # one's complement: off by a unit for negative numbers
    size = Integer(builder.graph, [wire ^ sign for wire in moved.wires[:-1]])
    plus, minus = [builder.constant(OFFSET << KEPT, SCORE)], []
    zeros, log = log2(size)
    plus.append(concatenate(builder.constant(0, 1), log))
    minus.append(concatenate(builder.constant(0, KEPT + 1), zeros))
    for curvature in (left, right):
        zeros, log = log2(curvature)
        plus.append(concatenate(builder.constant(0, KEPT), zeros))
        minus.append(log)
    score = total(plus, SCORE, minus)
    feasible = any_of(size.wires) & (left >= least) & (right >= least)
    builder.output([wire & feasible for wire in score.wires])
    return builder.build()


@lru_cache(maxsize=16)
def _duel_netlist(known: int, form: Form) -> Netlist:
    """Build a circuit: inputs 2^GROUP_BITS scores, each with `known` index bits; output the first of the best."""
    builder = Builder(form)
    row = [
        (player[known:], player[:known]) for player in (builder.input(known + SCORE) for _ in range(1 << GROUP_BITS))
    ]
    while len(row) > 1:
        winners = []
        for (score, index), (other, other_index) in zip(row[::2], row[1::2], strict=True):
            beaten = score < other
            place = (
                concatenate(select(beaten, other_index, index), beaten)
                if len(index)
                else Integer(builder.graph, [beaten])
            )
            winners.append((select(beaten, other, score), place))
        row = winners
    score, index = row[0]
    builder.output([*index.wires, *score.wires])
    return builder.build()


@lru_cache(maxsize=16)
def _winner_netlist(index_bits: int, opened: int, sill: int, bounded: bool, form: Form) -> Netlist:
    """Build a circuit: inputs the best score with its index, and S; outputs whether to split, and the index.

    Args:
        index_bits: Number of bits of the index.
        opened: Number of its bits that are outputs.
        sill: What the logarithm of the gain must exceed.
        bounded: Whether to compare with the sill; otherwise each feasible candidate is split.
        form: Form of the circuit.
    """
    builder = Builder(form)
    winner, whole = builder.input(index_bits + SCORE), builder.input(WIDTH + 1)
    index, score = winner[:index_bits], winner[index_bits:]
    splits = any_of(score.wires)
    if bounded:
        zeros, log = log2(whole)
        # The positions of the leading bits: of G_L S - G H_L, twice, of H_L and H_R, and of S.
        known = (2 * (2 * WIDTH - 2) - 2 * (WIDTH - 1) - OFFSET - WIDTH) << KEPT
        width = SCORE + 4
        gain = total(
            [score, concatenate(builder.constant(0, KEPT), zeros), builder.constant(known % (1 << width), width)],
            width,
            [log, builder.constant(sill % (1 << width), width)],
        )
        splits = splits & ~gain.wires[-1] & any_of(gain.wires)
    builder.output([splits, *(wire & splits for wire in index.wires[:opened])])
    return builder.build()


def best_splits(
    engine: Engine, gains: Gains, slopes: Indices, curvatures: Indices, left_slopes: Indices, left_curvatures: Indices
) -> Indices:
    """Open the best candidate of each node.

    Each party passes its own sums over its rows, after `Gains.rounded`; they are private.

    Args:
        engine: The engine of this session.
        gains: The public parameters; both parties must agree.
        slopes: Sums of slopes of each node's rows, int64[nodes].
        curvatures: Sums of curvatures of each node's rows, int64[nodes].
        left_slopes: Sums of slopes of the rows that go left, int64[nodes, candidates].
        left_curvatures: Sums of curvatures of the rows that go left, int64[nodes, candidates].

    Returns:
        The candidate's index for each node, int64[nodes]; -1 if no candidate is feasible. Both parties learn it.

    Raises:
        ProtocolError: An opened index is not below the number of candidates.
    """
    nodes, candidates = left_slopes.shape
    session, first = engine.session, engine.party == 0
    penalty = gains.units(gains.regularisation) if first else 0
    with session.phase("gains"):
        whole, bits_of_sums = _node_bits(engine, slopes, curvatures + 2 * penalty)
        left, below = left_slopes.reshape(-1), left_curvatures.reshape(-1) + penalty
        right = np.repeat(curvatures, candidates) + 2 * penalty - below
        size = max(1, engine.comfortable // (6 * WIDTH))
        node_of = np.repeat(np.arange(nodes), candidates)
        parts = []
        for start in range(0, len(node_of), size):
            some = slice(start, start + size)
            moved = _moved(engine, whole.take(node_of[some]), bits_of_sums.take(node_of[some]), left[some], below[some])
            sides = engine.both(  # both circuits add modulo 2^WIDTH, so shares enter as they are
                np.concatenate(
                    [bitpack.from_integers(number[some].astype(np.uint64), WIDTH) for number in (below, right)]
                )
            )
            inputs = [side[place : place + WIDTH] for place in (0, WIDTH) for side in sides]
            least = gains.units(gains.least + gains.regularisation)
            parts += engine.run(_score_netlist(least, engine.form), engine.words.bits(moved), *inputs)
        scores = Bits.join(parts)
    with session.phase("argmax"):
        players, known, many = scores, 0, candidates
        while known == 0 or many > 1:
            groups = -(-many // (1 << GROUP_BITS))
            nothing = engine.constant(np.zeros((known + SCORE, 1), dtype=np.uint8))
            padded = Bits.join([players, nothing])
            place = np.arange(groups << GROUP_BITS)
            at = np.where(place < many, np.arange(nodes)[:, None] * many + place, nodes * many)
            at = at.reshape(nodes * groups, 1 << GROUP_BITS)
            (players,) = engine.run(_duel_netlist(known, engine.form), *(padded.take(column) for column in at.T))
            known, many = known + GROUP_BITS, groups
        bits_of_index = (candidates - 1).bit_length()
        netlist = _winner_netlist(known, bits_of_index, gains.sill, gains.gamma > 0, engine.form)
        (opened,) = engine.reveal(*engine.run(netlist, players, whole))
    index = index_below(opened[1:], candidates, "a split")
    return np.where(opened[0] == 1, index, -1)


def opened_bits(chosen: Indices, candidates: int) -> BitMatrix:
    """Return the bits that `best_splits` opens for these choices, uint8[1 + index width, nodes].

    Args:
        chosen: The chosen candidate of each node, int64[nodes]; -1 for none.
        candidates: Number of candidates of a node.
    """
    index = bitpack.from_integers(np.maximum(chosen, 0), (candidates - 1).bit_length())
    return np.concatenate([(chosen >= 0).astype(np.uint8)[None], index])


def _node_bits(engine: Engine, slopes: Indices, curvatures: Indices) -> tuple[Bits, Bits]:
    """Return the secret bits of S, WIDTH + 1 of them, and of G + 2^WIDTH, for each node."""
    words, first = engine.words, engine.party == 0
    offset = (1 << WIDTH) if first else 0
    both = words.bits(words.input(np.concatenate([curvatures, slopes + offset]), WIDTH + 1))
    nodes = len(slopes)
    return both.take(slice(0, nodes)), both.take(slice(nodes, 2 * nodes))


def _moved(engine: Engine, whole: Bits, slopes: Bits, left: Indices, below: Indices) -> Word:
    """Return G_L S - G H_L, of 2 WIDTH bits, of each candidate.

    `whole` has the bits of S, `slopes` those of G + 2^WIDTH; `left` and `below` are this party's parts of G_L and H_L.
    """
    words, width = engine.words, 2 * WIDTH
    product = words.multiply(whole, 0, words.input(left, WIDTH + 1), width)
    other = words.multiply(slopes, 1 << WIDTH, words.input(below, WIDTH + 1), width)
    return words.subtract(product, other, width)

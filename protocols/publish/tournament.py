"""Secret knock-out tournaments: the best edge of each box, and the first of its attributes that can be cut.

Players are edges or attributes, in groups. A player that is not allowed never wins. All groups play in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from smc.circuit import Builder, Form, Netlist, concatenate, select
from smc.engines import Bits, Engine

Fields = list[Bits]  # of every player: a bit "is allowed", its value, its position


@lru_cache(maxsize=128)
def first_netlist(width: int, digits: int, form: Form = "size") -> Netlist:
    """Build the circuit of a match. Of two players, the first that is allowed wins.

    Inputs are two players in order: for each a bit "is allowed", its value, its position. Outputs are these fields of
    the chosen player; the position has one bit more.

    Args:
        width: Bits of a value.
        digits: Bits of a position.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    sides = [(builder.input(1)[0], builder.input(width), builder.input(digits)) for _ in (0, 1)]
    (may, known, place), (other_may, other_known, other_place) = sides
    beaten = other_may & ~may
    builder.output(may | other_may)
    builder.output(select(beaten, other_known, known))
    builder.output(concatenate(select(beaten, other_place, place), beaten))
    return builder.build()


@lru_cache(maxsize=32)
def masked_netlist(width: int, form: Form = "size") -> Netlist:
    """Build a circuit that outputs its input bit, then its input number if the bit is 1, else 0.

    Args:
        width: Bits of the number.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    bit, number = builder.input(1)[0], builder.input(width)
    builder.output([bit, *(wire & bit for wire in number)])
    return builder.build()


def tournament(
    engine: Engine, match: Callable[[int, int, Form], Netlist], players: Fields, lengths: Indices, digits: int
) -> Fields:
    """Return the secret best player of each group: whether it is allowed, its value, its position in the group.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        match: Builds the netlist of a match. Its arguments are the bits of a value, the bits of a position, and the
            form of the netlist, "size" or "depth".
        players: Secret fields of all players, group by group: whether each is allowed, and its value.
        lengths: Number of players of each group, int64[groups], 1 at least; public.
        digits: Bits of a position in the result, the lowest first; enough for the longest group.
    """
    may, judged = players
    place = judged[:0]
    while lengths.max(initial=0) > 1:
        starts = np.cumsum(lengths) - lengths
        group = np.repeat(np.arange(len(lengths)), lengths)
        seat = np.arange(len(group)) - starts[group]
        upper = np.flatnonzero(seat % 2 == 1)
        alone = np.flatnonzero((seat % 2 == 0) & (seat == lengths[group] - 1))
        netlist = match(judged.width, place.width, engine.form)
        inputs = [field.take(side) for side in (upper - 1, upper) for field in (may, judged, place)]
        won = engine.run(netlist, *inputs)
        free = [may.take(alone), judged.take(alone), longer(engine, place.take(alone), place.width + 1)]
        order = np.argsort(np.concatenate([upper - 1, alone]))
        may, judged, place = (Bits.join(pair).take(order) for pair in zip(won, free, strict=True))
        lengths = (lengths + 1) // 2
    return [may, judged, longer(engine, place, digits)]


def longer(engine: Engine, number: Bits, width: int) -> Bits:
    """Return secret numbers extended by zeros above the highest bit.

    Args:
        engine: Engine of this party.
        number: Secret numbers, [digits, batch].
        width: Bits of the result. If it is less than those of the number, nothing is added.
    """
    zeros = engine.constant(np.zeros((max(0, width - number.width), number.batch), dtype=np.uint8))
    return stacked(number, zeros)


def stacked(*parts: Bits) -> Bits:
    """Return the bits of several numbers as one number; the first number has the lowest bits."""
    return Bits(np.concatenate([part.data for part in parts]))

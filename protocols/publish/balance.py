"""Circuits of joint Mondrian: of all edges the one that cuts a box best, of all attributes the first with such an edge.

The *balance* of an edge is 2 L - T, for L of a box's T rows on its lower side: a signed sum of what each party knows.
Within an attribute it only grows from edge to edge. So of two edges the lower is at least as near to an even cut if and
only if their balances add up to 0 or more, and no absolute value has to be computed: a comparison and a choice a match.

Edges that may not be chosen take no part. All groups of a batch play their knock-out tournaments side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from smc.circuit import Builder, Form, Netlist, concatenate, select
from smc.engines import Bits, Engine

Fields = list[Bits]  # of every player: whether it may win, what it is judged by, where it comes from
Match = Callable[[Sequence[int], Form], Netlist]


@lru_cache(maxsize=32)
def sum_netlist(width: int, form: Form = "size") -> Netlist:
    """The sum of two signed integers that needs no more bits, and the AND of two bits."""
    builder = Builder(form)
    left, right = builder.input(width, signed=True), builder.input(width, signed=True)
    builder.output(builder.input(1)[0] & builder.input(1)[0])
    builder.output(left + right)
    return builder.build()


@lru_cache(maxsize=128)
def nearest_netlist(width: int, digits: int, form: Form = "size") -> Netlist:
    """Two edges, the lower first: each a bit whether it is allowed, its balance, its place. Outputs the same of the
    allowed one that is nearer to 0, the lower of equals; the place has a digit more.
    """
    builder = Builder(form)
    sides = [(builder.input(1)[0], builder.input(width, signed=True), builder.input(digits)) for _ in (0, 1)]
    (may, balance, place), (other_may, other_balance, other_place) = sides
    lower = ~(balance <= ~other_balance)  # their sum is 0 or more
    beaten = other_may & ~(may & lower)
    builder.output(may | other_may)
    builder.output(select(beaten, other_balance, balance))
    builder.output(concatenate(select(beaten, other_place, place), beaten))
    return builder.build()


@lru_cache(maxsize=128)
def first_netlist(width: int, digits: int, form: Form = "size") -> Netlist:
    """The same of attributes: the first one that may be cut, with what is known of it."""
    builder = Builder(form)
    sides = [(builder.input(1)[0], builder.input(width), builder.input(digits)) for _ in (0, 1)]
    (may, known, place), (other_may, other_known, other_place) = sides
    beaten = other_may & ~may
    builder.output(may | other_may)
    builder.output(select(beaten, other_known, known))
    builder.output(concatenate(select(beaten, other_place, place), beaten))
    return builder.build()


@lru_cache(maxsize=32)
def sides_netlist(width: int, rows: int, least: int, form: Form = "size") -> Netlist:
    """Inputs: a bit, a balance, the box's rows at party 0 and at party 1. Output: the bit, and both sides of the edge
    have at least `least` rows: |2 L - T| <= T - 2 least.
    """
    builder = Builder(form)
    may, balance = builder.input(1)[0], builder.input(width, signed=True)
    room = builder.input(rows).wide_add(builder.input(rows)).wide_subtract(2 * least)
    builder.output(may & (balance <= room) & (balance.wide_add(room) >= 0))
    return builder.build()


@lru_cache(maxsize=32)
def masked_netlist(width: int, form: Form = "size") -> Netlist:
    """A bit, and a number if the bit is 1, else 0."""
    builder = Builder(form)
    bit, number = builder.input(1)[0], builder.input(width)
    builder.output([bit, *(wire & bit for wire in number)])
    return builder.build()


def tournament(
    engine: Engine, match: Callable[[int, int, Form], Netlist], players: Fields, lengths: Indices, digits: int
) -> Fields:
    """The winner of each group; players lie group by group, groups have the given lengths, none of them 0.

    The winner's place in its group has as many digits as given, the lowest first.
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
    """A number with zeros as further digits."""
    zeros = engine.constant(np.zeros((max(0, width - number.width), number.batch), dtype=np.uint8))
    return stacked(number, zeros)


def stacked(*parts: Bits) -> Bits:
    """The bits of several numbers as one, the first one's lowest."""
    return Bits(np.concatenate([part.data for part in parts]))

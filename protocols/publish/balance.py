"""Circuits of joint Mondrian that choose the edge which divides a box most evenly.

The *balance* of an edge is 2 L - T, where L of a box's T rows are on its lower side. Each party knows its part of this
signed sum. Within an attribute the balance grows from edge to edge. So the lower of two edges is at least as near to an
even cut if and only if their balances add up to 0 or more. A match takes one comparison and one choice, without
absolute values.
"""

from __future__ import annotations

from functools import lru_cache

from smc.circuit import Builder, Form, Netlist, concatenate, select


@lru_cache(maxsize=32)
def sum_netlist(width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns the AND of two bits, and the sum of two signed integers. The sum must fit `width`.

    The inputs are both integers, then both bits.

    Args:
        width: Bits of each integer and of the sum.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    left, right = builder.input(width, signed=True), builder.input(width, signed=True)
    builder.output(builder.input(1)[0] & builder.input(1)[0])
    builder.output(left + right)
    return builder.build()


@lru_cache(maxsize=128)
def nearest_netlist(width: int, digits: int, form: Form = "size") -> Netlist:
    """Build the circuit of a match: the allowed edge whose balance is nearer to 0 wins, among equals the lower one.

    Inputs are two edges, the lower first: for each a bit "is allowed", its balance, its position. Outputs are these
    fields of the chosen edge; the position has one bit more.

    Args:
        width: Bits of a balance, with its sign.
        digits: Bits of a position.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
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


@lru_cache(maxsize=32)
def sides_netlist(width: int, rows: int, least: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether an edge is allowed and both its sides have at least `least` rows.

    For T rows in the box, the sides have enough rows if |balance| <= T - 2 least. The inputs are a bit "is allowed",
    the edge's balance, and each party's number of rows in the box.

    Args:
        width: Bits of a balance, with its sign.
        rows: Bits of a party's number of rows.
        least: Fewest rows of both parties on a side; public.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    may, balance = builder.input(1)[0], builder.input(width, signed=True)
    room = builder.input(rows).wide_add(builder.input(rows)).wide_subtract(2 * least)
    builder.output(may & (balance <= room) & (balance.wide_add(room) >= 0))
    return builder.build()

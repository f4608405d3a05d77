"""Circuits of joint Mondrian that choose the edge with the least loss.

The loss of an edge is L l + U u, for L and U rows below and above it, whose ranges then have l and u further values
(the normalised certainty penalty, up to public factors). Each party knows its own part of the sum, so no product is
computed in secret. Unlike the balance, the loss is not monotone along the edges. So the rule for the rows on both sides
is decided for every edge before edges are compared.

Source: J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. Fu, "Utility-Based Anonymization Using Local Recoding" (KDD 2006).
"""

from __future__ import annotations

from functools import lru_cache

from smc.circuit import Builder, Form, Netlist, concatenate, select


@lru_cache(maxsize=32)
def enough_netlist(width: int, least: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether an edge is allowed and both its sides have enough rows.

    The first inputs are two bits, both 1 if the edge is allowed. Then come each party's numbers of rows on the lower
    side and on the upper side, cut to at most `least`.

    Args:
        width: Bits of a party's number of rows.
        least: Fewest rows of both parties on a side; public.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    may = builder.input(1)[0] & builder.input(1)[0]
    for _ in ("lower", "upper"):
        may = may & (builder.input(width).wide_add(builder.input(width)) >= least)
    builder.output(may)
    return builder.build()


@lru_cache(maxsize=32)
def total_netlist(width: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns the sum of two numbers. The sum must fit `width`.

    Args:
        width: Bits of each number and of the sum.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(builder.input(width) + builder.input(width))
    return builder.build()


@lru_cache(maxsize=128)
def least_netlist(width: int, digits: int, form: Form = "size") -> Netlist:
    """Build the circuit of a match: the allowed edge with less loss wins, among equals the lower one.

    Inputs are two edges, the lower first: for each a bit "is allowed", its loss, its position. Outputs are these fields
    of the chosen edge; the position has one bit more.

    Args:
        width: Bits of a loss.
        digits: Bits of a position.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    sides = [(builder.input(1)[0], builder.input(width), builder.input(digits)) for _ in (0, 1)]
    (may, loss, place), (other_may, other_loss, other_place) = sides
    beaten = other_may & ~(may & (loss <= other_loss))
    builder.output(may | other_may)
    builder.output(select(beaten, other_loss, loss))
    builder.output(concatenate(select(beaten, other_place, place), beaten))
    return builder.build()

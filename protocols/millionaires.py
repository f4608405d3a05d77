"""Millionaires' problem (Yao, "Protocols for Secure Computations", FOCS 1982): which party has the greater number.

Ideal functionality. Inputs: x of party 0, y of party 1, multiples of a public step, with or without a sign, of a public
width of up to 64 bits (a batch of pairs). Output to both: `strict`, whether x > y; `three_way`, which of x > y, x = y,
x < y holds. Leakage: the step, the width and the batch size. Security is that of the engine.

Cost of n pairs of w bits: `strict` takes w n ANDs and `three_way` 2 w n, in w levels. In the form "depth" they take
less than 2.5 w n and 4 w n, in ceil(log2 w) + 1 levels. Each party has inputs of w n bits. The protocol opens n bits,
or 2 n.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import Numbers, run_on_both, stepped
from protocols.opened import index_below
from smc.circuit import Builder, Form, Netlist
from smc.engines import Engine

NAMES = ("equal", "party0", "party1")


@lru_cache(maxsize=128)
def comparison(width: int, three_way: bool, form: Form = "size") -> Netlist:
    """Build a circuit that compares x with y, two unsigned inputs of `width` bits.

    Args:
        width: Bits of a number.
        three_way: True to output y > x too.
        form: "size" for few gates, "depth" for few levels.

    Returns:
        The circuit. Its output is x > y, and y > x with `three_way`.
    """
    builder = Builder(form)
    x, y = builder.input(width), builder.input(width)
    builder.output([x > y, y > x] if three_way else [x > y])
    return builder.build()


def strict(
    engine: Engine, values: Numbers, width: int = 32, signed: bool = False, step: float | str = 1
) -> NDArray[np.bool_]:
    """Open for each pair whether party 0's value is greater.

    Args:
        engine: The engine of this session.
        values: This party's numbers, equally many at both parties; private.
        width: Bits of a multiple of the step, 1 to 64, the sign included; public.
        signed: True if values may be negative; public.
        step: The step that every value is a multiple of; public. See `protocols.inputs.stepped`.

    Returns:
        One bool a pair, bool[batch]; both parties learn it.

    Raises:
        InputError: A value is not a multiple of the step, or does not fit. Or the width or the step is out of range.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> values = [50, 7], [10, 7]  # party 0's, party 1's
        >>> opened, _ = run_local(lambda session: strict(make_engine(session, "yao"), values[session.party]))
        >>> opened.tolist()
        [True, False]
    """
    inputs = stepped(engine, values, width, "the value", signed, step)
    return run_on_both(engine, comparison(width, False, engine.form), inputs)[0].astype(np.bool_)


def three_way(
    engine: Engine, values: Numbers, width: int = 32, signed: bool = False, step: float | str = 1
) -> list[str]:
    """Open for each pair which party has the greater value.

    Args:
        engine: The engine of this session.
        values: This party's numbers, equally many at both parties; private.
        width: Bits of a multiple of the step, 1 to 64, the sign included; public.
        signed: True if values may be negative; public.
        step: The step that every value is a multiple of; public. See `protocols.inputs.stepped`.

    Returns:
        "party0", "party1" or "equal" for each pair; both parties learn it.

    Raises:
        InputError: A value is not a multiple of the step, or does not fit. Or the width or the step is out of range.
        ProtocolError: The opened bits are no answer: each value is greater than the other.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> values = [50, 7], [10, 7]  # party 0's, party 1's
        >>> run_local(lambda session: three_way(make_engine(session, "gmw"), values[session.party]))[0]
        ['party0', 'equal']
    """
    inputs = stepped(engine, values, width, "the value", signed, step)
    greater_less = run_on_both(engine, comparison(width, True, engine.form), inputs)
    return [NAMES[place] for place in index_below(greater_less, len(NAMES), "who has more").tolist()]

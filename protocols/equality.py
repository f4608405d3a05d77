"""Private equality test.

Ideal functionality. Inputs: x of party 0, y of party 1, multiples of a public step, with or without a sign, of a public
width of up to 64 bits (a batch of pairs). Output to both: whether x = y. Leakage: the step, the width and the batch
size. Security is that of the engine; the circuit is the usual tree of XNORs, in every form.

Cost of n pairs of w bits: n (w - 1) ANDs in ceil(log2 w) levels. Each party has inputs of w n bits. The protocol opens
n bits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import Numbers, run_on_both, stepped
from smc.circuit import Builder, Form, Netlist
from smc.engines import Engine


@lru_cache(maxsize=128)
def equality(width: int, form: Form) -> Netlist:
    """Build the circuit whose output is whether its inputs are equal.

    Args:
        width: Bits of each input.
        form: "size" for few gates, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output([builder.input(width) == builder.input(width)])
    return builder.build()


def equal(
    engine: Engine, values: Numbers, width: int = 32, signed: bool = False, step: float | str = 1
) -> NDArray[np.bool_]:
    """Open for each pair whether the two parties' values are equal.

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
        >>> values = [7, 8], [7, 9]  # party 0's, party 1's
        >>> opened, _ = run_local(lambda session: equal(make_engine(session, "yao"), values[session.party]))
        >>> opened.tolist()
        [True, False]
    """
    inputs = stepped(engine, values, width, "the value", signed, step)
    return run_on_both(engine, equality(width, engine.form), inputs)[0].astype(np.bool_)

"""Majority: the class with the greatest sum of two private counts (step 1 of the private ID3).

Ideal functionality. Inputs: from each party one count per class (a batch of count vectors) of a public width.
Output to both: the index of the greatest sum, the lowest index among equals. Leakage: width, number of classes,
batch size; no count or sum. Paper: Lindell, Pinkas, "Privacy Preserving Data Mining" (J. Cryptology 15, 2002).

Cost of n instances of c classes, with counts of w bits: n ((3 c - 3) w + 2 c - 3) ANDs, and less than n c for the
index. The form "depth" compares every two classes, with 4 w to 4.5 w ANDs each. It takes at most ceil(log2 w) +
ceil(log2 c) + 3 levels. Each party has inputs of c w n bits. The protocol opens n ceil(log2 c) bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.inputs import Sums, both_inputs, summands
from protocols.opened import index_below
from smc.circuit import GROUP, Builder, Form, Integer, Netlist, Wire, argmax, pick, total, unbeaten
from smc.engines import Bits, Engine
from smc.errors import InputError


@lru_cache(maxsize=128)
def _netlist(classes: int, width: int, form: Form) -> Netlist:
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    builder.output(greatest_sum(left, right))
    return builder.build()


def greatest_sum(left: Sequence[Integer], right: Sequence[Integer]) -> Integer:
    """Return the index of the greatest left[i] + right[i], the lowest among equals.

    Args:
        left: Unsigned integers of one width, at least one.
        right: As many integers, of equal width, in the circuit graph of `left`.
    """
    width, graph = len(left[0]), left[0].graph
    if graph.form == "size" or not 1 < len(left) <= GROUP:
        return argmax([a.wide_add(b) for a, b in zip(left, right, strict=True)])

    def less(i: int, j: int) -> Wire:  # by the sign of the difference: one carry chain instead of three
        return total([left[i], right[i]], width + 2, minus=[left[j], right[j]])[-1]

    return pick(unbeaten(len(left), less), [Integer.constant(graph, i) for i in range(len(left))])


def count_inputs(engine: Engine, counts: NDArray[Any], width: int, sums: Sums = "two") -> list[Bits]:
    """Enter both parties' counts by class.

    Args:
        engine: The engine of this session.
        counts: This party's counts, whole numbers [classes, batch]; private.
        width: Bits of a count, 1 to 64; public.
        sums: How the circuit adds shares of joint counts; `both_inputs` explains the values.

    Returns:
        Secret bits [width, batch] for each class of party 0, then for each class of party 1.

    Raises:
        InputError: A count is negative or does not fit the width.
    """
    classes, batch = counts.shape
    sides = both_inputs(engine, summands(engine, counts.reshape(-1), width, "the count"), width, sums=sums)
    return [side.take(slice(c * batch, (c + 1) * batch)) for side in sides for c in range(classes)]


def majority(engine: Engine, counts: NDArray[Any], width: int) -> NDArray[np.int64]:
    """Open the winning class of each instance.

    Args:
        engine: The engine of this session.
        counts: This party's counts, whole numbers [classes, batch]; private.
        width: Bits of a count, 1 to 64; public.

    Returns:
        The class with the greatest sum of both parties' counts, the lowest among equals, int64[batch]. Both parties
        learn it.

    Raises:
        InputError: There is no class, or a count is negative or does not fit the width.
        ProtocolError: An opened value is not a class.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> counts = np.array([[3], [5]]), np.array([[4], [1]])  # two classes: 3 + 4 rows and 5 + 1
        >>> run_local(lambda session: majority(make_engine(session, "yao"), counts[session.party], 8))[0].tolist()
        [0]
    """
    classes, batch = counts.shape
    if classes < 1:
        raise InputError("a majority needs at least one class")
    if classes == 1:
        return np.zeros(batch, dtype=np.int64)
    netlist = _netlist(classes, width, engine.form)
    (winner,) = engine.reveal(*engine.run(netlist, *count_inputs(engine, counts, width)))
    return index_below(winner, classes, "a majority's class")

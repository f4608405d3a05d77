"""Whether both parties' rows may be published under one recoding at all.

Ideal functionality. Inputs: each party's number of rows, and of every column that is published which values occur.
Output to both: whether the rows as a whole keep the rule; and of each column whether it is a *provenance* column: both
have rows, and no value of it occurs at both, so that each row says whose it is. Leakage: nothing else.

Cost: an AND and two input bits for every value of every column, some for the rows; 1 bit a column opened, and 1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from protocols.inputs import both_inputs
from protocols.publish.problem import Problem
from smc.circuit import Builder, Form, Netlist, any_of
from smc.engines import Engine
from smc.primitives.bits import BitMatrix


@lru_cache(maxsize=32)
def admission_netlist(columns: tuple[int, ...], width: int, k: int, form: Form = "size") -> Netlist:
    """Inputs: rows of party 0, of party 1; whether each keeps the rule by itself; the values at each, column by column.
    Outputs: whether there are k rows and both keep it; of each column whether its values are apart.
    """
    builder = Builder(form)
    left, right = builder.input(width), builder.input(width)
    kept = builder.input(1)[0] & builder.input(1)[0]
    ours, theirs = (list(builder.input(sum(columns)).wires) for _ in (0, 1))
    builder.output((left.wide_add(right) >= k) & kept)
    both = any_of(left.wires) & any_of(right.wires)
    start = 0
    for size in columns:
        part = slice(start, start + size)
        shared = any_of([a & b for a, b in zip(ours[part], theirs[part], strict=True)])
        builder.output(both & ~shared)
        start += size
    return builder.build()


def admitted(engine: Engine, problem: Problem, rows: int, occurring: BitMatrix) -> tuple[bool, list[int]]:
    """Whether all rows keep the rule, and the numbers of the provenance columns.

    `occurring` is uint8[values of all columns, 1]: which of them this party's rows have.
    """
    width = problem.count_width
    kept = problem.keeps(np.array([rows]))
    netlist = admission_netlist(problem.columns, width, problem.k, engine.form)
    with engine.session.phase("admission"):
        sides = both_inputs(engine, np.array([rows], dtype=np.uint64), width)
        inputs = [*sides, *engine.both(kept.astype(np.uint8)[None]), *engine.both(occurring)]
        whole, *apart = engine.reveal(*engine.run(netlist, *inputs))
    return bool(whole[0, 0]), [i for i, bit in enumerate(apart) if bit[0, 0]]

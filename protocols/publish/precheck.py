"""Check whether both parties' rows may be published under one recoding.

Ideal functionality. Inputs: each party's rows. Output to both: whether the rows as a whole keep the rules; and for each
column whether it is a *provenance* column. In such a column no value occurs at both parties, although both have rows.
So each value reveals the owner of its row. Leakage: nothing else.

Cost: an AND and two input bits for every value of every column, and a comparison of the numbers of rows. Against the
public also l and t of one group (`protocols.feasibility`). Opened: 1 bit a column, and 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.feasibility import kept_by_both
from protocols.inputs import both_inputs
from protocols.publish.problem import Problem
from smc.circuit import Builder, Form, Netlist, all_of, any_of
from smc.engines import Bits, Engine
from smc.errors import InputError, JointRefusalError
from smc.primitives.bits import BitMatrix


class OwnRows:
    """This party's distinct rows and the number of each; raises InputError if they do not fit the problem.

    `rows` is int64[lines, columns + 1]: values of the attributes, then of the other columns, and the number of equal
    rows.
    """

    def __init__(self, problem: Problem, rows: Indices) -> None:
        if rows.ndim != 2 or rows.shape[1] != len(problem.columns) + 1:
            raise InputError(f"rows have shape {rows.shape}, expected {len(problem.columns)} columns and their numbers")
        for column, size in zip(rows.T[:-1], problem.columns, strict=True):
            if len(column) and not (column.min() >= 0 and column.max() < size):
                raise InputError(f"a category index is outside 0..{size - 1}")
        self.values, self.numbers = rows[:, :-1], rows[:, -1]
        self.rows = int(self.numbers.sum())
        if self.rows > problem.max_rows:
            raise InputError(
                f"{self.rows} rows are more than the agreed maximum of {problem.max_rows}; raise max_rows at both "
                "parties"
            )
        # The values by which l and t count: the last column's value, or one for all.
        self.kinds = problem.classes
        self.kind: Indices = self.values[:, -1] if problem.models.any else np.zeros(len(rows), dtype=np.int64)
        self.whole = self.tally(self.kind, self.kinds)

    def occurring(self, columns: Sequence[int]) -> BitMatrix:
        """Return whether each value of every column occurs, uint8[values of all columns, 1]."""
        occurs = [np.bincount(column, minlength=size) > 0 for column, size in zip(self.values.T, columns, strict=True)]
        return np.concatenate(occurs).astype(np.uint8)[:, None]

    def tally(self, places: Indices, size: int, lines: slice | Indices = slice(None)) -> Indices:
        """Return the number of this party's rows with each index, int64[size]; exact below 2^53.

        Args:
            places: Index of each line, int64[lines], from 0 to size - 1.
            size: Number of indices.
            lines: Distinct rows to count. Default: all.
        """
        return np.bincount(places, weights=self.numbers[lines], minlength=size).astype(np.int64)


@lru_cache(maxsize=32)
def precheck_netlist(columns: tuple[int, ...], width: int, k: int, form: Form = "size") -> Netlist:
    """Build the circuit of the check.

    Inputs, in this order:

    - number of rows of party 0, and of party 1
    - two verdicts: both are 1 if the rows of both parties as one group keep the rules
    - for party 0, then for party 1: a bit for every value of every column, 1 if the value occurs

    Outputs: whether both parties together have k rows and both verdicts are 1; for each column, whether it is a
    provenance column.

    Args:
        columns: Number of values of each column.
        width: Bits of a party's number of rows.
        k: Fewest rows of both parties together.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    left, right = builder.input(width), builder.input(width)
    feasible = builder.input(1)[0] & builder.input(1)[0]
    ours, theirs = (list(builder.input(sum(columns)).wires) for _ in (0, 1))
    builder.output((left.wide_add(right) >= k) & feasible)
    both = any_of(left.wires) & any_of(right.wires)
    start = 0
    for size in columns:
        part = slice(start, start + size)
        shared = any_of([a & b for a, b in zip(ours[part], theirs[part], strict=True)])
        builder.output(both & ~shared)
        start += size
    return builder.build()


def precheck(engine: Engine, problem: Problem, party_rows: OwnRows, names: Sequence[str] = ()) -> None:
    """Raise JointRefusalError if the rows of both parties may not be published.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the recoding.
        party_rows: This party's rows; private.
        names: Names of the columns, for messages. Default: their numbers.

    Raises:
        JointRefusalError: The rows as a whole do not keep the rules; or both parties have rows, and a column has no
            value that occurs at both.
    """
    width = problem.count_width
    with engine.session.phase("admission"):
        if problem.against == "public" and problem.models.any:
            feasible = models_kept(engine, problem, party_rows.whole[None, None], party_rows.whole)
        else:
            feasible = list(engine.both(problem.keeps(party_rows.whole[None], party_rows.whole).astype(np.uint8)[None]))
        netlist = precheck_netlist(problem.columns, width, problem.k, engine.form)
        sides = both_inputs(engine, np.array([party_rows.rows], dtype=np.uint64), width)
        inputs = [*sides, *feasible, *engine.both(party_rows.occurring(problem.columns))]
        whole, *apart = engine.reveal(*engine.run(netlist, *inputs))
    provenance = [i for i, bit in enumerate(apart) if bit[0, 0]]
    if provenance:
        which = names[provenance[0]] if names else f"number {provenance[0] + 1}"
        raise JointRefusalError(
            f"column {which} would reveal the owner of each row, because the parties have no "
            f"common value in it; leave the column out"
        )
    if not whole[0, 0]:
        who = (
            "both parties together have"
            if problem.against == "public"
            else "both parties together, or one of them, have"
        )
        lacking = ", or all rows as one class do not satisfy l" if problem.models.any else ""
        few = f"{who} fewer than k = {problem.k:,} rows{lacking}"
        raise JointRefusalError(f"{few}: nothing can be published under this rule")


def models_kept(engine: Engine, problem: Problem, splits: Indices, whole: Indices) -> list[Bits]:
    """Decide in secret whether the rows of both parties keep l and t in all groups of each split.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem of the recoding, with l or t against the public.
        splits: This party's rows of each group by sensitive value, int64[splits, groups, classes]; private.
        whole: All rows of this party by sensitive value, int64[classes]; private.

    Returns:
        Two secret bits [1, splits]: both are 1 if all groups keep the rules. The second states that no group has only
        rows with a missing value.
    """
    known = splits[..., problem.known]
    kept, _ = kept_by_both(engine, problem.groups, list(known), whole[problem.known])
    if problem.missing is None:
        return [kept, engine.constant(np.ones((1, len(splits)), dtype=np.uint8))]
    bits = np.concatenate([known.any(axis=-1), splits.any(axis=-1)], axis=1).T.astype(np.uint8)
    return [kept, engine.run(known_netlist(splits.shape[1], engine.form), *engine.both(bits))[0]]


@lru_cache(maxsize=8)
def known_netlist(groups: int, form: Form = "size") -> Netlist:
    """Build a circuit that returns whether every group with a row has a row with a known value.

    Inputs of each party: for every group whether it has a row with a known value, then whether it has a row.

    Args:
        groups: Number of groups.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    sides = [builder.input(2 * groups).wires for _ in (0, 1)]
    either = [any_of(pair) for pair in zip(*sides, strict=True)]
    builder.output(all_of([known | ~rows for known, rows in zip(either[:groups], either[groups:], strict=True)]))
    return builder.build()


def passed(columns: int) -> list[BitMatrix]:
    """Return the bits that the check opens for publishable rows: a 1, and a 0 for each of `columns` columns."""
    return [np.full((1, 1), i == 0, dtype=np.uint8) for i in range(1 + columns)]

"""Secret conditional entropies of candidate attributes, and the circuit that finds the smallest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs
from protocols.logarithm import x_log_x
from protocols.pieces import in_shards
from protocols.problem import Problem
from smc.circuit import Builder, Form, Integer, Netlist, minimum
from smc.circuit.kept import kept
from smc.engines import Bits, Engine, Word

# Most x ln x evaluated at once, besides those of the last candidate of a batch. This bounds the memory of a level with
# very many nodes. Engines with room for more bits take up to MORE times as many, as each batch has rounds of its own.
BATCH, MORE = 1 << 14, 4
COMPARED = 64  # integers that one circuit compares; a power of both sizes of a group in `smc.circuit.selection`
INPUTS = 32  # approximate bits of a party's count


@kept
def argmin_netlist(
    candidates: int, width: int, form: Form = "size", ruled: bool = False, indexed: int = 0, is_last: bool = True
) -> Netlist:
    """Build a circuit that returns the index of the least of some signed integers, the first among equals.

    Args:
        candidates: Number of integers, 1 or more.
        width: Bits of an integer, the sign included.
        form: "size" for few gates, "depth" for few levels.
        ruled: True for one more input bit for each integer. Only integers with bit 1 compete, unless all bits are 0.
        indexed: Bits of an index that comes with each integer; they are the low bits of the result.
        is_last: False to return the winner too: a signed integer of equal order, one bit wider if `ruled`.

    Returns:
        The circuit. Its inputs are the integers, then the bits, then the indices.
    """
    builder = Builder(form)
    values: list[Integer] = [builder.input(width, signed=True) for _ in range(candidates)]
    if ruled:  # an unsigned number of equal order; above it the bit, as the sign of the whole
        values = [builder.integer([*value[:-1], ~value[-1], builder.input(1)[0]], signed=True) for value in values]
    least, index = minimum(values, [builder.input(indexed) for _ in range(candidates if indexed else 0)])
    builder.output(index)
    if not is_last:
        builder.output(least)
    return builder.build()


def argmin(engine: Engine, values: Sequence[Bits], bits: Sequence[Bits] = ()) -> Bits:
    """Return the secret indices of the least of each instance's signed integers, the first among equals.

    Groups of `COMPARED` integers compete as one batch, then the winners of the groups. So a circuit of any number of
    integers is built in the time of a narrow one.

    Args:
        engine: The engine of this session.
        values: The integers, each a batch.
        bits: A bit for each integer, or none: only integers with bit 1 compete, unless all bits are 0.
    """
    batch, indices = values[0].batch, list[Bits]()

    def winners(part: slice, size: int, is_last: bool = False) -> list[list[Bits]]:
        """Return the indices of the winners of groups of `size` integers, and the winners themselves."""
        netlist = argmin_netlist(size, values[0].width, engine.form, bool(bits), _width(indices), is_last)
        columns = [Bits.join(of[part][at::size]) for of in (values, bits, indices) if of for at in range(size)]
        found = engine.run(netlist, *columns)
        return [[one.take(slice(i, i + batch)) for i in range(0, one.batch, batch)] for one in found]

    while (number := len(values)) > COMPARED:
        whole = number - number % COMPARED
        found = winners(slice(whole), COMPARED)
        if whole < number:
            index, least = winners(slice(whole, number), number - whole)
            missing = engine.constant(np.zeros((_width(found[0]) - _width(index), batch), dtype=np.uint8))
            found = [found[0] + [Bits(np.concatenate([index[0].data, missing.data]))], found[1] + least]
        indices, values, bits = found[0], found[1], ()
    return winners(slice(number), number, is_last=True)[0][0]


def _width(some: Sequence[Bits]) -> int:
    return some[0].width if some else 0


def conditional_entropies(
    engine: Engine, problem: Problem, candidates: Sequence[Sequence[int]], tables: Sequence[Indices]
) -> Word:
    """Return |T| H(class | attribute) of each candidate, secret, node by node, attribute by attribute.

    It is sum_v n(v) ln n(v) - sum_v sum_c n(v, c) ln n(v, c).

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        candidates: The attributes that each node compares; public.
        tables: This party's n(v, c), int64[nodes, values, classes] for each attribute; private.

    Returns:
        Fixed-point integers with `Precision.fraction` fraction bits, one a candidate; secret.
    """
    sums_and_counts = [  # for each attribute, by node: n(v), then n(v, c)
        np.concatenate([table.sum(axis=2), table.reshape(len(table), -1)], axis=1) for table in tables
    ]
    counts = [sums_and_counts[attribute][node] for node, line in enumerate(candidates) for attribute in line]
    sizes = np.array([problem.domains[attribute] for line in candidates for attribute in line])
    return entropies(engine, problem, counts, sizes)


def entropies(engine: Engine, problem: Problem, counts: Sequence[Indices], sizes: Indices) -> Word:
    """Return |T| H(class | attribute) of tables that may differ in their number of values; secret.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        counts: This party's n(v), then n(v, c), in one int64 array for each table; private.
        sizes: Number of values of each table, int64[tables]; public.

    Returns:
        Fixed-point integers with `Precision.fraction` fraction bits, one a table; secret.
    """
    lengths = np.array([len(part) for part in counts])
    (scores,) = in_shards(engine, _batched, lengths, lambda part: (problem, counts[part], sizes[part]), 1)
    return scores


def _batched(engine: Engine, problem: Problem, counts: Sequence[Indices], sizes: Indices) -> tuple[Word]:
    """Return the entropies of tables, computed a few tables at a time; arguments as for `entropies`."""
    ends = np.cumsum([len(part) for part in counts])
    at_once = max(BATCH, min(MORE * BATCH, engine.comfortable // INPUTS))
    cuts = np.flatnonzero(np.diff((ends - 1) // at_once)) + 1
    scores = [
        _scores(engine, problem, counts[part[0] : part[-1] + 1], sizes[part])
        for part in np.split(np.arange(len(counts)), cuts)
    ]
    return (engine.words.join(scores),)


def _scores(engine: Engine, problem: Problem, counts: Sequence[Indices], sizes: Indices) -> Word:
    """Return the entropies of some tables in one batch; arguments as for `entropies`."""
    words = engine.words
    precision = problem.precision(words.prices)
    values = np.concatenate(counts).astype(np.uint64)
    logs = x_log_x(engine, precision, *both_inputs(engine, values, precision.count_width, sums="modular"))
    lengths = np.array([len(part) for part in counts])
    starts = np.cumsum(lengths) - lengths
    plus = words.total(logs, groups(starts, sizes), precision.sum_width)
    minus = words.total(logs, groups(starts + sizes, sizes * problem.classes), precision.sum_width)
    return words.subtract(plus, minus, precision.sum_width)


def group_entropies(engine: Engine, problem: Problem, classes: Indices) -> Word:
    """Return n H(class) of each group of rows, secret.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        classes: This party's counts, int64[groups, classes]; private.

    Returns:
        Fixed-point integers with `Precision.fraction` fraction bits, one a group; secret.
    """
    words = engine.words
    precision = problem.precision(words.prices)
    counts = np.concatenate([classes.sum(axis=1, keepdims=True), classes], axis=1)
    batch = both_inputs(engine, counts.reshape(-1).astype(np.uint64), precision.count_width, sums="modular")
    logs = x_log_x(engine, precision, *batch)
    places = np.arange(counts.size).reshape(counts.shape)
    plus, minus = (words.total(logs, part, precision.sum_width) for part in (places[:, :1], places[:, 1:]))
    return words.subtract(plus, minus, precision.sum_width)


def groups(starts: Indices, lengths: Indices) -> Indices:
    """Return the index ranges start, start + 1, ... of the given lengths as rows, filled up with -1.

    Args:
        starts: First number of each row, int64[rows].
        lengths: Number of entries of each row, int64[rows], at least one row.

    Returns:
        The rows, int64[rows, greatest length].
    """
    offsets = np.arange(lengths.max())
    return np.where(offsets < lengths[:, None], starts[:, None] + offsets, -1)

"""Secret Gini impurities of candidate attributes, and a bound on their error.

|T| G(class | attribute) = sum_v (n(v) - sum_c n(v, c)^2 / n(v)). All candidates of a node have its rows in common, so
minus the sum of squares is compared. It is wrong by at most 2 |T| e (`protocols.reciprocal`). Two attributes compare
wrongly only if their impurities differ by less than 4 e. So e <= delta / 4 keeps ID3-delta's promise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from protocols import reciprocal
from protocols.counts import Indices
from protocols.entropies import BATCH, groups
from protocols.pieces import in_shards
from protocols.problem import Problem
from smc.engines import Engine, Word


def impurities(
    engine: Engine, problem: Problem, candidates: Sequence[Sequence[int]], tables: Sequence[Indices]
) -> Word:
    """Return |T| (G(class | attribute) - 1) of each candidate, secret, node by node, attribute by attribute.

    Args:
        engine: The engine of this session.
        problem: The public parameters; both parties must agree.
        candidates: The attributes that each node compares; public.
        tables: This party's n(v, c), int64[nodes, values, classes] for each attribute; private.

    Returns:
        Fixed-point integers with `Parameters.fraction` fraction bits, one a candidate; secret.

    Raises:
        InputError: A count does not fit the bits of a count of the union.
    """
    counts = [tables[attribute][node] for node, line in enumerate(candidates) for attribute in line]
    lengths = np.array([len(table) for table in counts])
    (words,) = in_shards(engine, _batched, lengths, lambda part: (problem, counts[part]), 1)
    return words


def _batched(engine: Engine, problem: Problem, counts: Sequence[Indices]) -> tuple[Word]:
    """Return the impurities from own counts int64[values, classes] of each candidate, a few at a time."""
    cuts = np.flatnonzero(np.diff((np.cumsum([len(table) for table in counts]) - 1) // BATCH)) + 1
    parts = [[counts[i] for i in part] for part in np.split(np.arange(len(counts)), cuts)]
    return (engine.words.join([_impurities(engine, problem, part) for part in parts]),)


def _impurities(engine: Engine, problem: Problem, counts: Sequence[Indices]) -> Word:
    """Return the impurities of some candidates, from this party's int64[values, classes] of each."""
    words = engine.words
    needed = problem.fractions(words.prices)
    lines, sizes = np.concatenate(list(counts)), np.array([len(table) for table in counts])
    squares = reciprocal.squares(engine, needed, lines)
    first = groups(np.cumsum(sizes) - sizes, sizes)
    each = np.concatenate([np.where(first < 0, -1, first + c * len(lines)) for c in range(lines.shape[1])], axis=1)
    none = words.total(squares, np.full((len(counts), 1), -1), needed.sum_width)
    return words.subtract(none, words.total(squares, each, needed.sum_width), needed.sum_width)

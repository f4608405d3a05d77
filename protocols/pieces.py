"""Pieces of a batch, which the shards of an engine compute in parallel (`smc.engines.shards`).

    (index,) = in_shards(engine, _least, weights, lambda part: (problem, scores.take(part)))

Without shards the engine does the work itself, with the messages of a direct call. The boundaries of the pieces follow
from public weights.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from protocols.counts import Indices
from smc.engines import Engine

BLOCK = 8  # instances of one circuit: cuts between whole blocks add no padding to a message
Results = tuple[Any, ...]  # may hold `Bits` and `Word`
# takes an engine and arguments; a module-level function, because another process imports it by name
Work = Callable[..., Results]


def in_shards(
    engine: Engine, work: Work, weights: Indices, piece: Callable[[slice], tuple[Any, ...]], block: int = BLOCK
) -> Results:
    """Do `work` on a batch: by the engine itself, or in pieces by its shards.

    Args:
        engine: The engine of this session.
        work: A function of an engine and the arguments of a piece. It is defined in a module, because another process
            finds it by name.
        weights: Work of each instance, int64[batch], in any unit; public.
        piece: A function from a slice of the batch to the arguments of `work`. `Bits` and `Word` may be among them, or
            in tuples and lists there.
        block: The batch is cut only at multiples of this number of instances. Default: 8.

    Returns:
        The results of `work`, each with the batch of its piece. Results of pieces are joined in order.
    """
    if engine.shards is None or not len(weights):
        return work(engine, *piece(slice(0, len(weights))))
    return engine.shards.joined(engine, work, [piece(part) for part in cut(weights, engine.shards.count, block)])


def cut(weights: Indices, count: int, block: int = BLOCK) -> list[slice]:
    """Cut a batch into at most `count` pieces of about equal weight, none empty.

    Args:
        weights: Work of each instance, int64[batch], at least one instance.
        count: Upper bound on the number of pieces, 1 or more.
        block: The batch is cut only at multiples of this number of instances. Default: 8.

    Returns:
        The pieces, in order.

    Examples:
        >>> cut(np.ones(40, dtype=np.int64), 2)
        [slice(0, 24, None), slice(24, 40, None)]
    """
    ends = np.cumsum(weights)
    targets = ends[-1] * np.arange(1, count) / count
    places = -(-(np.searchsorted(ends, targets) + 1) // block) * block
    bounds = np.unique(np.concatenate([[0], places[places < len(weights)], [len(weights)]])).tolist()
    return [slice(low, high) for low, high in pairwise(bounds)]

"""Numbers of further holders of rows, which reach the two parties as additive shares modulo 2^64.

Ideal functionality. Inputs: from each holder its own numbers v for a public question (a level of a tree, or a batch of
sums). Output: to party 0 the share r, to party 1 the share v - r modulo 2^64. Leakage: the question and the batch size.

A holder sends party 0 a seed of 32 bytes, from which follows r, and party 1 the masked numbers. Each share alone is
uniform modulo 2^64: the masked numbers under the assumption of `smc.primitives.prg`, r because it does not depend on v.
So a party learns nothing about v, as long as both parties do not put their shares together. Each party adds the shares
of all holders to its own numbers; these sums enter the protocol as shares of the joint numbers (`protocols.inputs`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices, LevelCounts
from protocols.tree import Forest, Tree
from smc.primitives.prg import KEY_BYTES, Prg
from smc.session import derive

SEED_BYTES = 32

Shares = NDArray[np.uint64]
# a tree or trees so far, and whether by each attribute's values too; None: the only numbers of a question of one step
Question = tuple[Tree | Forest, bool] | None
Ask = Callable[[Question, int], Shares]  # sums modulo 2^64 of the shares of all holders, from the size of the answer


def mask(seed: bytes, question: bytes, number: int, size: int) -> Shares:
    """Return the share of party 0, uint64[size].

    Args:
        seed: Fresh random bytes, `SEED_BYTES` of them; known to the holder and party 0.
        question: Public bytes that determine the question.
        number: Number of the question in the run.
        size: Number of numbers.

    Raises:
        ValueError: The seed has another length.
    """
    if len(seed) != SEED_BYTES:
        raise ValueError(f"the seed of a share has {SEED_BYTES} bytes, got {len(seed)}")
    key, start = (derive(seed, "share", part, number, question, size=KEY_BYTES) for part in ("key", "start"))
    return Prg(key, start).words(size)


def masked(numbers: Indices, seed: bytes, question: bytes, number: int) -> Shares:
    """Return the share of party 1, uint64[size]: the numbers less the share of party 0, which `mask` returns.

    Args:
        numbers: The holder's numbers, int64[size]; private.
        seed: The seed of the share of party 0; private.
        question: Public bytes that determine the question.
        number: Number of the question in the run.
    """
    return numbers.astype(np.uint64) - mask(seed, question, number, len(numbers))


class SharedCounts:
    """Source of a party's shares of all counts: its own counts, and the holders' shares for the same level.

    The last level is cached, so a holder shares each level once.
    """

    def __init__(self, own: Any, ask: Ask) -> None:
        """Store the sources.

        Args:
            own: This party's `Counts` or `ForestCounts`; private.
            ask: Function that requests the holders' shares for a question, uint64[size].
        """
        self._own, self._ask = own, ask
        self._last: tuple[Question, LevelCounts] | None = None

    def level(self, trees: Tree | Forest, attributes: bool) -> LevelCounts:
        """Return shares of all rows in the open nodes; see `Counts.level` and `ForestCounts.level`.

        Args:
            trees: The tree or the trees so far; public.
            attributes: True to count by each attribute's values too.
        """
        question = (trees, attributes)
        if self._last is None or self._last[0] != question:
            own = self._own.level(trees, attributes)
            numbers = flat(own).astype(np.uint64)
            shares = numbers + self._ask(question, numbers.size)
            self._last = question, unflattened(shares, own)
        return self._last[1]


def flat(counts: LevelCounts) -> Indices:
    """Return all numbers of a level one after the other, int64[numbers]."""
    repeated = [] if counts.distinct is None else [flat(counts.distinct)]
    return np.concatenate([counts.classes.reshape(-1), *(table.reshape(-1) for table in counts.values), *repeated])


def unflattened(numbers: Shares, form: LevelCounts) -> LevelCounts:
    """Return the shares of the numbers of a level, in the form of its counts: the inverse of `flat`.

    Args:
        numbers: Shares, uint64[numbers].
        form: Counts of the same shapes.
    """
    parts = numbers.astype(np.int64)
    whole, *tables = np.split(parts[: _size(form)], np.cumsum([form.classes.size, *(t.size for t in form.values)])[:-1])
    values = tuple(table.reshape(like.shape) for table, like in zip(tables, form.values, strict=True))
    repeated = None if form.distinct is None else unflattened(numbers[_size(form) :], form.distinct)
    return LevelCounts(whole.reshape(form.classes.shape), values, repeated, are_shares=True)


def _size(counts: LevelCounts) -> int:
    return counts.classes.size + sum(table.size for table in counts.values)

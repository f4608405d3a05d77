"""Numbers of further holders of rows, which reach the two parties as additive shares modulo 2^64.

Ideal functionality. Inputs: from each holder its own numbers v for a public question (a level of a tree, or a batch of
sums). Output: to party 0 the share r, to party 1 the share v - r modulo 2^64. Leakage: the question and the batch size.

A holder sends party 0 a seed of 32 bytes, from which follows r, and party 1 the masked numbers. Each share alone is
uniform modulo 2^64: the masked numbers under the assumption of `smc.primitives.prg`, r because it does not depend on v.
So a party learns nothing about v, as long as both parties do not put their shares together. Each party adds the shares
of all holders to its own numbers; these sums enter the protocol as shares of the joint numbers (`protocols.inputs`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices, LevelCounts
from protocols.tree import Forest, Tree
from smc.primitives.prg import KEY_BYTES, Prg
from smc.session import derive

SEED_BYTES = 32

Shares = NDArray[np.uint64]
# a tree or trees so far, and whether by each attribute's values too; a list, see `Sums`; None: the only numbers
Question = tuple[Tree | Forest, bool] | list[Any] | None
Ask = Callable[[Question, int], Shares]  # sums modulo 2^64 of the shares of all holders, from the size of the answer


def sent(asked: Sequence[int]) -> tuple[int, int]:
    """Return the bytes that a holder sends to party 0 and to party 1: a seed a question, and 8 bytes a number.

    Args:
        asked: How many numbers each question asks.
    """
    return SEED_BYTES * len(asked), 8 * sum(asked)


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


class Sums(Protocol):
    """Source of own sums for public questions, such as sums of gradients at the opened weights."""

    def sums(self, question: list[Any]) -> Indices:
        """Return own sums, int64[numbers]; raise ValueError for a question that the job does not have.

        Args:
            question: Lists of integers; public: the opened values of each step so far, or sets of items.
        """


class Following(ABC):
    """Source of own sums for the step after some opened steps.

    It takes each step once as the run goes on, and begins again if an earlier step is another one.
    """

    def __init__(self) -> None:
        self._taken: list[tuple[int, ...]] = []

    def sums(self, question: list[Any]) -> Indices:
        """Return own sums after the opened steps of a question; see `Sums.sums`."""
        steps = list(map(tuple, question))
        if not self._taken or steps[: len(self._taken)] != self._taken:
            self.begin()
            self._taken = []
        for step in steps[len(self._taken) :]:
            self.take(step)
            self._taken.append(step)
        return self.own()

    @abstractmethod
    def begin(self) -> None:
        """Set the job's state back to the beginning of a run."""

    @abstractmethod
    def take(self, step: tuple[int, ...]) -> None:
        """Apply the opened values of the next step; raise ValueError if the job does not have the step."""

    @abstractmethod
    def own(self) -> Indices:
        """Return own sums for the next step, int64[numbers]."""


class SharedSums:
    """Source of a party's shares of all sums: own sums, and the shares of the holders."""

    def __init__(self, own: Sums, ask: Ask) -> None:
        """Store the sources.

        Args:
            own: This party's source; private.
            ask: Asks the holders.
        """
        self._own, self._ask = own, ask

    def sums(self, question: list[Any]) -> Indices:
        """Return shares of the sums of all rows, int64[numbers]; see `Sums.sums`."""
        numbers = self._own.sums(question).astype(np.uint64)
        return (numbers + self._ask(question, numbers.size)).astype(np.int64)


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
        self._own, self._ask = to_share(own), ask
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


def to_share(own: Any) -> Any:
    """Return the source whose numbers a party shares, `Grouped.shared` if it has one; `own` is a source of counts."""
    return getattr(own, "shared", own)


def flat(counts: LevelCounts) -> Indices:
    """Return all numbers of a level one after the other, int64[numbers]."""
    more = [flat(part) for part in (counts.distinct, counts.groups) if part is not None]
    return np.concatenate([counts.classes.reshape(-1), *(table.reshape(-1) for table in counts.values), *more])


def unflattened(numbers: Shares, form: LevelCounts) -> LevelCounts:
    """Return the shares of the numbers of a level, in the form of its counts: the inverse of `flat`.

    Args:
        numbers: Shares, uint64[numbers].
        form: Counts of the same shapes.
    """
    parts = numbers.astype(np.int64)
    whole, *tables = np.split(parts[: _size(form)], np.cumsum([form.classes.size, *(t.size for t in form.values)])[:-1])
    values = tuple(table.reshape(like.shape) for table, like in zip(tables, form.values, strict=True))
    more, rest = [], numbers[_size(form) :]
    for part in (form.distinct, form.groups):
        more.append(None if part is None else unflattened(rest, part))
        rest = rest[0 if part is None else _size(part) :]
    return LevelCounts(whole.reshape(form.classes.shape), values, more[0], are_shares=True, groups=more[1])


def _size(counts: LevelCounts) -> int:
    return counts.classes.size + sum(table.size for table in counts.values)

"""How good a question is, for a choice with noise: scores of tables of counts, and what one row changes of them.

A table has a party's n(v, c), the rows of a node by the value v of an attribute and the class c; a node that is not
split is a table of one value. A score is an integer number of `unit`s, and a row that is added changes it by
-least to +greatest of them, so after a shift that is the same for all candidates by 0 to `sensitivity` = least +
greatest, in one direction: the scores are monotone in the sense of `protocols.release.choice`.

`MaxQuality`: q = sum_v max_c n(v, c), the rows that are right if each value has its majority. A row raises one n(v, c),
so one maximum, by 0 or 1: D = 1. It needs integers only, and is exact.

Leakage: the shapes of the tables, which are public. What comes out are secrets of the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.majority import count_inputs
from protocols.precision import count_width
from smc.circuit import Builder, Form, Integer, Netlist, maximum
from smc.engines import Bits, Engine


@dataclass(frozen=True)
class Quality(ABC):
    """A measure of questions about at most `bound` rows of both parties together."""

    bound: int
    signed = False  # whether scores can be negative

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """What one row changes of a score, at most, beside what it changes of all."""

    @abstractmethod
    def scores(self, engine: Engine, own: Sequence[Indices]) -> Bits:
        """The secret score of each table, [width, tables], from this party's int64[values, classes]."""

    def check(self) -> None:  # noqa: B027 (not every measure has a limit)
        """`InputError` if scores about so many rows cannot be computed."""

    @property
    def count_width(self) -> int:
        """Bits of a count of both parties' rows."""
        return count_width(self.bound)


class MaxQuality(Quality):
    """The rows that a majority for each value gets right."""

    @property
    def sensitivity(self) -> int:
        """See `Quality.sensitivity`."""
        return 1

    def scores(self, engine: Engine, own: Sequence[Indices]) -> Bits:
        """See `Quality.scores`."""
        width, lines = self.count_width, np.concatenate(list(own))
        netlist = _greatest_netlist(lines.shape[1], width, engine.form)
        (greatest,) = engine.run(netlist, *count_inputs(engine, lines.T, width))
        return sums(engine, greatest, np.array([len(table) for table in own]))


@lru_cache(maxsize=64)
def _greatest_netlist(classes: int, width: int, form: Form) -> Netlist:
    """Class counts of party 0, of party 1 in; the greatest sum out. All add up to less than 2^width."""
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    builder.output(maximum([a + b for a, b in zip(left, right, strict=True)])[0])
    return builder.build()


@lru_cache(maxsize=64)
def _add_netlist(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    left: Integer = builder.input(width)
    builder.output(left + builder.input(width))
    return builder.build()


def sums(engine: Engine, values: Bits, sizes: Indices) -> Bits:
    """Sums modulo 2^width of so many instances each, one group after the other: [width, groups]; none is empty.

    Pairs of all groups are one batch, so the longest group decides on the rounds and each group pays for its own.
    """
    netlist = _add_netlist(values.width, engine.form)
    while sizes.max(initial=1) > 1:
        starts = np.cumsum(sizes) - sizes
        group = np.repeat(np.arange(len(sizes)), sizes // 2)
        first = np.arange(len(group)) - np.repeat(np.cumsum(sizes // 2) - sizes // 2, sizes // 2)
        left = starts[group] + 2 * first
        single = np.flatnonzero(sizes % 2)
        (paired,) = engine.run(netlist, values.take(left), values.take(left + 1))
        joined = Bits.join([paired, values.take((starts + sizes - 1)[single])])
        order = np.argsort(np.concatenate([group, single]), kind="stable")
        values, sizes = joined.take(order), (sizes + 1) // 2
    return values


QUALITIES: dict[str, type[Quality]] = {"max": MaxQuality}

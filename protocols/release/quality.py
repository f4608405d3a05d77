"""Quality of a split or question, for a noisy choice: scores of tables of counts, and their sensitivity to one row.

A table has a party's n(v, c), the rows of a node by the value v of an attribute and the class c; a node that is not
split is a table of one value. A score is an integer number of units. An added row changes each score by an amount in an
interval of `sensitivity` units, and the interval is the same for all candidates. After a common shift the scores are
monotone in the sense of `protocols.release.choice`, with D = `sensitivity`. N is the public bound on rows.

`MaxQuality`: q = sum_v max_c n(v, c), the number of rows that the majority class of their value predicts. A row raises
one n(v, c), so one maximum, by 0 or 1: D = 1. It needs integers only, and is exact.

`GiniQuality`: q = -sum_v (n(v) - sum_c n(v, c)^2 / n(v)), minus the rows times Gini's impurity. With n = n(v), x =
n(v, c) and S = sum_c n(v, c)^2, a row in (v, c) lowers q by

    (n - 2 x + S / n) / (n + 1),

which is at least (n - x)^2 / (n (n + 1)) >= 0, as S >= x^2, and at most 2 n / (n + 1) < 2, as S <= n^2: monotone in the
other direction, D = 2. The computed score is q plus the rows of the node, which are equal for all candidates, with an
error of at most e = 1/32 (`protocols.reciprocal`).

`EntropyQuality`: q = -|T| H(C | A) = sum_v sum_c f(n(v, c)) - sum_v f(n(v)), f(x) = x ln x. With g(x) = f(x + 1) -
f(x), which grows from g(0) = 0, a row in (v, c) lowers q by g(n(v)) - g(n(v, c)), from 0 to g(N - 1) = ln N + (N - 1)
ln(N / (N - 1)) <= ln N + 1: monotone, D = ln N + 1. (Friedman, Schuster, KDD 2010, have log2(N + 1) + 1 / ln 2 in bits,
times 2.) The logarithms are those of `protocols.logarithm` for a delta of 1 / (4 N), so q is wrong by at most N delta /
2 = e = 1/8.

A score that is computed within e of q and cut down to a unit moves by -ceil(2 e / unit) to ceil((D + 2 e) / unit)
units: q moves by 0 to D, both errors are at most e, and if a number moves by t, its floor moves by floor t or ceil t.
The length of this interval is `sensitivity`. The case of the other direction is symmetric.

Leakage: the shapes of the tables, which are public. The scores are secrets of the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

import numpy as np
from typing_extensions import override

from protocols import reciprocal
from protocols.counts import Indices
from protocols.entropies import BATCH, entropies, groups
from protocols.majority import count_inputs
from protocols.precision import count_width
from protocols.problem import Problem
from smc.circuit import Builder, Form, Integer, Netlist, maximum
from smc.circuit.kept import kept
from smc.engines import Bits, Engine, Word
from smc.errors import InputError
from smc.recipes import GARBLED, Prices

UNIT_BITS = 5  # a score of `GiniQuality` and `EntropyQuality` counts 1/32 of a row, or of a row's nat
UNITS = 1 << UNIT_BITS


@dataclass(frozen=True)
class Quality(ABC):
    """Quality measure for splits of at most `bound` rows of both parties together."""

    bound: int
    signed = False  # whether scores can be negative

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """Greatest change of a score by one row, apart from a change that all scores have in common."""

    @abstractmethod
    def scores(self, engine: Engine, own: Sequence[Indices]) -> Bits:
        """Return the secret score of each table, [width, tables].

        Args:
            engine: Engine of this party. The peer must pass equal public arguments.
            own: This party's tables, int64[values, classes] each; private. Their shapes are public.
        """

    def check(self) -> None:  # noqa: B027 (not every measure has a limit)
        """Raise InputError if scores cannot be computed for this bound on rows."""

    @property
    def count_width(self) -> int:
        """Bits of a count of both parties' rows."""
        return count_width(self.bound)


class MaxQuality(Quality):
    """Quality of a split: the number of rows whose class is the majority class of their value."""

    @property
    @override
    def sensitivity(self) -> int:
        return 1

    @override
    def scores(self, engine: Engine, own: Sequence[Indices]) -> Bits:
        width, lines = self.count_width, np.concatenate(list(own))
        netlist = _greatest_netlist(lines.shape[1], width, engine.form)
        (greatest,) = engine.run(netlist, *count_inputs(engine, lines.T, width, sums="modular"))
        return sums(engine, greatest, np.array([len(table) for table in own]))


@dataclass(frozen=True)
class _Approximate(Quality):
    """Scores from fixed-point numbers: signed, in units of 2^-`UNIT_BITS`."""

    signed = True

    @property
    @abstractmethod
    def change(self) -> Fraction:
        """D, the greatest change of the true score by one row."""

    @property
    @abstractmethod
    def error(self) -> Fraction:
        """Greatest error of a score."""

    @property
    @override
    def sensitivity(self) -> int:
        return ceil(2 * self.error * UNITS) + ceil((self.change + 2 * self.error) * UNITS)


class GiniQuality(_Approximate):
    """Quality of a split: the rows minus the rows times Gini's impurity."""

    change = Fraction(2)
    error = Fraction(1, 32)

    @override
    def check(self) -> None:
        try:
            self._parameters(GARBLED)
        except InputError:
            raise InputError(
                f"quality gini cannot be computed for {self.bound // 2} rows: choose quality max or a smaller max_rows"
            ) from None

    @override
    def scores(self, engine: Engine, own: Sequence[Indices]) -> Bits:
        parameters = self._parameters(engine.words.prices)
        sizes = np.array([len(table) for table in own])
        ends = np.cumsum(sizes)
        cuts = np.flatnonzero(np.diff((ends - 1) // BATCH)) + 1
        parts = [self._sums(engine, parameters, [own[i] for i in part]) for part in np.split(np.arange(len(own)), cuts)]
        with engine.session.phase("bits"):
            return engine.words.bits(engine.words.join(parts))[parameters.fraction - UNIT_BITS :]

    def _parameters(self, prices: Prices) -> reciprocal.Parameters:
        return reciprocal.derive(self.error / (2 * self.bound), self.bound, prices)

    def _sums(self, engine: Engine, parameters: reciprocal.Parameters, own: Sequence[Indices]) -> Word:
        lines, sizes = np.concatenate(list(own)), np.array([len(table) for table in own])
        squares = reciprocal.squares(engine, parameters, lines)
        first = groups(np.cumsum(sizes) - sizes, sizes)
        each = [np.where(first < 0, -1, first + c * len(lines)) for c in range(lines.shape[1])]
        return engine.words.total(squares, np.concatenate(each, axis=1), parameters.sum_width)


class EntropyQuality(_Approximate):
    """Quality of a split: minus the rows times the conditional entropy of their class, in nats."""

    error = Fraction(1, 8)

    @property
    @override
    def change(self) -> Fraction:
        """D, the greatest change of the true score by one row: ln N + 1, rounded up."""
        return Fraction(ceil((log(self.bound) + 1) * 1024), 1024)

    @override
    def check(self) -> None:
        try:
            self._problem(2).precision()
        except InputError:
            rows = self.bound // 2
            raise InputError(
                f"quality entropy cannot be computed for {rows} rows: choose quality max or a smaller max_rows"
            ) from None

    @override
    def scores(self, engine: Engine, own: Sequence[Indices]) -> Bits:
        problem = self._problem(own[0].shape[1])
        counts = [np.concatenate([table.sum(axis=1), table.reshape(-1)]) for table in own]
        found = entropies(engine, problem, counts, np.array([len(table) for table in own]))
        fraction = problem.precision(engine.words.prices).fraction
        with engine.session.phase("bits"):
            bits = engine.words.bits(found)[fraction - UNIT_BITS :]
            return bits ^ engine.constant(np.ones((bits.width, bits.batch), dtype=np.uint8))  # -1 - h: the sign of q

    def _problem(self, classes: int) -> Problem:
        return Problem((), classes, self.bound // 2, delta=float(2 * self.error / self.bound))


@kept
def _greatest_netlist(classes: int, width: int, form: Form) -> Netlist:
    """Build the greatest joint count of a class from both parties' counts, which all add up to less than 2^width."""
    builder = Builder(form)
    left = [builder.input(width) for _ in range(classes)]
    right = [builder.input(width) for _ in range(classes)]
    builder.output(maximum([a + b for a, b in zip(left, right, strict=True)])[0])
    return builder.build()


@kept
def _add_netlist(width: int, form: Form) -> Netlist:
    builder = Builder(form)
    left: Integer = builder.input(width)
    builder.output(left + builder.input(width))
    return builder.build()


def sums(engine: Engine, values: Bits, sizes: Indices) -> Bits:
    """Return the sum of each group of secret numbers modulo 2^width, [width, groups].

    Neighbours of all groups are added in one batch, so the longest group determines the number of rounds.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        values: Secret numbers, [width, numbers], one group after the other.
        sizes: Size of each group, int64[groups], 1 at least; public.
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


QUALITIES: dict[str, type[Quality]] = {"max": MaxQuality, "gini": GiniQuality, "entropy": EntropyQuality}

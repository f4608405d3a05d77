"""Choice and measurement of marginals: the common parts of the two methods `mst` and `aim`.

A marginal is a table of joint counts by some columns. The list of marginals is public (`Workload`), and so are the
measurements: counts with noise. From them a *model* estimates all marginals, and the estimates enter the next choice.
Party 0 computes them and sends them to party 1, because two machines may differ in the last digit of a floating-point
number. Privacy does not depend on the estimates: for any estimates, one row more or less changes the distance of each
table from them by 1 at most (`protocols.release.joint_tables`).

Privacy, in zero-concentrated form (Bun, Steinke 2016). A row more or less changes one cell of a marginal by 1, so a
marginal opened with discrete Gaussian noise of sigma spends 1 / (2 sigma^2), and m marginals m times that. A choice is
the exponential mechanism (`protocols.release.exponential`), whose range is bounded by epsilon: it spends epsilon^2 / 8.
A row changes a candidate's score by at most the candidate's weight. A replaced row is one row less and one more: it
doubles the changes in a choice, and multiplies the Euclidean change of a marginal by sqrt(2). For the m rows of a
person all these changes are m times as large. All losses add up, although each step is chosen by the values opened
before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from protocols.release.exponential import Powers, powers_for
from protocols.release.gaussian import discrete_gaussian
from protocols.release.joint_tables import JointTables
from protocols.release.laws import security_for
from protocols.release.numbers import opened_with_noise
from smc.circuit import Builder, Integer, Netlist, multiply
from smc.engines import Bits, Engine
from smc.errors import ProtocolError
from smc.primitives import bits as bitpack

DIGITS = 6  # significant digits of a standard deviation, rounded up, and of the epsilon of a choice, rounded down

Counts = NDArray[np.int64]
Estimates = list[Counts]  # rounded down; half a row more is what enters a distance


@dataclass(frozen=True)
class Workload:
    """Public settings of a choice of marginals, which are counts by sets of columns.

    Attributes:
        domains: Number of values of each column.
        sets: Columns of each marginal, in rising order; all single columns come first.
        max_rows: Upper bound on the rows of a party.
        rho: Budget of a run, in zero-concentrated differential privacy.
        replaced: True if neighbouring tables differ by a replaced row.
        epsilon: Epsilon that `rho` stands for at some delta. The samples of all measurements together, and those of all
            choices together, each add at most 2^-38 to that delta.
        rows: Rows of a person, which are hidden together.
    """

    domains: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    max_rows: int
    rho: Fraction
    replaced: bool = False
    epsilon: Fraction = Fraction(1)
    rows: int = 1  # rows of a person, which are hidden together

    @property
    def singles(self) -> tuple[int, ...]:
        """Indices of the marginals of one column."""
        return tuple(range(len(self.domains)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each marginal."""
        return tuple(math.prod(self.domains[column] for column in one) for one in self.sets)

    @property
    def change(self) -> int:
        """Number of cells of a marginal that one row changes, each by 1."""
        return 2 if self.replaced else 1

    @property
    def moved(self) -> int:
        """Total change of a marginal's cells by all rows that are hidden together."""
        return self.rows * self.change

    def price(self, sigma: Fraction) -> Fraction:
        """Return the rho that a measurement with this noise spends."""
        return self.rows**2 * self.change / (2 * sigma**2)

    def sigma(self, rho: Fraction) -> Fraction:
        """Return the smallest standard deviation of noise with which one measurement spends at most `rho`."""
        return _rounded(self.rows**2 * self.change / (2 * rho), up=True)

    @staticmethod
    def choice_price(epsilon: Fraction) -> Fraction:
        """Return the rho that a choice with the bounded range `epsilon` spends."""
        return epsilon**2 / 8

    @staticmethod
    def choice_epsilon(rho: Fraction) -> Fraction:
        """Return the largest epsilon, the bounded range of a choice, with which the choice spends at most rho."""
        return _rounded(8 * rho, up=False)


@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy counts of marginal number `table`, int64[cells]; `sigma` is that of the noise.

    `epsilon` is that of the choice of the marginal, 0 if it was not chosen.
    """

    table: int
    sigma: Fraction
    epsilon: Fraction
    counts: Counts


State = tuple[Measured, ...]
OnMeasurement = Callable[[State], object]  # called before each step with the measurements so far


class MarginalModel(Protocol):
    """Model of the joint rows that estimates marginals from measurements.

    Both methods must depend on their arguments only, and not on earlier calls.
    """

    def estimate(self, measured: State) -> list[NDArray[np.float64]]:
        """Return the expected cells of all marginals, float64[cells] each, with fractions."""

    def sizes(self, measured: Sequence[tuple[int, ...]], more: Sequence[tuple[int, ...]]) -> list[int]:
        """Return the number of cells of the model after one more measurement, for each set of columns in `more`.

        Both parties must get equal numbers.

        Args:
            measured: Sets of columns in the order in which they were measured.
            more: Candidate sets of columns, each measured alone in addition.
        """


def measure(
    engine: Engine,
    work: Workload,
    tables: JointTables,
    chosen: Sequence[int],
    sigma: Fraction,
    epsilon: Fraction,
    cells: int | None = None,
) -> State:
    """Open marginals with Gaussian noise, and return them as measurements.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        work: Public workload: domains, marginals, bound on rows and rho.
        tables: Joint counts of all marginals; secret.
        chosen: Indices of the marginals to open, one at least; public.
        sigma: Sigma of the noise, in rows.
        epsilon: Range of the choice of these marginals; 0 if they were not chosen.
        cells: Greatest number of cells that the run opens. Default: the cells of all marginals, each opened once.

    Raises:
        InputError: The noise is out of range, or a count with its noise is too wide.
    """
    sizes = [work.sizes[table] for table in chosen]
    law = discrete_gaussian(sigma**2, security_for(work.epsilon, sum(work.sizes) if cells is None else cells))
    with engine.session.phase("measurement"):
        counts = opened_with_noise(engine, tables.secrets(chosen), law)
    parts = np.split(counts, np.cumsum(sizes)[:-1])
    return tuple(Measured(table, sigma, epsilon, part) for table, part in zip(chosen, parts, strict=True))


def agreed_estimates(engine: Engine, work: Workload, model: MarginalModel, measured: State) -> Estimates:
    """Return party 0's estimates of all marginals, int64[cells] each, rounded down; equal at both parties.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        work: Public workload: domains, marginals, bound on rows and rho.
        model: Estimates marginals from measurements. Only party 0 uses it.
        measured: Measurements so far; public.

    Raises:
        ProtocolError: The peer sent an estimate that is not a number of rows.
    """
    own = None
    if engine.party == 0:
        floors = np.floor(np.concatenate(model.estimate(measured)))
        own = np.clip(floors, 0, 2 * work.max_rows).astype(np.int64)
    return sent_estimates(engine, work, own)


def sent_estimates(engine: Engine, work: Workload, own: Counts | None) -> Estimates:
    """Send party 0's estimates to party 1, and return them by marginal, int64[cells] each.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        work: Public workload: domains, marginals, bound on rows and rho.
        own: Estimates of all marginals, int64[cells], one marginal after the other, at party 0; None at party 1.

    Raises:
        ProtocolError: An estimate is not a number of rows.
    """
    with engine.session.phase("estimates"):
        whole: Counts = send_from_party0(engine, "estimates", own, (sum(work.sizes),))
    if not 0 <= whole.min() <= whole.max() <= 2 * work.max_rows:
        raise ProtocolError("an opened estimate is not a possible number of rows: the peer's messages are wrong")
    return np.split(whole, np.cumsum(work.sizes)[:-1])


def send_from_party0(
    engine: Engine, what: str, own: NDArray[Any] | None, shape: tuple[int, ...], dtype: DTypeLike = np.int64
) -> NDArray[Any]:
    """Send party 0's public integers to party 1, and return them at both parties.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        what: Name of the message.
        own: The integers, int[shape], at party 0; None at party 1.
        shape: Shape of the integers.
        dtype: Type of the integers. Default: int64.
    """
    if engine.party == 1:
        return engine.session.receive(what, dtype, shape)
    assert own is not None
    assert own.shape == shape
    found = own.astype(dtype, copy=False)
    engine.session.send(what, found)
    return found


def score_powers(work: Workload, epsilon: Fraction, choices: int) -> tuple[Powers, int]:
    """Return the weights of one choice of a run, and the factor that turns distances into scores.

    Args:
        work: Public workload: domains, marginals, bound on rows and rho.
        epsilon: Range of one choice.
        choices: Greatest number of choices in a run.

    Raises:
        InputError: Epsilon is too small.
    """
    return powers_for(epsilon, work.moved, security_for(work.epsilon, choices))


def weighted(engine: Engine, distances: Bits, weights: Sequence[int], less: Sequence[int]) -> Bits:
    """Return secret scores: each distance times its weight, minus its `less`, plus the greatest `less`.

    So no score is negative.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        distances: Secret distances from 0 up, [bits, candidates].
        weights: Weight of each distance, 1 or more; public.
        less: Number that is subtracted from each weighted distance; public.
    """
    raised = [max(less) - number for number in less]
    bits = max(1, max(raised).bit_length())
    public = [engine.constant(bitpack.from_integers(raised, bits))]
    if len(set(weights)) == 1:
        netlist = _score_netlist(distances.width, weights[0].bit_length(), bits, weights[0])
    else:
        netlist = _score_netlist(distances.width, max(weights).bit_length(), bits)
        public.append(engine.constant(bitpack.from_integers(weights, max(weights).bit_length())))
    (scores,) = engine.run(netlist, distances, *public)
    return scores


@lru_cache(maxsize=64)
def _score_netlist(width: int, weight: int, addend: int, constant: int | None = None) -> Netlist:
    builder = Builder("size")
    distance, raised = builder.input(width), builder.input(addend)
    factor = builder.input(weight) if constant is None else Integer.constant(builder.graph, constant)
    builder.output(multiply(distance, factor, width + weight).wide_add(raised))
    return builder.build()


def _rounded(square: Fraction, up: bool) -> Fraction:
    """Return the square root of a number, rounded up or down to `DIGITS` digits.

    It computes with whole numbers only, so all machines get equal results.
    """
    places = DIGITS
    while square * 100**places < 100**DIGITS:
        places += 1
    root = math.isqrt(math.floor(square * 100**places))
    exact = root * root == square * 100**places
    return Fraction(root + (up and not exact), 10**places)

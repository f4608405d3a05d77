"""Base classes of the methods that find a linear classifier: opened values, noise and privacy loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from typing_extensions import override

from parties.jobs.kind import Document, Loss, exact
from parties.jobs.regress.settings import RegressSettings
from parties.jobs.release.noise import Noise, gauss_of_uses
from parties.jobs.release.question import Part
from parties.jobs.spending import Noised
from protocols.arrays import Floats
from protocols.regression.features import Column, Features
from smc.engines import Engine

Opened: TypeAlias = tuple[tuple[int, ...], ...]  # of every step
OnRound: TypeAlias = Callable[[int, Opened], object]


@dataclass(frozen=True)
class Method(Noised, ABC):
    """A training method, made from complete settings and features. Each step opens a tuple of integers."""

    settings: RegressSettings
    features: Features
    target: Column | None = None  # numeric target of least squares
    present: tuple[bool, ...] | None = None  # whether each value of the target is a number

    steps = 1
    minimises = True  # whether it minimises a loss, with lambda
    streamed = False  # whether rows are read in pieces; else all distinct rows are in memory
    what = "number with noise"  # kind of opened value
    words = "adding noise"

    @property
    def regularisation(self) -> float:
        """Weight lambda of the regularisation."""
        assert self.settings.regularisation is not None
        return self.settings.regularisation

    @property
    def space(self) -> Features:
        """The features with which `own` receives the rows; a subclass may return others than `features`."""
        return self.features

    @property
    def numbers(self) -> int:
        """Number of integers that a step opens."""
        return self.features.number

    @property
    def summed(self) -> int:
        """Number of integers that each party gives to a step, where both parties' integers are added in secret."""
        return self.numbers

    @property
    @abstractmethod
    def spends(self) -> tuple[Loss, ...]:
        """The privacy losses of a run, one after the other."""

    @abstractmethod
    def check(self) -> None:
        """Raise InputError if the method does not apply, or is too large."""

    @abstractmethod
    def own(self, rows: Any) -> Any:
        """Return the argument `data` of `run` for this party's rows, a `RowStream` if the method is `streamed`.

        For None as rows, return data without rows, to count the cost.
        """

    @abstractmethod
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        """Run the protocol and return the opened values.

        Args:
            engine: Engine of the run.
            data: Result of `own`.
            on_step: Called with the number and the state of each step.
            start: Values opened before.
        """

    @abstractmethod
    def weights(self, opened: Opened) -> Floats:
        """Return the weights that follow from the opened values, float64[features]."""

    @abstractmethod
    def fields(self, opened: Opened) -> Document:
        """Return the fields of a result on its noise, and on opened values besides the weights."""

    def spread(self, opened: Opened) -> float | None:
        """Return the standard deviation of a weight's noise, or a bound on it; None if the noise has no such law."""
        return None

    def _gauss(self, uses: int, squared: int) -> Noise:
        """Return Gaussian noise for `uses` opened vectors; a row changes each by a squared norm of `squared`."""
        assert self.settings.delta is not None
        delta = exact(self.settings.delta)
        return gauss_of_uses(self.epsilon, delta, uses, squared, self.settings.adjacency)


class OpenedOnce(Method):
    """A method that opens numbers once: each is a sum of both parties' integers, with noise. The rest is local work."""

    @property
    @abstractmethod
    def squared(self) -> int:
        """Squared Euclidean norm of the largest change of all integers by one row, rounded up."""

    @property
    @abstractmethod
    def bound(self) -> int:
        """Bound on the absolute value of one party's integer."""

    @cached_property
    def noise(self) -> Noise:
        """Noise that is added to each opened integer."""
        return self._gauss(1, self.squared)

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        return (self.noise.loss,)

    @cached_property
    def part(self) -> Part:
        """The integers with their noise."""
        return Part(self.numbers, self.bound, True, self.noise)

    @override
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        on_step(0, start)
        return (tuple(self.part.opened(engine, data)),)


class Stepwise(Method):
    """A method with the settings' number of steps, each over all rows, which are read in pieces."""

    streamed = True

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Number of steps."""
        assert self.settings.steps is not None
        return self.settings.steps

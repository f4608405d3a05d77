"""What a way to find a linear classifier must tell: what it opens, what noise that has, what it spends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from typing_extensions import override

from parties.alone.regression.features import Column, Features
from parties.base.arrays import Floats
from parties.jobs.kind import Document
from parties.jobs.regress.settings import RegressSettings
from parties.jobs.release.noise import Noise, gauss
from parties.jobs.spending import ConcentratedLoss, Loss, exact
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine

Opened: TypeAlias = tuple[tuple[int, ...], ...]  # by every step
OnRound: TypeAlias = Callable[[int, Opened], object]


@dataclass(frozen=True)
class Method(ABC):
    """A method for these settings, all of them given, and features. What is opened is a tuple of integers a step."""

    settings: RegressSettings
    features: Features
    target: Column | None = None  # of numbers, for least squares
    present: tuple[bool, ...] | None = None  # which values of the target are numbers

    steps = 1
    minimises = True  # a loss, with lambda
    streamed = False  # whether rows are read in pieces; else all distinct ones are in memory
    what = "number with noise"  # is opened
    words = "adding noise"

    @property
    def epsilon(self) -> Fraction:
        """Epsilon as it was written."""
        assert self.settings.epsilon is not None
        return exact(self.settings.epsilon)

    @property
    def replaced(self) -> bool:
        """True if neighbours differ by a row replaced, not by one more or less."""
        return self.settings.adjacency == "replace"

    @property
    def regularisation(self) -> float:
        """Lambda."""
        assert self.settings.regularisation is not None
        return self.settings.regularisation

    @property
    def space(self) -> Features:
        """The features of rows as `own` takes them."""
        return self.features

    @property
    def numbers(self) -> int:
        """The number of integers that a step opens."""
        return self.features.number

    @property
    @abstractmethod
    def spends(self) -> tuple[Loss, ...]:
        """The privacy losses of a run, one after the other."""

    @abstractmethod
    def check(self) -> None:
        """`InputError` if it makes no sense, or is too large."""

    @abstractmethod
    def own(self, rows: Any) -> Any:
        """Return what `run` takes of this party's rows, a `RowStream` if they are `streamed`; of nothing, to count."""

    @abstractmethod
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        """Return the protocol."""

    @abstractmethod
    def weights(self, opened: Opened) -> Floats:
        """Return the result, float64[features]."""

    @abstractmethod
    def fields(self, opened: Opened) -> Document:
        """Return what a result says of its noise, and of what was opened besides weights."""

    def spread(self, opened: Opened) -> float | None:
        """Return the standard deviation of the noise in a weight, or a bound of it; None if it has no such law."""
        return None

    def _gauss(self, uses: int, squared: int) -> Noise:
        """Return the noise for so many uses that one row changes by this, squared; its loss is that of all of them."""
        assert self.settings.delta is not None
        adjacency = self.settings.adjacency
        noise = gauss(self.epsilon, exact(self.settings.delta), uses * squared, adjacency)
        each = squared / (2 * noise.scale**2)
        return replace(noise, loss=ConcentratedLoss("discrete Gaussian", each, adjacency=adjacency, times=uses))


class OpenedOnce(Method):
    """A method that opens one sum of both parties' integers, each with noise, and works all else out from it."""

    @property
    @abstractmethod
    def squared(self) -> int:
        """The square of what a row changes in all integers, rounded up."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Bits of an own integer, with its sign."""

    @cached_property
    def noise(self) -> Noise:
        """The noise on each integer."""
        return self._gauss(1, self.squared)

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        return (self.noise.loss,)

    @override
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        from protocols.release.numbers import noisy_sums

        on_step(0, start)
        sums = noisy_sums(engine, data, self.width, self.noise.law(self.numbers), signed=True)
        return (tuple(sums.tolist()),)

    def _check_width(self, bound: str) -> None:
        """Raise `InputError` if a sum could have too many bits; `bound` is the setting to lower."""
        from protocols.release.numbers import MOST_BITS, sum_width

        width = sum_width(self.width, self.noise.law(self.numbers))
        if width > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower {bound}")


class Stepwise(Method):
    """As many steps as the settings say, each over all rows, which are read in pieces."""

    streamed = True

    @property
    def steps(self) -> int:  # type: ignore[override]
        """How many."""
        assert self.settings.steps is not None
        return self.settings.steps

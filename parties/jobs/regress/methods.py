"""How a classifier is found: what each method opens, what noise that has, what it spends."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.jobs.kind import Document, Spending
from parties.jobs.regress.settings import POINTS, RegressSettings
from parties.jobs.release.noise import Noise, exact, gauss
from parties.regression.features import BITS, ONE, Features
from parties.regression.losses import radius
from parties.regression.minimiser import TOLERANCE, minimise
from parties.regression.rows import SLOPE_BITS, Rows
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.release.descent import Change, Descent
    from protocols.release.geometric import OneSidedGeometric
    from smc.engines import Engine

Floats = NDArray[np.float64]
Opened: TypeAlias = tuple[tuple[int, ...], ...]  # by every step
Told: TypeAlias = Callable[[int, Opened], object]


@dataclass(frozen=True)
class Method(ABC):
    """A method for these settings, all of them given, and features. What is opened is a tuple of integers a step."""

    settings: RegressSettings
    features: Features

    steps = 1
    what = "number with noise"  # is opened
    words = "adding noise"

    @property
    def regularisation(self) -> float:
        """Lambda."""
        assert self.settings.regularisation is not None
        return self.settings.regularisation

    @property
    def epsilon(self) -> Fraction:
        """As it was written."""
        assert self.settings.epsilon is not None
        return exact(self.settings.epsilon)

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by a row replaced."""
        return self.settings.adjacency == "replace"

    @property
    def numbers(self) -> int:
        """How many integers a step opens."""
        return self.features.number

    @property
    @abstractmethod
    def spends(self) -> tuple[Spending, ...]:
        """See `Kind.spends`."""

    @abstractmethod
    def check(self) -> None:
        """`InputError` if it makes no sense, or is too large."""

    @abstractmethod
    def own(self, rows: Rows | None) -> Any:
        """What `run` takes of this party's rows; of nothing, to count."""

    @abstractmethod
    def run(self, engine: Engine, own: Any, told: Told, start: Opened) -> Opened:
        """The protocol."""

    @abstractmethod
    def weights(self, opened: Opened) -> Floats:
        """The result, float64[features]."""

    @abstractmethod
    def fields(self, opened: Opened) -> Document:
        """What a result says of its noise, and of what was opened besides weights."""

    def spread(self, opened: Opened) -> float | None:
        """The standard deviation of the noise in a weight, or a bound of it; None if it has no such law."""
        return None

    def _gauss(self, uses: int, squared: int) -> tuple[Noise, Spending]:
        """Noise for so many uses that one row changes by this, squared; and what all of them spend."""
        assert self.settings.delta is not None
        noise = gauss(self.epsilon, exact(self.settings.delta), uses * squared, self.settings.adjacency)
        each = float(Fraction(squared) / (2 * noise.scale**2))
        return noise, Spending("discrete Gaussian", rho=each, adjacency=self.settings.adjacency, times=uses)


class Gradient(Method):
    """Noisy gradient descent, `protocols.release.descent`."""

    @property
    def steps(self) -> int:  # type: ignore[override]
        """T."""
        assert self.settings.steps is not None
        return self.settings.steps

    @property
    def numbers(self) -> int:
        """See `Method.numbers`: the number of rows is one more."""
        return self.features.number + 1

    @property
    def clip(self) -> int:
        """The bound on a row's slope, in units of 2^-14."""
        assert self.settings.clip is not None
        return int(exact(self.settings.clip) * (1 << SLOPE_BITS))

    @property
    def change(self) -> Change:
        """What one row changes."""
        from protocols.release.descent import Change

        return Change(self.features.number, self.clip << BITS, self.replaced)

    @cached_property
    def noise(self) -> tuple[Noise, Spending]:
        """Of each step, and what all spend."""
        return self._gauss(self.steps, self.change.squared)

    @property
    def spends(self) -> tuple[Spending, ...]:
        """See `Method.spends`."""
        return (self.noise[1],)

    @cached_property
    def problem(self) -> Descent:
        """The protocol's view."""
        from protocols.release.descent import Descent

        assert self.settings.rate is not None
        return Descent(
            change=self.change,
            steps=self.steps,
            rate=self.settings.rate,
            regularisation=self.regularisation,
            variance=self.noise[0].scale ** 2,
            max_rows=self.settings.max_rows,
            least_rows=self.settings.least_rows or 0,
        )

    def check(self) -> None:
        """See `Method.check`."""
        self.problem.check()

    def own(self, rows: Rows | None) -> Any:
        """See `Method.own`: sums at any weights."""
        if rows is None:
            return lambda weights: (np.zeros(self.features.number, dtype=np.int64), 0)
        loss = self.settings.objective
        return lambda weights: (rows.slopes(loss, weights, self.clip), rows.total)

    def run(self, engine: Engine, own: Any, told: Told, start: Opened) -> Opened:
        """See `Method.run`."""
        from protocols.release.descent import descend

        return descend(engine, self.problem, own, told, start)

    def weights(self, opened: Opened) -> Floats:
        """See `Method.weights`."""
        return self.problem.weights(opened)

    def fields(self, opened: Opened) -> Document:
        """See `Method.fields`; sigma is of a sum of gradients."""
        from protocols.release.descent import COARSE

        settings = self.settings
        about = {"steps": self.steps, "rate": settings.rate, "clip": settings.clip, "delta": settings.delta}
        rows = round(self.problem.rows(opened))
        return {**about, **self.noise[0].fields(Fraction(1, 1 << COARSE)), "rows": rows}

    def spread(self, opened: Opened) -> float:
        """See `Method.spread`: a bound."""
        return self.problem.spread(opened)


class Output(Method):
    """Each party's own minimiser; the mean of the two is opened with noise (output perturbation).

    Jayaraman, Wang, Evans, Gu, "Distributed learning without distress" (NeurIPS 2018): one noise for both parties, of
    the scale of one of them, halved by the mean. A row of a party, more, less or replaced, moves the gradient of its J
    by 2 / n at most, for the greater n of the two tables, so its minimiser by 2 / (n lambda); `TOLERANCE`, to which it
    is known, adds 2 TOLERANCE / lambda. In units of a 2^10th of that, rounded to integers, the sum of the two vectors
    changes by at most 2^10 + sqrt(d) in the Euclidean norm, and 1 more stands for all rounding of doubles.
    """

    POINT = 10

    @property
    def moved(self) -> float:
        """How far a row moves a minimiser at most."""
        assert self.settings.least_rows is not None
        return (2 / self.settings.least_rows + 2 * TOLERANCE) / self.regularisation

    @property
    def unit(self) -> float:
        """Of the weights, before the mean of two is taken."""
        return self.moved / (1 << self.POINT)

    @property
    def squared(self) -> int:
        """The square of what a row changes in all integers, rounded up."""
        change = (1 << self.POINT) + 2 + math.isqrt(self.features.number)
        return change**2

    @property
    def width(self) -> int:
        """Bits of an own integer, with its sign."""
        return int(radius(self.settings.objective, self.regularisation) / self.unit + 2).bit_length() + 1

    @cached_property
    def noise(self) -> tuple[Noise, Spending]:
        """On each integer, and what it spends."""
        return self._gauss(1, self.squared)

    @property
    def spends(self) -> tuple[Spending, ...]:
        """See `Method.spends`."""
        return (self.noise[1],)

    def check(self) -> None:
        """See `Method.check`."""
        from protocols.release.numbers import MOST_BITS, sum_width

        width = sum_width(self.width, self.noise[0].law(self.numbers))
        if width > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower least_rows")

    def own(self, rows: Rows | None) -> Any:
        """See `Method.own`: the minimiser in integers."""
        if rows is None:
            return np.zeros(self.numbers, dtype=np.int64)
        found = minimise(rows, self.settings.objective, self.regularisation)
        return np.rint(found.weights / self.unit).astype(np.int64)

    def run(self, engine: Engine, own: Any, told: Told, start: Opened) -> Opened:
        """See `Method.run`."""
        from protocols.release.numbers import noisy_sums

        told(0, start)
        found = noisy_sums(engine, own, self.width, self.noise[0].law(self.numbers), signed=True)
        return (tuple(found.tolist()),)

    def weights(self, opened: Opened) -> Floats:
        """See `Method.weights`: the mean of two."""
        found: Floats = np.array(opened[0], dtype=np.float64) * (self.unit / 2)
        return found

    def fields(self, opened: Opened) -> Document:
        """See `Method.fields`; sigma is of the weight of a category."""
        noise = self.noise[0].fields(Fraction(self.unit) / 2 * Fraction(self.features.unit, ONE))
        return {"delta": self.settings.delta, "least_rows": self.settings.least_rows, **noise}

    def spread(self, opened: Opened) -> float:
        """See `Method.spread`."""
        return float(self.noise[0].scale) * self.unit / 2


class Choice(Method):
    """One weight of a public grid, the likelier the less J is there: for one column of numbers, without intercept.

    A row's score of a weight is the greatest loss that there can be, less its own and lambda / 2 w^2, in integers up to
    `BEST`; a row more raises all scores by that at most and lowers none (`protocols.release.choice`).
    """

    BEST = 1 << 12
    what = "choice"
    words = "choosing"

    @property
    def numbers(self) -> int:
        """See `Method.numbers`: the index of the weight."""
        return 1

    @property
    def spends(self) -> tuple[Spending, ...]:
        """See `Method.spends`."""
        return (Spending("choice of a weight by noisy max", float(self.epsilon), adjacency=self.settings.adjacency),)

    @cached_property
    def grid(self) -> Floats:
        """The weights, float64[points]: no minimiser is further out, whatever the rows."""
        reach = radius(self.settings.objective, self.regularisation)
        return np.linspace(-reach, reach, POINTS)

    @cached_property
    def law(self) -> OneSidedGeometric:
        """The noise on each score."""
        from protocols.release.choice import choice_law

        return choice_law(self.epsilon, self.BEST, not self.replaced, POINTS)

    @property
    def width(self) -> int:
        """Bits of a party's score."""
        return (self.settings.max_rows * self.BEST).bit_length()

    def check(self) -> None:
        """See `Method.check`."""
        columns = self.features.columns
        if len(columns) != 1 or columns[0].numbers is None:
            raise InputError("columns: a choice among weights is for one column, of numbers: name it in numeric, too")

    def own(self, rows: Rows | None) -> Any:
        """See `Method.own`: the scores of all weights."""
        if rows is None:
            return np.zeros((POINTS, 1), dtype=np.int64)
        scores = [rows.counts @ self._scores(rows, weight) for weight in self.grid]
        return np.array(scores, dtype=np.int64)[:, None]

    def _scores(self, rows: Rows, weight: float) -> NDArray[np.int64]:
        """Each line's score of a weight, from 0 to `BEST`."""
        loss, reach = self.settings.objective, float(self.grid[-1])
        worst = float(loss.value(np.array([-reach]))[0]) + self.regularisation / 2 * reach**2
        lost = loss.value(rows.margins(np.array([weight, 0.0]))) + self.regularisation / 2 * weight**2
        found: NDArray[np.int64] = np.clip((1 - lost / worst) * self.BEST, 0, self.BEST).astype(np.int64)
        return found

    def run(self, engine: Engine, own: Any, told: Told, start: Opened) -> Opened:
        """See `Method.run`."""
        from protocols.release.choice import noisy_choice

        told(0, start)
        return ((int(noisy_choice(engine, own, self.width, self.law)[0]),),)

    def weights(self, opened: Opened) -> Floats:
        """See `Method.weights`."""
        return np.array([self.grid[opened[0][0]], 0.0])

    def fields(self, opened: Opened) -> Document:
        """See `Method.fields`."""
        return {"points": POINTS}


METHODS: dict[str, type[Method]] = {"gradient": Gradient, "output": Output, "choice": Choice}


def total(opened: Sequence[Sequence[int]]) -> int:
    """How many integers were opened."""
    return sum(map(len, opened))

"""Base class of regressions with intervals: Newton steps on noisy sums of scores and information."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import (
    Bits,
    Counted,
    Disclosure,
    Document,
    Inputs,
    OnStep,
    State,
    States,
    Step,
    exact,
    opened_steps,
)
from parties.jobs.release import reading
from parties.jobs.release.effects import result
from parties.jobs.release.effects.design import DIGITS, Design, column
from parties.jobs.release.effects.settings import EffectsSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import WIDE, Noise, gauss_of_uses
from parties.jobs.release.question import Part, Question
from parties.jobs.release.settings import default_delta
from parties.jobs.settings import check_names, public_parameters
from parties.tables.schema import Schema
from parties.tables.types import NumberType, type_of
from protocols.arrays import Floats, Numbers
from protocols.shares import Following
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows as Source
    from protocols.release.likelihoods import Likelihood, Rows
    from protocols.release.scoring import Estimate, Scoring
    from smc.engines import Engine

SHARE = 0.05  # of rows with a value, in warnings
MOST_SIGMA = 1 << 20  # of sums in units: coarser ones would add to the noise


class Effects(Release):
    """A regression whose coefficients both parties learn, with standard errors and intervals that include the noise."""

    Settings: ClassVar[type[EffectsSettings]] = EffectsSettings
    draws = staticmethod(result.draw_svg)
    settings: Any
    streamed = True
    best: ClassVar[str] = "an event in each"  # rows with the least noise, part of a sentence
    counted = "rows"  # field of the number of rows, or of the sum of exposures
    ratio: ClassVar[str]  # name of e^coefficient
    outcome_columns: ClassVar[tuple[str, ...]]  # settings that name the columns of the outcome

    # What a regression defines.

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """Likelihood of the rows, from public numbers."""

    @abstractmethod
    def outcomes(self, codes: dict[str, Numbers]) -> tuple[Floats, Floats]:
        """Return outcomes of rows, and their exposure or bin; nan if missing.

        Args:
            codes: Indices of each column's selected values.
        """

    @property
    @abstractmethod
    def learnt(self) -> str:
        """Description of the model, part of a sentence."""

    def predicts(self) -> Document:
        """Return the classes, or the bounds of the number, of the result as a model; empty if it is none."""
        return {}

    def model_columns(self, coefficients: Floats) -> Document:
        """Return the columns of the result as a model, by the coordinates' coefficients."""
        domains = {name: self.where.values(name, self.schema) for name in self.settings.columns}
        return self.design.terms(domains, coefficients)

    # Making a task.

    @classmethod
    def outcome(cls, settings: Any) -> list[str]:
        """Return the columns of the outcome. Raise InputError if one is missing."""
        needed = {parameter.key for parameter in public_parameters(cls.Settings) if parameter.is_needed}
        named = {key: getattr(settings, key) for key in cls.outcome_columns}
        return [required(name, f"{cls.name}.{key}") for key, name in named.items() if name or key in needed]

    @classmethod
    def numbers_of(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns of the outcome that are read as numbers."""
        return ()

    @classmethod
    @override
    def numbered(cls, settings: Any) -> tuple[str, ...]:
        return (*cls.numbers_of(settings), *(settings.numeric or ()))

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Return the task with columns in the schema's order, and the numeric ones by the schema's types."""
        outcome, columns = cls.outcome(settings), required(settings.columns, f"{cls.name}.columns")
        check_names("columns", columns, schema.attributes)
        for name in outcome:
            if name in columns:
                raise InputError(f"columns: {name!r} is the outcome; name other columns")
        ordered = tuple(name for name in schema.attributes if name in columns)
        numeric = settings.numeric
        if numeric is None:
            numeric = tuple(n for n in ordered if isinstance(type_of(schema.attributes[n]), NumberType))
        for name in numeric:
            if name not in columns:
                raise InputError(f"numeric: {name!r} is not one of the columns; name it in columns too")
        numeric = tuple(name for name in ordered if name in numeric) or None
        delta = settings.delta or (None if settings.exact else default_delta(settings.max_rows))
        update = {"columns": ordered, "numeric": numeric, "delta": delta}
        return super().canonical(settings.model_copy(update=update), schema)

    @override
    def ask(self) -> Question:
        self.design.check()
        self.outcomes({name: np.zeros(0, dtype=np.int64) for name in self.outcome(self.settings)})  # refuses here
        settings, scoring, (noise, _) = self.settings, self.scoring, self._mechanism
        words = f"the effects of {', '.join(settings.columns)} on {self.learnt}, of rows of both tables"
        part = Part(settings.steps * scoring.numbers, scoring.bound(settings.max_rows), True, noise)
        part.check()
        return Question(
            f"{words}{self.where.words()}: in each of {settings.steps} steps {scoring.numbers:,} sums over rows, from "
            "which they follow",
            scoring.numbers,
            self.own_scores,
            lambda engine, data: self.run(engine, data, None, lambda step: None),
            self.shown,
            () if noise is None else (noise,),
            "exact number" if noise is None else "number with noise",
            target=self.outcome(settings)[0],
            program=lambda engine: self.run(engine, OwnScores(scoring, lambda: iter(())), None, lambda step: None),
            parts=(part,),
            bits=part.bits,
        )

    @cached_property
    def design(self) -> Design:
        """The coordinates that the columns give to each row's vector."""
        numeric = self.settings.numeric or ()
        return Design(
            tuple(column(name, self.where.values(name, self.schema), name in numeric) for name in self.settings.columns)
        )

    @cached_property
    def _mechanism(self) -> tuple[Noise | None, Scoring]:
        """Noise of a number of a step, with the loss of all steps, and the protocol's public settings.

        Sums are as coarse as the noise allows: then a sample costs less.
        """
        from protocols.release.scoring import COARSE, Scoring, rounding

        if self.exact:
            return None, Scoring(self.likelihood, rounding(2 * self.settings.max_rows))
        settings, epsilon, delta = self.settings, self.epsilon, exact(self.settings.delta)
        for fraction in range(COARSE, -1, -1):
            squared = Scoring(self.likelihood, fraction=fraction).squared(settings.together, self.replaced)
            noise = gauss_of_uses(epsilon, delta, settings.steps, squared, settings.adjacency)
            if noise.scale <= MOST_SIGMA:
                break
        return noise, Scoring(self.likelihood, float(noise.scale), fraction)

    @property
    def scoring(self) -> Scoring:
        """Public parameters of Newton's steps."""
        return self._mechanism[1]

    @property
    @override
    def warnings(self) -> list[str]:
        """Size of the noise in the best case, and the rarest value with an estimate."""
        if self.exact:
            return []
        rows, scoring, steps = 2 * self.settings.max_rows, self.scoring, self.settings.steps
        weight = rows * self.likelihood.typical
        part = scoring.least(steps) / weight
        case = f"in {rows:,} rows (both tables' max_rows) with {self.best}"
        hint = "join or drop rare values (--columns, or the schema)"
        if part >= SHARE * (1 - SHARE):
            needed = f"about epsilon {self.enough(weight):.2g} would do for these"
            return [f"noise: {case}, values in {SHARE:.0%} of rows have no estimate: {needed}, or {hint}"]
        error, rarest = scoring.noise_error(weight * SHARE * (1 - SHARE), steps), (1 - math.sqrt(1 - 4 * part)) / 2
        return [
            f"noise: {case}, a value in {SHARE:.0%} of rows has a standard error of at least {error:.2g} by noise "
            f"alone, and values in less than {100 * rarest:.2g}% of rows have no estimate: {hint}"
        ]

    def enough(self, weight: float) -> float:
        """Return the approximate epsilon at which the effect of a value can be estimated.

        The value has a usual share of the rows.

        Args:
            weight: Information of the intercepts, from all rows.
        """
        root, epsilon = math.sqrt(-math.log(self.settings.delta)), float(self.epsilon)
        times = self.scoring.least(self.settings.steps) / (weight * SHARE * (1 - SHARE))
        rho = (math.sqrt(root**2 + epsilon) - root) * times  # its square root, as sigma is in proportion to 1 / rho
        return rho**2 + 2 * rho * root

    # Disclosure, cost and run.

    @property
    @override
    def exact_effect(self) -> str:
        return (
            "each party subtracts its own sums and learns the other's, the scores and the information of all its rows "
            "at each step's coefficients; from several steps follows how many of these rows have each combination of "
            "the columns' values, unless there are many"
        )

    @property
    @override
    def disclosure(self) -> Disclosure:
        whole, what, bits = super().disclosure, self.query.opens, self.query.bits or 0

        def opened(state: State, step: int | None = None) -> dict[str, int]:
            return {what: sum(map(len, state if step is None else state[step : step + 1]))}

        return replace(whole, opened=opened, bits=Bits(lambda step: bits // self.settings.steps, bits, bits))

    @property
    @override
    def passes(self) -> int:
        return int(self.settings.steps)

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        numbers = (self.scoring.numbers,) * self.settings.steps
        return replace(super().cost(inputs, extra), asked=lambda: numbers)

    def own_scores(self, source: Source) -> OwnScores:
        """Return this party's sums, step by step."""
        return OwnScores(self.scoring, lambda: self._pieces(source))

    def _pieces(self, source: Source) -> Iterator[Rows]:
        from protocols.release.likelihoods import Rows

        columns = [*self.settings.columns, *self.outcome(self.settings)]
        for codes, counts in reading.pieces(source, self.schema, self.target, self.where, columns):
            x, (y, time) = self.design.coordinates(codes), self.outcomes(codes)
            whole = ~(np.isnan(x).any(axis=1) | np.isnan(y) | np.isnan(time))
            yield Rows(x[whole], y[whole], counts[whole], time[whole])

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the steps, and return the opened sums; `data` is the result of `own_scores`."""
        (part,), steps = self.query.parts, self.settings.steps
        opened = tuple(start or ())
        while len(opened) < steps:
            on_step(Step(len(opened), self.scoring.numbers, opened, f"step {len(opened) + 1} of {steps}"))
            opened = (*opened, tuple(part.opened(engine, data.sums([*opened]))))
        return opened

    @property
    @override
    def states(self) -> States:
        return opened_steps(lambda state: len(state) == self.settings.steps)

    # Result.

    def shown(self, state: Sequence[Sequence[int]]) -> Document:
        """Return the effects with their intervals, and a Wald test of all of them."""
        found, bins = self.scoring.estimate([tuple(step) for step in state]), self.likelihood.bins
        fields = {key: getattr(self.settings, key) for key in self.outcome_columns}
        about: Document = {**{key: name for key, name in fields.items() if name is not None}, "ratio": self.ratio}
        about |= self.split_fields
        about |= {"outcome": self.learnt, "steps": self.settings.steps, **self.details(found)}
        for key, (number, deviation) in {self.counted: found.rows, "events": found.events}.items():
            about |= {key: max(0, round(number))}
            about |= {} if self.exact else {f"{key}_within": math.ceil(WIDE * deviation)}
        if found.covariance is None:
            return {**about, **self._too_noisy(found)}
        effects = result.effects(self.design, found.theta, found.covariance, bins)
        if predicts := self.predicts():
            columns = {
                "intercept": round(float(found.theta[0]), DIGITS),
                "columns": self.model_columns(found.theta[1:]),
            }
            effects["model"] = {"target": self.settings.target, **predicts, **columns}
        return {**about, **effects, "settled": found.is_settled}

    def _too_noisy(self, found: Estimate) -> Document:
        """Return the fields of a result without estimates: the reason, from opened and public numbers."""
        from protocols.release.likelihoods import ENOUGH

        labels = self.design.labels
        drowned = [labels[at] for at in found.drowned]
        if self.exact:
            return result.too_noisy(labels, drowned)
        seen = found.weight > ENOUGH * self.scoring.noise[1]
        enough = self.enough(found.weight if seen else 2 * self.settings.max_rows * self.likelihood.typical)
        return result.too_noisy(labels, drowned, enough, "this table" if seen else f"a table with {self.best}")

    def details(self, found: Estimate) -> Document:
        """Return the fields of a result that only this kind has."""
        return {}

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        return result.lines(document)

    @classmethod
    @override
    def table(cls, document: Document) -> str:
        return result.table(document)


class OwnScores(Following):
    """Own rounded sums of scores and information at the parameters after some steps; zeros without rows."""

    def __init__(self, scoring: Scoring, pieces: Callable[[], Iterator[Rows]]) -> None:
        super().__init__()
        self._scoring, self._pieces = scoring, pieces

    @override
    def begin(self) -> None:
        from protocols.release.scoring import Walk

        self._walk = Walk(self._scoring)

    @override
    def take(self, step: tuple[int, ...]) -> None:
        if len(step) != self._scoring.numbers:
            raise ValueError("the opened values are not those of a step")
        self._walk.take(step)

    @override
    def own(self) -> Numbers:
        return self._scoring.sums(self._pieces(), self._walk.point)

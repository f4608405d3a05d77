"""Base class of questions on rows: settings, privacy loss, disclosure and execution.

A question concerns the rows of both parties that meet a predicate, grouped by some columns. Each party counts its own
rows once; the parties open a list of integers, the state. A kind defines its question by one method, `ask`. Disclosure,
charge, forecast and run all follow from the `Question` that it returns, once for each task.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.jobs.kind import (
    EXACT,
    Bits,
    Counted,
    Disclosure,
    Document,
    Drawing,
    File,
    Inputs,
    KindSettings,
    OnStep,
    State,
    Step,
    exact,
    hidden,
    svg_file,
)
from parties.jobs.release import presenting, reading
from parties.jobs.release.drawing import draw_svg
from parties.jobs.release.noise import Noise, gauss, laplace, noisy_max
from parties.jobs.release.predicates import Predicate, canonical_text, parse
from parties.jobs.release.question import Question
from parties.jobs.release.reading import Cells
from parties.jobs.release.settings import DrawnSettings, ReleaseSettings, check_columns, check_privacy, names_in
from parties.jobs.settings import public_parameters
from parties.jobs.spending import Noised
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.counting import CountingEngine
    from smc.engines import Engine

MADE_UP = (  # for consent on answers without noise, if columns lie apart
    "Each party knows its own columns of these people. By columns that it makes up, it can learn a value of one person "
    "from the answer."
)
COUNTABLE = 1 << 14  # numbers of a question whose cost is counted in a few seconds


class Release(Noised, BySchema):
    """A question about rows whose answer has noise, unless it is exact or a decision."""

    Settings: ClassVar[type[KindSettings]] = ReleaseSettings
    draws: ClassVar[Drawing] = staticmethod(draw_svg)  # draws the answer, with `DrawnSettings`
    runs_alone = True
    takes_holders = True
    unread = ""
    counts_several: ClassVar[bool] = False  # whether several predicates are allowed

    @override
    def __init__(self, settings: KindSettings, schema: Schema) -> None:
        super().__init__(settings, schema)
        self.predicates = parse(self.settings.where or "", schema)

    # Creation of a task.

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        predicates = parse(settings.where or "", schema)
        if len(predicates) > 1 and not cls.counts_several:
            raise InputError("where: give one predicate; only release count takes several")
        check_privacy(settings)
        schema = schema.numeric(cls.numbered(settings))
        check_columns(settings, schema)
        columns = cls.asked_columns(settings, schema)
        read = [column for predicate in predicates for column in predicate.columns]
        text = canonical_text(predicates)
        task = cls(settings.model_copy(update={"where": text}), reading.used(schema, [*columns, *read]))
        _ = task.query  # refuse an invalid or too large question here
        if task.apart is not None:
            task.check_apart()
        return task

    @override
    def notes(self, settings: Any, source: Any) -> list[str]:
        exact = [f"exact, without noise: {self.exact_effect}"] if self.exact else []
        return [*(exact or super().notes(settings, source)), *self.warnings]

    @override
    def remarks(self, inputs: Inputs) -> list[str]:
        return self.warnings

    @classmethod
    def named(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns in the settings, without those of predicates. Raise InputError if a required one is
        missing."""
        columns: list[str] = []
        for parameter in public_parameters(cls.Settings):
            if parameter.column:
                setting = getattr(settings, parameter.key)
                columns += names_in(
                    required(setting, f"{cls.name}.{parameter.key}") if parameter.is_needed else setting
                )
        return tuple(columns)

    @classmethod
    def asked_columns(cls, settings: Any, schema: Schema) -> tuple[str, ...]:
        """Return the columns that the job reads: those of its settings and those in expressions.

        Args:
            settings: The settings.
            schema: The agreed schema, which names the columns in expressions.
        """
        return cls.named(settings)

    @classmethod
    def numbered(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns whose values are read as numbers."""
        return (*names_in(getattr(settings, "column", None)), *names_in(getattr(settings, "numeric", None)))

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return self.numbered(self.settings)

    @abstractmethod
    def ask(self) -> Question:
        """Return the question of these settings and schema. Raise InputError if it is invalid or too large."""

    @cached_property
    def query(self) -> Question:
        """Cached question of this task."""
        return self.ask()

    # Building blocks of `ask`.

    @property
    def where(self) -> Predicate:
        """The predicate that selects the rows, for a question with one predicate."""
        return self.predicates[0]

    def cells(self, *columns: str) -> Cells:
        """Return the selected rows, grouped by the values of these columns. Raise InputError if there are too many
        cells."""
        cells = Cells(self.schema, self.where, columns)
        cells.check()
        return cells

    def summed(self, *columns: str) -> Cells:
        """Return the selected rows in groups; the last column is summed and may have any number of values."""
        cells = Cells(self.schema, self.where, columns)
        cells.check_groups()
        return cells

    def check_joint_table(self) -> None:
        """Raise InputError if columns lie apart, and all columns of the question have too many combinations."""
        if self.apart is not None:
            self.cells(*self.columns)

    def noise(self, change: int, share: Fraction = Fraction(1)) -> Noise | None:
        """Return noise for integers, or None if the answer is exact.

        With a delta the noise is Gaussian, and one row changes `change` integers by 1 each.

        Args:
            change: Largest change of all integers together by one row.
            share: Part of epsilon that this noise spends.
        """
        if self.exact:
            return None
        epsilon, delta = self.epsilon * share, getattr(self.settings, "delta", None)
        if delta:
            return gauss(epsilon, exact(delta), change, self.settings.adjacency, self.settings.together)
        return laplace(epsilon, change, self.settings.adjacency, self.settings.together)

    def noisy_max(self, change: int) -> Noise | None:
        """Return noise for monotone scores; None if the answer is exact. `change` is a row's largest effect on each
        score."""
        if self.exact:
            return None
        return noisy_max(self.epsilon, change, self.settings.adjacency, self.settings.together)

    # Description and disclosure.

    @property
    @override
    def target(self) -> str:
        return self.query.target or super().target

    @property
    def exact(self) -> bool:
        """True if numbers are opened without noise."""
        return bool(getattr(self.settings, "exact", False))

    @property
    def exact_effect(self) -> str:
        """The effect of a number without noise, as the end of a sentence."""
        return EXACT

    @property
    @override
    def disclosure(self) -> Disclosure:
        query, effect = self.query, self.exact_effect if self.exact else ""
        if query.bits is None and not query.mechanisms:
            raise NotImplementedError(f"{self.name} opens exact answers of rows: its bits are missing")
        how = f", exactly: {effect}" if self.exact else ""
        if query.mechanisms:
            how = f", with noise that neither knows: {self.promise()}"
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn {query.learnt}{how}.",
                *self.rounded,
                *self.nothing_else(peer),
                *([MADE_UP] if self.apart is not None and not query.mechanisms else []),
            ],
            lambda state, step=None: {query.opens: 0 if state is None else len(state)},
            Bits.once(query.bits or 0),
            tuple(mechanism.loss for mechanism in query.mechanisms),
            exact=effect,
            question=query.learnt,
            subject=query.target if query.subject is None else query.subject,
        )

    @property
    def guarantee(self) -> tuple[float, float]:
        """Epsilon and delta of all mechanisms together."""
        mechanisms = self.query.mechanisms
        return float(sum(noise.epsilon for noise in mechanisms)), float(sum(noise.delta for noise in mechanisms))

    def promise(self) -> str:
        """Return the promise to one row or person, as part of a sentence."""
        epsilon, delta = self.guarantee
        but = f", but for events of probability {delta:g}" if delta else ""
        factor = f"e^{epsilon:g} = {math.exp(epsilon):.3g}"
        subject = hidden(self.at_most, self.replaced)
        return f"{subject} changes the chance of any answer by a factor of at most {factor}{but}"

    # Cost.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        numbers = self.query.numbers

        def program(engine: CountingEngine) -> object:
            own = self.sent_counts(engine)
            if self.query.program is not None:
                return self.query.program(engine)
            return self.query.open(engine, np.zeros(numbers, dtype=np.int64) if own is None else own)

        return Counted(
            program,
            is_countable=max(numbers, sum(part.numbers for part in self.query.parts)) <= COUNTABLE,
            asked=lambda: (numbers,),
        )

    # Execution.

    @override
    def own_rows(self, source: Rows) -> Any:
        return self.query.count(source)

    @override
    def fingerprint(self, source: Any, data: Any) -> Callable[[bytes], bytes]:
        digest = super().fingerprint(source, data)
        # numbers may come from several passes over the rows; another object is queried round by round
        return reading.fingerprint(digest, data) if isinstance(data, np.ndarray) else digest

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Open the answer, and return the opened values; `data` are this party's numbers."""
        on_step(Step(0, self.query.numbers, start, "adding noise" if self.query.mechanisms else "counting"))
        return self.query.open(engine, data)

    # Results.

    @override
    def document(self, state: State) -> Document:
        fields: Document = {"question": self.name.removeprefix("release ")}
        if self.settings.where is not None:
            fields["where"] = self.settings.where
        if self.exact:
            fields["exact"] = True
        elif self.query.mechanisms:
            epsilon, delta = self.guarantee
            fields |= {"epsilon": epsilon, **({"delta": delta} if delta else {})}
            fields |= {"adjacency": self.settings.adjacency, **self.query.noise}
        if self.at_most is not None:
            fields["at_most"] = self.at_most
        if self.rounded:
            fields["rounded"] = self.rounded
        return {**fields, **self.query.show(state)}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return presenting.text(cls.lines(document), document)

    @classmethod
    def lines(cls, document: Document) -> list[str]:
        """Return the lines of text for the answer, without the lines on its noise."""
        return presenting.lines(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        if not issubclass(cls.Settings, DrawnSettings):
            return super().files()
        drawn = svg_file(cls.about.noun, cls.draws)
        return (*super().files(), drawn, File(f"{cls.about.noun}.csv", "text/csv", cls.table, "csv"))

    @classmethod
    def table(cls, document: Document) -> str:
        """Return the numbers of a result as CSV."""
        return presenting.numbers_as_csv(document)

"""What every question about rows has in common: how it comes about, what it spends and reveals, how it is run.

A question is about rows of both parties that meet a predicate, told apart by some columns. Each party counts its own
rows, once; what both open is a list of integers, the state. A kind says what is asked by one function, `ask`; all that
is told, charged, foreseen and run is read off the `Question` that it returns, once for a task.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
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
    File,
    Inputs,
    KindSettings,
    OnStep,
    Opened,
    State,
    Step,
)
from parties.jobs.release import presenting, reading
from parties.jobs.release.noise import Noise, gauss, laplace, noisy_max
from parties.jobs.release.predicates import Predicate, canonical_text, parse
from parties.jobs.release.question import Question
from parties.jobs.release.reading import Cells
from parties.jobs.release.settings import ReleaseSettings, check_columns, check_privacy, names_in
from parties.jobs.sentences import hidden, nothing_else_of_rows
from parties.jobs.settings import public_parameters
from parties.jobs.spending import EXACT, KEPT_BY_NODES, exact
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.engines import Engine

COUNTABLE = 1 << 14  # numbers of a question whose cost is counted in a few seconds


class Release(BySchema):
    """A question about rows whose answer has noise, unless it is exact or a decision."""

    Settings: ClassVar[type[KindSettings]] = ReleaseSettings
    draws: ClassVar[bool] = False  # whether the answer is a picture, too
    counts_several: ClassVar[bool] = False  # whether there may be several predicates

    @override
    def __init__(self, settings: KindSettings, schema: Schema) -> None:
        super().__init__(settings, schema)
        self.predicates = parse(self.settings.where or "", schema)

    # How a task comes about.

    @classmethod
    def canonical(cls, settings: Any, schema: Schema) -> Self:
        """Return the task of these settings, by a schema with more columns perhaps. `InputError` names what is
        wrong."""
        predicates = parse(settings.where or "", schema)
        if len(predicates) > 1 and not cls.counts_several:
            raise InputError("where: one predicate only; several at once are for release count")
        check_privacy(settings)
        schema = schema.numeric(cls.numbered(settings))
        check_columns(settings, schema)
        columns = cls.asked_columns(settings, schema)
        read = [column for predicate in predicates for column in predicate.columns]
        text = canonical_text(predicates)
        task = cls(settings.model_copy(update={"where": text}), reading.used(schema, [*columns, *read]))
        _ = task.query  # refused here if it makes no sense, or is too large
        return task

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[Self, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        task = cls.planned(settings)
        counts, _ = task.rows_in_file(task.schema, task.target)
        noisy = [KEPT_BY_NODES] if task.disclosure.spends else []
        remarks = [f"exact, without noise: {task.exact_effect}"] if task.exact else noisy
        return task, task.own_rows(counts), [*remarks, *task.warnings]

    @property
    def warnings(self) -> list[str]:
        """Why the answer may be of little use, by public numbers alone; a line each."""
        return []

    @override
    def remarks(self, inputs: Inputs) -> list[str]:
        return self.warnings

    @classmethod
    def named(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns that the settings name, besides those of the predicates. `InputError` if one is
        missing."""
        columns: list[str] = []
        for parameter in public_parameters(cls.Settings):
            if parameter.column:
                value = getattr(settings, parameter.key)
                columns += names_in(required(value, f"{cls.name}.{parameter.key}") if parameter.is_needed else value)
        return tuple(columns)

    @classmethod
    def asked_columns(cls, settings: Any, schema: Schema) -> tuple[str, ...]:
        """Return the same, and those of expressions, which only the schema tells."""
        return cls.named(settings)

    @classmethod
    def numbered(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns of which numbers are asked."""
        return (*names_in(getattr(settings, "column", None)), *names_in(getattr(settings, "numeric", None)))

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return self.numbered(self.settings)

    @abstractmethod
    def ask(self) -> Question:
        """Return the question of these settings and schema. `InputError` if it makes no sense, or is too large."""

    @cached_property
    def query(self) -> Question:
        """The question."""
        return self.ask()

    # What `ask` is made of.

    @property
    def where(self) -> Predicate:
        """The predicate, of a question that has one."""
        return self.predicates[0]

    def cells(self, *columns: str) -> Cells:
        """Return the rows that are meant, told apart by these columns. `InputError` if there are too many cells."""
        cells = Cells(self.schema, self.where, columns)
        cells.check()
        return cells

    def summed(self, *columns: str) -> Cells:
        """Return the rows that are meant, in groups: values of the last column are summed, however many there are."""
        cells = Cells(self.schema, self.where, columns)
        cells.check_groups()
        return cells

    @property
    def epsilon(self) -> Fraction:
        """Epsilon as it was written."""
        return exact(self.settings.epsilon)

    @property
    def replaced(self) -> bool:
        """True if neighbours differ by a row replaced, not by one more or less."""
        return bool(self.settings.adjacency == "replace")

    def noise(self, change: int, share: Fraction = Fraction(1)) -> Noise | None:
        """Return noise, by this share of epsilon, on integers of which one row changes all together by so much.

        None if the answer is exact. With a delta it is Gaussian, and one row changes so many integers by 1 each.
        """
        if self.exact:
            return None
        epsilon, delta = self.epsilon * share, getattr(self.settings, "delta", None)
        if delta:
            return gauss(epsilon, exact(delta), change, self.settings.adjacency, self.settings.together)
        return laplace(epsilon, change, self.settings.adjacency, self.settings.together)

    def noisy_max(self, change: int) -> Noise | None:
        """Return noise on monotone scores that one row changes by so much each; None if the answer is exact."""
        if self.exact:
            return None
        return noisy_max(self.epsilon, change, self.settings.adjacency, self.settings.together)

    # What is said of it.

    @property
    @override
    def subject(self) -> str:
        return self.query.subject

    @property
    @override
    def target(self) -> str:
        return self.query.target or super().target

    @property
    @override
    def question(self) -> str:
        return self.query.learnt

    @property
    def exact(self) -> bool:
        """True if numbers are opened without noise."""
        return bool(getattr(self.settings, "exact", False))

    @property
    def exact_effect(self) -> str:
        """The effect of a number without noise, the end of a sentence."""
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
                *nothing_else_of_rows(peer, self.settings.max_rows),
            ],
            lambda state, step=None: {query.opens: 0 if state is None else len(state)},
            Bits.once(query.bits or 0),
            tuple(mechanism.loss for mechanism in query.mechanisms),
            exact=effect,
        )

    @property
    def guarantee(self) -> tuple[float, float]:
        """Epsilon and delta of all mechanisms together."""
        mechanisms = self.query.mechanisms
        return float(sum(noise.epsilon for noise in mechanisms)), float(sum(noise.delta for noise in mechanisms))

    def promise(self) -> str:
        """Return what is promised of one row, or one person, part of a sentence."""
        epsilon, delta = self.guarantee
        but = f", but for events of probability {delta:g}" if delta else ""
        factor = f"e^{epsilon:g} = {math.exp(epsilon):.3g}"
        what = hidden(self.at_most, self.replaced)
        return f"{what} changes the chance of any answer by a factor of at most {factor}{but}"

    # What it costs.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        numbers = self.query.numbers
        return Counted(
            self.query.program or (lambda engine: self.query.open(engine, np.zeros(numbers, dtype=np.int64))),
            is_countable=max(numbers, sum(part.numbers for part in self.query.parts)) <= COUNTABLE,
        )

    # How it is run.

    @override
    def own_rows(self, source: Rows) -> Any:
        return self.query.count(source)

    @override
    def of_nobody(self) -> Any:
        """See `Kind.of_nobody`: the rows of an empty table."""
        from protocols.counts import RowCounts

        sizes = {name: len(values) for name, values in self.schema.attributes.items()}
        domains = [sizes[name] for name in self.schema.features(self.target)]
        nothing = np.zeros((0, len(domains)), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return self.own_rows(RowCounts(domains, sizes[self.target], *nothing))

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """See `Kind.open`: the rows are counted here, once; a session that goes on has the same numbers."""
        with inputs.counts(self.target, self.columns, self.schema, self.streamed) as source:
            numbers = self.own_rows(source)
            digest = source.fingerprint_of_rows if self.streamed else source.fingerprint
            if not isinstance(numbers, np.ndarray):  # what is asked of the rows round by round
                yield Opened(numbers, digest)
                return
            yield Opened(numbers, reading.fingerprint(digest, numbers))  # of two passes, perhaps

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`; `data` are this party's numbers."""
        on_step(Step(0, self.query.numbers, start, "adding noise" if self.query.mechanisms else "counting"))
        return self.query.open(engine, data)

    # What it brings.

    @override
    def document(self, state: State) -> Document:
        about: Document = {"question": self.name.removeprefix("release ")}
        if self.settings.where is not None:
            about["where"] = self.settings.where
        if self.exact:
            about["exact"] = True
        elif self.query.mechanisms:
            epsilon, delta = self.guarantee
            about |= {"epsilon": epsilon, **({"delta": delta} if delta else {})}
            about |= {"adjacency": self.settings.adjacency, **self.query.noise}
        if self.at_most is not None:
            about["at_most"] = self.at_most
        return {**about, **self.query.show(state)}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return presenting.text(document)

    @classmethod
    @override
    def picture(cls, document: Document) -> str | None:
        """See `Kind.picture`: numbers with their intervals."""
        if not cls.draws:
            return None
        from parties.jobs.release.drawing import draw_svg  # matplotlib takes its time to load

        return draw_svg(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        if not cls.draws:
            return super().files()
        drawn = File(
            f"{cls.about.noun}.svg", "image/svg+xml", lambda result: cls.picture(result) or "", "svg", ("matplotlib",)
        )
        return (*super().files(), drawn, File(f"{cls.about.noun}.csv", "text/csv", cls.table, "csv"))

    @classmethod
    def table(cls, document: Document) -> str:
        """Return the numbers of a result as CSV."""
        return presenting.numbers_as_csv(document)

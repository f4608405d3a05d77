"""What every question with a noisy answer has: how it comes about, what it spends and reveals.

A question is about rows of both parties that meet a predicate, told apart by some columns. Each party counts its own
rows, once; what both open is a list of integers, the state. All that follows from these is the same for both.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.kind import Document, File, Inputs, KindSettings, OnStep, Opened, State, Step
from parties.jobs.release import presenting, reading
from parties.jobs.release.loss import BoundedLoss
from parties.jobs.release.predicates import Predicate, canonical_text, parse
from parties.jobs.release.settings import ReleaseSettings, check_columns, check_privacy
from parties.jobs.sentences import nothing_else_of_rows
from parties.jobs.spending import EXACT, KEPT_BY_NODES
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.counting import Program
    from smc.engines import Engine

Own = TypeVar("Own", bound="Release")
Numbers = NDArray[np.int64]
COUNTABLE = 1 << 14  # numbers of a question whose cost is counted in a few seconds


class Release(BoundedLoss, BySchema):
    """A question with a noisy answer."""

    Settings = ReleaseSettings
    settings: ReleaseSettings
    draws: ClassVar[bool] = False  # whether the answer is a picture, too
    counts_several: ClassVar[bool] = False  # whether there may be several predicates

    @override
    def __init__(self, settings: ReleaseSettings, schema: Schema) -> None:
        super().__init__(settings, schema)
        self.predicates = parse(settings.where or "", schema)

    # How a task comes about.

    @classmethod
    def canonical(cls: type[Own], settings: Any, schema: Schema) -> Own:
        """Return the task of these settings, by a schema with more columns perhaps. `InputError` names what is
        wrong."""
        predicates = parse(settings.where or "", schema)
        if len(predicates) > 1 and not cls.counts_several:
            raise InputError("where: one predicate only; several at once are for release count")
        check_privacy(settings)
        columns = cls.named(settings)
        check_columns(settings, schema)
        read = [column for predicate in predicates for column in predicate.columns]
        text = canonical_text(predicates)
        task = cls(settings.model_copy(update={"where": text}), reading.used(schema, [*columns, *read]))
        task.check()
        return task

    @classmethod
    @override
    def alone(cls: type[Own], settings: KindSettings, party: int) -> tuple[Own, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        task = cls.planned(settings)
        counts, _ = task.rows_in_file(task.schema, task.target)
        remark = KEPT_BY_NODES
        if task.exact:
            remark = f"exact, without noise: {EXACT}"
        return task, task.own_numbers(counts), [remark]

    @classmethod
    @abstractmethod
    def named(cls, settings: Any) -> tuple[str, ...]:
        """Return the columns that the settings name, besides those of the predicates. `InputError` if one is
        missing."""

    @abstractmethod
    def check(self) -> None:
        """`InputError` if the task makes no sense, or is too large."""

    # What is said of it.

    @property
    def where(self) -> Predicate:
        """The predicate, of a question that has one."""
        return self.predicates[0]

    @property
    @override
    def exact(self) -> bool:
        return self.settings.exact

    @override
    def reveals(self, peer: str) -> list[str]:
        if self.exact:
            told = f"We and {peer} both learn {self.learnt}, exactly: {EXACT}."
        else:
            told = f"We and {peer} both learn {self.learnt}, with noise that neither knows: {self.promise()}."
        return [told, *nothing_else_of_rows(peer, self.settings.max_rows)]

    @property
    @abstractmethod
    def learnt(self) -> str:
        """What both learn, a phrase."""

    @property
    @override
    def question(self) -> str:
        return self.learnt

    @property
    def allowed(self) -> float | None:
        """The delta of the promise; None if there is none."""
        found: float | None = getattr(self.settings, "delta", None)  # of some questions only
        return found

    def promise(self) -> str:
        """Return what is promised of one row, part of a sentence."""
        one = "what one row says" if self.replaced else "whether one row is there"
        factor = math.exp(self.settings.epsilon or 0)
        but = "" if self.allowed is None else f", but for events of probability {self.allowed:g}"
        return (
            f"{one} changes the chance of any answer by a factor of at most "
            f"e^{self.settings.epsilon:g} = {factor:.3g}{but}"
        )

    # What it costs.

    @property
    @abstractmethod
    def own_count(self) -> int:
        """How many numbers each party brings."""

    @property
    @override
    def is_countable(self) -> bool:
        return self.own_count <= COUNTABLE

    @override
    def program(self, inputs: Inputs) -> Program:
        own = np.zeros(self.own_count, dtype=np.int64)
        return lambda engine: self.answer(engine, own)

    # How it is run.

    @abstractmethod
    def own_numbers(self, counts: Counts) -> Numbers:
        """Return this party's numbers, int64[own_count], from its counts."""

    @abstractmethod
    def answer(self, engine: Engine, own: Numbers) -> list[int]:
        """Return the protocol: what is opened."""

    @override
    def own_rows(self, source: Counts) -> Numbers:
        return self.own_numbers(source)

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """See `Kind.open`: the rows are counted here, once; a session that goes on has the same numbers."""
        with inputs.counts(self.target, self.columns) as source:
            own = self.own_numbers(source)
            yield Opened(own, reading.fingerprint(source.fingerprint, own))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`; `data` are this party's numbers."""
        on_step(Step(0, self.own_count, start, "counting" if self.exact else "adding noise"))
        return self.answer(engine, data)

    # What it brings.

    @property
    def noise_fields(self) -> Document:
        """What a result says of its noise besides epsilon."""
        return {}

    @override
    def document(self, state: State) -> Document:
        about: Document = {"question": self.name.removeprefix("release-")}
        if self.settings.where is not None:
            about["where"] = self.settings.where
        if self.exact:
            about["exact"] = True
        else:
            delta: Document = {} if self.allowed is None else {"delta": self.allowed}
            adjacency = {"adjacency": self.settings.adjacency}
            about |= {"epsilon": self.settings.epsilon, **delta, **adjacency, **self.noise_fields}
        return {**about, **self.found(state)}

    @abstractmethod
    def found(self, state: Sequence[int]) -> Document:
        """Return the result proper, from what was opened."""

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
        return (
            *super().files(),
            File(f"{cls.noun}.svg", "image/svg+xml", lambda found: cls.picture(found) or "", "svg", ("matplotlib",)),
        )

"""What every question with a noisy answer has: its settings, how it comes about, what it spends and reveals.

A question is about rows of both parties that meet a predicate, told apart by some columns. Each party counts its own
rows, once; what both open is a list of integers, the state. All that follows from these is the same for both.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parties.jobs.kind import Document, File, KindSettings, Means, Opened, State, Step, Told
from parties.jobs.release import presenting, reading
from parties.jobs.release.noise import exact
from parties.jobs.release.predicates import Predicate, canonical_text, parse
from parties.jobs.settings import MAX_ROWS, BooleanEngine, output, own_file, public
from parties.jobs.spending import EXACT, KEPT_BY_NODES, Adjacency
from parties.jobs.tabular import BySchema
from parties.settings import LocalPath
from parties.tables.schema import Schema
from parties.text import instead, listed, quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.counting import Program
    from smc.engines import Engine

Own = TypeVar("Own", bound="Release")
Numbers = NDArray[np.int64]
LEAST_EPSILON, MOST_EPSILON = 2.0**-20, 16.0
COUNTABLE = 1 << 14  # numbers of a question whose cost is counted in a few seconds

Epsilon = Annotated[float, Field(strict=True, ge=LEAST_EPSILON, le=MOST_EPSILON, allow_inf_nan=False)]
Delta = Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Columns = Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]


class NoisySettings(KindSettings):
    """What questions with noise have in common."""

    data: LocalPath | None = own_file("Rows", "Own rows, a CSV or Parquet file; private.", data=True)
    schema_file: LocalPath | None = own_file("Schema", "The agreed schema.", alias="schema")  # `schema` is pydantic's
    where: Annotated[str, Field(max_length=20_000)] | None = public(
        None,
        "Where",
        "Only rows such as 'age in [young, middle] and sex = male'",
        none="all rows",
        joined="; ",
        examples=["age in [young, middle] and sex = male"],
    )
    epsilon: Epsilon | None = public(
        None, "Epsilon", "Privacy loss: one row changes the chance of any answer by a factor of at most e^epsilon"
    )
    adjacency: Adjacency = public(
        "add-remove", "Neighbours", "What is hidden: that a row is there at all, or what one row says (twice the noise)"
    )
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = public(
        MAX_ROWS, "Row bound", "Public bound: no party has more rows than that"
    )
    engine: BooleanEngine = public("yao", "Engine", "How it is computed; auto measures the link and chooses")


class ReleaseSettings(NoisySettings):
    """What `smc release` commands have in common: they may be asked without noise, too."""

    exact: Annotated[bool, Field(strict=True)] = public(
        False, "Exact", "No noise: this tells each party the other's number"
    )


class DrawnSettings(ReleaseSettings):
    """What commands have besides whose answer is drawn."""

    svg: LocalPath | None = output("Draw the numbers with their intervals.")


class Release(BySchema):
    """A question with a noisy answer."""

    Settings = ReleaseSettings
    settings: ReleaseSettings
    draws: ClassVar[bool] = False  # whether the answer is a picture, too
    counts_several: ClassVar[bool] = False  # whether there may be several predicates

    def __init__(self, settings: ReleaseSettings, schema: Schema) -> None:
        """See `BySchema`."""
        super().__init__(settings, schema)
        self.predicates = parse(settings.where or "", schema)

    # How a task comes about.

    @classmethod
    def canonical(cls: type[Own], settings: Any, schema: Schema) -> Own:
        """The task of these settings, by a schema with more columns perhaps. `InputError` names what is wrong."""
        predicates = parse(settings.where or "", schema)
        if len(predicates) > 1 and not cls.counts_several:
            raise InputError("where: one predicate only; several at once are for release count")
        _check_privacy(settings)
        columns = cls.named(settings)
        _check_columns(settings, schema)
        read = [column for predicate in predicates for column in predicate.columns]
        text = canonical_text(predicates)
        task = cls(settings.model_copy(update={"where": text}), reading.used(schema, [*columns, *read]))
        task.check()
        return task

    @classmethod
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
        """The columns that the settings name, besides those of the predicates. `InputError` if one is missing."""

    @abstractmethod
    def check(self) -> None:
        """`InputError` if the task makes no sense, or is too large."""

    # What is said of it.

    @property
    def where(self) -> Predicate:
        """The predicate, of a question that has one."""
        return self.predicates[0]

    @property
    def target(self) -> str:
        """The column by whose values a source counts."""
        return next(iter(self.schema.attributes))

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Kind.columns`."""
        return tuple(self.schema.attributes)

    @property
    def exact(self) -> bool:
        """See `Kind.exact`."""
        return self.settings.exact

    @property
    def epsilon(self) -> Fraction:
        """Epsilon as it was written."""
        assert self.settings.epsilon is not None
        return exact(self.settings.epsilon)

    @property
    def replaced(self) -> bool:
        """Whether neighbours differ by a row replaced."""
        return self.settings.adjacency == "replace"

    def reveals(self, peer: str) -> list[str]:
        """See `Kind.reveals`."""
        if self.exact:
            told = f"We and {peer} both learn {self.learnt}, exactly: {EXACT}."
        else:
            told = f"We and {peer} both learn {self.learnt}, with noise that neither knows: {self.promise()}."
        bound = f"that they are at most {self.settings.max_rows:,}"
        return [
            told,
            f"{peer} learns nothing else of our rows, only {bound}.",
            f"We learn nothing else of {peer}'s rows, only {bound}.",
        ]

    @property
    @abstractmethod
    def learnt(self) -> str:
        """What both learn, a phrase."""

    @property
    def question(self) -> str:
        """See `Kind.question`."""
        return self.learnt

    def promise(self) -> str:
        """What is promised of one row, part of a sentence."""
        one = "what one row says" if self.replaced else "whether one row is there"
        factor = math.exp(self.settings.epsilon or 0)
        return (
            f"{one} changes the chance of any answer by a factor of at most e^{self.settings.epsilon:g} = {factor:.3g}"
        )

    # What it costs.

    @property
    @abstractmethod
    def own_count(self) -> int:
        """How many numbers each party brings."""

    @property
    def is_countable(self) -> bool:
        """See `Kind.is_countable`."""
        return self.own_count <= COUNTABLE

    def program(self, means: Means) -> Program:
        """See `Kind.program`."""
        own = np.zeros(self.own_count, dtype=np.int64)
        return lambda engine: self.answer(engine, own)

    # How it is run.

    @abstractmethod
    def own_numbers(self, counts: Counts) -> Numbers:
        """This party's numbers, int64[own_count], from its counts."""

    @abstractmethod
    def answer(self, engine: Engine, own: Numbers) -> list[int]:
        """The protocol: what is opened."""

    @contextmanager
    def open(self, means: Means) -> Iterator[Opened]:
        """See `Kind.open`: the rows are counted here, once; a session that goes on has the same noise and numbers."""
        with means.counts(self.target, self.columns, self.settings.max_rows) as source:
            own = self.own_numbers(source)
            yield Opened(own, reading.fingerprint(source.fingerprint, own))

    def run(self, engine: Engine, data: Any, start: State, told: Told) -> State:
        """See `Kind.run`; `data` are this party's numbers."""
        told(Step(0, self.own_count, start, "counting" if self.exact else "adding noise"))
        return self.answer(engine, data)

    # What it brings.

    @property
    def noise_fields(self) -> Document:
        """What a result says of its noise besides epsilon."""
        return {}

    def document(self, state: State) -> Document:
        """See `Kind.document`."""
        about: Document = {"question": self.name.removeprefix("release-")}
        if self.settings.where is not None:
            about["where"] = self.settings.where
        if self.exact:
            about["exact"] = True
        else:
            about |= {"epsilon": self.settings.epsilon, "adjacency": self.settings.adjacency, **self.noise_fields}
        return {**about, **self.found(state)}

    @abstractmethod
    def found(self, state: Sequence[int]) -> Document:
        """The result proper, from what was opened."""

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`."""
        return presenting.text(document)

    @classmethod
    def picture(cls, document: Document) -> str | None:
        """See `Kind.picture`: numbers with their intervals."""
        if not cls.draws:
            return None
        from parties.jobs.release.drawing import draw_svg  # matplotlib takes its time to load

        return draw_svg(document)

    @classmethod
    def files(cls) -> tuple[File, ...]:
        """See `Kind.files`."""
        if not cls.draws:
            return super().files()
        return (
            *super().files(),
            File(f"{cls.noun}.svg", "image/svg+xml", lambda found: cls.picture(found) or "", "svg", ("matplotlib",)),
        )


def _check_privacy(settings: NoisySettings) -> None:
    """`InputError` unless the answer is either noisy, by an epsilon, or exact."""
    may_be_exact = isinstance(settings, ReleaseSettings)
    is_exact = isinstance(settings, ReleaseSettings) and settings.exact
    if is_exact and settings.epsilon is not None:
        raise InputError("exact: without noise there is no epsilon: give one or the other")
    if not is_exact and settings.epsilon is None:
        other = ", or exact, for no noise at all" if may_be_exact else ""
        raise InputError(f"epsilon: is missing: give the privacy loss, 1 for example{other}")


def _check_columns(settings: NoisySettings, schema: Schema) -> None:
    """`InputError` for a column that the schema does not have, or that one setting names twice."""
    named = {key: getattr(settings, key, None) or () for key in ("by", "of", "columns", "target")}
    named = {key: (given,) if isinstance(given, str) else given for key, given in named.items()}
    for key, columns in named.items():
        for column in columns:
            if column not in schema.attributes:
                there = instead(column, schema.attributes)
                raise InputError(f"{key}: {quoted(column)} is not an attribute of the schema{there}")
        if len(set(columns)) < len(columns):
            raise InputError(f"{key}: name each column once, not {listed(columns)}")
    if set(named["of"]) & set(named["by"]):
        raise InputError("of: name another column than those of by")

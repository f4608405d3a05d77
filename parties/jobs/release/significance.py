"""Base class of significance tests: a level, and either a one-bit verdict or a p-value of numbers with noise."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import Adjacency, Document
from parties.jobs.release.kind import Release
from parties.jobs.release.missing_values import (
    LEAVE_OUT,
    Missing,
    known_only,
    missing_clause,
    missing_fields,
    missing_in_words,
    missing_values,
    with_gaps,
)
from parties.jobs.release.noise import Noise
from parties.jobs.release.predicates import Predicate
from parties.jobs.release.question import Part, Question, sums
from parties.jobs.release.settings import ApartSettings, DecisionSettings, Epsilon, neighbours
from parties.jobs.settings import AnyField, public

Alternative = Literal["two-sided", "greater", "less"]
Reals = NDArray[np.float64]
SIMULATED = 1999  # simulated tables of the null hypothesis for a p-value


class SignificanceSettings(DecisionSettings, ApartSettings):
    """Settings of every test."""

    level: Annotated[float, Field(strict=True, ge=1e-9, le=0.5)] = public(
        0.05, "Level", "Significance level: probability of a difference reported where there is none"
    )
    epsilon: Epsilon | None = public(
        None,
        "Epsilon",
        "Epsilon, the privacy loss of a row. It opens noisy numbers and their p-value, not only yes or no",
        none="yes or no only",
    )
    missing: Missing = missing_values("in the tested columns")
    adjacency: Adjacency = neighbours()


def alternative(words: str) -> AnyField:
    """Return the field `alternative` of a test; `words` explains its one-sided values in the help."""
    return public("two-sided", "Alternative", f"Alternative: {words}; two-sided: either")


class Significance(Release):
    """A test whether a statistic of both parties' rows exceeds chance. Both parties learn yes or no.

    With epsilon they learn the statistic's counts with noise, and a p-value that accounts for the noise.
    """

    @property
    @override
    def where(self) -> Predicate:
        """Predicate of the tested rows, without missing values in the tested columns if `missing` leaves them out."""
        given = super().where
        return known_only(given, self.schema, self.with_gaps) if self.settings.missing == LEAVE_OUT else given

    @property
    def with_gaps(self) -> tuple[str, ...]:
        """The tested columns that list a missing value in the schema."""
        return with_gaps(self.schema, self.named(self.settings))

    @property
    def rows_in_words(self) -> str:
        """Description of the tested rows, as part of a sentence."""
        return super().where.words() + missing_clause(self.settings.missing, self.with_gaps)

    @property
    def sign(self) -> int:
        """Sign that a difference must have, 0 for any."""
        return {"greater": 1, "less": -1}.get(getattr(self.settings, "alternative", ""), 0)

    @property
    def tail(self) -> float:
        """Two-sided level of the deciding quantile: `level`, or twice `level` if the alternative has a direction."""
        level: float = self.settings.level
        return level if self.sign == 0 else 2 * level

    @override
    def document(self, state: Any) -> Document:
        gaps = missing_fields(self.settings.missing, self.with_gaps)
        return {"test": self.name.removeprefix("test "), **super().document(state), **gaps}

    def answer(self, differ: bool | None, **more: Any) -> dict[str, Any]:
        """Return a verdict as a JSON object: whether the groups differ, the level, and the alternative.

        Args:
            differ: The verdict; None if the noise is too large for one.
            more: Further fields of the result.
        """
        kind = {"alternative": self.settings.alternative} if hasattr(self.settings, "alternative") else {}
        return {"differ": differ, "level": self.settings.level, **kind, **more}

    def decided(
        self, learnt: str, numbers: int, count: Callable[[Any], Any], decide: Callable[..., Any], **about: Any
    ) -> Question:
        """Return the question with a one-bit answer.

        Args:
            learnt: Description of the result.
            numbers: Number of counts of each party.
            count: Function that reads this party's counts from its rows.
            decide: Function of the engine and the shared counts, to the shared bit.
            about: Further fields of the question.
        """
        return Question(
            learnt, numbers, count, lambda engine, table: [int(decide(engine, table))],
            lambda state: self.answer(bool(state[0])), opens="decision", bits=1, **about,
        )  # fmt: skip

    def simulated(
        self,
        learnt: str,
        parts: Sequence[Part],
        count: Callable[[Any], Any],
        measure: Callable[[Reals], Reals],
        null: Callable[[np.random.Generator, NDArray[np.int64]], Reals],
        least: Callable[[Reals], float] | None = None,
        **about: Any,
    ) -> Question:
        """Return the question whose answer is noisy numbers and their p-value.

        The p-value is withheld if the smallest expected cell is below the noise's scale: with margins that
        are mostly noise, the true level is three times the stated one.

        Args:
            learnt: Description of the result.
            parts: Groups of numbers with their noise.
            count: Function that reads this party's counts from its rows.
            measure: Statistic of float64[tables, numbers]; larger values speak more against the null hypothesis.
            null: Draws `SIMULATED` tables without noise under the null hypothesis, given the opened numbers.
            least: Expected rows in the rarest cell, given the opened numbers.
            about: Further fields of the question.
        """

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            opened = np.array(state, dtype=np.int64)
            seed = hashlib.sha256(opened.astype("<i8").tobytes()).digest()
            rng = np.random.default_rng(int.from_bytes(seed[:8], "little"))  # both draw the same
            noisy = null(rng, opened) + _noises(rng, parts)
            statistic = float(measure(opened[None].astype(np.float64))[0])
            p = (1 + int((measure(noisy) >= statistic).sum())) / (SIMULATED + 1)
            scale = max(float(part.noise.scale) for part in parts if part.noise is not None)
            if least is not None and least(opened.astype(np.float64)) < scale:
                return self.answer(None, statistic=statistic, p=None, simulated=SIMULATED)
            return self.answer(p <= self.settings.level, statistic=statistic, p=p, simulated=SIMULATED)

        return sums(learnt, parts, count, show, **about)

    @abstractmethod
    def ask(self) -> Question:
        """Return the question of this test."""

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        differ = {True: "yes", False: "no", None: "cannot tell"}[document["differ"]]
        line = f"{differ}, at level {document['level']:g}"
        if document.get("alternative", "two-sided") != "two-sided":
            line += f" ({document['alternative']})"
        lines = [line]
        if document["differ"] is None:
            lines.append(
                "the noise is as large as the number of rows expected in the rarest cell: join rare values, or give "
                "more epsilon"
            )
        elif "p" in document:
            lines.append(f"p = {document['p']:.3g}, which includes the noise; statistic {document['statistic']:.4g}")
        if "missing" in document:
            lines.append(missing_in_words(document["missing"], document["with_gaps"]))
        return lines


def _noises(rng: np.random.Generator, parts: Sequence[Part]) -> Reals:
    """Return `SIMULATED` random samples of the noise on all numbers, float64[SIMULATED, numbers]."""
    return np.concatenate([_drawn(rng, part.noise, part.numbers) for part in parts], axis=1)


def _drawn(rng: np.random.Generator, noise: Noise | None, numbers: int) -> Reals:
    assert noise is not None
    shape, scale = (SIMULATED, numbers), float(noise.scale)
    chance = -np.expm1(-1 / scale)
    drawn = rng.geometric(chance, shape).astype(np.float64) - rng.geometric(chance, shape)
    return np.asarray(drawn)

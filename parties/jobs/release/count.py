"""How many rows of both parties are such: one number, or one for each of several predicates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.release.kind import Numbers
from parties.jobs.release.noise import Noise, gauss, laplace
from parties.jobs.release.reading import Question, cells
from parties.jobs.release.settings import Delta, DrawnSettings, ReleaseSettings
from parties.jobs.release.sums import Part, Sums, number, own_vector
from parties.jobs.settings import public
from parties.jobs.spending import exact
from protocols.release import promise
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts

MOST_PREDICATES = 256


class GaussianSettings(ReleaseSettings):
    """Those of a question that Gaussian noise suits: many numbers that one row changes together."""

    delta: Delta | None = public(
        None,
        "Delta",
        "With it the noise is Gaussian: the chance that epsilon does not hold",
        none="none, epsilon always holds",
    )


class CountSettings(GaussianSettings, DrawnSettings):
    """`smc release count`."""


class Count(Sums):
    """How many rows of both parties are such? Both learn the number, with noise that neither knows.

    With several predicates (--where repeated, or ';' between them) there are as many numbers, and epsilon is for all of
    them together. Numbers of which a row may count for m take m / epsilon as the scale of their noise; with --delta, it
    is Gaussian and grows with the root of m only.
    """

    name = "release-count"
    title = "Noisy count"
    Settings = CountSettings
    example = "--data mine.csv --schema schema.toml --where 'age in [young, middle]' --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --epsilon 1 "
    noun = "count"
    draws = True
    counts_several = True
    settings: CountSettings

    @classmethod
    @override
    def named(cls, settings: ReleaseSettings) -> tuple[str, ...]:
        """See `Release.named`: none but those of the predicates."""
        return ()

    @override
    def check(self) -> None:
        if len(self.predicates) > MOST_PREDICATES:
            raise InputError(f"where: {len(self.predicates)} predicates, at most {MOST_PREDICATES} are counted at once")
        for predicate in self.predicates:
            Question(predicate).check(self.schema)
        check_delta(self.settings)
        self.check_sizes()

    @property
    def overlap(self) -> int:
        """How many of the numbers one row changes at most, each by 1: no more than some predicate has overlaps."""
        near = max(sum(not one.excludes(other) for other in self.predicates) for one in self.predicates)
        return min(len(self.predicates), 2 * near if self.replaced else near)

    @cached_property
    @override
    def parts(self) -> tuple[Part, ...]:
        noise = None if self.exact else vector_noise(self.settings, self.overlap)
        return (Part(len(self.predicates), self.settings.max_rows, False, noise),)

    @property
    @override
    def learnt(self) -> str:
        several = [f"{place}) those{one.words()}" for place, one in enumerate(self.predicates, 1)]
        if len(several) > 1:
            return f"how many rows of both tables are such: {'; '.join(several)}"
        return f"how many rows of both tables there are{self.where.words()}"

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        return own_vector(*(cells(counts, self.schema, self.target, Question(one)) for one in self.predicates))

    @override
    def found(self, state: Sequence[int]) -> Document:
        noise = self.parts[0].noise
        reach = None if noise is None else noise.reach()
        most = Fraction(2 * self.settings.max_rows)
        texts = [predicate.text() for predicate in self.predicates]
        return {
            "numbers": [
                {"of": text or "all rows", **number(opened, reach, Fraction(0), most)}
                for text, opened in zip(texts, state, strict=True)
            ]
        }


def vector_noise(settings: GaussianSettings, changed: int) -> Noise:
    """Return the noise on integers of which one row changes so many, each by 1."""
    assert settings.epsilon is not None
    epsilon = exact(settings.epsilon)
    if settings.delta is not None:
        return gauss(epsilon, exact(settings.delta), changed, settings.adjacency)
    return laplace(epsilon, changed, settings.adjacency)


def check_delta(settings: GaussianSettings) -> None:
    """`InputError` if there is a delta without noise, or one that promises nothing."""
    if settings.delta is None:
        return
    if settings.exact:
        raise InputError("exact: without noise there is no delta: give one or the other")
    promise.check_delta(settings.delta, 2 * settings.max_rows)

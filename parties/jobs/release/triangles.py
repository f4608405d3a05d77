"""How many triangles the graph of both parties' edges has, with noise that fits the graph."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.base.text import quoted
from parties.jobs.kind import Document, Estimate, Inputs, State
from parties.jobs.release.count import GaussianSettings, check_delta
from parties.jobs.release.kind import Numbers, Release
from parties.jobs.release.noise import Noise
from parties.jobs.release.reading import Question, pairs
from parties.jobs.release.settings import Delta
from parties.jobs.release.sums import number
from parties.jobs.settings import BooleanEngine, public
from parties.jobs.spending import Loss, PureLoss, exact
from parties.jobs.tabular_settings import Columns
from parties.tables.delimited import MISSING
from smc.errors import InputError
from smc.recipes import OTKind

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.counting import Program
    from smc.engines import Engine


COUNTABLE_PAIRS = 1 << 17  # of 512 vertices


class TrianglesSettings(GaussianSettings):
    """`smc release triangles`."""

    columns: Columns | None = public(None, "Ends", "The two columns that say which vertices a row joins", column=True)
    delta: Delta | None = public(None, "Delta", "The chance that epsilon does not hold", unless="exact")
    engine: BooleanEngine = public("gmw", "Engine", "How it is computed; auto measures the link and chooses")
    ot: OTKind = public(
        "ferret", "Oblivious transfer", "Kind of oblivious transfer; ferret sends least for so many gates"
    )


class Triangles(Release):
    """How many triangles does the graph have whose edges are the rows of both parties? Both learn it with noise.

    A row is an edge between the vertices that two columns name; which way round does not count, nor does an edge that
    is there twice, at one party or at both. The vertices are the values of both columns, at most 1,000. Epsilon is
    for half the noise on the most common neighbours of two vertices, which bounds what an edge can change, and for the
    other half noise of that bound; both are told.
    """

    name = "release-triangles"
    title = "Noisy triangles"
    Settings = TrianglesSettings
    example = "--data mine.csv --schema schema.toml --columns from,to --epsilon 1 --delta 1e-7 --config party.toml"
    estimate_example = "--schema schema.toml --columns from,to --epsilon 1 --delta 1e-7 "
    noun = "triangles"
    settings: TrianglesSettings

    @classmethod
    @override
    def named(cls, settings: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = required(settings.columns, f"{cls.name}.columns")
        if len(found) != 2:
            raise InputError(f"columns: name the two that say which vertices a row joins, not {len(found)}")
        return found

    @property
    def ends(self) -> tuple[str, str]:
        """The columns of an edge's vertices."""
        first, second = self.named(self.settings)
        return first, second

    @property
    @override
    def target(self) -> str:
        """See `BySchema.target`: the second end."""
        return self.ends[1]

    @property
    def vertices(self) -> tuple[str, ...]:
        """The values of both columns, but for a missing one."""
        return tuple(dict.fromkeys(v for name in self.ends for v in self.schema.attributes[name] if v != MISSING))

    @override
    def check(self) -> None:
        from protocols.release.triangles import LEAST_VERTICES, MOST_VERTICES

        if not LEAST_VERTICES <= len(self.vertices) <= MOST_VERTICES:
            raise InputError(
                f"columns: {quoted(self.ends[0])} and {quoted(self.ends[1])} have {len(self.vertices):,} vertices, "
                f"must be from {LEAST_VERTICES} to {MOST_VERTICES:,}"
            )
        Question(self.where).check(self.schema)
        check_delta(self.settings)
        if not self.exact and self.settings.delta is None:
            raise InputError("delta: is missing: it is the chance that the bound of the sensitivity is too small")

    @property
    def delta(self) -> Fraction:
        """Delta as it was written."""
        assert self.settings.delta is not None
        return exact(self.settings.delta)

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        """See `Kind.spends`: of the bound and the number together, see `protocols.release.triangles`."""
        if self.exact:
            return ()
        about = "private bound, discrete Laplace"
        return (PureLoss(about, self.epsilon, delta=self.delta, adjacency=self.settings.adjacency),)

    @override
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        return {"exact number" if self.exact else "number with noise": 0 if state is None else len(state)}

    @property
    @override
    def learnt(self) -> str:
        ends = f"{self.ends[0]} to {self.ends[1]}"
        what = f"how many triangles the graph of both tables' edges, from {ends}, has{self.where.words()}"
        return what if self.exact else f"{what}, and a bound of what one edge changes"

    @property
    @override
    def own_count(self) -> int:
        """See `Release.own_count`: pairs of vertices."""
        return comb(len(self.vertices), 2)

    @property
    @override
    def is_countable(self) -> bool:
        """See `Kind.is_countable`: batches of pairs are alike, so more can be counted than of other questions."""
        return self.own_count <= COUNTABLE_PAIRS

    @property
    @override
    def estimate(self) -> Estimate:
        """See `Kind.estimate`: a law of a smaller scale may have a few gates more."""
        return "exact" if self.exact else "typical"

    @property
    @override
    def assumed(self) -> str:
        return "" if self.exact else "the greatest bound there can be; the noise of another costs a little less or more"

    @override
    def program(self, inputs: Inputs) -> Program:
        from protocols.release.triangles import exact_triangles, foreseen

        size, pairs = len(self.vertices), self.own_count
        if self.exact:
            return lambda engine: exact_triangles(engine, np.zeros(pairs, dtype=np.uint8), size)
        return lambda engine: foreseen(engine, size, self.epsilon, self.replaced)

    @override
    def own_numbers(self, counts: Counts) -> Numbers:
        """See `Release.own_numbers`: whether there is an edge, for each pair of vertices."""
        from protocols.release.triangles import pairs as vertex_pairs

        table = pairs(counts, self.schema, self.target, self.where)[self.ends[0]]
        places = {vertex: place for place, vertex in enumerate(self.vertices)}
        edges = np.zeros((len(places) + 1,) * 2, dtype=np.int64)  # the last one is where missing ends go
        rows, columns = ([places.get(v, -1) for v in self.where.values(name, self.schema)] for name in self.ends)
        edges[np.ix_(rows, columns)] = table > 0
        first, second = vertex_pairs(len(places))
        found: Numbers = edges[first, second] | edges[second, first]
        return found

    @override
    def answer(self, engine: Engine, own: Numbers) -> list[int]:
        """See `Release.answer`: the bound and the number, or the exact number."""
        from protocols.release.triangles import exact_triangles, noisy_triangles

        mine, size = own.astype(np.uint8), len(self.vertices)
        if self.exact:
            return [exact_triangles(engine, mine, size)]
        return list(noisy_triangles(engine, mine, size, self.epsilon, self.delta, self.replaced))

    @override
    def found(self, state: Sequence[int]) -> Document:
        """See `Release.found`: the noise is of the bound that was opened."""
        size = len(self.vertices)
        about: Document = {"columns": list(self.ends), "vertices": size}
        if self.exact:
            return {**about, "numbers": [{"of": "graph", **number(state[0], None, Fraction(0), Fraction(0))}]}
        from protocols.release.triangles import answer_law

        bound, noisy = state
        noise = Noise(
            "discrete Laplace", answer_law(bound, self.epsilon, self.replaced).scale, self.epsilon, self.spends[0]
        )
        found = number(noisy, noise.reach(), Fraction(0), Fraction(comb(size, 3)))
        return {
            **about,
            "sensitivity": bound,
            **noise.fields(),
            "numbers": [{"of": "graph", **found}],
        }

"""Count the triangles of a graph, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from parties.base.text import quoted
from parties.jobs.kind import Counted, Description, Inputs, exact
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import CONFIDENCE, laplace, private_bound, rungs
from parties.jobs.release.question import Count, Question, number
from parties.jobs.release.reading import pairs
from parties.jobs.release.settings import NO_DELTA, Delta, GaussianSettings, failure
from parties.jobs.settings import Columns, ManyGatesSettings, public
from parties.tables.delimited import MISSING
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Counts
    from smc.engines import Profile


COUNTABLE_PAIRS = 1 << 17  # pairs of 512 vertices


class TrianglesSettings(ManyGatesSettings, GaussianSettings):
    """Settings of `smc release triangles`."""

    columns: Columns | None = public(
        None, "Ends", "Two columns of vertices: each row is an edge between its two vertices", column=True
    )
    delta: Delta | None = failure(". With a delta, the result has an interval", NO_DELTA)
    gives_no_row_away: ClassVar[bool] = True  # bound too small by k: probability delta e^(-(k - 1) epsilon / 2)


class Triangles(Release):
    """Count the triangles of the graph whose edges are the rows of both parties. Both learn the number, with noise.

    A row is an edge between the vertices in two columns. Its direction does not count, and an edge that occurs
    twice, at one party or at both, counts once. The vertices are the values of both columns, at most 1,000. The
    noise grows with the largest number of common neighbours of two vertices; this number is not opened. With
    --delta, half of epsilon opens a noisy upper bound on this number. The other half adds noise to the triangles, on
    the scale of the bound, and the result has an interval.
    """

    name = "release triangles"
    about = Description("Noisy triangles", "triangles", example="--columns from,to --epsilon 1")
    Settings = TrianglesSettings

    @property
    @override
    def without_holders(self) -> str | None:
        return "release triangles counts an edge of several parties once, so its edges are no summands"

    @property
    @override
    def warnings(self) -> list[str]:
        delta = self.settings.delta
        if not delta or delta * 2 * self.settings.max_rows < 1:
            return []
        failed = f"delta {delta:g}: in {delta:.0%} of answers the bound may be too small"
        return [f"{failed}; an edge then changes the chance of the number by more than epsilon allows"]

    @override
    def ask(self) -> Question:
        from protocols.release import triangles

        ends, vertices = self._ends(), self._vertices()
        places = {vertex: place for place, vertex in enumerate(vertices)}
        size = len(places)
        if not triangles.LEAST_VERTICES <= size <= triangles.MOST_VERTICES:
            raise InputError(
                f"columns: {quoted(ends[0])} and {quoted(ends[1])} have {size:,} vertices, "
                f"must be from {triangles.LEAST_VERTICES} to {triangles.MOST_VERTICES:,}"
            )
        self.cells()  # refused here if there are too many

        def count(counts: Counts) -> Numbers:
            """Return whether there is an edge, for each pair of vertices."""
            table = pairs(counts, self.schema, ends[1], self.where)[ends[0]]
            edges = np.zeros((size + 1,) * 2, dtype=np.int64)  # the last index is for missing ends
            rows, columns = ([places.get(v, -1) for v in self.where.values(name, self.schema)] for name in ends)
            edges[np.ix_(rows, columns)] = table > 0
            first, second = triangles.pairs(size)
            joined: Numbers = edges[first, second] | edges[second, first]
            return joined

        what = f"how many triangles the graph of both tables' edges, from {' to '.join(ends)}, has{self.where.words()}"
        about: dict[str, Any] = {"columns": list(ends), "vertices": size}
        if self.exact:
            return Question(
                what,
                comb(size, 2),
                count,
                lambda engine, numbers: [triangles.exact_triangles(engine, numbers.astype(np.uint8), size)],
                lambda state: {**about, "numbers": [{"of": "graph", "value": state[0]}]},
                opens="exact number",
                subject="",
                target=ends[1],
                bits=(3 * comb(size, 3)).bit_length(),  # the opened number is three times the count
            )
        together = self.settings.together
        if self.settings.delta is None:
            return self._by_ladder(what, size, count, about, ends[1])
        privacy = self.epsilon, exact(self.settings.delta), self.replaced, together

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            """Return the number with its interval; the opened bound gives the scale of its noise."""
            bound, noisy = state
            noise = laplace(self.epsilon / 2, bound * (1 + self.replaced), self.settings.adjacency, together)
            answer = number(noisy, noise.reach(), Fraction(0), Fraction(comb(size, 3)))
            return {**about, "sensitivity": bound, **noise.fields(), "numbers": [{"of": "graph", **answer}]}

        return Question(
            f"{what}, and a bound of what one edge changes",
            comb(size, 2),
            count,
            lambda engine, numbers: list(triangles.noisy_triangles(engine, numbers.astype(np.uint8), size, *privacy)),
            show,
            (private_bound(self.epsilon, exact(self.settings.delta), self.settings.adjacency, together),),
            subject="",
            target=ends[1],
            program=lambda engine: triangles.foreseen(engine, size, self.epsilon, self.replaced, together),
        )

    def _by_ladder(self, what: str, size: int, count: Count, about: dict[str, Any], target: str) -> Question:
        """Return the question without delta, with the noise that has the smaller error.

        It is ladder noise (`protocols.release.ladder`), or Laplace noise by the sensitivity over all graphs.
        """
        from protocols.release import ladder, triangles

        together, most = self.settings.together, comb(size, 3)
        changes = together * (1 + self.replaced)
        by_ladder = ladder.is_worth_it(size, self.epsilon, changes)
        of_noise = rungs if by_ladder else laplace
        change = (1 + self.replaced) * (1 if by_ladder else size - 2)
        noise = of_noise(self.epsilon, change, self.settings.adjacency, together)
        law = ladder.ladder(size, self.epsilon, changes)

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            """Return the number with its interval; with a ladder, the noise's reach for some numbers of neighbours."""
            (noisy,) = state
            answer = number(noisy, 0 if by_ladder else noise.reach(), Fraction(0), Fraction(most))
            if by_ladder:
                value = {name: answer[name] for name in ("value", "noisy")}
                reaches = {
                    str(common): law.reach(common, CONFIDENCE) for common in (1, 3, 10, 30) if common <= size - 2
                }
                return {**about, **noise.fields(), "reaches": reaches, "numbers": [{"of": "graph", **value}]}
            return {**about, **noise.fields(), "numbers": [{"of": "graph", **answer}]}

        return Question(
            what,
            comb(size, 2),
            count,
            lambda engine, numbers: [
                triangles.ladder_triangles(engine, numbers.astype(np.uint8), size, self.epsilon, changes)
            ],
            show,
            (noise,),
            subject="",
            target=target,
        )

    def _vertices(self) -> list[str]:
        ends = self._ends()
        return list(dict.fromkeys(v for name in ends for v in self.schema.attributes[name] if v != MISSING))

    def _ends(self) -> tuple[str, str]:
        columns = self.named(self.settings)
        if len(columns) != 2:
            raise InputError(f"columns: name two, the vertices of each row's edge, not {len(columns)}")
        return columns[0], columns[1]

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the cost of a run. Noise of a smaller scale may need a few gates more."""
        from protocols.release import triangles
        from smc.counting import forecast

        cost = replace(super().cost(inputs, extra), is_countable=self.query.numbers <= COUNTABLE_PAIRS)
        if self.exact or self.settings.delta is None:
            return cost
        size, together = len(self._vertices()), self.settings.together

        def most(profile: Profile) -> int:
            """Return the bytes of a run with twice the noise of the greatest bound."""
            return forecast(
                lambda engine: triangles.foreseen(engine, size, self.epsilon, self.replaced, together, 2), profile
            ).bytes

        of = "the greatest bound there can be; the noise of another costs a little less or more"
        return replace(cost, estimate="typical", of=of, most=most)

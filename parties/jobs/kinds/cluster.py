"""Find clusters of rows, with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from typing_extensions import override

from parties.base.settings import required
from parties.base.text import listed
from parties.jobs.kind import Bits, Description, Disclosure, Document, OnStep, State, States, Step, exact
from parties.jobs.release.cluster import result
from parties.jobs.release.cluster.doubt import grid_may_be_noise, round_may_be_noise
from parties.jobs.release.cluster.drawing import draw_svg
from parties.jobs.release.cluster.lloyd import LEAST_ROUNDS, Lloyd, ends, least_count, planned, split, usual_rounds
from parties.jobs.release.cluster.points import Axis, Grid, OwnPoints, usual_parts
from parties.jobs.release.cluster.settings import ClusterSettings
from parties.jobs.release.kind import Release
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.question import Part, Question
from parties.tables.types import NumberType, decimal_text, exactly, type_of
from protocols.arrays import Numbers
from protocols.release.centroids import UNIT, moved
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.tables.schema import Schema
    from protocols.counts import Rows
    from protocols.release.centroids import Points
    from protocols.release.clusters import Own, Rounds
    from smc.engines import Engine

ON_GRID = 4  # maximum columns of the default grid: with eight, 16,384 cells cut each into three only
AFTER_GRID = 9  # maximum columns for a round after a grid: more were not measured
CELLS_PER_CLUSTER = 4  # minimum cells of that grid for each cluster
ROWS_OF_A_ROUND = 12  # rows times epsilon that a round needs, for each of its numbers
GROWTH = Fraction(3, 2)  # factor of epsilon from a round to the next
GRID_SHARE = Fraction(3, 10)  # the grid's share of epsilon if a round follows


class Cluster(Release):
    """Find k clusters of the rows of both parties. Both learn noisy numbers, compute the centroids from them, and
    assign their own rows.

    With up to four columns, the noisy row count of each cell of a grid is opened. K-means then runs on these counts
    without further privacy loss. With more columns, rounds of k-means open the noisy row count and sums of each
    cluster. With a small epsilon, a grid is used there too, alone or before one round.
    """

    name = "cluster"
    about = Description("Clusters", "clusters", example="--columns age,visits --bounds 18:90,0:20 --k 4 --epsilon 1")
    streamed = True
    Settings = ClusterSettings
    draws = staticmethod(draw_svg)
    settings: ClusterSettings

    # Making a task.

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Cluster:
        columns = required(settings.columns, f"{cls.name}.columns")
        schema = schema.numeric(columns)
        if settings.bounds is None and (bounds := _schema_bounds(columns, schema)):
            settings = settings.model_copy(update={"bounds": bounds})
        if settings.bounds is None:
            raise InputError(
                f"bounds: are missing: give LOW:HIGH for each of {listed(columns)}, not taken from the rows"
            )
        if len(settings.bounds) != len(columns):
            raise InputError(f"bounds: {len(settings.bounds)} for {len(columns)} columns; give LOW:HIGH for each")
        order = list(schema.attributes)
        pairs = sorted(
            zip(columns, settings.bounds, strict=True),
            key=lambda pair: order.index(pair[0]) if pair[0] in order else -1,
        )
        names, bounds = zip(*pairs, strict=True)
        method = settings.method or _usual_method(settings, len(names))
        update = {"columns": names, "bounds": bounds, "method": method}
        return super().canonical(settings.model_copy(update=update), schema)

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return tuple(self.settings.columns or ())

    @override
    def ask(self) -> Question:
        if self.settings.k is None and not self.on_grid:
            raise InputError("k: is missing; give it, or the method grid, which chooses it")
        _ = self.axes
        if self.begins_on_grid:
            for key in ("iterations", "shares"):
                if getattr(self.settings, key) is not None:
                    raise InputError(f"{key}: applies to method in-process only; remove it")
            if self.settings.k is not None and self.k > self.grid.cells:
                raise InputError(
                    f"k: {self.k} clusters, but the grid has only {self.grid.cells} cells; choose fewer "
                    f"clusters or more parts"
                )
        elif self.settings.parts is not None:
            raise InputError("parts: applies to method grid only; remove it")
        for part in self.rounds:
            part.check()
        size = 1 + len(self.axes)

        def nothing(centroids: Points) -> Points:
            """Return the sums of no points; the size of the messages does not depend on the sums."""
            return np.zeros((len(centroids), size), dtype=np.int64)

        no_rows = np.zeros(self.rounds[0].numbers, dtype=np.int64)
        return Question(
            self._learnt(),
            self.rounds[0].numbers,
            self._own,
            lambda engine, numbers: self.run(engine, numbers, None, lambda step: None),
            self._shown,
            tuple(part.noise for part in self.rounds if part.noise is not None),
            "exact number" if self.exact else "number with noise",
            subject="",
            target=self.columns[-1],  # so that rows are read in the schema's order
            program=None
            if self.on_grid
            else lambda engine: self.query.open(engine, nothing if not self.begins_on_grid else (no_rows, nothing)),
            parts=self.rounds,
            bits=self.rounds[0].bits,
        )

    # Agreed parameters.

    @property
    def k(self) -> int:
        """The number of clusters, or the largest number that a grid chooses."""
        return self.settings.k or max(2, min(int(math.log(2 * self.settings.max_rows)), self.grid.cells))

    @property
    def on_grid(self) -> bool:
        """True if only cells of a grid are counted."""
        return self.settings.method == "grid"

    @property
    def begins_on_grid(self) -> bool:
        """True if the first step counts cells of a grid."""
        return self.settings.method != "in-process"

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The columns of the points, with their bounds and the numbers of their selected values."""
        pairs = zip(self.settings.columns or (), self.settings.bounds or (), strict=True)
        return tuple(
            Axis.read(column, self.schema.attributes[column], self.where.values(column, self.schema), bounds)
            for column, bounds in pairs
        )

    @cached_property
    def grid(self) -> Grid:
        """Grid whose cells are counted."""
        parts = self.settings.parts
        if parts is None:
            epsilon = Fraction(1) if self.exact else self.epsilon
            share = epsilon if self.on_grid else epsilon * GRID_SHARE
            parts = usual_parts(self.settings.max_rows, share / self.settings.together, len(self.axes))
        return Grid.over(self.axes, parts)

    @property
    @override
    def passes(self) -> int:
        return len(self.rounds)

    @cached_property
    def rounds(self) -> tuple[Part, ...]:
        """For each round the numbers that it opens, with their noise; the count of a grid is one round."""
        if not self.begins_on_grid:
            return self.lloyd.parts
        noise = self.noise(2 if self.replaced else 1, Fraction(1) if self.on_grid else GRID_SHARE)
        cells = Part(self.grid.cells, self.settings.max_rows, False, noise)
        return (cells,) if self.on_grid else (cells, self._last)

    @property
    def _last(self) -> Part:
        from protocols.release.clusters import change

        size = len(self.axes)
        noise = self.noise(change(size, self.replaced), 1 - GRID_SHARE)
        return Part(self.k * (1 + size), self.settings.max_rows * UNIT, True, noise)

    @cached_property
    def lloyd(self) -> Lloyd:
        """The plan of k-means in rounds, for the method in-process."""
        epsilon = None if self.exact else self.epsilon
        growth = Fraction(1) if self.settings.shares == "even" else GROWTH
        settings, size = self.settings, (self.k, len(self.axes))
        return planned(
            settings.max_rows, epsilon, *size, settings.iterations, growth, settings.adjacency, settings.together
        )

    # Disclosure.

    def _learnt(self) -> str:
        numbers = ", ".join(
            f"{axis.column} from {bounds.replace(':', ' to ')}"
            for axis, bounds in zip(self.axes, self.settings.bounds or (), strict=True)
        )
        if self.on_grid:
            how = f"how many rows of both tables{self.where.words()} each of {self.grid.cells:,} cells of {numbers} has"
        elif self.begins_on_grid:
            how = (
                f"how many rows of both tables{self.where.words()} each of {self.grid.cells:,} cells of {numbers} has, "
                "and then once how many each cluster has, and the sums of these numbers in it"
            )
        else:
            how = (
                f"in {len(self.rounds)} rounds how many rows of both tables{self.where.words()} each cluster has "
                f"(in the first, each of {self.lloyd.cells:,} parts of the box), and the sums of {numbers} in each"
            )
        number = self.k if self.settings.k else f"2 to {self.k}"
        return f"{number} clusters, which follow from what both see: {how}"

    @property
    @override
    def disclosure(self) -> Disclosure:
        bits, whole = [part.bits for part in self.rounds], super().disclosure

        def opened(state: State, step: int | None = None) -> dict[str, int]:
            return whole.opened(state) if step is None else {self.query.opens: self.rounds[step].numbers}

        return replace(whole, opened=opened, bits=Bits(lambda step: bits[step.number], sum(bits), bits[0]))

    # Run.

    @property
    @override
    def without_holders(self) -> str | None:
        return None if self.on_grid else "cluster in rounds is not built for holders: give --method grid"

    def _own(self, rows: Rows) -> Numbers | Own | tuple[Numbers, Own]:
        """Return what a run needs of own rows: counts of the grid's cells, a function of centroids, or both.

        The function returns the count and the sums of the points nearest to each centroid.
        """
        order = [*self.schema.features(self.target), self.target]
        wanted = [
            (column, np.array([value in values for value in self.schema.attributes[column]]))
            for column, values in self.where.wanted
        ]
        points = OwnPoints(self.axes, rows, order, wanted)
        if not self.begins_on_grid:
            return points.sums
        counts = np.zeros(self.grid.cells, dtype=np.int64)
        for places, numbers in points:
            counts += self.grid.count(places, numbers)
        return counts if self.on_grid else (counts, points.sums)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> list[int]:
        """Run the rounds, each a step, and return the opened numbers; `data` is the result of `_own`."""
        from protocols.release.clusters import noisy_lloyd

        before = split(start or (), self.rounds)
        if self.begins_on_grid and not before:
            on_step(Step(0, self.grid.cells, start, f"adding noise to {self.grid.cells:,} cells"))
            before = (tuple(self.rounds[0].opened(engine, data if self.on_grid else data[0])),)
        if self.on_grid:
            return list(before[0])

        def tell(opened: Rounds) -> None:
            words = f"round {len(opened) + 1} of {len(self.rounds)}"
            on_step(Step(len(opened), self.rounds[len(opened)].numbers, list(chain(*opened)) or None, words))

        laws = [part.law for part in self.rounds]
        sums, places = (data[1], self.after_grid) if self.begins_on_grid else (data, self.lloyd.places)
        rounds = noisy_lloyd(engine, sums, places, laws, self.rounds[-1].width, tell, before)
        return list(chain(*rounds))

    @property
    @override
    def states(self) -> States:
        """Checkpoints: the opened numbers, round by round."""

        def steps(state: State) -> int:
            return 0 if state is None else len(split(state, self.rounds))

        return States(
            None,
            steps,
            lambda state: steps(state) == len(self.rounds),
            lambda state, at: state[: ends(self.rounds)[at]] if at else None,
        )

    # Result.

    def _shown(self, state: Sequence[int]) -> Document:
        from parties.jobs.release.cluster.kmeans import rows_of

        opened = split(state, self.rounds)
        if self.on_grid:
            places, rows = self._of_grid(opened)
        elif self.begins_on_grid:
            places = moved(self.after_grid(opened[:1]), opened[1], least_count(self.rounds[-1]))
            rows = rows_of(opened[1], len(self.axes), 2 * self.settings.max_rows)
        else:
            places, rows = self.lloyd.followed(opened)
        about: Document = {"method": self.settings.method}
        about |= (
            {"cells": self.grid.cells}
            if self.begins_on_grid
            else {"iterations": len(self.rounds), "first": self.lloyd.cells}
        )
        if not self.exact:
            about["epsilons"] = [float(noise.epsilon) for noise in self.query.mechanisms]
            about["mostly_noise"] = len(places) > 1 and self._may_be_noise(opened, places)
        return {**about, **result.fields(self.axes, places, rows)}

    def _may_be_noise(self, opened: Rounds, places: Points) -> bool:
        """Return True if one centroid may describe the rows as well as several."""
        last = self.rounds[-1]
        assert last.noise is not None
        variance = float(last.noise.variance)
        if self.on_grid:
            return grid_may_be_noise(self.grid.places, opened[0], places, variance)
        sums = np.array(opened[-1], dtype=np.int64).reshape(-1, 1 + len(self.axes))
        return round_may_be_noise(sums, least_count(last), variance)

    def _of_grid(self, opened: Rounds) -> tuple[Points, Numbers]:
        """Return the centroids that k-means finds on the noisy counts of the grid, and the number of rows of each."""
        from parties.jobs.release.cluster.kmeans import chosen_number, weighted

        counts, places = consistent(np.array(opened[0], dtype=np.int64), 2 * self.settings.max_rows), self.grid.places
        k = self.settings.k or chosen_number(places, counts, self.k, self.grid.variance)
        return weighted(places, counts, k)

    def after_grid(self, opened: Rounds) -> Points:
        """Return the starting centroids of a round: those of the noisy grid."""
        return self._of_grid(opened)[0]

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return result.text(document)

    @classmethod
    @override
    def table(cls, document: Document) -> str:
        return result.clusters_as_csv(document)


def _usual_method(settings: ClusterSettings, dimensions: int) -> Literal["grid", "in-process", "hybrid"]:
    """Return the default method for this number of columns, from public numbers.

    A grid of many columns locates clusters but gives poor means. If epsilon allows only two rounds, one round follows
    the grid, unless the round would be mostly noise. No grid is used if two ranges per column give too few cells.
    """
    clusters, epsilon = settings.k or 1, Fraction(0) if settings.epsilon is None else exact(settings.epsilon)
    rows = settings.max_rows * epsilon / settings.together
    if dimensions <= ON_GRID:
        return "grid"
    wants_rounds = (settings.iterations, settings.shares) != (None, None)
    if dimensions > AFTER_GRID or CELLS_PER_CLUSTER * clusters > 1 << dimensions or not rows or wants_rounds:
        return "in-process"
    if usual_rounds(settings.max_rows, rows / settings.max_rows, clusters, dimensions) > LEAST_ROUNDS:
        return "in-process"
    return "hybrid" if rows >= ROWS_OF_A_ROUND * clusters * (dimensions + 1) else "grid"


def _schema_bounds(columns: Sequence[str], schema: Schema) -> tuple[str, ...] | None:
    types = [type_of(schema.attributes.get(name, ())) for name in columns]
    numbers = [column for column in types if isinstance(column, NumberType)]
    if len(numbers) < len(types):
        return None
    return tuple(f"{decimal_text(exactly(c.low))}:{decimal_text(exactly(c.high))}" for c in numbers)

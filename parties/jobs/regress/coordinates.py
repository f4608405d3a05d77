"""Noisy choices of one weight after the other, each from a public grid: the exponential mechanism in many
dimensions.

A grid of all weights together has too many points to be scored. So both parties start from weights 0 and choose one
weight anew in each step, given the others, which both know: the intercept first, then the features in their order, and
again from the start. A candidate's score is the number of rows that it classifies correctly. One row changes each score
by 1 at most, and an added row lowers none. Epsilon is divided evenly among the steps, which use the same rows one after
the other (sequential composition). Only the chosen weights are opened. Sources: McSherry, Talwar, FOCS 2007 (the
mechanism); `protocols.release.choice` (its form here), docs/math/noisy-choice.md (the proof).

The score ignores by how much a row is classified correctly. So the method finds less than gradient descent if most
columns are categories, and has neither a loss nor a lambda.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Document
from parties.jobs.regress.choice import Chosen
from parties.jobs.regress.method import OnRound, Opened, Stepwise
from protocols.arrays import Floats, Numbers
from protocols.regression.rows import RowStream

if TYPE_CHECKING:
    from protocols.release.geometric import OneSidedGeometric
    from smc.engines import Engine

REACH = 16  # extent of the grid on either side; only the ratios of weights matter
GRID = np.array([0, *(side * size for size in range(1, REACH + 1) for side in (1, -1))], dtype=np.float64)


class Coordinates(Chosen, Stepwise):
    """Choice of one weight in each step, more probable if more rows are classified correctly."""

    minimises = False
    mechanism = "choices of weights by noisy max"

    @cached_property
    def law(self) -> OneSidedGeometric:
        """Noise on each score; as exact as all steps together require."""
        from protocols.release.choice import choice_law

        moved = self.steps * self.settings.together
        return choice_law(self.epsilon, moved, not self.replaced, self.steps * len(GRID))

    @property
    @override
    def summed(self) -> int:
        return len(GRID)

    @property
    def width(self) -> int:
        """Bits of a party's score."""
        return self.settings.max_rows.bit_length()

    @override
    def check(self) -> None:
        from protocols.release.choice import check_width

        check_width(self.width, self.law)

    def chosen(self, step: int) -> int:
        """Return the index of the feature whose weight a step chooses."""
        return (step - 1) % self.features.number

    @override
    def own(self, rows: RowStream | None) -> Any:
        """Return the source of own scores: how many own rows each candidate weight of a step classifies correctly.

        Args:
            rows: Own rows; None for zeros, to count the cost of a run.
        """
        return OwnScores(self, rows)

    def scores(self, rows: RowStream, weights: Floats, feature: int) -> Numbers:
        """Return how many own rows each candidate weight of a feature classifies correctly, int64[candidates].

        Args:
            rows: Own rows.
            weights: Weights of the other features.
            feature: The feature.
        """
        alone = np.zeros(len(weights))
        alone[feature] = 1
        right = np.zeros(len(GRID), dtype=np.int64)
        for piece in rows.pieces():
            others, unit = piece.margins(weights * (1 - alone)), piece.margins(alone)
            at_zero = piece.signs < 0  # a sum of 0 means the first class
            for candidate, weight in enumerate(GRID):  # whole numbers, so margins are exact
                margins = others + weight * unit
                right[candidate] += piece.counts[(margins > 0) | (at_zero & (margins == 0))].sum()
        return right

    @override
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        from protocols.release.choice import noisy_choice

        opened = tuple(start)
        while len(opened) < self.steps:
            on_step(len(opened), opened)
            scores = data.sums([*opened])
            opened = (*opened, (int(noisy_choice(engine, scores[:, None], self.width, self.law)[0]),))
        return opened

    @override
    def weights(self, opened: Opened) -> Floats:
        weights = np.zeros(self.features.number)
        for step, (index,) in enumerate(opened):
            weights[self.chosen(step)] = GRID[index]
        return weights

    @override
    def fields(self, opened: Opened) -> Document:
        return {"points": len(GRID), "choices": self.steps}


class OwnScores:
    """Source of a step's own scores: the correctly classified own rows of each candidate weight; zeros without rows."""

    def __init__(self, method: Coordinates, rows: RowStream | None) -> None:
        self._method, self._rows = method, rows

    def sums(self, question: list[Any]) -> Numbers:
        """Return the scores after the opened choices, int64[candidates]; see `protocols.shares.Sums`."""
        method = self._method
        if len(question) >= method.steps or not all(0 <= index < len(GRID) for (index,) in question):
            raise ValueError("the opened values are not those of earlier steps")
        if self._rows is None:
            return np.zeros(len(GRID), dtype=np.int64)
        return method.scores(self._rows, method.weights(tuple(question)), method.chosen(len(question)))

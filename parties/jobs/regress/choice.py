"""Noisy choice among the weights of a public grid."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.kind import Document, Loss, PureLoss
from parties.jobs.regress.method import Method, OnRound, Opened
from protocols.arrays import Floats
from protocols.regression.losses import radius
from protocols.regression.rows import TrainingRows

if TYPE_CHECKING:
    from protocols.release.geometric import OneSidedGeometric
    from smc.engines import Engine

POINTS = 1_001  # points of the grid of weights
BLOCK = 1 << 20  # scores that are computed at once


class Chosen(Method):
    """Base class of methods that open the index of a grid weight, chosen by a noisy maximum."""

    what = "choice"
    words = "choosing"
    mechanism: ClassVar[str]  # name in the ledger
    numbers = 1  # the index of a weight

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        return (PureLoss(self.mechanism, self.epsilon, adjacency=self.settings.adjacency),)


class Choice(Chosen):
    """Choice of one weight of a public grid, more probable for a smaller loss J: for one column of numbers, without
    intercept.

    A row's score of a weight is the largest possible loss minus its own loss and lambda / 2 w^2, in integers up to
    `BEST`. An added row raises every score by at most `BEST` and lowers none (`protocols.release.choice`).
    """

    BEST = 1 << 12
    mechanism = "choice of a weight by noisy max"

    @cached_property
    def grid(self) -> Floats:
        """Candidate weights, float64[points], evenly spaced. The best weight lies within their range, whatever the
        rows."""
        reach = radius(self.settings.objective, self.regularisation)
        return np.linspace(-reach, reach, POINTS)

    @cached_property
    def law(self) -> OneSidedGeometric:
        """Noise on each score."""
        from protocols.release.choice import choice_law

        return choice_law(self.epsilon, self.settings.together * self.BEST, not self.replaced, POINTS)

    @property
    @override
    def summed(self) -> int:
        return POINTS

    @property
    def width(self) -> int:
        """Bits of a party's score."""
        return (self.settings.max_rows * self.BEST).bit_length()

    @override
    def check(self) -> None:
        from protocols.release.choice import check_width

        check_width(self.width, self.law)

    @override
    def own(self, rows: TrainingRows | None) -> Any:
        """Return the sum of own rows' scores for each candidate weight, int64[weights, 1]."""
        if rows is None:
            return np.zeros((POINTS, 1), dtype=np.int64)
        each = rows.margins(np.array([1.0, 0.0]))  # margins for the weight 1; those for a weight w are w times as large
        blocks = np.array_split(self.grid, 1 + POINTS * len(each) // BLOCK)
        return np.concatenate([self._scores(each, block) @ rows.counts for block in blocks])[:, None]

    def _scores(self, each: Floats, weights: Floats) -> NDArray[np.int64]:
        """Return the score of each distinct row for each weight, from 0 to `BEST`, int64[weights, rows].

        `each` is the margin of each row for the weight 1, float64[rows].
        """
        loss, reach = self.settings.objective, float(self.grid[-1])
        worst = float(loss.value(np.array([-reach]))[0]) + self.regularisation / 2 * reach**2
        lost = loss.value(weights[:, None] * each) + self.regularisation / 2 * weights[:, None] ** 2
        scores: NDArray[np.int64] = np.clip((1 - lost / worst) * self.BEST, 0, self.BEST).astype(np.int64)
        return scores

    @override
    def run(self, engine: Engine, data: Any, on_step: OnRound, start: Opened) -> Opened:
        from protocols.release.choice import noisy_choice

        on_step(0, start)
        return ((int(noisy_choice(engine, data, self.width, self.law)[0]),),)

    @override
    def weights(self, opened: Opened) -> Floats:
        return np.array([self.grid[opened[0][0]], 0.0])

    @override
    def fields(self, opened: Opened) -> Document:
        return {"points": POINTS}

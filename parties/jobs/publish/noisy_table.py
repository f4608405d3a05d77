"""Joint table whose numbers are opened with noise.

The noise also decides which cells are small: every opened value is private.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from typing_extensions import override

from parties.jobs.kind import (
    NO_BITS,
    Counted,
    Disclosure,
    Document,
    Inputs,
    OnStep,
    State,
    Step,
    hidden,
    nothing_else_of_rows,
)
from parties.jobs.publish.table import TableOfBoth
from parties.jobs.publish.table_settings import JointTableSettings
from parties.jobs.release.noise import Noise, laplace
from parties.jobs.release.question import Part, number
from parties.jobs.spending import Noised
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


class NoisyTable(Noised, TableOfBoth):
    """A joint table of both parties' rows, with noise on every opened number."""

    @classmethod
    @override
    def of(cls, settings: JointTableSettings, schema: Schema) -> Self:
        """Return the task; noisy row counts of both parties decide which cells are hidden."""
        noisy: dict[str, object] = {"against": "public", "zeros": "hidden"}
        for key, only in noisy.items():
            if key in settings.model_fields_set and getattr(settings, key) != only:
                raise InputError(
                    f"{key}: does not apply with epsilon, where noisy row counts decide which cells are hidden; "
                    f"remove it"
                )
        return cls(settings.model_copy(update=noisy), schema)

    # Noise.

    @cached_property
    def noise(self) -> Noise:
        """Noise on each number. For sums, the other half of epsilon is for the row counts behind them."""
        return self._laplace(max(1, *self.whole))

    @cached_property
    def rows_noise(self) -> Noise | None:
        """Noise on the row counts that decide whether a sum is shown; None if the table itself shows row counts."""
        return None if self.numbers is None else self._laplace(1)

    def _laplace(self, greatest: int) -> Noise:
        """Return noise for numbers of which a row changes one cell and its totals by at most `greatest` each.

        A replaced row leaves one cell and enters another.
        """
        cells = 2 * len(self.axes)
        change = 2 * (cells - 1) if self.replaced else cells
        share, settings = self.epsilon if self.numbers is None else self.epsilon / 2, self.settings
        return laplace(share, change * greatest, settings.adjacency, settings.together)

    @property
    def samples(self) -> int:
        """Number of noise samples of a table: one for each cell, or two if the cells are sums."""
        return self.cells * (1 if self.numbers is None else 2)

    @cached_property
    @override
    def part(self) -> Part:
        return self._part(self.samples, self.noise)

    # Disclosure.

    @property
    @override
    def question(self) -> str:
        return f"{super().question}, with noise (epsilon {self.settings.epsilon:g})"

    @property
    @override
    def disclosure(self) -> Disclosure:
        s = self.settings
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn, with noise that neither knows, the number of every cell and total of which "
                f"the rows, with noise, are {s.threshold:,} or more; of the others only that they are fewer.",
                f"{hidden(self.at_most, s.adjacency == 'replace').capitalize()} changes the chance of any result, "
                f"hidden cells too, by a factor of at most e^{s.epsilon:g}.",
                *self.rounded,
                *nothing_else_of_rows(peer, s.max_rows),
            ],
            self._opened,
            NO_BITS,
            tuple(noise.loss for noise in (self.noise, self.rows_noise) if noise is not None),
            question=self.question,
            subject=self.axes[-1],
        )

    def _opened(self, state: State, step: int | None = None) -> dict[str, int]:
        cells, visible = (0, 0) if state is None else (self.cells, state["hidden"].count("0"))
        return {"whether a number with noise is small": cells, "number with noise": visible}

    # Cost, execution and result.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        if extra is not None and extra.hidden:
            raise InputError(
                "--hidden: does not apply with epsilon, where hidden cells do not change the cost; remove it"
            )
        zeros = np.zeros((2, self.cells), dtype=np.int64)
        return Counted(lambda engine: self._computed(engine, zeros), asked=lambda: (2 * self.cells,))

    @override
    def run(self, engine: Engine, data: Numbers, start: State, on_step: OnStep) -> State:
        on_step(Step(0, self.cells, start, "adding noise"))
        return self._computed(engine, data)

    def _computed(self, engine: Engine, our_numbers: Numbers) -> State:
        """Return which cells are hidden, a text of 0 and 1, and the noisy numbers; noisy values decide both."""
        from protocols.publish.small_cells import noisy_cells

        rows = None if self.rows_noise is None else (self.problem.width, self.rows_noise.law(self.samples))
        assert self.part.law is not None
        threshold = self.settings.threshold
        small, numbers = noisy_cells(engine, our_numbers, self.part.width, self.part.law, threshold, rows)
        return {"hidden": "".join(map(str, small.astype(int))), "numbers": numbers.tolist()}

    @override
    def document(self, state: State) -> Document:
        """Return the opened number and interval of each visible cell, null for a hidden one."""
        max_value = 2 * self.settings.max_rows * max(self.whole) * self.unit
        reach, numbers = self.noise.reach(), iter(state["numbers"])
        cells = [
            None if digit == "1" else number(next(numbers), reach, Fraction(0), Fraction(max_value), self.unit)
            for digit in state["hidden"]
        ]
        return {
            **self.head,
            "epsilon": self.settings.epsilon,
            "adjacency": self.settings.adjacency,
            **({} if self.at_most is None else {"at_most": self.at_most}),
            **self.noise.fields(self.unit),
            "cells": self.lines(cells),
        }

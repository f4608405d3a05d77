"""Joint table whose numbers are opened with noise.

The noise also decides which cells are small: every opened value is private.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from parties.base.arrays import Numbers
from parties.jobs.kind import NO_BITS, Counted, Disclosure, Document, OnStep, State, Step
from parties.jobs.publish.table_form import TableForm
from parties.jobs.publish.table_result import noisy_cells as as_document
from parties.jobs.release.noise import Noise
from parties.jobs.sentences import hidden, nothing_else_of_rows
from parties.jobs.spending import KEPT_BY_NODES
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


@dataclass(frozen=True)
class NoisyTable(TableForm):
    """A joint table with noise on every number of both parties."""

    remarks = (KEPT_BY_NODES,)

    @property
    def noise(self) -> Noise:
        """Noise on each number."""
        assert self.layout.noise is not None
        return self.layout.noise

    @property
    @override
    def words(self) -> str:
        return f", with noise (epsilon {self.layout.settings.epsilon:g})"

    @override
    def disclosure(self, at_most: int | None) -> Disclosure:
        s = self.layout.settings
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn, with noise that neither knows, the number of every cell and total of which "
                f"the rows, with noise, are {s.threshold:,} or more; of the others only that they are fewer.",
                f"{hidden(at_most, s.adjacency == 'replace').capitalize()} changes the chance of any result, hidden "
                f"cells too, by a factor of at most e^{s.epsilon:g}.",
                *nothing_else_of_rows(peer, s.max_rows),
            ],
            self._opened,
            NO_BITS,
            tuple(noise.loss for noise in (self.noise, self.layout.rows_noise) if noise is not None),
        )

    def _opened(self, state: State, step: int | None = None) -> dict[str, int]:
        cells, visible = (0, 0) if state is None else (self.cells, state["hidden"].count("0"))
        return {"whether a number with noise is small": cells, "number with noise": visible}

    @override
    def cost(self, hidden: int) -> Counted:
        if hidden:
            raise InputError(
                "--hidden: does not apply with epsilon, where hidden cells do not change the cost; remove it"
            )
        zeros = np.zeros((2, self.cells), dtype=np.int64)
        return Counted(lambda engine: self._computed(engine, zeros))

    @override
    def run(self, engine: Engine, data: Numbers, start: State, on_step: OnStep) -> State:
        on_step(Step(0, self.cells, start, "adding noise"))
        return self._computed(engine, data)

    def _computed(self, engine: Engine, our_numbers: Numbers) -> State:
        """Return the hidden cells and the numbers of the others, all from noisy values."""
        from protocols.publish.small_cells import noisy_cells

        layout, rows_noise = self.layout, self.layout.rows_noise
        rows = None if rows_noise is None else (layout.problem.width, rows_noise.law(layout.samples))
        law, threshold = self.noise.law(layout.samples), layout.settings.threshold
        small, numbers = noisy_cells(engine, our_numbers, layout.width, law, threshold, rows)
        return {"hidden": "".join(map(str, small.astype(int))), "numbers": numbers.tolist()}

    @override
    def document(self, state: State) -> Document:
        return as_document(self.layout, state, self.noise)

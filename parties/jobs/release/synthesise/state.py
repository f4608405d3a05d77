"""State of a synthesis: measured marginals and finally the rows; and the model in between."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protocols.synthesis import graphical
from protocols.synthesis.junction import GrowingTree
from protocols.synthesis.marginals import Measurement
from protocols.synthesis.sums import Set

if TYPE_CHECKING:
    from protocols.release.selection import Measured, Workload

RowCodes = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Synthesis:
    """State of a synthesis. `rows` are category codes, uint16[rows, columns]; None until they are made."""

    measured: tuple[Measured, ...] = ()
    rows: RowCodes | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Synthesis) and self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(len(self.measured))

    def encode(self) -> Any:
        """Return the state as JSON; null for the initial state."""
        if not self.measured:
            return None
        return {
            "measured": [[m.table, str(m.sigma), str(m.epsilon), m.counts.tolist()] for m in self.measured],
            "rows": None if self.rows is None else len(self.rows),
            "codes": None if self.rows is None else base64.b64encode(self.rows.astype("<u2").tobytes()).decode(),
        }

    @classmethod
    def decode(cls, value: Any) -> Synthesis:
        """Return the state that `encode` gave as this value."""
        from protocols.release.selection import Measured

        if value is None:
            return cls()
        measured = tuple(
            Measured(table, Fraction(sigma), Fraction(epsilon), np.array(counts, dtype=np.int64))
            for table, sigma, epsilon, counts in value["measured"]
        )
        if value["rows"] is None:
            return cls(measured)
        codes = np.frombuffer(base64.b64decode(value["codes"]), dtype="<u2")
        return cls(measured, codes.reshape(value["rows"], -1).astype(np.uint16))

    @property
    def seed(self) -> int:
        """Seed of the rows: a digest of the measured marginals. The seed is public; the noise keeps parties from
        choosing it."""
        text = "smc synthetic rows 1" + str(Synthesis(self.measured).encode())
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def measurements(work: Workload, names: Sequence[str], measured: Sequence[Measured]) -> list[Measurement]:
    """Return the measured marginals in a generator's form.

    Args:
        work: The workload of marginals.
        names: Names of the columns.
        measured: The measured marginals.
    """
    results = []
    for measurement in measured:
        columns = work.sets[measurement.table]
        shape = [work.domains[column] for column in columns]
        results.append(
            Measurement(
                tuple(names[column] for column in columns), measurement.counts.reshape(shape), float(measurement.sigma)
            )
        )
    return results


class GraphicalModel:
    """Estimates by `protocols.synthesis.graphical`; see `protocols.release.selection.MarginalModel`.

    A model starts from the potentials and the tree of its predecessor, in the order of the measurements. So its
    estimates depend on the measurements alone, whether the predecessors are cached or fitted again.
    """

    def __init__(self, work: Workload) -> None:
        self._work = work
        self._names = [str(column) for column in range(len(work.domains))]
        self._trees = GrowingTree(work.domains)
        self._many = 0  # measurements of the last model
        self._last: graphical.MarkovRandomField | None = None

    def sizes(self, measured: Sequence[Set], more: Sequence[Set]) -> list[int]:
        """Return for each further set of columns the number of cells of the model that includes it.

        Args:
            measured: Sets of columns that are already measured.
            more: Candidates for the next measurement.
        """
        return self._trees.sizes(measured, more)

    def estimate(self, measured: Sequence[Measured]) -> list[NDArray[np.float64]]:
        """Return the estimated marginals, see `MarginalModel.estimate`."""
        return [table.reshape(-1) for table in self._model(measured).project(self._work.sets)]

    def total(self, measured: Sequence[Measured]) -> float:
        """Return the estimated number of rows."""
        return graphical.targets_of(self._names, measurements(self._work, self._names, measured))[1]

    def _model(self, measured: Sequence[Measured]) -> graphical.MarkovRandomField:
        if len(measured) < self._many:
            self._many, self._last = 0, None
        for many in range(max(self._many + 1, len(self._work.domains)), len(measured) + 1):
            targets, total = graphical.targets_of(self._names, measurements(self._work, self._names, measured[:many]))
            start = graphical.start_of(targets) if self._last is None else self._last.potentials
            tree = self._trees.of([target.columns for target in targets])
            self._many, self._last = many, graphical.fit(self._work.domains, targets, total, start, tree=tree)
        assert self._last is not None
        return self._last

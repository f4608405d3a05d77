"""Base class of the two forms of a joint table's numbers, noisy and sealed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from parties.base.arrays import Numbers
from parties.jobs.kind import Counted, Disclosure, Document, OnStep, State
from parties.jobs.publish.table_layout import Layout

if TYPE_CHECKING:
    from smc.engines import Engine


@dataclass(frozen=True)
class TableForm(ABC):
    """Form of a table's numbers. `digest` returns the job's digest, which a sealed table contains."""

    layout: Layout
    digest: Callable[[], str]
    remarks: ClassVar[tuple[str, ...]] = ()

    @property
    def cells(self) -> int:
        """Number of cells, including totals."""
        return self.layout.problem.cells

    @property
    def lacking(self) -> str:
        """Reason, as a sentence, why party 0 cannot do its part; empty if it can."""
        return ""

    def lacks_file(self) -> bool:
        """Return whether the result needs a file that the settings do not name."""
        return False

    @property
    def words(self) -> str:
        """Description of the form, as an ending of the question."""
        return ""

    @abstractmethod
    def disclosure(self, at_most: int | None) -> Disclosure:
        """Return what is opened; `at_most` rows of each person take part."""

    @abstractmethod
    def cost(self, hidden: int) -> Counted:
        """Return the cost of a table with this number of hidden cells; of any table for 0.

        Raise InputError if the number does not apply.
        """

    @abstractmethod
    def run(self, engine: Engine, data: Numbers, start: State, on_step: OnStep) -> State:
        """Compute the table from this party's rows and numbers, int64[2, cells]; see `Kind.run`.

        Args:
            engine: Engine of the run.
            data: Rows and numbers of each cell.
            start: State to start from.
            on_step: Called with each step.
        """

    @abstractmethod
    def document(self, state: State) -> Document:
        """Return the table as a result."""

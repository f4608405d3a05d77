"""The two ways in which a joint table's numbers leave: with noise, or sealed. What every way answers for."""

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
    """How the numbers of a table leave. `digest` returns that of the job, which a sealed table names."""

    layout: Layout
    digest: Callable[[], str]
    remarks: ClassVar[tuple[str, ...]] = ()

    @property
    def cells(self) -> int:
        """The cells of the table, totals too."""
        return self.layout.problem.cells

    @property
    def lacking(self) -> str:
        """What party 0 lacks for its part, a sentence; empty if nothing."""
        return ""

    def lacks_file(self) -> bool:
        """Return whether the result needs a file that is not named."""
        return False

    @property
    def words(self) -> str:
        """What is said of the form behind the question."""
        return ""

    @abstractmethod
    def disclosure(self, at_most: int | None) -> Disclosure:
        """Return what is opened; `at_most` rows of each person take part."""

    @abstractmethod
    def cost(self, hidden: int) -> Counted:
        """Return the cost of a table with so many hidden cells; of any table for 0. `InputError` if it has none."""

    @abstractmethod
    def run(self, engine: Engine, data: Numbers, start: State, on_step: OnStep) -> State:
        """Compute the table from this party's rows and numbers, int64[2, cells]; see `Kind.run`."""

    @abstractmethod
    def document(self, state: State) -> Document:
        """Return the table as a result."""

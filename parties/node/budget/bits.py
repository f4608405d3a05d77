"""Account of the bits that exact answers have opened of one table: an answer reveals at most its bits.

Repeated thresholds bisect a count; a bound on the bits ends that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from parties.node.budget.account import WINDOWS
from parties.sources.settings import BudgetSettings


@dataclass(frozen=True)
class BitsCharge:
    """Bits that a step of a job with a peer has charged once to one of our tables, and the time they count from."""

    at: datetime
    table: str
    peer: str
    job: str
    step: int
    bits: int

    @classmethod
    def read(cls, job: str, fields: Mapping[str, Any]) -> BitsCharge:
        """Return the charge of exact bits that a log entry records.

        Args:
            job: Identifier of the job.
            fields: Fields of the entry, see `kinds.BitsCharge`.
        """
        at = datetime.fromisoformat(fields["counts_from"])
        return cls(at, fields["table"], fields["peer"], job, fields["depth"], fields["bits"])

    @property
    def stamp(self) -> str:
        """Time from which the charge counts, in the ledger's form (ISO 8601, UTC)."""
        return self.at.astimezone(UTC).isoformat(timespec="milliseconds")


class BitsAccount:
    """The bits that exact answers have opened of one table at one moment; `budget` None stands for no bound."""

    def __init__(self, budget: BudgetSettings | None, charges: Iterable[BitsCharge], at: datetime) -> None:
        days = None if budget is None else WINDOWS.get(budget.per)
        self.bound = None if budget is None else budget.bits
        self.charges = list(charges)
        self.counted = [charge for charge in self.charges if days is None or charge.at > at - timedelta(days=days)]

    @property
    def spent(self) -> int:
        """Number of opened bits that count in the present window."""
        return sum(charge.bits for charge in self.counted)

    @property
    def ever(self) -> int:
        """Number of all bits ever opened of the table, whatever the window."""
        return sum(charge.bits for charge in self.charges)

    @property
    def left(self) -> int | None:
        """The bits that may still be opened; None where there is no bound."""
        return None if self.bound is None else max(0, self.bound - self.spent)

    def fits(self, bits: int) -> bool:
        """Return whether this number of bits may be opened in addition."""
        return self.left is None or bits <= self.left

"""The budget account of one table: charges so far, remaining budget, and the check whether another job fits.

A job fits if it keeps one of two bounds. Either the sum of pure losses is at most epsilon. Or the losses at a Renyi
order that the budget fixes (`parties.node.budget.composition`) come to at most epsilon at the remaining delta. It is
sound to choose between the two by earlier answers. A run that keeps to pure losses changes the probability of each
outcome by a factor of at most e^epsilon. The other outcomes are those of a mechanism that stops where the second bound
ends. The conversion needs a part of delta that is fixed before the first question: all but `apart`. The rest is for
uses with a delta of their own (those of `smc release triangles --delta`), whose sum is at most that rest. Each is a
choice between a mechanism that keeps its epsilon and one of probability delta. So whichever are chosen by earlier
answers, the two parts together are the budget's delta.

The spent epsilon that is shown is the least one known for the charges. So the remaining epsilon may be less than the
difference to the budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Annotated, Any, TypeVar

from pydantic import PlainSerializer, PlainValidator

from parties.base.text import quoted
from parties.jobs.settings import MAX_ROWS
from parties.jobs.spending import Loss, best_order, exact
from parties.node.budget.composition import Composition, composed, epsilon_of, most_pure, room_at
from parties.sources.settings import BudgetSettings
from smc.errors import InputError

# relative tolerance of epsilon: thirds are no decimal numbers, and three of them must fit where one did
SLACK = Fraction(1, 1 << 40)
Number = TypeVar("Number", int, float)
WINDOWS = {"day": 1, "week": 7, "month": 30, "year": 365}  # in days


@dataclass(frozen=True)
class Charge:
    """Losses of a job with a peer, charged once to one of our tables. The charge counts from the aware time `at`.

    They are losses of a row, or of a person if `person` of party.toml identified each row's person at that time.
    """

    at: datetime
    table: str
    peer: str
    job: str
    uses: Annotated[
        tuple[Loss, ...],
        PlainValidator(lambda entries: tuple(map(Loss.read, entries))),
        PlainSerializer(lambda uses: [use.entry() for use in uses]),
    ]
    person: str = ""
    permit: str = ""  # `key` of the permit of the job

    @classmethod
    def read(cls, job: str, fields: Mapping[str, Any]) -> Charge:
        """Return the charge of epsilon and delta that a log entry records.

        Args:
            job: Identifier of the job.
            fields: Fields of the entry, see `kinds.Charge`.
        """
        uses, at = tuple(map(Loss.read, fields["uses"])), datetime.fromisoformat(fields["counts_from"])
        return cls(at, fields["table"], fields["peer"], job, uses, fields.get("person", ""), fields.get("permit", ""))

    @property
    def stamp(self) -> str:
        """Time from which the charge counts, in the ledger's form (ISO 8601, UTC)."""
        return self.at.astimezone(UTC).isoformat(timespec="milliseconds")


class BudgetError(InputError):
    """A job that does not fit into a table's budget."""


@dataclass(frozen=True)
class Numbers:
    """Amounts spent, requested by a job, and remaining, in one unit: epsilon, rho or delta."""

    unit: str
    spent: float
    asked: float
    left: float

    def __str__(self) -> str:
        figures = (f"{name} {value:.4g}" for name, value in (("asked", self.asked), ("left", self.left)))
        return f"spent {self.unit} {self.spent:.4g}, {', '.join(figures)}"


class Account:
    """One table's budget at one moment. `budget` None stands for no bound; charges are recorded nevertheless.

    `group` is the number of rows that prices are for, or people if the table has a `person`; a budget is for one.
    Charges for another unit, such as rows before people were named, do not bound this unit's loss: as long as such a
    charge counts, nothing remains. `delta` is the fixed one for conversions from rho: the budget's, or else a power of
    ten that is at most a tenth of 1 / `max_rows`.
    """

    def __init__(
        self,
        table: str,
        budget: BudgetSettings | None,
        charges: Iterable[Charge],
        at: datetime,
        max_rows: int = MAX_ROWS,
        group: int = 1,
        person: str = "",
    ) -> None:
        self.table, self.budget, self.at, self.max_rows, self.group = table, budget, at, max_rows, group
        self.person = person
        self.delta = (
            budget.delta if budget is not None and budget.delta else 10.0 ** math.floor(-1 - math.log10(max_rows))
        )
        of_table = (charge for charge in charges if charge.table == table)
        self.charges = sorted(of_table, key=lambda charge: (charge.at, charge.job))
        self.counted = [charge for charge in self.charges if self.counts(charge, at)]
        self.loss = self.composed(self.counted)

    def counts(self, charge: Charge, at: datetime) -> bool:
        """Return whether a charge lies in the window that ends at a time, or after it if a clock was set back.

        Args:
            charge: The charge.
            at: End of the window.
        """
        days = None if self.budget is None else WINDOWS.get(self.budget.per)
        return days is None or charge.at > at - timedelta(days=days)

    def with_uses(self, uses: Sequence[Loss]) -> Account:
        """Return the account as if a job had just been charged these privacy losses."""
        planned, account = Charge(self.at, self.table, "", "", tuple(uses), self.person), copy(self)
        account.charges, account.counted = [*self.charges, planned], [*self.counted, planned]
        account.loss = self.loss + self.loss_of(uses)
        return account

    def of_group(self, group: int) -> Account:
        """Return the account with prices for this number of rows, or people."""
        return Account(self.table, self.budget, self.charges, self.at, self.max_rows, group, self.person)

    def composed(self, charges: Iterable[Charge]) -> Composition:
        """Return the composed privacy loss of some charges."""
        return self.loss_of(use for charge in charges for use in charge.uses)

    @property
    def another(self) -> str:
        """The unit, if any, of charges that count now and are for another unit than the account; otherwise empty."""
        others = {charge.person for charge in self.counted} - {self.person}
        return "" if not others else "row" if "" in others else "another person"

    @property
    def spent(self) -> float:
        """Epsilon of the charges that count now."""
        return self.epsilon(self.loss)

    def epsilon(self, loss: Composition) -> float:
        """Return the sum of pure losses; if not pure, or over the budget, the least bound at the fixed delta."""
        is_over = self.budget is not None and self.budget.delta > 0 and loss.epsilon > exact(self.budget.epsilon)
        if loss.is_pure and not is_over:
            return float(loss.epsilon)
        return epsilon_of(loss, exact(self.delta) - loss.delta)

    @property
    def left(self) -> float | None:
        """The largest epsilon that one more use of pure epsilon may spend; None for a table without a budget."""
        return None if self.budget is None else 0.0 if self.another else self._left(self.budget)

    def numbers(self, uses: Sequence[Loss]) -> Numbers | None:
        """Return the amounts spent, requested by these losses, and remaining; None for a table without a budget.

        Their unit is that of the check which decides: epsilon, rho or delta.
        """
        budget, added = self.budget, self.loss_of(uses)
        if budget is None:
            return None
        allowed = exact(budget.apart)
        if added.delta and self.loss.delta + added.delta > allowed:
            left = max(allowed - self.loss.delta, Fraction(0))
            return Numbers("delta", float(self.loss.delta), float(added.delta), float(left))
        if added.is_pure:
            return Numbers("epsilon", self.spent, self.epsilon(added), self._left(budget))
        order, left = self._renyi(self.loss, budget)
        if order == 1:  # no delta to convert with: no use with a rho ever fits
            return Numbers("rho", float(self.loss.concentrated), float(added.concentrated), 0.0)
        spent, asked = (float(loss.at_order(order) / order) for loss in (self.loss, added))
        return Numbers("rho", spent, asked, float(max(left, Fraction(0)) / order))

    def fits(self, uses: Sequence[Loss]) -> bool:
        """Return whether a job with these privacy losses fits: by delta, and by pure epsilons or Renyi losses."""
        budget, added = self.budget, self.loss_of(uses)
        after = self.loss + added
        if budget is None:
            return True
        if self.another:
            return False
        if added.delta and after.delta > exact(budget.apart):
            return False
        bound = exact(budget.epsilon) * (1 + SLACK)
        return (after.is_pure and after.epsilon <= bound) or self._renyi(after, budget)[1] >= 0

    def refusal(self, uses: Sequence[Loss]) -> str | None:
        """Return the reason why a job with these losses does not fit, with the three numbers; None if it fits."""
        if self.budget is None or self.fits(uses):
            return None
        whose = f"the privacy budget of table {quoted(self.table)} ({self.budget.words})"
        if self.another:
            unit = "person" if self.person else "row"
            return f"{whose} has charges for a {self.another} and is now for a {unit}: they cannot be added"
        return f"{whose} does not allow the job: {self.numbers(uses)}"

    def loss_of(self, uses: Iterable[Loss]) -> Composition:
        """Return the composition of these privacy losses alone."""
        return composed(uses, "add-remove" if self.budget is None else self.budget.adjacency, self.group)

    def _left(self, budget: BudgetSettings) -> float:
        pure = float(max(exact(budget.epsilon) - self.loss.epsilon, Fraction(0))) if self.loss.is_pure else 0.0
        order, left = self._renyi(self.loss, budget)
        return max(pure, float(most_pure(left, order)) if left > 0 else 0.0)

    def _renyi(self, loss: Composition, budget: BudgetSettings) -> tuple[Fraction, Fraction]:
        """Return the Renyi order that the budget fixes, and the loss that remains there; negative if it is exceeded.

        Order 1 stands for a budget without a delta for the conversion.
        """
        conversion = exact(budget.delta) - exact(budget.apart)
        if conversion <= 0:
            return Fraction(1), Fraction(-1)
        order = best_order(exact(budget.epsilon), conversion)
        left = exact(budget.delta) - max(exact(budget.apart), loss.delta)  # for later, when `apart` may be used up
        return order, room_at(order, budget.epsilon, left) - loss.at_order(order)


@dataclass(frozen=True)
class Limits:
    """The accounts that a job with one peer must fit: the peer's share of a table's budget, and the whole table.

    The table binds unless peers of our file made all charges that count, within their shares: then the shares suffice.
    """

    share: Account
    table: Account
    is_table_binding: bool

    @property
    def binding(self) -> list[Account]:
        """The accounts that must each have room."""
        return [self.share, self.table] if self.is_table_binding else [self.share]

    @property
    def budget(self) -> BudgetSettings | None:
        """The peer's part of the table's budget; None where there is no bound."""
        return self.share.budget

    @property
    def left(self) -> float | None:
        """The largest epsilon of one more pure use, the least that a binding account allows; None without a bound."""
        return least(*(account.left for account in self.binding))

    def with_uses(self, uses: Sequence[Loss]) -> Limits:
        """Return the limits as if a job with the peer had just been charged these privacy losses."""
        return Limits(self.share.with_uses(uses), self.table.with_uses(uses), self.is_table_binding)

    def fits(self, uses: Sequence[Loss]) -> bool:
        """Return whether a job with these privacy losses fits each account that binds."""
        return all(account.fits(uses) for account in self.binding)

    def deciding(self, uses: Sequence[Loss]) -> Account:
        """Return the account with the deciding numbers: the least remainder of those that refuse, otherwise of all."""
        refusing = [account for account in self.binding if not account.fits(uses)]
        return min(refusing or self.binding, key=lambda account: _room(account.numbers(uses)))


def _room(numbers: Numbers | None) -> float:
    return math.inf if numbers is None else numbers.left


def least(*left: Number | None) -> Number | None:
    """Return the least remaining amount; None stands for no bound."""
    return min((one for one in left if one is not None), default=None)

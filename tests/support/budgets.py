"""Accounts of made-up tables: one with a budget that several jobs have used, one without."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from parties.jobs.spending import PureLoss, exact
from parties.node.budget import shown
from parties.node.budget.account import Account, Charge, Limits
from parties.operator.budget import Registered, Simulation, TableBudget
from parties.sources.settings import BudgetSettings

FOUR = BudgetSettings(epsilon=4, delta=1e-7, per="year")
USES = [
    (400, PureLoss("discrete Laplace", exact(1.0))),
    (250, PureLoss("noisy maximum", exact(0.25), times=4)),
    (90, PureLoss("discrete Laplace", exact(0.5))),
    (3, PureLoss("permute and flip", exact(0.75), delta=exact(1e-12))),
]


def account(table: str = "patients", budget: BudgetSettings | None = FOUR, **more: Any) -> Account:
    """Four jobs with the university, the first of which a year's window does not hold any more."""
    now = more.pop("now", None) or datetime.now(UTC)
    charges = [
        Charge(now - timedelta(days=days), "patients", "university", f"{number + 1:032x}", (use,))
        for number, (days, use) in enumerate(USES)
    ]
    return Account(table, budget, charges, now)


def alone(account: Account) -> Limits:
    """Return the limits of the only peer, whose share is the whole."""
    return Limits(account, account, False)


class Budgets:
    """The calls of an operator that are about budgets."""

    def budget(self, group: int = 1) -> list[TableBudget]:
        return [shown.table_budget(one, group=group) for one in (account(), account("visits", None))]

    def simulate(self, job: dict[str, Any]) -> Simulation:
        uses = (PureLoss("discrete Laplace", exact(float(job.get("epsilon", 1)))),)
        known = account()
        return shown.simulation(alone(known), uses, alone(known), known.refusal(uses) or "", "", False)

    def register(self) -> Registered:
        return Registered(entry={"party": "clinic-a"}, fingerprint="AB", signature="ab" * 64)

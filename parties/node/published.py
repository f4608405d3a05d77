"""What a node publishes of its budgets: the entry for a public register of epsilons.

It names tables, mechanisms and losses, days, and digests of jobs. It names no peer, and nothing of a job but its kind
and digest: those who took part can find their own again, others learn what the noise hides and how often it was spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from parties.node.accounts import Accounts
from parties.node.budget import shown
from parties.node.spendings import Released

NOISE = "drawn inside a two-party computation: no party knows or can bias it"


def entry(name: str, software: str, accounts: Accounts, released: Sequence[Released]) -> dict[str, Any]:
    """Return the entry of the party of this name."""
    return {
        "party": name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "software": software,
        "noise": NOISE,
        "tables": [
            _table(table, accounts, [one for one in released if one.charge.table in accounts.names(table)])
            for table in accounts.tables()
            if accounts.holds(table)
        ],
    }


def _table(table: str, accounts: Accounts, released: Sequence[Released]) -> dict[str, Any]:
    account = accounts.account(table)
    figures = shown.table_budget(account)
    budget = None if account.budget is None else account.budget.model_dump()
    totals = {"in_window": figures.now.model_dump(), "ever": figures.ever.model_dump()}
    return {
        "table": table,
        "budget": budget,
        "max_rows": account.max_rows,
        "spent": {**totals, "fixed_delta": account.delta},
        "releases": [_release(one) for one in released],
    }


def _release(one: Released) -> dict[str, Any]:
    return {
        "day": one.charge.stamp[:10],
        "protocol": one.protocol,
        "digest": one.digest,
        "uses": [use.entry() for use in one.charge.uses],
    }

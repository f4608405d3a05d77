"""Signed entry for a public register of epsilons.

Such a register is proposed by Dwork, Kohli, Mulligan (2019), "Differential privacy in practice: expose your epsilons".
The entry names tables, mechanisms, privacy losses, days, and digests of jobs. It names no peer, and of a job only its
kind and digest. Participants can recognise their own jobs. Others learn what the noise protects and how often it was
spent. The signature covers `smc.records.budget.v1`, a line feed, and the entry as canonical JSON; it binds the
publisher to the entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from parties.link.identity import Identity, fingerprint
from parties.node.acts.accounts import Accounts
from parties.node.budget import shown
from parties.node.log.spendings import Released
from parties.node.records.signature import sign
from parties.operator.budget import Registered

NOISE = "drawn inside a two-party computation: no party knows or can bias it"


def entry(name: str, software: str, accounts: Accounts, released: Sequence[Released]) -> dict[str, Any]:
    """Return this party's entry for the public register, as JSON values: its tables with their releases.

    Args:
        name: Name of the party.
        software: Name and version of the software.
        accounts: The accounts of its tables.
        released: All releases about its tables, in order.
    """
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


def registered(identity: Identity, entry: dict[str, Any]) -> Registered:
    """Sign a register entry, and return it with fingerprint and signature.

    Args:
        identity: Identity of the party.
        entry: The entry, from `entry`.

    Raises:
        InputError: The entry cannot be written as JSON.
    """
    signature = sign(identity, entry, "budget").hex()
    return Registered(entry=entry, fingerprint=fingerprint(identity.certificate), signature=signature)

"""The entry for a public register of epsilons, signed as the log is: who publishes it cannot deny it later.

Such a register is proposed by Dwork, Kohli, Mulligan (2019), "Differential privacy in practice: expose your epsilons".
The entry names tables, mechanisms and losses, days, and digests of jobs. It names no peer, and nothing of a job but its
kind and digest: those who took part can find their own again, others learn what the noise hides and how often it was
spent. What is signed is `smc.records.budget.v1`, a line feed, and the entry as canonical JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cryptography import x509

from parties.link.identity import Identity, fingerprint
from parties.node.accounts import Accounts
from parties.node.budget import shown
from parties.node.log.spendings import Released
from parties.node.records.signature import check_signature, sign
from parties.operator.budget import Registered

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


def registered(identity: Identity, entry: dict[str, Any]) -> Registered:
    """Sign the entry. `InputError` if it cannot be written as JSON."""
    signature = sign(identity, entry, "budget").hex()
    return Registered(entry=entry, fingerprint=fingerprint(identity.certificate), signature=signature)


def is_registered_by(signed: Registered, certificate: x509.Certificate) -> bool:
    """Return whether the holder of the certificate's key signed the entry. No input makes it raise."""
    try:
        signature = bytes.fromhex(signed.signature)
    except ValueError:
        return False
    return check_signature(certificate, signed.entry, signature, "budget")

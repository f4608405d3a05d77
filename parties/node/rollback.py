"""What jobs may have spent that are lost, because the state directory was rolled back: budgets never go back.

Nobody can tell what they spent. They kept to the peer's share of each table's budget, so that much at most, in the
window that ends now; it is charged as of now, and so counts for a whole window more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from parties.jobs.spending import PureLoss, exact
from parties.link.identity import fingerprint
from parties.node.budget.moments import stamp
from parties.node.peers import Who
from parties.node.records import AuditLog
from parties.operator.interface import AuditEntry
from parties.sources.settings import TableSettings

MECHANISM = "lost in a rollback"


def charge(
    log: AuditLog,
    who: Who,
    tables: Mapping[str, TableSettings],
    lost: float | None,
    bits: int | None,
    lost_delta: float | None = None,
) -> list[AuditEntry]:
    """Charge what lost jobs with this peer may have spent, of every table with a budget, in the caller's transaction.

    `lost` (epsilon), `lost_delta` and `bits` are the operator's word that it was less. Whoever says an epsilon only has
    not said that no delta went with it, as of Gaussian noise: all of the share's is charged, unless epsilon is 0.
    """
    at = stamp(datetime.now(UTC), [log.latest(), who.identity.certificate.not_valid_before_utc], [])
    entries = []
    for name, table in tables.items():
        if table.budget is None or table.same_rows_as in tables:  # whose budget it shares: charged once
            continue
        share = table.budget.shared(who.share)
        whose = {"table": name, "peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer)}
        whose["counts_from"] = at.isoformat(timespec="milliseconds")
        epsilon = share.epsilon if lost is None else lost
        delta = lost_delta if lost_delta is not None else share.delta if epsilon else 0.0
        loss = PureLoss(MECHANISM, delta=exact(delta), adjacency=share.adjacency, epsilon=exact(epsilon))
        if loss.epsilon or loss.delta:
            spent: dict[str, Any] = {**whose, "uses": [loss.entry()]}
            spent |= {"person": table.person} if table.person else {}
            entries.append(log.append("spent", None, spent))
        if opened := share.bits if bits is None else bits:
            entries.append(log.append("counted", None, {**whose, "depth": 0, "bits": opened}))
    return entries

"""Charges for jobs that were lost when the state directory was rolled back: budgets never go back.

The spending of lost jobs is unknown. It was at most the peer's share of each table's budget, in the window that ends
now. It is charged as of now, and so counts for one more whole window.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from parties.jobs.spending import PureLoss, exact
from parties.link.identity import fingerprint
from parties.node.budget.moments import stamp
from parties.node.peers import PeerIdentity
from parties.node.records import AuditLog
from parties.operator.interface import AuditEntry
from parties.sources.settings import TableSettings

MECHANISM = "lost in a rollback"


def charge(
    log: AuditLog,
    who: PeerIdentity,
    tables: Mapping[str, TableSettings],
    lost: float | None,
    bits: int | None,
    lost_delta: float | None = None,
) -> list[AuditEntry]:
    """Charge the possible spending of lost jobs with a peer to each table's budget, in the caller's transaction.

    An epsilon alone does not state that the delta was 0, because Gaussian noise has one. So the share's whole delta is
    charged unless `lost_delta` states another, or epsilon is 0.

    Args:
        log: The audit log.
        who: The link with the peer.
        tables: The settings of this party's tables.
        lost: Operator's statement of the epsilon spent; None charges the share's.
        bits: Operator's statement of the bits opened; None charges the share's.
        lost_delta: Operator's statement of the delta spent; None as described above.

    Returns:
        The new entries of the log.
    """
    at = stamp(datetime.now(UTC), [log.latest(), who.identity.certificate.not_valid_before_utc], [])
    entries = []
    for name, table in tables.items():
        if table.budget is None or table.same_rows_as in tables:  # shares that table's budget, which is charged once
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

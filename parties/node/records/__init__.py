"""Records: a tamper-evident log of a party's actions, and results that both parties signed."""

from __future__ import annotations

from parties.node.records.audit import AuditLog
from parties.node.records.database import connect, make_place, reading
from parties.node.records.kinds import failure
from parties.node.records.signature import check_signature, sign
from parties.node.records.statements import Committed, Evidence, Head, Signed, Withdrawal, commit, withdrawal

__all__ = [
    "AuditLog",
    "Committed",
    "Evidence",
    "Head",
    "Signed",
    "Withdrawal",
    "check_signature",
    "commit",
    "connect",
    "failure",
    "make_place",
    "reading",
    "sign",
    "withdrawal",
]

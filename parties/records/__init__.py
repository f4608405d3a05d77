"""Records: what a party did, in a log that nobody can change unnoticed, and results that both parties signed."""

from __future__ import annotations

from parties.records.audit import AuditLog
from parties.records.database import connect, reading
from parties.records.kinds import failure
from parties.records.signature import check_signature, sign
from parties.records.statements import Committed, Evidence, Head, Signed, commit

__all__ = [
    "AuditLog",
    "Committed",
    "Evidence",
    "Head",
    "Signed",
    "check_signature",
    "commit",
    "connect",
    "failure",
    "reading",
    "sign",
]

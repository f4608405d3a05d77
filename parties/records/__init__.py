"""Records: what a party did, in a log that nobody can change unnoticed, and results that both parties signed."""

from __future__ import annotations

from parties.records.audit import AuditLog
from parties.records.database import connect, reading
from parties.records.kinds import failure
from parties.records.signature import check_signature, sign
from parties.records.statements import Head, Signed

__all__ = ["AuditLog", "Head", "Signed", "check_signature", "connect", "failure", "reading", "sign"]

"""Rules of a test, and one request that each line of its tables changes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from typing import Any

from parties.node.policy.request import Request
from parties.node.policy.rules import Rule

PRINT = ":".join(["AB"] * 32)
CET = timezone(timedelta(hours=1))
BASE: dict[str, Any] = {
    "peer": "clinic-b",
    "fingerprint": PRINT,
    "roles": frozenset({"hospital", "university"}),
    "proposed_by": "peer",
    "table": "patients",
    "columns": frozenset({"age", "sex", "outcome"}),
    "protocol": "id3",
    "max_depth": 4,
    "min_rows": 20,
    "tolerance": 0.001,
    "max_rows": 65535,
    "runs_today": 2,
    "purpose": "research",
    "at": datetime(2026, 1, 30, 14, 30, tzinfo=CET),  # a Friday
    "address": ip_address("192.0.2.7"),
    "post_quantum": True,
}


NUMBERS = ("max_depth", "min_rows", "tolerance", "max_rows")  # of the job; None: not known


def request(**changes: Any) -> Request:
    fields = BASE | changes
    numbers = {name: fields.pop(name) for name in NUMBERS}
    return Request(**fields, numbers={name: value for name, value in numbers.items() if value is not None})


def rule(effect: str = "permit", name: str = "a rule", **given: Any) -> Rule:
    return Rule.model_validate({"name": name, "effect": effect, **given})


HOME = {"network": ["192.0.2.0/24", "2001:db8::/32"]}

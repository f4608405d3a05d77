"""What a party says of one job, by its verdict and its end."""

from __future__ import annotations

from typing import Any

from parties.node.log.statement import Statement
from parties.node.records import Head, Signed
from parties.tables.schema import Schema
from tests.support.proposals import proposal_of

SCHEMA = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")
PROPOSAL = proposal_of(SCHEMA)
SIGNED = Signed(result={"tree": "x"}, head=Head(number=1, hash="0" * 64), signature="0" * 128)


def says(verdict: Any = "approved", end: Any = "", why: str = "") -> Statement:
    signed = SIGNED if end == "computed" else None
    return Statement(proposal=PROPOSAL, verdict=verdict, end=end, why=why, signed=signed)

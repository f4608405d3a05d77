"""Jobs of every kind for tests: what a party brings to them, and a specification that no honest peer sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from parties.jobs.kind import Inputs
from parties.node.log.statement import Statement
from parties.node.proposal import Proposal, propose, read_job
from parties.tables.schema import Schema
from smc.errors import ProtocolError

SCHEMA = Schema(
    {"wind": ("weak", "strong"), "hours": ("1", "2.5", "4"), "rain": ("no", "some", "much"), "play": ("yes", "no")},
    "play",
)
CLASSIFIER = (
    '{"target": "play", "classes": {"yes": 3, "no": 2}, "columns": {"wind": {"weak": [2, 1], "strong": [1, 1]}}}'
)

ESTIMATOR = (
    '{"target": "hours", "least": 1, "greatest": 4, "intercept": 2, '
    '"columns": {"wind": {"weights": {"weak": 0.5, "strong": -0.5}}}}'
)

TREE = json.dumps(  # of columns of both halves of the schema
    {
        "schema_digest": SCHEMA.digest(), "target": "good", "tolerance": 0.1,
        "tree": {"attribute": "rain", "branches": {
            "no": {"class": "yes"}, "much": {"class": "no"}, "some": {"attribute": "wind", "branches": {
                "weak": {"class": "yes"}, "strong": {"class": "perhaps"}}}}},
    }
)  # fmt: skip


def made(inputs: Callable[[dict[str, Any]], Inputs], **job: Any) -> Proposal:
    return propose(read_job(job), inputs(job))


def changed(job: Proposal, changes: dict[str, Any], left_out: str = "") -> bytes:
    statement = json.loads(Statement(proposal=job).to_bytes())
    statement["proposal"]["specification"] |= changes
    statement["proposal"]["specification"].pop(left_out, None)
    return json.dumps(statement).encode()


def peers(specification: dict[str, Any]) -> str:
    """Why a statement of the peer about a job of this specification is refused."""
    base = propose(read_job({"protocol": "equality"}), Inputs())
    statement = json.loads(Statement(proposal=base).to_bytes())
    statement["proposal"]["specification"] = specification
    return refusal(json.dumps(statement).encode())


def refusal(data: bytes) -> str:
    with pytest.raises(ProtocolError) as failed:
        Statement.from_bytes(data)
    told = str(failed.value)
    assert told.isprintable()
    assert len(told) < 400
    return told

"""Proposals made for tests, without a node: by what a party brings to them."""

from __future__ import annotations

from typing import Any

from parties.jobs.inputs import Inputs
from parties.node.proposal import Proposal, propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema


def inputs_of(schema: Schema, max_rows: int = 100, party: int = 0, typed: dict[str, Any] | None = None) -> Inputs:
    """A table of this schema, which is never opened."""
    table = TableSettings.model_validate({"source": "days.csv", "schema": "schema.toml", "max_rows": max_rows})
    return Inputs(party, table, schema, typed=typed or {})


def proposal_of(schema: Schema, party: int = 0, **fields: Any) -> Proposal:
    """The proposal of a party whose table `days` has this schema, by a job file with these fields."""
    return propose(read_job({"table": "days", **fields}), inputs_of(schema, party=party))

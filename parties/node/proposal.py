"""A proposal: the public job that both parties hold, and the job file that it is made from.

Whatever is proposed is public between the two parties; nothing of it is a row or a count. A proposal that comes from
the peer is taken apart and put together again: what does not come out the same is refused.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from parties.canonical import canonical, job_digest
from parties.jobs import planner, running
from parties.jobs.running import PROFILE, id3_specification
from parties.jobs.settings import Id3Settings
from parties.link.handshake import MAX_JOB_BYTES
from parties.settings import explained, merge, validated
from parties.tables.schema import Schema
from protocols import id3
from smc.errors import InputError

MAX_PURPOSE = 400
Identifier = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class JobFile(Id3Settings):
    """What an operator writes to propose a job: `smc submit JOB.toml`."""

    protocol: Literal["id3"] = "id3"
    table: Name
    peer_table: Name | None = None  # the same name unless given
    purpose: Annotated[str, Field(max_length=MAX_PURPOSE)] = ""
    columns: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _no_files(self) -> JobFile:
        for key in ("data", "schema", "out", "report", "dot", "svg"):
            if getattr(self, "schema_file" if key == "schema" else key) is not None:
                raise ValueError(
                    f"{key} has no place in a job: the rows are a table of party.toml, the result is fetched"
                )
        return self


class Proposal(BaseModel):
    """A job in public terms. `tables` are party 0's and 1's names for their rows; `specification` is the run's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Identifier
    proposer: Annotated[int, Field(strict=True, ge=0, le=1)]
    proposed_at: datetime
    purpose: Annotated[str, Field(max_length=MAX_PURPOSE)]
    tables: tuple[Name, Name]
    specification: dict[str, Any]

    @model_validator(mode="after")
    def _whole(self) -> Proposal:
        if self.proposed_at.utcoffset() != timedelta(0) or self.proposed_at.microsecond:
            raise ValueError("proposed_at is not in UTC and whole seconds")
        if len(canonical(self.job)) > MAX_JOB_BYTES:
            raise ValueError(f"it has more than the {MAX_JOB_BYTES} bytes that a session can carry: take fewer columns")
        try:
            rebuilt = id3_specification(self.settings, self.agreed, self.target)
            if canonical(rebuilt) != canonical(self.specification):
                raise ValueError("the specification has fields that do not belong to it")
            _ = self.problem  # refused here if it cannot be
        except InputError as error:
            raise ValueError(str(error)) from None
        return self

    @cached_property
    def agreed(self) -> Schema:
        """The schema of the run: its columns and their categories."""
        return Schema.from_public(self.specification.get("schema"))

    @cached_property
    def target(self) -> str:
        """The class column."""
        target = self.specification.get("target")
        if not isinstance(target, str) or target not in self.agreed.attributes:
            raise ValueError("the target is not an attribute of the schema")
        return target

    @cached_property
    def settings(self) -> Id3Settings:
        """The parameters of the run."""
        chosen = {name: value for name, value in self.specification.items() if name in PARAMETERS}
        return merge(Id3Settings(), chosen)

    @cached_property
    def problem(self) -> id3.Problem:
        """The protocol's view."""
        return running.problem(self.settings, self.agreed, self.target)

    @property
    def is_countable(self) -> bool:
        """Whether its cost can be counted ahead in a few seconds, by what was measured; a peer may propose anything."""
        problem = self.problem
        attributes, classes = len(problem.domains), problem.classes
        levels = attributes if problem.max_depth is None else min(problem.max_depth, attributes)
        candidates = planner.TYPICAL_SPLITS * (levels * attributes - levels * (levels - 1) // 2)
        logarithms = candidates * max(problem.domains, default=1) * (classes + 1)
        return candidates <= 8000 and logarithms <= 500_000 and classes <= 200

    @cached_property
    def job(self) -> dict[str, Any]:
        """All of it as plain JSON: what the handshake of each session compares."""
        return self.model_dump(mode="json")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical job, in hexadecimal."""
        return job_digest(self.job)


PARAMETERS = ("delta", "min_rows", "max_depth", "max_rows", *PROFILE)


def propose(own: JobFile, schema: Schema, max_rows: int, party: int) -> Proposal:
    """The proposal of party `party` for its table of this schema; `max_rows` is the table's public bound."""
    target = schema.choose_target(own.target)
    if own.columns is not None:
        if set(own.columns) <= {target} or len(set(own.columns)) < len(own.columns):
            raise InputError("columns: name each column once, and one at least besides the target")
        schema = schema.only([*own.columns, target])
    given = own.model_dump(include=set(PARAMETERS), exclude_unset=True)
    settings = merge(Id3Settings(), {"max_rows": max_rows, **given})
    names = (own.table, own.peer_table or own.table)
    try:
        return Proposal(
            id=secrets.token_hex(16),
            proposer=party,
            proposed_at=datetime.now(UTC).replace(microsecond=0),
            purpose=own.purpose,
            tables=names if party == 0 else names[::-1],
            specification=id3_specification(settings, schema, target),
        )
    except ValidationError as error:
        raise InputError(f"the job: {explained(error, Proposal)}") from None


def read_job(fields: dict[str, Any]) -> JobFile:
    """A job file's content, checked. `InputError` names the key."""
    return validated(JobFile, fields)


def misfit(job: Schema, table: Schema) -> str | None:
    """Why a table of a party cannot serve a job: an attribute that it lacks, or knows with other values."""
    for name, values in job.attributes.items():
        if name not in table.attributes:
            return f"the table has no attribute '{name}'"
        if table.attributes[name] != values:
            return f"the table's attribute '{name}' has other values than the job's"
    return None


def reveals(job: Proposal, peer: str) -> list[str]:
    """What a run reveals to whom, a sentence each."""
    rows = f"{job.settings.max_rows:,}"
    return [
        f"We and {peer} both learn the decision tree for {job.target} of both tables' rows together.",
        f"{peer} learns nothing else of our rows, only that they are at most {rows}.",
        f"We learn nothing else of {peer}'s rows, only that they are at most {rows}.",
    ]

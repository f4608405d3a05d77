"""A proposal, the public job of both parties, and the job file from which it is made.

All participants know a proposal, which contains neither rows nor counts. A proposal from the peer is parsed and
serialised again; a difference is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    create_model,
    model_serializer,
    model_validator,
)

from parties.base.canonical import canonical, job_digest
from parties.base.settings import Settings, explained, validated
from parties.base.text import quoted
from parties.jobs import kinds
from parties.jobs.holders import MOST_HOLDERS, Terms
from parties.jobs.kind import Inputs, Kind, KindSettings
from parties.jobs.settings import parameters, private_parameters, public_parameters
from parties.link.handshake import MAX_JOB_BYTES, differences
from parties.node.records.kinds import Fingerprint
from parties.node.records.permit import Permit
from parties.operator.interface import MAX_PURPOSE
from smc.errors import InputError

Identifier = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
Name = Annotated[str, Field(min_length=1, max_length=200)]
TableName = Annotated[str, Field(max_length=200)]  # empty if the job needs no table
WAIT_HOURS = 168  # a job with holders ends if it has no result a week after its proposal


class JobHead(Settings):
    """The keys of a job file that all kinds share."""

    protocol: str = kinds.DEFAULT
    peer: Name | None = None  # may be left out if there is only one
    table: Name | None = None
    peer_table: Name | None = None  # defaults to `table`
    purpose: Annotated[str, Field(max_length=MAX_PURPOSE)] = ""
    permit: Name | None = None  # identifier of a permit in the folder of [permits]
    holders: tuple[Name, ...] = ()  # further peers that give rows; the peer computes with us
    holder_table: Name | None = None  # defaults to `table`
    to: tuple[Name, ...] = ()  # the holders that get the result
    compute_only: bool = False  # neither computing node has rows; `table` is for its schema
    wait_hours: Annotated[int, Field(ge=1, le=8760)] = WAIT_HOURS


class Holding(BaseModel):
    """Who computes, who gives rows and who gets the result of a job with holders, by fingerprint.

    `nodes` are the computing parties 0 and 1. Holder i is participant 2 + i of the job. `holder_rows` bounds the rows
    of each holder, and of each node if `nodes_give`. Without a result the job ends `wait_hours` after its proposal.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    nodes: tuple[Fingerprint, Fingerprint]
    holders: Annotated[tuple[Fingerprint, ...], Field(min_length=1, max_length=MOST_HOLDERS), FailFast()]
    holder_rows: Annotated[int, Field(ge=1)]
    nodes_give: bool
    to: Annotated[tuple[Fingerprint, ...], FailFast()] = ()
    wait_hours: Annotated[int, Field(ge=1, le=8760)] = WAIT_HOURS

    @model_validator(mode="after")
    def _others(self) -> Holding:
        if len({*self.nodes, *self.holders}) != 2 + len(self.holders):
            raise ValueError("a party is listed twice among those who compute and the holders")
        if not {*self.to} <= {*self.holders}:
            raise ValueError("to: names a party that is no holder of the job")
        if self.terms.givers < 2:
            raise ValueError("with one holder the answer could be of its rows alone: name two at least")
        return self

    @property
    def everyone(self) -> tuple[Fingerprint, ...]:
        """All participants by their numbers."""
        return (*self.nodes, *self.holders)

    @property
    def terms(self) -> Terms:
        """The terms in the form that the protocol with holders uses, with or without a node."""
        return Terms(self.nodes, self.holders, self.holder_rows, self.nodes_give)


class JobFile(JobHead, KindSettings):
    """An operator's proposal, `smc submit JOB.toml`: the keys of `JobHead`, and the settings of its kind."""

    @model_validator(mode="after")
    def _no_files(self) -> JobFile:
        keys = {info.alias or name for name, info in type(self).model_fields.items() if getattr(self, name) is not None}
        for parameter in parameters(type(self)):
            if parameter.role == "hand" and parameter.key in keys:
                raise ValueError(f"{parameter.key} cannot be set in a job: only commands by hand have {parameter.flag}")
            if parameter.role in ("file", "output") and parameter.key in keys:
                raise ValueError(
                    f"{parameter.key} cannot be set in a job: rows come from a table of party.toml, results are fetched"
                )
        return self

    @property
    def kind(self) -> type[Kind]:
        """The kind of job."""
        return kinds.find(self.protocol)

    @property
    def settings(self) -> KindSettings:
        """The settings of the kind, without private typed values."""
        apart = {*JobHead.model_fields, *(parameter.key for parameter in private_parameters(self.kind.Settings))}
        settings = self.model_dump(exclude_unset=True, by_alias=True)
        return self.kind.Settings.model_validate({name: value for name, value in settings.items() if name not in apart})

    @property
    def typed(self) -> dict[str, Any]:
        """The private inputs in the job file."""
        keys = {parameter.key for parameter in private_parameters(self.kind.Settings)}
        settings = self.model_dump(exclude_none=True, by_alias=True)
        return {name: value for name, value in settings.items() if name in keys}


@cache
def _job_model(kind: type[Kind]) -> type[JobFile]:
    return create_model("JobFile", __base__=(JobFile, kind.Settings))  # type: ignore[arg-type]


def read_job(fields: Mapping[str, Any]) -> JobFile:
    """Check a job file's content. Raise InputError with the key at fault."""
    protocol = fields.get("protocol", kinds.DEFAULT)
    if not isinstance(protocol, str):
        raise InputError("protocol: must be text in quotes")
    try:
        kind = kinds.find(protocol)
    except InputError as error:
        raise InputError(f"protocol: {error}") from None
    return validated(_job_model(kind), fields)


class Proposal(BaseModel):
    """A job in public terms. `tables` are the participants' names for their tables; `specification` is the task's.

    A job of two parties has no `holding`, and is written without the key; so is a job without a `permit`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Identifier
    proposer: Annotated[int, Field(strict=True, ge=0, le=1)]
    proposed_at: datetime
    purpose: Annotated[str, Field(max_length=MAX_PURPOSE)]
    tables: Annotated[tuple[TableName, ...], Field(min_length=2, max_length=2 + MOST_HOLDERS), FailFast()]
    specification: dict[str, Any]
    holding: Holding | None = None
    permit: Permit | None = None  # of an authority

    @model_serializer(mode="wrap")
    def _without_empty(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialise(self)
        return {key: value for key, value in fields.items() if key not in ("holding", "permit") or value is not None}

    @model_validator(mode="after")
    def _whole(self) -> Proposal:
        if self.proposed_at.utcoffset() != timedelta(0) or self.proposed_at.microsecond:
            raise ValueError("proposed_at is not in UTC and whole seconds")
        if len(canonical(self.job)) > MAX_JOB_BYTES:
            raise ValueError(f"it has more than the {MAX_JOB_BYTES} bytes that a session can carry: take fewer columns")
        try:
            meant = self.task.specification()
            if canonical(self.specification) != canonical(meant):
                found = differences(meant, self.specification, ("canonical", "sent"))
                raise ValueError(f"the specification is not canonical: {', '.join(found[:1])}")
        except InputError as error:
            raise ValueError(str(error)) from None
        if len(self.tables) != 2 + len(self.holding.holders if self.holding else ()):
            raise ValueError("it must have one table for each participant")
        if self.task.reads_table and any((name == "") == self.gives(i) for i, name in enumerate(self.tables)):
            raise ValueError("it names no table")
        if self.holding is not None and (why := self._without_holders(self.holding)):
            raise ValueError(why)
        return self

    def _without_holders(self, holding: Holding) -> str:
        """Return the reason why further holders cannot give rows for the task; empty if they can."""
        terms, bound = holding.terms, getattr(self.task.settings, "max_rows", 0)
        if why := self.task.without_holders:
            return f"the job cannot take rows of holders: {why}"
        if bound < terms.max_rows:
            return (
                f"it computes with {2 * bound:,} rows at most, but {terms.givers} parties may have "
                f"{terms.holder_rows:,} each"
            )
        return ""

    def gives(self, party: int) -> bool:
        """Return whether this participant gives rows."""
        return self.holding is None or party > 1 or self.holding.nodes_give

    @cached_property
    def task(self) -> Kind:
        """The task to compute."""
        protocol = self.specification.get("protocol")
        if not isinstance(protocol, str):
            raise ValueError("the specification names no protocol")
        task = kinds.find(protocol).agreed(self.specification)
        task.on_shares |= self.holding is not None
        return task

    @property
    def bounds(self) -> dict[str, int]:
        """The parameters as people and rules see them, where they differ from the task's: `max_rows` bounds each giver.

        The task of a job with holders computes with half the rows of all.
        """
        return {} if self.holding is None else {"max_rows": self.holding.holder_rows}

    @cached_property
    def job(self) -> dict[str, Any]:
        """The proposal as plain JSON, which the handshake of each session compares."""
        return self.model_dump(mode="json")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical job, in hexadecimal."""
        return job_digest(self.job)


def _check_whole(file: JobFile) -> None:
    """Raise InputError with the names of all missing settings."""
    settings = file.settings.model_dump(by_alias=True)
    missing = [parameter.key for parameter in public_parameters(file.kind.Settings) if parameter.is_missing(settings)]
    if missing:
        raise InputError("; ".join(f"{key}: is missing" for key in missing))


def propose(
    file: JobFile,
    inputs: Inputs,
    nodes: tuple[str, ...] = (),
    holders: Mapping[str, str] | None = None,
    permit: Permit | None = None,
) -> Proposal:
    """Return this party's proposal of a job.

    Args:
        file: Content of the job file.
        inputs: Inputs of this party.
        nodes: Fingerprints of computing parties 0 and 1, for a job with holders.
        holders: Fingerprints of the holders by their names here.
        permit: The permit that the job file names.

    Raises:
        InputError: A setting is missing or wrong.
    """
    _check_whole(file)
    settings, holding = file.settings, _holding(file, inputs, nodes, holders or {})
    if holding is not None:
        settings = settings.model_copy(update={"max_rows": holding.terms.max_rows})
    task = file.kind.proposed(settings, inputs)
    if task.reads_table and inputs.table is not None and inputs.table.at_most and task.at_most is None:
        bounded = {"at_most": inputs.table.at_most} if "at_most" in file.kind.Settings.model_fields else {}
        task = file.kind.proposed(settings.model_copy(update=bounded), inputs)
    if task.reads_table and file.table is None:
        raise InputError("table: is missing")
    names = (file.table or "", file.peer_table or file.table or "")
    tables = ("", "") if file.compute_only else names if inputs.party == 0 else names[::-1]
    try:
        return Proposal(
            id=secrets.token_hex(16),
            proposer=inputs.party,
            proposed_at=datetime.now(UTC).replace(microsecond=0),
            purpose=file.purpose,
            tables=(*tables, *[file.holder_table or file.table or ""] * len(file.holders)),
            specification=task.specification(),
            holding=holding,
            permit=permit,
        )
    except ValidationError as error:
        raise InputError(f"the job: {explained(error, Proposal)}") from None


def _holding(file: JobFile, inputs: Inputs, nodes: tuple[str, ...], holders: Mapping[str, str]) -> Holding | None:
    if not file.holders:
        for key in ("holder_table", "to", "compute_only", "wait_hours"):
            if getattr(file, key) != JobHead.model_fields[key].default:
                raise InputError(f'{key}: goes with holders; name them, as holders = ["anna", "bert"]')
        return None
    if "max_rows" not in file.kind.Settings.model_fields:
        raise InputError(f"holders: {file.protocol} reads no rows of holders; remove holders")
    for name in file.to:
        if name not in holders:
            raise InputError(f"to: {quoted(name)} is no holder of the job; name one of holders")
    table, settings = inputs.required()[0], file.settings
    rows = settings.max_rows if "max_rows" in settings.model_fields_set else table.max_rows  # type: ignore[attr-defined]
    fields = {
        "nodes": nodes,
        "holders": tuple(holders[name] for name in file.holders),
        "holder_rows": rows,
        "nodes_give": not file.compute_only,
        "to": tuple(holders[name] for name in file.to),
        "wait_hours": file.wait_hours,
    }
    try:
        return Holding.model_validate(fields)
    except ValidationError as error:
        raise InputError(f"holders: {explained(error, Holding)}") from None


def repeated(terms: Proposal, proposer: int) -> Proposal:
    """Return a new proposal of the same job, proposed now.

    Args:
        terms: Proposal to repeat.
        proposer: Number of the party that proposes.
    """
    fields = {name: getattr(terms, name) for name in ("purpose", "tables", "specification", "holding", "permit")}
    at = datetime.now(UTC).replace(microsecond=0)
    return Proposal(id=secrets.token_hex(16), proposer=proposer, proposed_at=at, **fields)

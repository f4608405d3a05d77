"""Proposals from a peer that may say anything: what is not exactly a job is refused, before it costs anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from parties.base.canonical import canonical
from parties.link.handshake import MAX_JOB_BYTES
from parties.node import proposal
from parties.node.log.statement import MAX_BYTES, MAX_LINE, MAX_RESULT_BYTES, UNREADABLE, Statement
from parties.node.proposal import Proposal, propose, read_job
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType, RealType
from parties.web import words
from smc.errors import InputError, ProtocolError
from tests.support.proposals import inputs_of, proposal_of

SCHEMA = Schema({"wind": ("weak", "strong"), "rain": ("no", "some"), "play": ("yes", "no")}, "play")
JOB = proposal_of(SCHEMA, party=1, max_depth=1)


def heard(change: Callable[[dict[str, Any]], object]) -> Statement:
    """The peer's statement about a job that was changed on its way."""
    fields = json.loads(Statement(proposal=JOB, verdict="approved", by="proposer", at="2026-03-02").to_bytes())
    change(fields)
    return Statement.from_bytes(json.dumps(fields).encode())


def specification(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda fields: fields["proposal"]["specification"].update(changes)


def attributes(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda fields: change(fields["proposal"]["specification"]["schema"]["attributes"])


def test_the_same_statement_is_heard() -> None:
    assert heard(lambda fields: None).proposal == JOB


@pytest.mark.parametrize(
    "changes",
    [
        *({"tolerance": value} for value in (1, 0.0, -0.0, -1.0, 1.5, True, "0.001", None, [0.1], 5e-324, 1e-18)),
        *({"tolerance": value} for value in (float("nan"), float("inf"), float("-inf"))),
        *({"min_rows": value} for value in (-1, 0.0, -0.0, False, "0", None)),
        *({"max_depth": value} for value in (-1, 1.0, True, "1", 201, 10**100)),
        *({"max_rows": value} for value in (0, -1, 100.0, True, 2**31 + 1, None)),
        *({"engine": value} for value in ("clear", "MIXED", None, ["mixed"], 1)),
        *({"ot": value} for value in (None, "none", True)),
        {"engine": "auto", "ot": "ferret"},
        {"garbling": "none"},
        {"form": "any"},
        {"table_gates": True},
        {"data": "rows.csv"},
        {"out": "tree.json"},
        {"protocol": "millionaires"},
        {"target": "hail"},
        {"target": None},
        {"target": ["play"]},
        {"schema": None},
        {"schema": {"attributes": []}},
        {"schema": []},
    ],
    ids=str,
)
def test_a_parameter_that_no_job_file_could_have(changes: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        heard(specification(**changes))


@pytest.mark.parametrize(
    "change",
    [
        lambda listed: listed.append(listed[0]),
        lambda listed: listed[0]["values"].append(listed[0]["values"][0]),
        lambda listed: listed[0].update(values=[]),
        lambda listed: listed[0].update(values="weak"),
        lambda listed: listed[0].update(values=[1, 2]),
        lambda listed: listed[0].update(name=""),
        lambda listed: listed[0].update(name=" wind"),
        lambda listed: listed[0].update(name="wi\x1b[2Jnd"),
        lambda listed: listed[0].update(more=1),
        lambda listed: listed.append(1),
    ],
)
def test_a_schema_that_is_none(change: Callable[[list[dict[str, Any]]], object]) -> None:
    with pytest.raises(ProtocolError):
        heard(attributes(change))


@pytest.mark.parametrize(
    "changes",
    [
        {"id": JOB.id.upper()},
        {"id": JOB.id + "\n"},
        {"id": "../" + JOB.id[3:]},
        {"proposer": 2},
        {"proposer": True},
        {"proposer": 1.0},
        {"tables": ["days"]},
        {"tables": ["days", "days", "days"]},
        {"tables": ["", "days"]},
        {"purpose": "x" * 401},
        {"proposed_at": "2026-03-02T00:00:00"},
        {"proposed_at": "yesterday"},
        {"approved": True},
    ],
    ids=",".join,
)
def test_a_proposal_that_is_none(changes: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        heard(lambda fields: fields["proposal"].update(changes))


def test_another_order_is_another_job() -> None:
    """Ties go to the first attribute and class: the order is part of what is consented to."""
    for change in (lambda listed: listed.reverse(), lambda listed: listed[0]["values"].reverse()):
        other = heard(attributes(change)).proposal
        assert other != JOB
        assert other.digest != JOB.digest


def test_equal_proposals_have_equal_digests() -> None:
    """What is compared when a statement is heard must be what the sessions compare."""
    again = JOB.proposed_at.astimezone(UTC).isoformat()
    assert heard(lambda fields: fields["proposal"].update(proposed_at=again)).proposal.digest == JOB.digest
    elsewhere = JOB.proposed_at.astimezone(timezone(timedelta(hours=5))).isoformat()
    try:
        other = heard(lambda fields: fields["proposal"].update(proposed_at=elsewhere)).proposal
    except ProtocolError:
        return
    assert (other == JOB) == (other.digest == JOB.digest)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00Z"])
def test_a_date_at_the_edge_of_time_breaks_no_page(at: str) -> None:
    """It comes from the peer, and one job that cannot be shown would hide all others."""
    words.when(at)
    words.ago(at)
    try:
        job = heard(lambda fields: fields["proposal"].update(proposed_at=at)).proposal
    except ProtocolError:
        return
    words.when(job.proposed_at.isoformat())


def test_a_peer_takes_the_statement_about_the_largest_job() -> None:
    """Otherwise the peer ends the standing link at this statement, each time anew."""
    names = tuple(f"category {i:06d}" for i in range((MAX_JOB_BYTES - 2048) // 18))
    job = proposal_of(Schema({"code": names, "play": ("yes", "no")}, "play"), max_depth=1)
    assert len(canonical(job.job)) > MAX_JOB_BYTES - 8192
    assert len(Statement(proposal=job, at="x" * MAX_LINE, why="x" * MAX_LINE).to_bytes()) < MAX_BYTES - MAX_RESULT_BYTES


LISTS = {
    "paid": lambda fields, many: fields.update(paid=many),
    "relayed": lambda fields, many: fields.update(relayed=many),
    "tables": lambda fields, many: fields["proposal"].update(tables=many),
    "holders": lambda fields, many: fields["proposal"].update(holding={"holders": many}),
    "to": lambda fields, many: fields["proposal"].update(holding={"to": many}),
    "permit": lambda fields, many: fields["proposal"].update(permit={"holders": many, "columns": many}),
}


@pytest.mark.parametrize("place", LISTS)
def test_a_list_of_faults_is_read_up_to_the_first(place: str) -> None:
    """Each fault takes 2 KiB: a list of half a MiB took 400 MiB."""
    fields = json.loads(Statement(proposal=JOB).to_bytes())
    LISTS[place](fields, [{}] * 500)
    with pytest.raises(ValidationError) as error:
        Statement.model_validate_json(json.dumps(fields))
    assert error.value.error_count() < 20


def test_many_unknown_keys_are_not_explained() -> None:
    with pytest.raises(ProtocolError, match=f"^{UNREADABLE}$"):
        heard(lambda fields: fields.update({str(key): 0 for key in range(500)}))
    with pytest.raises(ProtocolError, match=f"^{UNREADABLE}: 0: unknown key"):
        heard(lambda fields: fields.update({"0": 0}))


def test_a_job_too_large_for_a_session_is_not_proposed() -> None:
    """Its statement would be refused by the peer, with all others after it; a session could not name it."""
    values = tuple(f"category {i:06d}" for i in range(MAX_JOB_BYTES // 18))
    schema = Schema({"code": values, "play": ("yes", "no")}, "play")
    with pytest.raises((InputError, ValueError)):
        proposal_of(schema, max_depth=1)


@pytest.mark.parametrize("key", ["data", "schema", "out", "report", "dot", "svg"])
def test_a_job_file_names_no_files(key: str) -> None:
    with pytest.raises(InputError, match=key):
        read_job({"table": "days", key: "x"})


def test_a_job_that_names_no_protocol() -> None:
    with pytest.raises(InputError, match="protocol: must be text in quotes"):
        read_job({"protocol": 3})
    fields = JOB.model_dump()
    del fields["specification"]["protocol"]
    with pytest.raises(ValueError, match="the specification names no protocol"):
        Proposal.model_validate(fields)


def test_a_job_has_no_more_bytes_than_a_session_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(canonical(JOB.job))
    monkeypatch.setattr(proposal, "MAX_JOB_BYTES", size)
    assert Proposal.model_validate(JOB.model_dump()) == JOB
    monkeypatch.setattr(proposal, "MAX_JOB_BYTES", size - 1)
    with pytest.raises(ValueError, match=f"more than the {size - 1} bytes"):
        Proposal.model_validate(JOB.model_dump())


@pytest.mark.parametrize(("asked", "of_table", "bound"), [(None, None, None), (None, 3, 3), (5, 3, 5), (5, None, 5)])
def test_a_table_of_people_bounds_what_its_job_does_not(
    asked: int | None, of_table: int | None, bound: int | None
) -> None:
    """How many rows of a person count: the job's own word comes first."""
    more = {"at_most": asked} if asked is not None else {}
    inputs = inputs_of(SCHEMA)
    assert inputs.table is not None
    table = inputs.table.model_copy(update={"at_most": of_table, "person": "patient" if of_table else None})
    job = propose(read_job({"protocol": "id3", "table": "days", **more}), replace(inputs, table=table))
    assert job.task.at_most == bound


def test_clusters_take_the_bounds_of_a_typed_schema() -> None:
    typed = {"age": Domain(IntegerType(low=0, high=110)), "weight": Domain(RealType(low=1, high=100, step=0.5))}
    fields: dict[str, Any] = {"protocol": "cluster", "columns": ["age", "weight"], "k": 2, "epsilon": 1.0}
    assert proposal_of(Schema(typed), **fields).specification["bounds"] == ["0:110", "1:100"]
    for column in ("age", "weight"):
        with pytest.raises(InputError, match=r"^bounds: are missing: give LOW:HIGH for each of 'age', 'weight'"):
            proposal_of(Schema({**typed, column: ("1", "2")}), **fields)

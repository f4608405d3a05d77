"""Jobs as the operator sees them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from parties.commands import job_text
from parties.jobs.inputs import Inputs
from parties.link.identity import Identity
from parties.node import prediction
from parties.node.desk import views
from parties.node.log.statement import Statement
from parties.node.log.store import Record
from parties.node.proposal import Proposal, propose, read_job
from parties.operator.interface import State
from parties.tables.schema import Schema
from tests.support.proposals import inputs_of, proposal_of

SCHEMA = Schema({"wind": ("weak", "strong"), "rain": ("no", "some"), "play": ("yes", "no")}, "play")
JOB = proposal_of(SCHEMA, party=1, max_depth=1)


def view_of(job: Proposal, identities: dict[str, Identity]) -> Any:
    record = Record(proposed_by="peer", ours=Statement(proposal=job))
    return views.job_view(record, "waiting", inputs_of(SCHEMA), None, "lan")


def test_what_the_operator_sees_of_a_job(identities: dict[str, Identity]) -> None:
    view = view_of(JOB, identities)
    assert (view.table, view.peer_table) == ("days", "days")
    assert view.columns == ["wind", "rain", "play"]
    assert view.digest == JOB.digest
    assert view.parameters["max_depth"] == 1
    assert view.cost is not None
    assert view.cost.bytes > 0
    *some, rule = view.reveals
    assert [("100" in line, "tree" in line) for line in some] == [(False, True), (True, False), (True, False)]
    assert rule == "No leaf has fewer than 5 rows of  or of us alone, unless it has none of them."


def test_a_job_without_rows_says_nothing_of_rows() -> None:
    job = propose(read_job({"protocol": "millionaires"}), Inputs(1))
    record = Record(proposed_by="peer", ours=Statement(proposal=job))
    assert "at_most" in job.task.parameters()
    assert "at_most" not in views.job_view(record, "waiting", Inputs(1), None, "lan").parameters


def test_a_number_is_asked_for_while_it_can_be_of_use() -> None:
    record = Record(
        proposed_by="peer", ours=Statement(proposal=propose(read_job({"protocol": "millionaires"}), Inputs(1)))
    )
    for state in get_args(State):
        view = views.job_view(record, state, Inputs(1), None, "lan")
        ended_badly = state in ("refused", "cancelled", "failed")
        assert [one.name for one in view.asked] == ([] if ended_badly or state == "done" else ["value"])
        assert (view.cost is None) == ended_badly
    assert views.job_view(record, "waiting", Inputs(1, typed={"value": 3}), None, "lan").asked == []


@pytest.mark.parametrize("sessions", [0, 1, 2])
def test_a_view_says_whether_anything_can_have_been_opened(identities: dict[str, Identity], sessions: int) -> None:
    record = Record(proposed_by="us", ours=Statement(proposal=JOB)).model_copy(update={"sessions": sessions})
    assert views.job_view(record, "cancelled", inputs_of(SCHEMA), None, "lan").begun == bool(sessions)


def test_a_computed_job_waits_for_a_signature(identities: dict[str, Identity]) -> None:
    ours = Statement(proposal=JOB).model_copy(update={"end": "computed"})
    record = Record(proposed_by="us", peer="bob", ours=Statement(proposal=JOB)).model_copy(update={"ours": ours})
    view = views.job_view(record, "interrupted", inputs_of(SCHEMA), None, "lan")
    line = "computed here: only bob's signature is missing"
    assert (view.only_signature, view.why, job_text.standing(view)) == (True, line, line)
    broken = record.model_copy(update={"note": "lost the peer"})
    assert job_text.standing(views.job_view(broken, "interrupted", inputs_of(SCHEMA), None, "lan")) == (
        "interrupted: lost the peer"
    )


def test_a_job_of_absurd_size_is_not_counted_through(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All views are asked for every second: one proposal of the peer must not keep them, or the memory, busy."""

    def endless(*_: object) -> None:
        raise AssertionError("it would take minutes")

    monkeypatch.setattr(prediction, "forecast", endless)
    wide = {f"a{i}": tuple(map(str, range(200))) for i in range(150)}
    view = view_of(
        proposal_of(Schema({**wide, "play": ("yes", "no")}, "play"), party=1, plain=True, max_rows=10**6), identities
    )
    assert view.cost is None

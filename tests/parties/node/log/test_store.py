"""What a job's record says of what the peer has heard."""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Literal

import pytest

from parties.node.log.statement import Statement
from parties.node.log.store import Record, has_news, is_held
from tests.support.statements import says

Verdict = Literal["waiting", "approved", "refused"]


def record(proposed_by: Any, ours: Statement, theirs: Statement | None) -> Record:
    return Record(proposed_by=proposed_by, ours=ours, theirs=theirs)


@pytest.mark.parametrize("verdict", ["waiting", "approved", "refused"])
def test_the_peer_hears_of_our_job_once_enough_of_us_have_approved_it(verdict: Verdict) -> None:
    for proposed_by, theirs in product(("us", "peer"), (None, says())):
        found = record(proposed_by, says(verdict), theirs)
        assert is_held(found) == (proposed_by == "us" and theirs is None and verdict != "approved")
        assert has_news(found) != is_held(found)


def test_the_peer_has_heard_all_once_both_have_said_that_it_is_over() -> None:
    for ours, theirs, unheard in product((False, True), repeat=3):
        left, right = (says().model_copy(update={"settled": settled}) for settled in (ours, theirs))
        found = record("us", left.model_copy(update={"unheard": unheard}), right)
        assert has_news(found) == (unheard or not (ours and theirs))
    assert found.depth == 0, "nothing is decided before a session"


def test_on_disk_a_job_has_named_fields_for_each_participant() -> None:
    made = record("us", says(), says("refused")).with_rows("us", "aa").with_rows("peer", "bb")
    row = json.loads(made.model_dump_json())
    assert list(row)[:4] == ["proposed_by", "peer", "ours", "theirs"]
    assert (row["ours"]["verdict"], row["fingerprint"]) == ("approved", "aa")
    assert (row["theirs"]["verdict"], row["peer_rows"]) == ("refused", "bb")
    assert "participants" not in row
    assert Record.model_validate(row) == made
    ours, theirs = made.participants.values()
    assert (ours.statement, ours.rows, theirs.statement, theirs.rows) == (made.ours, "aa", made.theirs, "bb")
    assert made.statements == [made.ours, made.theirs]

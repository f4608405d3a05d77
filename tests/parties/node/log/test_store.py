"""What a job's record says of what the peer has heard."""

from __future__ import annotations

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

"""What a job is after each event: a table; and nothing but `Jobs.apply` puts a job down."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from parties.node.budget.account import Charge
from parties.node.budget.bits import BitsCharge
from parties.node.log.job_events import Event, Unlogged, fold, settled
from parties.node.log.store import Record
from parties.node.records import Committed, kinds
from parties.node.records.kinds import PEER_FAILED
from tests.support.places import ROOT
from tests.support.statements import says

AT = "2026-01-02T03:04:05+00:00"
PRINT, DIGEST = ":".join(["AB"] * 32), "ab" * 32
NOW = datetime(2026, 1, 2, tzinfo=UTC)
CHARGE = Charge(NOW, "days", "bob", "1" * 32, ())
BITS = BitsCharge(NOW, "days", "bob", "1" * 32, 0, 5)
WHOM = {"table": "days", "peer": "bob", "peer_fingerprint": PRINT, "counts_from": AT}
COMMITTED = Committed(rows="cd" * 32, signature="0" * 128)


def job() -> Record:
    """A job of the peer's of which a session has begun, and which is charged already."""
    current = {"bytes_sent": 1, "bytes_received": 2, "rounds": 3}
    known = {"sessions": 1, "current": current, "tries": 3, "version": "v1", "charged": CHARGE, "bits": (BITS,)}
    return Record(proposed_by="peer", peer="bob", ours=says("waiting"), theirs=says(), note="n", unasked=True, **known)


@pytest.mark.parametrize(
    ("event", "changed"),
    [
        (kinds.Approved(person="anna", given=1, needed=2), {"people"}),
        (kinds.Decided(party="us", verdict="approved", by="rule all", reason="r"), {"ours", "reason", "unasked"}),
        (kinds.Decided(party="peer", verdict="refused", by="operator"), {"theirs"}),
        (kinds.Started(digest=DIGEST, depth=2), {"sessions", "started_at", "spent", "current", "depth", "note"}),
        (kinds.BothCommitted(ours=COMMITTED, theirs=COMMITTED), {"fingerprint", "peer_rows"}),
        (kinds.Charge.model_validate({**WHOM, "uses": []}), {"charged"}),
        (kinds.BitsCharge.model_validate({**WHOM, "depth": 1, "bits": 9}), {"bits"}),
        (kinds.Opened(depth=0, opened={"coins": 1}), set()),
        (kinds.Interrupted(why="gone", bytes_sent=1, bytes_received=2), set()),
        (kinds.Cancelled(by="us", why="enough"), {"ours"}),
        (kinds.Cancelled(by="peer"), {"theirs"}),
        (kinds.Failed(error="InputError"), {"ours"}),
        (kinds.Failed(error=PEER_FAILED), {"theirs"}),
        (Unlogged({"note": "other", "bits": ()}), {"note", "bits"}),
        (Unlogged({"note": "other"}, {"waits": "table"}), {"note", "ours"}),
    ],
)
def test_an_event_changes_what_it_says_and_nothing_else(event: Event, changed: set[str]) -> None:
    """And the job before it stays as it was: `fold` makes another one, the same each time."""
    before = job()
    after = fold(before, event, AT)
    assert {name for name in Record.model_fields if getattr(after, name) != getattr(before, name)} == changed
    assert (before, fold(before, event, AT)) == (job(), after)


def test_no_field_that_a_job_lacks_is_changed() -> None:
    for fields in ({"nots": "x"}, {"waits": "table"}), ({}, {"note": "x"}):
        with pytest.raises(TypeError, match="a job has no"):
            Unlogged(*fields)


def test_the_peer_is_not_told_that_there_is_a_decision_point() -> None:
    said = kinds.Decided(party="us", verdict="refused", by="decision point", reason="it denies")
    assert (fold(job(), said, AT).ours.by, fold(job(), said, AT).ours.at) == ("node", AT)


def test_a_refusal_is_one_persons_word() -> None:
    known = job().model_copy(update={"people": ("anna", "ben")})
    said = kinds.Decided(party="us", verdict="refused", by="operator", person="carla")
    assert fold(known, said, AT).people == ("carla",)
    approved = said.model_copy(update={"verdict": "approved"})
    assert fold(known, approved, AT).people == ("anna", "ben", "carla")


def test_a_job_that_has_ended_is_settled_once() -> None:
    open_job = job()
    assert settled(open_job, AT) is open_job
    ended = settled(fold(open_job, kinds.Cancelled(by="us"), AT), AT)
    assert (ended.ours.settled, ended.ended_at) == (True, AT)
    assert settled(ended, "later") is ended


def test_a_job_is_put_down_in_one_place() -> None:
    found = {
        str(path.relative_to(ROOT / "parties"))
        for path in (ROOT / "parties").rglob("*.py")
        if re.search(r"store\.(put|remove)\(", path.read_text())
    }
    assert found == {"node/log/jobs.py"}

"""Which jobs of a log ran for an emergency, who stood behind each here, and what came out of the reviews."""

from __future__ import annotations

from typing import Any

import pytest

from parties.node.governance.reviews import Emergency, read
from parties.operator.interface import AuditEntry

PROPOSED = {"purpose": "emergency", "peer": "bob", "protocol": "id3"}
Kinds = tuple[str, dict[str, Any]]


def found(*kinds: Kinds, job: str | None = "j") -> dict[str, Emergency]:
    entries = [
        AuditEntry(number=number, at=f"2026-03-01T12:00:0{number}+00:00", kind=kind, job=job, fields=fields, hash="")
        for number, (kind, fields) in enumerate(kinds, 1)
    ]
    return read(entries, ("emergency", "disaster"))


STARTED: Kinds = ("started", {})


def test_what_it_was_for_with_whom_and_when() -> None:
    (one,) = found(("proposed", PROPOSED), STARTED).values()
    assert (one.job, one.at, one.purpose, one.peer, one.protocol) == (
        "j",
        "2026-03-01T12:00:01+00:00",
        "emergency",
        "bob",
        "id3",
    )
    assert (one.people, one.reviews, one.has_ended) == (set(), [], False)


@pytest.mark.parametrize(
    "kinds",
    [
        (("proposed", PROPOSED | {"purpose": "research"}), STARTED),
        (("proposed", {}), STARTED),  # archived
        (("proposed", PROPOSED),),
        (("proposed", PROPOSED), ("finished", {})),  # nothing was computed
        (STARTED,),
        (("decided", PROPOSED), STARTED),
    ],
)
def test_what_was_begun_for_something_else_or_not_at_all_is_none(kinds: tuple[Kinds, ...]) -> None:
    assert found(*kinds) == {}


def test_an_entry_of_no_job_is_passed_over() -> None:
    assert found(("proposed", PROPOSED), STARTED, job=None) == {}


def test_whoever_proposed_or_approved_it_stands_behind_it() -> None:
    """Each of several people, too; and who has looked at it afterwards, or has cancelled it, does not."""
    (one,) = found(
        ("proposed", PROPOSED | {"person": "anna"}),
        ("approved", {"person": "bert"}),
        ("decided", {"verdict": "approved", "person": "carla"}),
        ("decided", {"verdict": "approved", "party": "peer"}),
        STARTED,
        ("cancelled", {"person": "dora"}),
        ("reviewed", {"person": "emil", "text": "the ward had asked"}),
    ).values()
    assert one.people == {"anna", "bert", "carla"}
    assert one.reviews == [("2026-03-01T12:00:07+00:00", "emil", "the ward had asked")]


@pytest.mark.parametrize(
    ("last", "has_ended"),
    [
        (("finished", {}), True),
        (("failed", {}), True),
        (("cancelled", {}), True),
        (("decided", {"verdict": "refused"}), True),
        (("decided", {"verdict": "approved"}), False),
        (("interrupted", {}), False),
    ],
)
def test_whether_it_has_ended(last: Kinds, has_ended: bool) -> None:
    for more in ((), (("reviewed", {"person": "emil", "text": "x"}),)):
        (one,) = found(("proposed", PROPOSED), STARTED, last, *more).values()
        assert one.has_ended == has_ended

"""The register of breaches, read off a log, and what a draft of the notice says and leaves to people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from parties.node.governance.activities import ArchivedJob, Job, Log
from parties.node.governance.breaches import TERM, Breach, draft, named, read
from parties.node.settings import NodeFile
from parties.operator.interface import AuditEntry
from smc.errors import InputError

KNOWN = datetime(2026, 3, 1, 12, tzinfo=UTC)
FOUND = {"breach": "ab12", "step": "found", "known": KNOWN.isoformat(), "tables": ["t"], "text": "a stick was lost"}
CONTROLLER: dict[str, Any] = {"name": "Clinic A", "contact": "a@b.example", "officer": "dpo@b.example"}


NOTHING_KNOWN = """\
# Notification of a personal data breach (GDPR art. 33)

Draft of 2026-03-01T12:00+00:00, breach ab12: 72 hours left to tell the authority.

## Controller

TODO: name and contact ([controller] in party.toml)

## Nature of the breach

a stick was lost. Known since 2026-03-01T12:00+00:00.

Table t:

- people: not said; categories: not said
- data of art. 9: not said
- joint jobs that read it: 0, with nobody; published: nothing
TODO: approximate number of people, and of rows

## Likely consequences

TODO: what people may have to fear; art. 34: are they told, and when?

## Measures

- 2026-03-01T14:00 measure: measure!
TODO: what was done against it and its consequences, and what will be
"""


def entry(kind: str, number: int = 1, **fields: Any) -> AuditEntry:
    at = (KNOWN + timedelta(hours=number)).isoformat()
    return AuditEntry(number=number, at=at, kind=kind, job=None, fields=fields, hash="")


def breach(*steps: str) -> Breach:
    more = [entry("breach", number, breach="ab12", step=step, text=f"{step}!") for number, step in enumerate(steps, 2)]
    return read([entry("note", text="x"), entry("breach", **FOUND), entry("published", table="t"), *more])["ab12"]


def test_a_breach_is_what_the_log_says_of_it() -> None:
    one = breach("measure", "closed")
    assert (one.id, one.known, one.tables, one.what) == ("ab12", KNOWN, ["t"], "a stick was lost")
    assert [(step, said) for _, step, said in one.steps[1:]] == [("measure", "measure!"), ("closed", "closed!")]
    assert one.due == KNOWN + timedelta(hours=72)
    assert one.has("closed") > one.has("authority told")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("steps", "hours", "state"),
    [
        ((), 0, "72 hours left to tell the authority"),
        ((), 72, "0 hours left to tell the authority"),
        ((), 72.1, "LATE by 0 hours"),
        ((), 75, "LATE by 3 hours"),
        (("authority told",), 75, "open, the authority was told"),
        (("closed",), 75, "closed"),
        (("authority told", "closed"), 1, "closed"),
    ],
)
def test_where_it_stands(steps: tuple[str, ...], hours: float, state: str) -> None:
    one, now = breach(*steps), KNOWN + timedelta(hours=hours)
    assert one.state(now) == state
    text = draft(one, NodeFile(), Log(), now)
    assert f"breach ab12: {state}." in text
    assert ("the reasons for the delay" in text) == (hours > 72 and "authority told" not in steps)


def test_a_breach_is_named_by_the_beginning_of_its_number() -> None:
    known = {name: Breach(name, KNOWN, []) for name in ("ab12", "ab34", "cd56")}
    assert named(known, "CD") is known["cd56"]
    with pytest.raises(InputError, match="there is no breach ef: smc breach list"):
        named(known, "ef")
    with pytest.raises(InputError, match="ab is the beginning of 2 breaches"):
        named(known, "ab")


def test_a_draft_has_what_the_file_and_the_log_know() -> None:
    jobs = {
        name: Job({"table": table, "peer": peer}, "", started)
        for name, table, peer, started in (
            ("1", "t", "bob", True), ("2", "t", "lab", True), ("3", "t", "uni", False), ("4", "u", "ward", True),
        )
    }  # fmt: skip
    archived = [ArchivedJob("", table, peer, "id3") for table, peer in (("t", "cns"), ("u", "xyz"))]
    log = Log(archived, jobs, [], [entry("published", what=f"rows of {table}", table=table) for table in ("t", "u")])
    text = draft(breach("measure"), NodeFile(controller=CONTROLLER), log, KNOWN + TERM)  # type: ignore[arg-type]
    assert "Clinic A, a@b.example; protection officer: dpo@b.example" in text
    assert "TODO: name and contact" not in text
    assert "a stick was lost. Known since 2026-03-01T12:00+00:00." in text
    assert "- joint jobs that read it: 3 (1 archived), with bob, cns, lab; published: 2026-03-01 rows of t" in text
    assert "measure: measure!" in text
    assert "archived jobs, not counted" not in text
    log.archived.append(ArchivedJob("", "", "old", "id3"))
    assert "- TODO: 1 archived jobs, not counted, of which" in draft(breach(), NodeFile(), log, KNOWN)
    assert draft(breach("measure"), NodeFile(), Log(), KNOWN) == NOTHING_KNOWN

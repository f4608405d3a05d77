"""What a log tells of jobs: what protects a result, what a job that ended otherwise counts as."""

from __future__ import annotations

from typing import Any

import pytest

from parties.node.governance.activities import by_purpose, read
from parties.operator.interface import AuditEntry

PROPOSED: dict[str, Any] = {"purpose": "p", "table": "t", "protocol": "id3", "parameters": {}, "exact": ""}
USE = {"mechanism": "Laplace", "epsilon": 1.0, "delta": 0.0, "adjacency": "add-remove", "times": 1}


def entries(*kinds: tuple[str, dict[str, Any]]) -> list[AuditEntry]:
    return [
        AuditEntry(number=number, at="2026-03-01T12:00:00+00:00", kind=kind, job="j", fields=fields, hash="")
        for number, (kind, fields) in enumerate(kinds, 1)
    ]


SPENT = {"table": "t", "peer": "b", "counts_from": "2026-01-02T03:04:05+00:00", "uses": [USE]}
STARTED: tuple[str, dict[str, Any]] = ("started", {})


@pytest.mark.parametrize(
    ("changes", "more", "protection"),
    [
        ({}, [], "none"),
        ({"parameters": {"k": 1, "l": 1.0, "t": 1.0}}, [], "none"),
        ({"parameters": {"k": 2}}, [], "rules"),
        ({"parameters": {"l": 1.5}}, [], "rules"),
        ({"parameters": {"t": 0.5}}, [], "rules"),
        ({"exact": "it tells"}, [], "exact"),
        ({"exact": "it tells"}, [("spent", SPENT)], "noise"),
        ({}, [("finished", {"repeats": "earlier", "opened": {}})], "noise"),
        ({}, [("finished", {"repeats": "", "opened": {}})], "none"),
    ],
)
def test_what_protects_a_result(changes: dict[str, Any], more: list[tuple[str, Any]], protection: str) -> None:
    log = read(entries(("proposed", PROPOSED | changes), STARTED, *more))
    assert log.jobs["j"].protection == protection
    assert len(log.charges) == sum(kind == "spent" for kind, _ in more)


@pytest.mark.parametrize(
    ("more", "end", "by"),
    [
        ([], "", ""),
        ([("decided", {"verdict": "approved", "party": "us", "by": "operator"})], "", ""),
        ([("decided", {"verdict": "refused", "party": "us", "by": "budget"})], "refused", "budget"),
        ([("decided", {"verdict": "refused", "party": "peer", "by": "rule x"})], "refused", "the peer"),
        ([STARTED, ("failed", {})], "failed", ""),
        ([STARTED, ("cancelled", {})], "cancelled", ""),
    ],
)
def test_how_a_job_ended(more: list[tuple[str, Any]], end: str, by: str) -> None:
    log = read(entries(("proposed", PROPOSED), *more))
    assert (log.jobs["j"].end, log.jobs["j"].refused_by) == (end, by)
    assert bool(by_purpose(log)) == (STARTED in more)  # what was never begun is no processing


def test_entries_of_no_job_and_of_an_unknown_one_are_passed_over() -> None:
    stray = [entry.model_copy(update={"job": job}) for entry in entries(STARTED) for job in (None, "other")]
    assert not read(stray).jobs

"""The peer asks six jobs whether we have at least so many rows: what it learns of their number.

Before: a session counted the rows first, and failed where they were fewer than the job's `least_rows`: "an error in its
own input", nothing charged. Six jobs found 7 of 64 possible numbers. After: the job's bound is compared with the one in
party.toml before data are touched. The six answers are the same for every table: what is found is the declared bound.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.link.identity import Identity, create
from tests.support.ledgers import SCHEMA
from tests.support.outcomes import inputs, outcome, proposed

HEADER = ",".join(SCHEMA.attributes) + "\n"
ROW = "weak,no,yes\n"
JOB = {"protocol": "regress joint", "method": "output", "lambda": 0.1, "epsilon": 1.0}
MOST = 64


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Identity, Identity]:
    directory = tmp_path_factory.mktemp("identities")
    return create("a", [], directory), create("b", [], directory)


def answers(directory: Path, rows: int, identities: tuple[Identity, Identity], **public: Any) -> list[str]:
    """What the peer hears of six jobs, by which it halves what is left, as the answers say; and its last guess."""
    ours = inputs(directory / "own", HEADER + rows * ROW, SCHEMA, max_rows=MOST, **public)
    theirs = inputs(directory / "peer", HEADER + MOST * ROW, SCHEMA, 1, max_rows=MOST, least_rows=MOST)
    low, high, heard = 0, MOST, []
    for _ in range(6):
        asked = (low + high) // 2
        job = proposed({**JOB, "least_rows": asked}, theirs)
        answer = job.task.misfit(ours)
        if answer is None:
            seen = outcome(job, (ours, theirs), identities)
            answer = f"{'computes' if seen.met else 'fails'}, {seen.told}"
        heard.append(answer)
        low, high = (asked, high) if answer.startswith("computes") else (low, asked)
    return [*heard, f"{low} to {high - 1}"]


def test_six_jobs_learn_the_declared_bound(tmp_path: Path, identities: tuple[Identity, Identity]) -> None:
    """Nothing declared: every job is a misfit, and all tables look as if they had no rows."""
    found = {rows: answers(tmp_path, rows, identities) for rows in (7, 8, 40)}
    assert found[7] == found[8] == found[40]
    assert found[7][-1] == "0 to 0"
    assert found[7][0] == "least_rows of the job must be at most 0, the public bound of the table here"


def test_six_jobs_between_the_bound_and_the_rows(tmp_path: Path, identities: tuple[Identity, Identity]) -> None:
    """At most 5 rows may be asked for: that is what is found, of 7 rows and of 40."""
    found = [answers(tmp_path, rows, identities, least_rows=5) for rows in (7, 40)]
    assert found[0] == found[1]
    assert found[0][-1] == "5 to 5"


def test_an_owner_whose_rows_are_fewer_than_declared_tells_no_more(
    tmp_path: Path, identities: tuple[Identity, Identity]
) -> None:
    """The declaration is wrong: the table is away, for whatever a job asks, and how many there are is not found."""
    found = [answers(tmp_path, rows, identities, least_rows=50) for rows in (7, 40)]
    assert found[0] == found[1]
    assert {one.partition(",")[0] for one in found[0][:-1]} == {"fails"}


def test_more_rows_than_declared_are_not_bisected_by_max_rows(
    tmp_path: Path, identities: tuple[Identity, Identity]
) -> None:
    """Before: rows were held against the job's `max_rows`, which may be above the table's."""
    theirs = inputs(tmp_path / "peer", HEADER + ROW, SCHEMA, 1, max_rows=4)
    seen = []
    for most in (8, 16, 64):
        job = proposed({"protocol": "release count", "where": "wind = weak", "epsilon": 1.0, "max_rows": most}, theirs)
        ours = inputs(tmp_path / "own", HEADER + 10 * ROW, SCHEMA, max_rows=4)
        assert job.task.misfit(ours) is None
        seen.append(outcome(job, (ours, theirs), identities))
    assert len(set(seen)) == 1
    assert not seen[0].met

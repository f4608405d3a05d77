"""A party that leaves the protocol in one message or step: each outcome is the one that is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support import cheater_table
from tests.support.cheater_table import ALLOWED, BEGIN, END, EXPECTED, PAGE, ROWS, SHAPES, Row, row_of
from tests.support.cheaters import (
    CASES,
    CHANGES,
    DEVIATIONS,
    Case,
    Outcome,
    Seen,
    arena,
    deviated,
    honest_run,
    kind_of,
    messages_of,
    sent_instead,
)

SEED = b"cheaters" * 2
FLIPS = 3  # places


@pytest.fixture(scope="module", autouse=True)
def groups() -> Iterator[None]:
    with arena():
        yield


def trials(case: Case) -> Iterator[tuple[Row, str, Outcome]]:
    """Yield what is seen of every change of the first and last message of each label, and of every deviation."""
    for message in messages_of(case, SEED):
        row = row_of(case, kind_of(case, message.label))
        for change in CHANGES:
            for place in range(FLIPS if change == "flip" else 1):
                if outcome := sent_instead(case, message, change, SEED, place):
                    yield row, f"{change} of {message}", outcome
    for name, deviation in DEVIATIONS.items():
        for party in (0, 1):
            if deviation.is_in(case, party):
                yield row_of(case, name), f"{name} by {party}", deviated(case, party, name, SEED)


def outcomes(case: Case) -> dict[Row, set[Seen]]:
    """Return what is seen of each row; AssertionError if anything is not what is declared."""
    undeclared: list[str] = []
    found: dict[Row, set[Seen]] = {}
    for row, what, outcome in trials(case):
        is_shape = what.startswith(SHAPES)
        if outcome.seen not in (ALLOWED["caught"] if is_shape else ALLOWED[row.verdict]):
            undeclared.append(f"{what}: {outcome.seen}, declared {row.verdict}")
        if not is_shape:
            found.setdefault(row, set()).add(outcome.seen)
            if outcome.seen == "caught" and not re.search(row.check, outcome.error):
                undeclared.append(f"{what}: caught by another check: {outcome.error}")
    assert not undeclared, f"{case}: {undeclared}"
    return found


# Together these have every kind of message.
SHORT = (
    Case("yao", "extension"),
    Case("yao", "extension", "few"),
    Case("yao", "trapdoor"),
    Case("mixed", "ferret"),
    Case("lean", "iknp"),
    Case("gmw", "softspoken2"),
    Case("gmw", "softspoken8", "table"),
    Case("yao", "ferret"),
)


def test_outcomes_are_those_declared() -> None:
    seen: dict[Row, set[Seen]] = {}
    for case in SHORT:
        for row, found in outcomes(case).items():
            seen.setdefault(row, set()).update(found)
    assert set(seen) == set(ROWS)
    assert not [row.what for row, found in seen.items() if row.is_seeded and not EXPECTED[row.verdict] <= found]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=str)
def test_outcomes_of_every_engine_and_kind_of_ot(case: Case) -> None:
    outcomes(case)


def test_every_message_has_a_row_and_every_row_a_message() -> None:
    named = {row_of(case, what) for what, cases in cheater_table.occurrences().items() for case in cases}
    assert named == set(ROWS)


def test_the_page_has_the_table() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == cheater_table.section()


def test_a_cheater_of_whom_nothing_is_declared_is_missed() -> None:
    with pytest.raises(LookupError, match="has 0 rows"):
        row_of(CASES[0], "ot.unheard")


def test_the_program_has_the_result_of_its_inputs() -> None:
    """The honest result that all others are compared with is alike for all engines, but for the random bits."""
    results = [honest_run(case, SEED)[0] for case in CASES]
    assert len({result[0].tobytes() for result in results}) == 1
    assert len({result[2].tobytes() for result in results if len(result) > 2}) == 1

"""The state of a job as a function of what the two parties have said: a table."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import pytest

from parties.node.log.statement import MAX_RESULT_BYTES, Statement, state, takes_back, why
from parties.operator.interface import ENDED
from smc.errors import ProtocolError
from tests.support.statements import says


@pytest.mark.parametrize(
    ("ours", "theirs", "running", "begun", "expected"),
    [
        (says(), None, False, False, "waiting"),  # the peer has not heard of it
        (says(), says("waiting"), False, False, "waiting"),
        (says("waiting"), says(), False, False, "waiting"),
        (says(), says(), False, False, "queued"),
        (says(), says(), True, False, "running"),
        (says(), says(), True, True, "running"),
        (says(), says(), False, True, "interrupted"),
        (says("refused"), says(), False, False, "refused"),
        (says(), says("refused"), False, False, "refused"),
        (says(), says("refused"), True, True, "refused"),
        (says(end="cancelled"), says("waiting"), False, False, "cancelled"),
        (says(), says(end="cancelled"), True, True, "cancelled"),
        (says(end="cancelled"), says("refused"), False, False, "cancelled"),
        (says(end="failed"), says(end="cancelled"), False, True, "failed"),
        (says(), says(end="failed"), False, True, "failed"),
        (says(end="computed"), says(), False, True, "interrupted"),  # the peer lacks the last level
        (says(end="computed"), says(), True, True, "running"),
        (says(end="computed"), says(end="failed"), False, True, "failed"),
        (says(end="computed"), says(end="computed"), False, True, "done"),
        (says(end="computed"), says(end="computed"), True, True, "done"),
    ],
)
def test_the_state_follows_from_both_statements(
    ours: Statement, theirs: Statement | None, running: bool, begun: bool, expected: str
) -> None:
    assert state([ours, theirs], running, begun) == expected


def test_both_parties_see_the_same_end() -> None:
    """Whatever the two say: if one of them sees a job ended, so does the other, in the same way."""
    every = [
        says(v, e) for v, e in product(("waiting", "approved", "refused"), ("", "cancelled", "failed", "computed"))
    ]
    for ours, theirs in product(every, every):
        left, right = state([ours, theirs], False, True), state([theirs, ours], True, True)
        assert left == right or not {left, right} & set(ENDED)


def test_no_session_without_both_consents() -> None:
    for verdict in ("waiting", "refused"):
        for begun, running in product((False, True), (False, True)):
            if not running:
                assert state([says(), says(verdict)], running, begun) not in ("queued", "interrupted")
                assert state([says(verdict), says()], running, begun) not in ("queued", "interrupted")


def test_the_reason_names_who_gave_it() -> None:
    assert why([says(), says("refused", why="not now")], ["", "bert"]) == "bert: not now"
    assert why([says("refused", why="not now"), says()], ["", "bert"]) == "not now"
    assert why([says(), says()], ["", "bert"]) == ""


def test_a_job_may_have_more_participants_than_two() -> None:
    """A third one that makes the statement of another changes no state; while it has made none, the job waits."""
    every = [None, *(says(v, e) for v, e in product(("waiting", "approved", "refused"), ("", "failed", "computed")))]
    for statements in product(every, repeat=3):
        for running, begun in product((False, True), repeat=2):
            found = state(statements, running, begun)
            assert {state(order, running, begun) for order in permutations(statements)} == {found}
            assert state([*statements, statements[1]], running, begun) == found
            made = [one for one in statements if one is not None]
            if found in ("queued", "interrupted"):
                assert [one.verdict for one in made] == ["approved"] * 3
            assert (found == "done") == ([one.end for one in made] == ["computed"] * 3)
    assert why([says(), says(), says("refused", why="not now")], ["", "bert", "cleo"]) == "cleo: not now"


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "perhaps"},
        {"end": "won"},
        {"why": "x" * 501},
        {"more": 1},
        {"signed": {"result": {}, "head": {"number": -1, "hash": "0" * 64}, "signature": "0" * 128}},
        {"proposal": {}},
    ],
)
def test_an_unreadable_statement_is_refused(change: dict[str, Any]) -> None:
    fields = says().model_dump(mode="json")
    assert Statement.model_validate(fields) == says()
    with pytest.raises(ProtocolError, match="unreadable"):
        Statement.from_bytes(__import__("json").dumps(fields | change).encode())


def test_statements_survive_the_wire() -> None:
    for statement in (says(), says("refused", why='"<é'), says(end="computed")):
        assert Statement.from_bytes(statement.to_bytes()) == statement


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"\xff", b"null"])
def test_bytes_that_are_no_statement_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        Statement.from_bytes(data)


def test_a_result_without_a_signature_is_none() -> None:
    done = says(end="computed").model_copy(update={"signed": None})
    assert state([done, done], False, True) == "interrupted"


def test_of_two_reasons_the_peers_is_told() -> None:
    assert why([says(end="cancelled", why="ours"), says(end="failed", why="theirs")], ["", "bert"]) == "bert: theirs"


def test_what_was_said_is_not_unsaid() -> None:
    """Along a path of statements each pair that goes forward is allowed; between any two, not both ways."""
    forward = [says("waiting"), says(), says(end="computed"), says(end="failed")]
    for earlier, later in combinations(forward, 2):
        assert not takes_back(earlier, later)
        assert takes_back(later, earlier)
    assert takes_back(says("refused"), says())
    assert not takes_back(says(), says("refused"))
    assert takes_back(says(end="cancelled"), says(end="failed"))
    assert takes_back(says(end="failed"), says(end="cancelled"))
    settled = says("refused").model_copy(update={"settled": True})
    assert takes_back(settled, says("refused"))
    waits = says().model_copy(update={"waits": "table"})
    assert not takes_back(waits, says())
    assert not takes_back(says(), waits)


def test_what_is_signed_is_short() -> None:
    signed = says(end="computed")
    assert signed.signed is not None
    for size, fits in ((MAX_RESULT_BYTES - 20, True), (MAX_RESULT_BYTES + 1, False)):
        long = signed.model_copy(update={"signed": signed.signed.model_copy(update={"result": {"x": "y" * size}})})
        if fits:
            assert Statement.from_bytes(long.to_bytes()) == long
        else:
            with pytest.raises(ProtocolError, match="more than 8192 bytes"):
                Statement.from_bytes(long.to_bytes())


def test_of_what_is_wrong_with_a_statement_a_line_is_told() -> None:
    """The peer may have named it."""
    start = "the peer's statement about a job is unreadable: "
    with pytest.raises(ProtocolError) as caught:
        Statement.from_bytes(b'{"' + b"x" * 1000 + b'": 1}')
    assert str(caught.value).startswith(start)
    assert len(str(caught.value)) == len(start) + 300

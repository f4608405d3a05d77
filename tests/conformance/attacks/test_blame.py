"""What a peer sends wrongly is the peer's fault: the honest side ends with 3 or with what both have, in every kind.

A lie may change what is sent at a reveal or at any other step. Where the liar does not believe its own lie, the
two results differ, and no honest side shows one; where it does, both have the same result, which can be, or refuse the
job alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from parties.jobs import kinds
from parties.link.identity import Identity, create
from smc.agreement import DIGEST_BYTES
from smc.errors import JointRefusalError
from tests.support.blame import Ending, Lie, OpenedOnce, endings
from tests.support.blame_cases import CASES
from tests.support.examples import EXPLORING

REFUSED = JointRefusalError.__name__
DIFFERENT = "JobMismatchError: the two parties compute different functions"
# Their first reveal is no part of the result: what it was told wrongly may lead to the same one.
# A fuzzy match drops the places of dummies, and a party that learns alone has nothing to compare.
NO_RESULT = ("release triangles", "publish joint-table", "align fuzzy", "classify")

ALIKE = (  # sums or decisions of one form: `make test` takes others of them
    "release histogram", "release table", "release sum", "release median exact", "release top exact",
    "release edges exact", "evaluate auc", "quantile exact", "scorecard", "survive curve",
    "test chi2", "test proportions", "test trend",
)  # fmt: skip
NAMES = [pytest.param(name, marks=pytest.mark.campaign if name in ALIKE else ()) for name in CASES]


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    place = tmp_path_factory.mktemp("identities")
    return {name: create(name, [], place) for name in ("alice", "bob")}


@pytest.fixture
def kept() -> Iterator[OpenedOnce]:
    with OpenedOnce() as kept:
        yield kept


def test_every_kind_is_lied_to() -> None:
    assert {case.fields["protocol"] for case in CASES.values()} == set(kinds.BUILT_IN)


def changed(payload: bytes, how: int, rng: np.random.Generator) -> bytes:
    """Another message of the same length: all bits turned, all 1, all 0, one bit turned, anything."""
    found = np.frombuffer(payload, np.uint8).copy()
    if how == 0:
        found ^= 0xFF
    elif how in (1, 2):
        found[:] = 0xFF if how == 1 else 0
    elif how == 3:
        found[rng.integers(len(found))] ^= 1 << int(rng.integers(8))
    else:
        found ^= rng.integers(0, 256, len(found), dtype=np.uint8)
    return found.tobytes()


def lies(sent: list[tuple[str, int]], seed: int) -> Lie:
    """A lie at one reveal, at all from one on, or at another step of those that are sent."""
    rng = np.random.default_rng(seed)
    where = int(rng.integers(4))
    steps = sorted({step for step, size in sent if size})
    step = "reveal" if where < 3 and "reveal" in steps else str(rng.choice(steps))
    first = int(rng.choice([number for number, (name, _) in enumerate(sent) if name == step]))
    how = int(rng.integers(5))

    def lie(number: int, name: str, payload: bytes) -> bytes:
        hit = name == step and payload and (number >= first if where == 0 else number == first)
        return changed(payload, how, rng) if hit else payload

    return lie


def fair(honest: Ending, other: Ending) -> bool:
    """Whether the honest side ended as it may: with the peer's fault, or as the peer did.

    A peer may also say that it computes another function, before both know that they have the same code.
    """
    if honest.code == 3 or DIFFERENT in honest.line:
        return True
    alike = (honest.code, honest.shown) == (other.code, other.shown) or honest.line == other.line != ""
    return alike and (honest.code == 0 or honest.line.startswith(REFUSED))


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_lie_is_the_liars_fault(name: str, tmp_path: Path, identities: dict[str, Identity], kept: OpenedOnce) -> None:
    """`make test` has each party as the liar once, of every second kind the first one as who believes it."""
    true = endings(CASES[name], tmp_path, identities, kept=kept)
    assert [end.code for end in true] == [0, 0], [end.line for end in true]
    for seed in range(8) if EXPLORING else ((0, 3), (1, 2))[list(CASES).index(name) % 2]:
        liar, believed = seed & 1, bool(seed & 2)
        lie = lies(true[liar].sent, 1000 * sorted(CASES).index(name) + seed)
        both = endings(CASES[name], tmp_path, identities, lie, liar, believed, kept=kept)
        assert fair(both[1 - liar], both[liar]), (seed, both[1 - liar].line, both[liar].line)


@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_reveal_turned_round_is_noticed(name: str, tmp_path: Path, identities: dict[str, Identity]) -> None:
    """One bit of the first reveal, told to the peer alone: the results differ, and the honest side says so.

    `make test` has either party as the liar of every second kind: the results are compared in one place for all.
    """
    for liar in (0, 1) if EXPLORING else (list(CASES).index(name) % 2,):
        told: list[int] = []

        def lie(number: int, step: str, payload: bytes, told: list[int] = told) -> bytes:
            if step != "reveal" or told:
                return payload
            told.append(number)
            head, share = payload[:DIGEST_BYTES], payload[DIGEST_BYTES:]
            return head + bytes([share[0] ^ 1]) + share[1:]

        both = endings(CASES[name], tmp_path, identities, lie, liar)
        assert told
        assert fair(both[1 - liar], both[liar]), both[1 - liar]
        assert both[1 - liar].code == 3 or name.startswith(NO_RESULT), both[1 - liar]


@pytest.mark.parametrize("name", ["millionaires typed", "release count", "publish joint"])
def test_a_message_of_another_length_or_label(
    name: str, tmp_path: Path, identities: dict[str, Identity], kept: OpenedOnce
) -> None:
    true = endings(CASES[name], tmp_path, identities, kept=kept)
    for at in (0, len(true[1].sent) // 2, len(true[1].sent) - 1):
        for change in (lambda payload: payload[:-1], lambda payload: payload + b"x", lambda payload: b""):

            def lie(number: int, step: str, payload: bytes, at: int = at, change: object = change) -> bytes:
                return change(payload) if number == at else payload  # type: ignore[operator]

            honest, _ = endings(CASES[name], tmp_path, identities, lie, 1, kept=kept)
            assert honest.code == 3, (at, honest)

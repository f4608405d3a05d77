"""A holder's session with two nodes: it gives nothing unless both ask alike, and pays before it says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parties.base.canonical import canonical
from parties.jobs.holders import SIZE_BYTES
from parties.jobs.kind import Step
from parties.node.links.giving import FITS, TOO_MUCH, BothNodes, Turn, give
from protocols.shares import SEED_BYTES, mask
from smc.errors import JobMismatchError, ProtocolError

JOB: Any = SimpleNamespace(task=SimpleNamespace(states=SimpleNamespace(decode=lambda state: state)))
NUMBERS = np.array([3, 0, 5], dtype=np.int64)
Messages = list[dict[str, Any]]
START, STEP, GO = {"start": 0}, {"step": 0, "size": 1, "words": "", "state": None}, {"go": 0}
QUESTION, END = {"number": 0}, {"end": True, "state": None}


class Channel:
    """A node that has sent all its messages, and keeps what it gets."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.waiting = []
        for message in messages:
            data = canonical(message).encode()
            self.waiting += [len(data).to_bytes(SIZE_BYTES, "little"), data]
        self.got: list[tuple[str, bytes]] = []

    def receive(self, step: str, size: int) -> bytes:
        data = self.waiting.pop(0)
        assert len(data) == size, step
        return data

    def send(self, step: str, data: bytes) -> None:
        self.got.append((step, bytes(data)))


def given(first: Messages, second: Messages, fits: bool = True) -> tuple[list[Any], list[Any]]:
    """What the holder has done, and what each node got, if they send these messages."""
    done: list[Any] = []
    channels = [Channel(first), Channel(second)]

    def go(step: int) -> bytes:
        done.append(("paid", step, sum(len(channel.got) for channel in channels)))
        return b"word"

    def shown(step: Step) -> bool:
        done.append(step.number)
        return fits

    turn = Turn(lambda step: done.append(("start", step)), shown, go)
    try:
        give(BothNodes([SimpleNamespace(channel=channel) for channel in channels]), JOB, NUMBERS, turn)  # type: ignore[misc]
    except (ProtocolError, JobMismatchError) as error:
        done.append(error)
    return done, [channel.got for channel in channels]


def test_a_holder_pays_before_its_word_leaves_and_gives_shares_of_its_numbers() -> None:
    messages: Messages = [START, QUESTION, STEP, GO, END]
    done, (first, second) = given(messages, messages)
    assert done == [("start", 0), 0, ("paid", 0, 4)]  # share and fits have left to each, no word
    assert [step for step, _ in first] == ["share", "fits", "paid size", "paid"]
    assert (first[1][1], first[3][1]) == (FITS, b"word")
    assert len(first[0][1]) == SEED_BYTES
    seed, masked = first[0][1], np.frombuffer(second[0][1], dtype="<u8")
    shares = masked + mask(seed, canonical(QUESTION).encode(), 0, len(NUMBERS))
    assert shares.astype(np.int64).tolist() == NUMBERS.tolist()


def test_a_step_whose_bits_do_not_fit_is_not_paid() -> None:
    done, (first, second) = given([START, STEP, END], [START, STEP, END], fits=False)
    assert first == second == [("fits", TOO_MUCH)]
    assert done == [("start", 0), 0]


@pytest.mark.parametrize(
    ("first", "second", "acts"),
    [
        ([START], [{"start": 1}], 0),
        ([START, STEP], [START, {**STEP, "state": {"attribute": 0}}], 1),
        ([START, STEP, GO], [START, STEP, {"go": 1}], 2),
        ([START, QUESTION], [START, {"number": 1}], 1),
        ([START, STEP, END], [START, STEP, {"end": True, "state": 7}], 2),
    ],
)
def test_nodes_that_differ_get_nothing_more(first: list[Any], second: list[Any], acts: int) -> None:
    done, got = given(first, second)
    assert isinstance(done[-1], JobMismatchError)
    assert len(done) == acts + 1
    assert not any(step in ("share", "paid") for sent in got for step, _ in sent)


@pytest.mark.parametrize("wrong", [{"go": 1}, {"go": 0}, {"number": 1}, {"tree": 3}, {"step": "x"}])
def test_what_does_not_come_next_is_refused(wrong: dict[str, Any]) -> None:
    """A step is paid only once it was shown, and questions come in turn."""
    done, got = given([START, wrong], [START, wrong])
    assert isinstance(done[-1], ProtocolError)
    assert not any(step in ("share", "paid") for sent in got for step, _ in sent)

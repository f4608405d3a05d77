"""What waits to be sent: bounded, admitted, discarded."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.link.outbox import Outbox, OutboxClosedError, OutboxStuckError
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow


def test_outbox_bounds_bytes_admits_one_large_message_and_closes():
    outbox = Outbox(10)
    outbox.admit(0.01)
    for _ in range(3):
        outbox.append(b"12345")
    with pytest.raises(OutboxStuckError):
        outbox.admit(0.01)
    assert next(outbox) == b"12345"
    with pytest.raises(OutboxStuckError):
        outbox.admit(0.01)
    assert next(outbox) == b"12345"
    outbox.admit(0.01)
    outbox.close()
    with pytest.raises(OutboxClosedError):
        outbox.admit(0.01)
    assert list(outbox) == [b"12345"]


def test_outbox_discards_on_demand():
    outbox = Outbox(10)
    outbox.append(b"gone")
    outbox.close(discard=True)
    assert list(outbox) == []


def test_only_a_frame_that_can_be_sent_wakes_the_sending_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    outbox = Outbox(100)
    monkeypatch.setattr(outbox._due, "notify", lambda: woken.append(outbox._waiting))
    for _ in range(3):
        outbox.append(b"12")
    assert woken == [2]
    assert next(outbox) == b"12"
    outbox.append(b"34")  # behind a frame under way
    assert woken == [2]
    outbox._sent()
    assert woken == [2, 6]


@given(sizes=st.lists(st.sampled_from([0, 1, 9, 10, 11, 40]), max_size=12), limit=st.sampled_from([1, 10, 30]))
def test_a_sender_that_waits_for_room_gets_it(sizes: list[int], limit: int) -> None:
    outbox, messages = Outbox(limit), [bytes([number]) * size for number, size in enumerate(sizes)]

    def send() -> None:
        try:
            for message in messages:
                outbox.admit(PATIENCE)
                outbox.append(message)
        finally:
            outbox.close()

    sender = threading.Thread(target=send)
    sender.start()
    assert list(outbox) == messages
    sender.join(PATIENCE)
    assert not sender.is_alive()


@pytest.mark.parametrize("discard", [False, True])
def test_the_end_wakes_a_sender_that_waits_for_room(discard: bool) -> None:
    ends: list[bool] = []
    outbox = Outbox(1)
    outbox.append(b"full")

    def send() -> None:
        with pytest.raises(OutboxClosedError):
            outbox.admit(PATIENCE)
        ends.append(True)

    sender = threading.Thread(target=send)
    sender.start()
    outbox.close(discard)
    sender.join(PATIENCE)
    assert ends == [True]

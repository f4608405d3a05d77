"""What waits to be sent: bounded, admitted, discarded."""

from __future__ import annotations

import pytest

from parties.link.outbox import Outbox, OutboxClosedError, OutboxStuckError

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

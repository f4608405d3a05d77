"""How much may be under way to a party that does not read: as much as it said."""

from __future__ import annotations

import threading
import time

import pytest

from parties.link.settings import LinkSettings, require_link
from smc.errors import InputError
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

MIB = 2**20
FRAME = 64 * 1024
TOTAL = 32 * MIB


def taken(parties, window: int) -> int:
    """Bytes that gRPC takes from a sender whose peer reads nothing."""
    read = threading.Event()

    def send(link):
        outbox = link.channel._stream.outbox
        for _ in range(TOTAL // FRAME):
            link.channel.send("x", bytes(FRAME))
        left, since = outbox._waiting, time.monotonic()
        while time.monotonic() < since + 0.5:  # until nothing has moved for so long
            if outbox._waiting != left:
                left, since = outbox._waiting, time.monotonic()
            time.sleep(0.01)
        read.set()
        return TOTAL - left

    def wait(link):
        assert read.wait(PATIENCE)
        for _ in range(TOTAL // FRAME):
            link.channel.receive("x", FRAME)

    sent, _ = parties.run(send, wait, window=window, buffer=2 * TOTAL)
    return sent


def test_the_window_is_what_may_be_under_way(parties) -> None:
    small, large = taken(parties, MIB), taken(parties, 12 * MIB)
    assert MIB // 2 <= small <= 8 * MIB  # the system keeps some, too
    assert small + 8 * MIB <= large < TOTAL


def test_the_setting_counts_in_mib(tmp_path) -> None:
    fields = {name: tmp_path / name for name in ("identity", "certificate", "peer")}
    given = LinkSettings.model_validate({**fields, "connect": "192.0.2.1:7000", "window": 16})
    assert require_link(given).window == 16 * MIB
    assert require_link(given.model_copy(update={"window": LinkSettings().window})).window == MIB


@pytest.mark.parametrize("window", [0, 65, -1])
def test_other_windows_are_refused(parties, window: int) -> None:
    with pytest.raises(ValueError, match="window"):
        LinkSettings(window=window)
    if window <= 0:
        with pytest.raises(InputError, match="window must be more than 0"):
            parties.options("alice", "bob", listen="127.0.0.1:0", window=window)

"""Repeats told as one: none is lost, and a flood is few."""

from __future__ import annotations

import io
import time

import pytest

from parties.node.events import Events
from parties.node.folding import Folding, Repeats
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

KEY = ("connected", "b")


def test_the_first_are_told_and_the_rest_is_counted() -> None:
    told: list[tuple[tuple[str, str], Repeats]] = []
    folding = Folding(lambda key, found: told.append((key, found)), 3, 3600)
    assert [folding.add(KEY, {"why": str(number)}) for number in range(10)] == [True] * 3 + [False] * 7
    assert folding.add(("connected", "c"), {}), "another peer's are folded with it"
    folding.flush()
    ((key, found),) = told
    assert (key, found.times, found.fields) == (KEY, 7, {"why": "9"})
    assert found.first <= found.last
    folding.flush()
    assert len(told) == 1


def test_the_end_of_a_window_tells_by_itself_and_the_next_is_longer() -> None:
    """However long it goes on, each is told or counted once."""
    told: list[int] = []
    alone: list[bool] = []

    def tell(_: tuple[str, str], found: Repeats) -> None:
        told.append(found.times)
        if len(told) == 1:  # at once: a busy machine could let the next window go by
            alone.append(folding.add(KEY, {}))

    folding = Folding(tell, 2, 0.05)
    found = sum(folding.add(KEY, {}) for _ in range(50))
    eventually(lambda: found + sum(told) == 51)
    assert alone == [False], "a flood that goes on is told one by one again"
    assert len(told) >= 2
    ends = folding._windows[KEY].ends  # of the next window, in which nothing is repeated
    eventually(lambda: time.monotonic() > ends)
    assert folding.add(KEY, {})


def test_windows_double_up_to_an_hour() -> None:
    folding = Folding(lambda *_: None, 0, 100.0)
    lengths = []
    for _ in range(8):
        assert not folding.add(KEY, {})
        folding.flush()
        lengths.append(folding._windows[KEY].seconds)
    assert lengths == [200.0, 400.0, 800.0, 1600.0, 3200.0, 3600.0, 3600.0, 3600.0]


def test_lines_of_a_log_are_folded() -> None:
    stream = io.StringIO()
    log = Events(stream)
    for number in range(100):
        log.log("statement refused", peer="b", error=f"error {number}")
        log.log("job", job=str(number))
    log.log_repeats()
    lines = stream.getvalue().splitlines()
    assert sum("statement refused" in line for line in lines) == 10 + 1
    assert '"times": 90' in lines[-1]
    assert sum('"event": "job"' in line for line in lines) == 100

"""Who waits says so, soon and again, and stops when it is over."""

from __future__ import annotations

import threading
import time

from parties.base.console import StatusLine


class Heard(StatusLine):
    """What is written where there is no terminal; the third line is waited for."""

    def __init__(self) -> None:
        super().__init__(None)
        self.lines: list[str] = []
        self.third = threading.Event()

    def log(self, what: str) -> None:
        self.lines.append(what)
        if len(self.lines) == 3:
            self.third.set()


def test_it_says_so_again_and_again_until_it_is_over() -> None:
    status = Heard()
    with status.waiting("for an answer", 100, first=0.001, again=0.001):
        assert status.third.wait(60)
    assert all(line.startswith("for an answer, ") and line.endswith(" s at most") for line in status.lines)
    count = len(status.lines)
    time.sleep(0.02)
    assert len(status.lines) == count


def test_the_countdown_ends_after_the_last_full_second() -> None:
    status = Heard()
    with status.waiting("for an answer", 1.52, first=0.001, again=0.01):
        time.sleep(1.2)
    assert [*dict.fromkeys(status.lines)] == ["for an answer, 2 s at most", "for an answer, 1 s at most"]


def test_what_comes_at_once_is_no_news() -> None:
    status = Heard()
    with status.waiting("for an answer", 100):
        pass
    assert status.lines == []


def test_a_long_step_is_reported_and_a_short_one_is_not() -> None:
    status = Heard()
    with status.reporting():
        status.doing("reading")
    assert status.lines == []
    with status.reporting(0.001):
        status.doing("counting marginals")
        assert status.third.wait(60)
    assert all(line.startswith("counting marginals  (") for line in status.lines[1:])

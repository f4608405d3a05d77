"""What two nodes hold does not grow with the jobs they have done: a short form of `make soak`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.support import kills
from tests.support.blame_cases import CASES
from tests.support.soak import BLOCKS, Soak, pause, said, slope, soak, started

# Quick ones, of different engines, of a table and typed, with noise and without.
QUICK = ("millionaires", "majority typed", "release count", "quantile", "test chi2")


@pytest.mark.campaign
def test_twenty_jobs_leave_no_descriptor_and_no_thread(tmp_path: Path) -> None:
    """What leaves one for every job is ahead by ten after the second ten, and fewer than half are let pass."""
    nodes = started(tmp_path)
    try:
        found = soak(nodes, {name: CASES[name] for name in QUICK}, ends=1200, most=4 * len(QUICK))
    finally:
        nodes.close()
    assert found.ended == {"done": 4 * len(QUICK)}, found.why
    for what in ("descriptors a", "descriptors b", "threads a", "threads b"):
        values = [value for value, idle in zip(found.held[what], found.idle, strict=True) if idle]
        assert max(values[-5:]) - max(values[:10]) < 5, (what, values)


def test_a_slope_is_that_of_a_line() -> None:
    rate, bound, higher = slope(range(100), [3 + 0.25 * i for i in range(100)])
    assert (rate, bound, higher) == pytest.approx((0.25, 0, BLOCKS - 1), abs=1e-9)


def test_a_slope_is_within_its_bound_as_often_as_is_said() -> None:
    """Of 1000 walks without a slope 10 are to be outside: more than 29 once in 10^6 runs, were the draws not fixed."""
    rng = np.random.default_rng(27)
    outside = 0
    for values in rng.normal(size=(1000, 10 * BLOCKS)):
        rate, bound, _ = slope(range(10 * BLOCKS), values)
        outside += abs(rate) > bound
    assert 1 <= outside <= 29


def test_a_leak_of_one_in_ten_jobs_is_told_and_a_level_or_a_step_is_not() -> None:
    rng = np.random.default_rng(28)
    noise = rng.integers(0, 3, 400)
    assert said("threads a", range(400), [20 + i // 10 + noise[i] for i in range(400)]).startswith(
        "threads a: grows: 0."
    )
    assert said("threads a", range(400), 20 + noise).startswith("threads a: does not grow")
    step = [23 + (i > 100) for i in range(200)]
    assert slope(range(200), step)[0] > slope(range(200), step)[1], "the slope alone would not do"
    assert said("threads a", range(200), step).startswith("threads a: does not grow")
    assert said("threads a", range(200), [21] * 200) == "threads a: does not grow: 0 a job, at 99% from 0 to 0"
    assert said("threads a", range(15), [20] * 15) == "threads a: nothing can be said, 15 samples are too few"


def test_pauses_leave_a_share_of_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that take nothing meanwhile have 1.5 s of 15% in 10 s; and it ends when it is to end."""
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    pause(lambda: 1.5, 0.15, 100.0, 60)
    assert 110 <= clock[0] <= 110.5
    pause(lambda: 1e9, 0.15, 100.0, 60)
    assert 160 <= clock[0] <= 160.5


def test_what_a_process_says_of_itself() -> None:
    """One that does nothing else is asked: here, what earlier tests left is freed meanwhile."""
    program = """
from tests.support.inside import inside
before = inside()
more, most = [[i] for i in range(100_000)], bytearray(50_000_000)
after = inside()
print(after["blocks"] - before["blocks"], after["malloc"] - before["malloc"])
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    blocks, megabytes = map(float, output.split())
    assert 90 < blocks < 400
    assert 45 < megabytes < 80


def test_the_first_round_and_running_jobs_are_left_out() -> None:
    found = Soak(3, seconds=[1] * 7, jobs=[1, 2, 3, 4, 5, 5, 6], idle=[True] * 4 + [False, True, True])
    for number, values in enumerate(found.held.values()):
        values += [10 * number + i for i in range(7)]
    assert found.after_jobs("memory a") == ([4, 5, 6], [3, 5, 6])
    document = found.document()
    assert document["samples"]["jobs"] == [1, 2, 3, 4, 5, 6]
    assert document["most"]["descriptors a"] == 36


def test_jobs_outlive_kills(tmp_path: Path) -> None:
    """A short form of `make kills`: sharded and noisy jobs side by side, none lost, each charged once."""
    nodes = kills.furnished(tmp_path)
    try:
        found = kills.work(nodes, 2)
    finally:
        nodes.close()
    assert found.wrong == []
    assert set(found.jobs) == {"tree", "forest", "count"}

"""Charges and windows by clocks that are wrong: what is charged stays charged for as long as a window is long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.jobs.spending import PureLoss, exact
from parties.node.budget import moments
from parties.node.budget.account import Account, Charge
from parties.node.budget.moments import AHEAD, Clock, stamp, window_end
from parties.sources.settings import BudgetSettings

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = st.integers(-3000, 3000).map(lambda days: timedelta(days=days))


def spent(counts_from: datetime, at: datetime, per: str = "month") -> float:
    budget = BudgetSettings.model_validate({"epsilon": 4, "per": per})
    charges = [Charge(counts_from, "patients", "b", "ab" * 16, (PureLoss("count", exact(1.0)),))]
    return Account("patients", budget, charges, at).spent


@given(DAYS, st.lists(DAYS, max_size=4), st.lists(DAYS, max_size=4))
def test_a_charge_counts_from_the_latest_that_is_known(
    own: timedelta, known: list[timedelta], told: list[timedelta]
) -> None:
    found = stamp(NOW + own, [NOW + one for one in known], [(NOW + one).isoformat() for one in told])
    least = max([own, *known])
    assert found >= NOW + least
    assert found <= NOW + least + AHEAD
    assert all(found >= min(NOW + one, NOW + least + AHEAD) for one in told)
    assert found == NOW + max([least, *(min(one, least + AHEAD) for one in told)])


@pytest.mark.parametrize("behind", [1, 20, 400])
def test_a_clock_that_ran_behind_frees_nothing_when_it_is_set_right(behind: int) -> None:
    """What was written by the right clock, or said by a peer whose clock is right, tells."""
    slow = NOW - timedelta(days=behind)
    assert spent(slow, NOW) == (0 if behind > 30 else 1), "by the clock alone"
    later = NOW + timedelta(days=29)
    assert spent(slow, later) == 0, "it should count for 30 days"
    assert spent(stamp(slow, [NOW - timedelta(hours=1)], []), later) == 1
    said = spent(stamp(slow, [], [NOW.isoformat(timespec="seconds")]), later)
    assert said == (1 if timedelta(days=behind) <= AHEAD else 0)


@pytest.mark.parametrize("said", ["", "yesterday", "2026-03-01T00:00:00", "9999-12-31T23:59:59+00:00", None, "-1"])
def test_what_a_peer_says_that_is_no_moment_counts_for_nothing(said: str | None) -> None:
    assert stamp(NOW, [], [said]) == NOW


def test_a_peer_makes_its_charge_count_a_month_longer_at_most() -> None:
    assert stamp(NOW, [], ["9000-01-01T00:00:00+00:00"]) == NOW + AHEAD


def test_a_clock_that_is_set_ahead_ends_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, ticks = SimpleNamespace(now=lambda zone: moment), 100.0
    moment = NOW
    monkeypatch.setattr(moments, "datetime", clock)
    monkeypatch.setattr(moments, "_ticks", lambda: ticks)
    ours = Clock()
    assert ours.now() == NOW
    moment, ticks = NOW + timedelta(days=365), 160.0
    assert ours.now() == NOW + timedelta(minutes=1)
    assert spent(NOW - timedelta(days=1), ours.now()) == 1
    moment = NOW - timedelta(days=3)
    assert ours.now() == moment, "a clock that was put back counts more, not less"


@given(DAYS, DAYS, st.integers(0, 10**9))
def test_a_window_ends_no_later_than_either_clock_says(own: timedelta, started: timedelta, seconds: int) -> None:
    passed = timedelta(seconds=seconds)
    found = window_end(NOW + own, NOW + started, passed)
    assert found in (NOW + own, NOW + started + passed)
    assert found <= NOW + own
    assert found <= NOW + started + passed


def test_time_goes_on() -> None:
    clock = Clock()
    assert NOW < clock.now() <= clock.now() <= datetime.now(UTC)

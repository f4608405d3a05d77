"""The charts of a page: parts add up, steps stand where and when something was spent."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from parties.web import figures
from tests.support.budgets import Budgets
from tests.support.fake_node import cost

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def test_bars_add_up_to_the_total() -> None:
    bars = figures.costs(cost())
    assert [bar.name for bar in bars] == ["base ot", "level 0", "level 1", "level 2", "level 3", "rest"]
    total = cost()["total"]
    assert sum(bar.sent for bar in bars) == total["bytes_sent"]
    assert sum(bar.received for bar in bars) == total["bytes_received"]
    assert sum(bar.seconds for bar in bars) == pytest.approx(total["seconds"])
    assert max(bar.sent_part + bar.received_part for bar in bars) == pytest.approx(100, abs=0.01)
    assert max(bar.seconds_part for bar in bars) == 100
    assert bars[1].sent_part == pytest.approx(bars[2].sent_part / 3, abs=0.01)
    assert [bar.name for bar in figures.costs({"total": total, "phases": {}})] == ["rest"]


def test_a_run_that_cost_nothing_has_no_bars() -> None:
    nothing = dict.fromkeys(cost()["total"], 0)
    assert figures.costs({"total": nothing, "phases": {}}) == []
    assert figures.costs({"total": nothing, "phases": {"a": nothing}})[0].sent_part == 0


def test_steps_rise_when_something_is_spent() -> None:
    table = (
        Budgets()
        .budget()[0]
        .model_copy(
            update={
                "budget": 2.0,
                "history": [("2026-11-20T00:00:00+00:00", 0.5), ("2026-11-21T00:00:00+00:00", 1.0)],
            }
        )
    )
    steps = figures.budget(table, NOW)
    assert steps is not None
    numbers = [float(number) for number in re.findall(r"[\d.]+", steps.path)]
    height = figures.HEIGHT / (figures.ROOM * 2.0)  # of one epsilon
    lower, upper = (pytest.approx(figures.HEIGHT - amount * height, abs=0.01) for amount in (0.5, 1.0))
    assert numbers == [0, 100, 0, lower, 500, upper, 1000, 100]
    assert steps.bound == pytest.approx(figures.HEIGHT - 2 * height, abs=0.01)
    assert figures.budget(table.model_copy(update={"history": []}), NOW) is None
    assert figures.budget(table.model_copy(update={"budget": None}), NOW).bound is None  # type: ignore[union-attr]

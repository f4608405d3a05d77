"""smc budget show: what is said of a budget, and of which account each number is."""

from __future__ import annotations

from datetime import UTC, datetime

from parties.commands import budget
from parties.jobs.spending import PureLoss, exact
from parties.node.budget.account import Account, Charge
from parties.node.budget.shown import table_budget
from parties.operator.budget import Exposure
from parties.sources.settings import BudgetSettings

PURE = BudgetSettings(epsilon=4)


def told(settings: BudgetSettings, group: int = 1) -> list[str]:
    now, use = datetime.now(UTC), PureLoss("discrete Laplace", exact(1.0))
    one = Account("days", settings, [Charge(now, "days", "clinic", "1" * 32, (use,))], now)
    return list(budget._lines(table_budget(one, {"clinic": one}, group)))


def test_a_budget_without_a_delta_is_told_without_one() -> None:
    assert "delta" not in "".join(told(PURE)) + PURE.words
    with_delta = BudgetSettings(epsilon=4, delta=1e-7)
    assert "delta 1e-07" in told(with_delta)[1]
    assert "delta 1e-07" in with_delta.words


def test_the_price_of_a_group_stands_apart_from_the_budget_which_is_for_one() -> None:
    lines = told(PURE, 4)
    (heading,) = (i for i, line in enumerate(lines) if "loss of a group of 4 rows" in line)
    assert all("left" not in line for line in lines[heading:])
    assert any("spent       epsilon 1 " in line for line in lines[:heading])
    assert "  with clinic  left 3" in lines[:heading]
    assert "  with clinic  pure epsilon 4" in lines[heading:]


def test_what_a_job_has_opened_itself_is_told_once_there_is_some() -> None:
    assert Exposure(at_most=889, opened=0).words == "at most 889 bits"  # a zero would be read as the table's
    left = "; 3 are left here: it stops before a step that needs more"
    assert Exposure(at_most=None, opened=24, left=3).words == f"known step by step, 24 opened so far{left}"

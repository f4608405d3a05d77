"""Charts of the page as SVG and HTML without scripts: costs of phases, and spending over time.

Colours are classes of the page's style sheet; the text beside a chart states its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from parties.base.console import outermost
from parties.operator.budget import TableBudget

WIDTH, HEIGHT = 1000.0, 100.0  # units of a chart over time; it is stretched to the available space
ROOM = 1.1  # height as a multiple of the largest value


@dataclass(frozen=True)
class Bar:
    """The cost of an outermost phase, also in percent of the largest: of the bytes both ways, and of the seconds."""

    name: str
    sent: float  # bytes
    received: float
    seconds: float
    sent_part: float
    received_part: float
    seconds_part: float


@dataclass(frozen=True)
class Steps:
    """The spending over time: the path of an SVG, the budget's height in it, and its ends as text."""

    path: str
    bound: float | None
    begun: str  # ISO 8601
    until: str
    most: float


def costs(report: Mapping[str, Any]) -> list[Bar]:
    """Return a bar for each outermost phase of a cost report, and for the rest."""
    phases = outermost(report)
    moved = max((phase["bytes_sent"] + phase["bytes_received"] for phase in phases.values()), default=0) or 1
    slowest = max((phase["seconds"] for phase in phases.values()), default=0) or 1
    return [
        Bar(
            name=name,
            sent=phase["bytes_sent"],
            received=phase["bytes_received"],
            seconds=phase["seconds"],
            sent_part=round(100 * phase["bytes_sent"] / moved, 2),
            received_part=round(100 * phase["bytes_received"] / moved, 2),
            seconds_part=round(100 * phase["seconds"] / slowest, 2),
        )
        for name, phase in phases.items()
    ]


def budget(state: TableBudget, now: datetime) -> Steps | None:
    """Return a table's spending over time, as steps under its budget; None if nothing was spent.

    Args:
        state: The table's budget.
        now: The present time.
    """
    if not state.history:
        return None
    moments = [datetime.fromisoformat(at).timestamp() for at, _ in state.history]
    spent = [amount for _, amount in state.history]
    start, end = moments[0], max(now.timestamp(), moments[-1])
    height = ROOM * max(*spent, state.budget or 0.0, 1e-9)

    def across(moment: float) -> str:
        return f"{WIDTH * (moment - start) / max(end - start, 1e-9):.1f}"

    def down(amount: float) -> str:
        return f"{HEIGHT * (1 - amount / height):.2f}"

    steps = [f"H{across(moment)}V{down(amount)}" for moment, amount in zip(moments, spent, strict=True)]
    return Steps(
        path=f"M0 {HEIGHT:g}{''.join(steps)}H{across(end)}V{HEIGHT:g}Z",
        bound=None if state.budget is None else float(down(state.budget)),
        begun=state.history[0][0],
        until=now.isoformat(timespec="seconds"),
        most=max(spent),
    )

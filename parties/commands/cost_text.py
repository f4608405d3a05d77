"""Forecast cost of a job as a phrase; a separate module, so that a small question loads little else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.base import console

if TYPE_CHECKING:
    from parties.node.prediction import Prediction
    from parties.operator.interface import PredictedCost


def volume_of(cost: PredictedCost | Prediction) -> str:
    """Return the forecast bytes of a job as text, with their upper bound if there is one (not for shards)."""
    most = "" if cost.most is None else f" (at most {console.size(cost.most)})"
    if not most and cost.estimate == "typical" and str(cost.profile).endswith(" shards"):
        most = " (no maximum is counted for shards)"
    return f"{console.size(cost.bytes)} both ways{most}"


def expected(cost: PredictedCost | Prediction | None, decided: bool = True) -> str:
    """Return the forecast cost of a job and its certainty as a phrase.

    Args:
        cost: The forecast; None if the job is too large for a forecast.
        decided: True if the engine is fixed. False: the cost is that of one engine; the run may take another one.
    """
    if cost is None:
        return "the cost is not estimated: the question is too large to count in advance"
    word = {"exact": "", "at most": "at most ", "typical": "about "}[cost.estimate]
    of = f", for {cost.assumed}" if cost.estimate == "typical" and cost.assumed else ""
    if not decided:
        near = f"it will cost {word}{console.size(cost.bytes)} both ways on a local network{of}"
        return f"{near}; the engine is chosen when the link is measured, and a faster one may send more"
    return f"it will cost {word}{volume_of(cost)}{of}"

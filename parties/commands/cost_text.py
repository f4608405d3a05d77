"""What a job will cost, in a phrase: apart from other texts about jobs, as a small question loads no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.base import console

if TYPE_CHECKING:
    from parties.node.prediction import Prediction
    from parties.operator.interface import PredictedCost


def volume_of(cost: PredictedCost | Prediction) -> str:
    """Return the bytes that a job will take, and the most that it can, if that is known; of shards it is not."""
    most = "" if cost.most is None else f" (at most {console.size(cost.most)})"
    if not most and cost.estimate == "typical" and str(cost.profile).endswith(" shards"):
        most = " (no maximum is counted for shards)"
    return f"{console.size(cost.bytes)} both ways{most}"


def expected(cost: PredictedCost | Prediction | None, decided: bool = True) -> str:
    """Return what a job will cost, and how sure that is: for what, if nobody knows; a phrase. None: not counted.

    If nothing is `decided`, it is that of one engine, and the link may take another.
    """
    if cost is None:
        return "the cost is not estimated: the question is too large to count in advance"
    word = {"exact": "", "at most": "at most ", "typical": "about "}[cost.estimate]
    of = f", for {cost.assumed}" if cost.estimate == "typical" and cost.assumed else ""
    if not decided:
        near = f"it will cost {word}{console.size(cost.bytes)} both ways on a local network{of}"
        return f"{near}; the link decides on the engine, and its cost follows then"
    return f"it will cost {word}{volume_of(cost)}{of}"

"""What a job will cost, in a phrase: apart from other texts about jobs, as a small question loads no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parties.base import console

if TYPE_CHECKING:
    from parties.node.prediction import Prediction
    from parties.operator.interface import PredictedCost


def volume_of(cost: PredictedCost | Prediction) -> str:
    """Return the bytes that a job will take, and the most that it can, by whichever engine, if that is known."""
    most = "" if cost.most is None else f" (at most {console.size(cost.most)}, whichever engine it takes)"
    return f"{console.size(cost.bytes)} both ways{most}"


def expected(cost: PredictedCost | Prediction | None) -> str:
    """Return what a job will cost, and how sure that is: for what, if nobody knows; a phrase. None: not counted."""
    if cost is None:
        return "what it will cost is not foretold: so large a question is not counted ahead"
    word = {"exact": "", "at most": "at most ", "typical": "about "}[cost.estimate]
    of = f", for {cost.assumed}" if cost.estimate == "typical" and cost.assumed else ""
    return f"it will cost {word}{volume_of(cost)}{of}"

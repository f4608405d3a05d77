"""Models that jobs have brought, from their files: a naive Bayes, a linear model or boosted trees, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from parties.base import files
from parties.models import bayes, boosted, linear
from smc.errors import InputError

Classifier: TypeAlias = bayes.NaiveBayesModel | linear.LinearModel | boosted.BoostedModel


def load_model(path: Path) -> Classifier:
    """Read and check a model's file. `InputError` names the file and what is wrong with it."""
    fields = files.read_json(path)
    known = fields if isinstance(fields, dict) else {}
    what: str = "naive Bayes model"
    model: Callable[[Any], Classifier] = bayes.NaiveBayesModel.parse
    if "intercept" in known:
        what, model = "linear model", linear.LinearModel.parse
    elif "trees" in known:
        what, model = "model of boosted trees", boosted.BoostedModel.parse
    try:
        return model(fields)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: this is no {what}: {error}") from None

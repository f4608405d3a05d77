"""Models that jobs have brought, from their files: a naive Bayes or a linear classifier, whichever it is."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from parties.base import files
from parties.models import bayes, linear
from smc.errors import InputError

Classifier: TypeAlias = bayes.NaiveBayesModel | linear.LinearModel


def load_model(path: Path) -> Classifier:
    """Read and check a model's file. `InputError` names the file and what is wrong with it."""
    fields = files.read_json(path)
    is_linear = isinstance(fields, dict) and "intercept" in fields
    try:
        return linear.LinearModel.parse(fields) if is_linear else bayes.NaiveBayesModel.parse(fields)
    except (ValueError, OverflowError) as error:
        what = "linear" if is_linear else "naive Bayes"
        raise InputError(f"{path}: this is no {what} model: {error}") from None

"""Models that jobs have brought, from their files: a naive Bayes or a linear classifier, whichever it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeAlias

from parties import bayes, files, linear
from smc.errors import InputError

Model: TypeAlias = bayes.Model | linear.Model


def load(path: Path) -> Model:
    """Read and check a model's file. `InputError` names the file and what is wrong with it."""
    try:
        fields = json.loads(files.read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply") from None
    is_linear = isinstance(fields, dict) and "intercept" in fields
    try:
        return linear.Model.parse(fields) if is_linear else bayes.Model.parse(fields)
    except (ValueError, OverflowError) as error:
        what = "linear" if is_linear else "naive Bayes"
        raise InputError(f"{path}: this is no {what} model: {error}") from None

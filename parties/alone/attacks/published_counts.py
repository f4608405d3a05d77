"""Disclosure by a model's counts: a value with a count of one row discloses the class of this person."""

from __future__ import annotations

from collections import Counter
from typing import Any

from parties.models.bayes import NaiveBayesModel
from parties.tables.delimited import Columns

FEW = 2  # rows with a value; either person can derive the other's class


def alone(model: NaiveBayesModel, members: Columns) -> dict[str, Any]:
    """Return the numbers of members with a value that has a total count of 1, or of 1 or 2, in the model, as JSON.

    "exact" is True if the counts contain all members. Noise would lower some counts.

    Args:
        model: the published model
        members: rows from which the model was learnt
    """
    members.require([*model.columns, model.target])
    classes = list(model.classes)
    totals: list[list[int]] = []
    is_exact = bool(members.lines)
    for name, values in model.columns.items():
        column = members.values[name]
        for (value, label), number in Counter(zip(column, members.values[model.target], strict=True)).items():
            by_class = values.get(value)
            is_exact &= by_class is not None and label in classes and by_class[classes.index(label)] >= number
        totals.append([sum(values.get(value, ())) for value in column])
    least = [min((total for total in row if total > 0), default=0) for row in zip(*totals, strict=True)]
    return {
        "exact": is_exact,
        "alone": sum(total == 1 for total in least),
        "few": sum(0 < total <= FEW for total in least),
        "found": is_exact and any(0 < total <= FEW for total in least),
    }

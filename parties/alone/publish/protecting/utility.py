"""Utility of protected columns: changed cells, mean, spread, frequencies, and correlations.

IL1s is the mean of |x - x'| / (sqrt(2) s), Mateo-Sanz, Sebe, Domingo-Ferrer, "Outlier protection in continuous
microdata masking" (2004), as `dUtility` of sdcMicro.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parties.alone.publish.protecting.rows import Column
from parties.base.arrays import Floats


def of_categories(before: Column, source: Column, after: Column) -> dict[str, Any]:
    """Return the share of changed cells, and the total variation distance between frequencies before and after.

    Args:
        before: original values of the published rows
        source: original values of all rows
        after: published values
    """
    values = np.unique(np.concatenate([source, after]).astype(str))
    p, q = (_shares(column, values) for column in (source, after))
    return {"changed": float((before != after).mean()), "frequencies_differ": float(np.abs(p - q).sum() / 2)}


def _shares(column: Column, values: Any) -> Floats:
    return np.bincount(np.searchsorted(values, column.astype(str)), minlength=len(values)) / max(1, len(column))


def of_numbers(before: Floats, source: Floats, after: Floats) -> dict[str, Any]:
    """Return the share of changed values, mean and standard deviation before and after, and IL1s.

    Missing values are ignored.

    Args:
        before: original values of the published rows
        source: original values of all rows
        after: published values
    """
    both = ~np.isnan(before) & ~np.isnan(after)
    all_there, published = source[~np.isnan(source)], after[~np.isnan(after)]
    if not len(all_there) or not both.any():
        return {"changed": float((np.isnan(before) != np.isnan(after)).mean())}
    deviation = float(all_there.std(ddof=1)) if len(all_there) > 1 else 0.0
    lost = np.abs(before - after)[both]
    figures = {
        "changed": float((lost > 0).mean()),
        "mean": [float(all_there.mean()), float(published.mean())],
        "standard_deviation": [deviation, float(published.std(ddof=1)) if len(published) > 1 else 0.0],
    }
    return figures | ({"il1s": float(lost.mean() / (np.sqrt(2) * deviation))} if deviation else {})


def correlations_differ(source: Floats, after: Floats) -> float:
    """Return the largest change of a correlation, for float[rows, columns] without missing values.

    Args:
        source: Numbers before the methods, float64[rows, columns].
        after: Numbers after the methods, in the same shape.
    """
    if min(len(source), len(after)) < 2:
        return 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.corrcoef(source, rowvar=False) - np.corrcoef(after, rowvar=False)
    return float(np.nanmax(np.abs(change), initial=0.0))

"""Comparison of the local mechanisms by their error, computed from their variances alone.

*Found from* is the least share that a test detects half of the times. The test of a share above 0 has a level of 5% for
all values together (Bonferroni, as in RAPPOR's decoding), so this share is z standard deviations of the estimate of a
value that nobody holds. *Reports for an even share* is the number of reports that detects all values if they are
equally frequent, 1 / values each.

The authors of RAPPOR give the same advice: N reports find about sqrt(N) / 10 values at epsilon ln 3, since the noise of
N answers grows with sqrt(N) (Erlingsson, Pihur, Korolova 2014, section 4). Texts have many possible values, most of
them held by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from parties.alone.local.mechanism import Mechanism
from parties.alone.local.rappor_decoding import LEVEL
from parties.base.report import Report

LEAST_OF_NOISE = 0.004  # least epsilon for which noise is compared; below it, reports would be too wide
SHORT = 1.25  # a mechanism with shorter reports is mentioned if its error is at most 1.25 x the least
Kinds = Mapping[str, Mechanism]


def of_categories(values: int, epsilon: float) -> Kinds:
    """Return the mechanisms for a question with this number of categories, by name.

    Args:
        values: Number of categories.
        epsilon: Privacy loss of one report.
    """
    from parties.alone.local.categories import DirectResponse
    from parties.alone.local.hadamard import HadamardResponse
    from parties.alone.local.subset import SubsetSelection
    from parties.alone.local.unary import UnaryEncoding

    names = tuple(map(str, range(values)))
    kinds = (DirectResponse, UnaryEncoding, SubsetSelection, HadamardResponse)
    return {kind.name: kind(names, epsilon) for kind in kinds}


def of_texts(epsilon: float) -> Kinds:
    """Return the mechanisms for texts, by name: RAPPOR of 128 bits and a sketch of 1,024 bits.

    RAPPOR draws its permanent answer alone, without an instantaneous one. Both use one hash function: that gives the
    least error. RAPPOR's cohorts separate texts that share a bit.
    """
    from parties.alone.local.rappor import Rappor
    from parties.alone.local.sketch import CountMeanSketch

    sketch = CountMeanSketch(1024, 1024, epsilon)
    f = math.ceil(2e6 / (1 + math.exp(epsilon / 2))) / 1e6  # 2 ln((1 - f/2) / (f/2)) = epsilon
    return {"rappor": Rappor(128, 1, 64, min(f, 0.999999), 0.0, 1.0), "sketch": sketch}


def of_numbers(low: float, high: float, epsilon: float, delta: float | None) -> Kinds:
    """Return the mechanisms for numbers, by name.

    The smaller epsilon is, the fewer steps divide the range for Laplace and Gaussian noise. Below LEAST_OF_NOISE these
    two mechanisms are left out, because their reports would be too wide.

    Args:
        low: least value of the range
        high: greatest value of the range
        epsilon: epsilon of a report
        delta: delta of Gaussian noise; None: without Gaussian noise
    """
    from parties.alone.local.gauss import GaussMean
    from parties.alone.local.laplace import LaplaceMean
    from parties.alone.local.numbers import OneBitMean
    from parties.alone.local.piecewise import PiecewiseMean

    kinds: dict[str, Mechanism] = {kind.name: kind(low, high, epsilon) for kind in (OneBitMean, PiecewiseMean)}
    steps = max(2, min(64, int(640 * epsilon)))
    if epsilon >= LEAST_OF_NOISE:
        kinds["laplace"] = LaplaceMean(low, high, epsilon, steps)
        if delta is not None:
            kinds["gauss"] = GaussMean(low, high, epsilon, steps, requested_delta=delta)
    return kinds


def document(kinds: Kinds, reports: int, values: int | None) -> dict[str, Any]:
    """Return the mechanisms with their standard errors, the least error first.

    If shares are estimated, each mechanism also has `found_from` and `reports_for_even_share`, see the module's first
    lines.

    Args:
        kinds: the mechanisms by name
        reports: number of reports to be decoded
        values: number of possible values, if shares are estimated; None: a mean is estimated
    """
    rows = []
    for name, mechanism in kinds.items():
        row: dict[str, Any] = {"mechanism": name, "error": math.sqrt(mechanism.variance / reports)}
        if values is not None:
            row["found_from"] = _deviations(values) * row["error"]
            row["reports_for_even_share"] = math.ceil(mechanism.variance * (_deviations(values) * values) ** 2)
        row |= {"epsilon": mechanism.epsilon, **({"delta": mechanism.delta} if mechanism.delta else {})}
        rows.append(row | {"bytes": mechanism.width})
    rows.sort(key=lambda row: row["error"])
    return {"reports": reports, **({} if values is None else {"values": values}), "mechanisms": rows}


def report_of(advice: dict[str, Any]) -> Report:
    """Return a report with the mechanisms, the most accurate first, and the advice which one to use."""
    report = Report(advice)
    shares = {"error": ">{error:.4g}"}
    if advice.get("values"):
        even = {"reports for an even share": ">{reports_for_even_share:,}"}
        shares = {"error": ">{error:.2%}", "found from": ">{found_from:.2%}", **even}
    report.table({"mechanism": "{mechanism}", **shares, "bytes": ">{bytes:,}"}, advice["mechanisms"])
    report.lines(("", verdict(advice)))
    return report


def verdict(advice: dict[str, Any]) -> str:
    """Return a sentence with the best mechanism and the least share that it detects."""
    best, values, reports = advice["mechanisms"][0], advice.get("values"), advice["reports"]
    if values is None:
        return (
            f"{best['mechanism']} has the least error: {best['error']:.4g}, one standard deviation, at its worst number"
        )
    if best["found_from"] >= 1:
        return f"{reports:,} reports are too few: no share of {values:,} values can be distinguished from 0"
    even = best["reports_for_even_share"]
    more = "" if even <= reports else f"; if all values are equally frequent, finding all takes {even:,} reports"
    shorter = [
        row for row in advice["mechanisms"] if row["bytes"] < best["bytes"] and row["error"] <= SHORT * best["error"]
    ]
    short = ""
    if shorter:
        least = min(shorter, key=lambda row: row["bytes"])
        times = least["error"] / best["error"]
        short = f" ({least['mechanism']} has {times:.2f} times that, with {least['bytes']:,} bytes)"
    return f"{best['mechanism']} has the least error{short}: shares from {best['found_from']:.2%} are found{more}"


def _deviations(values: int) -> float:
    from scipy import stats

    return float(stats.norm.isf(LEVEL / values))

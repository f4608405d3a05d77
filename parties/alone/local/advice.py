"""Which way of answering has the least error, for so many values, reports and an epsilon: from their variances alone.

*Found from*: the least share that is told from none, at 5% for all values together (Bonferroni, as RAPPOR's decoding
tests), half of the times: z deviations of a share that nobody holds. *Reports for an even share*: as many as find
values of which all are as frequent, 1 / values each. That is what the authors of RAPPOR advise by: with N reports
only some sqrt(N) / 10 values are found at epsilon ln 3 (Erlingsson, Pihur, Korolova 2014, section 4), for the noise
of N answers grows with sqrt(N). Texts are many, and most of them held by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from parties.alone.local.mechanism import Mechanism
from parties.alone.local.rappor_decoding import LEVEL
from parties.base.report import Report

LEAST_OF_NOISE = 0.004  # epsilon
SHORT = 1.25  # so many times the least error is mentioned for a shorter report
Kinds = Mapping[str, Mechanism]


def of_categories(values: int, epsilon: float) -> Kinds:
    """Return the ways of answering which of so many categories it is."""
    from parties.alone.local.categories import DirectResponse
    from parties.alone.local.hadamard import HadamardResponse
    from parties.alone.local.subset import SubsetSelection
    from parties.alone.local.unary import UnaryEncoding

    names = tuple(map(str, range(values)))
    kinds = (DirectResponse, UnaryEncoding, SubsetSelection, HadamardResponse)
    return {kind.name: kind(names, epsilon) for kind in kinds}


def of_texts(epsilon: float) -> Kinds:
    """Return the ways of answering with a text: RAPPOR with what lasts alone, and a sketch, of 128 and 1,024 bits.

    One hash function each: the least error, and cohorts tell apart what shares a bit.
    """
    from parties.alone.local.rappor import Rappor
    from parties.alone.local.sketch import CountMeanSketch

    sketch = CountMeanSketch(1024, 1024, epsilon)
    f = math.ceil(2e6 / (1 + math.exp(epsilon / 2))) / 1e6  # 2 ln((1 - f/2) / (f/2)) = epsilon
    return {"rappor": Rappor(128, 1, 64, min(f, 0.999999), 0.0, 1.0), "sketch": sketch}


def of_numbers(low: float, high: float, epsilon: float, delta: float | None) -> Kinds:
    """Return the ways of answering with a number; with a delta Gauss's noise, too.

    Noise of a small epsilon has fewer steps, and that of a tiny one is left out: it has too many places.
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
    """Return the error of each from so many reports, the least first; of shares, so many `values`."""
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
    """Return the mechanisms, the best first, and what it finds."""
    report = Report(advice)
    shares = {"error": ">{error:.4g}"}
    if advice.get("values"):
        even = {"reports for an even share": ">{reports_for_even_share:,}"}
        shares = {"error": ">{error:.2%}", "found from": ">{found_from:.2%}", **even}
    report.table({"mechanism": "{mechanism}", **shares, "bytes": ">{bytes:,}"}, advice["mechanisms"])
    report.lines(("", verdict(advice)))
    return report


def verdict(advice: dict[str, Any]) -> str:
    """Return which is best, and what it finds."""
    best, values, reports = advice["mechanisms"][0], advice.get("values"), advice["reports"]
    if values is None:
        return (
            f"{best['mechanism']} has the least error: {best['error']:.4g}, one standard deviation, at its worst number"
        )
    if best["found_from"] >= 1:
        return f"{reports:,} reports are too few: no share of {values:,} values is told from none"
    even = best["reports_for_even_share"]
    more = "" if even <= reports else f"; that all are found if they are even takes {even:,} reports"
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

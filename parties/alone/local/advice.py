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
from smc.errors import InputError

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

    f = math.ceil(2e6 / (1 + math.exp(epsilon / 2))) / 1e6  # 2 ln((1 - f/2) / (f/2)) = epsilon
    return {"rappor": Rappor(128, 1, 64, min(f, 0.999999), 0.0, 1.0), "sketch": CountMeanSketch(1024, 1024, epsilon)}


def of_numbers(low: float, high: float, epsilon: float, delta: float | None) -> Kinds:
    """Return the ways of answering with a number; with a delta Gauss's noise, too."""
    from parties.alone.local.gauss import GaussMean
    from parties.alone.local.laplace import LaplaceMean
    from parties.alone.local.numbers import OneBitMean
    from parties.alone.local.piecewise import PiecewiseMean

    kinds: dict[str, Mechanism] = {k.name: k(low, high, epsilon) for k in (OneBitMean, PiecewiseMean, LaplaceMean)}
    more = {} if delta is None else {GaussMean.name: GaussMean(low, high, epsilon, requested_delta=delta)}
    return kinds | more


def document(kinds: Kinds, reports: int, values: int | None) -> dict[str, Any]:
    """Return the error of each from so many reports, the least first; `values`: how many shares are to be told apart.

    `InputError` for no report.
    """
    if reports < 1:
        raise InputError("--reports must be 1 at least")
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


def text(advice: dict[str, Any]) -> str:
    """Return the document for a terminal."""
    rows, values = advice["mechanisms"], advice.get("values")
    head = ("mechanism", "error", *(("found from", "reports for an even share") if values else ()), "bytes")
    lines = [head]
    for row in rows:
        shares = (f"{row['found_from']:.2%}", f"{row['reports_for_even_share']:,}") if values else ()
        error = f"{row['error']:.2%}" if values else f"{row['error']:.4g}"
        lines.append((row["mechanism"], error, *shares, f"{row['bytes']:,}"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(cells))
        for cells in ([(cell, width) for cell, width in zip(line, widths, strict=True)] for line in lines)
    ]
    return "\n".join([*table, "", _verdict(advice)]) + "\n"


def _verdict(advice: dict[str, Any]) -> str:
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

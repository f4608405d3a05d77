"""Estimates of a local question as JSON, text, an SVG of intervals and an HTML page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from parties.alone.local.estimation import on_simplex
from parties.alone.local.mechanism import Estimates, Mechanism
from parties.alone.local.plan import LocalPlan
from parties.alone.local.shuffled import shuffled_epsilon
from parties.base import pictures
from parties.base.report import Report
from parties.base.text import printable
from protocols.release.promise import epsilon_warnings
from smc.errors import InputError

MOST_DRAWN = 40  # bars of a picture; the table shows every estimate


def document(
    plan: LocalPlan,
    mechanism: Mechanism,
    estimates: Estimates,
    reports: int,
    projected: bool = False,
    delta: float | None = None,
) -> dict[str, Any]:
    """Return the estimates, with the privacy of the reports, as a JSON document.

    Args:
        plan: the plan of the question
        mechanism: the mechanism of the plan
        estimates: unbiased estimates from the reports
        reports: number of reports
        projected: add the nearest shares that are at least 0 and sum to 1
        delta: delta at which the epsilon of shuffled reports is stated; None: leave shuffling out

    Raises:
        InputError: `projected` is true, and the mechanism's shares need not sum to 1 or a share has no reports; or
            `delta` is given, and the mechanism has a delta of its own
    """
    intervals = estimates.intervals()
    if delta is not None and mechanism.delta:
        raise InputError(f"--shuffled: answers of {plan.mechanism} have a delta; remove --shuffled")
    if projected and (mechanism.unit == "mean" or mechanism.about == "texts"):
        raise InputError(f"--projected: estimates by {plan.mechanism} need not add up to 1; remove --projected")
    if projected and not np.isfinite(estimates.values).all():
        raise InputError("--projected: a share has no reports, so its estimate is missing; decode more reports")
    shares = on_simplex(estimates.values) if projected else ()
    rows = zip(estimates.names, estimates.values, estimates.deviations, intervals, strict=True)
    return {
        "question": plan.question,
        "mechanism": plan.mechanism,
        "reports": reports,
        "epsilon": _finite(mechanism.epsilon),
        "lasting_epsilon": _finite(plan.lasting(mechanism)),
        **({"delta": mechanism.delta, "lasting_delta": plan.lasting_delta(mechanism)} if mechanism.delta else {}),
        **({} if delta is None else {"shuffled": _shuffled(mechanism.epsilon, reports, delta)}),
        "unit": mechanism.unit,
        "estimates": [
            {
                "name": name,
                "value": _finite(value),
                "deviation": _finite(deviation),
                "low": _finite(low),
                "high": _finite(high),
                **({"projected": float(shares[position])} if projected else {}),
            }
            for position, (name, value, deviation, (low, high)) in enumerate(rows)
        ],
    }


def report_of(data: dict[str, Any]) -> Report:
    """Return the estimates of a document as a text report."""
    report = Report(data)
    report.line(f"{data['question']}: {data['reports']:,} reports by {data['mechanism']}")
    report.lines([*_privacy(data), ""])
    if not data["estimates"]:
        report.line("no candidate is proved to be present")
    for row in data["estimates"]:
        if row["value"] is None:
            report.fact(row["name"], " no reports")
            continue
        projected = f", projected {figure(data, row['projected'])}" if "projected" in row else ""
        between = f"between {figure(data, row['low'])} and {figure(data, row['high'])}"
        report.fact(row["name"], f" {figure(data, row['value']):>9}  {between}{projected}")
    return report


def figure(report: dict[str, Any], value: float) -> str:
    """Format a share in percent, or a mean.

    Args:
        report: the document, which has the unit
        value: the share or mean
    """
    return f"{value:.5g}" if report["unit"] == "mean" else f"{100 * value:.2f}%"


def page(report: dict[str, Any]) -> str:
    """Return the document as one HTML page, without scripts and external resources."""
    page, rows = Report(report), []
    page.line(f"{report['reports']:,} reports by {report['mechanism']}; {' '.join(_privacy(report))}.")
    for row in report["estimates"]:
        known = row["value"] is not None
        figures = [figure(report, row[key]) for key in ("value", "low", "high")] if known else ["no reports", "", ""]
        rows.append((row["name"], *figures))
    if any(row["value"] is not None for row in report["estimates"]):
        page.section("Estimates", "Each interval has a confidence of 95%.")
        page.picture(intervals_svg(report), "The estimates with their intervals; the table below has the figures")
    page.section("Figures")
    if rows:
        heads = {"mean" if report["unit"] == "mean" else "what": "", "estimate": ">", "from": ">", "to": ">"}
        page.table(heads, rows)
    else:
        page.line("No candidate is proved to be present.")
    return page.html(report["question"])


def intervals_svg(report: dict[str, Any]) -> str:
    """Return an SVG of the estimates with their intervals of 95% confidence each."""
    from matplotlib.figure import Figure

    rows = [row for row in report["estimates"] if row["value"] is not None][:MOST_DRAWN]
    scale = 1 if report["unit"] == "mean" else 100
    with pictures.style({"font.size": 10}):
        drawing = Figure(figsize=(7, 0.8 + 0.26 * len(rows)), layout="constrained")
        axes = drawing.add_subplot()
        axes.spines[["top", "right", "left"]].set_visible(False)
        values = [scale * row["value"] for row in rows]
        reach = [scale * (row["high"] - row["value"]) for row in rows]
        look: dict[str, Any] = {
            "fmt": "o",
            "color": pictures.PALETTE[6],
            "markersize": 5,
            "capsize": 3,
            "linewidth": 1.6,
        }
        axes.errorbar(values, range(len(rows)), xerr=reach, **look)
        axes.set_yticks(range(len(rows)), [printable(row["name"])[:40] for row in rows], parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(left=False)
        if report["unit"] != "mean":
            axes.axvline(0, color=pictures.RULE, linewidth=0.8)
        axes.set_xlabel("mean" if report["unit"] == "mean" else "share of people, %")
        axes.grid(axis="x", color=pictures.RULE, linewidth=0.4)
        axes.set_axisbelow(True)
        return pictures.svg(drawing, Title=f"{printable(report['question'])}: estimates with intervals")


def _privacy(report: dict[str, Any]) -> list[str]:
    each, ever = report["epsilon"], report["lasting_epsilon"]
    each_bound = "no bound" if each is None else f"epsilon {each:.4g}" + _but(report.get("delta"))
    lasts = "no bound" if ever is None else f"epsilon {ever:.4g}" + _but(report.get("lasting_delta"))
    texts = [f"a report: {each_bound}; all reports of a person on one value: {lasts}"]
    if "shuffled" in report:
        known = report["shuffled"]["epsilon"]
        bound = "unknown for this few reports" if known is None else f"epsilon {known:.4g}"
        delta = f"at a delta of {report['shuffled']['delta']:g}"
        texts.append(f"shuffled, {delta}: {bound}, if {report['shuffled']['if']}")
    return [*texts, *epsilon_warnings(each if ever is None else ever)]


def _but(delta: float | None) -> str:
    return f", delta {delta:.4g}" if delta else ""


def _shuffled(epsilon: float, reports: int, delta: float) -> dict[str, Any]:
    known = shuffled_epsilon(epsilon, reports, delta) if math.isfinite(epsilon) else None
    return {
        "epsilon": known,
        "delta": delta,
        "if": "each person sends one report, and a shuffler outside the collector's control removes the senders, "
        "origins and order of all reports",
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None

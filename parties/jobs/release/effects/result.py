"""Effects as a result: coefficients with errors, intervals and tests, as JSON, text, CSV and a picture."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parties.base.pictures import INK, PALETTE
from parties.base.text import csv_text
from parties.jobs.release.drawing import draw_intervals, lines_svg
from parties.jobs.release.effects.design import Design
from parties.jobs.release.noise import WIDE
from parties.jobs.release.postprocessing import short
from parties.jobs.release.presenting import INTERVAL, OF_NOISE, about, aligned, shown
from protocols.arrays import Floats

Document = Mapping[str, Any]
UNSETTLED = "the last two steps differ by more than noise explains: give more steps, or more epsilon"
UNSETTLED_EXACTLY = "the last two steps differ: give more steps, or join values that occur with one outcome only"
COUNTED = ("rows", "total_exposure", "events")
LEAST_P = 1e-16  # smaller ones are a bound
ASSUMED = {
    "odds ratio": "",
    "rate ratio": "; the variance is assumed to be the mean",
    "hazard ratio": "; hazards are assumed proportional",
}
FIELDS = ("coefficient", "error", "low", "high", "z", "p", "ratio", "ratio_low", "ratio_high")


def too_noisy(
    labels: Sequence[Document], drowned: Sequence[Document], enough: float | None = None, rows: str = ""
) -> dict[str, Any]:
    """Return the fields of a result without estimates.

    Args:
        labels: Labels of all effects.
        drowned: Labels of the effects whose information is not above its noise.
        enough: Epsilon that would be enough for a value in 5 % of the rows; None if there is no noise.
        rows: Description of the rows for which this epsilon would be enough.
    """
    which = "all columns" if len(drowned) == len(labels) else ", ".join(map(name, drowned))
    advice = "Join or drop rare values, or name fewer columns"
    reason = (
        f"the rows have no information on {which} beside the other columns. {advice}"
        if enough is None
        else f"the noise is too great: the information on {which} does not exceed its noise. Epsilon is spent. About "
        f"epsilon {enough:.2g} would do for values in 5 % of rows of {rows}. {advice}"
    )
    effects = [{**label, **dict.fromkeys(FIELDS)} for label in labels]
    needed = {} if enough is None else {"enough_epsilon": short(enough)}
    return {"reason": reason, "drowned": drowned, **needed, "effects": effects, "wald": None}


def effects(design: Design, theta: Floats, covariance: Floats, bins: int) -> dict[str, Any]:
    """Return the effects, Wald tests of all together and of each column with several, and the intercept of one bin.

    Args:
        design: Coordinates of the columns.
        theta: Estimated parameters: intercepts of the bins, then coefficients.
        covariance: Their covariance.
        bins: Number of intercepts.
    """
    slopes, spread = theta[bins:], covariance[bins:, bins:]
    lines = [
        {**label, **_numbers(slope * factor, math.sqrt(variance) * factor)}
        for label, slope, variance, factor in zip(
            design.labels, slopes.tolist(), np.diag(spread).tolist(), design.factors.tolist(), strict=True
        )
    ]
    places = [index for index, column in enumerate(design.columns) for _ in column.effects]
    several = [index for index in dict.fromkeys(places) if places.count(index) > 1]
    known = {
        "effects": lines,
        "wald": _wald(slopes, spread),
        "wald_of_columns": [
            {"column": design.columns[index].name, **_wald(slopes[mine], spread[np.ix_(mine, mine)])}
            for index in several
            for mine in [np.flatnonzero(np.array(places) == index)]
        ],
    }
    if bins > 1:
        return known
    at = np.append(1.0, design.origin)
    variance = math.fsum((covariance * at[:, None] * at).ravel().tolist())
    intercept = _numbers(math.fsum((theta * at).tolist()), math.sqrt(max(variance, 0.0)))
    return {"intercept": intercept, **known}


def _wald(slopes: Floats, spread: Floats) -> dict[str, float]:
    from protocols.quantiles import chi2_tail
    from protocols.release.elimination import eliminated

    solved = eliminated(spread, slopes[:, None], 0.0)
    wald = math.fsum((slopes * solved[:, 0]).tolist()) if solved is not None else math.nan
    return {"chi_square": short(wald), "degrees": len(slopes), "p": short(chi2_tail(max(wald, 0.0), len(slopes)))}


def _numbers(value: float, error: float) -> dict[str, float]:
    from protocols.quantiles import chi2_tail

    low, high = value - WIDE * error, value + WIDE * error
    z = value / error if error else math.inf
    numbers = [value, error, low, high, z, chi2_tail(z * z, 1), *map(_power, (value, low, high))]
    return dict(zip(FIELDS, map(short, numbers), strict=True))


def _power(x: float) -> float:
    return math.exp(min(max(x, -700.0), 700.0))


def name(effect: Document) -> str:
    """Return an effect's name: column, and its value and reference unless it is that of a number."""
    if "value" not in effect:
        return f"{shown(effect['column'])}, each 1 more"
    return f"{shown(effect['column'])} = {shown(effect['value'])} against {shown(effect['reference'])}"


def lines(document: Document) -> list[str]:
    """Return the effects as lines of text."""
    if document["wald"] is None:
        return [document["reason"], _counted(document)]
    head = ["", "coefficient", "error", document["ratio"], INTERVAL, "p"]
    rows = [["intercept", *_cells(document["intercept"], False)]] if "intercept" in document else []
    rows += [[name(effect), *_cells(effect, True)] for effect in document["effects"]]
    kind = document["ratio"].split()[0]
    meaning = (
        f"{document['ratio']}: {document['outcome']} for a value, divided by the {kind} for its reference "
        "(of a number: for 1 more), the other columns being equal; 1 = no effect"
    )
    text = [shown(meaning), _counted(document), *aligned([head, *rows], 1)]
    for test in (document["wald"], *document["wald_of_columns"]):
        of = f" of {shown(test['column'])}" if "column" in test else ""
        text.append(
            f"Wald test that there is no effect{of}: chi-square {test['chi_square']:.4g}, {test['degrees']} degrees of "
            f"freedom, p {_p(test['p'], '= ')}"
        )
    few, noise, unsettled = "too few events for this noise", " and the noise", UNSETTLED
    if document.get("exact"):
        few, noise, unsettled = "no event", "", UNSETTLED_EXACTLY
    if document.get("bins_left_out"):
        text.append(
            f"bins of {shown(document['time'])} with {few} are left out: "
            + ", ".join(map(shown, document["bins_left_out"]))
        )
    text.append(f"errors and intervals count the sample{noise}; rows with a missing value are left out")
    text.append(f"not adjusted for unobserved confounders{ASSUMED[document['ratio']]}")
    return text if document["settled"] else [*text, unsettled]


def _p(p: float, equals: str = "") -> str:
    return f"< {LEAST_P:g}" if p < LEAST_P else f"{equals}{p:.3g}"


def _counted(document: Document) -> str:
    within = {key: f" ± {document[f'{key}_within']:,}" if f"{key}_within" in document else "" for key in COUNTED}
    parts = [f"{key.replace('_', ' ')} {document[key]:,}{within[key]}" for key in COUNTED if key in document]
    return ", ".join(parts) + ("" if document.get("exact") else f" ({OF_NOISE})")


def _cells(effect: Document, has_ratio: bool) -> list[str]:
    low, high = ("ratio_low", "ratio_high") if has_ratio else ("low", "high")
    ratio = f"{effect['ratio']:.4g}" if has_ratio else ""
    interval = f"{effect[low]:.4g} to {effect[high]:.4g}"
    return [f"{effect['coefficient']:.4g}", f"{effect['error']:.3g}", ratio, interval, _p(effect["p"])]


def table(document: Document) -> str:
    """Return the effects as CSV."""
    head = ["column", "value", "reference", *FIELDS]
    return csv_text([head, *([effect.get(key, "") for key in head] for effect in document["effects"])])


def _brief(ratio: float) -> str:
    return f"{ratio:.2f}" if 0.1 <= ratio < 100 else f"{ratio:.2g}"


def draw_svg(document: Document) -> str:
    """Return the ratios with their intervals as an SVG document."""
    title = f"Effects on {shown(next(document[key] for key in ('event', 'target') if key in document), 60)}"
    if document["wald"] is None:
        return lines_svg(title, textwrap.wrap(document["reason"], 100), [], [], lambda axes: axes.set_axis_off())
    effects = document["effects"]
    points, low, high = ([effect[key] for effect in effects] for key in ("ratio", "ratio_low", "ratio_high"))
    values = [f"{_brief(p)} ({_brief(a)} to {_brief(b)})" for p, a, b in zip(points, low, high, strict=True)]

    def draw(axes: Any) -> None:
        least, most = min(0.5, *low) / 1.1, max(2.0, *high) * 1.1
        decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        digits = (1, 2, 5) if len(decades) < 5 else (1,)
        ticks = [
            d * 10.0**k for k in decades[:: 1 + len(decades) // 10] for d in digits if least <= d * 10.0**k <= most
        ]
        axes.set_xscale("log")
        axes.set_xlim(least, most)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.axvline(1, color=INK, linewidth=1, zorder=2)
        draw_intervals(axes, low, high)
        axes.plot(points, range(len(points)), "s", color=PALETTE[6], markersize=6, zorder=4)

    notes = [*about(document), f"{document['ratio']} with {INTERVAL} interval; 1 = no effect"]
    return lines_svg(title, notes, [name(effect) for effect in effects], values, draw)

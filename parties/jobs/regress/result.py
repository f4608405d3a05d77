"""Linear classifier as a result: weights by feature, as JSON, as text and as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.jobs.kind import CONSTANT_AS_GOOD, adjacency_of
from parties.jobs.release.presenting import aligned, shown
from protocols.regression.features import ONE, Column, Features

Document = Mapping[str, Any]
SHOWN = 60  # bars; the text has all weights
DIGITS = 9  # decimal places of a weight
HALF = math.sqrt(2)  # weights of this many times the noise have half of their mean square from it


def model(
    target: str, of: tuple[str, str] | Column, features: Features, weights: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the content of a model file: each feature's addition to a row's score, which is positive for the second
    class.

    A value of a categorical column adds its weight, a number x adds weight (x - middle), a missing number nothing.

    Args:
        target: Name of the target.
        of: The two classes, or a numeric target; then the score is the number, within its bounds.
        features: The features.
        weights: Learnt weights of the features, float64[features].
    """
    columns: dict[str, Any] = {}
    scale, start_at = features.unit / ONE, 0.0
    subject: dict[str, Any]
    if isinstance(of, Column):
        scale, start_at = scale * float(of.half), float(of.middle)
        subject = {"least": float(of.middle - of.half), "greatest": float(of.middle + of.half)}
    else:
        subject = {"classes": list(of)}
    for column, start in zip(features.columns, features.starts, strict=True):
        rounded = [round(float(weight) * scale, DIGITS) for weight in weights[start : start + column.size]]
        if column.numbers is None:
            columns[column.name] = {"weights": dict(zip(column.values, rounded, strict=True))}
        else:
            slope = float(weights[start]) * scale / float(column.half)
            bounds = {"least": float(column.middle - column.half), "greatest": float(column.middle + column.half)}
            columns[column.name] = {"weight": round(slope, DIGITS), "middle": float(column.middle), **bounds}
    intercept = round(start_at + float(weights[-1]) * scale, DIGITS)
    return {"target": target, **subject, "intercept": intercept, "columns": columns}


def noise(features: Features, weights: NDArray[np.float64], spread: float) -> dict[str, Any]:
    """Return the fields on a categorical weight's noise, and on whether the weights are mostly noise.

    Args:
        features: The features.
        weights: Learnt weights of the features, float64[features].
        spread: Standard deviation of a weight's noise, or a bound on it. It follows from public values.
    """
    size = math.sqrt(float(np.mean(weights**2)))
    scale = features.unit / ONE
    return {"noise": float(f"{spread * scale:.4g}"), "mostly_noise": size <= HALF * spread}


def noises(of: Column, features: Features, deviations: NDArray[np.float64]) -> dict[str, Any]:
    """Return the standard deviation of every weight's noise for a numeric target, in the form of a model file.

    Args:
        of: The numeric target.
        features: The features.
        deviations: Standard deviation of each weight's noise, float64[features].
    """
    scaled = model(of.name, of, features, deviations)
    columns = {name: column.get("weights", column.get("weight")) for name, column in scaled["columns"].items()}
    return {"weight_noise": {"intercept": round(scaled["intercept"] - float(of.middle), DIGITS), "columns": columns}}


def text(document: Document) -> str:
    """Return the result as text: the weights with their noise, and the method."""
    classes = document.get("classes")
    lines = [["", f"for {shown(_subject(document))}"], ["intercept", _amount(document["intercept"])]]
    lines += [[name, _amount(weight)] for name, weight, *_ in _weights(document)]
    if "weight_noise" in document:
        of = document["weight_noise"]
        spread = [of["intercept"]]
        for column in of["columns"].values():
            spread += column.values() if isinstance(column, dict) else [column]
        lines = [
            [*line, noise_of] for line, noise_of in zip(lines, ["noise", *(f"{x:.3g}" for x in spread)], strict=True)
        ]
    if classes:
        end = f"a row whose cells add up to 0 or less is {shown(classes[0])}"
    else:
        end = f"a row's number is the sum of its cells, from {document['least']:,g} to {document['greatest']:,g}"
    return "\n".join([*aligned(lines, 1), *about(document), end]) + "\n"


def _subject(document: Document) -> str:
    return str(document["classes"][1] if "classes" in document else document["target"])


def about(document: Document) -> list[str]:
    """Return the method and the noise as lines of text."""
    privacy = f"epsilon {document['epsilon']:g}"
    if document.get("delta") is not None:
        privacy += f", delta {document['delta']:g}"
    lines = [document["method"]]
    lines[0] += f", {document['loss']} loss" if "loss" in document else ""
    lines[0] += f", lambda {document['lambda']:g}" if "lambda" in document else ""
    if "steps" in document:
        lines[0] += f", {document['steps']} steps of rate {document['rate']:g}, clipped at {document['clip']:g}"
    if "choices" in document:
        lines[0] += f", {document['choices']} choices among {document['points']} weights"
    lines += map(shown, document.get("rounded", ()))
    if "law" in document:
        of = "each moment" if "rmse" in document else "the weight of each category"
        of = "each sum of gradients" if "steps" in document else of
        lines.append(f"{document['law']} noise of sigma {document['sigma']:.4g} on {of}")
    if "rows" in document:
        about_ = "about " if "steps" in document or "rmse" in document else ""
        lines.append(f"of {about_}{document['rows']:,} rows")
    if "rmse" in document:
        low, high = document["rmse_interval"]
        off = f"off by about {document['rmse']:.4g} on these rows (root of the mean square)"
        lines.append(f"{off}, {low:.4g} to {high:.4g} with 95 % as to the noise")
    lines.append(f"{privacy} ({adjacency_of(document)})")
    if "noise" in document:
        exact = document["method"] == "output"
        up_to = "" if exact else "up to "
        lines.append(f"noise in the weight of a category: standard deviation {up_to}{document['noise']:.3g}")
        if document["mostly_noise"]:
            lines.append(f"the weights {'are' if exact else 'may be'} mostly noise: too few rows for this epsilon")
            lines.append(CONSTANT_AS_GOOD)
    return lines


def picture(document: Document) -> str:
    """Return the largest weights as bars, in the order of the columns; a number's bar is the addition at its upper
    bound."""
    from parties.jobs.release.drawing import bars_svg

    all_weights = [("intercept", document["intercept"])]
    all_weights += [(span, reach) for _, _, span, reach in _weights(document)]
    least = sorted((abs(reach) for _, reach in all_weights), reverse=True)[:SHOWN][-1]
    greatest = [(name, reach) for name, reach in all_weights if abs(reach) >= least][:SHOWN]
    notes = about(document)
    if len(greatest) < len(all_weights):
        notes.append(f"the {len(greatest)} greatest of {len(all_weights)} weights")
    bars = [{"value": float(f"{reach:.3g}")} for _, reach in greatest]
    title = f"What adds to {shown(document['target'], 60)}"
    if "classes" in document:
        title = f"What speaks for {shown(document['target'], 60)} = {shown(document['classes'][1], 60)}"
    return bars_svg(title, notes, [name for name, _ in greatest], bars)


def _weights(document: Document) -> list[tuple[str, float, str, float]]:
    """Return, without the intercept: name, weight, label of the span from middle to upper bound, and the span's
    addition."""
    features: list[tuple[str, float, str, float]] = []
    for name, column in document["columns"].items():
        if "weights" in column:
            for value, weight in column["weights"].items():
                condition = f"{shown(name)} = {shown(value)}"
                features.append((condition, weight, condition, weight))
        else:
            middle, greatest = column["middle"], column["greatest"]
            span = f"{shown(name)}, {greatest:g} instead of {middle:g}"
            each = f"{shown(name)}, each 1 above {middle:g}"
            features.append((each, column["weight"], span, column["weight"] * (greatest - middle)))
    return features


def _amount(weight: float) -> str:
    return f"{weight:+.4g}"

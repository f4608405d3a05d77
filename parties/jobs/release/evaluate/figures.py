"""Performance measures from noisy counts of labels and score bins: area, distances and shares, each with its
interval.

Each measure is a smooth function f of the cells' counts x, float[2, bins], label 0 first. Chance adds an error with
variance about x, and the noise one with variance s^2. So by the delta method

    variance of f = sum over cells of (x + s^2) (df / dx)^2

and the interval is that of a normal law. A pair of rows in one bin adds a half to the area.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from parties.jobs.release.noise import WIDE
from protocols.arrays import Floats

DIGITS = 6


@dataclass(frozen=True)
class Figures:
    """Counts of labels and bins, float[2, bins], and the variance of each count's noise."""

    counts: Floats
    noise_variance: float

    @property
    def negatives(self) -> float:
        """Number of rows of label 0; at least 1, as a divisor."""
        return max(1.0, float(self.counts[0].sum()))

    @property
    def positives(self) -> float:
        """Number of rows of label 1; at least 1, as a divisor."""
        return max(1.0, float(self.counts[1].sum()))

    def interval(self, value: float, gradient: Floats, upper_bound: float = 1.0) -> dict[str, Any]:
        """Return a value with its interval, both cut to 0 ... `upper_bound`.

        Args:
            value: The value.
            gradient: Derivatives of the value by the counts of the cells, float[2, bins].
            upper_bound: Upper bound of the value.
        """
        spread = WIDE * math.sqrt(float(((self.counts + self.noise_variance) * gradient**2).sum()))
        ends = {"value": value, "low": value - spread, "high": value + spread}
        return {name: round(min(max(end, 0.0), upper_bound), DIGITS) for name, end in ends.items()}

    def ratio(self, above: Floats, below: Floats, upper_bound: float = 1.0, factor: float = 1.0) -> dict[str, Any]:
        """Return `factor` times the sum of some cells divided by the sum of others, with its interval.

        Args:
            above: Cells of the numerator: weights 0 and 1, float[2, bins].
            below: Cells of the denominator, likewise.
            upper_bound: Upper bound of the value.
            factor: The factor.
        """
        rows, part = max(1.0, float((self.counts * below).sum())), float((self.counts * above).sum())
        return self.interval(factor * part / rows, factor * (above / rows - below * part / rows**2), upper_bound)

    def area(self) -> dict[str, Any]:
        """Return the area under the ROC curve; None as value if a label has no row."""
        negatives, positives = self.counts
        if not (negatives.sum() > 0 and positives.sum() > 0):
            return {"value": None, "low": 0.0, "high": 1.0}
        beaten = 2 * (negatives.cumsum() - negatives) + negatives
        beating = 2 * (positives[::-1].cumsum()[::-1] - positives) + positives
        pairs = 2 * self.positives * self.negatives
        area = float((positives * beaten).sum()) / pairs
        gradient = np.stack([beating / pairs - area / self.negatives, beaten / pairs - area / self.positives])
        return self.interval(area, gradient)

    def distance(self) -> tuple[dict[str, Any], int]:
        """Return the Kolmogorov-Smirnov distance of both labels' scores, and the bin after which it is reached."""
        negatives, positives = self.counts
        distances = np.abs(negatives.cumsum() / self.negatives - positives.cumsum() / self.positives)
        bin_index = int(distances.argmax())
        inside = (np.arange(len(negatives)) <= bin_index).astype(float)
        signs = np.stack([inside / self.negatives, -inside / self.positives])
        signs[0] -= negatives[: bin_index + 1].sum() / self.negatives**2
        signs[1] += positives[: bin_index + 1].sum() / self.positives**2
        return self.interval(float(distances[bin_index]), signs), bin_index

    def roc(self, edges: Floats) -> list[dict[str, Any]]:
        """Return the ROC curve: for each threshold, the shares of both labels' rows that score at or above it.

        Args:
            edges: Edges of the score bins, ascending; each is a threshold.
        """
        points = []
        for start in range(len(edges) - 1, -1, -1):
            inside = (np.arange(self.counts.shape[1]) >= start).astype(float)
            negative, positive = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
            wrong = self.ratio(inside * negative, np.ones_like(inside) * negative)["value"]
            right = self.ratio(inside * positive, np.ones_like(inside) * positive)
            points.append({"from": float(edges[start]), "false_positive_rate": wrong} | right)
        return points

    def calibration(self, edges: Floats) -> list[dict[str, Any]]:
        """Return the share of positive rows in each bin, with its interval and the bin's rows."""
        lines = []
        for bin_index, (low, high) in enumerate(pairwise(edges.tolist())):
            below = np.zeros_like(self.counts)
            below[:, bin_index] = 1
            above = below * np.array([[0.0], [1.0]])
            rows = float(self.counts[:, bin_index].sum())
            shares = self.ratio(above, below) if rows > 0 else {"value": None, "low": 0.0, "high": 1.0}
            lines.append({"from": float(low), "to": float(min(high, 1)), "rows": round(rows), **shares})
        return lines

    def confusion(self, start: int) -> dict[str, Any]:
        """Return the confusion matrix, accuracy, precision and recall if bins from `start` on are called positive."""
        is_positive = np.arange(self.counts.shape[1]) >= start
        right = np.stack([~is_positive, is_positive]).astype(float)
        ones, positive = (
            np.ones_like(self.counts),
            np.stack([np.zeros_like(is_positive), np.ones_like(is_positive)]).astype(float),
        )
        all_positive = np.stack([is_positive, is_positive]).astype(float)
        numbers = {
            "true_positives": right * positive, "false_positives": all_positive * (1 - positive),
            "false_negatives": (1 - all_positive) * positive, "true_negatives": right * (1 - positive),
        }  # fmt: skip
        max_count = max(1.0, float(self.counts.sum()) * 2)
        spread = WIDE * math.sqrt(self.noise_variance)
        rows = {}
        for name, cells in numbers.items():
            value, reach = float((self.counts * cells).sum()), spread * math.sqrt(float(cells.sum()))
            rows[name] = {
                "value": round(value),
                "low": max(0, math.floor(value - reach)),
                "high": min(max_count, math.ceil(value + reach)),
            }
        return rows | {
            "accuracy": self.ratio(right, ones),
            "precision": self.ratio(numbers["true_positives"], all_positive),
            "recall": self.ratio(numbers["true_positives"], positive),
        }

    def lift(self, edges: Floats) -> list[dict[str, Any]]:
        """Return the lift for each threshold: precision of the rows from it on, divided by the share of positive
        rows."""
        lines = []
        rows, share = max(1.0, float(self.counts.sum())), self.positives / max(1.0, float(self.counts.sum()))
        for start in range(len(edges) - 2, -1, -1):
            below = np.zeros_like(self.counts)
            below[:, start:] = 1
            above = below * np.array([[0.0], [1.0]])
            part = float((self.counts * below).sum())
            precision = float((self.counts * above).sum()) / max(1.0, part)
            of_all = np.array([[0.0], [1.0]]) / rows - share / rows
            gradient = (above - precision * below) / max(1.0, part) / share - precision / share**2 * of_all
            lines.append(
                {"from": float(edges[start]), "rows": round(part / rows, DIGITS)}
                | self.interval(precision / share, gradient, 1 / share)
            )
        return lines


def stability(first: Floats, second: Floats, noise_variance: float) -> dict[str, Any]:
    """Return the population stability index of two groups' rows by bin: sum of (a - e) ln(a / e) of their shares.

    Half a row is added to each bin. Chance and noise only raise the index. So their expected contribution to equal
    groups is subtracted from its lower end.

    Args:
        first: Rows of the first group by bin.
        second: Rows of the second group by bin.
        noise_variance: Variance of each count's noise.
    """
    filled = [np.maximum(rows, 0) + 0.5 for rows in (first, second)]
    sizes = [float(rows.sum()) for rows in filled]
    a, e = (rows / size for rows, size in zip(filled, sizes, strict=True))
    value = float(((a - e) * np.log(a / e)).sum())
    by_share = np.log(a / e) + 1 - e / a, np.log(e / a) + 1 - a / e
    variance = added = 0.0
    for share, slope, rows, size in zip((a, e), by_share, filled, sizes, strict=True):
        cells = (rows + 2 * noise_variance) / size**2  # variance of a share, before the correction for the sum
        variance += float((cells * (slope - (share * slope).sum()) ** 2).sum())
        added += float((cells * (1 - share) / share).sum())
    spread = WIDE * math.sqrt(variance)
    ends = {"value": value, "low": max(0.0, value - spread - added), "high": value + spread}
    return {name: round(end, DIGITS) for name, end in ends.items()}

"""Risks of protected rows: small classes, individual risk by weights, and linkage by distance.

Individual risk (Benedetti, Franconi, "Statistical and technological solutions for controlled data dissemination", 1998;
`indivRisk` of sdcMicro): for a class with f rows of the sample, which stand for f / pi people, the expected 1 / F under
F = f, f + 1, ... negative binomial with pi. Distance-based record linkage: Domingo-Ferrer, Torra, "Disclosure risk
assessment in statistical data protection" (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from parties.alone.publish.protecting.microaggregation import standardised
from parties.alone.publish.protecting.rows import Rows
from protocols.arrays import Counts, Floats

LINKED = 2_000  # most rows for which linkage by distance is tried
INTERVAL = 0.05  # of a standard deviation: a value this near to the original discloses it
TERMS = 200


def individual_risks(frequencies: Counts, populations: Floats) -> Floats:
    """Return the individual risk of each class, float[n].

    It is the integral of u^(f - 1) / (1 + a u) over 0 to 1, a = (1 - pi) / pi: by recurrence where a >= 1 and f is
    small, else by the series pi / f 2F1(1, 1; f + 1; 1 - pi), each where it is stable.

    Args:
        frequencies: rows of each class, f
        populations: number of people whom the rows of each class represent, at least f
    """
    f = frequencies.astype(np.float64)
    pi = np.minimum(1.0, f / populations)
    series, term = np.zeros_like(pi), np.ones_like(pi)
    for n in range(TERMS):
        series += term
        term = term * (n + 1) / (f + n + 1) * (1 - pi)
    result: Floats = pi / f * series
    few = np.flatnonzero((pi < 0.5) & (frequencies <= 64))
    a = (1 - pi[few]) / pi[few]
    integral = np.log1p(a) / a
    for number in range(1, int(frequencies[few].max(initial=1))):
        result[few] = np.where(frequencies[few] == number, integral, result[few])
        integral = (1 / number - integral) / a
    if len(few):
        last = frequencies[few] == frequencies[few].max()
        result[few[last]] = integral[last]
    return result


def class_risks(rows: Rows) -> dict[str, Any]:
    """Return the number of unique rows and the re-identification risks of classes of equal rows, as JSON."""
    if not rows.quasi or not len(rows):
        return {}
    codes = rows.codes(rows.quasi)
    sizes, populations = np.bincount(codes), np.bincount(codes, rows.weights).astype(np.float64)
    risks = individual_risks(sizes, populations)[codes]
    return {
        "rows_alone": int((sizes == 1).sum()),
        "rows_below_3": int(sizes[sizes < 3].sum()),
        "rows_below_5": int(sizes[sizes < 5].sum()),
        "individual_risk_highest": float(risks.max()),
        "individual_risk_average": float(risks.mean()),
        "expected_reidentifications": float(risks.sum()),
    }


def number_risks(original: Floats, protected: Floats, random: np.random.Generator) -> dict[str, Any]:
    """Return the share of rows that are linked to their own original, and of rows with values all near the original.

    A row is linked to the nearest original; with ties, it counts as the probability of a correct link. Near means
    within `INTERVAL`.

    Args:
        original: numbers before protection, float[rows, columns]
        protected: numbers after it, in the same order of rows, float[rows, columns]
        random: source of randomness
    """
    places = random.permutation(len(original))[:LINKED]
    both = standardised(np.concatenate([original, protected]))
    before, after = both[: len(original)], both[len(original) :]
    linked = 0.0
    for place in places.tolist():
        distances = ((before - after[place]) ** 2).sum(axis=1)
        nearest = distances <= distances.min() + 1e-12
        linked += nearest[place] / nearest.sum()
    deviation = original.std(axis=0)
    near = (np.abs(original - protected) <= INTERVAL * deviation).all(axis=1)
    return {"linked_by_distance": float(linked / max(1, len(places))), "interval_disclosure": float(near.mean())}

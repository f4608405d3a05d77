"""Clusters as a result: fields of JSON, and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.base.text import csv_text
from parties.jobs.release.cluster.points import Axis
from parties.jobs.release.presenting import about, aligned, amount, shown
from parties.jobs.release.question import plain
from protocols.release.centroids import Points

Document = Mapping[str, Any]


def fields(axes: Sequence[Axis], places: Points, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Return the clusters in the columns' own units, those with the most rows first.

    Args:
        axes: Columns of the points.
        places: Centroids in fixed point.
        rows: Number of rows of each cluster.
    """
    order = sorted(range(len(places)), key=lambda i: (-int(rows[i]), places[i].tolist()))
    return {
        "columns": [axis.column for axis in axes],
        "bounds": [[plain(axis.low), plain(axis.high)] for axis in axes],
        "clusters": [
            {
                "centroid": [plain(axis.number(place)) for axis, place in zip(axes, places[i].tolist(), strict=True)],
                "rows": int(rows[i]),
            }
            for i in order
        ],
    }


def text(document: Document) -> str:
    """Return the result as text: a line for each cluster with its rows and centroid, and notes."""
    lines = [["cluster", "rows", *map(shown, document["columns"])]]
    for number, cluster in enumerate(document["clusters"], 1):
        lines.append([str(number), amount(cluster["rows"]), *(f"{value:,.5g}" for value in cluster["centroid"])])
    return "\n".join([*aligned(lines, 1), *notes(document)]) + "\n"


def clusters_as_csv(document: Document) -> str:
    """Return the clusters as CSV: the centroid of each by column, and its number of rows last."""
    rows = ([*cluster["centroid"], cluster["rows"]] for cluster in document["clusters"])
    return csv_text([[*document["columns"], "rows"], *rows])


def notes(document: Document) -> list[str]:
    """Return the selection, the method and the noise of the clusters as lines of text."""
    if document["method"] == "in-process":
        method_line = f"{document['iterations']} rounds of k-means, the first on {document['first']} cells"
    else:
        then = ", then a round of its clusters" if document["method"] == "hybrid" else ""
        method_line = f"k-means on the counts of {document['cells']:,} cells{then}"
    if document["method"] != "grid" and "epsilons" in document:
        method_line += f", of epsilon {', '.join(f'{epsilon:.3g}' for epsilon in document['epsilons'])}"
    doubt = ["the clusters may be noise alone: one centroid may be as good"] if document.get("mostly_noise") else []
    return [*map(shown, about(document)), method_line, *doubt]

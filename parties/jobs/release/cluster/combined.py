"""Combine clusters that several holders found alone: k-means on all centroids, weighted by their rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from parties.base import file_kinds, files
from parties.jobs.release.cluster import result
from parties.jobs.release.cluster.kmeans import weighted
from parties.jobs.release.cluster.points import Axis
from parties.models.combined import require_equal
from parties.models.scored import is_number
from smc.errors import InputError


def centroids(paths: Sequence[Path]) -> dict[str, Any]:
    """Return clusters of the centroids in all files, as many as the file with the most clusters has.

    Raises:
        InputError: A file has no clusters, or clusters of other columns or bounds.
    """
    parts = [_read(path) for path in paths]
    require_equal(paths, [axes for axes, _ in parts])
    centres = [centre for _, clusters in parts for centre in clusters]
    axes = [
        Axis(name, tuple(centre[i] for centre, _ in centres), *bounds) for i, (name, *bounds) in enumerate(parts[0][0])
    ]
    places = np.column_stack([axis.table for axis in axes])
    rows = np.array([rows for _, rows in centres], dtype=np.int64)
    return result.fields(axes, *weighted(places, rows, max(len(clusters) for _, clusters in parts)))


Axes = list[tuple[str, Fraction, Fraction]]  # each with its bounds
Centres = list[tuple[list[Fraction], int]]  # each with its rows


def _read(path: Path) -> tuple[Axes, Centres]:
    """Return the axes and the centroids of a file. Raise InputError if it is invalid."""
    with file_kinds.expecting(path, (file_kinds.CLUSTERS,), "give a file that smc cluster --out wrote"):
        try:
            fields = files.read_json(path)
            axes = [
                (str(name), _exact(low), _exact(high))
                for name, (low, high) in zip(fields["columns"], fields["bounds"], strict=True)
            ]
            clusters = [(list(map(_exact, c["centroid"])), int(_exact(c["rows"]))) for c in fields["clusters"]]
            if not axes or {len(centre) for centre, _ in clusters} != {len(axes)}:
                raise ValueError("it has no clusters, or a centroid lacks a column")
            if any(low >= high for _, low, high in axes) or any(rows < 0 for _, rows in clusters):
                raise ValueError("a bound or a number of rows is impossible")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not a file of smc cluster: {error}") from None
    return axes, clusters


def _exact(number: float) -> Fraction:
    if not is_number(number):
        raise ValueError(f"{number!r} is not a number")
    return Fraction(str(number))

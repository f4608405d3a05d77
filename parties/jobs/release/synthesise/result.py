"""Synthetic rows as a result, with the marginals that they come from; also as text and as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from parties.base.text import csv_text
from parties.jobs.kind import Document
from parties.jobs.release import presenting
from parties.jobs.release.synthesise.settings import SynthesiseSettings
from parties.jobs.release.synthesise.state import Synthesis, measurements

if TYPE_CHECKING:
    from protocols.release.selection import Workload


def fields(
    settings: SynthesiseSettings, work: Workload, values: Mapping[str, Sequence[str]], state: Synthesis
) -> Document:
    """Return the measured marginals, and the rows as indices of each column's values.

    Args:
        settings: The settings.
        work: The workload of marginals.
        values: Values of each column.
        state: The final state.
    """
    assert state.rows is not None
    return {
        "select": settings.select,
        "generator": settings.generator,
        "seed": state.seed,
        "values": {name: list(names) for name, names in values.items()},
        "measured": [
            {"columns": list(marginal.columns), "sigma": marginal.sigma, "counts": marginal.counts.tolist()}
            for marginal in measurements(work, list(values), state.measured)
        ],
        "rows": {name: state.rows[:, place].tolist() for place, name in enumerate(values)},
    }


def lines(document: Document) -> list[str]:
    """Return lines of text: the number of synthetic rows, and each measured marginal."""
    rows = cast("dict[str, Sequence[int]]", document["rows"])
    row_count = len(next(iter(rows.values())))
    lines = [f"{row_count:,} synthetic rows of {len(rows)} columns, from {len(document['measured'])} noisy marginals:"]
    for marginal in document["measured"]:
        names = " x ".join(map(presenting.shown, marginal["columns"]))
        cells = prod(len(document["values"][name]) for name in marginal["columns"])
        lines.append(f"  {names}: {cells:,} cells, sigma {marginal['sigma']:.4g}")
    return lines


def rows_as_csv(document: Document) -> str:
    """Return the synthetic rows as CSV with a header."""
    names = list(document["rows"])
    texts = [np.array(document["values"][name], dtype=object)[document["rows"][name]] for name in names]
    return csv_text([names, *zip(*texts, strict=True)])

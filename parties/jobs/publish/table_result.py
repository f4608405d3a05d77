"""Joint table as a result: numbers with noise, or sealed ones; and its text with the pattern of hidden cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from parties.alone.publish.hiding.tabulation import TOTAL
from parties.base.settings import required
from parties.jobs.kind import Document, State
from parties.jobs.publish import analyst
from parties.jobs.publish.table_layout import NAME, Layout
from parties.jobs.release.noise import Noise
from parties.jobs.release.presenting import aligned, amount, shown
from parties.jobs.release.question import number
from parties.jobs.sentences import adjacency_of

HIDDEN, SEALED = "x", "*"


def sealed_head(layout: Layout, state: State, job: str) -> Document:
    """Return a sealed table without its shares (`parties.alone.publish.sealing.sealed`).

    Args:
        layout: Layout of the table.
        state: The final state.
        job: Digest of the agreed job.
    """
    from parties.alone.publish.sealing.sealed import FORMAT

    digits = 0
    while (layout.unit * 10**digits).denominator > 1:  # terminates, since values are decimal numbers
        digits += 1
    return {
        "format": FORMAT,
        **_about(layout),
        "job": job,
        "analyst": analyst.told(required(layout.settings.analyst, f"{NAME}.analyst")),
        "units": {"factor": int(layout.unit * 10**digits), "digits": digits},
        "hidden": _lines(state["hidden"], layout.shape[1]),
        "width": layout.width + 1,
        "masked": state["masked"],
    }


def noisy_cells(layout: Layout, state: State, noise: Noise) -> Document:
    """Return the table with noise: opened number and interval of each visible cell, null for a hidden one.

    Args:
        layout: Layout of the table.
        state: The final state.
        noise: Noise on each number.
    """
    max_value = 2 * layout.settings.max_rows * max(layout.whole) * layout.unit
    reach, numbers = noise.reach(), iter(state["numbers"])
    cells = [
        None if digit == "1" else number(next(numbers), reach, Fraction(0), Fraction(max_value), layout.unit)
        for digit in state["hidden"]
    ]
    return {
        **_about(layout),
        "epsilon": layout.settings.epsilon,
        "adjacency": layout.settings.adjacency,
        **({} if layout.settings.at_most is None else {"at_most": layout.settings.at_most}),
        **noise.fields(layout.unit),
        "cells": _lines(cells, layout.shape[1]),
    }


def text(document: Document) -> str:
    """Return the table as text: numbers, or the pattern of sealed cells."""
    names = [document["by"], *([document["across"]] if document["across"] else [])]
    lines = [[" \\ ".join(map(shown, names)), *map(shown, document["columns"])]]
    if "cells" in document:
        cells = [[HIDDEN if cell is None else amount(cell["value"]) for cell in line] for line in document["cells"]]
        reach = max((cell["high"] - cell["noisy"] for line in document["cells"] for cell in line if cell), default=0)
        hidden_note = f"{HIDDEN}: fewer than {document['threshold']:,} rows, with noise"
        ending = [
            f"{hidden_note}. 95 %, noise only: each number ± {amount(reach)}; {document['law']} noise of scale "
            f"{document['scale']:.4g}, epsilon {document['epsilon']:g} ({adjacency_of(document)}); totals are no sums"
        ]
    else:
        cells = [[HIDDEN if digit == "1" else SEALED for digit in line] for line in document["hidden"]]
        ending = [f"{HIDDEN}: hidden. {SEALED}: sealed to {shown(document['analyst'])}, who opens it: smc publish open"]
    lines += [[shown(name), *line] for name, line in zip(document["rows"], cells, strict=True)]
    return "\n".join([*aligned(lines, 1), *ending]) + "\n"


def _about(layout: Layout) -> Document:
    titles = [[*layout.schema.attributes[name], TOTAL] for name in layout.axes]
    fields: dict[str, Any] = {
        "question": NAME,
        "by": layout.settings.by,
        "across": layout.settings.across,
        "sum": layout.settings.summed,
        "threshold": layout.settings.threshold,
        "against": layout.settings.against,
        "zeros": layout.settings.zeros,
        "rows": titles[0],
        "columns": titles[1] if len(titles) > 1 else [TOTAL],
    }
    return fields


def _lines(cells: Any, columns: int) -> list[Any]:
    """Split a text or a list of cells into rows."""
    return [cells[start : start + columns] for start in range(0, len(cells), columns)]

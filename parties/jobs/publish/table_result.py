"""Text of a joint table: numbers with noise, or the pattern of sealed cells."""

from __future__ import annotations

from parties.jobs.kind import Document, adjacency_of
from parties.jobs.release.presenting import aligned, amount, shown

HIDDEN, SEALED = "x", "*"


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
    return "\n".join([*aligned(lines, 1), *map(shown, document.get("rounded", ())), *ending]) + "\n"

"""The information that the algorithm top-down loses, compared with Mondrian, on evenly spread points and on clusters.

The tables have whole numbers from 0 to 99, drawn evenly or around random centres. Each algorithm that cuts numbers
recodes them for classes of k rows. The loss is the normalised certainty penalty: the share of a column that a published
cell spans, on average over all columns, rows and tables.

    python -m benchmarks.recoding_loss --out benchmarks/results/recoding_loss.json
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lines import kept
from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import build
from parties.alone.publish.models.model import KAnonymity
from parties.alone.publish.recoding.mondrian import mondrian
from parties.alone.publish.recoding.partition import Partition, certainty
from parties.alone.publish.recoding.topdown import topdown

ROWS, COLUMNS, VALUES, TABLES = 1000, 3, 100, 8
CENTRES, SPREAD = 8, 5.0
POINTS = ("uniform", "clustered")
KS = (2, 5, 10, 20)
NUMERIC = [True] * COLUMNS
ALGORITHMS: dict[str, Callable[[Cells, int], Partition]] = {
    "mondrian": lambda cells, k: mondrian(cells, [KAnonymity(k)], NUMERIC),
    "mondrian-relaxed": lambda cells, k: mondrian(cells, [KAnonymity(k)], NUMERIC, relaxed=True),
    "top-down": lambda cells, k: topdown(cells, [KAnonymity(k)], NUMERIC),
}


def drawn(points: str, table: int) -> NDArray[np.int64]:
    """Return the rows of a table, int64[rows, columns]."""
    rng = np.random.default_rng([POINTS.index(points), table])
    if points == "uniform":
        return rng.integers(0, VALUES, (ROWS, COLUMNS))
    centres = rng.integers(0, VALUES, (CENTRES, COLUMNS))
    rows = centres[rng.integers(0, CENTRES, ROWS)] + rng.normal(0, SPREAD, (ROWS, COLUMNS))
    return np.rint(rows).astype(np.int64).clip(0, VALUES - 1)


def cells_of(rows: NDArray[np.int64]) -> Cells:
    """Return the cells of rows; each column's only level above its values is `*`."""
    hierarchies = tuple(build(f"x{i}", [[str(value), "*"] for value in np.unique(rows[:, i])]) for i in range(COLUMNS))
    codes = np.stack([np.unique(column, return_inverse=True)[1] for column in rows.T]).astype(np.int32)
    quasi, counts = reduced(codes)
    return Cells(hierarchies, (), quasi, quasi[:0], counts)


def measured(points: str, k: int) -> dict[str, Any]:
    """Return the mean loss of each algorithm."""
    every = [cells_of(drawn(points, table)) for table in range(TABLES)]
    losses = {
        name: float(np.mean([list(certainty(cells, algorithm(cells, k)).values()) for cells in every]))
        for name, algorithm in ALGORITHMS.items()
    }
    return {"points": points, "k": k, **{name: round(loss, 4) for name, loss in losses.items()}}


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """Return the table in docs/publish.md."""
    lines = [
        "| numbers | k | `mondrian` | `mondrian-relaxed` | `top-down` | `top-down` compared with `mondrian` |",
        "|---" * 6 + "|",
    ]
    for line in results:
        beside = line["top-down"] / line["mondrian"] - 1
        losses = " | ".join(f"{line[name]:.1%}" for name in ALGORITHMS)
        lines.append(f"| {line['points']} | {line['k']} | {losses} | {beside:+.0%} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write and print."""
    shape = {"rows": ROWS, "columns": COLUMNS, "values": VALUES, "tables": TABLES, "centres": CENTRES, "spread": SPREAD}
    kept(__doc__, lambda _: (measured(points, k) for points in POINTS for k in KS), markdown, shape)


if __name__ == "__main__":
    main()

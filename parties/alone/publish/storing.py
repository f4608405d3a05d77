"""Recoded rows as a new table of the source's database, created there by one statement: rows are not transferred.

Only the partition is transferred: a line for each piece of a cell, with its class, and a line for each class, with its
labels. Both tables are dropped when the new table exists.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp

from parties.alone.publish.cells import Cells
from parties.alone.publish.masks import MaskPlan, cell
from parties.alone.publish.reading import require, text_of
from parties.alone.publish.recoding.partition import Partition
from parties.alone.publish.writing import changed, labels_of, write
from parties.sources.opened import RowQuery

PIECES, LABELS = "smc_pieces", "smc_labels"


def put(
    rows: RowQuery,
    out: Path | str,
    order: Sequence[str],
    cells: Cells,
    partition: Partition,
    masks: Mapping[str, MaskPlan | None],
    escape_formulas: bool = False,
) -> int:
    """Write recoded rows to a file (by `write`) or a table (by `store`), and return their number.

    Args:
        rows: the source
        out: a file, or the name of a table
        order: the columns
        cells: the counted cells
        partition: classes of the cells
        masks: masks of the columns
        escape_formulas: escape cells that a spreadsheet would compute; for files only
    """
    if isinstance(out, Path):
        return write(rows, out, order, cells, partition, masks, escape_formulas)
    return store(rows, out, order, cells, partition, masks)


def store(
    rows: RowQuery,
    name: str,
    order: Sequence[str],
    cells: Cells,
    partition: Partition,
    masks: Mapping[str, MaskPlan | None],
) -> int:
    """Create a table of recoded rows, whole or not at all, and return the number of rows.

    Quasi-identifiers are recoded, other columns are masked or in clear. Rows are in random order.

    Args:
        rows: the source
        name: the new table
        order: its columns
        cells: the counted cells
        partition: classes of the cells
        masks: masks of the columns

    Raises:
        InputError: the table exists, the source is not a writable database, or its rows have changed
    """
    quasi = [h.column for h in cells.hierarchies]
    names = [*quasi, *(h.column for h in cells.sensitive_hierarchies)]
    require(rows, order)
    unrecoded = [column for column in order if column not in quasi]
    texts = [text_of(rows, column) for column in names]
    place = exp.Window(this=exp.RowNumber(), partition_by=[text.copy() for text in texts]).as_("place")
    numbered = exp.Select().select(
        *(text.as_(f"c{i}") for i, text in enumerate(texts)),
        *(cell(rows, column, masks.get(column)).as_(f"o{i}") for i, column in enumerate(unrecoded)),
        place,
        _random(rows.engine.backend.name).as_("mixed"),
    )
    on: list[exp.Condition] = [exp.column(f"c{i}", "t").eq(exp.column(f"c{i}", "p")) for i in range(len(names))]
    on += [exp.column("place", "t") > exp.column("before", "p"), exp.column("place", "t") <= exp.column("past", "p")]
    source = numbered.from_(rows.query.subquery("s")).subquery("t")
    matched = exp.Select().select(exp.Count(this=exp.Star()), exp.Count(this=exp.column("class", "p")))
    matched = matched.from_(source.copy()).join(exp.to_table(PIECES).as_("p"), on=exp.and_(*on), join_type="left")
    columns = [
        (exp.column(f"l{quasi.index(c)}", "b") if c in quasi else exp.column(f"o{unrecoded.index(c)}", "t")).as_(
            c, quoted=True
        )
        for c in order
    ]
    query = exp.Select().select(*columns).from_(source)
    query = query.join(exp.to_table(PIECES).as_("p"), on=exp.and_(*on))
    query = query.join(exp.to_table(LABELS).as_("b"), on=exp.column("class", "p").eq(exp.column("class", "b")))
    with rows.engine.writing({PIECES: _pieces(cells, partition), LABELS: _labels(partition, len(quasi))}) as written:
        if written.counts(matched) != (cells.rows, cells.rows):
            raise changed(rows.engine.place)
        return written.create(name, query.order_by(exp.column("mixed", "t")))


def _random(backend: str) -> exp.Expr:
    """Return a random sort key that cannot be reproduced."""
    if backend == "postgres":
        return exp.func("gen_random_uuid")
    number = exp.cast(exp.Window(this=exp.RowNumber()), "TEXT")
    return exp.func("sha256", exp.DPipe(this=exp.Literal.string(secrets.token_hex(16)), expression=number))


def _pieces(cells: Cells, partition: Partition) -> pa.Table:
    """Return the pieces: the cell's texts, the range of its rows (after `before`, up to `past`), and the class."""
    columns = {}
    hierarchies = (*cells.hierarchies, *cells.sensitive_hierarchies)
    for i, (hierarchy, codes) in enumerate(zip(hierarchies, [*cells.quasi, *cells.sensitive], strict=True)):
        columns[f"c{i}"] = pa.array(hierarchy.values, pa.string()).take(pa.array(codes[partition.cells]))
    past = np.cumsum(partition.counts)
    past -= (np.cumsum(cells.counts) - cells.counts)[partition.cells]
    return pa.table({**columns, "before": past - partition.counts, "past": past, "class": partition.classes})


def _labels(partition: Partition, number: int) -> pa.Table:
    """Return a table of each class's labels in the first `number` quasi-identifiers; suppressed rows have no class."""
    columns = {f"l{i}": labels_of(partition, i) for i in range(number)}
    return pa.table({"class": np.arange(len(partition.boxes)), **columns})

"""Rows in memory as a public schema codes them, and a task on them alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.jobs.tabular import BySchema
from parties.notebook.fitting import NEVER
from parties.tables import categories
from parties.tables.delimited import MISSING
from parties.tables.types import Domain, NumberType, exactly
from protocols.counts import RowCounts
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local


def columns_of(X: Any, names: tuple[str, ...]) -> list[categories.Column]:
    """Return the columns of a frame by their names, or those of an array in this order. `InputError`."""
    table = categories.frame(X)
    if table is not None:
        return categories.frame_columns(categories.select(table, names), names, names)
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2 or cells.shape[1] != len(names):
        raise InputError(f"X must have the {len(names)} columns {', '.join(names)}")
    return categories.array_columns(cells, names, names)


def counted(task: BySchema, columns: Sequence[categories.Column]) -> RowCounts:
    """Return rows as a task counts them, from its attributes' columns and at last the target's.

    `InputError` for a cell outside the schema, or for more rows than agreed.
    """
    number = len(columns[0].cells)
    if number > task.settings.max_rows:
        raise InputError(f"{number} rows are more than the agreed bound of {task.settings.max_rows}")
    places = [codes(column, task.schema.attributes[column.name]) for column in columns]
    domains = [len(task.schema.attributes[column.name]) for column in columns]
    return RowCounts(domains[:-1], domains[-1], np.stack(places[:-1], axis=1), places[-1])


def codes(column: categories.Column, values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the category of every cell: of numbers the range, or the nearest one, as a table's are read."""
    kind = values.column if isinstance(values, Domain) else None
    if not isinstance(kind, NumberType):
        return column.schema_codes(values).astype(np.int64)
    texts = [categories.spell(cell) for cell in column.cells]
    try:
        numbers = np.array([np.nan if text == MISSING else float(text) for text in texts])
    except ValueError:
        return column.schema_codes(values).astype(np.int64)  # which names the cell
    if np.isnan(numbers).any() and not kind.missing:
        return column.schema_codes(values).astype(np.int64)
    cuts = kind.cuts
    if cuts.grid is None:
        codes = np.searchsorted(np.array(cuts.numbers, dtype=float), numbers, side="right")
    else:
        low, step = (float(exactly(number)) for number in cuts.grid)
        nearest = np.rint((np.nan_to_num(numbers, nan=low) - low) / step)
        codes = np.clip(nearest, 0, len(cuts.labels) - 1).astype(np.int64)
    return np.where(np.isnan(numbers), len(values) - 1, codes).astype(np.int64)


def alone(task: BySchema, counts: RowCounts) -> Any:
    """Learn from one's own rows by the same program on the clear engine; the peer's part has no rows."""
    schema = task.schema
    domains = [len(schema.attributes[name]) for name in schema.features(task.target)]
    nothing = np.zeros((0, len(domains)), dtype=np.int64)
    nobody = RowCounts(domains, len(schema.attributes[task.target]), nothing, nothing[:, 0])
    profile = Profile("clear")

    def program(session: Any) -> Any:
        rows = task.own_rows((counts, nobody)[session.party])
        return task.run(engine_of(session, profile), rows, task.beginning, lambda step: None)

    return run_local(program, timeout=NEVER, kernels=profile.kernels)[0]

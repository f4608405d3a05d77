"""Rows of a table: blurred into a file, or read as published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from parties.alone.blurring.plan import BlurPlan, ColumnBlur
from parties.alone.blurring.response import codes_of
from parties.alone.publish.writing import writer_of
from parties.base import files
from parties.base.text import listed, quoted
from parties.sources.opened import RowQuery
from protocols.arrays import Floats
from smc.errors import InputError

MOST_ROWS = 10_000_000  # most rows held in memory


def blur(
    rows: RowQuery, path: Path, plan: BlurPlan, rng: np.random.Generator, on_progress: Callable[[int], None]
) -> int:
    """Write the plan's columns of all rows, blurred, and return the number of rows.

    Nothing is written after an error.

    Args:
        rows: the true rows
        path: the file to write
        plan: the plan
        rng: source of randomness
        on_progress: called with the number of rows written so far

    Raises:
        InputError: a value is missing, is not a number, or lies outside the plan's range or values
    """
    names, written = list(plan.columns), 0
    with files.replacing(path) as stream, writer_of(path, stream, names) as out:
        for batch in rows.engine.batches(rows.select(names)):
            columns = []
            for i, (name, column) in enumerate(plan.columns.items()):
                columns.append(_blurred(batch.column(i), f"{rows.engine.place}, column {quoted(name)}", column, rng))
            out.write(pa.table(columns, names=names))
            written += batch.num_rows
            on_progress(written)
        if not written:
            raise InputError(f"{rows.engine.place}: there are no rows; give a table with rows")
    return written


def read(rows: RowQuery, plan: BlurPlan, names: Sequence[str]) -> dict[str, Any]:
    """Return columns as published: numbers float64[rows], categories int32[rows], others the text of each row.

    Args:
        rows: the published rows
        plan: their plan
        names: columns to read

    Raises:
        InputError: there are no rows, or more than `MOST_ROWS`, or a value does not fit its column
    """
    total, batches = 0, []
    for batch in rows.engine.batches(rows.select(names)):
        total += batch.num_rows
        if total > MOST_ROWS:
            raise InputError(f"{rows.engine.place}: more than {MOST_ROWS:,} rows; give a random sample of them")
        batches.append(batch)
    table = pa.concat_tables(batches)
    if not table.num_rows:
        raise InputError(f"{rows.engine.place}: there are no rows; give a table with rows")
    columns: dict[str, Any] = {}
    for i, name in enumerate(names):
        column, place = plan.columns[name], f"{rows.engine.place}, column {quoted(name)}"
        if column.numeric:
            columns[name] = numbers(table.column(i), place)
        elif column.noise == "response":
            columns[name] = _categories(table.column(i), column, place)
        else:
            columns[name] = ["?" if value is None else str(value) for value in table.column(i).to_pylist()]
    return columns


def numbers(column: pa.ChunkedArray, place: str) -> Floats:
    """Return a column of numbers, or of their texts, as float64[rows].

    Args:
        column: the column
        place: name of the source and column, for errors

    Raises:
        InputError: a value is missing or not a finite number
    """
    if column.null_count:
        raise InputError(f"{place}: a value is missing and cannot be blurred; fill or remove it")
    try:
        values = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"{place}: not all values are numbers; correct them, or give the column the noise response"
        ) from None
    if not np.isfinite(values).all():
        raise InputError(f"{place}: not all values are finite numbers; correct them")
    return np.asarray(values, dtype=np.float64)


def _blurred(column: pa.ChunkedArray, place: str, how: ColumnBlur, rng: np.random.Generator) -> Any:
    if how.numeric:
        values = numbers(column, place)
        low, high = how.range
        outside = values[(values < low) | (values > high)]
        if len(outside):
            raise InputError(
                f"{place}: {outside[0]:g} is not between {low:g} and {high:g}, the bounds of the plan; "
                "correct the value"
            )
        return pa.array(how.made.blur(values, rng))
    if how.noise == "response":
        answers = how.response.blur(_categories(column, how, place), rng)
        return pa.array(how.values or (), pa.string()).take(pa.array(answers))
    return column


def _categories(column: pa.ChunkedArray, how: ColumnBlur, place: str) -> Any:
    values = how.values or ()
    texts = ["" if value is None else str(value) for value in column.to_pylist()]
    codes = codes_of(texts, values)
    if (codes < 0).any():
        wrong = texts[int(np.argmax(codes < 0))]
        raise InputError(f"{place}: {quoted(wrong)} is not one of the plan's values {listed(values)}; correct it")
    return codes

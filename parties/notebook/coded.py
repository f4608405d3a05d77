"""Rows in memory as category numbers of a public schema, and the execution of a task on them without a peer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.execution.local_run import run_alone
from parties.jobs.execution.running import Connection, Report
from parties.jobs.holders import Givers
from parties.jobs.inputs import Inputs
from parties.jobs.tabular import BySchema
from parties.link.settings import LinkSettings
from parties.notebook.fitting import TOO_MANY, Log, at_node, taking_part
from parties.notebook.reading import OWN_ROWS
from parties.operator.interface import JobResult, JobView, Operator
from parties.party_file import load
from parties.tables import categories
from parties.tables import schema as schemas
from parties.tables.delimited import MISSING, Columns
from parties.tables.schema import Schema
from parties.tables.types import Domain, NumberType, exactly
from protocols.counts import RowCounts, Rows
from smc.errors import InputError


def agreed(schema: Schema | Path | str | None) -> Schema | None:
    """Return the public schema, from an object or a file; None if none is given, or that of your own rows."""
    if schema == OWN_ROWS:
        return None
    return schemas.load(Path(schema)) if isinstance(schema, str | Path) else schema


class Spelled(Columns):
    """Rows in memory as columns of text."""

    @override
    def where(self, row: int, column: str) -> str:
        return categories.Column(column, ()).where(row)


def spelled(columns: Sequence[categories.Column], rows: int) -> Columns:
    """Return rows as columns of text, the form in which a model reads them.

    Args:
        columns: Columns of the rows.
        rows: Number of rows, which each column has.
    """
    return Spelled(Path("X"), {column.name: texts(column) for column in columns}, range(rows))


def texts(column: categories.Column) -> list[str]:
    """Return every cell as text, such as "3" for 3: the category without a schema."""
    known = {cell: categories.spell(cell) for cell in set(column.cells)}
    return [known[cell] for cell in column.cells]


def labelled(column: categories.Column, values: tuple[str, ...]) -> categories.Column:
    """Return the column with its categories in the schema, such as the range of a number.

    Args:
        column: Column of cells.
        values: Categories of the column in the schema.
    """
    return categories.Column(column.name, [values[code] for code in codes(column, values)])


def counted(task: BySchema, columns: Sequence[categories.Column]) -> RowCounts:
    """Return the rows as category numbers, a source of counts for the task.

    Args:
        task: The task, with its schema and settings.
        columns: Columns of the attributes, and last that of the target; columns before that the task does not read
            may identify rows (see `taking_part`).

    Raises:
        InputError: A cell is outside the schema, or there are more rows than agreed.
    """
    columns = taking_part(task, columns)
    places = _places(task, columns)
    domains = [len(task.schema.attributes[column.name]) for column in columns]
    rows = np.array(places[:-1], dtype=np.int64).reshape(len(domains) - 1, len(places[-1])).T  # also without attributes
    return RowCounts(domains[:-1], domains[-1], rows, places[-1])


def in_baskets(task: BySchema, columns: Sequence[categories.Column], keys: Sequence[Any]) -> InBaskets:
    """Return the rows as category numbers, grouped in one basket for each key.

    Args:
        task: The task, with its schema and settings.
        columns: Columns of the rows.
        keys: Key of each row, such as its person. Rows of equal keys are in one basket.

    Raises:
        InputError: A cell is outside the schema, or there are more rows than agreed.
    """
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return InBaskets(np.column_stack([[numbers[key] for key in keys], *_places(task, columns)]))


def _places(task: BySchema, columns: Sequence[categories.Column]) -> list[NDArray[np.int64]]:
    number = len(columns[0].cells)
    if number > task.own_bound:
        raise InputError(TOO_MANY.format(number, task.own_bound))
    return [codes(column, task.schema.attributes[column.name]) for column in columns]


def codes(column: categories.Column, values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the category number of every cell, int64[rows]; numbers get their range, or the nearest number of a grid.

    Args:
        column: Column of cells.
        values: Categories of the column in the schema.

    Raises:
        InputError: A cell is outside the schema.
    """
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


@dataclass(frozen=True, eq=False)
class InBaskets:
    """Rows in baskets for a task, see `Source.baskets`; `lines` int64[lines, 1 + columns]."""

    lines: NDArray[np.int64]

    def baskets(self, key: str) -> NDArray[np.int64]:
        """Return the coded rows, int64[rows, 1 + columns]; the first column numbers each row's basket."""
        return self.lines


def link_to(peer: LinkSettings | Path | str | None) -> LinkSettings | None:
    """Return the link to a peer, which may be the path of a `party.toml`; None without a peer."""
    if isinstance(peer, str | Path):
        return load(Path(peer)).link
    if peer is None or isinstance(peer, LinkSettings):
        return peer
    raise InputError(
        f"peer: a {type(peer).__name__} is not a connection to the peer; give the path of a party.toml, a "
        f"LinkSettings or a NodeClient"
    )


def learnt(
    task: BySchema, counts: Rows | InBaskets | None, link: LinkSettings | None, givers: Givers | None = None
) -> tuple[Any, Report | None]:
    """Run a task, alone or with the peer, and return its final state and the communication cost (None alone).

    Args:
        task: The task, with its schema and settings.
        counts: Your rows in the form that the task takes; private. None without rows.
        link: Link to the peer; None to learn alone.
        givers: Further holders of rows.

    Raises:
        InputError: The link is incomplete, or holders cannot give rows for this task.
        LinkError: The peer cannot be reached.
        JobMismatchError: The peer wants another job.
    """
    if givers is not None:
        task.take_shares()
    data = task.of_nobody() if counts is None else task.data_of(counts, Inputs().secret)
    if link is None:
        return run_alone(task, data), None
    return Connection(link).run_task(task, data, Log(), givers=givers)


def by_node(
    node: Operator, fields: dict[str, Any], job: str | None, deadline: float | None
) -> tuple[JobView, JobResult]:
    """Wait for a job of your own node, and return it with its result.

    Args:
        node: Your node.
        fields: Fields of a new job; fields with the value None are left out.
        job: Identifier of a job that was submitted before; None to submit a new one.
        deadline: Seconds to wait; None to wait for the end.

    Raises:
        LinkError: The job ended without a result, or did not end in time.
    """
    if job is not None:
        return at_node(node, node.job(job), deadline)
    return at_node(node, node.submit({name: value for name, value in fields.items() if value is not None}), deadline)
